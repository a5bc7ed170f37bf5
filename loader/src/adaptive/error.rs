//! Errors of adaptive loads.

use super::report::StartupReport;
use crate::{attach::AttachError, load::LoadError, variants::VariantError};
use core::{convert::Infallible, fmt};
use thiserror::Error;

/// The reason why no variant of an object is loaded. Nothing stays loaded, attached or pinned.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AdaptiveError<E = Infallible> {
    /// The table does not fit the object or the kernel.
    #[error(transparent)]
    Variants(#[from] VariantError),
    /// No alternative of a group works, and the group is not optional.
    #[error("group `{group}`: none of its {count} alternatives works on this kernel{}", Because(last.as_deref()))]
    Exhausted {
        /// The group.
        group: String,
        /// The number of alternatives.
        count: usize,
        /// The reason why the last alternative does not work.
        last: Option<String>,
        /// The reasons why each alternative does not work.
        report: Box<StartupReport>,
    },
    /// A part of the object without alternatives cannot be loaded.
    #[error("{cause}")]
    Load {
        /// The error.
        #[source]
        cause: Box<LoadError>,
        /// What was tried.
        report: Box<StartupReport>,
    },
    /// A program without alternatives cannot be attached.
    #[error("{cause}")]
    Attach {
        /// The error.
        #[source]
        cause: Box<AttachError>,
        /// What was tried.
        report: Box<StartupReport>,
    },
    /// The caller's own step failed.
    #[error("{cause}")]
    Other {
        /// The error.
        cause: E,
        /// What was tried.
        report: Box<StartupReport>,
    },
}

impl<E: core::error::Error + 'static> fmt::Debug for AdaptiveError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        core_relo::error_text::write(f, self)
    }
}

impl<E> AdaptiveError<E> {
    /// Returns the report of what was tried. Returns `None` if the table does not fit the object.
    pub const fn report(&self) -> Option<&StartupReport> {
        match self {
            Self::Variants(_) => None,
            Self::Exhausted { report, .. }
            | Self::Load { report, .. }
            | Self::Attach { report, .. }
            | Self::Other { report, .. } => Some(report),
        }
    }
}

/// The reason why an attempt to load a selection of variants failed. `E` is the error of the caller's own steps, which ends the load.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "the steps of an attempt")]
pub enum AttemptError<E = Infallible> {
    /// A part of the object cannot be loaded. The next alternative is tried, if the part has one.
    Load(LoadError),
    /// A program cannot be attached. The next alternative is tried, if the program has one.
    Attach(AttachError),
    /// Another step failed.
    Other(E),
}

impl<E> From<LoadError> for AttemptError<E> {
    fn from(cause: LoadError) -> Self {
        Self::Load(cause)
    }
}

impl<E> From<AttachError> for AttemptError<E> {
    fn from(cause: AttachError) -> Self {
        Self::Attach(cause)
    }
}

/// A reason after a colon; nothing without a reason.
struct Because<'r>(Option<&'r str>);

impl fmt::Display for Because<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}
