//! Why a BTF cannot be deduplicated.

use crate::{
    btf::{ImportError, Kind},
    ids::TypeId,
};
use thiserror::Error;

/// Why a BTF cannot be deduplicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DedupError {
    /// The BTF is split from another.
    #[error("a BTF split from another is not deduplicated")]
    Split,
    /// A name or a record cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A type is used where none of its kind can stand.
    #[error("type [{id}] is {kind}, which no type can refer to")]
    Kind {
        /// The type.
        id: TypeId,
        /// What it is.
        kind: Kind,
    },
    /// A type refers to itself by pointers, modifiers, arrays or functions alone.
    #[error("type [{id}] refers to itself without a struct, union or typedef between")]
    Loop {
        /// The type.
        id: TypeId,
    },
    /// The types were made to take more work than real ones do.
    #[error(
        "types so entangled that deduplicating them was given up after {} steps for each",
        crate::limits::DEDUP_STEPS_PER_TYPE
    )]
    TooManySteps,
}
