//! Errors of deduplication.

use crate::{
    btf::{format::Kind, write::import::ImportError},
    ids::TypeId,
};
use thiserror::Error;

/// The reason why a BTF cannot be deduplicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DedupError {
    /// The BTF is split from another.
    #[error("a BTF split from another is not deduplicated")]
    Split,
    /// A name or a record cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A type refers to a type of a kind that cannot be referred to.
    #[error("type [{id}] is {kind}, which no type can refer to")]
    Kind {
        /// The type.
        id: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// A type refers to itself only through pointers, modifiers, arrays or functions.
    #[error("type [{id}] refers to itself without a struct, union or typedef between")]
    Loop {
        /// The type.
        id: TypeId,
    },
    /// The types need more steps than real types do.
    #[error(
        "types so entangled that deduplicating them was given up after {} steps for each",
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
