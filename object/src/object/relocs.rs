//! ELF relocations with their types and symbols.

use super::{
    error::ObjectError,
    symbols::{Symbol, Symbols, object_endian},
};
use crate::elf::{Elf, Section};
use crate::index::SectionIndex;
use core_relo::Endian;
use object::{
    Endianness,
    elf::{self, Rel64, Rela64},
    pod,
    read::elf::{Rel as _, Rela as _},
};

/// The type of an ELF relocation (LLVM's `R_BPF_*`, and two types of older binutils).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RelocType {
    /// `R_BPF_NONE`, 0: no field.
    None,
    /// `R_BPF_64_64`, 1: the two immediates of a 64-bit load.
    Load64,
    /// `R_BPF_64_ABS64`, 2: a 64-bit word of data.
    Abs64,
    /// `R_BPF_64_ABS32`, 3: a 32-bit word of data.
    Abs32,
    /// `R_BPF_64_NODYLD32`, 4: a 32-bit word that loaders leave alone (`.BTF`, `.BTF.ext`).
    NoDyld32,
    /// `R_BPF_64_32`, 10: the immediate of a call (binutils: `R_BPF_INSN_DISP32`).
    Call32,
    /// `R_BPF_DATA_32`, 11: a 32-bit word of data, as numbered by binutils up to 2.40 (GCC 12).
    Data32,
    /// `R_BPF_DATA_64`, 12: a 64-bit word of data, as numbered by binutils up to 2.40 (GCC 12).
    Data64,
}

impl RelocType {
    /// Returns the type with a number; `None` if the number is unknown.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::None,
            1 => Self::Load64,
            2 => Self::Abs64,
            3 => Self::Abs32,
            4 => Self::NoDyld32,
            10 => Self::Call32,
            11 => Self::Data32,
            12 => Self::Data64,
            _ => return None,
        })
    }

    /// Returns the number (`r_type`).
    pub const fn number(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Load64 => 1,
            Self::Abs64 => 2,
            Self::Abs32 => 3,
            Self::NoDyld32 => 4,
            Self::Call32 => 10,
            Self::Data32 => 11,
            Self::Data64 => 12,
        }
    }

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "R_BPF_NONE",
            Self::Load64 => "R_BPF_64_64",
            Self::Abs64 => "R_BPF_64_ABS64",
            Self::Abs32 => "R_BPF_64_ABS32",
            Self::NoDyld32 => "R_BPF_64_NODYLD32",
            Self::Call32 => "R_BPF_64_32",
            Self::Data32 => "R_BPF_DATA_32",
            Self::Data64 => "R_BPF_DATA_64",
        }
    }

    /// Returns the number of bytes at the relocation's offset that the relocation needs, in code or in data.
    ///
    /// LLVM before 13 has `R_BPF_64_64` for a 64-bit word of data, too.
    const fn extent(self, is_code: bool) -> u64 {
        match self {
            Self::None => 0,
            Self::Load64 if is_code => 16,
            Self::Load64 | Self::Abs64 | Self::Call32 | Self::Data64 => 8,
            Self::Abs32 | Self::NoDyld32 | Self::Data32 => 4,
        }
    }
}

impl core::fmt::Display for RelocType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

/// An ELF relocation of a BPF object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reloc<'d> {
    /// The index of the section that the relocation applies to.
    pub section_index: SectionIndex,
    /// The name of the section that the relocation applies to.
    pub section: &'d [u8],
    /// The offset in the section, in bytes.
    pub offset: u64,
    /// The type of the relocation.
    pub kind: RelocType,
    /// The symbol. A section symbol without a name has the section's name.
    pub symbol: Symbol<'d>,
    /// The addend of an `SHT_RELA` record; `None` for `SHT_REL`, whose addend is in the section's bytes.
    pub addend: Option<i64>,
}

impl Reloc<'_> {
    /// Returns the addend of a relocation of data that is in the bytes of its section. Returns `None` outside
    /// of them.
    pub(crate) fn addend_in(&self, data: &[u8], endian: Endian) -> Option<i64> {
        let start = usize::try_from(self.offset).ok()?;
        match self.kind.extent(false) {
            4 => endian.u32(data, start).map(|word| i64::from(word.cast_signed())),
            _ => endian.u64(data, start).map(u64::cast_signed),
        }
    }
}

