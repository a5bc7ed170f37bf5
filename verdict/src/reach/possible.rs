//! Possible values: values that no verifier excludes.

use super::interval::{Interval, SIGN, U32, sign_extend, width_mask};
use super::reachability::Undecided;

/// A set of possible values: values that no verifier excludes, however precise the verifier is.
///
/// The set is a lower bound. A verifier that knows less allows further values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Possible {
    /// The empty set: the analysis knows no possible value, for a reason.
    Unknown(Undecided),
    /// All numbers of a range.
    Range(Interval),
    /// All numbers whose bits outside of the mask are those of the value. The value has no bit in the mask.
    Bits { value: u64, mask: u64 },
}

impl Possible {
    /// The set of a value that the verifier may know better than the analysis.
    pub(super) const UNKNOWN: Self = Self::Unknown(Undecided::Imprecision);

    /// The set of a number that no verifier has bounds for.
    pub(super) const ALL: Self = Self::Range(Interval::FULL);

    pub(super) const fn single(number: u64) -> Self {
        Self::Range(Interval::single(number))
    }

    /// Returns the set of bits; a range if the bits make one.
    pub(super) const fn bits(value: u64, mask: u64) -> Self {
        let value = value & !mask;
        // The low bits up to the highest bit of the mask.
        if mask & mask.wrapping_add(1) == 0 {
            Self::Range(Interval::new(value, value | mask))
        } else {
            Self::Bits { value, mask }
        }
    }

    pub(super) fn as_single(self) -> Option<u64> {
        match self {
            Self::Range(range) => range.as_single(),
            Self::Unknown(_) | Self::Bits { .. } => None,
        }
    }

    /// Returns whether the set has two numbers or more, so that no verifier takes the number for a constant.
    pub(super) fn has_several(self) -> bool {
        match self {
            Self::Range(range) => range.as_single().is_none(),
            Self::Bits { mask, .. } => mask != 0,
            Self::Unknown(_) => false,
        }
    }

    /// Returns the reason of an unknown set.
    pub(super) const fn cause(self) -> Option<Undecided> {
        match self {
            Self::Unknown(cause) => Some(cause),
            Self::Range(_) | Self::Bits { .. } => None,
        }
    }

    /// Returns a range within the set.
    pub(super) fn range_within(self) -> Option<Interval> {
        match self {
            Self::Unknown(_) => None,
            Self::Range(range) => Some(range),
            Self::Bits { value, mask } => {
                // The run of mask bits that begins at bit 0.
                let run = mask & (mask ^ mask.wrapping_add(1));
                Some(Interval::new(value, value | run))
            }
        }
    }

    /// Returns a set of bits (value and mask) within the set.
    pub(super) fn bits_within(self) -> Option<(u64, u64)> {
        match self {
            Self::Unknown(_) => None,
            Self::Bits { value, mask } => Some((value, mask)),
            Self::Range(range) => Some(aligned_block(range)),
        }
    }

    /// Returns the smallest and largest unsigned number.
    pub(super) fn unsigned(self) -> Option<(u64, u64)> {
        match self {
            Self::Unknown(_) => None,
            Self::Range(range) => Some(range.unsigned()),
            Self::Bits { value, mask } => Some((value, value | mask)),
        }
    }

    /// Returns the smallest and largest signed number, as patterns.
    pub(super) fn signed(self) -> Option<(u64, u64)> {
        match self {
            Self::Unknown(_) => None,
            Self::Range(range) => {
                let (min, max) = range.signed();
                Some((min.cast_unsigned(), max.cast_unsigned()))
            }
            Self::Bits { value, mask } => Some((value | (mask & SIGN), (value | mask) & !(mask & SIGN))),
        }
    }

    pub(super) fn contains(self, number: u64) -> bool {
        match self {
            Self::Unknown(_) => false,
            Self::Range(range) => range.contains(number),
            Self::Bits { value, mask } => number & !mask == value,
        }
    }

    /// Returns whether the set contains another set for certain.
    pub(super) fn contains_all(self, other: Self) -> bool {
        match (self, other) {
            (_, Self::Unknown(_)) => true,
            (Self::Unknown(_), _) => false,
            (Self::Range(range), Self::Range(other)) => range.contains_all(other),
            (Self::Range(range), Self::Bits { value, mask }) => {
                range.contains_all(Interval::new(value, value | mask))
            }
            (Self::Bits { value, mask }, Self::Bits { value: other, mask: other_mask }) => {
                other_mask & !mask == 0 && other & !mask == value
            }
            (Self::Bits { .. }, Self::Range(other)) => {
                other.as_single().is_some_and(|number| self.contains(number))
            }
        }
    }

    /// Returns a set within both sets.
    pub(super) fn within_both(self, other: Self) -> Self {
        if other.contains_all(self) {
            return self;
        }
        if self.contains_all(other) {
            return other;
        }
        match (self, other) {
            (Self::Range(range), Self::Range(other)) => {
                range.largest_intersection(other).map_or(Self::UNKNOWN, Self::Range)
            }
            _ => Self::UNKNOWN,
        }
    }

