//! Conditional branches: their directions, and the compared values after each direction.

use super::comparison::Comparison;
use super::interval::{Interval, U32, sign_extend};
use super::possible::Possible;
use super::reachability::Undecided;
use super::scalar::{LowBounds, NO_ID, Scalar};
use super::state::State;
use super::value::Value;
use core_relo::insn::Insn;

/// The decision whether verifiers follow a direction of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// No verifier does.
    Dead,
    /// Every verifier does.
    Certain,
    /// A verifier may.
    Undecided(Undecided),
}

/// A conditional branch with its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    comparison: Comparison,
    is_32bit: bool,
    left: Value,
    right: Value,
    left_register: u8,
    /// The register on the right. `None` for an immediate.
    right_register: Option<u8>,
}

impl Condition {
    /// Reads a conditional branch. Returns `None` for other instructions.
    pub(super) fn decode(insn: Insn, state: &State) -> Option<Self> {
        let comparison = Comparison::of(insn)?;
        let is_32bit = insn.class() == core_relo::insn::Class::Jmp32;
        let right_register = insn.source_is_register().then_some(insn.src);
        let number = i64::from(insn.imm).cast_unsigned();
        let immediate = Scalar::constant(if is_32bit { number & U32 } else { number });
        let right = right_register.map_or(Value::Scalar(immediate), |register| state.register(register));
        let left = state.register(insn.dst);
        Some(Self { comparison, is_32bit, left, right, left_register: insn.dst, right_register })
    }

    /// Returns whether verifiers follow the branch if taken, and if not taken.
    pub(super) fn directions(&self) -> [Direction; 2] {
        match self.each_direction() {
            // A verifier follows at least one direction.
            [Direction::Dead, Direction::Dead] => [Direction::Undecided(Undecided::Imprecision); 2],
            [Direction::Dead, _] => [Direction::Dead, Direction::Certain],
            [_, Direction::Dead] => [Direction::Certain, Direction::Dead],
            both => both,
        }
    }

    fn each_direction(&self) -> [Direction; 2] {
        match (self.left, self.right) {
            (Value::Scalar(left), Value::Scalar(right)) => self.number_directions(left, right),
            (Value::Any, _) | (_, Value::Any) => [Direction::Undecided(Undecided::Imprecision); 2],
            (pointer, Value::Scalar(zero)) if zero.as_constant() == Some(0) => self.null_directions(pointer),
            // Comparisons of pointers, such as with the end of a packet.
            _ => [Direction::Certain; 2],
        }
    }

    /// Returns the directions of a comparison of a pointer with null.
    fn null_directions(&self, pointer: Value) -> [Direction; 2] {
        let null = match pointer {
            Value::Pointer { is_tracked: true } if !self.is_32bit && self.right_register.is_none() => {
                Direction::Dead
            }
            Value::OrNull { may_be_elided: false, .. } => Direction::Certain,
            _ => Direction::Undecided(Undecided::Imprecision),
        };
        match self.comparison {
            Comparison::Equal => [null, Direction::Certain],
            Comparison::NotEqual => [Direction::Certain, null],
            _ => [Direction::Certain; 2],
        }
    }

    fn number_directions(&self, left: Scalar, right: Scalar) -> [Direction; 2] {
        [self.comparison, self.comparison.negated()].map(|comparison| {
            let may_hold = match self.constant(right) {
                Some(number) => {
                    let (bounds, constant) = (self.bounds(left), self.constant(left));
                    may_hold(comparison, self.is_32bit, bounds, constant, number)
                }
                None => true,
            };
            if !may_hold {
                Direction::Dead
            } else if left.id != NO_ID && left.id == right.id {
                Direction::Undecided(Undecided::Imprecision)
            } else if self.narrow(comparison, left.possible, right.possible).is_some() {
                Direction::Certain
            } else {
                let cause = Undecided::most_specific(left.possible.cause(), right.possible.cause());
                Direction::Undecided(cause.unwrap_or(Undecided::Imprecision))
            }
        })
    }

    fn bounds(&self, scalar: Scalar) -> Interval {
        if self.is_32bit { scalar.bounds32() } else { scalar.bounds }
    }

    /// Returns the compared part of a number, if every verifier knows the part.
    fn constant(&self, scalar: Scalar) -> Option<u64> {
        if self.is_32bit { scalar.bounds32().as_single() } else { scalar.as_constant() }
    }

