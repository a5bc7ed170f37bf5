//! BPF objects: what an ELF file that clang or GCC compiled for BPF holds.
//!
//! [`Object::parse`] reads the sections once and checks every reference. It is pure: the same bytes give the same
//! [`Object`] on any host. Nothing is loaded here, and an unknown section name or an unreadable map definition is no error
//! until somebody wants to load it.

pub(crate) mod calls;
mod data;
mod error;
mod externs;
mod kinds;
pub(crate) mod maps;
mod parse;
mod programs;
mod relocs;
mod rewrite;
mod sec_def;
mod section_target;
pub(crate) mod symbols;
#[cfg(test)]
mod tests;

pub use crate::elf::{Class, ElfError, Section};
pub use data::{DataKind, DataSection};
pub use error::{ObjectError, RewriteError};
pub use externs::{Extern, ExternKind};
pub use kinds::{AttachType, MapType, MultiKind, ProgramType};
pub use maps::{Map, MapDef, MapError};
pub use programs::Program;
pub(crate) use programs::TEXT;
pub use relocs::{Reloc, RelocType};
pub use sec_def::{SEC_DEFS, SecDef, SecFlags, SecMatch};
pub use section_target::{SectionTarget, SectionTargetError, split_offset};
pub use symbols::{Linkage, Place, Symbol, SymbolKind};

use crate::{
    elf::{Elf, text},
    index::SectionIndex,
};
use alloc::collections::VecDeque;
use core_relo::{CodeSection, Endian, Relocs, btf::Btf, ext::BtfExt};
use relocs::RelocSection;
use std::collections::HashMap;
use symbols::Symbols;

/// A BPF object, checked.
#[derive(Debug)]
pub struct Object<'d> {
    bytes: &'d [u8],
    elf: Elf<'d>,
    symbols: Symbols<'d>,
    code: Vec<CodeSection<'d>>,
    code_indices: Vec<SectionIndex>,
    programs: Vec<Program<'d>>,
    data: Vec<DataSection<'d>>,
    maps: Vec<Map<'d>>,
    externs: Vec<Extern<'d>>,
    relocs: Vec<RelocSection<'d>>,
    /// The same by the section they apply to.
    relocs_by_target: HashMap<SectionIndex, Vec<RelocSection<'d>>>,
    license: Option<&'d [u8]>,
    version: Option<u32>,
    btf: Option<Btf<'d>>,
    ext: Option<BtfExt<'d>>,
}

impl<'d> Object<'d> {
    /// The byte order, of the file and of its instructions.
    pub fn endian(&self) -> Endian {
        self.elf.endian
    }

    /// The bytes it was read from.
    pub fn as_bytes(&self) -> &'d [u8] {
        self.bytes
    }

    /// Every section of the ELF file, the unused first one included.
    pub fn sections(&self) -> &[Section<'d>] {
        &self.elf.sections
    }

    /// Every symbol, in order.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'d>> {
        self.symbols.iter().filter_map(Result::ok)
    }

    /// The executable sections that are not empty, in order, with the functions in them.
    pub fn code_sections(&self) -> &[CodeSection<'d>] {
        &self.code
    }

    /// The ELF sections' numbers of [`code_sections`](Self::code_sections), in the same order.
    pub fn code_indices(&self) -> &[SectionIndex] {
        &self.code_indices
    }

    /// Programs and subprograms, in order of section and place.
    pub fn programs(&self) -> &[Program<'d>] {
        &self.programs
    }

    /// Sections of data, in order.
    pub fn data_sections(&self) -> &[DataSection<'d>] {
        &self.data
    }

    /// Maps, in order of place; not those that data sections become.
    pub fn maps(&self) -> &[Map<'d>] {
        &self.maps
    }

    /// The variables and functions that the kernel supplies.
    pub fn externs(&self) -> &[Extern<'d>] {
        &self.externs
    }

    /// The license, if there is a section `license`.
    pub fn license(&self) -> Option<&'d [u8]> {
        self.license
    }

    /// The kernel version, if there is a section `version` (old kernels wanted one).
    pub fn kernel_version(&self) -> Option<u32> {
        self.version
    }

    /// The ELF relocations of every section.
    ///
    /// Those of sections that reach the kernel were checked by [`parse`](Self::parse); the others (DWARF, BTF) are checked
    /// as they are read.
    pub fn elf_relocs(&self) -> impl Iterator<Item = Result<Reloc<'d>, ObjectError>> {
        self.relocs.iter().flat_map(|r| r.iter(&self.elf, &self.symbols))
    }

    /// The ELF relocations of one section.
    pub fn elf_relocs_of(
        &self,
        section: SectionIndex,
    ) -> impl Iterator<Item = Result<Reloc<'d>, ObjectError>> {
        let of_it = self.relocs_by_target.get(&section).into_iter().flatten();
        of_it.flat_map(|r| r.iter(&self.elf, &self.symbols))
    }

    /// The object's types; pointers have 8 bytes, as on every BPF machine.
    pub fn btf(&self) -> Option<&Btf<'d>> {
        self.btf.as_ref()
    }

    /// Returns the object's `.BTF.ext`.
    pub fn ext(&self) -> Option<&BtfExt<'d>> {
        self.ext.as_ref()
    }

    /// The object's CO-RE relocations; none if it has no `.BTF.ext`.
    ///
    /// Needs the object's BTF: without, it is [`ObjectError::NoBtf`].
    pub fn relocs(&self) -> Result<Relocs<'_>, ObjectError> {
        let btf = self.btf.as_ref().ok_or(ObjectError::NoBtf)?;
        let none = BtfExt::parse(no_ext(self.endian())).map_err(ObjectError::Ext)?;
        let ext = self.ext.as_ref().unwrap_or(&none);
        Relocs::collect(btf, ext, &self.code).map_err(ObjectError::Relocs)
    }

    /// A copy of the file with other instructions in these code sections; all else stays as it is, byte for byte. A section that
    /// shares bytes with another part of the file cannot be changed.
    ///
    /// Names are not unique: the second mention of one means the second section of that name.
    pub fn rewrite<'n>(
        &self,
        sections: impl IntoIterator<Item = (&'n [u8], &'n [u8])>,
    ) -> Result<Vec<u8>, RewriteError> {
        let mut copy = self.bytes.to_vec();
        let mut left = HashMap::<&[u8], VecDeque<SectionIndex>>::new();
        for (section, index) in self.code.iter().zip(&self.code_indices) {
            left.entry(section.name).or_default().push_back(*index);
        }
        let mut changed = alloc::collections::BTreeSet::new();
        for (name, new) in sections {
            let missing = || RewriteError::NoSection { section: text(name) };
            let index = left.get_mut(name).and_then(VecDeque::pop_front).ok_or_else(missing)?;
            let section = self.elf.section_at(index).ok_or_else(missing)?;
            let length =
                RewriteError::Length { section: text(name), expected: section.data.len(), found: new.len() };
            match section.file_range().and_then(|range| copy.get_mut(range)) {
                Some(old) if old.len() == new.len() => {
                    if section.data != new {
                        changed.insert(section.index);
                    }
                    old.copy_from_slice(new);
                }
                _ => return Err(length),
            }
        }
        rewrite::check_separate(&self.elf, self.bytes, &changed)?;
        Ok(copy)
    }
}

/// A `.BTF.ext` without records.
const fn no_ext(endian: Endian) -> &'static [u8] {
    match endian {
        Endian::Little => b"\x9f\xeb\x01\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        Endian::Big => b"\xeb\x9f\x01\0\0\0\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    }
}
