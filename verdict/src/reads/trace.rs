//! The trace of a program.

use super::{
    comparison::Comparison,
    context_argument::TracedArgument,
    jumps::{hidden_callees, jump_target, loop_heads},
    map_use::{MapAccess, TracedMapUse},
    model::{ContextAccess, ContextWord, FrameAccess, Read, ReadKind, Returns, VariableAccess},
    object::TracedObject,
    state::{State, Value},
};
use crate::{kernel::AccessKind, limits};
use alloc::collections::BTreeMap;
use core_relo::insn::{Class, Insn, alu, atomic, jump, mode, opcode};
use core_relo_object::link::{LinkedProgram, RefTarget};
use hashbrown::{HashMap, HashSet};

/// What a program reads, where it accesses its context, and how it uses maps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traced {
    pub(crate) reads: Vec<Read>,
    /// The accesses to the context without a CO-RE record, in the order of the instructions.
    pub(crate) context_accesses: Vec<ContextAccess>,
    /// The accesses to the context without a CO-RE record at offsets that the trace does not know.
    pub(crate) variable_accesses: Vec<VariableAccess>,
    /// The accesses to the program's stack with a CO-RE record.
    pub(crate) frame_accesses: Vec<FrameAccess>,
    /// The values that the program may return.
    pub(crate) returns: Returns,
    /// The arguments of calls that are the context, or that kernels take for it.
    pub(crate) arguments: Vec<TracedArgument>,
    /// The uses of maps, in the order of the instructions.
    pub(crate) map_uses: Vec<TracedMapUse>,
}

/// Traces a program. `records` are the instructions of its CO-RE records, sorted.
pub(crate) fn trace(code: &LinkedProgram, records: &[(u32, usize)], object: &impl TracedObject) -> Traced {
    if code.insns.len() > limits::TRACED_INSNS {
        return Traced::default();
    }
    let mut trace = Trace {
        records,
        code,
        object,
        hidden_callees: None,
        pending: BTreeMap::new(),
        arguments: HashMap::new(),
        traced: Traced { returns: Returns::None, ..Traced::default() },
        main_end: code.functions.get(1).map_or(u32::MAX, |copy| copy.start),
        state: None,
        last: None,
    };
    let mut is_second_half = false;
    let loop_heads = loop_heads(&code.insns);
    // The functions are in the order of their first instructions.
    let is_function = |at: u32| code.functions.binary_search_by_key(&at, |copy| copy.start).is_ok();
    for ((at, insn), is_loop_head) in (0u32..).zip(&code.insns).zip(loop_heads) {
        if is_second_half {
            is_second_half = false;
            continue;
        }
        if is_function(at) {
            trace.enter_function(at, is_loop_head);
        } else {
            trace.enter(at, is_loop_head);
        }
        is_second_half = insn.is_ld_imm64();
        trace.step(at, *insn);
    }
    let mut distinct = HashSet::new();
    trace.traced.reads.retain(|read| distinct.insert(read.kind));
    // The targets of indirect jumps are not known, so that a value may come from elsewhere.
    if code.insns.iter().any(|insn| insn.code == opcode::INDIRECT_JUMP) {
        trace.traced.map_uses.clear();
        trace.traced.arguments.clear();
    }
    trace.traced
}

pub(super) struct Trace<'r, O> {
    pub(super) records: &'r [(u32, usize)],
    pub(super) code: &'r LinkedProgram,
    pub(super) object: &'r O,
    /// The first instructions of functions that later code or the kernel calls. When the trace arrives at
    /// such a function, it has not seen all calls. `None` before the first use.
    pub(super) hidden_callees: Option<HashSet<u32>>,
    /// The states at the targets of jumps; `None` if a state is not known. States are boxed, because each
    /// instruction moves them.
    pub(super) pending: BTreeMap<u32, Option<Box<State>>>,
    /// The arguments of functions that are called, as far as they are maps, values of maps or addresses in
    /// the context.
    pub(super) arguments: HashMap<u32, [Value; 5]>,
    pub(super) traced: Traced,
    /// The end of the program's own function.
    pub(super) main_end: u32,
    /// The state at the current instruction; `None` after a jump without condition.
    pub(super) state: Option<Box<State>>,
    /// The state at the last jump without condition or exit.
    pub(super) last: Option<Box<State>>,
}

