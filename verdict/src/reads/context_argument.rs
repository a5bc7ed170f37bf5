//! The arguments of calls that kernels take for the context.

use super::state::Value;
use crate::kernel::PassedValue;
use core_relo::insn::Helper;
use core_relo_object::ExternIndex;

/// A function whose parameter may be the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContextCallee {
    /// A helper of [`takes_context`].
    Helper(Helper),
    /// A kernel function.
    Kfunc(ExternIndex),
    /// A parameter of a global function of the object, by its first instruction.
    Function { start: u32, parameter: u32 },
}

/// An argument of a call, on every path to the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TracedArgument {
    /// The index of the call in the linked program.
    pub(crate) insn: u32,
    pub(crate) callee: ContextCallee,
    pub(crate) value: PassedValue,
}

/// Returns a value that kernels decide on, if the trace knows it on every path.
pub(super) const fn passed_value(value: Value) -> Option<PassedValue> {
    Some(match value {
        Value::Context(0) => PassedValue::Context,
        Value::Context(_) => PassedValue::MovedContext,
        Value::Stack(_) => PassedValue::Stack,
        Value::Element(_) => PassedValue::MapValue,
        Value::Map(_) => PassedValue::Map,
        Value::Constant(_) => PassedValue::Constant,
        Value::ContextWord(_) => PassedValue::ContextWord,
        _ => return None,
    })
}

/// Returns whether every kernel takes the first argument of a helper for the context, in programs of all
/// types that may call it (kernel: `ARG_PTR_TO_CTX`).
///
/// Observed on 5.10, 6.1, 6.12, 6.18 and 7.2 with an address on the stack, for each helper and program type.
/// Left out are helpers that take another type in some programs, such as `bpf_get_socket_cookie` and
/// `bpf_setsockopt`, and `bpf_get_netns_cookie`, which also takes null.
pub(super) const fn takes_context(helper: Helper) -> bool {
    use Helper as H;
    matches!(
        helper,
        H::SKB_STORE_BYTES
            | H::L3_CSUM_REPLACE
            | H::L4_CSUM_REPLACE
            | H::TAIL_CALL
            | H::CLONE_REDIRECT
            | H::SKB_VLAN_PUSH
            | H::SKB_VLAN_POP
            | H::SKB_GET_TUNNEL_KEY
            | H::SKB_SET_TUNNEL_KEY
            | H::GET_ROUTE_REALM
            | H::PERF_EVENT_OUTPUT
            | H::SKB_LOAD_BYTES
            | H::GET_STACKID
            | H::SKB_GET_TUNNEL_OPT
            | H::SKB_SET_TUNNEL_OPT
            | H::SKB_CHANGE_PROTO
            | H::SKB_CHANGE_TYPE
            | H::SKB_UNDER_CGROUP
            | H::GET_HASH_RECALC
            | H::SKB_CHANGE_TAIL
            | H::SKB_PULL_DATA
            | H::CSUM_UPDATE
            | H::SET_HASH_INVALID
            | H::SKB_CHANGE_HEAD
            | H::XDP_ADJUST_HEAD
            | H::GET_SOCKET_UID
            | H::SET_HASH
            | H::SKB_ADJUST_ROOM
            | H::SK_REDIRECT_MAP
            | H::SOCK_MAP_UPDATE
            | H::XDP_ADJUST_META
            | H::PERF_PROG_READ_VALUE
            | H::SOCK_OPS_CB_FLAGS_SET
            | H::MSG_REDIRECT_MAP
            | H::MSG_APPLY_BYTES
            | H::MSG_CORK_BYTES
            | H::MSG_PULL_DATA
            | H::BIND
            | H::XDP_ADJUST_TAIL
            | H::SKB_GET_XFRM_STATE
            | H::GET_STACK
            | H::SKB_LOAD_BYTES_RELATIVE
            | H::FIB_LOOKUP
            | H::SOCK_HASH_UPDATE
            | H::MSG_REDIRECT_HASH
            | H::SK_REDIRECT_HASH
            | H::LWT_PUSH_ENCAP
            | H::LWT_SEG6_STORE_BYTES
            | H::LWT_SEG6_ADJUST_SRH
            | H::LWT_SEG6_ACTION
            | H::SKB_CGROUP_ID
            | H::SK_SELECT_REUSEPORT
            | H::SKB_ANCESTOR_CGROUP_ID
            | H::SK_LOOKUP_TCP
            | H::SK_LOOKUP_UDP
            | H::MSG_PUSH_DATA
            | H::MSG_POP_DATA
            | H::SKB_ECN_SET_CE
            | H::SKC_LOOKUP_TCP
            | H::SYSCTL_GET_NAME
            | H::SYSCTL_GET_CURRENT_VALUE
            | H::SYSCTL_GET_NEW_VALUE
            | H::SYSCTL_SET_NEW_VALUE
            | H::READ_BRANCH_RECORDS
            | H::SK_ASSIGN
            | H::CSUM_LEVEL
            | H::LOAD_HDR_OPT
            | H::STORE_HDR_OPT
            | H::RESERVE_HDR_OPT
            | H::SKB_CGROUP_CLASSID
            | H::CHECK_MTU
            | H::GET_FUNC_IP
            | H::GET_ATTACH_COOKIE
            | H::XDP_GET_BUFF_LEN
            | H::XDP_LOAD_BYTES
            | H::XDP_STORE_BYTES
            | H::SKB_SET_TSTAMP
    )
}

/// Returns whether the first parameter of a kernel function is the context of the program, in programs at tc
/// and XDP.
pub(crate) fn kfunc_takes_context(name: &[u8]) -> bool {
    matches!(
        name,
        b"bpf_dynptr_from_skb"
            | b"bpf_dynptr_from_xdp"
            | b"bpf_xdp_metadata_rx_timestamp"
            | b"bpf_xdp_metadata_rx_hash"
            | b"bpf_xdp_metadata_rx_vlan_tag"
            | b"bpf_skb_ct_alloc"
            | b"bpf_skb_ct_lookup"
            | b"bpf_xdp_ct_alloc"
            | b"bpf_xdp_ct_lookup"
    )
}
