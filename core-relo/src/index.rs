//! Indices of instructions, and conversions between lengths and the 32-bit numbers of the formats.

use core::fmt;

/// The index of an instruction in its ELF section, in units of 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a number with a unit needs no other fields")]
pub struct InsnIndex(pub u32);

impl InsnIndex {
    /// Returns the number as a slice index.
    pub const fn index(self) -> usize {
        to_usize(self.0)
    }
}

impl fmt::Display for InsnIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
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
