//! Coordinates: one newtype per table or unit, so that an offset is never taken for an index.

use core::fmt;

macro_rules! coordinate {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(clippy::exhaustive_structs, reason = "a number with a unit; it will never hold more")]
        pub struct $name(pub u32);

        impl $name {
            /// The number as a slice index.
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
    /// A type's number in a BTF: 0 is `void`, a split BTF goes on where its base ends.
    TypeId;
    /// An offset, in bytes, into a BTF's string section (a split BTF's strings follow its base's).
    StrOffset;
    /// An instruction's number within its ELF section, in units of 8 bytes.
    InsnIndex;
    /// An offset within a type, in bits.
    BitOffset;
    /// An offset, in bytes, from the start of the data an error or table speaks of.
    ByteOffset;
    /// A size in bytes.
    ByteSize;
}

impl TypeId {
    /// `void`, type 0 of every BTF.
    pub const VOID: Self = Self(0);

    /// The id after this one; stays at the end of the number space.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Widens a 32-bit number of the file format to an index.
///
/// Every supported host has at least 32-bit addresses, so nothing is lost.
#[expect(clippy::as_conversions, reason = "usize::from(u32) does not exist; hosts have >= 32-bit usize")]
pub(crate) const fn to_usize(v: u32) -> usize {
    const { assert!(usize::BITS >= 32) };
    v as usize
}

/// Narrows a length to the format's 32 bits; longer data is refused before this is called.
pub(crate) fn to_u32(v: usize) -> u32 {
    u32::try_from(v).unwrap_or(u32::MAX)
}

/// The same where it is known to be no more than [`limits::BTF_BYTES`](crate::limits::BTF_BYTES), and inner loops would pay.
#[inline]
pub(crate) fn low_u32(v: usize) -> u32 {
    u32::try_from(v & 0xffff_ffff).unwrap_or_default()
}

/// The low 16 bits, likewise.
#[inline]
pub(crate) fn low_u16(v: usize) -> u16 {
    u16::try_from(v & 0xffff).unwrap_or_default()
}
