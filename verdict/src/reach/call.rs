//! Calls of helpers and kernel functions.

use super::interval::Interval;
use super::memory::{fill_memory, pass_memory, unknown_argument};
use super::possible::Possible;
use super::reachability::Undecided;
use super::scalar::Scalar;
use super::state::State;
use super::value::Value;
use core_relo::insn::{Helper, Insn};

/// The helpers that write to memory whose size is an argument: number, pointer argument, size argument.
///
/// The verifier forgets what such memory contained (`ARG_PTR_TO_UNINIT_MEM`).
const WRITERS: [(Helper, u8, u8); 14] = [
    (Helper::PROBE_READ, 1, 2),
    (Helper::GET_CURRENT_COMM, 1, 2),
    (Helper::SKB_LOAD_BYTES, 3, 4),
    (Helper::PROBE_READ_STR, 1, 2),
    (Helper::GET_STACK, 2, 3),
    (Helper::SKB_LOAD_BYTES_RELATIVE, 3, 4),
    (Helper::PROBE_READ_USER, 1, 2),
    (Helper::PROBE_READ_KERNEL, 1, 2),
    (Helper::PROBE_READ_USER_STR, 1, 2),
    (Helper::PROBE_READ_KERNEL_STR, 1, 2),
    (Helper::GET_TASK_STACK, 2, 3),
    (Helper::D_PATH, 2, 3),
    (Helper::COPY_FROM_USER, 1, 2),
    (Helper::COPY_FROM_USER_TASK, 1, 2),
];

/// The helpers that release a reference, which makes all copies of the pointer unknown.
const RELEASES: [Helper; 6] = [
    Helper::SK_RELEASE,
    Helper::RINGBUF_SUBMIT,
    Helper::RINGBUF_DISCARD,
    Helper::KPTR_XCHG,
    Helper::RINGBUF_SUBMIT_DYNPTR,
    Helper::RINGBUF_DISCARD_DYNPTR,
];

/// A helper that calls a function of the program in place, with a pointer that the caller chooses.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallbackHelper {
    helper: Helper,
    /// The argument with the function.
    pub(super) function: u8,
    /// The argument with the pointer.
    pub(super) context: u8,
    /// The register in which the function receives the pointer.
    pub(super) receiver: u8,
}

/// The helpers that call a function in place.
const CALLBACK_HELPERS: [CallbackHelper; 4] = [
    CallbackHelper { helper: Helper::FOR_EACH_MAP_ELEM, function: 2, context: 3, receiver: 4 },
    CallbackHelper { helper: Helper::FIND_VMA, function: 3, context: 4, receiver: 3 },
    CallbackHelper { helper: Helper::LOOP, function: 2, context: 3, receiver: 2 },
    CallbackHelper { helper: Helper::USER_RINGBUF_DRAIN, function: 2, context: 3, receiver: 2 },
];

impl CallbackHelper {
    /// Returns the helper that an instruction calls.
    pub(super) fn called_by(insn: Insn) -> Option<Self> {
        CALLBACK_HELPERS
            .into_iter()
            .find(|callback| insn.is_helper_call() && callback.helper == Helper::of_call(insn.imm))
    }

    /// Returns the reason why a verifier may not follow the function. `None` if every verifier does.
    ///
    /// Since Linux 6.7 the verifier does not follow the function of a loop without a turn.
    pub(super) fn undecided(self, state: &State) -> Option<Undecided> {
        if self.helper != Helper::LOOP {
            return None;
        }
        let Some(turns) = state.register(1).as_scalar() else { return Some(Undecided::Imprecision) };
        match turns.possible.unsigned() {
            Some((_, 1..)) => None,
            _ => Some(turns.possible.cause().unwrap_or(Undecided::Imprecision)),
        }
    }

    /// Returns the result of the helper, called by an instruction.
    pub(super) fn result(self, call: u32) -> Value {
        helper_result(self.helper, call, Value::Any)
    }
}

/// Returns the argument with the size of the memory that a helper writes.
pub(super) fn size_argument(insn: Insn) -> Option<u8> {
    find_writer(insn).map(|(_, _, size)| *size)
}

fn find_writer(insn: Insn) -> Option<&'static (Helper, u8, u8)> {
    WRITERS.iter().find(|(helper, ..)| insn.src == 0 && *helper == Helper::of_call(insn.imm))
}

/// Returns the arguments of a function that the kernel calls.
///
/// A function whose caller passes a pointer to the stack may receive the pointer.
pub(super) fn callback_argument(state: &State, insn: Insn) -> Value {
    let is_timer = insn.src == 0 && Helper::of_call(insn.imm) == Helper::TIMER_SET_CALLBACK;
    let is_known = |value: Value| value.is_opaque() || matches!(value, Value::Function(_));
    if is_timer || (1..=5).all(|register| is_known(state.register(register))) {
        Value::Scalar(unknown_argument())
    } else {
        Value::Any
    }
}

