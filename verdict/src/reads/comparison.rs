//! Comparisons of values with constants.

use core::fmt;
use core_relo::insn::{Insn, jump};

/// A comparison of a value with a constant. A comparison and its negation are the same, because a branch has
/// two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the instruction set has no other comparisons")]
pub enum Comparison {
    /// The value is this constant, or not.
    Equal(i64),
    /// The value is at least this constant, or less.
    AtLeast(i64),
    /// The value has a bit of this constant, or none.
    AnyBit(i64),
}

impl Comparison {
    /// Returns the comparison of a conditional jump. Returns `None` for other jumps.
    pub(super) fn new(insn: Insn, constant: i32) -> Option<Self> {
        let constant = i64::from(constant);
        Some(match insn.operation() {
            jump::JEQ | jump::JNE => Self::Equal(constant),
            jump::JGT | jump::JLE | jump::JSGT | jump::JSLE => Self::AtLeast(constant.checked_add(1)?),
            jump::JGE | jump::JLT | jump::JSGE | jump::JSLT => Self::AtLeast(constant),
            jump::JSET => Self::AnyBit(constant),
            _ => return None,
        })
    }

    /// Returns the operator in C: `==`, `>=` or `&`.
    pub const fn operator(self) -> &'static str {
        match self {
            Self::Equal(_) => "==",
            Self::AtLeast(_) => ">=",
            Self::AnyBit(_) => "&",
        }
    }

    /// Returns the constant.
    pub const fn constant(self) -> i64 {
        match self {
            Self::Equal(constant) | Self::AtLeast(constant) | Self::AnyBit(constant) => constant,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.operator(), self.constant())
    }
}