    /// Returns the low 32 bits of the numbers.
    pub(super) fn low32(self) -> Self {
        match self {
            Self::Unknown(_) => self,
            Self::Range(range) if range.span() >= U32 => Self::Range(Interval::width(4)),
            Self::Range(range) => {
                let (lo, hi) = (range.lo & U32, range.hi & U32);
                // A range that passes the largest 32-bit number has two parts.
                Self::Range(if lo <= hi { Interval::new(lo, hi) } else { Interval::new(lo, U32) })
            }
            Self::Bits { value, mask } => Self::bits(value & U32, mask & U32),
        }
    }

    /// Returns the low bytes of the numbers.
    pub(super) fn low_bytes(self, bytes: u32) -> Self {
        let width = width_mask(bytes);
        match self {
            Self::Range(range) if range.span() >= width => Self::Range(Interval::width(bytes)),
            Self::Range(range) if range.is_unsigned() && range.hi <= width => self,
            _ if bytes == 4 => self.low32(),
            _ => self.map_bits(|value, mask| (value & width, mask & width)),
        }
    }

    /// Returns the numbers with the sign of their low bits extended.
    pub(super) fn sign_extended(self, bits: u32) -> Self {
        if let Some(number) = self.as_single() {
            return Self::single(sign_extend(number, bits));
        }
        let Some((value, mask)) = self.bits_within() else { return self };
        let sign = 1_u64.wrapping_shl(bits.wrapping_sub(1));
        let low = sign.wrapping_sub(1) | sign;
        if mask & low == low {
            return Self::Range(Interval::new(sign.wrapping_neg(), sign.wrapping_sub(1)));
        }
        // All extended bits are equal: the part with the sign bit clear, unless the sign bit is set in all
        // numbers.
        let mask = mask & low & !sign;
        Self::bits(sign_extend(value & low, bits), mask)
    }

    /// Applies an operation that maps each bit of the result from one bit, to a part of the set.
    pub(super) fn map_bits(self, operation: impl Fn(u64, u64) -> (u64, u64)) -> Self {
        let Some((value, mask)) = self.bits_within() else { return self };
        let (value, mask) = operation(value, mask);
        Self::bits(value, mask)
    }
}

/// Returns the value and mask of a large aligned block of numbers within a range.
fn aligned_block(range: Interval) -> (u64, u64) {
    if range == Interval::FULL {
        return (0, u64::MAX);
    }
    // The part without the passage from the largest number to zero: of two parts the larger.
    let part = if range.is_unsigned() {
        range
    } else if range.hi >= range.lo.wrapping_neg() {
        Interval::new(0, range.hi)
    } else {
        Interval::new(range.lo, u64::MAX)
    };
    let mut bits = 64_u32.saturating_sub(part.span().leading_zeros());
    loop {
        let mask = if bits >= 64 { u64::MAX } else { 1_u64.wrapping_shl(bits).wrapping_sub(1) };
        let start = part.lo.checked_add(mask).map(|end| end & !mask);
        let start =
            start.filter(|start| *start >= part.lo && part.contains_all(Interval::new(*start, start | mask)));
        match start {
            Some(start) => return (start, mask),
            None if bits == 0 => return (part.lo, 0),
            None => bits = bits.wrapping_sub(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_within_their_range() {
        assert_eq!(aligned_block(Interval::FULL), (0, u64::MAX));
        assert_eq!(aligned_block(Interval::new(1, u64::MAX)), (SIGN, SIGN - 1));
        assert_eq!(aligned_block(Interval::new(0, 255)), (0, 255));
        assert_eq!(aligned_block(Interval::new(3, 9)), (4, 3));
        assert_eq!(aligned_block(Interval::single(7)), (7, 0));
        assert_eq!(aligned_block(Interval::new(u64::MAX, 7)), (0, 7));
    }

    #[test]
    fn ranges_lie_within_their_bits() {
        assert_eq!(
            Possible::Bits { value: 0x10, mask: 0x28b }.range_within(),
            Some(Interval::new(0x10, 0x13))
        );
        assert_eq!(Possible::Bits { value: 0, mask: 8 }.range_within(), Some(Interval::single(0)));
        assert_eq!(Possible::bits(0xff, 0xf), Possible::Range(Interval::new(0xf0, 0xff)));
    }

    #[test]
    fn signs_of_unbounded_numbers_give_a_signed_range() {
        let signed = Possible::ALL.sign_extended(32);
        assert_eq!(signed, Possible::Range(Interval::new(0xffff_ffff_8000_0000, 0x7fff_ffff)));
        assert_eq!(Possible::single(0xffff_ffff).sign_extended(32), Possible::single(u64::MAX));
        assert_eq!(Possible::bits(0, 0xc0).sign_extended(8), Possible::bits(0, 0x40));
    }

    #[test]
    fn sets_contain_sets() {
        let even = Possible::bits(0, 0xfe);
        assert!(even.contains_all(Possible::single(8)) && !even.contains_all(Possible::single(9)));
        assert!(Possible::ALL.contains_all(even) && even.contains_all(Possible::UNKNOWN));
        assert!(!Possible::UNKNOWN.contains_all(even));
        assert_eq!(Possible::single(1).within_both(Possible::single(2)), Possible::UNKNOWN);
        assert_eq!(Possible::ALL.within_both(even), even);
    }
}
