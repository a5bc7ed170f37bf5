//! Data sections: globals, constants, struct_ops, arena, jump tables.

use super::error::ObjectError;
use crate::elf::{Elf, Section};
use crate::index::SectionIndex;
use object::elf;

/// The kind of a data section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataKind {
    /// `.data`, `.data.*`: initialised globals.
    Data,
    /// `.rodata`, `.rodata.*`: constants, frozen before programs are loaded.
    Rodata,
    /// `.bss`, `.bss.*`: zero-initialised globals.
    Bss,
    /// `.struct_ops`, `.struct_ops.link`: structs with programs that a kernel subsystem calls.
    StructOps {
        /// Whether the map is attached by a link (`.link`).
        link: bool,
        /// Whether the map is created only on demand (a leading `?`).
        optional: bool,
    },
    /// `.addr_space.1`: globals in the arena.
    Arena,
    /// `.jumptables`: the targets of indirect jumps.
    JumpTables,
}

impl DataKind {
    /// Returns whether loaders skip the ELF relocations of a section of this kind (libbpf:
    /// `bpf_object__collect_relos`).
    pub(crate) const fn has_skipped_relocs(self) -> bool {
        matches!(self, Self::Data | Self::Rodata | Self::Bss | Self::Arena)
    }
}

/// A data section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataSection<'d> {
    /// The index of the ELF section.
    pub section_index: SectionIndex,
    /// The name.
    pub name: &'d [u8],
    /// The kind of the section.
    pub kind: DataKind,
    /// The size in bytes. The bytes of a `.bss` are not in the file.
    pub size: u64,
    /// The bytes in the file; empty for a `.bss`.
    pub bytes: &'d [u8],
}

/// Collects the data sections in order (libbpf: `bpf_object__elf_collect`).
pub(crate) fn collect<'d>(elf: &Elf<'d>) -> Result<Vec<DataSection<'d>>, ObjectError> {
    let mut sections = Vec::new();
    for s in elf.sections.iter().filter(|s| !s.is_code()) {
        let Some(kind) = kind_of(s) else { continue };
        if s.is_compressed() {
            return Err(ObjectError::Compressed { section: s.text() });
        }
        sections.push(DataSection {
            section_index: s.index,
            name: s.name,
            kind,
            size: s.size,
            bytes: s.data,
        });
    }
    Ok(sections)
}

/// Returns the kind of a data section; `None` for other sections.
pub(super) fn kind_of(s: &Section<'_>) -> Option<DataKind> {
    let has_stem = |stem: &[u8]| matches!(s.name.strip_prefix(stem), Some([] | [b'.', ..]));
    if s.sh_type == elf::SHT_NOBITS.0 {
        return has_stem(b".bss").then_some(DataKind::Bss);
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
        _ if has_stem(b".data") => DataKind::Data,
        _ if has_stem(b".rodata") => DataKind::Rodata,
        _ => return None,
    })
}
