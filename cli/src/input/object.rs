//! BPF objects.

use super::{file, unpack};
use crate::error::{BadInput, shown};
use core_relo::{Data, Relocs};
use core_relo_loader::object::{ElfError, Object, ObjectError};
use std::path::Path;

const EXPECTED: &str = "expected a BPF object, as `clang --target=bpf -g -O2 -c` writes it";

/// An object's bytes, and its name as typed.
#[derive(Clone, Debug)]
pub(crate) struct ObjectFile {
    pub(crate) name: String,
    bytes: Data<'static>,
}

impl ObjectFile {
    pub(crate) fn read(path: &Path) -> Result<Self, BadInput> {
        let bytes = file::read(path, file::OBJECT_BYTES)?;
        if bytes.is_empty() {
            return Err(BadInput::at(path, "is empty").help(EXPECTED));
        }
        Ok(Self { name: shown(path), bytes })
    }

    /// An object that is no file.
    pub(crate) fn embedded(name: &str, bytes: &'static [u8]) -> Self {
        Self { name: name.to_owned(), bytes: Data::from(bytes) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn parse(&self) -> Result<Object<'_>, BadInput> {
        Object::parse(&self.bytes).map_err(|e| self.bad(&e))
    }

    /// The object's relocations.
    pub(crate) fn relocs<'o>(&self, object: &'o Object<'_>) -> Result<Relocs<'o>, BadInput> {
        object.relocs().map_err(|e| self.bad(&e))
    }

    fn bad(&self, e: &ObjectError) -> BadInput {
        let bad = BadInput::new(&*self.name, e);
        match e {
            ObjectError::Elf(ElfError::NotElf) if unpack::is_raw_or_elf(&self.bytes) => {
                bad.help("it is BTF: give it with --btf")
            }
            ObjectError::Elf(ElfError::NotElf) => bad.help(EXPECTED),
            ObjectError::Elf32 => bad.help("compile with --target=bpf"),
            ObjectError::Machine { .. } | ObjectError::FileType { .. } => bad.help(EXPECTED),
            ObjectError::NoSymbols => bad.help("strip only debug information: llvm-strip -g"),
            ObjectError::Elf(_) => bad.help("is the file complete?"),
            _ => bad,
        }
    }
}
