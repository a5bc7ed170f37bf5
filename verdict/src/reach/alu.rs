//! Arithmetic on numbers.

use super::interval::{Interval, SIGN, U32, sign_extend, width_mask};
use super::possible::Possible;
use super::reachability::Undecided;
use super::scalar::{LowBounds, Scalar};
use core_relo::insn::{Insn, alu};

/// An arithmetic operation with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    SignedDiv,
    Or,
    And,
    Lsh,
    Rsh,
    Mod,
    SignedMod,
    Xor,
    Arsh,
}

impl Operation {
    /// Returns the operation of an arithmetic instruction.
    pub(super) const fn of(insn: Insn) -> Option<Self> {
        // Offset 1 is for numbers with signs.
        let is_signed = insn.off == 1;
        Some(match insn.operation() {
            alu::ADD => Self::Add,
            alu::SUB => Self::Sub,
            alu::MUL => Self::Mul,
            alu::DIV if is_signed => Self::SignedDiv,
            alu::DIV => Self::Div,
            alu::OR => Self::Or,
            alu::AND => Self::And,
            alu::LSH => Self::Lsh,
            alu::RSH => Self::Rsh,
            alu::MOD if is_signed => Self::SignedMod,
            alu::MOD => Self::Mod,
            alu::XOR => Self::Xor,
            alu::ARSH => Self::Arsh,
            _ => return None,
        })
    }

    /// Returns whether the verifier of Linux 5.10 computes the operation on constants.
    const fn is_tracked(self) -> bool {
        !matches!(self, Self::Div | Self::SignedDiv | Self::Mod | Self::SignedMod)
    }

    /// Returns whether zero and any number give zero.
    const fn is_zero_with_zero(self) -> bool {
        matches!(self, Self::Mul | Self::And)
    }

    const fn is_shift(self) -> bool {
        matches!(self, Self::Lsh | Self::Rsh | Self::Arsh)
    }
}

/// Computes an operation on two numbers. `is_same` is whether both operands are the same register.
pub(super) fn compute(operation: Operation, is_32bit: bool, a: Scalar, b: Scalar, is_same: bool) -> Scalar {
    let (a, b) = if is_32bit { (a.low32(), b.low32()) } else { (a, b) };
    let possible = match (a.possible.as_single(), b.possible.as_single()) {
        (Some(a), Some(b)) => evaluate(operation, is_32bit, a, b).map_or(Possible::UNKNOWN, Possible::single),
        _ if is_same => unknown(a, b),
        _ => possible(operation, is_32bit, a, b),
    };
    let bounds = bounds(operation, is_32bit, a, b);
    let possible = if is_32bit { possible.low32() } else { possible };
    let low = if is_32bit { LowBounds::Same } else { low_bounds(operation, a, b, bounds) };
    Scalar { low, is_split: a.is_split || b.is_split, ..Scalar::new(bounds, possible) }
}

/// Returns the knowledge of the verifier of Linux 5.10 about the low half of a result of 64 bits.
fn low_bounds(operation: Operation, a: Scalar, b: Scalar, result: Interval) -> LowBounds {
    let operands = a.low.min(b.low);
    let (left, right) = (a.bounds, b.bounds);
    let constants = (a.as_constant(), b.as_constant());
    if matches!(constants, (Some(_), Some(_))) {
        return LowBounds::Same;
    }
    if operation.is_zero_with_zero() && (constants.0 == Some(0) || constants.1 == Some(0)) {
        return LowBounds::Same;
    }
    let is_followed = match operation {
        // The largest number of the low half is that of the smaller operand (the kernel:
        // `scalar32_min_max_and`).
        Operation::And => {
            let smaller = if left.unsigned().1 <= right.unsigned().1 { a } else { b };
            return if smaller.bounds.is_32bit() { smaller.low } else { operands };
        }
        Operation::Or => return operands,
        Operation::Lsh if result.hi <= 1 << 31 => return operands,
        // The kernel forgets the bounds of the low half, and keeps the bits (`scalar_min_max_rsh`).
        Operation::Lsh | Operation::Rsh | Operation::Arsh => return operands.min(LowBounds::Bits),
        Operation::Add | Operation::Sub => {
            let is_small = |range: Interval| {
                let (min, max) = range.signed();
                i32::try_from(min).is_ok() && i32::try_from(max).is_ok()
            };
            (left.is_32bit() && right.is_32bit()) || [left, right, result].into_iter().all(is_small)
        }
        Operation::Mul => is_16bit(left) && is_16bit(right),
        _ => false,
    };
    if is_followed && operands == LowBounds::Same { LowBounds::Same } else { LowBounds::Unknown }
}

