//! BPF objects: ELF files that clang or GCC compiled for BPF.
//!
//! [`Object::parse`] reads the sections once and checks every reference. The result depends on the bytes
//! only, not on the host. An unknown section name or an invalid map definition is not an error here, but when
//! a load is planned.

pub(crate) mod calls;
mod data;
mod error;
mod externs;
mod kernel_enums;
mod kernel_feature;
mod map_annotations;
pub(crate) mod maps;
mod null_pointers;
mod parse;
mod programs;
mod relocs;
pub(crate) mod rewrite;
mod sec_def;
mod section_target;
pub(crate) mod symbols;
#[cfg(test)]
mod tests;
mod type_word;

pub use crate::elf::{ElfClass, ElfError, Section};
pub use data::{DataKind, DataSection};
pub use error::{ObjectError, RewriteError};
pub use externs::{Extern, ExternKind};
pub use kernel_enums::{AttachType, LinkType, MapType, MultiKind, ProgramType};
pub use kernel_feature::KernelFeature;
pub use maps::{Map, MapDef, MapParseError};
pub use null_pointers::{NullPointer, NullPointers};
pub use programs::Program;
pub(crate) use programs::TEXT;
pub use relocs::{Reloc, RelocType};
pub use rewrite::CoreRecords;
pub use sec_def::{SEC_DEFS, SecDef, SecFlags, SecMatch};
pub use section_target::{
    SectionTarget, SectionTargetError, module_of_prefix, parse_file_offset, split_offset,
};
pub use symbols::{Linkage, Symbol, SymbolKind, SymbolLocation};
pub use type_word::{ForeignSection, TypeWordError, find_foreign_section, section_for_type};

use crate::{elf::Elf, index::SectionIndex};
use core_relo::{
    CodeSection, Endian, Relocs,
    btf::{Btf, BtfError},
    ext::BtfExt,
};
use hashbrown::HashMap;
use relocs::RelocSection;
use std::sync::OnceLock;
use symbols::Symbols;

/// A parsed and validated BPF object.
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
    /// The relocation sections by the section that they apply to.
    relocs_by_target: HashMap<SectionIndex, Vec<RelocSection<'d>>>,
    license: Option<&'d [u8]>,
    version: Option<u32>,
    btf: Option<Btf<'d>>,
    ext: Option<ExtSection<'d>>,
}

/// The section `.BTF.ext`.
#[derive(Debug)]
struct ExtSection<'d> {
    section: SectionIndex,
    ext: BtfExt<'d>,
}

impl<'d> Object<'d> {
    /// Returns the byte order of the file and its instructions.
    pub fn endian(&self) -> Endian {
        self.elf.endian
    }

