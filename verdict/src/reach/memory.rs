//! Loads and stores.

use super::data::{Data, DataNumber};
use super::interval::{Interval, sign_extend, width_mask};
use super::possible::Possible;
use super::program::{LoadedValue, Program};
use super::reachability::Undecided;
use super::scalar::Scalar;
use super::state::{Slot, State};
use super::value::Value;
use crate::limits::STACK_BYTES;
use core_relo::Endian;

/// The bits of an offset within a word of eight bytes.
const WORD_MASK: i32 = 7;

/// Returns the value that a load of a width in bytes through a pointer gives.
pub(super) fn load(program: &Program<'_>, state: &State, base: Value, offset: i16, bytes: u8) -> Value {
    let width = u32::from(bytes);
    match base {
        Value::Stack { frame, offset: start } => {
            read_slot(program.endian, &state.slots, frame, start.wrapping_add(i32::from(offset)), bytes)
        }
        Value::Frozen { load, offset: start } => {
            let start = start.wrapping_add_signed(i64::from(offset));
            Value::Scalar(read_frozen(program, load, start, bytes))
        }
        Value::StackRange { .. } | Value::Any => {
            Value::Scalar(Scalar::unknown(width, Undecided::Imprecision))
        }
        Value::Context { .. } if program.bounds_context => {
            Value::Scalar(Scalar::unknown(width, Undecided::Imprecision))
        }
        // A field of the context or of a kernel structure may be a pointer, and new kernels know of some that
        // they are not null.
        Value::Context { .. } | Value::Scalar(_) | Value::Deferred(_) if bytes == 8 => {
            Value::Scalar(unknown_argument())
        }
        Value::Context { .. } if bytes == 4 => {
            Value::Scalar(Scalar::new(Interval::FULL, Possible::Range(Interval::width(4))))
        }
        Value::Scalar(_)
        | Value::Deferred(_)
        | Value::Context { .. }
        | Value::Function(_)
        | Value::OrNull { .. }
        | Value::Map { .. }
        | Value::Pointer { .. } => Value::Scalar(Scalar::unbounded(width)),
    }
}

/// Returns a value that the verifier may take for a pointer that is not null.
pub(super) const fn unknown_argument() -> Scalar {
    Scalar::new(Interval::FULL, Possible::Range(Interval { lo: 1, hi: u64::MAX }))
}

/// Extends the sign of a loaded value.
pub(super) fn extend_loaded_sign(value: Value, bytes: u8) -> Value {
    let bits = u32::from(bytes).wrapping_mul(8);
    match value {
        Value::Scalar(scalar) => Value::Scalar(super::alu::extend_sign(false, bits, scalar)),
        _ => Value::UNKNOWN,
    }
}

/// Reads unchanging data.
fn read_frozen(program: &Program<'_>, load: u32, offset: u64, bytes: u8) -> Scalar {
    let width = u32::from(bytes);
    let entry = usize::try_from(load).ok().and_then(|load| program.loads.get(load));
    let Some((insn, LoadedValue::Frozen { data, unknown, .. })) = entry else {
        return Scalar::unknown(width, Undecided::Imprecision);
    };
    match (Data { bytes: data, unknown, endian: program.endian }).number(offset, bytes) {
        DataNumber::Known(number) => Scalar::constant(number),
        DataNumber::Unknown => Scalar::unknown(width, Undecided::UnknownValue { insn: *insn }),
        DataNumber::Outside => Scalar::unknown(width, Undecided::Imprecision),
    }
}

/// Reads stack memory.
fn read_slot(endian: Endian, slots: &[Slot], frame: u8, offset: i32, bytes: u8) -> Value {
    let width = u32::from(bytes);
    let end = offset.saturating_add(i32::from(bytes));
    let first = slots.partition_point(|slot| (slot.frame, slot.end()) <= (frame, offset));
    let overlapping = slots.iter().skip(first);
    let mut overlapping = overlapping.take_while(|slot| slot.frame == frame && slot.offset < end);
    let Some(slot) = overlapping.next() else { return Value::Scalar(Scalar::unbounded(width)) };
    if slot.offset == offset && slot.bytes == bytes {
        return slot.value;
    }
    // Several slots together are unknown: verifiers since Linux 6.8 do not combine the zeros of different
    // stores.
    let whole = slot.value.as_scalar().filter(|_| slot.offset <= offset && slot.end() >= end);
    if whole.and_then(Scalar::as_constant) == Some(0) {
        return Value::Scalar(Scalar::constant(0));
    }
    let possible = match whole.map(|scalar| scalar.possible) {
        Some(Possible::Unknown(cause)) => Possible::Unknown(cause),
        Some(possible) if possible == Possible::Range(Interval::width(u32::from(slot.bytes))) => {
            Possible::Range(Interval::width(width))
        }
        Some(possible) => possible.as_single().map_or(Possible::UNKNOWN, |number| {
            Possible::single(part_of_number(endian, number, slot, offset, bytes))
        }),
        None => Possible::UNKNOWN,
    };
    Value::Scalar(Scalar::new(Interval::width(width), possible))
}

