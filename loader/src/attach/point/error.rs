//! [`AttachPointError`]: a text that is no attach point, or an attach point that does not fit a program.

use super::kinds::attach_point_kinds;
use core_relo::Escaped;
use core_relo_object::object::ProgramType;

/// The reason why a text is no attach point, or why an attach point does not fit a program.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttachPointError {
    /// The kind is unknown.
    #[error(
        "unknown kind of attach point `{}`, expected KIND:PLACE with {}",
        Escaped(kind),
        word_list(attach_point_kinds())
    )]
    UnknownKind {
        /// The unknown word.
        kind: String,
    },
    /// The text after the kind is invalid.
    #[error("{}", Escaped(problem))]
    Invalid {
        /// The problem, with what is expected.
        problem: String,
    },
    /// The word after the last comma is no attach type of the program.
    #[error("unknown attach type `{}`, expected `{},TYPE` with {}", Escaped(word), Escaped(place), word_list(expected.iter().map(String::as_str)))]
    UnknownAttachType {
        /// The unknown word.
        word: String,
        /// The text before the word.
        place: String,
        /// The words for the attach types that fit the program.
        expected: Vec<String>,
    },
    /// Programs of this type are attached in other ways.
    #[error("programs of type {} have no attach point that can be named here", program_type.short_name())]
    NoAttachPoint {
        /// The type of the program.
        program_type: ProgramType,
    },
    /// The attach point does not fit the program.
    #[error("{}", Escaped(problem))]
    Unfit {
        /// The problem, with what fits.
        problem: String,
    },
}

core_relo::debug_as_message!(AttachPointError);

impl AttachPointError {
    /// Creates the error of an invalid text.
    pub(super) fn invalid(problem: impl Into<String>) -> Self {
        Self::Invalid { problem: problem.into() }
    }

    /// Creates the error of an attach point that does not fit.
    pub(super) fn unfit(problem: impl Into<String>) -> Self {
        Self::Unfit { problem: problem.into() }
    }
}

/// Returns words as a list: "`a`, `b` or `c`".
pub(crate) fn word_list<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<_> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [words @ .., last] if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        words => words.concat(),
    }
}
