//! Errors of deduplication.

use crate::{format::Kind, ids::TypeId, write::import::ImportError};
use thiserror::Error;

/// The reason why a BTF cannot be deduplicated.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DedupError {
    /// The ids of the builder do not continue those of the BTF's base.
    #[error("the builder starts with type [{found}], expected [{expected}], the first type after the base")]
    BuilderBase {
        /// The first id of the BTF.
        expected: TypeId,
        /// The first id of the builder.
        found: TypeId,
    },
    /// A name or a record cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A type refers to a type that does not exist. Only a BTF that was parsed without validation has such
    /// references.
    #[error("type [{id}] refers to type [{target}], which does not exist")]
    NoType {
        /// The type.
        id: TypeId,
        /// The type that does not exist.
        target: TypeId,
    },
    /// A type refers to a type that no type may refer to.
    #[error("type [{id}] is a {kind}, to which no type may refer")]
    Kind {
        /// The type.
        id: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// A type refers to itself only through pointers, modifiers, arrays or functions.
    #[error("type [{id}] refers to itself, with no struct, union or typedef in the cycle")]
    Loop {
        /// The type.
        id: TypeId,
    },
    /// The comparison of the types exceeds the step budget. Types that compilers write need fewer steps.
    #[error(
        "types are too complex: deduplication stopped after {} steps for each type",
        crate::limits::DEDUP_STEPS_PER_TYPE
    )]
    TooManySteps,
    /// A broken invariant: a defect of this library.
    #[error("internal error: {invariant}")]
    Internal {
        /// The invariant.
        invariant: &'static str,
    },
}

crate::debug_as_message!(DedupError);
