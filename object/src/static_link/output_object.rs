//! The linked object under construction.

use super::{
    budget::ComparisonBudget,
    error::StaticLinkError,
    globals::Globals,
    index::{InputIndex, OutputSymbolIndex, Table},
    input::Input,
    output_symbol::OutputSymbol,
    sections::OutputSections,
    strings::Strings,
};
use crate::{internal::InternalError, object::maps::Definitions};
use core_relo::{Endian, btf::Builder};
use hashbrown::HashMap;

/// The linked object under construction, and its inputs.
#[derive(Debug)]
pub(super) struct OutputObject<'d> {
    pub(super) endian: Endian,
    /// The inputs that are added completely.
    pub(super) inputs: Table<InputIndex, Input<'d>>,
    pub(super) sections: OutputSections,
    pub(super) symbols: Table<OutputSymbolIndex, OutputSymbol>,
    pub(super) strings: Strings,
    pub(super) globals: Globals,
    /// The types of all inputs, before deduplication. DATASECs are added at the end.
    pub(super) types: Builder,
    /// The map definitions that were compared, by input.
    pub(super) map_definitions: HashMap<InputIndex, Definitions>,
    pub(super) budget: ComparisonBudget,
}

impl<'d> OutputObject<'d> {
    pub(super) fn new(endian: Endian) -> Result<Self, StaticLinkError> {
        let mut strings = Strings::default();
        let mut symbols = Table::default();
        symbols.push(OutputSymbol::default())?;
        Ok(Self {
            endian,
            inputs: Table::default(),
            sections: OutputSections::new(&mut strings)?,
            symbols,
            strings,
            globals: Globals::default(),
            types: Builder::new(endian),
            map_definitions: HashMap::new(),
            budget: ComparisonBudget::default(),
        })
    }

    /// Adds an input of `len` bytes.
    pub(super) fn add(&mut self, mut input: Input<'d>, len: usize) -> Result<(), StaticLinkError> {
        if input.endian != self.endian {
            return Err(StaticLinkError::ByteOrder { file: input.file.clone(), expected: self.endian });
        }
        self.strings.add_input_bytes(len)?;
        self.add_sections(&mut input)?;
        let symbol_map = self.add_symbols(&input)?;
        self.add_relocations(&mut input, &symbol_map)?;
        let type_map = self.add_types(&input)?;
        self.add_ext(&input, &type_map)?;
        self.inputs.push(input)?;
        Ok(())
    }

    /// Returns the index of the input that is being added.
    pub(super) fn current_input(&self) -> Result<InputIndex, InternalError> {
        self.inputs.next_index()
    }
}