/// A section of relocation records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelocSection<'d> {
    target: Section<'d>,
    records: Records<'d>,
    endian: Endianness,
}

#[derive(Clone, Copy, Debug)]
enum Records<'d> {
    Rel(&'d [Rel64<Endianness>]),
    Rela(&'d [Rela64<Endianness>]),
}

impl<'d> RelocSection<'d> {
    /// Collects the relocation sections, and checks the relocations of allocated sections.
    pub(crate) fn collect(elf: &Elf<'d>, symbols: &Symbols<'d>) -> Result<Vec<Self>, ObjectError> {
        let mut sections = Vec::new();
        for s in &elf.sections {
            if !matches!(s.sh_type, t if t == elf::SHT_REL.0 || t == elf::SHT_RELA.0) {
                continue;
            }
            let section = Self::parse(elf, symbols, s)?;
            if section.target.is_allocated() {
                section.iter(elf, symbols).try_for_each(|r| r.map(drop))?;
            }
            sections.push(section);
        }
        Ok(sections)
    }

    fn parse(elf: &Elf<'d>, symbols: &Symbols<'d>, s: &Section<'d>) -> Result<Self, ObjectError> {
        let damaged = |what| ObjectError::RelocationSection { section: s.text(), what };
        if s.is_compressed() {
            return Err(ObjectError::Compressed { section: s.text() });
        }
        if SectionIndex(s.link) != symbols.section {
            return Err(damaged("it does not refer to the symbol table"));
        }
        let target = *elf
            .section_at(SectionIndex(s.info))
            .ok_or_else(|| damaged("the section that it applies to does not exist"))?;
        let size = if s.sh_type == elf::SHT_REL.0 { 16 } else { 24 };
        if s.entsize != size || !s.size.is_multiple_of(size) {
            return Err(damaged("its record size does not match its type"));
        }
        let records = if s.sh_type == elf::SHT_REL.0 {
            pod::slice_from_all_bytes(s.data).map(Records::Rel)
        } else {
            pod::slice_from_all_bytes(s.data).map(Records::Rela)
        };
        let Ok(records) = records else { return Err(damaged("its last record is incomplete")) };
        Ok(Self { target, records, endian: object_endian(elf.endian) })
    }

    /// Iterates over the relocations.
    pub(crate) fn iter<'e>(
        self,
        elf: &'e Elf<'d>,
        symbols: &'e Symbols<'d>,
    ) -> impl Iterator<Item = Result<Reloc<'d>, ObjectError>> + 'e {
        let e = self.endian;
        let (rel, rela): (&'d [Rel64<_>], &'d [Rela64<_>]) = match self.records {
            Records::Rel(r) => (r, &[]),
            Records::Rela(r) => (&[], r),
        };
        let rel = rel.iter().map(move |r| (r.r_offset(e), r.r_sym(e), r.r_type(e).0, None));
        // The argument `is_mips64el` is for MIPS only.
        let rela = rela
            .iter()
            .map(move |r| (r.r_offset(e), r.r_sym(e, false), r.r_type(e, false).0, Some(r.r_addend(e))));
        rel.chain(rela).map(move |(offset, sym, ty, addend)| {
            let section = self.target;
            let kind = RelocType::from_number(ty).ok_or_else(|| ObjectError::RelocationType {
                section: section.text(),
                offset,
                found: ty,
            })?;
            let is_code = section.flags & elf::SHF_EXECINSTR.0 != 0;
            if offset.checked_add(kind.extent(is_code)).is_none_or(|end| end > section.size) {
                let (section, size, name) = (section.text(), section.size, kind.name());
                return Err(ObjectError::RelocationBounds { section, offset, size, name });
            }
            let missing = || ObjectError::RelocationSymbol { section: section.text(), offset, symbol: sym };
            let mut symbol = symbols.get(sym).ok_or_else(missing)??;
            if symbol.name.is_empty() {
                symbol.name = super::symbols::section_of(elf, &symbol).map_or(&[], |s| s.name);
            }
            Ok(Reloc { section_index: section.index, section: section.name, offset, kind, symbol, addend })
        })
    }

    /// Returns the index of the section that the relocations apply to.
    pub(crate) fn target(&self) -> SectionIndex {
        self.target.index
    }
}