    /// Returns the bytes of the file.
    pub fn as_bytes(&self) -> &'d [u8] {
        self.bytes
    }

    /// Returns all sections of the ELF file, including the reserved section 0.
    pub fn sections(&self) -> &[Section<'d>] {
        &self.elf.sections
    }

    /// Returns a section of the ELF file.
    #[cfg(feature = "inspection")]
    pub(crate) fn elf_section(&self, index: SectionIndex) -> Option<&Section<'d>> {
        self.elf.section_at(index)
    }

    /// Returns the valid symbols in the order of the symbol table.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'d>> {
        self.symbols.iter().filter_map(Result::ok)
    }

    /// Returns the non-empty executable sections in order, with their functions.
    pub fn code_sections(&self) -> &[CodeSection<'d>] {
        &self.code
    }

    /// Returns the section indices of [`code_sections`](Self::code_sections), in the same order.
    pub fn code_indices(&self) -> &[SectionIndex] {
        &self.code_indices
    }

    /// Returns the programs and subprograms, sorted by section and offset.
    pub fn programs(&self) -> &[Program<'d>] {
        &self.programs
    }

    /// Returns the data sections in order.
    pub fn data_sections(&self) -> &[DataSection<'d>] {
        &self.data
    }

    /// Returns the defined maps, sorted by section and offset. The maps of data sections are not among them.
    pub fn maps(&self) -> &[Map<'d>] {
        &self.maps
    }

    /// Returns the externs: variables and functions that the kernel supplies.
    pub fn externs(&self) -> &[Extern<'d>] {
        &self.externs
    }

    /// Returns the license; `None` without a section `license`.
    pub fn license(&self) -> Option<&'d [u8]> {
        self.license
    }

    /// Returns the kernel version, which old kernels required; `None` without a section `version`.
    pub fn kernel_version(&self) -> Option<u32> {
        self.version
    }

    /// Returns the ELF relocations of all sections.
    ///
    /// [`parse`](Self::parse) has checked the relocations of allocated sections. Relocations of other
    /// sections (DWARF, BTF) are checked by the iterator.
    pub fn elf_relocs(&self) -> impl Iterator<Item = Result<Reloc<'d>, ObjectError>> {
        self.relocs.iter().flat_map(|r| r.iter(&self.elf, &self.symbols))
    }

    /// Returns the ELF relocations of one section.
    pub fn elf_relocs_of(
        &self,
        section: SectionIndex,
    ) -> impl Iterator<Item = Result<Reloc<'d>, ObjectError>> {
        let sections = self.relocs_by_target.get(&section).into_iter().flatten();
        sections.flat_map(|r| r.iter(&self.elf, &self.symbols))
    }

    /// Returns the object's BTF, with 8-byte pointers.
    pub fn btf(&self) -> Option<&Btf<'d>> {
        self.btf.as_ref()
    }

    /// Returns the object's `.BTF.ext`.
    pub fn ext(&self) -> Option<&BtfExt<'d>> {
        self.ext.as_ref().map(|section| &section.ext)
    }

    /// Returns the object's CO-RE relocations; empty if the object has no `.BTF.ext`.
    ///
    /// Returns [`ObjectError::NoBtf`] if the object has no BTF.
    pub fn relocs(&self) -> Result<Relocs<'_>, ObjectError> {
        let btf = self.btf.as_ref().ok_or(ObjectError::NoBtf)?;
        let empty = BtfExt::parse(empty_ext(self.endian())).map_err(ObjectError::Ext)?;
        let ext = self.ext().unwrap_or(&empty);
        Relocs::collect(btf, ext, &self.code).map_err(ObjectError::Relocs)
    }

    /// Returns the object's CO-RE relocations; empty if the object has no BTF. libbpf loads such an object,
    /// too, unless its maps or externs need types.
    pub fn relocs_or_none(&self) -> Result<Relocs<'_>, ObjectError> {
        if self.btf.is_some() {
            return self.relocs();
        }
        let empty = BtfExt::parse(empty_ext(self.endian())).map_err(ObjectError::Ext)?;
        Relocs::collect(no_types(self.endian())?, &empty, &self.code).map_err(ObjectError::Relocs)
    }
}

/// Returns a BTF without types.
fn no_types(endian: Endian) -> Result<&'static Btf<'static>, ObjectError> {
    static LITTLE: OnceLock<Result<Btf<'static>, BtfError>> = OnceLock::new();
    static BIG: OnceLock<Result<Btf<'static>, BtfError>> = OnceLock::new();
    let (cell, bytes): (_, &'static [u8]) = match endian {
        Endian::Little => (&LITTLE, b"\x9f\xeb\x01\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0"),
        Endian::Big => (&BIG, b"\xeb\x9f\x01\0\0\0\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0"),
    };
    cell.get_or_init(|| Btf::parse(bytes)).as_ref().map_err(|error| ObjectError::Btf(*error))
}

/// A `.BTF.ext` without records.
const fn empty_ext(endian: Endian) -> &'static [u8] {
    match endian {
        Endian::Little => b"\x9f\xeb\x01\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        Endian::Big => b"\xeb\x9f\x01\0\0\0\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    }
}
