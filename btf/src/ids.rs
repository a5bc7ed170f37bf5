//! Ids, offsets and sizes: one newtype for each table and unit, so that an offset cannot be used as an index.

use core::fmt;

macro_rules! coordinate {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(clippy::exhaustive_structs, reason = "a number with a unit needs no other fields")]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the number as a slice index.
            pub const fn index(self) -> usize {
                to_usize(self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

coordinate! {
    /// The id of a type in a BTF. Id 0 is `void`. The ids of a split BTF continue after those of its base.
    TypeId;
    /// An offset, in bytes, in a BTF's string section. The strings of a split BTF continue after those of its
    /// base.
    StrOffset;
    /// An offset in a type, in bits.
    BitOffset;
    /// An offset in bytes. The field's documentation names the start.
    ByteOffset;
    /// A size in bytes.
    ByteSize;
}

impl TypeId {
    /// `void`, type 0 of every BTF.
    pub const VOID: Self = Self(0);

    /// Returns the next id. The next id of the highest id is the highest id.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Converts a 32-bit number of the file format to an index. Every supported host has addresses of at least 32
/// bits.
#[expect(clippy::as_conversions, reason = "usize::from(u32) does not exist; hosts have >= 32-bit usize")]
pub(crate) const fn to_usize(v: u32) -> usize {
    const { assert!(usize::BITS >= 32) };
    v as usize
}

/// Converts a length to the format's 32 bits.
///
/// The parsers reject longer input. The length of a longer output saturates, and parsing rejects that output.
pub(crate) fn to_u32(v: usize) -> u32 {
    u32::try_from(v).unwrap_or(u32::MAX)
}

/// Returns the low 32 bits of a number, for inner loops over at most
/// [`limits::BTF_BYTES`](crate::limits::BTF_BYTES).
#[inline]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "the truncation is the purpose")]
pub(crate) const fn low_u32(v: usize) -> u32 {
    v as u32
}

/// Returns the low 16 bits of a number.
#[inline]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "the truncation is the purpose")]
pub(crate) const fn low_u16(v: usize) -> u16 {
    v as u16
}
