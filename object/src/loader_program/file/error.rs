//! Errors of loader files.

use crate::limits::{LOADER_CONTEXT_BYTES, LOADER_DATA_BYTES, PROGRAM_INSNS, SIGNATURE_BYTES};
use thiserror::Error;

/// A reason why bytes are no loader file, or why a file cannot be written.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoaderFileError {
    /// The bytes do not begin with the magic number.
    #[error("no loader file: wrong magic number, expected \"\\x7fLOADER\\n\"")]
    Magic,
    /// The byte order is unknown.
    #[error("offset 8: unknown byte order: {found}, expected 1 (little-endian) or 2 (big-endian)")]
    ByteOrder {
        /// The byte that was found.
        found: u8,
    },
    /// The version is unknown.
    #[error("offset 9: unsupported version of the loader file: {found}, expected 1")]
    Version {
        /// The version that was found.
        found: u8,
    },
    /// The file ends too early.
    #[error("offset {offset:#x}: the file ends in {part}: {found} bytes, expected {expected}")]
    Truncated {
        /// The offset of the part.
        offset: usize,
        /// The part.
        part: &'static str,
        /// The bytes that are left.
        found: usize,
        /// The bytes that the part needs.
        expected: usize,
    },
    /// Bytes after the end.
    #[error("offset {offset:#x}: {found} bytes after the end of {part}")]
    Trailing {
        /// The offset of the end.
        offset: usize,
        /// The part that ends there.
        part: &'static str,
        /// The number of bytes.
        found: usize,
    },
    /// Padding that is not zero.
    #[error("offset {offset:#x}: bytes that are not zero in padding")]
    Padding {
        /// The offset of the padding.
        offset: usize,
    },
    /// A section is unknown, repeated or in the wrong order.
    #[error("offset {offset:#x}: unexpected section kind: {found}, expected {expected}")]
    Section {
        /// The offset of the section.
        offset: usize,
        /// The kind that was found.
        found: u32,
        /// The kinds that may be there.
        expected: &'static str,
    },
    /// The size of a section is not acceptable.
    #[error("section {section}: wrong size: {found} bytes, expected {expected}")]
    SectionSize {
        /// The section.
        section: &'static str,
        /// The size in bytes.
        found: usize,
        /// The expected value.
        expected: &'static str,
    },
    /// The last instruction is the first half of an `ld_imm64`.
    #[error("section instructions: the last instruction is truncated: {found} bytes, expected 16")]
    TruncatedInstruction {
        /// The bytes of the instruction.
        found: usize,
    },
    /// A number in the description is not acceptable.
    #[error("description: {field}: invalid value: {found:#x}, expected {expected}")]
    Field {
        /// The field.
        field: &'static str,
        /// The number.
        found: u64,
        /// The expected value.
        expected: &'static str,
    },
    /// A count does not fit the format.
    #[error("description: {field}: too large: expected 32 bits")]
    Count {
        /// The field.
        field: &'static str,
    },
    /// A name is no UTF-8, or empty.
    #[error("description: {field}: not a name: expected UTF-8 without NUL, at least one byte")]
    Name {
        /// The field.
        field: &'static str,
    },
    /// The program has too many instructions.
    #[error("the loader program is too long: {found} instructions, expected at most {PROGRAM_INSNS}")]
    Instructions {
        /// The number of instructions.
        found: usize,
    },
    /// The data is too large.
    #[error(
        "the data of the loader program is too large: {found} bytes, expected at most {LOADER_DATA_BYTES}"
    )]
    Data {
        /// The size in bytes.
        found: usize,
    },
    /// The context of the program does not have room for all descriptors.
    #[error(
        "too many maps and programs for the context of a loader program: {maps} maps of 16 bytes and {programs} programs of 4 bytes, expected at most {LOADER_CONTEXT_BYTES} bytes"
    )]
    Context {
        /// The number of maps.
        maps: usize,
        /// The number of programs.
        programs: usize,
    },
    /// The signature has no acceptable size.
    #[error("signature: wrong size: {found} bytes, expected 1 to {SIGNATURE_BYTES}")]
    SignatureSize {
        /// The size in bytes.
        found: usize,
    },
    /// The signature would not cover the data.
    #[error(
        "the loader program does not check the hash of its data, so that a signature would cover only its instructions\nhelp: generate the file with `--signable`"
    )]
    UncheckedData,
}

core_relo::debug_as_message!(LoaderFileError);
