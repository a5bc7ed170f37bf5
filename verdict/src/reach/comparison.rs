//! Comparisons of numbers.

use super::interval::{Interval, SIGN};
use super::possible::Possible;
use core_relo::insn::{Insn, jump};

/// A comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    SignedGreater,
    SignedGreaterEqual,
    SignedLess,
    SignedLessEqual,
    AnyBit,
    NoBit,
}

impl Comparison {
    /// Returns the comparison of a jump.
    pub(super) const fn of(insn: Insn) -> Option<Self> {
        Some(match insn.operation() {
            jump::JEQ => Self::Equal,
            jump::JGT => Self::Greater,
            jump::JGE => Self::GreaterEqual,
            jump::JSET => Self::AnyBit,
            jump::JNE => Self::NotEqual,
            jump::JSGT => Self::SignedGreater,
            jump::JSGE => Self::SignedGreaterEqual,
            jump::JLT => Self::Less,
            jump::JLE => Self::LessEqual,
            jump::JSLT => Self::SignedLess,
            jump::JSLE => Self::SignedLessEqual,
            _ => return None,
        })
    }

    /// Returns the comparison that holds if this one does not.
    pub(super) const fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Greater => Self::LessEqual,
            Self::GreaterEqual => Self::Less,
            Self::Less => Self::GreaterEqual,
            Self::LessEqual => Self::Greater,
            Self::SignedGreater => Self::SignedLessEqual,
            Self::SignedGreaterEqual => Self::SignedLess,
            Self::SignedLess => Self::SignedGreaterEqual,
            Self::SignedLessEqual => Self::SignedGreater,
            Self::AnyBit => Self::NoBit,
            Self::NoBit => Self::AnyBit,
        }
    }

    /// Returns the comparison of the same values in the other order.
    pub(super) const fn swapped(self) -> Self {
        match self {
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::SignedGreater => Self::SignedLess,
            Self::SignedGreaterEqual => Self::SignedLessEqual,
            Self::SignedLess => Self::SignedGreater,
            Self::SignedLessEqual => Self::SignedGreaterEqual,
            same => same,
        }
    }

    pub(super) const fn is_signed(self) -> bool {
        matches!(
            self,
            Self::SignedGreater | Self::SignedGreaterEqual | Self::SignedLess | Self::SignedLessEqual
        )
    }

    /// Returns whether the comparison holds for large values on the left.
    pub(super) const fn is_lower_bound(self) -> bool {
        matches!(self, Self::Greater | Self::GreaterEqual | Self::SignedGreater | Self::SignedGreaterEqual)
    }

    /// Returns whether the comparison orders its values.
    pub(super) const fn is_order(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual | Self::AnyBit | Self::NoBit)
    }

    /// Returns the numbers for which the comparison with a number holds. `None` if there is none. All numbers
    /// for comparisons of bits.
    pub(super) fn solutions(self, number: u64) -> Option<Interval> {
        let (above, below) = (number.wrapping_add(1), number.wrapping_sub(1));
        Some(match self {
            Self::Equal => Interval::single(number),
            Self::NotEqual => Interval::new(above, below),
            Self::Greater if number == u64::MAX => return None,
            Self::Greater => Interval::new(above, u64::MAX),
            Self::GreaterEqual => Interval::new(number, u64::MAX),
            Self::Less if number == 0 => return None,
            Self::Less => Interval::new(0, below),
            Self::LessEqual => Interval::new(0, number),
            Self::SignedGreater if above == SIGN => return None,
            Self::SignedGreater => Interval::new(above, SIGN.wrapping_sub(1)),
            Self::SignedGreaterEqual => Interval::new(number, SIGN.wrapping_sub(1)),
            Self::SignedLess if number == SIGN => return None,
            Self::SignedLess => Interval::new(SIGN, below),
            Self::SignedLessEqual => Interval::new(SIGN, number),
            Self::AnyBit | Self::NoBit => Interval::FULL,
        })
    }

    /// Returns whether the comparison may hold for numbers of a range, as far as the verifier of Linux 5.10
    /// knows. The verifier may know the number on the left.
    pub(super) fn may_hold(self, bounds: Interval, constant: Option<u64>, number: u64) -> bool {
        match (self, constant) {
            (Self::AnyBit, Some(left)) => left & number != 0,
            (Self::NoBit, Some(left)) => left & number == 0,
            (Self::Equal, Some(left)) => left == number,
            (Self::NotEqual, Some(left)) => left != number,
            // Only newer kernels compare the number with the bounds.
            (Self::AnyBit | Self::NoBit | Self::Equal | Self::NotEqual, None) => true,
            _ => {
                self.solutions(number).is_some_and(|solutions| bounds.intersection_hull(solutions).is_some())
            }
        }
    }

    /// Returns the numbers of a set for which the comparison holds: a part of them, or `None` if none is
    /// certain.
    pub(super) fn select(self, possible: Possible, number: u64) -> Option<Possible> {
        match (self, possible) {
            (_, Possible::Unknown(_)) => None,
            (Self::AnyBit, _) => {
                let (value, mask) = possible.bits_within()?;
                let choices = mask & number;
                let bit = if value & number == 0 { choices & choices.wrapping_neg() } else { 0 };
                ((value | bit) & number != 0).then(|| Possible::bits(value | bit, mask & !bit))
            }
            (Self::NoBit, _) => {
                let (value, mask) = possible.bits_within()?;
                (value & number == 0).then(|| Possible::bits(value, mask & !number))
            }
            (Self::Equal, _) => possible.contains(number).then(|| Possible::single(number)),
            // No verifier remembers a missing number inside of a range.
            (Self::NotEqual, Possible::Range(range)) => {
                if range.as_single() == Some(number) {
                    None
                } else if range != Interval::FULL && range.lo == number {
                    Some(Possible::Range(Interval::new(number.wrapping_add(1), range.hi)))
                } else if range != Interval::FULL && range.hi == number {
                    Some(Possible::Range(Interval::new(range.lo, number.wrapping_sub(1))))
                } else if range == Interval::FULL
                    && [0, u64::MAX, SIGN, SIGN.wrapping_sub(1)].contains(&number)
                {
                    Some(Possible::Range(Interval::new(number.wrapping_add(1), number.wrapping_sub(1))))
                } else {
                    Some(possible)
                }
            }
            (Self::NotEqual, Possible::Bits { value, mask }) => {
                if !possible.contains(number) {
                    return Some(possible);
                }
                let bit = mask & mask.wrapping_neg();
                (bit != 0).then(|| Possible::bits(value | (!number & bit), mask & !bit))
            }
            (_, Possible::Range(range)) => {
                range.largest_intersection(self.solutions(number)?).map(Possible::Range)
            }
            (_, Possible::Bits { .. }) => {
                let (min, max) = if self.is_signed() { possible.signed()? } else { possible.unsigned()? };
                let holds = |left: u64| self.solutions(number).is_some_and(|all| all.contains(left));
                match (holds(min), holds(max)) {
                    (true, true) => Some(possible),
                    (true, false) => Some(Possible::single(min)),
                    (false, true) => Some(Possible::single(max)),
                    (false, false) => None,
                }
            }
        }
    }
}
