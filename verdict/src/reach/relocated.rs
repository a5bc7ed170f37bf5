//! The numbers that relocations write into a program, and those of them that an analysis depends on.
//!
//! The offsets of fields differ from kernel to kernel. Most programs add them to addresses of kernel memory,
//! and pass the sums to helpers. An analysis that does not look at a number has the same result for all
//! numbers. So the value of a register that depends on a relocated number is computed when the analysis looks
//! at the value: where the value decides about a branch, a pointer to the stack or the result of the program,
//! and where paths meet.

use super::alu::Operation;
use super::call::{CallbackHelper, size_argument};
use super::flow::{bit, index, registers};
use super::scalar::Scalar;
use super::state::State;
use super::step::{Operands, binary};
use super::value::Value;
use crate::limits::DEFERRED_NUMBERS;
use core_relo::insn::{Class, Insn, alu, mode, opcode, pseudo};

/// All registers, as a set.
const ALL_REGISTERS: u16 = u16::MAX;

/// The use of the number of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberUse {
    /// No relocation writes the number.
    NotRelocated,
    /// The analysis has not looked at the number.
    Unused,
    /// The result of the analysis depends on the number.
    Used,
}

/// A number that depends on a relocated number, before it is computed.
#[derive(Clone, Copy, Debug)]
enum Deferred {
    /// The immediate of an instruction.
    Immediate { insn: u32 },
    /// The sum that an instruction computes.
    Sum { left: Value, right: Value, insn: u32 },
}

/// The numbers that relocations write into a program.
#[derive(Debug)]
pub(super) struct RelocatedNumbers<'p> {
    insns: &'p [Insn],
    /// The use of the number of each instruction. Empty if no number is relocated.
    uses: Vec<NumberUse>,
    /// The deferred numbers between two join points of a path.
    deferred: Vec<Deferred>,
}

/// Returns an instruction without its number, and the number: the offset of an access, the immediate of a
/// copy or an addition. `None` for an instruction whose other parts depend on its number.
pub(crate) fn split_number(insn: Insn) -> (Insn, Option<i32>) {
    match (insn.class(), insn.operation()) {
        (Class::Alu64, alu::MOV | alu::ADD) if !insn.source_is_register() && insn.off == 0 => {
            (Insn { imm: 0, ..insn }, Some(insn.imm))
        }
        (Class::Ldx | Class::St | Class::Stx, _) if matches!(insn.mode(), mode::MEM | mode::MEMSX) => {
            (Insn { off: 0, ..insn }, Some(insn.off.into()))
        }
        _ => (insn, None),
    }
}

impl<'p> RelocatedNumbers<'p> {
    /// Collects the instructions whose numbers are relocated.
    pub(super) fn new(insns: &'p [Insn], relocated: &[u32]) -> Self {
        let mut uses = Vec::new();
        if !relocated.is_empty() {
            uses.resize(insns.len(), NumberUse::NotRelocated);
        }
        for insn in relocated {
            if let Some(number) = uses.get_mut(index(*insn)) {
                *number = NumberUse::Unused;
            }
        }
        Self { insns, uses, deferred: Vec::new() }
    }

    /// Returns the instructions on whose relocated numbers the analysis depends, in order.
    pub(super) fn into_used(self) -> Vec<u32> {
        let used = (0..).zip(self.uses).filter(|(_, number)| *number == NumberUse::Used);
        used.map(|(insn, _)| insn).collect()
    }

    /// Forgets the deferred numbers of the last path.
    pub(super) fn start_path(&mut self) {
        self.deferred.clear();
    }

    /// Returns the result of the next instruction of a state, if the result is deferred. Otherwise, computes
    /// the deferred numbers that the instruction looks at. `live` are the registers that are read later.
    pub(super) fn defer(&mut self, state: &mut State, insn: Insn, live: u16) -> Option<Value> {
        if self.uses.is_empty() {
            return None;
        }
        match (insn.class(), insn.operation()) {
            (Class::Alu64, alu::MOV) if insn.off == 0 => {
                return if insn.source_is_register() { None } else { self.defer_immediate(state.pc) };
            }
            (Class::Alu64, alu::ADD) if insn.off == 0 => return self.defer_sum(state, insn),
            (Class::Ldx, _) => self.use_offset(state, insn.src),
            (Class::St, _) => self.use_offset(state, insn.dst),
            (Class::Stx, _) if insn.mode() == mode::MEM => {
                self.use_offset(state, insn.dst);
                self.compute(state, bit(insn.src));
            }
            (Class::Jmp, _) if insn.code == opcode::CALL => self.compute_arguments(state, insn),
            // A branch also narrows the copies of the compared numbers.
            _ if insn.is_comparison() => self.compute(state, live),
            _ => self.compute(state, registers(insn).0),
        }
        None
    }

