//! Programs that maps contain initially: the elements of program arrays, and the members of struct_ops
//! tables.

use core::fmt;

/// A program that a map contains initially, and that some selection does not load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InitialProgram {
    pub(super) map: String,
    pub(super) position: MapPosition,
    pub(super) program: String,
}

/// A position in a map that contains a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MapPosition {
    /// The key of an element of a program array.
    Key(u32),
    /// The name of a member of a struct_ops table.
    Member(String),
}

impl fmt::Display for MapPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "element {key}"),
            Self::Member(member) => write!(f, "member `{member}`"),
        }
    }
}
