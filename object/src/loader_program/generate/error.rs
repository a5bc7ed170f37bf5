//! Errors of generating loader programs.

use crate::{InternalError, loader_program::LoaderFileError};
use core_relo::Text;
use thiserror::Error;

/// A reason why a plan cannot be put in a loader program.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoaderProgramError {
    /// A part of the plan has no request that a loader program can make.
    #[error("{part}: cannot be put in a loader program: {reason}")]
    Unsupported {
        /// The part, such as "map \`events\`".
        part: Text,
        /// The reason, and what to do.
        reason: &'static str,
    },
    /// The result does not fit the format of loader files.
    #[error(transparent)]
    File(#[from] LoaderFileError),
    /// A broken invariant of this crate.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

core_relo::debug_as_message!(LoaderProgramError);
