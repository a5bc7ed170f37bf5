//! Errors of adaptive loads.

use crate::{startup_report::StartupReport, variants::VariantError};
use core::{convert::Infallible, fmt};
use core_relo_loader::{attach::AttachError, load::LoadError};
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
    /// The caller's own step failed. The message is that of its error, which need not be an
    /// [`Error`](core::error::Error).
    #[error("{cause}")]
    Other {
        /// The error.
        cause: E,
        /// What was tried.
        report: Box<StartupReport>,
    },
}

impl<E: fmt::Display> fmt::Debug for AdaptiveError<E> {
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

/// The reason why an attempt to load a selection of variants failed. `E` is the error of the caller's own
/// steps, which ends the load.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::startup_report::{Outcome, ReportedKernel};
    use core::error::Error;

    fn empty_report() -> StartupReport {
        StartupReport {
            object: "agent.bpf.o".into(),
            kernel: ReportedKernel::default(),
            outcome: Outcome::Failed,
            groups: Vec::new(),
            programs: Vec::new(),
            maps: Vec::new(),
            constants: Vec::new(),
            features: Vec::new(),
            links: Vec::new(),
            capabilities: Vec::new(),
            verdict: None,
            unjudged: None,
            attempts: 1,
        }
    }

    fn failed_with<E: fmt::Display>(cause: E) -> String {
        let error = AdaptiveError::Other { cause, report: Box::new(empty_report()) };
        let as_error: &dyn Error = &error;
        assert!(as_error.source().is_none());
        format!("{error:?}")
    }

    #[test]
    fn the_callers_error_may_be_any_text() {
        assert_eq!(failed_with(String::from("no rings")), "no rings");
        assert_eq!(failed_with(Box::<dyn Error + Send + Sync>::from("no rings")), "no rings");
        assert_eq!(failed_with(std::io::Error::other("no rings")), "no rings");
    }
}