/// Returns a part of the number in a slot.
fn part_of_number(endian: Endian, number: u64, slot: &Slot, offset: i32, bytes: u8) -> u64 {
    let from_start = offset.wrapping_sub(slot.offset);
    let skipped = match endian {
        Endian::Little => from_start,
        Endian::Big => i32::from(slot.bytes).wrapping_sub(from_start).wrapping_sub(i32::from(bytes)),
    };
    let shift = u32::try_from(skipped).unwrap_or(0).wrapping_mul(8);
    number.wrapping_shr(shift) & width_mask(u32::from(bytes))
}

/// A stored value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stored {
    /// The value of a register.
    Register(Value),
    /// An immediate, which the verifier follows since Linux 6.3.
    Immediate(i32),
    /// The result of an atomic operation, which no verifier follows.
    Unknown,
}

/// Stores a value of a width in bytes through a pointer.
pub(super) fn store(state: &mut State, base: Value, offset: i16, bytes: u8, stored: Stored) {
    match base {
        Value::Stack { frame, offset: start } => {
            let offset = start.wrapping_add(i32::from(offset));
            // An access outside of the frame is refused.
            if offset < STACK_BYTES.wrapping_neg() || offset.saturating_add(i32::from(bytes)) > 0 {
                return;
            }
            let value = spilled(stored, offset, bytes);
            if !keeps_word(stored, offset) {
                forget_words(&mut state.slots, frame, offset, offset.saturating_add(i32::from(bytes)));
            }
            put_slot(&mut state.slots, Slot { frame, offset, bytes, value });
        }
        Value::StackRange { frame } => forget_frame(state, frame),
        Value::Any => forget_stack(state),
        Value::Scalar(_)
        | Value::Deferred(_)
        | Value::Frozen { .. }
        | Value::Function(_)
        | Value::Context { .. }
        | Value::OrNull { .. }
        | Value::Map { .. }
        | Value::Pointer { .. } => {}
    }
}

/// Returns whether every verifier keeps the values of the other bytes of a word of which a store changes a
/// part.
///
/// Verifiers since Linux 5.16 keep numbers that are stored at the start of eight bytes. Such a store, or a
/// store behind such a number, overwrites the zeros of other stores (kernel: `scrub_spilled_slot`). Only a
/// zero at the start keeps the zeros after it.
fn keeps_word(stored: Stored, offset: i32) -> bool {
    let is_zero = match stored {
        Stored::Register(Value::Scalar(scalar)) => scalar.as_constant() == Some(0),
        Stored::Immediate(immediate) => immediate == 0,
        Stored::Register(_) | Stored::Unknown => false,
    };
    is_zero && offset & WORD_MASK == 0
}

/// Forgets the values in the words of eight bytes that overlap with a part of a frame.
fn forget_words(slots: &mut [Slot], frame: u8, start: i32, end: i32) {
    let (start, end) = (start & !WORD_MASK, end.saturating_add(WORD_MASK) & !WORD_MASK);
    for slot in slots.iter_mut().filter(|slot| slot.frame == frame && slot.offset < end && slot.end() > start)
    {
        *slot = slot.unknown();
    }
}

/// Returns the part of a stored value that a load gives back. Linux 5.10 follows zeros of every width, and
/// constants of aligned 8 bytes.
fn spilled(stored: Stored, offset: i32, bytes: u8) -> Value {
    let width = u32::from(bytes);
    let is_aligned = bytes == 8 && offset.trailing_zeros() >= 3;
    match stored {
        Stored::Register(Value::Scalar(scalar)) => match scalar.as_constant() {
            Some(0) => Value::Scalar(Scalar::constant(0)),
            Some(_) if is_aligned => Value::Scalar(scalar),
            _ if bytes == 8 => Value::Scalar(Scalar { bounds: Interval::FULL, ..scalar }),
            _ => Value::Scalar(Scalar::new(Interval::width(width), scalar.possible.low_bytes(width))),
        },
        Stored::Register(value) if is_aligned => value,
        Stored::Immediate(immediate) => {
            let number = sign_extend(u64::from(immediate.cast_unsigned()), 32) & width_mask(width);
            Value::Scalar(Scalar::new(Interval::width(width), Possible::single(number)))
        }
        Stored::Register(_) | Stored::Unknown => {
            Value::Scalar(Scalar::unknown(width, Undecided::Imprecision))
        }
    }
}

/// Inserts a slot. Parts of overwritten slots that remain become unknown.
fn put_slot(slots: &mut Vec<Slot>, slot: Slot) {
    let first = slots.partition_point(|old| (old.frame, old.end()) <= (slot.frame, slot.offset));
    if let Some(old) = slots.get_mut(first)
        && old.key() == slot.key()
        && old.bytes == slot.bytes
    {
        *old = slot;
        return;
    }
    remove_slots(slots, slot.frame, slot.offset, slot.end());
    let position = slots.partition_point(|old| old.key() < slot.key());
    slots.insert(position, slot);
}