    /// Returns the possible values on both sides for which a comparison holds; `None` if it is not certain
    /// that there are any.
    fn narrow(
        &self,
        comparison: Comparison,
        left: Possible,
        right: Possible,
    ) -> Option<(Possible, Possible)> {
        if let Some(number) = self.low(right).as_single() {
            return Some((self.select(comparison, left, number)?, with_low(right, number)));
        }
        if let Some(number) = self.low(left).as_single() {
            return Some((with_low(left, number), self.select(comparison.swapped(), right, number)?));
        }
        let (low_left, low_right) = (self.low(left), self.low(right));
        if comparison.is_order() {
            let ends = |possible: Possible| {
                let possible = if self.is_32bit && comparison.is_signed() {
                    possible.sign_extended(32)
                } else {
                    possible
                };
                if comparison.is_signed() { possible.signed() } else { possible.unsigned() }
            };
            let ((left_min, left_max), (right_min, right_max)) = (ends(low_left)?, ends(low_right)?);
            let bounds =
                if comparison.is_lower_bound() { (right_min, left_max) } else { (right_max, left_min) };
            let new_left = self.select(comparison, left, bounds.0)?;
            return Some((new_left, self.select(comparison.swapped(), right, bounds.1)?));
        }
        match comparison {
            Comparison::NotEqual => Some((left, right)),
            Comparison::Equal => {
                let shared = low_left.within_both(low_right);
                shared.cause().is_none().then(|| (low_part(left, shared), low_part(right, shared)))
            }
            Comparison::AnyBit => {
                let (bits, other) = (low_left.bits_within()?, low_right.bits_within()?);
                ((bits.0 | bits.1) & (other.0 | other.1) != 0)
                    .then_some((Possible::UNKNOWN, Possible::UNKNOWN))
            }
            _ => {
                let (bits, other) = (low_left.bits_within()?, low_right.bits_within()?);
                (bits.0 & other.0 == 0).then_some((Possible::UNKNOWN, Possible::UNKNOWN))
            }
        }
    }

    fn low(&self, possible: Possible) -> Possible {
        if self.is_32bit { possible.low32() } else { possible }
    }

    /// Selects the possible values for which a comparison with a number holds.
    fn select(&self, comparison: Comparison, possible: Possible, number: u64) -> Option<Possible> {
        if !self.is_32bit {
            return comparison.select(possible, number);
        }
        let low = possible.low32();
        let selected = if comparison.is_signed() {
            select_signed32(comparison, low, number)?
        } else {
            comparison.select(low, number & U32)?
        };
        Some(low_part(possible, selected))
    }

    /// Changes a state to that after the branch, taken or not.
    pub(super) fn apply(&self, state: &mut State, is_taken: bool) {
        let comparison = if is_taken { self.comparison } else { self.comparison.negated() };
        match (self.left, self.right) {
            (Value::Scalar(left), Value::Scalar(right)) => self.apply_numbers(state, comparison, left, right),
            (Value::OrNull { call, is_tracked, .. }, Value::Scalar(zero))
                if zero.as_constant() == Some(0) && !self.is_32bit =>
            {
                // Only new kernels compare with a register.
                let is_tracked = is_tracked && self.right_register.is_none();
                let value = match comparison {
                    Comparison::Equal if self.right_register.is_none() => Value::Scalar(Scalar::constant(0)),
                    Comparison::NotEqual => Value::Pointer { is_tracked },
                    _ => return,
                };
                state.for_each_value(|old| {
                    if matches!(*old, Value::OrNull { call: other, .. } if other == call) {
                        *old = value;
                    }
                });
            }
            _ => {}
        }
    }

