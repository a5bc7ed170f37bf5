//! The query for the candidates of a root type.

use crate::{Name, btf::Kind};

/// The essential name and the kind that candidates must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CandidateQuery<'o> {
    pub(super) name: &'o [u8],
    /// The kind; ENUM64 counts as ENUM.
    pub(super) kind: Kind,
}

impl<'o> CandidateQuery<'o> {
    /// Creates the query for a root type of this name and kind.
    pub(crate) fn new(name: Name<'o>, kind: Kind) -> Self {
        Self { name: name.essential().as_bytes(), kind: enum_kind(kind) }
    }
}

/// Returns the kind by which a type is found: ENUM for ENUM64, otherwise its own.
pub(super) fn enum_kind(kind: Kind) -> Kind {
    if kind == Kind::Enum64 { Kind::Enum } else { kind }
}
