//! The numbers that differ from kernel to kernel, and those of them that an analysis depends on.
//!
//! Relocations write offsets of fields into a program. Most programs add them to addresses of kernel memory,
//! and pass the sums to helpers. An analysis that does not look at a number has the same result for all
//! numbers. So the value of a register that depends on a relocated number or on a [configuration
//! value](super::config) is computed when the analysis looks at the value: where the value decides about a
//! branch, a pointer to the stack or the result of the program, and where paths meet.

use super::alu::Operation;
use super::call::{CallbackHelper, size_argument};
use super::config::{ConfigBranch, ConfigLoad, ConfigNumber, ConfigUse};
use super::data::Data;
use super::flow::{bit, index, registers};
use super::program::{LoadedValue, Program};
use super::scalar::Scalar;
use super::state::State;
use super::step::{Operands, binary};
use super::value::Value;
use crate::limits::{CONFIG_USES, DEFERRED_NUMBERS};
use core_relo::insn::{Class, Insn, alu, atomic, mode, opcode, pseudo};

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

/// A number that depends on the kernel, before it is computed.
#[derive(Clone, Copy, Debug)]
enum Deferred {
    /// The immediate of an instruction.
    Immediate { insn: u32 },
    /// The sum that an instruction computes.
    Sum { left: Value, right: Value, insn: u32 },
    /// A number from the configuration.
    Config(ConfigNumber),
}

/// The numbers on which a result depends.
#[derive(Debug)]
pub(crate) struct UsedNumbers {
    /// The instructions on whose relocated numbers the result depends, in order.
    pub(crate) relocated: Vec<u32>,
    /// The dependences on configuration values. `None` if there are too many.
    pub(crate) config: Option<Vec<ConfigUse>>,
}

/// The numbers in a program that differ from kernel to kernel.
#[derive(Debug)]
pub(super) struct KernelNumbers<'p> {
    insns: &'p [Insn],
    loads: &'p [(u32, LoadedValue<'p>)],
    /// The use of the number of each instruction. Empty if no number is relocated.
    uses: Vec<NumberUse>,
    /// The configuration values. `None` if the program does not read them.
    config: Option<Data<'p>>,
    /// The dependences on configuration values. `None` if there are too many.
    config_uses: Option<Vec<ConfigUse>>,
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

impl<'p> KernelNumbers<'p> {
    /// Collects the instructions whose numbers are relocated, and the configuration values.
    pub(super) fn new(program: &Program<'p>, relocated: &[u32]) -> Self {
        let &Program { insns, loads, endian, .. } = program;
        let mut uses = Vec::new();
        if !relocated.is_empty() {
            uses.resize(insns.len(), NumberUse::NotRelocated);
        }
        let config = loads.iter().find_map(|(_, value)| match *value {
            LoadedValue::Frozen { data: bytes, unknown, is_config: true, .. } => {
                Some(Data { bytes, unknown, endian })
            }
            _ => None,
        });
        for insn in relocated {
            if let Some(number) = uses.get_mut(index(*insn)) {
                *number = NumberUse::Unused;
            }
        }
        Self { insns, loads, uses, config, config_uses: Some(Vec::new()), deferred: Vec::new() }
    }

    /// Returns the numbers on which the analysis depends.
    pub(super) fn into_used(self) -> UsedNumbers {
        let used = (0..).zip(self.uses).filter(|(_, number)| *number == NumberUse::Used);
        UsedNumbers { relocated: used.map(|(insn, _)| insn).collect(), config: self.config_uses }
    }

    /// Forgets the deferred numbers of the last path.
    pub(super) fn start_path(&mut self) {
        self.deferred.clear();
    }

    /// Returns the result of the next instruction of a state, if the result is deferred. Otherwise, computes
    /// the deferred numbers that the instruction looks at. `live` are the registers that are read later.
    pub(super) fn defer(&mut self, state: &mut State, insn: Insn, live: u16) -> Option<Value> {
        if self.uses.is_empty() && self.config.is_none() {
            return None;
        }
        if let Some(number) = self.defer_operation(state, insn) {
            return Some(number);
        }
        match (insn.class(), insn.operation()) {
            (Class::Alu64, alu::MOV) if insn.off == 0 => {
                return if insn.source_is_register() { None } else { self.defer_immediate(state.pc) };
            }
            (Class::Alu64, alu::ADD) if insn.off == 0 => return self.defer_sum(state, insn),
            (Class::Ldx, _) => {
                self.use_offset(state, insn.src);
                return self.defer_config(state, insn);
            }
            (Class::St, _) => self.use_offset(state, insn.dst),
            (Class::Stx, _) if insn.mode() == mode::MEM => {
                self.use_offset(state, insn.dst);
                self.compute(state, bit(insn.src));
            }
            (Class::Jmp, _) if insn.code == opcode::CALL => self.compute_arguments(state, insn),
            (Class::Stx, _) if insn.imm == atomic::LOAD_ACQUIRE => self.use_config(state, insn),
            // A branch also narrows the copies of the compared numbers. A number from the configuration is a
            // constant.
            _ if insn.is_comparison() => {
                self.compute_if(state, live, |deferred| !matches!(deferred, Deferred::Config(_)));
            }
            _ => self.compute(state, registers(insn).0),
        }
        None
    }

