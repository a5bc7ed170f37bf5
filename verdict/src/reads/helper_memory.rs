//! The memory that helpers read and write.
//!
//! The tables are the arguments that the kernel declares as memory, as keys or as values of maps (kernel:
//! `struct bpf_func_proto`), and that every kernel since 5.10 with the helper reads, or writes. Left out are
//! arguments that older kernels take for read and newer ones for written, such as the result of `bpf_strtol`,
//! the parameters of `bpf_fib_lookup`, the name of `bpf_sysctl_get_name` (written from 6.16 on) and, in
//! tracing programs, the buffer of `bpf_get_stack`; the bytes of `bpf_xdp_store_bytes`, which older kernels
//! take for written; and those whose use depends on the map, such as the value of `bpf_map_peek_elem`.

use core_relo::insn::Helper as H;

/// Returns the registers with the addresses that a helper reads.
pub(super) const fn read_arguments(helper: H) -> &'static [u8] {
    match helper {
        H::TRACE_PRINTK
        | H::STRTOL
        | H::STRTOUL
        | H::BTF_FIND_BY_NAME_KIND
        | H::KALLSYMS_LOOKUP_NAME
        | H::STRNCMP => &[1],
        H::TCP_RAW_GEN_SYNCOOKIE_IPV4
        | H::TCP_RAW_GEN_SYNCOOKIE_IPV6
        | H::TCP_RAW_CHECK_SYNCOOKIE_IPV4
        | H::TCP_RAW_CHECK_SYNCOOKIE_IPV6 => &[1, 2],
        H::CSUM_DIFF | H::TRACE_VPRINTK => &[1, 3],
        H::MAP_LOOKUP_ELEM
        | H::MAP_DELETE_ELEM
        | H::SKB_SET_TUNNEL_KEY
        | H::SKB_SET_TUNNEL_OPT
        | H::PROBE_WRITE_USER
        | H::BIND
        | H::SK_LOOKUP_TCP
        | H::SK_LOOKUP_UDP
        | H::MAP_PUSH_ELEM
        | H::SKC_LOOKUP_TCP
        | H::SYSCTL_SET_NEW_VALUE
        | H::SEQ_WRITE
        | H::RINGBUF_OUTPUT
        | H::STORE_HDR_OPT
        | H::SEQ_PRINTF_BTF
        | H::REDIRECT_NEIGH
        | H::SYS_BPF
        | H::MAP_LOOKUP_PERCPU_ELEM => &[2],
        H::MAP_UPDATE_ELEM => &[2, 3],
        H::TCP_CHECK_SYNCOOKIE | H::TCP_GEN_SYNCOOKIE | H::SEQ_PRINTF => &[2, 4],
        H::SKB_STORE_BYTES
        | H::SOCK_MAP_UPDATE
        | H::SOCK_HASH_UPDATE
        | H::MSG_REDIRECT_HASH
        | H::SK_REDIRECT_HASH
        | H::LWT_PUSH_ENCAP
        | H::LWT_SEG6_STORE_BYTES
        | H::LWT_SEG6_ACTION
        | H::SK_SELECT_REUSEPORT
        | H::SK_STORAGE_GET
        | H::INODE_STORAGE_GET
        | H::SNPRINTF_BTF
        | H::TASK_STORAGE_GET
        | H::DYNPTR_WRITE
        | H::CGRP_STORAGE_GET => &[3],
        H::PERF_EVENT_OUTPUT | H::SETSOCKOPT | H::SKB_OUTPUT | H::XDP_OUTPUT | H::SNPRINTF => &[4],
        _ => &[],
    }
}

/// Returns the registers with the addresses that a helper writes to.
pub(super) const fn written_arguments(helper: H) -> &'static [u8] {
    match helper {
        H::PROBE_READ
        | H::GET_CURRENT_COMM
        | H::PROBE_READ_STR
        | H::PROBE_READ_USER
        | H::PROBE_READ_KERNEL
        | H::PROBE_READ_USER_STR
        | H::PROBE_READ_KERNEL_STR
        | H::COPY_FROM_USER
        | H::GET_BRANCH_SNAPSHOT
        | H::COPY_FROM_USER_TASK
        | H::DYNPTR_FROM_MEM
        | H::DYNPTR_READ => &[1],
        H::SKB_GET_TUNNEL_KEY
        | H::SKB_GET_TUNNEL_OPT
        | H::PERF_PROG_READ_VALUE
        | H::MAP_POP_ELEM
        | H::SYSCTL_GET_CURRENT_VALUE
        | H::SYSCTL_GET_NEW_VALUE
        | H::GET_TASK_STACK
        | H::IMA_INODE_HASH
        | H::IMA_FILE_HASH => &[2],
        H::SKB_LOAD_BYTES
        | H::PERF_EVENT_READ_VALUE
        | H::SKB_GET_XFRM_STATE
        | H::SKB_LOAD_BYTES_RELATIVE
        | H::GET_NS_CURRENT_PID_TGID
        | H::XDP_LOAD_BYTES => &[3],
        H::GETSOCKOPT => &[4],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An argument that some kernels take for read and others for written tells nothing about the map or the
    /// context behind the address.
    #[test]
    fn arguments_that_kernels_declare_differently_are_left_out() {
        // `bpf_get_stack` in programs of raw tracepoints.
        for helper in [H::GET_STACK, H::SYSCTL_GET_NAME, H::XDP_STORE_BYTES] {
            assert!(read_arguments(helper).is_empty(), "{helper:?}");
            assert!(written_arguments(helper).is_empty(), "{helper:?}");
        }
    }
}
