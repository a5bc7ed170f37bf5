//! Errors of linking objects: the file, the section or symbol, and the problem.

use super::mismatch::{MapMismatch, TypeMismatch};
use crate::{SectionIndex, internal::InternalError, limits, object::ObjectError};
use core_relo::{
    Endian, Text, TypeId,
    btf::{BtfError, DedupError, ImportError},
};
use thiserror::Error;

/// An error in linking objects.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StaticLinkError {
    /// A broken invariant of this crate.
    #[error(transparent)]
    Internal(#[from] InternalError),
    /// There are no objects.
    #[error("no objects to link")]
    NoObjects,
    /// A file is not a valid BPF object.
    #[error("{file}: {cause}")]
    Object {
        /// The file.
        file: Text,
        /// The cause.
        #[source]
        cause: ObjectError,
    },
    /// The byte orders of two files differ.
    #[error("{file}: wrong byte order, expected {} as in the first file", endian_name(*.expected))]
    ByteOrder {
        /// The file.
        file: Text,
        /// The byte order of the first file.
        expected: Endian,
    },
    /// A section cannot be linked.
    #[error("{file}: section `{section}`: {cause}")]
    Section {
        /// The file.
        file: Text,
        /// The section's name.
        section: Text,
        /// The cause.
        #[source]
        cause: SectionError,
    },
    /// A symbol cannot be linked.
    #[error("{file}: symbol `{symbol}`: {cause}")]
    Symbol {
        /// The file.
        file: Text,
        /// The symbol's name, or the section's name for a section symbol.
        symbol: Text,
        /// The cause.
        #[source]
        cause: SymbolError,
    },
    /// A relocation cannot be linked.
    #[error("{file}: section `{section}`: relocation at offset {offset:#x}: {cause}")]
    Relocation {
        /// The file.
        file: Text,
        /// The name of the section that the relocation applies to.
        section: Text,
        /// The offset in the section, in bytes.
        offset: u64,
        /// The cause.
        #[source]
        cause: RelocationError,
    },
    /// The types of a file cannot be merged.
    #[error("{file}: section `.BTF`: {cause}")]
    Types {
        /// The file.
        file: Text,
        /// The cause.
        #[source]
        cause: TypeError,
    },
    /// The merged types cannot be deduplicated.
    #[error("types of the linked object: {0}")]
    Dedup(#[source] DedupError),
    /// The merged types exceed the limits of BTF.
    #[error("types of the linked object: {0}")]
    Merged(#[source] BtfError),
    /// The linked object has more sections than an ELF file without extended numbering.
    #[error("too many sections in the linked object, expected fewer than 65280")]
    TooManySections,
    /// A section has more variables than libbpf up to 1.7 reads, where BTF's `vlen` has 16 bits.
    #[error("section `{section}`: {count} variables, expected at most {}", limits::LINK_VARIABLES)]
    TooManyVariables {
        /// The section's name.
        section: Text,
        /// The number of variables.
        count: usize,
    },
    /// The alignments of all sections add up to more than
    /// [`limits::LINK_PADDING`](crate::limits::LINK_PADDING).
    #[error(
        "section `{section}`: alignment {align}, expected at most {} for all sections together",
        limits::LINK_PADDING
    )]
    Alignment {
        /// The name of the section at which the sum exceeds the limit.
        section: Text,
        /// The section's alignment in bytes.
        align: u64,
    },
    /// The `.BTF.ext` records of two sections have different sizes.
    #[error(
        "section `{section}`: .BTF.ext records of {found} bytes, expected {expected} as in other sections"
    )]
    RecordSize {
        /// The section's name.
        section: Text,
        /// The size of the other section's records.
        expected: u32,
        /// The size of this section's records.
        found: u32,
    },
    /// The section names of a file overlap, and separate copies would exceed
    /// [`limits::LINK_NAMES`](crate::limits::LINK_NAMES).
    #[error(
        "{file}: overlapping section names have more than {} times the bytes of the file",
        limits::LINK_NAMES
    )]
    TooManySectionNames {
        /// The file.
        file: Text,
    },
    /// The names in the files overlap, and separate copies would exceed
    /// [`limits::LINK_NAMES`](crate::limits::LINK_NAMES).
    #[error(
        "overlapping names have {len} bytes, expected at most {} times the bytes of the files",
        limits::LINK_NAMES
    )]
    TooManyNames {
        /// The size of the string table in bytes.
        len: usize,
    },
}

