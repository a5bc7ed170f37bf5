//! The reasons why a minimal BTF cannot be made.

use crate::btf::{BtfError, ImportError};
use alloc::string::String;
use thiserror::Error;

/// The reason why a minimal BTF cannot be made.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MinimiseError {
    /// The plan was made for another target.
    #[error("the plan belongs to another target, expected a plan for `{expected}`")]
    OtherTarget {
        /// The name of the target of which the BTF is minimised.
        expected: String,
    },
    /// The search for what a record needs takes more steps than a plan may take.
    #[error("record {record}: the types that it needs are too many to find")]
    TooManySteps {
        /// The index of the record in [`Relocs::records`](crate::Relocs::records).
        record: usize,
    },
    /// A needed type cannot be copied.
    #[error("{btf}: {error}")]
    Import {
        /// The name of the BTF: `vmlinux`, or the name of the module.
        btf: String,
        /// The reason.
        error: ImportError,
    },
    /// The minimal BTF of vmlinux, from which the modules are split, is not valid.
    #[error("minimal BTF: {0}")]
    Base(BtfError),
    /// An invariant of this crate is broken.
    #[error("internal error: {invariant}")]
    Internal {
        /// The invariant.
        invariant: &'static str,
    },
}

crate::debug_as_message!(MinimiseError);