fn is_16bit(range: Interval) -> bool {
    range.is_unsigned() && range.hi <= 0xffff
}

/// Returns the possible values of a result that the analysis does not know, with the reason from the
/// operands.
fn unknown(a: Scalar, b: Scalar) -> Possible {
    let cause = Undecided::most_specific(a.possible.cause(), b.possible.cause());
    cause.map_or(Possible::UNKNOWN, Possible::Unknown)
}

/// Computes an operation on two constants as the kernel runs it. Returns `None` for a shift that the verifier
/// does not follow.
fn evaluate(operation: Operation, is_32bit: bool, a: u64, b: u64) -> Option<u64> {
    let bits = if is_32bit { 32 } else { 64 };
    let signed = |number| sign_extend(number, bits).cast_signed();
    let shift = u32::try_from(b).ok().filter(|shift| *shift < bits);
    let result = match operation {
        Operation::Add => a.wrapping_add(b),
        Operation::Sub => a.wrapping_sub(b),
        Operation::Mul => a.wrapping_mul(b),
        Operation::Or => a | b,
        Operation::And => a & b,
        Operation::Xor => a ^ b,
        Operation::Lsh => a.wrapping_shl(shift?),
        Operation::Rsh => a.wrapping_shr(shift?),
        Operation::Arsh => signed(a).wrapping_shr(shift?).cast_unsigned(),
        Operation::Div => a.checked_div(b).unwrap_or(0),
        Operation::Mod => a.checked_rem(b).unwrap_or(a),
        Operation::SignedDiv if b == 0 => 0,
        // Only the division of the smallest number by -1 overflows: the quotient is the smallest number.
        Operation::SignedDiv => signed(a).checked_div(signed(b)).map_or(a, i64::cast_unsigned),
        Operation::SignedMod if b == 0 => a,
        Operation::SignedMod => signed(a).checked_rem(signed(b)).map_or(0, i64::cast_unsigned),
    };
    Some(if is_32bit { result & U32 } else { result })
}

/// Returns the range that the verifier of Linux 5.10 knows of a result, or a larger one.
fn bounds(operation: Operation, is_32bit: bool, a: Scalar, b: Scalar) -> Interval {
    let all = if is_32bit { Interval::width(4) } else { Interval::FULL };
    if !operation.is_tracked() {
        return Interval::FULL;
    }
    let constant = b.as_constant();
    if let (Some(a), Some(b)) = (a.as_constant(), constant) {
        return evaluate(operation, is_32bit, a, b).map_or(Interval::FULL, Interval::single);
    }
    let (a, b) = (a.bounds, b.bounds);
    match (operation, constant) {
        (Operation::Add, _) => add_bounds(a, b, is_32bit).unwrap_or(all),
        (Operation::Sub, _) => sub_bounds(a, b, is_32bit).unwrap_or(all),
        (Operation::And, _) => Interval::new(0, a.unsigned().1.min(b.unsigned().1)),
        // The verifier of Linux 5.10 drops the whole register for an operand that is not constant.
        (_, None) => Interval::FULL,
        (Operation::Or, Some(bits)) if a.is_unsigned() => {
            let ones = (a.hi | bits).leading_zeros();
            Interval::new(a.lo.max(bits), u64::MAX.checked_shr(ones).unwrap_or(0))
        }
        // Larger numbers might overflow (the kernel: `scalar_min_max_mul`, `scalar32_min_max_mul`).
        (Operation::Mul, Some(factor)) if is_16bit(a) && factor <= 0xffff => product(a, factor),
        (Operation::Mul, Some(factor)) if !is_32bit && a.is_32bit() && factor <= U32 => product(a, factor),
        (Operation::Lsh, Some(shift)) => shift_left_bounds(a, shift, is_32bit).unwrap_or(all),
        (Operation::Rsh, Some(shift)) if a.is_unsigned() => {
            let width = if is_32bit { 32 } else { 64 };
            let shift = u32::try_from(shift).ok().filter(|shift| *shift < width);
            shift.map_or(all, |shift| Interval::new(a.lo.wrapping_shr(shift), a.hi.wrapping_shr(shift)))
        }
        (Operation::Arsh, Some(shift)) if !is_32bit && a.is_signed() => {
            let shifted = |n: i64| u32::try_from(shift).ok().and_then(|shift| n.checked_shr(shift));
            let (min, max) = a.signed();
            let ends = shifted(min).zip(shifted(max));
            ends.map_or(all, |(min, max)| Interval::new(min.cast_unsigned(), max.cast_unsigned()))
        }
        _ => all,
    }
}