core_relo::debug_as_message!(StaticLinkError);

impl StaticLinkError {
    /// Returns the file with the error, if the error is in one file.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Object { file, .. }
            | Self::ByteOrder { file, .. }
            | Self::Section { file, .. }
            | Self::Symbol { file, .. }
            | Self::Relocation { file, .. }
            | Self::Types { file, .. }
            | Self::TooManySectionNames { file } => Some(file),
            _ => None,
        }
    }
}

const fn endian_name(endian: Endian) -> &'static str {
    match endian {
        Endian::Little => "little-endian",
        Endian::Big => "big-endian",
    }
}

/// An error of a section.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SectionError {
    /// The section has no name.
    #[error("no name of section {index}")]
    NoName {
        /// The section's index.
        index: SectionIndex,
    },
    /// The section has a type that cannot be linked.
    #[error("type {found:#x}, expected SHT_PROGBITS, SHT_NOBITS, SHT_SYMTAB or SHT_REL")]
    Type {
        /// `sh_type`.
        found: u32,
    },
    /// A section that must be unique exists more than once.
    #[error("the section exists more than once")]
    Duplicate,
    /// The section is compressed.
    #[error("the section is compressed")]
    Compressed,
    /// The alignment is not a power of two.
    #[error("alignment {found}, expected a power of two")]
    Alignment {
        /// `sh_addralign`.
        found: u64,
    },
    /// The section does not consist of whole instructions.
    #[error("{size} bytes of code, expected a multiple of 8")]
    CodeSize {
        /// The size in bytes.
        size: u64,
    },
    /// The section shares bytes with other sections.
    #[error("the section overlaps other sections")]
    Overlap,
    /// A property differs from the section of the same name in an earlier file.
    #[error("{property} {found:#x}, expected {expected:#x} as in earlier files")]
    Property {
        /// `type`, `flags` or `entry size`.
        property: &'static str,
        /// The value in the earlier file.
        expected: u64,
        /// The value in this file.
        found: u64,
    },
    /// The contents of `license` or `version` differ from an earlier file.
    #[error("the contents differ from earlier files, expected the same in all files")]
    Contents,
    /// The section of the linked object would exceed [`limits::LINK_SECTION`](crate::limits::LINK_SECTION),
    /// or the padding [`limits::LINK_PADDING`](crate::limits::LINK_PADDING).
    #[error("the section becomes too large in the linked object")]
    TooLarge,
    /// A relocation section is damaged.
    #[error("damaged relocation section: {what}")]
    Relocations {
        /// The problem.
        what: &'static str,
    },
    /// `.BTF.ext` has records of a section that does not exist.
    #[error(".BTF.ext names the section, which does not exist")]
    NotFound,
    /// The size of `.BTF.ext` records differs from an earlier file.
    #[error(".BTF.ext records of {found} bytes, expected {expected} as in earlier files")]
    RecordSize {
        /// The size in the earlier file.
        expected: u32,
        /// The size in this file.
        found: u32,
    },
    /// The offset of a `.BTF.ext` record is beyond every section.
    #[error(".BTF.ext record at offset {offset:#x}, expected an offset in the section")]
    RecordOffset {
        /// The offset in bytes.
        offset: u32,
    },
}

core_relo::debug_as_message!(SectionError);

