//! Calls of helpers, kernel functions and the object's functions.

use super::{
    context_argument::{ContextCallee, TracedArgument, passed_value, takes_context},
    helper_memory::{read_arguments, written_arguments},
    jumps::callee,
    map_use::{MapAccess, TracedMapUse},
    model::ReadKind,
    object::TracedObject,
    state::{State, Value},
    trace::Trace,
};
use crate::kernel::FieldFunction;
use core_relo::insn::{Helper, Insn, opcode};
use core_relo_object::{ExternIndex, helper_maps::map_argument, link::RefTarget};

/// The helpers that read kernel memory: `bpf_probe_read` and `bpf_probe_read_kernel`.
const PROBE_READS: [Helper; 2] = [Helper::PROBE_READ, Helper::PROBE_READ_KERNEL];

/// The helpers that return the address of a map's value.
const VALUE_LOOKUPS: [Helper; 7] = [
    Helper::MAP_LOOKUP_ELEM,
    Helper::GET_LOCAL_STORAGE,
    Helper::SK_STORAGE_GET,
    Helper::INODE_STORAGE_GET,
    Helper::TASK_STORAGE_GET,
    Helper::MAP_LOOKUP_PERCPU_ELEM,
    Helper::CGRP_STORAGE_GET,
];

impl<O: TracedObject> Trace<'_, O> {
    /// Adds the uses of maps by the call of a helper. Returns the value that the call returns.
    fn call_with_map(&mut self, at: u32, helper: Helper, state: &State) -> Value {
        for register in written_arguments(helper) {
            self.use_element(at, state.get(*register), MapAccess::Store);
        }
        if helper == Helper::GET_STACK {
            self.use_element(at, state.get(2), MapAccess::StackBuffer);
        }
        for register in read_arguments(helper) {
            self.use_element(at, state.get(*register), MapAccess::Load);
        }
        if let Some(function) = FieldFunction::of_helper(helper) {
            self.use_element(at, state.get(function.register()), MapAccess::CallWithField(function));
        }
        if takes_context(helper) {
            self.pass_value(at, ContextCallee::Helper(helper), state.get(1));
        }
        let Some(argument) = map_argument(helper) else { return Value::Unknown };
        let Value::Map(map) = state.get(argument.register) else { return Value::Unknown };
        self.traced.map_uses.push(TracedMapUse { insn: at, map, access: MapAccess::Call(helper) });
        if VALUE_LOOKUPS.contains(&helper) { Value::Element(map) } else { Value::Unknown }
    }

    pub(super) fn call(&mut self, at: u32, insn: Insn, state: &mut State) {
        if let Some(start) = callee(at, insn) {
            let arguments = state.arguments();
            self.pass_to_global(at, start, arguments);
            self.pass_arguments(start, arguments);
            if state.passes_context() {
                state.weaken_stack();
            }
        }
        let is_probe_read = insn.src == 0 && PROBE_READS.contains(&Helper::of_call(insn.imm));
        let read = match (state.get(1), state.get(2), state.get(3)) {
            (Value::Stack(offset), Value::Constant(bytes), Value::FieldAddress(record)) if is_probe_read => {
                u32::try_from(bytes).ok().map(|bytes| (offset, bytes, record))
            }
            _ => None,
        };
        let result = if insn.is_helper_call() {
            self.call_with_map(at, Helper::of_call(insn.imm), state)
        } else {
            Value::Unknown
        };
        if let Some(called) = self.called_extern(at, insn) {
            self.call_kfunc(at, called, state);
        }
        state.call();
        state.set(0, result);
        if let Some((offset, bytes, record)) = read {
            self.add(at, ReadKind::ProbeRead { record, bytes });
            state.store(offset, bytes, Value::Field(record));
        }
    }

    /// Adds the uses of maps by the call of a kfunc, and what it gets as its context.
    fn call_kfunc(&mut self, at: u32, called: ExternIndex, state: &State) {
        if let Some(function) = self.object.field_kfunc(called) {
            self.use_element(at, state.get(function.register()), MapAccess::CallWithField(function));
        }
        for register in self.object.kfunc_memory(called) {
            self.use_element(at, state.get(*register), MapAccess::PassToKfunc);
        }
        self.pass_value(at, ContextCallee::Kfunc(called), state.get(1));
    }

    /// Adds an argument that the trace knows on every path.
    fn pass_value(&mut self, insn: u32, callee: ContextCallee, value: Value) {
        let argument = passed_value(value).map(|value| TracedArgument { insn, callee, value });
        self.traced.arguments.extend(argument);
    }

    /// Adds the arguments of a call of a global function, and the uses of maps whose values it gets.
    fn pass_to_global(&mut self, at: u32, function: u32, arguments: [Value; 5]) {
        let is_known =
            |value: &Value| passed_value(*value).is_some() || matches!(value, Value::KconfigAddress(_));
        if !arguments.iter().any(is_known) {
            return;
        }
        let copies = &self.code.functions;
        let found = copies.binary_search_by_key(&function, |copy| copy.start).ok();
        let copy = found.and_then(|position| copies.get(position));
        if copy.is_some_and(|copy| self.object.is_global(self.code, *copy)) {
            for (parameter, argument) in (0..).zip(arguments) {
                self.use_element(at, argument, MapAccess::Pass { function, parameter });
                self.pass_value(at, ContextCallee::Function { start: function, parameter }, argument);
            }
        }
    }

    /// Returns the extern that an instruction calls.
    fn called_extern(&self, at: u32, insn: Insn) -> Option<ExternIndex> {
        let is_call = insn.code == opcode::CALL && insn.src != 0;
        let found = is_call.then(|| self.code.refs.binary_search_by_key(&at, |(call, _)| *call).ok())?;
        match self.code.refs.get(found?) {
            Some((_, RefTarget::Extern(index))) => Some(*index),
            _ => None,
        }
    }

    /// Records what a call passes to a function: maps that all calls pass, and addresses in the context that
    /// one passes.
    fn pass_arguments(&mut self, start: u32, arguments: [Value; 5]) {
        let arguments = arguments.map(Value::as_argument);
        let known = self.arguments.entry(start).or_insert(arguments);
        for (known, argument) in known.iter_mut().zip(arguments) {
            *known = known.join(argument);
        }
    }
}
