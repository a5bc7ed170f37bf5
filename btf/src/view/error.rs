//! Errors of following references from a type.

use crate::{format::Kind, ids::TypeId};
use thiserror::Error;

/// The reason why a type's references lead nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WalkError {
    /// A type that does not exist.
    #[error("type [{0}] does not exist")]
    NoType(TypeId),
    /// A name that does not exist.
    #[error(
        "type [{ty}] has a member or enumerator named at string offset {offset}, where there is no string"
    )]
    NoName {
        /// The type with the member or enumerator.
        ty: TypeId,
        /// The offset of the name.
        offset: u32,
    },
    /// A chain of modifiers and typedefs without end.
    #[error("type [{0}] is a chain of modifiers without end")]
    Endless(TypeId),
    /// A type without a size: `void`, a function, a forward declaration.
    #[error("type [{id}] {kind} has no size")]
    NoSize {
        /// The type.
        id: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// An array of more than 4 GiB.
    #[error("the size of type [{0}] does not fit into 32 bits")]
    TooLarge(TypeId),
    /// A bitfield whose type has an offset of its own, more than 4 Gibit from the start of the composite.
    #[error("the offset of a bitfield of type [{0}] does not fit into 32 bits")]
    BitfieldOffset(TypeId),
}

crate::debug_as_message!(WalkError);
