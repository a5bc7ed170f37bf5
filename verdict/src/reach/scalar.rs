//! Numbers: their bounds and their possible values.

use super::interval::{Interval, U32};
use super::possible::Possible;
use super::reachability::Undecided;

/// The id of a number that has no known copies.
pub(super) const NO_ID: u32 = u32::MAX;

/// The knowledge of every verifier about the low 32 bits of a number, from the bounds of the whole number.
///
/// Verifiers before Linux 6.8 keep separate bounds for the low half. Operations of 64 bits may lose them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LowBounds {
    /// Nothing.
    Unknown,
    /// The bits that are zero in all numbers of the bounds.
    Bits,
    /// The bounds, if they fit into 32 bits.
    Same,
}

/// A number in a register or a stack slot.
///
/// A direction of a branch is dead if the bounds exclude the direction, because all verifiers since Linux
/// 5.10 know the bounds. A direction is reachable if a possible value takes the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scalar {
    /// The values that some verifier does not exclude, or more.
    pub(super) bounds: Interval,
    /// The part of the bounds that every verifier knows for the low half.
    pub(super) low: LowBounds,
    /// Whether a verifier may have signed and unsigned bounds that contradict each other. Such a verifier
    /// follows impossible directions, and its decisions need not agree with narrower bounds.
    pub(super) is_split: bool,
    /// The values that no verifier excludes, or fewer.
    pub(super) possible: Possible,
    /// The instruction whose result the number is, or [`NO_ID`]. Copies share the id.
    pub(super) id: u32,
    /// The constant that was added to the number since its instruction. `None` if the analysis does not
    /// relate the number to copies.
    pub(super) offset: Option<u64>,
}

impl Scalar {
    /// A number that the analysis does not know. The verifier may know the number.
    pub(super) const UNKNOWN: Self = Self::new(Interval::FULL, Possible::UNKNOWN);

    /// A number that no verifier has bounds for: every number is possible.
    pub(super) const UNBOUNDED: Self = Self::new(Interval::FULL, Possible::ALL);

    pub(super) const fn new(bounds: Interval, possible: Possible) -> Self {
        Self { bounds, low: LowBounds::Same, is_split: false, possible, id: NO_ID, offset: Some(0) }
    }

    /// Returns a constant that every verifier knows.
    pub(super) const fn constant(number: u64) -> Self {
        Self::new(Interval::single(number), Possible::single(number))
    }

    /// Returns a number of a width in bytes that no verifier has other bounds for.
    pub(super) const fn unbounded(bytes: u32) -> Self {
        Self::new(Interval::width(bytes), Possible::Range(Interval::width(bytes)))
    }

    /// Returns a number of a width in bytes that the analysis does not know, for a reason. The verifier may
    /// know the number.
    pub(super) const fn unknown(bytes: u32, cause: Undecided) -> Self {
        Self::new(Interval::width(bytes), Possible::Unknown(cause))
    }

    /// Returns the number as the result of an instruction.
    pub(super) const fn with_id(self, insn: u32) -> Self {
        Self { id: insn, offset: Some(0), ..self }
    }

    /// Returns the number that every verifier knows.
    ///
    /// The verifier of Linux 5.10 may have bounds of one number, and not know the bits of the low half
    /// (`__reg_bound_offset`).
    pub(super) fn as_constant(self) -> Option<u64> {
        let number = self.bounds.as_single()?;
        match self.low {
            LowBounds::Same => Some(number),
            LowBounds::Bits => (number == 0).then_some(number),
            LowBounds::Unknown => None,
        }
    }

    /// Returns the bounds of the low 32 bits.
    pub(super) fn bounds32(self) -> Interval {
        match (self.as_constant(), self.low) {
            (Some(number), _) => Interval::single(number & U32),
            (None, LowBounds::Same) if self.bounds.is_32bit() => self.bounds,
            (None, LowBounds::Bits) if self.bounds.is_32bit() => {
                Interval::new(0, u64::MAX.checked_shr(self.bounds.hi.leading_zeros()).unwrap_or(0))
            }
            _ => Interval::width(4),
        }
    }

    /// Returns the low 32 bits, extended with zeros.
    pub(super) fn low32(self) -> Self {
        let bounds = self.bounds32();
        if bounds == self.bounds {
            return Self { low: LowBounds::Same, ..self };
        }
        Self { is_split: self.is_split, ..Self::new(bounds, self.possible.low32()) }
    }

    /// Returns whether every state with the other number is a state with this number.
    pub(super) fn covers(self, other: Self) -> bool {
        self.bounds.contains_all(other.bounds) && self.low <= other.low && self.is_split >= other.is_split
    }

    /// Returns a number that stands for both numbers. Bounds that grow become those of all numbers, unless
    /// `keeps_range`.
    pub(super) fn join(self, other: Self, keeps_range: bool) -> Self {
        let bounds = if self.bounds.contains_all(other.bounds) {
            self.bounds
        } else if keeps_range {
            self.bounds.hull(other.bounds)
        } else {
            Interval::FULL
        };
        let possible = match (self.possible, other.possible) {
            (unknown @ Possible::Unknown(_), _) | (_, unknown @ Possible::Unknown(_)) => unknown,
            (possible, other) if possible == other || keeps_range => possible.within_both(other),
            _ => Possible::UNKNOWN,
        };
        let is_same = self.id == other.id && self.offset == other.offset;
        let id = if is_same { self.id } else { NO_ID };
        let (low, is_split) = (self.low.min(other.low), self.is_split || other.is_split);
        Self { bounds, low, is_split, possible, id, offset: self.offset }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_constants_are_a_range_without_certain_values() {
        let (zero, one) = (Scalar::constant(0), Scalar::constant(1));
        let joined = zero.join(one, true);
        assert_eq!(joined, Scalar::new(Interval::new(0, 1), Possible::UNKNOWN));
        assert_eq!(zero.join(one, false).bounds, Interval::FULL);
        assert!(joined.covers(one) && !one.covers(joined));
        assert_eq!(Scalar::UNBOUNDED.join(one, false).possible, Possible::UNKNOWN);
        assert_eq!(Scalar::UNBOUNDED.join(one, true).possible, Possible::single(1));
    }

    #[test]
    fn the_low_half_of_a_large_number_is_any_32_bit_number() {
        assert_eq!(Scalar::UNBOUNDED.low32(), Scalar::unbounded(4));
        assert_eq!(Scalar::constant(0x1_0000_0005).low32(), Scalar::constant(5));
        assert_eq!(Scalar::unbounded(1).low32(), Scalar::unbounded(1));
    }
}
