//! Errors of the judge.

use core_relo_object::InternalError;
use thiserror::Error;

/// A reason why an object cannot be judged: its requirements, the plan and the kernel's answers do not belong
/// together.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// The answers are those of a [`NeedTable`](crate::requirements::NeedTable) without a requirement of the
    /// object.
    #[error(
        "the kernel's answers lack requirement {index} of the object: they come from another table of requirements"
    )]
    OtherAnswers {
        /// The index of the requirement.
        index: usize,
    },
    /// The kernel was searched for the names of another [`NeedTable`](crate::requirements::NeedTable).
    #[error(
        "the kernel was not searched for a declaration of the object: its facts come from another table of requirements"
    )]
    OtherNames,
    /// The plan is that of other relocation records.
    #[error("the plan lacks relocation record {index} of the object: it is the plan of another object")]
    OtherPlan {
        /// The index of the record.
        index: usize,
    },
    /// The requirements do not fit the object.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

core_relo::debug_as_message!(JudgeError);