/// Changes a state to that after the call of a helper or of a kernel function.
pub(super) fn call_kernel(state: &mut State, insn: Insn) {
    let is_helper = insn.src == 0;
    let map = state.register(1);
    let writer = find_writer(insn);
    for register in 1..=5 {
        let value = state.register(register);
        match writer {
            Some((_, pointer, size)) if *pointer == register => {
                let size = state.register(*size).as_scalar().and_then(Scalar::as_constant);
                fill_memory(state, value, size);
            }
            _ => pass_memory(state, value),
        }
    }
    // Any kernel function may release a reference.
    if !is_helper || RELEASES.contains(&Helper::of_call(insn.imm)) {
        forget_references(state);
    }
    let result = if is_helper {
        helper_result(Helper::of_call(insn.imm), state.pc, map)
    } else {
        Value::Scalar(unknown_argument())
    };
    let result = match result {
        Value::Scalar(scalar) => Value::Scalar(scalar.with_id(state.pc)),
        pointer => pointer,
    };
    if let Value::OrNull { call, .. } = result {
        // The pointer that the same call returned before may be another one.
        state.for_each_value(|value| {
            if matches!(value, Value::OrNull { call: earlier, .. } if *earlier == call) {
                *value = Value::Scalar(Scalar::UNBOUNDED);
            }
        });
    }
    finish_call(state, result);
}

/// Forgets the pointers that a released reference may belong to (kernel: `release_reference`). Linux 5.10
/// takes released pointers for unknown numbers.
fn forget_references(state: &mut State) {
    state.for_each_value(|value| {
        // Nothing releases the values of arrays. Nothing is known of a pointer without a tracked null.
        if matches!(value, Value::Pointer { is_tracked: true } | Value::OrNull { may_be_elided: false, .. }) {
            *value = Value::UNKNOWN;
        }
    });
}

/// Sets the result of a call, and clears the arguments.
pub(super) fn finish_call(state: &mut State, result: Value) {
    for register in 1..=5 {
        state.set(register, Value::UNKNOWN);
    }
    state.set(0, result);
}

/// Returns the result of a helper whose first argument is a map.
fn helper_result(helper: Helper, call: u32, map: Value) -> Value {
    use Helper as H;
    let may_be_elided = map != Value::Map { is_array: false };
    match helper {
        // Pointers to values of maps and to sockets.
        H::SK_LOOKUP_TCP
        | H::SK_LOOKUP_UDP
        | H::SK_FULLSOCK
        | H::TCP_SOCK
        | H::GET_LISTENER_SOCK
        | H::SKC_LOOKUP_TCP
        | H::SK_STORAGE_GET
        | H::INODE_STORAGE_GET
        | H::TASK_STORAGE_GET
        | H::CGRP_STORAGE_GET => Value::OrNull { call, is_tracked: true, may_be_elided: false },
        H::MAP_LOOKUP_PERCPU_ELEM => Value::OrNull { call, is_tracked: true, may_be_elided },
        // Of a map of maps, the result is a map.
        H::MAP_LOOKUP_ELEM => Value::OrNull { call, is_tracked: false, may_be_elided },
        // Other pointers that may be null.
        H::RINGBUF_RESERVE
        | H::SKC_TO_TCP6_SOCK
        | H::SKC_TO_TCP_SOCK
        | H::SKC_TO_TCP_TIMEWAIT_SOCK
        | H::SKC_TO_TCP_REQUEST_SOCK
        | H::SKC_TO_UDP6_SOCK
        | H::PER_CPU_PTR
        | H::SOCK_FROM_FILE
        | H::SKC_TO_UNIX_SOCK
        | H::KPTR_XCHG
        | H::SKC_TO_MPTCP_SOCK
        | H::DYNPTR_DATA => Value::OrNull { call, is_tracked: false, may_be_elided: false },
        H::GET_LOCAL_STORAGE | H::THIS_CPU_PTR | H::GET_CURRENT_TASK_BTF | H::TASK_PT_REGS => {
            Value::Pointer { is_tracked: false }
        }
        // The verifier knows the range of sizes (`do_refine_retval_range`): zero and errors are among them.
        H::PROBE_READ_STR
        | H::GET_STACK
        | H::PROBE_READ_USER_STR
        | H::PROBE_READ_KERNEL_STR
        | H::GET_TASK_STACK => {
            let errors = Interval::new(4095_u64.wrapping_neg(), 0);
            Value::Scalar(Scalar::new(Interval::FULL, Possible::Range(errors)))
        }
        H::GET_SMP_PROCESSOR_ID | H::LOOP => Value::Scalar(Scalar::new(Interval::FULL, Possible::single(0))),
        _ => Value::Scalar(Scalar::UNBOUNDED),
    }
}
