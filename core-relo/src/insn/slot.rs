//! A whole instruction, which has one slot or two.

use super::instruction::{INSN_BYTES, Insn};
use crate::{Endian, index::InsnIndex};
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
            Self::Two(first, second) => {
                Self::Two(Insn { imm: low_imm(value), ..first }, Insn { imm: low_imm(value >> 32), ..second })
            }
            one @ Self::One(_) => one,
        }
    }

    /// Returns the encoded bytes as hexadecimal digits.
    pub fn hex(self, endian: Endian) -> impl fmt::Display {
        Hex(self.encode(endian))
    }
}

/// The instructions of code, each with the index of its first slot. The iterator ends before a truncated
/// instruction.
#[derive(Clone, Debug)]
pub struct Slots<'a> {
    endian: Endian,
    code: &'a [u8],
    index: u32,
}

impl<'a> Slots<'a> {
    /// Returns the instructions of `code`.
    pub const fn new(endian: Endian, code: &'a [u8]) -> Self {
        Self { endian, code, index: 0 }
    }

    /// Returns the bytes that are not decoded. At the end of the iterator, they are a truncated instruction
    /// or nothing.
    pub const fn rest(&self) -> &'a [u8] {
        self.code
    }
}

impl Iterator for Slots<'_> {
    type Item = (InsnIndex, Slot);

    fn next(&mut self) -> Option<Self::Item> {
        let slot = Slot::decode(self.endian, self.code)?;
        let (slots, bytes) = if slot.second().is_some() { (2, 2 * INSN_BYTES) } else { (1, INSN_BYTES) };
        let (index, end) = (InsnIndex(self.index), self.index.checked_add(slots)?);
        self.code = self.code.get(bytes..)?;
        self.index = end;
        Some((index, slot))
    }
}

struct Hex(([u8; INSN_BYTES], Option<[u8; INSN_BYTES]>));

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = &self.0;
        first.iter().chain(second.iter().flatten()).try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// Returns the low 32 bits of a number as an immediate.
pub(crate) const fn low_imm(value: u64) -> i32 {
    let [b0, b1, b2, b3, ..] = Endian::Little.u64_bytes(value);
    Endian::Little.word([b0, b1, b2, b3]).cast_signed()
}

/// Returns the immediate of the two slots of an `ld_imm64`.
pub(crate) fn imm64(first: Insn, second: Insn) -> u64 {
    (u64::from(second.imm.cast_unsigned()) << 32) | u64::from(first.imm.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{string::ToString as _, vec::Vec};

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

    #[test]
    fn the_rest_of_the_slots_is_a_truncated_instruction() {
        let long = [0x18, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0];
        let exit = [0x95, 0, 0, 0, 0, 0, 0, 0];
        let code = [&exit[..], &long, &exit, &long[..8]].concat();
        let mut slots = Slots::new(Endian::Little, &code);
        let indexes: Vec<InsnIndex> = slots.by_ref().map(|(index, _)| index).collect();
        assert_eq!((indexes, slots.rest()), ([0, 1, 3].map(InsnIndex).to_vec(), &long[..8]));
        let mut slots = Slots::new(Endian::Little, &code[..32]);
        assert_eq!((slots.by_ref().count(), slots.rest()), (3, &[][..]));
    }
}
