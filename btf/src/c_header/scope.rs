//! The scope of members.

use super::names::NameSpace;

/// The names of the members that are in one scope in C: the members of a composite, and those of its members
/// without a name.
#[derive(Debug, Default)]
pub(super) struct Scope<'b> {
    pub(super) names: NameSpace<'b>,
    /// The offset of the composite in its definition, in bits; `None` below a member with a name.
    pub(super) offset: Option<u64>,
    /// Whether the current composite is a member without a name.
    pub(super) is_anonymous: bool,
}

impl Scope<'_> {
    /// Returns the scope of a definition.
    pub(super) fn of_definition() -> Self {
        Self { offset: Some(0), ..Self::default() }
    }
}
