//! Errors of parsing and rewriting BPF objects.

use crate::elf::ElfError;
use core_relo::{RelocsError, Text, btf::BtfError, ext::ExtError};
use thiserror::Error;

/// An error in parsing a BPF object.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// The ELF file is damaged.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// The ELF file is 32-bit.
    #[error("32-bit ELF file, expected 64-bit")]
    Elf32,
    /// The ELF file is for another machine.
    #[error("ELF machine {found} is not BPF, expected 247")]
    Machine {
        /// `e_machine`.
        found: u16,
    },
    /// The file is an executable, a shared object or a core file.
    #[error("ELF type {found}, expected 1 (relocatable object)")]
    FileType {
        /// `e_type`.
        found: u16,
    },
    /// There is no symbol table.
    #[error("no symbol table: the object was stripped: use `llvm-strip -g`, which keeps the symbol table")]
    NoSymbols,
    /// There is more than one symbol table.
    #[error("more than one symbol table")]
    SeveralSymbolTables,
    /// The symbol table is damaged.
    #[error("symbol table `{section}` is damaged: {what}")]
    SymbolTable {
        /// The name of the table's section.
        section: Text,
        /// The problem.
        what: &'static str,
    },
    /// A symbol's name lies outside the string table, or is longer than
    /// [`limits::NAME_BYTES`](crate::limits::NAME_BYTES).
    #[error("symbol {symbol}: the name at {offset:#x} is too long, or outside the string table")]
    SymbolName {
        /// The symbol's index.
        symbol: u32,
        /// `st_name`.
        offset: u32,
    },
    /// A symbol is defined in a section that does not exist.
    #[error("symbol {index} `{symbol}` is in section {section}, which does not exist")]
    SymbolSection {
        /// The symbol's name.
        symbol: Text,
        /// The symbol's index.
        index: u32,
        /// `st_shndx`.
        section: u32,
    },
    /// A section that must be unique exists more than once.
    #[error("section `{section}` exists more than once")]
    Duplicate {
        /// The name.
        section: Text,
    },
    /// A required section is compressed.
    #[error("section `{section}` is compressed")]
    Compressed {
        /// The name.
        section: Text,
    },
    /// Sections of code, data and relocations overlap: together they have more bytes than the file.
    #[error("section `{section}` overlaps other sections of code, data or relocations")]
    Overlap {
        /// The name of the section at which the sum exceeds the file.
        section: Text,
    },
    /// A section does not have the type that its name implies.
    #[error("section `{section}` is of type {found}, expected {expected}")]
    SectionType {
        /// The name.
        section: Text,
        /// `sh_type`.
        found: u32,
        /// The expected type.
        expected: u32,
    },
    /// The size of a code section is not a multiple of an instruction's, or does not fit 32 bits.
    #[error("code section `{section}` has {size} bytes, expected a multiple of 8 below 4 GiB")]
    CodeSize {
        /// The name.
        section: Text,
        /// The size in bytes.
        size: u64,
    },
    /// A function is empty, or begins or ends within an instruction.
    #[error(
        "section `{section}`: function `{symbol}` at offset {offset} with {size} bytes does not consist of whole instructions"
    )]
    FunctionAlignment {
        /// The section's name.
        section: Text,
        /// The function's name.
        symbol: Text,
        /// The offset in the section, in bytes.
        offset: u64,
        /// The size in bytes.
        size: u64,
    },
    /// A function reaches past the end of its section.
    #[error(
        "section `{section}`: function `{symbol}` at offset {offset} with {size} bytes reaches past the section's {available}"
    )]
    FunctionBounds {
        /// The section's name.
        section: Text,
        /// The function's name.
        symbol: Text,
        /// The offset in the section, in bytes.
        offset: u64,
        /// The size in bytes.
        size: u64,
        /// The section's size in bytes.
        available: u64,
    },
    /// The `version` section is not four bytes long.
    #[error("section `version` has {size} bytes, expected 4")]
    VersionSize {
        /// The size in bytes.
        size: u64,
    },
    /// A relocation section has records of the wrong size, or refers to the wrong sections.
    #[error("relocation section `{section}` is damaged: {what}")]
    RelocationSection {
        /// The name.
        section: Text,
        /// The problem.
        what: &'static str,
    },
    /// A relocation has an unknown type.
    #[error("section `{section}`: relocation at offset {offset:#x}: unknown type {found}")]
    RelocationType {
        /// The name of the section that the relocation applies to.
        section: Text,
        /// The offset in the section, in bytes.
        offset: u64,
        /// `r_type`.
        found: u32,
    },
    /// A relocation does not fit its section.
    #[error(
        "section `{section}`: relocation at offset {offset:#x} of type {name} does not fit the section's {size} bytes"
    )]
    RelocationBounds {
        /// The name of the section that the relocation applies to.
        section: Text,
        /// The offset in the section, in bytes.
        offset: u64,
        /// The section's size in bytes.
        size: u64,
        /// The name of the relocation type.
        name: &'static str,
    },
    /// A relocation refers to a symbol that does not exist.
    #[error(
        "section `{section}`: relocation at offset {offset:#x} refers to symbol {symbol}, which does not exist"
    )]
    RelocationSymbol {
        /// The name of the section that the relocation applies to.
        section: Text,
        /// The offset in the section, in bytes.
        offset: u64,
        /// The symbol's index.
        symbol: u32,
    },
    /// The `.BTF` section is damaged.
    #[error("section `.BTF`: {0}")]
    Btf(#[source] BtfError),
    /// The byte order of `.BTF` differs from the file's.
    #[error("section `.BTF` and the file have different byte orders")]
    BtfEndian,
    /// The `.BTF.ext` section is damaged. (libbpf warns, and loads the code unrelocated.)
    #[error("section `.BTF.ext`: {0}")]
    Ext(#[source] ExtError),
    /// The CO-RE relocations cannot be collected.
    #[error("section `.BTF.ext`: {0}")]
    Relocs(#[source] RelocsError),
    /// The object has `.BTF.ext` but no `.BTF`.
    #[error("section `.BTF.ext` without a section `.BTF`")]
    ExtWithoutBtf,
    /// The object has no BTF.
    #[error("no section `.BTF`: compile with -g")]
    NoBtf,
}

core_relo::debug_as_message!(ObjectError);

/// What a file should be instead.
const EXPECTED: &str = "expected a BPF object, as `clang --target=bpf -g -O2 -c` writes it";

impl ObjectError {
    /// Returns what the user can do, for errors that show it.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Elf(ElfError::NotElf) | Self::Machine { .. } | Self::FileType { .. } => Some(EXPECTED),
            Self::Elf32 => Some("compile with --target=bpf"),
            Self::NoSymbols => Some("strip only debug information: llvm-strip -g"),
            Self::Elf(_) => Some("is the file complete?"),
            _ => None,
        }
    }
}

/// An error in rewriting code sections of an object.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// There is no code section of this name.
    #[error("no code section `{section}`")]
    NoSection {
        /// The requested name.
        section: Text,
    },
    /// The new contents do not have the size of the section.
    #[error("section `{section}`: new contents of {found} bytes, expected {expected}")]
    Length {
        /// The section's name.
        section: Text,
        /// The section's size in bytes.
        expected: usize,
        /// The size of the new contents in bytes.
        found: usize,
    },
    /// The section shares bytes with another section or with headers, which a change would damage.
    #[error("section `{section}` cannot be changed: it shares bytes with another part of the file")]
    Overlap {
        /// The section's name.
        section: Text,
    },
    /// A broken invariant of this crate.
    #[error(transparent)]
    Internal(#[from] crate::InternalError),
}

core_relo::debug_as_message!(RewriteError);
