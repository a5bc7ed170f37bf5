//! The attributes of a unit on which its entries depend.

use super::attributes::Attributes;
use crate::{
    elf::Slice,
    error::{DwarfOffset, EncodeError},
    parse_error::DwarfProblem,
    units::{Unit, Units},
};
use alloc::sync::Arc;
use gimli::{
    Abbreviations, AttributeValue, DebugAddrBase, DebugStrOffsetsBase, DwLang, DwarfFileType, constants,
};
use hashbrown::HashMap;

/// A unit with its abbreviations and the attributes of its root entry.
#[derive(Clone, Debug)]
pub(crate) struct UnitContext<'s> {
    pub(crate) unit: Unit<'s>,
    pub(crate) abbreviations: Arc<Abbreviations>,
    pub(crate) str_offsets_base: DebugStrOffsetsBase,
    pub(crate) addr_base: DebugAddrBase,
    language: Option<DwLang>,
}

impl<'s> UnitContext<'s> {
    /// Reads the root entry of a unit.
    pub(crate) fn read(units: &Units<'s>, unit: &Unit<'s>) -> Result<Self, EncodeError> {
        let abbreviations = units.abbreviations(unit)?;
        let bad = |error| EncodeError::Unit { unit: unit.start, problem: DwarfProblem::new(error) };
        let mut attributes = Attributes::default();
        let mut entries = unit.header.entries_raw(&abbreviations, None).map_err(bad)?;
        if let Some(root) = entries.read_abbreviation().map_err(bad)? {
            let entry = unit.place(unit.header.root_offset()).unwrap_or(unit.start);
            attributes = Attributes::read(&mut entries, root).map_err(|problem| EncodeError::Entry {
                unit: unit.start,
                entry,
                problem,
            })?;
        }
        if attributes.dwo_name.is_some() {
            return Err(EncodeError::SplitUnit { unit: unit.start });
        }
        let default =
            DebugStrOffsetsBase::default_for_encoding_and_file(unit.header.encoding(), DwarfFileType::Main);
        let language = match attributes.language {
            Some(AttributeValue::Language(language)) => Some(language),
            Some(value) => value.u16_value().map(DwLang),
            None => None,
        };
        Ok(Self {
            unit: *unit,
            str_offsets_base: offset(attributes.str_offsets_base).map_or(default, DebugStrOffsetsBase),
            // Units that read no addresses have no base.
            addr_base: DebugAddrBase(offset(attributes.addr_base).unwrap_or(0)),
            language,
            abbreviations,
        })
    }

    /// Returns whether the unit is written in C. Units without a language, such as those of `dwz`, count as
    /// C.
    pub(crate) fn is_c(&self) -> bool {
        /// `DW_LANG_C17`, which newer compilers write.
        const C17: DwLang = DwLang(0x2c);
        /// `DW_LANG_C23`.
        const C23: DwLang = DwLang(0x3e);
        self.language.is_none_or(|language| {
            let c = [
                constants::DW_LANG_C89,
                constants::DW_LANG_C,
                constants::DW_LANG_C99,
                constants::DW_LANG_C11,
                C17,
                C23,
                constants::DW_LANG_Mips_Assembler,
            ];
            c.contains(&language)
        })
    }
}

/// Returns the offset into another section.
fn offset(value: Option<AttributeValue<Slice<'_>>>) -> Option<usize> {
    match value? {
        AttributeValue::SecOffset(offset)
        | AttributeValue::DebugStrOffsetsBase(DebugStrOffsetsBase(offset))
        | AttributeValue::DebugAddrBase(DebugAddrBase(offset)) => Some(offset),
        _ => None,
    }
}

/// The contexts of the units whose entries other units use.
#[derive(Debug, Default)]
pub(crate) struct Contexts<'s> {
    contexts: HashMap<DwarfOffset, Arc<UnitContext<'s>>>,
}

impl<'s> Contexts<'s> {
    /// Returns the context of a unit.
    pub(crate) fn get(
        &mut self,
        units: &Units<'s>,
        unit: &Unit<'s>,
    ) -> Result<Arc<UnitContext<'s>>, EncodeError> {
        if let Some(context) = self.contexts.get(&unit.start) {
            return Ok(Arc::clone(context));
        }
        let context = Arc::new(UnitContext::read(units, unit)?);
        self.contexts.insert(unit.start, Arc::clone(&context));
        Ok(context)
    }
}