impl<O: TracedObject> Trace<'_, O> {
    /// Computes the state at the first instruction of a function. The state of the function before ends.
    fn enter_function(&mut self, at: u32, is_loop_head: bool) {
        self.pending.remove(&at);
        let mut state = Box::new(State::unknown());
        if at == 0 {
            state.set(1, if is_loop_head { Value::MaybeContext(0) } else { Value::Context(0) });
        }
        if let Some(arguments) = self.arguments.get(&at).copied() {
            let is_map = |argument: &Value| argument.as_argument() != argument.on_some_path();
            let keeps_maps = !is_loop_head && arguments.iter().any(is_map) && self.has_known_callers(at);
            for (register, argument) in (1..).zip(arguments) {
                state.set(register, if keeps_maps { argument } else { argument.on_some_path() });
            }
        }
        self.state = Some(state);
    }

    /// Returns whether the verifier follows each call of a function with the caller's values, and the trace
    /// has seen all calls.
    fn has_known_callers(&mut self, start: u32) -> bool {
        let code = self.code;
        let copies = &code.functions;
        let position = copies.binary_search_by_key(&start, |copy| copy.start).ok();
        let copy = position.and_then(|position| copies.get(position));
        copy.is_some_and(|copy| !self.object.is_global(code, *copy))
            && !self.hidden_callees.get_or_insert_with(|| hidden_callees(code)).contains(&start)
    }

    /// Computes the state at an instruction. At the head of a loop, only addresses in the context are known,
    /// of some paths.
    fn enter(&mut self, at: u32, is_loop_head: bool) {
        let is_straight = self.state.is_some() && !is_loop_head && !self.pending.contains_key(&at);
        if is_straight {
            return;
        }
        let jumped = self.pending.remove(&at);
        self.state = match (self.state.take(), jumped) {
            (Some(state), None) | (None, Some(Some(state))) => Some(state),
            (Some(mut state), Some(Some(other))) => {
                state.join(&other);
                Some(state)
            }
            (state, _) => {
                // Only jumps backwards lead here, or too many jumps.
                let mut state =
                    state.or_else(|| self.last.take()).unwrap_or_else(|| Box::new(State::unknown()));
                state.join_unknown();
                Some(state)
            }
        };
        if let Some(state) = self.state.as_mut().filter(|_| is_loop_head) {
            state.join_unknown();
        }
    }

    fn step(&mut self, at: u32, insn: Insn) {
        let Some(mut state) = self.state.take() else { return };
        let record = self.record(at);
        match record {
            None => self.access_context(at, insn, &state),
            Some(record) => self.access_frame(at, insn, record, &state),
        }
        match insn.class() {
            Class::Ldx => self.load(at, insn, record, &mut state),
            Class::Ld => {
                let value = match record {
                    Some(record) if insn.is_ld_imm64() => Value::FieldOffset(record),
                    _ => self.address(at, insn),
                };
                // Loads of packets write to r0, and change the registers of arguments.
                if insn.is_ld_imm64() { state.set(insn.dst, value) } else { state.call() }
            }
            Class::Stx => {
                let is_store = insn.mode() == mode::MEM;
                if is_store || insn.imm != atomic::LOAD_ACQUIRE {
                    self.use_element(at, state.get(insn.dst), MapAccess::Store);
                }
                if state.get(insn.dst) == Value::Unknown && state.get(insn.src).is_address() {
                    state.weaken_stack();
                }
                if let Value::Stack(frame) = state.get(insn.dst) {
                    let value = match state.get(insn.src) {
                        // A store to an unknown place of the stack may overwrite it.
                        Value::Map(_) | Value::Element(_) => Value::Unknown,
                        value if is_store => value,
                        _ => Value::Unknown,
                    };
                    state.store(frame.saturating_add(insn.off.into()), insn.access_bytes(), value);
                }
                if !is_store {
                    match insn.imm {
                        atomic::LOAD_ACQUIRE => self.use_element(at, state.get(insn.src), MapAccess::Load),
                        atomic::STORE_RELEASE => {}
                        _ => self.use_element(at, state.get(insn.dst), MapAccess::Load),
                    }
                    state.set(insn.src, Value::Unknown);
                    state.set(0, Value::Unknown);
                }
            }
            Class::St => {
                self.use_element(at, state.get(insn.dst), MapAccess::Store);
                if let Value::Stack(frame) = state.get(insn.dst) {
                    let offset = frame.saturating_add(insn.off.into());
                    state.store(offset, insn.access_bytes(), Value::Constant(insn.imm));
                }
            }
            Class::Alu64 => self.alu(at, insn, record, &mut state),
            Class::Alu => {
                let value = match (insn.operation(), insn.source_is_register()) {
                    (alu::MOV, false) if record.is_none() => Value::Constant(insn.imm),
                    (alu::MOV, true) => match state.get(insn.src) {
                        value @ (Value::Field(_) | Value::Kconfig(_) | Value::Constant(_)) => value,
                        _ => Value::Unknown,
                    },
                    _ => Value::Unknown,
                };
                state.set(insn.dst, value);
            }
            Class::Jmp | Class::Jmp32 => return self.jump(at, insn, state),
        }
        self.state = Some(state);
    }

    fn load(&mut self, at: u32, insn: Insn, record: Option<usize>, state: &mut State) {
        self.use_element(at, state.get(insn.src), MapAccess::Load);
        let bytes = insn.access_bytes();
        let value = match (state.get(insn.src), record) {
            (Value::Context(0), record) => {
                let word = record.map_or(ContextWord::Offset(insn.off), ContextWord::Record);
                self.add(at, ReadKind::Context { word, bytes });
                if let Some(record) = record {
                    self.add(at, ReadKind::Load { record });
                }
                if bytes == 8 { Value::ContextWord(word) } else { Value::Unknown }
            }
            (Value::ContextWord(word), Some(record)) => {
                self.add(at, ReadKind::Pointee { word, record });
                self.add(at, ReadKind::Load { record });
                Value::Field(record)
            }
            (_, Some(record)) => {
                self.add(at, ReadKind::Load { record });
                Value::Field(record)
            }
            (Value::Stack(frame), None) => state.load(frame.saturating_add(insn.off.into()), bytes),
            (Value::FieldAddress(record), None) if insn.off == 0 => Value::Field(record),
            (Value::KconfigAddress(index), None) if insn.off == 0 => {
                // A part of a text is no value.
                let is_whole = self.object.kconfig_bytes(index) == Some(bytes);
                if is_whole { Value::Kconfig(index) } else { Value::Unknown }
            }
            _ => Value::Unknown,
        };
        state.set(insn.dst, value);
    }

    fn alu(&mut self, at: u32, insn: Insn, record: Option<usize>, state: &mut State) {
        let source = match (insn.source_is_register(), record) {
            (true, _) => state.get(insn.src),
            (false, Some(record)) => Value::FieldOffset(record),
            (false, None) => Value::Constant(insn.imm),
        };
        let value = match insn.operation() {
            alu::MOV if insn.off == 0 => source,
            // Compilers extend 32-bit values with a pair of shifts.
            alu::LSH | alu::RSH | alu::ARSH if source == Value::Constant(32) => match state.get(insn.dst) {
                value @ Value::Kconfig(_) => value,
                _ => Value::Unknown,
            },
            alu::ADD => match (state.get(insn.dst), source) {
                (base, Value::FieldOffset(record)) | (Value::FieldOffset(record), base) => {
                    if let Value::ContextWord(word) = base {
                        self.add(at, ReadKind::Pointee { word, record });
                    }
                    Value::FieldAddress(record)
                }
                (Value::Stack(frame), Value::Constant(offset)) => Value::Stack(frame.saturating_add(offset)),
                (Value::Context(start), Value::Constant(offset)) => {
                    start.checked_add(offset).map_or(Value::Unknown, Value::Context)
                }
                // The place on one of the paths. The analysis of the program decides about that path.
                (Value::MaybeContext(start), Value::Constant(offset) | Value::ConstantRange(_, offset))
                | (Value::Context(start), Value::ConstantRange(_, offset)) => {
                    start.checked_add(offset).map_or(Value::Unknown, Value::MaybeContext)
                }
                // The analysis of the program decides whether the number is a constant.
                (base, other) if base.is_context() || other.is_context() => Value::VariableContext,
                // The verifier refuses the sum of two addresses.
                (value @ Value::Element(_), _) | (_, value @ Value::Element(_)) => value,
                _ => Value::Unknown,
            },
            _ => Value::Unknown,
        };
        state.set(insn.dst, value);
    }

    fn jump(&mut self, at: u32, insn: Insn, mut state: Box<State>) {
        match insn.operation() {
            jump::EXIT => {
                if at < self.main_end {
                    self.traced.returns = self.traced.returns.join(state.get(0).constants());
                }
                self.last = Some(state);
                return;
            }
            jump::CALL => {
                self.call(at, insn, &mut state);
                self.state = Some(state);
                return;
            }
            _ => self.compare(at, insn, &state),
        }
        let null_check = state.null_check(insn);
        if let Some(target) = jump_target(at, insn).filter(|target| *target > at) {
            let with_null = null_check.filter(|_| insn.operation() == jump::JEQ).map(|map| {
                let mut jumped = state.clone();
                jumped.forget_elements(map);
                jumped
            });
            let jumped = with_null.as_ref().unwrap_or(&state);
            let is_full = self.pending.len() >= limits::TRACED_STATES;
            match self.pending.get_mut(&target) {
                Some(Some(other)) => other.join(jumped),
                Some(None) => {}
                None => {
                    self.pending.insert(target, Some(jumped.clone()).filter(|_| !is_full));
                }
            }
        }
        if let Some(map) = null_check.filter(|_| insn.operation() == jump::JNE) {
            state.forget_elements(map);
        }
        if insn.operation() == jump::JA {
            self.last = Some(state);
        } else {
            self.state = Some(state);
        }
    }

    fn compare(&mut self, at: u32, insn: Insn, state: &State) {
        let constant =
            if insn.source_is_register() { state.get(insn.src) } else { Value::Constant(insn.imm) };
        let Value::Constant(constant) = constant else { return };
        match (state.get(insn.dst), Comparison::new(insn, constant)) {
            (Value::Field(record), Some(Comparison::Equal(_))) if !insn.source_is_register() => {
                self.add(at, ReadKind::Comparison { record, value: constant });
            }
            (Value::Kconfig(index), Some(comparison)) => {
                self.add(at, ReadKind::KconfigComparison { index, comparison });
            }
            _ => {}
        }
    }

    /// Returns the address that a 64-bit load has: of a configuration value, of a map or of a map's value.
    fn address(&self, at: u32, insn: Insn) -> Value {
        let found = self.code.refs.binary_search_by_key(&at, |(load, _)| *load).ok();
        match found.and_then(|position| self.code.refs.get(position)) {
            Some((_, RefTarget::Extern(index)))
                if insn.imm == 0 && self.object.kconfig_bytes(*index).is_some() =>
            {
                Value::KconfigAddress(*index)
            }
            Some((_, RefTarget::Map(map))) => Value::Map(*map),
            Some((_, RefTarget::Data { map, .. })) => Value::Element(*map),
            _ => Value::Unknown,
        }
    }

    /// Adds an access to the value of a map, if a register has an address there.
    pub(super) fn use_element(&mut self, insn: u32, address: Value, access: MapAccess) {
        let map = match address {
            Value::Element(map) => Some(map),
            Value::KconfigAddress(_) => self.object.kconfig_map(),
            _ => None,
        };
        self.traced.map_uses.extend(map.map(|map| TracedMapUse { insn, map, access }));
    }

    /// Records an access to the context.
    fn access_context(&mut self, at: u32, insn: Insn, state: &State) {
        let Some((kind, base)) = AccessKind::of(insn) else { return };
        if state.get(base) == Value::VariableContext {
            let access = VariableAccess { insn: at, bytes: insn.access_bytes(), kind };
            return self.traced.variable_accesses.push(access);
        }
        let start = state.get(base).context_offset();
        if let Some(offset) = start.and_then(|start| start.checked_add(insn.off.into())) {
            let is_moved = start != Some(0);
            let access = ContextAccess { insn: at, offset, bytes: insn.access_bytes(), kind, is_moved };
            self.traced.context_accesses.push(access);
        }
    }

    /// Records an access to the stack whose offset a CO-RE record sets.
    fn access_frame(&mut self, insn: u32, access: Insn, record: usize, state: &State) {
        let base = AccessKind::of(access).map(|(_, base)| state.get(base));
        if let Some(Value::Stack(base)) = base {
            self.traced.frame_accesses.push(FrameAccess { insn, record, base });
        }
    }

    fn record(&self, at: u32) -> Option<usize> {
        let position = self.records.binary_search_by_key(&at, |(insn, _)| *insn).ok()?;
        self.records.get(position).map(|(_, record)| *record)
    }

    pub(super) fn add(&mut self, insn: u32, kind: ReadKind) {
        self.traced.reads.push(Read { insn, kind });
    }
}