/// Removes the slots of a part of a frame. Parts of slots that remain at its ends become unknown.
fn remove_slots(slots: &mut Vec<Slot>, frame: u8, start: i32, end: i32) {
    let part = |old: Slot, from: i32, to: i32| {
        let bytes = u8::try_from(to.wrapping_sub(from)).ok().filter(|bytes| *bytes > 0)?;
        Some(Slot { offset: from, bytes, ..old }.unknown())
    };
    let first = slots.partition_point(|old| (old.frame, old.end()) <= (frame, start));
    let overlaps = |old: &&Slot| old.frame == frame && old.offset < end;
    let below = slots.get(first).filter(overlaps).and_then(|old| part(*old, old.offset, start));
    while let Some(old) = slots.get(first).filter(overlaps).copied() {
        slots.remove(first);
        if let Some(above) = part(old, end, old.end()) {
            slots.insert(first, above);
        }
    }
    if let Some(below) = below {
        slots.insert(first, below);
    }
}

/// Forgets the values of a frame, after a store at an unknown offset.
fn forget_frame(state: &mut State, frame: u8) {
    for slot in state.slots.iter_mut().filter(|slot| slot.frame == frame) {
        *slot = slot.unknown();
    }
}

/// Forgets the values of all frames.
pub(super) fn forget_stack(state: &mut State) {
    for slot in &mut state.slots {
        *slot = slot.unknown();
    }
}

/// Forgets the bounds of numbers that differ from an earlier state at the same instruction, or that are not
/// constant.
///
/// Verifiers forget numbers that a loop changes, if no branch depends on them: since Linux 6.4 in loops of
/// iterators, since 6.7 in callbacks, since 6.9 in loops of `may_goto` (kernel: `widen_imprecise_scalars`).
/// The verifier compares with the last state of the same path. The analysis does not know which of the stored
/// states that is, and compares with all.
pub(super) fn forget_changes<'s>(state: &mut State, earlier: &(impl Iterator<Item = &'s State> + Clone)) {
    if earlier.clone().next().is_none() {
        return;
    }
    let widen = |value: &mut Value, find: &dyn Fn(&'s State) -> Option<Value>| {
        let Value::Scalar(scalar) = value else { return };
        let is_same = |old: Option<Value>| {
            old.and_then(Value::as_scalar).and_then(Scalar::as_constant) == scalar.as_constant()
        };
        if scalar.as_constant().is_none() || !earlier.clone().map(find).all(is_same) {
            scalar.bounds = Interval::FULL;
        }
    };
    for (number, value) in state.registers.iter_mut().enumerate() {
        widen(value, &|earlier| earlier.registers.get(number).copied());
    }
    for (depth, caller) in state.callers.iter_mut().enumerate() {
        for (number, value) in caller.saved.iter_mut().enumerate() {
            widen(value, &|earlier| earlier.callers.get(depth)?.saved.get(number).copied());
        }
    }
    for slot in &mut state.slots {
        let (key, bytes) = (slot.key(), slot.bytes);
        widen(&mut slot.value, &|earlier| {
            let found = earlier.slots.binary_search_by_key(&key, Slot::key).ok()?;
            earlier.slots.get(found).filter(|found| found.bytes == bytes).map(|found| found.value)
        });
    }
}

/// Forgets the bounds of the memory behind a pointer that is passed to a helper, which may write or only
/// read.
pub(super) fn pass_memory(state: &mut State, pointer: Value) {
    let (passed, start) = match pointer {
        Value::Stack { frame, offset } => (Some(frame), offset),
        Value::StackRange { frame } => (Some(frame), i32::MIN),
        Value::Any => (None, i32::MIN),
        _ => return,
    };
    // A write to a part of a word changes what the verifier knows of the rest.
    let start = start & !WORD_MASK;
    for slot in &mut state.slots {
        if passed.is_none_or(|frame| frame == slot.frame) && slot.end() > start {
            slot.value = match slot.value {
                Value::Scalar(scalar) => Value::Scalar(Scalar { bounds: Interval::FULL, ..scalar }),
                Value::Pointer { .. } | Value::OrNull { .. } | Value::Map { .. } => Value::UNKNOWN,
                value => value,
            };
        }
    }
}

/// Marks memory that a helper writes: no verifier knows the new values. An unknown size is `None`.
pub(super) fn fill_memory(state: &mut State, pointer: Value, size: Option<u64>) {
    let size = size.and_then(|size| i32::try_from(size).ok());
    match (pointer, size) {
        (Value::Stack { frame, offset }, Some(size)) => {
            forget_words(&mut state.slots, frame, offset, offset.saturating_add(size));
            remove_slots(&mut state.slots, frame, offset, offset.saturating_add(size));
        }
        _ => pass_memory(state, pointer),
    }
}
