//! What can be wrong with a BPF object.

use crate::elf::ElfError;
use core_relo::{RelocsError, Text, btf::BtfError, ext::ExtError};
use thiserror::Error;

/// Why bytes are not a BPF object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// The ELF itself is damaged.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// A 32-bit ELF; BPF objects have 64 bits.
    #[error("a 32-bit ELF file is no BPF object")]
    Elf32,
    /// Code for another machine.
    #[error("ELF machine {found} is not BPF (expected 247)")]
    Machine {
        /// `e_machine`.
        found: u16,
    },
    /// An executable, a shared object or a core file.
    #[error("ELF type {found} is not a relocatable object (expected 1)")]
    FileType {
        /// `e_type`.
        found: u16,
    },
    /// There is no symbol table.
    #[error("no symbol table: the object was stripped; leave that to `llvm-strip -g`, which keeps it")]
    NoSymbols,
    /// There is more than one symbol table.
    #[error("more than one symbol table")]
    SeveralSymbolTables,
    /// The symbol table is damaged.
    #[error("symbol table `{section}` is damaged: {what}")]
    SymbolTable {
        /// Name of the table's section.
        section: Text,
        /// What is wrong.
        what: &'static str,
    },
    /// A symbol's name lies outside the names, or is longer than [`limits::NAME_BYTES`](crate::limits::NAME_BYTES).
    #[error("symbol {symbol}: its name at {offset:#x} lies outside the symbol names or is too long")]
    SymbolName {
        /// Number of the symbol.
        symbol: u32,
        /// `st_name`.
        offset: u32,
    },
    /// A symbol lies in a section that is not there.
    #[error("symbol {index} `{symbol}` is in section {section}, which does not exist")]
    SymbolSection {
        /// Name of the symbol.
        symbol: Text,
        /// Its number.
        index: u32,
        /// `st_shndx`.
        section: u32,
    },
    /// A section that may stand only once stands twice.
    #[error("section `{section}` is there more than once")]
    Duplicate {
        /// Its name.
        section: Text,
    },
    /// A section that has to be read is compressed.
    #[error("section `{section}` is compressed")]
    Compressed {
        /// Its name.
        section: Text,
    },
    /// Sections of code, data and relocations have more bytes than the file: they overlap.
    #[error("section `{section}` overlaps others of code, data or relocations")]
    Overlap {
        /// Name of the section whose bytes are too many.
        section: Text,
    },
    /// A section is of another type than its name promises.
    #[error("section `{section}` is of type {found}, expected {expected}")]
    SectionType {
        /// Its name.
        section: Text,
        /// `sh_type`.
        found: u32,
        /// What it should be.
        expected: u32,
    },
    /// A code section does not consist of whole instructions.
    #[error("code section `{section}` has {size} bytes, not a multiple of 8")]
    CodeSize {
        /// Its name.
        section: Text,
        /// Its size in bytes.
        size: u64,
    },
    /// A function begins or ends within an instruction, or is empty.
    #[error(
        "section `{section}`: function `{symbol}` at offset {offset} with {size} bytes is not a run of whole instructions"
    )]
    FunctionAlignment {
        /// The section's name.
        section: Text,
        /// The function's name.
        symbol: Text,
        /// Where it begins in the section, in bytes.
        offset: u64,
        /// Its size in bytes.
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
        /// Where it begins in the section, in bytes.
        offset: u64,
        /// Its size in bytes.
        size: u64,
        /// The section's size in bytes.
        available: u64,
    },
    /// The `version` section is not four bytes long.
    #[error("section `version` has {size} bytes, expected 4")]
    VersionSize {
        /// Its size in bytes.
        size: u64,
    },
    /// A relocation section's records are of another size than the format's, or it applies to no section.
    #[error("relocation section `{section}` is damaged: {what}")]
    RelocationSection {
        /// Its name.
        section: Text,
        /// What is wrong.
        what: &'static str,
    },
    /// A relocation of a type that BPF does not have.
    #[error("section `{section}`: relocation at offset {offset:#x} is of unknown type {found}")]
    RelocationType {
        /// Name of the section it applies to.
        section: Text,
        /// Where it applies, in bytes.
        offset: u64,
        /// `r_type`.
        found: u32,
    },
    /// A relocation applies beyond its section, or to a place where no field of its size fits.
    #[error(
        "section `{section}`: relocation at offset {offset:#x} of type {name} does not fit the section's {size} bytes"
    )]
    RelocationBounds {
        /// Name of the section it applies to.
        section: Text,
        /// Where it applies, in bytes.
        offset: u64,
        /// The section's size in bytes.
        size: u64,
        /// Name of its type.
        name: &'static str,
    },
    /// A relocation names a symbol that is not there.
    #[error(
        "section `{section}`: relocation at offset {offset:#x} names symbol {symbol}, which does not exist"
    )]
    RelocationSymbol {
        /// Name of the section it applies to.
        section: Text,
        /// Where it applies, in bytes.
        offset: u64,
        /// The symbol's number.
        symbol: u32,
    },
    /// The `.BTF` section is damaged.
    #[error("section `.BTF`: {0}")]
    Btf(#[source] BtfError),
    /// The `.BTF` is of another byte order than the file.
    #[error("section `.BTF` and the file are of different byte order")]
    BtfEndian,
    /// The `.BTF.ext` section is damaged. (libbpf warns, and loads the code unrelocated.)
    #[error("section `.BTF.ext`: {0}")]
    Ext(#[source] ExtError),
    /// The CO-RE relocations cannot be collected.
    #[error("section `.BTF.ext`: {0}")]
    Relocs(#[source] RelocsError),
    /// There is a `.BTF.ext` but no `.BTF` that it could speak of.
    #[error("section `.BTF.ext` without a section `.BTF`")]
    ExtWithoutBtf,
    /// BTF was asked for and there is none.
    #[error("no section `.BTF`: compile with -g")]
    NoBtf,
}

/// Why an object could not be written with other section contents.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// There is no code section of this name.
    #[error("no code section `{section}`")]
    NoSection {
        /// The name asked for.
        section: Text,
    },
    /// The bytes are more or fewer than the section's.
    #[error("section `{section}` has {expected} bytes, {found} were given")]
    Length {
        /// The section's name.
        section: Text,
        /// Its size.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// The section's bytes belong to another section or to headers, too, which a change would damage.
    #[error("section `{section}` shares bytes with another part of the file, and cannot be changed")]
    Overlap {
        /// The section's name.
        section: Text,
    },
}
