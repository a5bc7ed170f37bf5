//! The state of the program on a path.

use super::reachability::{NO_BRANCH, Undecided};
use super::scalar::Scalar;
use super::value::Value;
use core_relo::insn::FRAME_POINTER;

/// The registers: r0 to r9 and the frame pointer r10.
pub(super) const REGISTERS: usize = 11;

/// The first register that calls keep.
pub(super) const FIRST_SAVED: usize = 6;

/// The registers that calls keep: r6 to r9.
const SAVED: usize = 4;

/// The state of the program before an instruction.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The next instruction.
    pub(super) pc: u32,
    /// The call chain, by its number.
    pub(super) chain: u32,
    /// The last branch of the path.
    pub(super) branch: u32,
    /// The reason why a verifier may not reach the state. `None` if every verifier does.
    pub(super) undecided: Option<Undecided>,
    pub(super) registers: [Value; REGISTERS],
    /// The stack slots of all frames with values that the analysis follows, sorted by frame and offset. They
    /// do not overlap.
    ///
    /// Other stack memory contains values that helpers wrote. No verifier knows them.
    pub(super) slots: Vec<Slot>,
    /// The calling functions, outermost first.
    pub(super) callers: Vec<Caller>,
}

/// A part of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// The frame: the number of its callers.
    pub(super) frame: u8,
    /// The offset from the frame's end, in bytes: negative.
    pub(super) offset: i32,
    pub(super) bytes: u8,
    pub(super) value: Value,
}

/// A function with an active call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    /// The call.
    pub(super) call: u32,
    /// The call chain of the function.
    pub(super) chain: u32,
    /// The registers r6 to r9.
    pub(super) saved: [Value; SAVED],
    /// The pointer that a helper passes to its callback. Unknown for other calls.
    pub(super) context: Value,
}

impl Caller {
    fn values(&self) -> impl Iterator<Item = Value> + use<> {
        self.saved.into_iter().chain([self.context])
    }

    fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.saved.iter_mut().chain([&mut self.context])
    }
}

impl State {
    /// Returns the state at the start of a function without callers.
    pub(super) fn entry(pc: u32, chain: u32) -> Self {
        let mut registers = [Value::UNKNOWN; REGISTERS];
        if let Some(frame_pointer) = registers.last_mut() {
            *frame_pointer = Value::Stack { frame: 0, offset: 0 };
        }
        Self {
            pc,
            chain,
            branch: NO_BRANCH,
            undecided: None,
            registers,
            slots: Vec::new(),
            callers: Vec::new(),
        }
    }

    /// Changes the state to that at the start of a function that the last caller calls. `argument` is the
    /// value of all arguments.
    pub(super) fn enter(&mut self, start: u32, chain: u32, argument: Value) {
        let frame = self.frame();
        self.slots.retain(|slot| slot.frame < frame);
        self.registers = [Value::UNKNOWN; REGISTERS];
        for register in 1..=5 {
            self.set(register, argument);
        }
        self.set(FRAME_POINTER, Value::Stack { frame, offset: 0 });
        (self.pc, self.chain) = (start, chain);
    }

    /// Overwrites the state, and keeps the memory of its lists.
    pub(super) fn copy_from(&mut self, other: &Self) {
        (self.pc, self.chain, self.branch, self.undecided) =
            (other.pc, other.chain, other.branch, other.undecided);
        self.registers = other.registers;
        self.slots.clear();
        self.slots.extend_from_slice(&other.slots);
        self.callers.clear();
        self.callers.extend_from_slice(&other.callers);
    }

    /// Returns a register's value. A register that does not exist has any value.
    pub(super) fn register(&self, register: u8) -> Value {
        self.registers.get(usize::from(register)).copied().unwrap_or(Value::Any)
    }

    /// Sets a register. A register that does not exist stays as it is.
    pub(super) fn set(&mut self, register: u8, value: Value) {
        if let Some(old) = self.registers.get_mut(usize::from(register)) {
            *old = value;
        }
    }

    /// Returns the number of the current frame. Call chains have few frames.
    pub(super) fn frame(&self) -> u8 {
        u8::try_from(self.callers.len()).unwrap_or(u8::MAX)
    }

    /// Returns the count of values, for limits on memory.
    pub(super) fn value_count(&self) -> usize {
        let saved = self.callers.len().saturating_mul(const { SAVED + 1 });
        [REGISTERS, self.slots.len(), saved].into_iter().sum()
    }

    /// Clears the registers that are not live.
    pub(super) fn clear_dead(&mut self, live: u16) {
        for (register, value) in (0_u32..).zip(&mut self.registers) {
            if live & 1_u16.wrapping_shl(register) == 0 {
                *value = Value::UNKNOWN;
            }
        }
    }

    /// Changes each value: of registers, slots and the registers of callers.
    pub(super) fn for_each_value(&mut self, mut change: impl FnMut(&mut Value)) {
        self.registers.iter_mut().for_each(&mut change);
        self.slots.iter_mut().for_each(|slot| change(&mut slot.value));
        self.callers.iter_mut().flat_map(Caller::values_mut).for_each(change);
    }

