//! Errors of linking: the file, the section or symbol, and the problem.

use super::mismatch::{MapMismatch, TypeMismatch};
use crate::{internal::InternalError, limits, object::ObjectError};
use core_relo::{
    Endian, Text, TypeId,
    btf::{BtfError, DedupError, ImportError},
};
use thiserror::Error;

/// A reason why objects cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LinkError {
    /// A broken invariant of this crate.
    #[error(transparent)]
    Internal(#[from] InternalError),
    /// There is nothing to link.
    #[error("no objects to link")]
    Nothing,
    /// A file is no BPF object.
    #[error("{file}: {cause}")]
    Object {
        /// The file.
        file: Text,
        /// The problem.
        #[source]
        cause: ObjectError,
    },
    /// The files are of different byte order.
    #[error("{file}: its byte order is not that of the files before it ({expected:?})")]
    ByteOrder {
        /// The file.
        file: Text,
        /// Byte order of the first file.
        expected: Endian,
    },
    /// A section cannot be linked.
    #[error("{file}: section `{section}` {cause}")]
    Section {
        /// The file.
        file: Text,
        /// Name of the section.
        section: Text,
        /// The problem.
        #[source]
        cause: SectionFault,
    },
    /// A symbol cannot be linked.
    #[error("{file}: symbol `{symbol}` {cause}")]
    Symbol {
        /// The file.
        file: Text,
        /// Name of the symbol.
        symbol: Text,
        /// The problem.
        #[source]
        cause: SymbolFault,
    },
    /// A relocation cannot be moved.
    #[error("{file}: section `{section}`: relocation at offset {offset:#x} {cause}")]
    Relocation {
        /// The file.
        file: Text,
        /// Name of the section it applies to.
        section: Text,
        /// The offset in the section, in bytes.
        offset: u64,
        /// The problem.
        #[source]
        cause: RelocationFault,
    },
    /// Types cannot be merged.
    #[error("{file}: {cause}")]
    Types {
        /// The file.
        file: Text,
        /// The problem.
        #[source]
        cause: TypeFault,
    },
    /// The merged types cannot be deduplicated.
    #[error("the types of all files together: {0}")]
    Dedup(#[source] DedupError),
    /// The merged types are no BTF: together they are too large.
    #[error("the types of all files together: {0}")]
    Merged(#[source] BtfError),
    /// More sections than an ELF object without extensions has numbers for.
    #[error("{count} sections are more than an object can have")]
    TooManySections {
        /// Their number.
        count: usize,
    },
    /// More variables of one section than libbpf and the kernel read: the format had 16 bits for them.
    #[error("section `{section}` gets {count} variables, {} is the most", limits::LINK_VARIABLES)]
    TooManyVariables {
        /// The section.
        section: Text,
        /// Their number.
        count: usize,
    },
    /// The sections ask for more alignment than is sensible.
    #[error("the alignments of all sections add up to {bytes} bytes")]
    Padding {
        /// Their sum.
        bytes: u64,
    },
    /// Names of sections are out of proportion to the file.
    #[error("{file}: the names of sections overlap, and written apart they are longer than the file")]
    TooManySectionNames {
        /// The file.
        file: Text,
    },
    /// Names of symbols are out of proportion to the files.
    #[error("the names of symbols overlap: written apart they are {len} bytes long")]
    TooManyNames {
        /// Bytes of names so far.
        len: usize,
    },
}

impl LinkError {
    /// The file that is wrong, if it is one.
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

/// A problem of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SectionFault {
    /// A broken invariant of this crate.
    #[error(transparent)]
    Internal(#[from] InternalError),
    /// It has no name.
    #[error("number {index} has no name")]
    NoName {
        /// Its number.
        index: u32,
    },
    /// A type that no BPF object has.
    #[error("is of type {found:#x}, which cannot be linked")]
    Type {
        /// `sh_type`.
        found: u32,
    },
    /// It is there twice and may not be.
    #[error("is there more than once")]
    Duplicate,
    /// It is compressed.
    #[error("is compressed")]
    Compressed,
    /// The alignment is no power of two.
    #[error("asks for an alignment of {found}, which is no power of two")]
    Alignment {
        /// `sh_addralign`.
        found: u64,
    },
    /// Code that is not made of whole instructions.
    #[error("has {size} bytes of code, not a multiple of 8")]
    CodeSize {
        /// The size in bytes.
        size: u64,
    },
    /// Its bytes are those of another section, too.
    #[error("overlaps other sections")]
    Overlap,
    /// Another file's section of the name has other properties.
    #[error("differs in {what} ({found:#x}) from that of the files before ({expected:#x})")]
    Differs {
        /// `type`, `flags` or `entry size`.
        what: &'static str,
        /// The one of the files before.
        expected: u64,
        /// The one of this file.
        found: u64,
    },
    /// The contents of `license` or `version` differ from those in another file.
    #[error("differs from that of the files before: all files must have the same")]
    Content,
    /// Together the sections of the name are too large.
    #[error("becomes too large")]
    TooLarge,
    /// A relocation section has records of another size, another symbol table, or another name than its section.
    #[error("is a damaged relocation section: {what}")]
    Relocations {
        /// The problem.
        what: &'static str,
    },
    /// `.BTF.ext` has records of a section that does not exist.
    #[error("is named in .BTF.ext, but does not exist")]
    NotFound,
    /// The records of `.BTF.ext` are of another size than those of the files before.
    #[error("has records of {found} bytes in .BTF.ext, the files before have {expected}")]
    RecordSize {
        /// The size in the files before.
        expected: u32,
        /// The size in this file.
        found: u32,
    },
}

/// A problem of a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SymbolFault {
    /// A broken invariant of this crate.
    #[error(transparent)]
    Internal(#[from] InternalError),
    /// Neither local, global nor weak.
    #[error("has binding {found}, which is neither local, global nor weak")]
    Binding {
        /// `STB_*`.
        found: u8,
    },
    /// Neither default nor hidden.
    #[error("has visibility {found}, which is neither default nor hidden")]
    Visibility {
        /// `STV_*`.
        found: u8,
    },
    /// An undefined symbol that is local, or has a type, a value or a size.
    #[error("is undefined, and yet local or with a type, a value or a size")]
    Extern,
    /// A section's symbol that does not stand for its beginning.
    #[error("stands for a section, and its value is {value:#x}, not 0")]
    SectionValue {
        /// `st_value`.
        value: u64,
    },
    /// No variable or function of its name in the BTF.
    #[error("has no BTF: compile {} with -g", if *.is_extern { "what declares it" } else { "it" })]
    NoBtf {
        /// Whether the symbol is an extern.
        is_extern: bool,
    },
    /// Two variables or functions of its name in the BTF.
    #[error("is described by two types of the BTF, [{first}] and [{second}]")]
    Ambiguous {
        /// The one.
        first: TypeId,
        /// The other.
        second: TypeId,
    },
    /// Defined by two files, weakly by neither.
    #[error("is defined in {other}, too: one of them must be weak or static")]
    Conflict {
        /// The other file.
        other: Text,
    },
    /// Its type is not that of the other file's.
    #[error("is declared otherwise in {other}: {cause}")]
    Types {
        /// The other file.
        other: Text,
        /// The difference.
        #[source]
        cause: TypeMismatch,
    },
    /// The map's definition is not that of the other file's.
    #[error("is a map defined otherwise in {other}: {cause}")]
    Maps {
        /// The other file.
        other: Text,
        /// The difference.
        #[source]
        cause: MapMismatch,
    },
    /// Defined in no section (absolute, common), where another file has or wants it.
    #[error("is defined in no section, so it cannot stand for that of {other}")]
    NoSection {
        /// The other file.
        other: Text,
    },
    /// The extern's section in the BTF differs from that of another file.
    #[error("belongs to section `{found}` here, and to another in {other}")]
    Section {
        /// The section of this file.
        found: Text,
        /// The other file.
        other: Text,
    },
    /// The BTF has a variable in a section, the symbols do not.
    #[error("is a variable of section `{section}` in the BTF, but no symbol of it")]
    NoSymbol {
        /// The section.
        section: Text,
    },
}

/// A problem of a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RelocationFault {
    /// A type that the linker does not know.
    #[error("is of type {found}, which cannot be linked")]
    Type {
        /// `r_type`.
        found: u32,
    },
    /// The symbol does not exist.
    #[error("names symbol {symbol}, which does not exist")]
    Symbol {
        /// Its number.
        symbol: u32,
    },
    /// It applies to the middle of an instruction.
    #[error("applies to the middle of an instruction")]
    Unaligned,
    /// It applies to what lies past the section's end.
    #[error("does not fit the section's {size} bytes")]
    Bounds {
        /// The section's size.
        size: u64,
    },
    /// Data that refers to a section by an offset.
    #[error(
        "refers from data to a section's symbol, which libbpf cannot link either: make what it refers to global"
    )]
    SectionSymbol,
}

/// A problem of a file's types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TypeFault {
    /// A type or a name cannot be read.
    #[error("section `.BTF`: {0}")]
    Import(#[from] ImportError),
    /// A variable, function or section of a name that no symbol or section can have.
    #[error("section `.BTF`: type [{id}] has a name of {} bytes or more", limits::NAME_BYTES)]
    LongName {
        /// The type.
        id: TypeId,
    },
    /// A type refers to one that is not taken over: to a section, or to a variable without a symbol.
    #[error("section `.BTF`: type [{from}] refers to [{to}], which is not linked")]
    NotLinked {
        /// The type that refers.
        from: TypeId,
        /// The type referred to.
        to: TypeId,
    },
}
