//! The errors of lines of stored results.

use super::LINE_FORMAT;
use core_relo::Escaped;
use std::{fmt, sync::Arc};

/// The place of a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a place is a file and a line")]
pub struct LinePlace {
    /// The file, as printed.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u64,
}

/// A line that is no result, or contradicts another one.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
#[non_exhaustive]
pub struct StoredResultError {
    /// The line.
    pub place: LinePlace,
    /// The defect.
    pub problem: Box<LineProblem>,
}

/// The defect of a line.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineProblem {
    /// The line ends before the end of its JSON.
    #[error("is cut")]
    Cut,
    /// The line is not one of `check`. The value is the first difference.
    #[error("is no line of `check --format json`: {}", Escaped(_0))]
    Foreign(String),
    /// The line has another format.
    #[error("has the format {0}, expected {LINE_FORMAT}")]
    UnknownFormat(u64),
    /// Another line has another result for the same object and kernel.
    #[error("contradicts {first}: {}", words_for(object.as_deref(), kernel.as_deref()))]
    Contradiction {
        /// The object; `None` for a kernel that cannot be read.
        object: Option<String>,
        /// The kernel; `None` for an object that cannot be read.
        kernel: Option<String>,
        /// The other line.
        first: LinePlace,
    },
    /// Another line is about another object of the same name.
    #[error("is about another `{}` than {first}: their hashes differ", Escaped(object))]
    OtherObject {
        /// The name of both objects.
        object: String,
        /// The other line.
        first: LinePlace,
    },
    /// The lines have too many objects and kernels.
    #[error(
        "has one object or kernel too many: a report has at most {} pairs",
        crate::limits::MAX_STORED_CELLS
    )]
    TooManyCells,
    /// A broken invariant.
    #[error("internal error: a result has no place")]
    Internal,
}

core_relo::debug_as_message!(StoredResultError, LineProblem);

impl LineProblem {
    /// Returns a remedy.
    pub const fn help(&self) -> Option<&'static str> {
        match self {
            Self::Cut => Some(
                "the run was interrupted: run the same `check --resume` again, which completes the file, or remove the line",
            ),
            Self::UnknownFormat(_) => Some("use the version of core-relo that wrote the line"),
            Self::Contradiction { .. } => Some(
                "give the files in the order of the runs and --replace, so that the last result counts, or leave one out",
            ),
            Self::OtherObject { .. } => {
                Some("give only the results of one build; --baseline compares with those of another one")
            }
            Self::Foreign(_) | Self::TooManyCells | Self::Internal => None,
        }
    }
}

/// Prints `results.jsonl: line 7`.
impl fmt::Display for LinePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: line {}", Escaped(&self.file), self.line)
    }
}

/// Returns the object and the kernel in words.
fn words_for(object: Option<&str>, kernel: Option<&str>) -> String {
    match (object, kernel) {
        (Some(object), Some(kernel)) => format!("the results of {} on {}", Escaped(object), Escaped(kernel)),
        (object, kernel) => {
            format!("the results of {}", Escaped(object.or(kernel).unwrap_or("an unknown input")))
        }
    }
}
