//! The symbol table, with checked names and sections.

use super::error::ObjectError;
use crate::{
    elf::{Elf, Section},
    index::SectionIndex,
};
use core_relo::Endian;
use object::{
    Endianness,
    elf::{self, Sym64},
    pod,
    read::elf::Sym as _,
};

/// The location of a symbol's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SymbolLocation {
    /// Undefined in this object (`SHN_UNDEF`).
    Undefined,
    /// In the section with this index.
    Section(SectionIndex),
    /// In no section (`SHN_ABS` and other reserved indices).
    Reserved(u16),
}

impl SymbolLocation {
    /// The location of an uninitialised variable that the linker has yet to place (`SHN_COMMON`). Loaders do
    /// not place it.
    pub const COMMON: Self = Self::Reserved(elf::SHN_COMMON.0);
}

/// The linkage of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Linkage {
    /// `STB_LOCAL`: C's `static`.
    Static,
    /// `STB_GLOBAL`.
    Global,
    /// `STB_WEAK`.
    Weak,
    /// Anything else.
    Other(u8),
}

/// The kind of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SymbolKind {
    /// `STT_NOTYPE`: externs, labels.
    NoType,
    /// `STT_OBJECT`: a variable.
    Object,
    /// `STT_FUNC`.
    Function,
    /// `STT_SECTION`: the section itself.
    Section,
    /// Anything else.
    Other(u8),
}

/// A symbol of a BPF object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Symbol<'d> {
    /// The index in the symbol table.
    pub index: u32,
    /// The name; empty for most section symbols.
    pub name: &'d [u8],
    /// The kind.
    pub kind: SymbolKind,
    /// The linkage.
    pub linkage: Linkage,
    /// Whether the visibility is `STV_HIDDEN` or `STV_INTERNAL`.
    pub is_hidden: bool,
    /// The location of the definition.
    pub location: SymbolLocation,
    /// `st_value`: the offset in the section, in bytes.
    pub value: u64,
    /// The size in bytes.
    pub size: u64,
}

impl Symbol<'_> {
    /// Returns whether the symbol is an extern: undefined, untyped, and global or weak (libbpf:
    /// `sym_is_extern`).
    pub fn is_extern(&self) -> bool {
        self.location == SymbolLocation::Undefined
            && self.kind == SymbolKind::NoType
            && matches!(self.linkage, Linkage::Global | Linkage::Weak)
    }
}

/// The symbol table of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbols<'d> {
    raw: &'d [Sym64<Endianness>],
    strings: &'d [u8],
    endian: Endianness,
    sections: usize,
    pub(crate) section: SectionIndex,
}

impl<'d> Symbols<'d> {
    /// Finds the symbol table. There must be exactly one, as in libbpf's `bpf_object__elf_collect`.
    pub(crate) fn find(elf: &Elf<'d>) -> Result<Self, ObjectError> {
        let mut tables = elf.sections.iter().filter(|s| s.sh_type == elf::SHT_SYMTAB.0);
        let table = tables.next().ok_or(ObjectError::NoSymbols)?;
        if tables.next().is_some() {
            return Err(ObjectError::SeveralSymbolTables);
        }
        let damaged = |what| ObjectError::SymbolTable { section: table.text(), what };
        if table.is_compressed() {
            return Err(ObjectError::Compressed { section: table.text() });
        }
        let strings = elf
            .section_at(SectionIndex(table.link))
            .filter(|s| s.sh_type == elf::SHT_STRTAB.0 && !s.is_compressed())
            .ok_or_else(|| damaged("its string table is missing"))?;
        let raw = pod::slice_from_all_bytes(table.data).ok().filter(|_| table.data.len().is_multiple_of(24));
        Ok(Self {
            raw: raw.ok_or_else(|| damaged("its size is not a multiple of 24"))?,
            strings: strings.data,
            endian: object_endian(elf.endian),
            sections: elf.sections.len(),
            section: table.index,
        })
    }

    /// Returns the symbol with an index; `None` if there is no such symbol.
    pub(crate) fn get(&self, index: u32) -> Option<Result<Symbol<'d>, ObjectError>> {
        Some(self.resolve(index, self.raw.get(usize::try_from(index).ok()?)?))
    }

    /// Returns the unparsed records.
    #[cfg(feature = "static-link")]
    pub(crate) const fn raw(&self) -> &'d [Sym64<Endianness>] {
        self.raw
    }

    /// Iterates over the symbols.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<Symbol<'d>, ObjectError>> {
        let table = *self;
        (0u32..).zip(self.raw).map(move |(index, raw)| table.resolve(index, raw))
    }

    fn resolve(&self, index: u32, raw: &Sym64<Endianness>) -> Result<Symbol<'d>, ObjectError> {
        let e = self.endian;
        let offset = raw.st_name(e);
        let name = crate::elf::string_at(self.strings, offset)
            .ok_or(ObjectError::SymbolName { symbol: index, offset })?;
        let location = match raw.st_shndx(e).0 {
            0 => SymbolLocation::Undefined,
            n if n >= elf::SHN_LORESERVE => SymbolLocation::Reserved(n),
            n if usize::from(n) < self.sections => SymbolLocation::Section(SectionIndex(n.into())),
            section => {
                let symbol = crate::elf::text(name);
                return Err(ObjectError::SymbolSection { symbol, index, section: section.into() });
            }
        };
        Ok(Symbol {
            index,
            name,
            kind: match raw.st_type() {
                elf::STT_NOTYPE => SymbolKind::NoType,
                elf::STT_OBJECT => SymbolKind::Object,
                elf::STT_FUNC => SymbolKind::Function,
                elf::STT_SECTION => SymbolKind::Section,
                other => SymbolKind::Other(other.0),
            },
            linkage: match raw.st_bind() {
                elf::STB_LOCAL => Linkage::Static,
                elf::STB_GLOBAL => Linkage::Global,
                elf::STB_WEAK => Linkage::Weak,
                other => Linkage::Other(other.0),
            },
            is_hidden: matches!(raw.st_visibility(), elf::STV_HIDDEN | elf::STV_INTERNAL),
            location,
            value: raw.st_value(e),
            size: raw.st_size(e),
        })
    }
}

/// Converts a byte order to the type of the `object` crate.
pub(crate) const fn object_endian(endian: Endian) -> Endianness {
    match endian {
        Endian::Little => Endianness::Little,
        Endian::Big => Endianness::Big,
    }
}

/// Returns the section in which a symbol is defined, if any.
pub(crate) fn section_of<'e, 'd>(elf: &'e Elf<'d>, symbol: &Symbol<'_>) -> Option<&'e Section<'d>> {
    match symbol.location {
        SymbolLocation::Section(index) => elf.section_at(index),
        _ => None,
    }
}