fn product(a: Interval, factor: u64) -> Interval {
    Interval::new(a.lo.wrapping_mul(factor), a.hi.wrapping_mul(factor))
}

fn add_bounds(a: Interval, b: Interval, is_32bit: bool) -> Option<Interval> {
    if a.is_unsigned()
        && b.is_unsigned()
        && let Some(hi) = a.hi.checked_add(b.hi)
    {
        return (!is_32bit || hi <= U32).then(|| Interval::new(a.lo.wrapping_add(b.lo), hi));
    }
    let ((a_min, a_max), (b_min, b_max)) = (a.signed(), b.signed());
    let (min, max) = a_min.checked_add(b_min).zip(a_max.checked_add(b_max))?;
    (!is_32bit).then(|| Interval::new(min.cast_unsigned(), max.cast_unsigned()))
}

fn sub_bounds(a: Interval, b: Interval, is_32bit: bool) -> Option<Interval> {
    if a.is_unsigned() && b.is_unsigned() && a.lo >= b.hi {
        return Some(Interval::new(a.lo.wrapping_sub(b.hi), a.hi.wrapping_sub(b.lo)));
    }
    let ((a_min, a_max), (b_min, b_max)) = (a.signed(), b.signed());
    let (min, max) = a_min.checked_sub(b_max).zip(a_max.checked_sub(b_min))?;
    (!is_32bit).then(|| Interval::new(min.cast_unsigned(), max.cast_unsigned()))
}

/// Returns the bounds of a shift that loses no bit (the kernel: `__scalar64_min_max_lsh`).
fn shift_left_bounds(a: Interval, shift: u64, is_32bit: bool) -> Option<Interval> {
    let top: u32 = if is_32bit { 31 } else { 63 };
    let shift = u32::try_from(shift).ok()?;
    let limit = 1_u64.checked_shl(top.checked_sub(shift)?)?;
    (a.is_unsigned() && a.hi <= limit)
        .then(|| Interval::new(a.lo.wrapping_shl(shift), a.hi.wrapping_shl(shift)))
}

/// Returns possible values of a result, for operands that are not both constant: all or a part of them.
///
/// The verifier does not relate operands: all pairs of their values are possible, so that the sum of two
/// ranges is a range.
fn possible(operation: Operation, is_32bit: bool, a: Scalar, b: Scalar) -> Possible {
    let unknown = unknown(a, b);
    let (Some(range_a), Some(range_b)) = (a.possible.range_within(), b.possible.range_within()) else {
        return unknown;
    };
    let (Some(bits_a), Some(bits_b)) = (a.possible.bits_within(), b.possible.bits_within()) else {
        return unknown;
    };
    let constant = b.possible.as_single();
    match operation {
        Operation::Add => sum(range_a, range_b),
        Operation::Sub => sum(range_a, Interval::new(range_b.hi.wrapping_neg(), range_b.lo.wrapping_neg())),
        // Each bit of the result depends on one bit of each operand (the kernel: `tnum_and`, `tnum_or`,
        // `tnum_xor`).
        Operation::And => {
            let known = bits_a.0 & bits_b.0;
            Possible::bits(known, (bits_a.0 | bits_a.1) & (bits_b.0 | bits_b.1) & !known)
        }
        Operation::Or => {
            let known = bits_a.0 | bits_b.0;
            Possible::bits(known, (bits_a.1 | bits_b.1) & !known)
        }
        Operation::Xor => Possible::bits(bits_a.0 ^ bits_b.0, bits_a.1 | bits_b.1),
        _ if operation.is_shift() => {
            let bits = if is_32bit { 32 } else { 64 };
            let shift = b.possible.range_within().map(|range| range.lo);
            let shift = shift.and_then(|shift| u32::try_from(shift).ok()).filter(|shift| *shift < bits);
            shift.map_or(unknown, |shift| shift_possible(operation, is_32bit, a.possible, shift))
        }
        Operation::Div if range_a.is_unsigned() => match constant {
            Some(divisor @ 1..) => {
                let quotient = |n: u64| n.checked_div(divisor).unwrap_or(0);
                Possible::Range(Interval::new(quotient(range_a.lo), quotient(range_a.hi)))
            }
            _ => unknown,
        },
        Operation::Mod => match constant.and_then(|divisor| divisor.checked_sub(1)) {
            Some(largest) if range_a.is_unsigned() && range_a.span() >= largest => {
                Possible::Range(Interval::new(0, largest))
            }
            _ => unknown,
        },
        _ => unknown,
    }
}

