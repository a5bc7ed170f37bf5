//! Words and errors of the parsers of ELF and DWARF, as types of this crate.

use core::fmt;
use gimli::{DwAt, DwTag, ReaderOffsetId};
use thiserror::Error;

/// The reason why the ELF file cannot be read, in the words of the crate `object`.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{text}")]
pub struct ElfProblem {
    text: String,
}

core_relo::debug_as_message!(ElfProblem);

impl ElfProblem {
    pub(crate) fn new(error: object::Error) -> Self {
        Self { text: error.to_string() }
    }
}

/// The reason why an entry or a unit cannot be parsed, in the words of the crate `gimli`.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("{error}")]
pub struct DwarfProblem {
    error: gimli::Error,
}

core_relo::debug_as_message!(DwarfProblem);

impl DwarfProblem {
    pub(crate) fn new(error: gimli::Error) -> Self {
        // The place in this error is an address in memory.
        let error = match error {
            gimli::Error::UnexpectedEof(_) => gimli::Error::UnexpectedEof(ReaderOffsetId(0)),
            other => other,
        };
        Self { error }
    }
}

/// The name of a DWARF attribute, such as `DW_AT_name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttributeName(u16);

impl AttributeName {
    /// Returns the name with this number in the DWARF standard.
    pub const fn new(number: u16) -> Self {
        Self(number)
    }
}

impl fmt::Display for AttributeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DwAt(self.0).fmt(f)
    }
}

/// The name of a DWARF tag, such as `DW_TAG_member`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TagName(u16);

impl TagName {
    /// Returns the name with this number in the DWARF standard.
    pub const fn new(number: u16) -> Self {
        Self(number)
    }
}

impl fmt::Display for TagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DwTag(self.0).fmt(f)
    }
}

/// Results of the parsers.
pub(crate) trait ParserResult<T> {
    /// The error of this crate.
    type Problem;

    /// Turns the parser's error into one of this crate.
    fn parsed(self) -> Result<T, Self::Problem>;
}

impl<T> ParserResult<T> for Result<T, object::Error> {
    type Problem = ElfProblem;

    fn parsed(self) -> Result<T, ElfProblem> {
        self.map_err(ElfProblem::new)
    }
}

impl<T> ParserResult<T> for Result<T, gimli::Error> {
    type Problem = DwarfProblem;

    fn parsed(self) -> Result<T, DwarfProblem> {
        self.map_err(DwarfProblem::new)
    }
}
