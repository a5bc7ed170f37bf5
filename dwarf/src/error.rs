//! The reasons why debug information cannot be converted.

use crate::parse_error::{AttributeName, DwarfProblem, ElfProblem, TagName};
use core::fmt;
use core_relo::{
    InternalError,
    btf::{BtfError, DedupError, ImportError},
};
use thiserror::Error;

/// The offset of an entry or unit in its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DwarfOffset(u64);

/// The bit that marks places in `.debug_types`. Sections are smaller than 2^63 bytes.
const IN_TYPES: u64 = 1 << 63;

impl DwarfOffset {
    /// Returns a place in `.debug_info`.
    pub const fn info(offset: u64) -> Self {
        Self(offset & !IN_TYPES)
    }

    /// Returns a place in `.debug_types`, the section of type units in DWARF 4.
    pub const fn types(offset: u64) -> Self {
        Self(offset | IN_TYPES)
    }

    /// Returns the offset in the section.
    pub const fn offset(self) -> u64 {
        self.0 & !IN_TYPES
    }

    /// Returns the name of the section.
    pub const fn section(self) -> &'static str {
        if self.0 & IN_TYPES == 0 { ".debug_info" } else { ".debug_types" }
    }

    /// Returns the place at a distance in the same section; `None` past its end.
    pub(crate) fn plus(self, distance: u64) -> Option<Self> {
        let offset = self.offset().checked_add(distance).filter(|offset| offset & IN_TYPES == 0)?;
        Some(Self(offset | (self.0 & IN_TYPES)))
    }
}

impl fmt::Display for DwarfOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}", self.section(), self.offset())
    }
}