/// Returns the sums of two ranges. Sums of all 64-bit numbers use one value of the smaller range.
fn sum(a: Interval, b: Interval) -> Possible {
    let (a, b) = if a.span() >= b.span() { (a, b) } else { (b, a) };
    let last = if a.span().checked_add(b.span()).is_some() { b.hi } else { b.lo };
    Possible::Range(Interval::new(a.lo.wrapping_add(b.lo), a.hi.wrapping_add(last)))
}

fn shift_possible(operation: Operation, is_32bit: bool, a: Possible, shift: u32) -> Possible {
    match (operation, a) {
        (Operation::Lsh, _) => {
            a.map_bits(|value, mask| (value.wrapping_shl(shift), mask.wrapping_shl(shift)))
        }
        (Operation::Rsh, Possible::Range(range)) if range.is_unsigned() => {
            Possible::Range(Interval::new(range.lo.wrapping_shr(shift), range.hi.wrapping_shr(shift)))
        }
        (Operation::Rsh, _) => {
            a.map_bits(|value, mask| (value.wrapping_shr(shift), mask.wrapping_shr(shift)))
        }
        _ => {
            let a = if is_32bit { a.sign_extended(32) } else { a };
            if let Possible::Range(range) = a
                && range.is_signed()
                && range != Interval::FULL
            {
                let (min, max) = range.signed();
                let shifted = |n: i64| n.wrapping_shr(shift).cast_unsigned();
                return Possible::Range(Interval::new(shifted(min), shifted(max)));
            }
            let Some((value, mask)) = a.bits_within() else { return a };
            let ones = u64::MAX.wrapping_shr(shift);
            if mask.wrapping_shr(shift) == ones {
                let sign = (ones >> 1).wrapping_add(1);
                return Possible::Range(Interval::new(sign.wrapping_neg(), ones >> 1));
            }
            // The part with the sign bit clear, unless the sign bit is known.
            let value = value.cast_signed().wrapping_shr(shift).cast_unsigned();
            Possible::bits(value, (mask & !SIGN).wrapping_shr(shift))
        }
    }
}

/// Negates a number. Linux 5.10 does not follow the operation.
pub(super) fn negate(is_32bit: bool, a: Scalar) -> Scalar {
    let zero = Scalar::constant(0);
    let negated = compute(Operation::Sub, is_32bit, zero, a, false);
    Scalar::new(Interval::FULL, negated.possible)
}

/// Extends the sign of the low bits of a number.
pub(super) fn extend_sign(is_32bit: bool, bits: u32, a: Scalar) -> Scalar {
    let a = if is_32bit { a.low32() } else { a };
    let sign = 1_u64.wrapping_shl(bits.wrapping_sub(1));
    let bounds = match a.as_constant() {
        Some(number) => Interval::single(sign_extend(number, bits)),
        None if a.bounds.is_unsigned() && a.bounds.hi < sign => a.bounds,
        None => Interval::new(sign.wrapping_neg(), sign.wrapping_sub(1)),
    };
    let low = if bounds == a.bounds { a.low } else { LowBounds::Same };
    let extended =
        Scalar { low, is_split: a.is_split, ..Scalar::new(bounds, a.possible.sign_extended(bits)) };
    if is_32bit { extended.low32() } else { extended }
}

/// Cuts a number to a width in bits and, if `swaps`, reverses its bytes. Linux 5.10 does not follow the
/// operation.
pub(super) fn swap_bytes(bits: u32, swaps: bool, a: Scalar) -> Scalar {
    let bytes = bits.wrapping_div(8);
    let low = a.possible.low_bytes(bytes);
    let possible = match low.as_single() {
        Some(number) if swaps => {
            Possible::single(number.swap_bytes().wrapping_shr(64_u32.wrapping_sub(bits)))
        }
        None if swaps && low != Possible::Range(Interval::new(0, width_mask(bytes))) => unknown(a, a),
        _ => low,
    };
    Scalar::new(Interval::FULL, possible)
}
