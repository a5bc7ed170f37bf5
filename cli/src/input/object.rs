//! BPF objects.

use crate::{
    error::{BadInput, escape_path},
    input::{file, file_kind::is_raw_or_elf, limits::MAX_OBJECT_BYTES},
};
use core_relo::{Data, Relocs};
use core_relo_loader::object::{ElfError, Object, ObjectError};
use std::path::Path;

const EXPECTED: &str = "expected a BPF object, as `clang --target=bpf -g -O2 -c` writes it";

/// The name and the content of an object file.
#[derive(Clone, Debug)]
pub(crate) struct ObjectFile {
    /// The path as the user gave it.
    pub(crate) name: String,
    bytes: Data<'static>,
}

impl ObjectFile {
    pub(crate) fn read(path: &Path) -> Result<Self, BadInput> {
        let bytes = file::read(path, MAX_OBJECT_BYTES)?;
        if bytes.is_empty() {
            return Err(BadInput::for_path(path, "is empty").help(EXPECTED));
        }
        Ok(Self { name: escape_path(path), bytes })
    }

    /// Creates the value for an object that is part of this program.
    pub(crate) fn embedded(name: &str, bytes: &'static [u8]) -> Self {
        Self { name: name.to_owned(), bytes: Data::from(bytes) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn parse(&self) -> Result<Object<'_>, BadInput> {
        Object::parse(&self.bytes).map_err(|e| self.bad_input(&e))
    }

    /// Returns the object's relocations.
    pub(crate) fn relocs<'o>(&self, object: &'o Object<'_>) -> Result<Relocs<'o>, BadInput> {
        object.relocs().map_err(|e| self.bad_input(&e))
    }

    fn bad_input(&self, e: &ObjectError) -> BadInput {
        let bad = BadInput::new(&*self.name, e);
        match e {
            ObjectError::Elf(ElfError::NotElf) if is_raw_or_elf(&self.bytes) => {
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
