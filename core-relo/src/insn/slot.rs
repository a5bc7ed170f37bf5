//! A whole instruction, which has one slot or two.

use super::instruction::{INSN_BYTES, Insn};
use crate::endian::{Endian, high32, low32, signed32};
use core::fmt;

/// A whole instruction: one slot, or both slots of an `ld_imm64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "BPF has instructions of one and of two slots")]
pub enum Slot {
    /// An instruction of one slot.
    One(Insn),
    /// The two slots of an `ld_imm64`.
    Two(Insn, Insn),
}

impl Slot {
    /// Decodes the instruction at the start of `code`. Returns `None` if the code ends within it.
    pub fn decode(endian: Endian, code: &[u8]) -> Option<Self> {
        let (first, rest) = code.split_first_chunk::<INSN_BYTES>()?;
        let first = Insn::decode(endian, *first);
        if !first.is_ld_imm64() {
            return Some(Self::One(first));
        }
        let second = Insn::decode(endian, *rest.first_chunk::<INSN_BYTES>()?);
        Some(Self::Two(first, second))
    }

    /// Returns the first, or only, slot.
    pub const fn first(self) -> Insn {
        match self {
            Self::One(first) | Self::Two(first, _) => first,
        }
    }

    /// Returns the second slot of an `ld_imm64`.
    pub const fn second(self) -> Option<Insn> {
        match self {
            Self::One(_) => None,
            Self::Two(_, second) => Some(second),
        }
    }

    /// Encodes the slots.
    pub fn encode(self, endian: Endian) -> ([u8; INSN_BYTES], Option<[u8; INSN_BYTES]>) {
        (self.first().encode(endian), self.second().map(|second| second.encode(endian)))
    }

    /// Returns a poisoned instruction with the same number of slots.
    #[must_use]
    pub const fn poisoned(self) -> Self {
        match self {
            Self::One(_) => Self::One(Insn::POISON),
            Self::Two(..) => Self::Two(Insn::POISON, Insn::POISON),
        }
    }

    /// Returns the 64-bit immediate of an `ld_imm64`.
    pub fn imm64(self) -> Option<u64> {
        match self {
            Self::One(_) => None,
            Self::Two(first, second) => Some(imm64(first, second)),
        }
    }

    /// Returns the same `ld_imm64` with another immediate; any other instruction stays the same.
    #[must_use]
    pub fn with_imm64(self, value: u64) -> Self {
        match self {
            Self::Two(first, second) => Self::Two(
                Insn { imm: signed32(low32(value)), ..first },
                Insn { imm: signed32(high32(value)), ..second },
            ),
            one @ Self::One(_) => one,
        }
    }

    /// Returns the encoded bytes as hexadecimal digits.
    pub fn hex(self, endian: Endian) -> impl fmt::Display {
        Hex(self.encode(endian))
    }
}

struct Hex(([u8; INSN_BYTES], Option<[u8; INSN_BYTES]>));

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = &self.0;
        first.iter().chain(second.iter().flatten()).try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// Returns the immediate of the two slots of an `ld_imm64`.
pub(crate) fn imm64(first: Insn, second: Insn) -> u64 {
    (u64::from(second.imm.cast_unsigned()) << 32) | u64::from(first.imm.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn a_cut_off_ld_imm64_is_not_an_instruction() {
        let bytes = [0x18, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0];
        let slot = Slot::decode(Endian::Little, &bytes).unwrap();
        assert_eq!(slot.imm64(), Some(0x2_0000_0001));
        assert_eq!(slot.with_imm64(u64::MAX).imm64(), Some(u64::MAX));
        assert_eq!(slot.hex(Endian::Little).to_string(), "18010000010000000000000002000000");
        assert_eq!(Slot::decode(Endian::Little, &bytes[..15]), None);
        assert_eq!(Slot::decode(Endian::Little, &bytes[8..]).unwrap().second(), None);
    }
}
