//! The differences.

use super::items::ItemKind;
#[cfg(feature = "serde")]
use serde::ser::SerializeStruct as _;

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// Only the new BTF has the declaration.
    Added,
    /// Only the old BTF has the declaration.
    Removed,
    /// Both have the declaration, with another type, width or value.
    Changed,
    /// Both have the member with the same type, at another offset.
    Moved,
}

impl ChangeKind {
    /// Returns the word for JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Moved => "moved",
        }
    }
}

/// A value of the old and of the new BTF. At least one of them is present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[expect(clippy::exhaustive_structs, reason = "a comparison has two sides")]
pub struct Side<T> {
    /// The value of the old BTF.
    pub old: Option<T>,
    /// The value of the new BTF.
    pub new: Option<T>,
}

impl<T> Side<T> {
    /// Returns the kind of the difference between the sides.
    pub(super) const fn kind(&self) -> ChangeKind {
        match (&self.old, &self.new) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            _ => ChangeKind::Changed,
        }
    }
}

/// A declaration that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Change {
    /// The kind of the declaration.
    pub kind: ItemKind,
    /// The name. Empty for the enumerators of enums without a name.
    pub name: String,
    /// The kind of the difference.
    pub change: ChangeKind,
    /// The declarations.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub declaration: Side<TypeSide>,
    /// The members or enumerators that differ.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub details: Details,
}

/// A declaration in one BTF.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TypeSide {
    /// The declaration in C, such as `struct task_struct` or `int f(struct file *file)`.
    #[cfg_attr(feature = "serde", serde(rename = "declaration"))]
    pub text: String,
    /// The size of a struct, union or enum in bytes.
    pub size: Option<u32>,
}

/// The parts of a declaration that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Details {
    /// The declaration has no parts.
    None,
    /// Members, by offset.
    Members(Vec<MemberChange>),
    /// Enumerators, by value.
    Enumerators(Vec<EnumeratorChange>),
}

#[cfg(feature = "serde")]
impl serde::Serialize for Details {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (members, enumerators) = match self {
            Self::None => (&[][..], &[][..]),
            Self::Members(members) => (&**members, &[][..]),
            Self::Enumerators(enumerators) => (&[][..], &**enumerators),
        };
        let mut keys = serializer.serialize_struct("Details", 2)?;
        keys.serialize_field("members", members)?;
        keys.serialize_field("enumerators", enumerators)?;
        keys.end()
    }
}

/// A member that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MemberChange {
    /// The member's names from the outer struct, joined by dots. Anonymous members are left out.
    pub name: String,
    /// The kind of the difference.
    pub change: ChangeKind,
    /// The member in both BTFs.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub member: Side<Member>,
}

/// A member in one BTF.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Member {
    /// The declaration in C, such as `char comm[16]`.
    #[cfg_attr(feature = "serde", serde(rename = "declaration"))]
    pub text: String,
    /// The offset from the start of the outer struct, in bits.
    pub bit_offset: u64,
    /// The width in bits. `None` for a type without a size.
    pub bits: Option<u64>,
    /// Whether the member is a bitfield.
    #[cfg_attr(feature = "serde", serde(rename = "bitfield"))]
    pub is_bitfield: bool,
}

/// An enumerator that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct EnumeratorChange {
    /// The name.
    pub name: String,
    /// The kind of the difference.
    pub change: ChangeKind,
    /// The value in both BTFs.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub value: Side<Enumerator>,
}

/// An enumerator's value in one BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
#[expect(clippy::exhaustive_structs, reason = "an enumerator has a value")]
pub struct Enumerator {
    /// The value in C.
    pub value: i128,
}
