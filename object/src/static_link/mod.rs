//! Several BPF objects made into one, as `bpftool gen object` and libbpf's `bpf_linker` do.
//!
//! Sections of one name are put together, symbols resolved (a strong one before weak ones; externs by definitions of
//! compatible types), relocations moved along, types merged and deduplicated, `.BTF.ext` rewritten. Pure: bytes in, bytes out,
//! in the byte order of the inputs. The result is libbpf's, byte for byte; where it is not, docs/libbpf-differences.md says why.
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

mod error;
mod ext;
mod globals;
mod input;
mod matching;
mod mismatch;
mod names;
mod output;
mod relocs;
mod sections;
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
use output::Strings;
use sections::Sections;
use std::collections::HashMap;
use symbols::OutSymbol;

/// Links objects: [`add`](Self::add) each, then [`finish`](Self::finish).
///
/// The order counts as on a linker's command line: of several weak definitions the first one wins.
#[derive(Debug, Default)]
pub struct Linker<'d> {
    /// What there is once the first object has told the byte order.
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
    /// Definitions of maps that were compared, by the input they are of.
    maps: HashMap<usize, Definitions>,
    steps: Steps,
    /// Bytes of all inputs.
    input_len: usize,
}

impl<'d> Linker<'d> {
    /// Nothing to link yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object; errors name it by `name` (libbpf: `bpf_linker__add_buf`).
    ///
    /// What is wrong with it, or between it and those before, shows here. An error ends the linking.
    pub fn add(mut self, name: &str, bytes: &'d [u8]) -> Result<Self, LinkError> {
        let input = Input::read(name, bytes)?;
        let state = self.state.get_or_insert_with(|| State::new(input.endian()));
        state.add(input, bytes.len())?;
        Ok(self)
    }

    /// The linked object (libbpf: `bpf_linker__finalize`). Externs that nothing defined stay externs.
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
