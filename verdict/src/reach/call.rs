//! Calls of helpers and kernel functions.

use super::interval::Interval;
use super::memory::{fill_memory, pass_memory, unknown_argument};
use super::possible::Possible;
use super::reachability::Undecided;
use super::scalar::Scalar;
use super::state::State;
use super::value::Value;
use core_relo::insn::Insn;

/// The helpers that write to memory whose size is an argument: number, pointer argument, size argument.
///
/// The verifier forgets what such memory contained (`ARG_PTR_TO_UNINIT_MEM`).
const WRITERS: [(i32, u8, u8); 14] = [
    (4, 1, 2),   // probe_read
    (16, 1, 2),  // get_current_comm
    (26, 3, 4),  // skb_load_bytes
    (45, 1, 2),  // probe_read_str
    (67, 2, 3),  // get_stack
    (68, 3, 4),  // skb_load_bytes_relative
    (112, 1, 2), // probe_read_user
    (113, 1, 2), // probe_read_kernel
    (114, 1, 2), // probe_read_user_str
    (115, 1, 2), // probe_read_kernel_str
    (141, 2, 3), // get_task_stack
    (147, 2, 3), // d_path
    (148, 1, 2), // copy_from_user
    (191, 1, 2), // copy_from_user_task
];

/// The helpers that release a reference, which makes all copies of the pointer unknown: sk_release, ringbuf_submit, ringbuf_discard,
/// kptr_xchg, ringbuf_submit_dynptr, ringbuf_discard_dynptr.
const RELEASES: [i32; 6] = [86, 132, 133, 194, 199, 200];

/// `BPF_FUNC_loop`.
const LOOP: i32 = 181;

/// `BPF_FUNC_timer_set_callback`.
const TIMER_SET_CALLBACK: i32 = 170;

/// A helper that calls a function of the program in place, with a pointer that the caller chooses.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallbackHelper {
    helper: i32,
    /// The argument with the function.
    pub(super) function: u8,
    /// The argument with the pointer.
    pub(super) context: u8,
    /// The register in which the function receives the pointer.
    pub(super) receiver: u8,
}

/// The helpers `for_each_map_elem`, `find_vma`, `loop`, `user_ringbuf_drain`.
const CALLBACK_HELPERS: [CallbackHelper; 4] = [
    CallbackHelper { helper: 164, function: 2, context: 3, receiver: 4 },
    CallbackHelper { helper: 180, function: 3, context: 4, receiver: 3 },
    CallbackHelper { helper: LOOP, function: 2, context: 3, receiver: 2 },
    CallbackHelper { helper: 209, function: 2, context: 3, receiver: 2 },
];

impl CallbackHelper {
    /// Returns the helper that an instruction calls.
    pub(super) fn called_by(insn: Insn) -> Option<Self> {
        let is_call = insn.code == 0x85 && insn.src == 0;
        CALLBACK_HELPERS.into_iter().find(|callback| is_call && callback.helper == insn.imm)
    }

    /// Returns the reason why a verifier may not follow the function. `None` if every verifier does.
    ///
    /// Since Linux 6.7 the verifier does not follow the function of a loop without a turn.
    pub(super) fn undecided(self, state: &State) -> Option<Undecided> {
        if self.helper != LOOP {
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

/// Returns the arguments of a function that the kernel calls.
///
/// A function whose caller passes a pointer to the stack may receive the pointer.
pub(super) fn callback_argument(state: &State, insn: Insn) -> Value {
    let is_timer = insn.src == 0 && insn.imm == TIMER_SET_CALLBACK;
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
    let writer = WRITERS.iter().find(|(helper, ..)| is_helper && *helper == insn.imm);
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
    if !is_helper || RELEASES.contains(&insn.imm) {
        forget_references(state);
    }
    let result =
        if is_helper { helper_result(insn.imm, state.pc, map) } else { Value::Scalar(unknown_argument()) };
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

/// Forgets the pointers that a released reference may belong to (kernel: `release_reference`). Linux 5.10 takes released pointers for
/// unknown numbers.
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
fn helper_result(helper: i32, call: u32, map: Value) -> Value {
    let may_be_elided = map != Value::Map { is_array: false };
    match helper {
        // Pointers to map values and sockets: sk_lookup_tcp, sk_lookup_udp, sk_fullsock, tcp_sock,
        // get_listener_sock, skc_lookup_tcp, sk_storage_get, inode_storage_get, task_storage_get, cgrp_storage_get.
        // Then map_lookup_percpu_elem, and map_lookup_elem: of a map of maps, the result is a map.
        84 | 85 | 95 | 96 | 98 | 99 | 107 | 145 | 156 | 210 => {
            Value::OrNull { call, is_tracked: true, may_be_elided: false }
        }
        195 => Value::OrNull { call, is_tracked: true, may_be_elided },
        1 => Value::OrNull { call, is_tracked: false, may_be_elided },
        // Other pointers that may be null: ringbuf_reserve, skc_to_*, per_cpu_ptr, sock_from_file, kptr_xchg, dynptr_data.
        131 | 136..=140 | 153 | 162 | 178 | 194 | 196 | 203 => {
            Value::OrNull { call, is_tracked: false, may_be_elided: false }
        }
        // get_local_storage, this_cpu_ptr, get_current_task_btf, task_pt_regs.
        81 | 154 | 158 | 175 => Value::Pointer { is_tracked: false },
        // The verifier knows the range of sizes (`do_refine_retval_range`): zero and errors are among them.
        45 | 67 | 114 | 115 | 141 => {
            let errors = Interval::new(4095_u64.wrapping_neg(), 0);
            Value::Scalar(Scalar::new(Interval::FULL, Possible::Range(errors)))
        }
        // get_smp_processor_id, loop.
        8 | 181 => Value::Scalar(Scalar::new(Interval::FULL, Possible::single(0))),
        _ => Value::Scalar(Scalar::UNBOUNDED),
    }
}