/// The reason why debug information cannot be converted to BTF.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The file is no ELF file.
    #[error("not an ELF file")]
    NotElf,
    /// The ELF file cannot be read.
    #[error("ELF: {0}")]
    Elf(#[from] ElfProblem),
    /// The file has no section `.debug_info`.
    #[error("no debug information: the file has no section .debug_info")]
    NoDebugInfo,
    /// No unit of the file is written in C.
    #[error("no debug information of C: the file has {skipped} units in other languages")]
    NoUnits {
        /// The number of units in other languages.
        skipped: usize,
    },
    /// The types of a unit are in another file (`-gsplit-dwarf`), which is not read.
    #[error("unit {unit}: its types are in a file or section .dwo, which is not read")]
    SplitUnit {
        /// The start of the unit.
        unit: DwarfOffset,
    },
    /// A section cannot be read.
    #[error("{section}: {problem}")]
    Section {
        /// The section.
        section: &'static str,
        /// The reason.
        problem: SectionProblem,
    },
    /// The header or the abbreviations of a unit cannot be read.
    #[error("unit {unit}: {problem}")]
    Unit {
        /// The start of the unit.
        unit: DwarfOffset,
        /// The reason.
        problem: DwarfProblem,
    },
    /// An entry cannot be converted.
    #[error("unit {unit}, entry {entry}: {problem}")]
    Entry {
        /// The start of the unit.
        unit: DwarfOffset,
        /// The entry.
        entry: DwarfOffset,
        /// The reason.
        problem: EntryProblem,
    },
    /// The file has another byte order than the base.
    #[error("the file is {file}, the base is {base}, expected the same byte order")]
    BaseEndian {
        /// The byte order of the file.
        file: &'static str,
        /// The byte order of the base.
        base: &'static str,
    },
    /// The types need more than 32-bit ids and offsets, or exceed another limit of the format.
    #[error("too many types for one BTF")]
    TooManyTypes,
    /// The types of all units cannot be deduplicated.
    #[error(transparent)]
    Dedup(#[from] DedupError),
    /// A type cannot be copied to the result.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The types are no valid BTF.
    #[error("the types are no valid BTF: {0}")]
    Btf(#[from] BtfError),
    /// An invariant of this library is broken.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

core_relo::debug_as_message!(EncodeError);

/// The reason why a section cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SectionProblem {
    /// The compressed data is damaged.
    #[error("compressed data is damaged")]
    Compressed,
    /// The compression is neither zlib nor Zstandard.
    #[error("unknown compression, expected zlib or Zstandard")]
    UnknownCompression,
    /// The decompressed section, or all sections, are larger than the limit.
    #[error("{bytes} bytes, expected at most {limit}")]
    TooLarge {
        /// The size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The table of the section's relocations cannot be read.
    #[error("its relocations cannot be read")]
    RelocationTable,
    /// A relocation has a kind that is not known for this architecture.
    #[error("relocation at {offset:#x}: kind {kind} is not known for this architecture")]
    RelocationKind {
        /// The offset of the relocation.
        offset: u64,
        /// The number of the kind (`R_*`).
        kind: u32,
    },
    /// A relocation refers to a symbol or section that does not exist.
    #[error("relocation at {offset:#x} refers to a symbol or section that does not exist")]
    RelocationTarget {
        /// The offset of the relocation.
        offset: u64,
    },
    /// A relocation lies outside of the section.
    #[error("relocation at {offset:#x} is outside of the section")]
    Relocation {
        /// The offset of the relocation.
        offset: u64,
    },
}

core_relo::debug_as_message!(SectionProblem);

/// The reason why an entry cannot be converted.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EntryProblem {
    /// The entry cannot be parsed.
    #[error("{0}")]
    Dwarf(#[from] DwarfProblem),
    /// An attribute has a form or value that the attribute cannot have.
    #[error("{attribute} has an unexpected form or value")]
    Form {
        /// The attribute.
        attribute: AttributeName,
    },
    /// An attribute is missing.
    #[error("{tag} has no {attribute}")]
    Missing {
        /// The tag of the entry.
        tag: TagName,
        /// The attribute.
        attribute: AttributeName,
    },
    /// The entry refers to an entry that does not exist.
    #[error("refers to entry {target}, which does not exist")]
    NoEntry {
        /// The missing entry.
        target: DwarfOffset,
    },
    /// The entry refers to a type unit that does not exist.
    #[error("refers to the type unit with signature {signature:#018x}, which does not exist")]
    NoTypeUnit {
        /// The signature.
        signature: u64,
    },
    /// The entry refers to an entry that is no type.
    #[error("refers to entry {target}, which is no type")]
    NoType {
        /// The other entry.
        target: DwarfOffset,
    },
    /// The entry refers to the supplementary file of `dwz -m`.
    #[error("refers to a supplementary file, which is not read")]
    Supplementary,
    /// A type refers to itself, with no struct, union in the cycle.
    #[error("refers to itself, with no struct or union in the cycle")]
    Cycle,
    /// A struct or union contains itself.
    #[error("contains itself")]
    ContainsItself,
    /// Entries are nested too deeply.
    #[error("nested more than {} levels deep", crate::limits::ENTRY_DEPTH)]
    TooDeep,
    /// A name is too long or has no end.
    #[error("{attribute} is longer than {} bytes, or has no end", crate::limits::NAME_BYTES)]
    Name {
        /// The attribute.
        attribute: AttributeName,
    },
    /// All names together are too long for the size of the units.
    #[error("the names that units read overlap: they are too long for the size of the units")]
    OverlappingNames,
    /// A size, offset or number of elements does not fit BTF.
    #[error("{what} is {value}, expected at most {limit}")]
    TooLarge {
        /// The number.
        what: &'static str,
        /// The value.
        value: u64,
        /// The limit.
        limit: u64,
    },
    /// A bitfield lies outside of its storage, or its storage has no size.
    #[error("bitfield outside of its storage")]
    Bitfield,
    /// An abbreviation has too many attributes.
    #[error("the abbreviation has {count} attributes, expected at most {}", crate::limits::ATTRIBUTES)]
    Attributes {
        /// The number of attributes.
        count: usize,
    },
    /// A unit has too many types and parts of types.
    #[error("the unit has more than {} types, functions and parts of them", crate::limits::UNIT_ENTRIES)]
    UnitEntries,
    /// The types of a unit become too many BTF records.
    #[error("the types of the unit are more than {} BTF records", crate::limits::UNIT_RECORDS)]
    UnitRecords,
    /// The types of all units become too many BTF records.
    #[error("the types of the file are too many BTF records for its size")]
    FileRecords,
    /// Too many annotations.
    #[error("more than {} annotations", crate::limits::ANNOTATIONS)]
    Annotations,
    /// The units refer to too many entries of other units.
    #[error("the units refer to too many entries of other units")]
    ForeignEntries,
    /// An invariant of this library is broken.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

core_relo::debug_as_message!(EntryProblem);