    fn apply_numbers(&self, state: &mut State, comparison: Comparison, left: Scalar, right: Scalar) {
        let narrowed = self.narrow(comparison, left.possible, right.possible);
        let unknown = |old: Possible| if old.cause().is_some() { old } else { Possible::UNKNOWN };
        let (left_possible, right_possible) =
            narrowed.unwrap_or_else(|| (unknown(left.possible), unknown(right.possible)));
        // Verifiers before Linux 6.9 follow impossible directions with contradictory bounds, which make
        // further directions possible.
        let narrow = |comparison, number: Scalar, other: Option<u64>| {
            let is_impossible = narrowed.is_none() && number.possible.cause().is_none();
            if is_impossible && other.is_some() {
                return Scalar { bounds: Interval::FULL, is_split: true, ..number };
            }
            self.narrow_bounds(comparison, number, other)
        };
        let (left_number, right_number) = (self.constant(left), self.constant(right));
        let mut left_bounds = narrow(comparison, left, right_number);
        let mut right_bounds = narrow(comparison.swapped(), right, left_number);
        if comparison == Comparison::Equal && left_number.or(right_number).is_none() {
            (left_bounds.bounds, right_bounds.bounds) = (Interval::FULL, Interval::FULL);
        }
        let new_left = Scalar { possible: left_possible, ..left_bounds };
        narrow_copies(state, left, left_possible);
        state.set(self.left_register, Value::Scalar(new_left));
        let Some(register) = self.right_register.filter(|register| *register != self.left_register) else {
            return;
        };
        let is_constant = right.as_constant().is_some();
        let possible = if is_constant { right.possible } else { right_possible };
        let new_right = Scalar { possible, ..right_bounds };
        narrow_copies(state, right, new_right.possible);
        state.set(register, Value::Scalar(new_right));
    }

    /// Returns the number with the bounds that the verifier of Linux 5.10 has after a comparison with a
    /// constant.
    fn narrow_bounds(&self, comparison: Comparison, scalar: Scalar, number: Option<u64>) -> Scalar {
        let Some(number) = number else { return scalar };
        if scalar.as_constant().is_some() {
            return scalar;
        }
        let low = LowBounds::Same;
        if comparison == Comparison::Equal && (!self.is_32bit || scalar.bounds.is_32bit()) {
            return Scalar { bounds: Interval::single(number), low, is_split: false, ..scalar };
        }
        // Comparisons of 32 bits replace the bounds of the whole number (the kernel:
        // `__reg_combine_32_into_64`).
        if scalar.is_split || (self.is_32bit && !scalar.bounds.is_32bit()) {
            return Scalar { bounds: Interval::FULL, ..scalar };
        }
        let old = if self.is_32bit { scalar.bounds32() } else { scalar.bounds };
        let (bounds, is_split) =
            if comparison.is_order() { self.cut(comparison, old, number) } else { (old, false) };
        let low = if self.is_32bit { low } else { low_after_comparison(comparison, bounds) };
        Scalar { bounds, low, is_split, ..scalar }
    }

    /// Returns the numbers for which an order holds, as the verifier of Linux 5.10 knows them, and whether
    /// its signed and unsigned bounds may contradict each other.
    ///
    /// The verifier keeps signed and unsigned bounds. A comparison narrows one of them. The verifier learns
    /// the other only if one of them does not contain numbers of both signs (the kernel:
    /// `__reg_deduce_bounds`).
    fn cut(&self, comparison: Comparison, bounds: Interval, number: u64) -> (Interval, bool) {
        let is_narrow_signed = self.is_32bit && comparison.is_signed();
        let number = if is_narrow_signed { sign_extend(number, 32) } else { number };
        let Some(solutions) = comparison.solutions(number) else { return (Interval::FULL, true) };
        if is_narrow_signed {
            // The bounds of the low half have no sign.
            let is_split = bounds.lo <= U32 >> 1 && bounds.hi > U32 >> 1 && !has_one_sign(solutions);
            return (bounds, is_split);
        }
        let is_other_sense = if comparison.is_signed() { !bounds.is_signed() } else { !bounds.is_unsigned() };
        if is_other_sense && bounds != Interval::FULL && !has_one_sign(solutions) {
            return (bounds, true);
        }
        bounds.intersection_hull(solutions).map_or((Interval::FULL, true), |bounds| (bounds, false))
    }
}

/// Returns whether a branch on two values is taken. `None` if the verifier may follow both directions, or
/// learns more about the values. The value on the right does not count for a branch on an immediate.
pub(super) fn decide(branch: Insn, left: Value, right: Value) -> Option<bool> {
    let mut state = State::entry(0, 0);
    if branch.source_is_register() {
        state.set(branch.src, right);
    }
    state.set(branch.dst, left);
    let before = state.registers;
    let condition = Condition::decode(branch, &state)?;
    let is_taken = match condition.directions() {
        [Direction::Certain, Direction::Dead] => true,
        [Direction::Dead, Direction::Certain] => false,
        _ => return None,
    };
    condition.apply(&mut state, is_taken);
    (state.registers == before).then_some(is_taken)
}

