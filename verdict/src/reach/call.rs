//! Calls of helpers and kernel functions.

use super::interval::Interval;
use super::memory::{fill_memory, pass_memory, unknown_argument};
use super::possible::Possible;
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

/// Changes a state to that after the call of a helper or of a kernel function.
pub(super) fn call_kernel(state: &mut State, insn: Insn) {
    let is_helper = insn.src == 0;
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
    let result =
        if is_helper { helper_result(insn.imm, state.pc) } else { Value::Scalar(unknown_argument()) };
    let result = match result {
        Value::Scalar(scalar) => Value::Scalar(scalar.made_by(state.pc)),
        pointer => pointer,
    };
    if let Value::OrNull { call, .. } = result {
        // The pointer that the same call returned before may be another one.
        state.for_each_value(|value| {
            if matches!(value, Value::OrNull { call: earlier, .. } if *earlier == call) {
                *value = Value::Scalar(Scalar::FREE);
            }
        });
    }
    finish_call(state, result);
}

/// Sets the result of a call, and clears the arguments.
pub(super) fn finish_call(state: &mut State, result: Value) {
    for register in 1..=5 {
        state.set(register, Value::UNUSED);
    }
    state.set(0, result);
}

/// Returns the result of a helper.
fn helper_result(helper: i32, call: u32) -> Value {
    match helper {
        // Pointers to map values and sockets: sk_lookup_tcp, sk_lookup_udp, sk_fullsock, tcp_sock,
        // get_listener_sock, skc_lookup_tcp, sk_storage_get, inode_storage_get, task_storage_get, map_lookup_percpu_elem,
        // cgrp_storage_get.
        84 | 85 | 95 | 96 | 98 | 99 | 107 | 145 | 156 | 195 | 210 => Value::OrNull { call, is_tracked: true },
        // Other pointers that may be null: map_lookup_elem (of a map of maps, the result is a map), ringbuf_reserve, skc_to_*, per_cpu_ptr, sock_from_file, kptr_xchg, dynptr_data.
        1 | 131 | 136..=140 | 153 | 162 | 194 | 203 => Value::OrNull { call, is_tracked: false },
        // get_local_storage, this_cpu_ptr, get_current_task_btf, task_pt_regs.
        81 | 154 | 158 | 175 => Value::Pointer { is_tracked: false },
        // The verifier knows the range of sizes (`do_refine_retval_range`): zero and errors are among them.
        45 | 67 | 114 | 115 | 141 => {
            let errors = Interval::new(4095_u64.wrapping_neg(), 0);
            Value::Scalar(Scalar::new(Interval::FULL, Possible::Range(errors)))
        }
        // get_smp_processor_id, loop.
        8 | 181 => Value::Scalar(Scalar::new(Interval::FULL, Possible::single(0))),
        _ => Value::Scalar(Scalar::FREE),
    }
}
