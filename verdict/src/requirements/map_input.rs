//! The attributes of maps that objects may leave to user space.

/// An attribute of a map that an object may leave to user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the judge acts on each")]
pub enum MapInput {
    /// `max_entries` is 0.
    MaxEntries,
    /// The size of a key is 0.
    KeySize,
    /// The size of a value is 0.
    ValueSize,
    /// The map of maps has no definition of its inner maps.
    InnerMap,
}

impl MapInput {
    /// Returns the attribute's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MaxEntries => "max_entries",
            Self::KeySize => "key_size",
            Self::ValueSize => "value_size",
            Self::InnerMap => "inner map",
        }
    }
}