    /// Returns whether a branch, the next instruction of a state, is taken, if a number from the
    /// configuration decides that. Otherwise, computes the compared numbers.
    pub(super) fn decide_branch(&mut self, state: &mut State, insn: Insn) -> Option<bool> {
        if self.deferred.is_empty() || !insn.is_comparison() {
            return None;
        }
        let branch = self.config.zip(self.config_branch(state, insn));
        let decided = branch.and_then(|(config, branch)| Some((branch, branch.is_taken(config)?)));
        let Some((branch, is_taken)) = decided else {
            self.compute(state, registers(insn).0);
            return None;
        };
        self.add_config_use(ConfigUse::branch(branch, is_taken));
        Some(is_taken)
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

    /// Returns the deferred number that a load from the configuration gives.
    fn defer_config(&mut self, state: &State, insn: Insn) -> Option<Value> {
        let (config, load) = self.config.zip(self.config_load(state, insn))?;
        let deferred = ConfigNumber::load(load, config).and_then(|number| self.add(Deferred::Config(number)));
        if deferred.is_none() {
            self.add_config_use(ConfigUse::value(load, config));
        }
        deferred
    }

    /// Records that an instruction looks at a value of the configuration, if the instruction loads one.
    fn use_config(&mut self, state: &mut State, insn: Insn) {
        if let Some((config, load)) = self.config.zip(self.config_load(state, insn)) {
            self.add_config_use(ConfigUse::value(load, config));
        }
        self.compute(state, registers(insn).0);
    }

    /// Returns the part of the configuration that an instruction loads.
    fn config_load(&self, state: &State, insn: Insn) -> Option<ConfigLoad> {
        let Value::Frozen { load, offset } = state.register(insn.src) else { return None };
        let is_config =
            matches!(self.loads.get(index(load)), Some((_, LoadedValue::Frozen { is_config: true, .. })));
        is_config.then(|| ConfigLoad {
            offset: offset.wrapping_add_signed(i64::from(insn.off)),
            bytes: u8::try_from(insn.access_bytes()).unwrap_or(8),
            is_signed: insn.class() == Class::Ldx && insn.mode() == mode::MEMSX,
        })
    }

    /// Returns the deferred result of an operation on a number from the configuration and a constant.
    fn defer_operation(&mut self, state: &State, insn: Insn) -> Option<Value> {
        if self.deferred.is_empty() || !matches!(insn.class(), Class::Alu | Class::Alu64) {
            return None;
        }
        let is_copy = insn.operation() == alu::MOV;
        if is_copy && insn.class() == Class::Alu64 && insn.off == 0 {
            return None;
        }
        let operand = if is_copy { insn.src } else { insn.dst };
        let (config, number) = self.config.zip(self.find_config(state.register(operand)))?;
        let number = number.after(insn, config).filter(|_| !self.is_relocated(state.pc))?;
        self.add(Deferred::Config(number))
    }

    /// Returns the comparison of a number from the configuration with a constant.
    fn config_branch(&self, state: &State, insn: Insn) -> Option<ConfigBranch> {
        let (left, right) = (state.register(insn.dst), state.register(insn.src));
        match self.find_config(left) {
            Some(number) if !insn.source_is_register() => Some(ConfigBranch::with_immediate(number, insn)),
            Some(number) => ConfigBranch::with_register(number, right, insn, true),
            None if insn.source_is_register() => {
                ConfigBranch::with_register(self.find_config(right)?, left, insn, false)
            }
            None => None,
        }
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
            Some(Deferred::Config(number)) => {
                let Some(config) = self.config else { return Value::Any };
                self.add_config_use(ConfigUse::value(number.loaded(), config));
                number.value(config).map_or(Value::Any, |number| Value::Scalar(Scalar::constant(number)))
            }
        }
    }

    fn find_config(&self, value: Value) -> Option<ConfigNumber> {
        match self.find(value) {
            Some(Deferred::Config(number)) => Some(number),
            _ => None,
        }
    }

    /// Records a dependence on a configuration value.
    fn add_config_use(&mut self, config_use: ConfigUse) {
        let Some(uses) = &mut self.config_uses else { return };
        if uses.contains(&config_use) {
            return;
        }
        if uses.len() < CONFIG_USES {
            uses.push(config_use);
        } else {
            self.config_uses = None;
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