    /// Returns whether the paths from this state make the paths from the other state superfluous.
    ///
    /// Both states have the same next instruction and call chain.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        let covers = |a: Value, b: Value| a.covers(b);
        if !self.compare(other, Value::UNTRACKED_MEMORY, covers) {
            return false;
        }
        match (self.undecided, other.undecided) {
            (None, Some(_)) => true,
            (Some(_), None) => false,
            // All that is reachable from the other state is reachable from this state.
            (None, None) => self.compare(other, Value::UNTRACKED_MEMORY, Value::allows),
            // No more is reachable from this state than from the other state.
            (Some(_), Some(_)) => self.compare(other, Value::UNTRACKED_MEMORY, |a, b| b.allows(a)),
        }
    }

    /// Returns whether a relation holds for all pairs of values. Memory without a slot has the value
    /// `memory`.
    fn compare(&self, other: &Self, memory: Value, relation: impl Fn(Value, Value) -> bool) -> bool {
        let callers = self.callers.iter().flat_map(Caller::values);
        let other_callers = other.callers.iter().flat_map(Caller::values);
        self.registers.iter().zip(&other.registers).all(|(a, b)| relation(*a, *b))
            && callers.zip(other_callers).all(|(a, b)| relation(a, b))
            && compare_slots(&self.slots, &other.slots, memory, relation)
    }

    /// Makes the state stand for another state as well. Returns whether the state changed.
    pub(super) fn join(&mut self, other: &Self, keeps_range: bool) -> bool {
        let mut is_changed = false;
        let mut join = |a: &mut Value, b: Value| {
            let joined = a.join(b, keeps_range);
            is_changed |= joined != *a;
            *a = joined;
        };
        for (a, b) in self.registers.iter_mut().zip(other.registers) {
            join(a, b);
        }
        let callers = self.callers.iter_mut().flat_map(Caller::values_mut);
        for (a, b) in callers.zip(other.callers.iter().flat_map(Caller::values)) {
            join(a, b);
        }
        is_changed |= join_slots(&mut self.slots, &other.slots, keeps_range);
        if self.undecided.is_none() && other.undecided.is_some() {
            self.undecided = other.undecided;
            is_changed = true;
        }
        is_changed
    }
}

impl Value {
    /// The value of stack memory that no slot describes.
    const UNTRACKED_MEMORY: Self = Self::Scalar(Scalar::UNBOUNDED);
}

impl Slot {
    pub(super) const fn key(&self) -> (u8, i32) {
        (self.frame, self.offset)
    }

    /// Returns the offset of the end.
    pub(super) fn end(&self) -> i32 {
        self.offset.saturating_add(i32::from(self.bytes))
    }

    fn is_same_part(&self, other: &Self) -> bool {
        self.key() == other.key() && self.bytes == other.bytes
    }

    /// Returns the slot with an unknown value.
    pub(super) fn unknown(self) -> Self {
        Self { value: Value::UNKNOWN.join(self.value, false), ..self }
    }
}

fn compare_slots(
    slots: &[Slot],
    others: &[Slot],
    memory: Value,
    relation: impl Fn(Value, Value) -> bool,
) -> bool {
    let (mut slots, mut others) = (slots.iter().peekable(), others.iter().peekable());
    loop {
        let holds = match (slots.peek(), others.peek()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a.is_same_part(b) => {
                let holds = relation(a.value, b.value);
                others.next();
                slots.next();
                holds
            }
            (Some(a), b) if b.is_none_or(|b| a.key() <= b.key()) => {
                let holds = relation(a.value, memory);
                slots.next();
                holds
            }
            (_, Some(b)) => {
                let holds = relation(memory, b.value);
                others.next();
                holds
            }
            (Some(_), None) => return false,
        };
        if !holds {
            return false;
        }
    }
}

/// Returns the slot of the same part of the stack.
fn find_part<'s>(slots: &'s [Slot], part: &Slot) -> Option<&'s Slot> {
    let position = slots.binary_search_by_key(&part.key(), Slot::key).ok()?;
    slots.get(position).filter(|slot| slot.is_same_part(part))
}

/// Joins slots. A part of the stack that only one side describes, or both in different parts, becomes
/// unknown.
fn join_slots(slots: &mut Vec<Slot>, others: &[Slot], keeps_range: bool) -> bool {
    let mut is_changed = false;
    for slot in slots.iter_mut() {
        let joined = match find_part(others, slot) {
            Some(other) => slot.value.join(other.value, keeps_range),
            None => Value::UNKNOWN.join(slot.value, keeps_range),
        };
        is_changed |= joined != slot.value;
        slot.value = joined;
    }
    for other in others {
        if find_part(slots, other).is_some() {
            continue;
        }
        for offset in other.offset..other.end() {
            let position = slots.partition_point(|slot| (slot.frame, slot.end()) <= (other.frame, offset));
            let next = slots.get(position).filter(|slot| slot.frame == other.frame);
            if next.is_some_and(|slot| slot.offset <= offset) {
                continue;
            }
            let is_whole = offset == other.offset && next.is_none_or(|slot| slot.offset >= other.end());
            let bytes = if is_whole { other.bytes } else { 1 };
            let value = Value::UNKNOWN.join(other.value, keeps_range);
            slots.insert(position, Slot { offset, bytes, value, ..*other });
            is_changed = true;
        }
    }
    is_changed
}