    /// Computes the deferred numbers of a state before it is compared with other states.
    pub(super) fn compute_all(&mut self, state: &mut State) {
        self.compute(state, ALL_REGISTERS);
    }

    /// Returns the deferred immediate of an instruction. Past the limit, the analysis uses the number.
    fn defer_immediate(&mut self, insn: u32) -> Option<Value> {
        if !self.is_relocated(insn) {
            return None;
        }
        let deferred = self.add(Deferred::Immediate { insn });
        if deferred.is_none() {
            self.set_used(insn);
        }
        deferred
    }

    /// Returns the deferred result of an addition of numbers, one of which is relocated.
    fn defer_sum(&mut self, state: &mut State, insn: Insn) -> Option<Value> {
        let is_immediate = !insn.source_is_register();
        let operands = bit(insn.dst) | if is_immediate { 0 } else { bit(insn.src) };
        if is_immediate && !self.is_relocated(state.pc) {
            self.compute(state, operands);
            return None;
        }
        // Sums of sums would have any depth.
        self.compute_if(state, operands, |deferred| matches!(deferred, Deferred::Sum { .. }));
        let left = state.register(insn.dst);
        let right = if is_immediate {
            self.defer_immediate(state.pc).unwrap_or(Value::Any)
        } else {
            state.register(insn.src)
        };
        let is_number = |value: Value| matches!(value, Value::Scalar(_) | Value::Deferred(_));
        let is_deferred = |value: Value| matches!(value, Value::Deferred(_));
        let is_same = !is_immediate && insn.dst == insn.src;
        if is_number(left) && is_number(right) && (is_deferred(left) || is_deferred(right)) && !is_same {
            let sum = self.add(Deferred::Sum { left, right, insn: state.pc });
            if sum.is_some() {
                return sum;
            }
        }
        if is_immediate {
            self.set_used(state.pc);
        }
        self.compute(state, operands);
        None
    }

    /// Computes the arguments that a call looks at.
    fn compute_arguments(&mut self, state: &mut State, insn: Insn) {
        if insn.src == pseudo::CALL || CallbackHelper::called_by(insn).is_some() {
            // The callers' registers are compared with those of other states.
            return self.compute_all(state);
        }
        if let Some(size) = size_argument(insn) {
            self.compute(state, bit(size));
        }
    }

    /// Records that an access looks at its offset, if the base is an address whose memory is followed.
    fn use_offset(&mut self, state: &State, base: u8) {
        if matches!(state.register(base), Value::Stack { .. } | Value::Frozen { .. } | Value::Context { .. })
        {
            self.set_used(state.pc);
        }
    }

    /// Computes the deferred numbers in registers, given as a set.
    fn compute(&mut self, state: &mut State, set: u16) {
        self.compute_if(state, set, |_| true);
    }

    fn compute_if(&mut self, state: &mut State, set: u16, is_selected: impl Fn(Deferred) -> bool) {
        if self.deferred.is_empty() {
            return;
        }
        for (number, value) in (0_u8..).zip(&mut state.registers) {
            if set & bit(number) != 0 && self.find(*value).is_some_and(&is_selected) {
                *value = self.value(*value);
            }
        }
    }

    /// Returns a value without deferred numbers. The analysis depends on the relocated numbers in the value.
    fn value(&mut self, value: Value) -> Value {
        match self.find(value) {
            None => value,
            Some(Deferred::Immediate { insn }) => {
                self.set_used(insn);
                let number = self.insns.get(index(insn)).map(|insn| i64::from(insn.imm));
                number.map_or(Value::Any, |number| Value::Scalar(Scalar::constant(number.cast_unsigned())))
            }
            Some(Deferred::Sum { left, right, insn }) => {
                let operands = Operands { left: self.value(left), right: self.value(right), is_same: false };
                binary(Operation::Add, false, operands, insn)
            }
        }
    }

    fn find(&self, value: Value) -> Option<Deferred> {
        match value {
            Value::Deferred(number) => self.deferred.get(index(number)).copied(),
            _ => None,
        }
    }

    /// Adds a deferred number. Returns `None` if the path has too many.
    fn add(&mut self, deferred: Deferred) -> Option<Value> {
        let number =
            u32::try_from(self.deferred.len()).ok().filter(|_| self.deferred.len() < DEFERRED_NUMBERS)?;
        self.deferred.push(deferred);
        Some(Value::Deferred(number))
    }

    fn is_relocated(&self, insn: u32) -> bool {
        self.uses.get(index(insn)).is_some_and(|number| *number != NumberUse::NotRelocated)
    }

    fn set_used(&mut self, insn: u32) {
        if let Some(number) = self.uses.get_mut(index(insn))
            && *number == NumberUse::Unused
        {
            *number = NumberUse::Used;
        }
    }
}
