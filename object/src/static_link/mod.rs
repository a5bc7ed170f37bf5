//! Links several BPF objects into one object, like `bpftool gen object` and libbpf's `bpf_linker`.
//!
//! The linker concatenates sections of one name and resolves symbols: a strong definition takes precedence over weak ones, and
//! an extern needs a definition of a compatible type. It moves relocations, merges and deduplicates types, and rewrites
//! `.BTF.ext`. The output has the byte order of the inputs. It is byte for byte the output of libbpf, apart from the exceptions in
//! docs/libbpf-differences.md.
//!
//! ```
//! use core_relo_object::static_link::{LinkError, Linker};
//!
//! fn link(files: &[(&str, &[u8])]) -> Result<Vec<u8>, LinkError> {
//!     files.iter().try_fold(Linker::new(), |linker, (name, bytes)| linker.add(name, bytes))?.finish()
//! }
//! # assert_eq!(link(&[]), Err(LinkError::Nothing));
//! # assert_eq!(link(&[("a.o", b"text")]).unwrap_err().to_string(), "a.o: not an ELF file");
//! ```

mod add_sections;
mod error;
mod ext;
mod ext_records;
mod globals;
mod input;
mod matching;
mod mismatch;
mod names;
mod out_symbol;
mod output;
mod relocs;
mod sections;
mod strings;
mod symbols;
#[cfg(test)]
mod tests;
mod types;

pub use error::{LinkError, RelocationFault, SectionFault, SymbolFault, TypeFault};
pub use mismatch::{MapMismatch, TypeMismatch};

use crate::object::maps::Definitions;
use core_relo::{Endian, btf::Builder};
use globals::Globals;
use input::Input;
use matching::Steps;
use out_symbol::OutSymbol;
use sections::Sections;
use std::collections::HashMap;
use strings::Strings;

/// Links objects: [`add`](Self::add) each, then [`finish`](Self::finish).
///
/// The order counts as on a linker's command line: of several weak definitions the first one wins.
#[derive(Debug, Default)]
pub struct Linker<'d> {
    /// The state of the linking, which begins with the first object's byte order.
    state: Option<State<'d>>,
}

#[derive(Debug)]
struct State<'d> {
    endian: Endian,
    inputs: Vec<Input<'d>>,
    sections: Sections,
    symbols: Vec<OutSymbol>,
    strings: Strings,
    globals: Globals,
    types: Builder,
    /// The map definitions that were compared, by input.
    maps: HashMap<usize, Definitions>,
    steps: Steps,
    /// The size of all inputs in bytes.
    input_len: usize,
}

impl<'d> Linker<'d> {
    /// A linker without inputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object; errors name it by `name` (libbpf: `bpf_linker__add_buf`).
    ///
    /// Reports errors of the object, and conflicts with the objects before it. An error ends the linking.
    pub fn add(mut self, name: &str, bytes: &'d [u8]) -> Result<Self, LinkError> {
        let input = Input::read(name, bytes)?;
        let state = self.state.get_or_insert_with(|| State::new(input.endian()));
        state.add(input, bytes.len())?;
        Ok(self)
    }

    /// Returns the linked object (libbpf: `bpf_linker__finalize`). Externs without a definition stay externs.
    pub fn finish(self) -> Result<Vec<u8>, LinkError> {
        self.state.ok_or(LinkError::Nothing)?.finish()
    }
}

impl<'d> State<'d> {
    fn new(endian: Endian) -> Self {
        let mut strings = Strings::default();
        Self {
            endian,
            inputs: Vec::new(),
            sections: Sections::new(&mut strings),
            symbols: Vec::from([OutSymbol::default()]),
            strings,
            globals: Globals::default(),
            types: Builder::new(endian),
            maps: HashMap::new(),
            steps: Steps::default(),
            input_len: 0,
        }
    }

    fn add(&mut self, mut input: Input<'d>, len: usize) -> Result<(), LinkError> {
        if input.endian() != self.endian {
            return Err(LinkError::ByteOrder { file: input.file.clone(), expected: self.endian });
        }
        // Saturates only past the address space, where the limit no longer matters.
        self.input_len = self.input_len.saturating_add(len);
        self.strings.allow(self.input_len);
        self.add_sections(&mut input)?;
        let symbols = self.add_symbols(&input)?;
        self.add_relocations(&mut input, &symbols)?;
        let ids = self.add_types(&input)?;
        self.add_ext(&input, &ids)?;
        self.inputs.push(input);
        Ok(())
    }
}