/// An error of a symbol.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SymbolError {
    /// The binding is neither local, global nor weak.
    #[error("binding {found}, expected local, global or weak")]
    Binding {
        /// `STB_*`.
        found: u8,
    },
    /// The visibility is neither default nor hidden.
    #[error("visibility {found}, expected default or hidden")]
    Visibility {
        /// `STV_*`.
        found: u8,
    },
    /// An undefined symbol is local, or has a type, a value or a size.
    #[error("the symbol is undefined, but is local or has a type, a value or a size")]
    Extern,
    /// The value of a section symbol is not 0.
    #[error("the value of the section symbol is {value:#x}, expected 0")]
    SectionValue {
        /// `st_value`.
        value: u64,
    },
    /// The BTF has no variable or function of the name.
    #[error("the BTF does not describe the {}: compile with -g", if *.is_extern { "extern" } else { "symbol" })]
    NoBtf {
        /// Whether the symbol is an extern.
        is_extern: bool,
    },
    /// The variable is a common symbol (`SHN_COMMON`): uninitialised, and in no section.
    #[error("the variable is uninitialised and in no section (a common symbol): compile with -fno-common")]
    Common,
    /// The BTF has two variables or functions of the name.
    #[error("the BTF has two types of this name, [{first}] and [{second}]")]
    Ambiguous {
        /// The type outside of DATASECs.
        first: TypeId,
        /// The type in a DATASEC.
        second: TypeId,
    },
    /// An earlier file defines the symbol, and neither definition is weak.
    #[error("the symbol is also defined in {other}: one of the definitions must be weak or static")]
    Conflict {
        /// The earlier file.
        other: Text,
    },
    /// The type differs from the type in an earlier file.
    #[error("the type differs from {other}: {cause}")]
    Types {
        /// The earlier file.
        other: Text,
        /// The difference.
        #[source]
        cause: TypeMismatch,
    },
    /// The map's definition differs from the definition in an earlier file.
    #[error("the map definition differs from {other}: {cause}")]
    Maps {
        /// The earlier file.
        other: Text,
        /// The difference.
        #[source]
        cause: MapMismatch,
    },
    /// A symbol that an earlier file has is defined in no section (absolute or common).
    #[error(
        "the symbol is in no section, possibly as an uninitialised global, and {other} has the symbol too: compile with -fno-common"
    )]
    NoSection {
        /// The earlier file.
        other: Text,
    },
    /// The section of the variable in the BTF differs from an earlier file.
    #[error("section `{found}`, expected the section in {other}")]
    Section {
        /// The section in this file.
        found: Text,
        /// The earlier file.
        other: Text,
    },
    /// The BTF has a variable in a section, but the symbol table has no such symbol.
    #[error("no symbol of section `{section}`, though the BTF has the variable")]
    NoSymbol {
        /// The section's name.
        section: Text,
    },
}

core_relo::debug_as_message!(SymbolError);

/// An error of a relocation.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RelocationError {
    /// The linker does not support the relocation's type.
    #[error(
        "type {found}, expected R_BPF_64_64, R_BPF_64_ABS64, R_BPF_64_ABS32, R_BPF_64_NODYLD32 or R_BPF_64_32"
    )]
    Type {
        /// `r_type`.
        found: u32,
    },
    /// The symbol does not exist.
    #[error("symbol {symbol} does not exist")]
    Symbol {
        /// The symbol's index.
        symbol: u32,
    },
    /// The offset is in the middle of an instruction.
    #[error("the offset is in the middle of an instruction")]
    Unaligned,
    /// The relocated field reaches past the section's end.
    #[error("the field reaches past the section's {size} bytes")]
    Bounds {
        /// The section's size in bytes.
        size: u64,
    },
    /// A map definition or struct_ops table refers to a section symbol, or a word of data does so like a
    /// call.
    #[error(
        "the word refers to a static map, function or variable, which loaders cannot find by name: remove `static` from the target"
    )]
    SectionSymbol,
    /// The field has no room for the target's offset in the linked section.
    #[error("the field has no room for the offset of its target in the linked section")]
    Overflow,
}

core_relo::debug_as_message!(RelocationError);

/// An error of a file's types.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TypeError {
    /// A type or a name cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The name of a variable, function or section is longer than the name of any symbol or section.
    #[error("type [{id}]: the name has {} bytes or more", limits::NAME_BYTES)]
    LongName {
        /// The type.
        id: TypeId,
    },
    /// A type refers to a type that is not linked: a DATASEC, or a variable without a symbol.
    #[error("type [{from}] refers to type [{to}], which is not linked")]
    NotLinked {
        /// The type with the reference.
        from: TypeId,
        /// The target of the reference.
        to: TypeId,
    },
    /// The offset of a variable is beyond every section.
    #[error("variable [{id}] at offset {offset:#x}, expected an offset in the section")]
    VariableOffset {
        /// The VAR.
        id: TypeId,
        /// The offset in bytes.
        offset: u32,
    },
}

core_relo::debug_as_message!(TypeError);
