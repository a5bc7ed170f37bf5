//! Sections of data: globals, constants, struct_ops, arena, jump tables.

use super::error::ObjectError;
use crate::elf::{Elf, Section};
use object::elf;

/// What a data section becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataKind {
    /// `.data`, `.data.*`: globals with a value.
    Data,
    /// `.rodata`, `.rodata.*`: constants, frozen before programs are loaded.
    Rodata,
    /// `.bss`, `.bss.*`: globals that begin as zero.
    Bss,
    /// `.struct_ops`, `.struct_ops.link`: tables of programs a kernel subsystem calls.
    StructOps {
        /// Whether it is attached by a link (`.link`).
        link: bool,
        /// Whether it is created only on demand (a leading `?`).
        optional: bool,
    },
    /// `.addr_space.1`: globals in the arena.
    Arena,
    /// `.jumptables`: targets of indirect jumps.
    JumpTables,
}

/// A section of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataSection<'d> {
    /// Its ELF section's number.
    pub section_index: u32,
    /// Its name.
    pub name: &'d [u8],
    /// What it becomes.
    pub kind: DataKind,
    /// Its size in bytes; of a `.bss` that nobody has to hold in the file.
    pub size: u64,
    /// Its bytes; none of a `.bss`.
    pub bytes: &'d [u8],
}

/// The data sections libbpf recognises (`bpf_object__elf_collect`), in order.
pub(crate) fn collect<'d>(elf: &Elf<'d>) -> Result<Vec<DataSection<'d>>, ObjectError> {
    let mut found = Vec::new();
    for s in elf.sections.iter().filter(|s| !s.is_code()) {
        let Some(kind) = kind_of(s) else { continue };
        if s.is_compressed() {
            return Err(ObjectError::Compressed { section: s.text() });
        }
        found.push(DataSection { section_index: s.index, name: s.name, kind, size: s.size, bytes: s.data });
    }
    Ok(found)
}

pub(super) fn kind_of(s: &Section<'_>) -> Option<DataKind> {
    let is = |stem: &[u8]| matches!(s.name.strip_prefix(stem), Some([] | [b'.', ..]));
    if s.sh_type == elf::SHT_NOBITS.0 {
        return is(b".bss").then_some(DataKind::Bss);
    }
    if s.sh_type != elf::SHT_PROGBITS.0 || s.data.is_empty() {
        return None;
    }
    Some(match s.name {
        b".addr_space.1" => DataKind::Arena,
        b".jumptables" => DataKind::JumpTables,
        b".struct_ops" => DataKind::StructOps { link: false, optional: false },
        b".struct_ops.link" => DataKind::StructOps { link: true, optional: false },
        b"?.struct_ops" => DataKind::StructOps { link: false, optional: true },
        b"?.struct_ops.link" => DataKind::StructOps { link: true, optional: true },
        _ if is(b".data") => DataKind::Data,
        _ if is(b".rodata") => DataKind::Rodata,
        _ => return None,
    })
}