/// Returns whether all numbers of a range have the same sign.
const fn has_one_sign(range: Interval) -> bool {
    range.is_unsigned() && range.is_signed()
}

/// Returns what the verifier of Linux 5.10 knows about the low half after a comparison of 64 bits with these
/// bounds as its result.
///
/// The verifier takes the bounds of the half from those of the same sense, if they fit, before it combines
/// signed and unsigned bounds (`__reg_combine_64_into_32`).
fn low_after_comparison(comparison: Comparison, bounds: Interval) -> LowBounds {
    let ((min, max), (smallest, largest)) = (bounds.signed(), (i64::from(i32::MIN), i64::from(i32::MAX)));
    let is_signed_half = smallest < min && max < largest;
    let is_unsigned_half = bounds.is_32bit() && ((0 < bounds.lo && bounds.hi < U32) || is_signed_half);
    let is_known = if comparison.is_signed() {
        is_signed_half
    } else if comparison.is_order() {
        is_unsigned_half
    } else {
        is_signed_half || is_unsigned_half
    };
    if is_known { LowBounds::Same } else { LowBounds::Unknown }
}

/// Returns the numbers of a set with some low bits. The low bits of a range may have further values.
fn with_low(possible: Possible, low: u64) -> Possible {
    match possible {
        Possible::Range(range) if range.as_single().is_none() => low_part(possible, Possible::single(low)),
        _ => possible,
    }
}

/// Returns the numbers of a set that are selected by their low bits: of these, the numbers of 32 bits.
fn low_part(possible: Possible, selected: Possible) -> Possible {
    if possible.contains_all(selected) { selected } else { Possible::UNKNOWN }
}

/// Selects the 32-bit numbers for which a signed comparison with a number holds.
fn select_signed32(comparison: Comparison, low: Possible, number: u64) -> Option<Possible> {
    let number = sign_extend(number, 32);
    let Possible::Range(range) = low else {
        return comparison.select(low.sign_extended(32), number).map(Possible::low32);
    };
    // Numbers without and with a sign are two ranges.
    let halves = [Interval::new(0, U32 >> 1), Interval::new((U32 >> 1).wrapping_add(1), U32)];
    let parts = halves.into_iter().filter_map(|half| range.largest_intersection(half));
    let selected = parts.filter_map(|part| select_range(part, comparison, number));
    selected.max_by_key(|range| range.span()).map(Possible::Range)
}

/// Selects the numbers of a range of 32-bit numbers with equal signs for which a signed comparison holds.
fn select_range(part: Interval, comparison: Comparison, number: u64) -> Option<Interval> {
    let extended = Interval::new(sign_extend(part.lo, 32), sign_extend(part.hi, 32));
    let selected = extended.largest_intersection(comparison.solutions(number)?)?;
    Some(Interval::new(selected.lo & U32, selected.hi & U32))
}

/// Narrows the copies of a number. Kernels before 5.11 do not know the bounds of copies, those before 6.11
/// not with an added constant.
fn narrow_copies(state: &mut State, old: Scalar, possible: Possible) {
    if old.id == NO_ID {
        return;
    }
    state.for_each_value(|value| {
        if let Value::Scalar(copy) = value
            && copy.id == old.id
        {
            let distance = copy.offset.zip(old.offset).map(|(copy, old)| copy.wrapping_sub(old));
            copy.possible = match (distance, possible) {
                (Some(0), _) => copy.possible.within_both(possible),
                (Some(distance), Possible::Range(range)) => {
                    let moved =
                        Interval::new(range.lo.wrapping_add(distance), range.hi.wrapping_add(distance));
                    copy.possible.within_both(Possible::Range(moved))
                }
                _ => Possible::UNKNOWN,
            };
        }
    });
}

/// Returns whether a comparison may hold, as far as the verifier of Linux 5.10 knows.
fn may_hold(
    comparison: Comparison,
    is_32bit: bool,
    bounds: Interval,
    constant: Option<u64>,
    number: u64,
) -> bool {
    if !is_32bit {
        return comparison.may_hold(bounds, constant, number);
    }
    // Numbers of 32 bits in the high half are ordered as in the low half, also with their signs.
    let scaled = Interval { lo: bounds.lo << 32, hi: bounds.hi << 32 };
    comparison.may_hold(scaled, constant.map(|constant| constant << 32), (number & U32) << 32)
}
