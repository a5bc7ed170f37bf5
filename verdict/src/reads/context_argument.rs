//! The arguments of calls that kernels take for the context.

use super::state::Value;
use crate::kernel::PassedValue;
use core_relo_object::ExternIndex;

/// A function whose parameter may be the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContextCallee {
    /// A helper of [`takes_context`].
    Helper(u32),
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

/// Returns whether every kernel takes the first argument of a helper for the context, in programs of all types that may call it (kernel:
/// `ARG_PTR_TO_CTX`).
///
/// Observed on 5.10, 6.1, 6.12, 6.18 and 7.2 with an address on the stack, for each helper and program type. Left out are helpers that
/// take another type in some programs, such as `bpf_get_socket_cookie` and `bpf_setsockopt`, and `bpf_get_netns_cookie`, which also takes
/// null.
pub(super) const fn takes_context(helper: u32) -> bool {
    matches!(
        helper,
        9..=13
            | 18..=21
            | 24..=27
            | 29..=34
            | 38..=41
            | 43
            | 44
            | 47
            | 48
            | 50
            | 52..=54
            | 56
            | 59..=76
            | 79
            | 82..=85
            | 90
            | 91
            | 97
            | 99
            | 101..=104
            | 119
            | 124
            | 135
            | 142..=144
            | 151
            | 163
            | 173
            | 174
            | 188..=190
            | 192
    )
}

/// Returns whether the first parameter of a kernel function is the context of the program, in programs at tc and XDP.
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

#[cfg(test)]
mod tests {
    use super::takes_context;
    use core_relo::insn::helper_name;

    /// Protects the numbers of the helpers.
    #[test]
    fn helpers_that_take_the_context_are_those_that_were_observed() {
        let names = (1..=250).filter(|helper| takes_context(*helper));
        let names: Vec<_> = names.map(|helper| helper_name(helper).expect("a helper")).collect();
        let expected = "skb_store_bytes l3_csum_replace l4_csum_replace tail_call clone_redirect skb_vlan_push skb_vlan_pop \
            skb_get_tunnel_key skb_set_tunnel_key get_route_realm perf_event_output skb_load_bytes get_stackid skb_get_tunnel_opt \
            skb_set_tunnel_opt skb_change_proto skb_change_type skb_under_cgroup get_hash_recalc skb_change_tail skb_pull_data \
            csum_update set_hash_invalid skb_change_head xdp_adjust_head get_socket_uid set_hash skb_adjust_room sk_redirect_map \
            sock_map_update xdp_adjust_meta perf_prog_read_value sock_ops_cb_flags_set msg_redirect_map msg_apply_bytes \
            msg_cork_bytes msg_pull_data bind xdp_adjust_tail skb_get_xfrm_state get_stack skb_load_bytes_relative fib_lookup \
            sock_hash_update msg_redirect_hash sk_redirect_hash lwt_push_encap lwt_seg6_store_bytes lwt_seg6_adjust_srh \
            lwt_seg6_action skb_cgroup_id sk_select_reuseport skb_ancestor_cgroup_id sk_lookup_tcp sk_lookup_udp msg_push_data \
            msg_pop_data skb_ecn_set_ce skc_lookup_tcp sysctl_get_name sysctl_get_current_value sysctl_get_new_value \
            sysctl_set_new_value read_branch_records sk_assign csum_level load_hdr_opt store_hdr_opt reserve_hdr_opt \
            skb_cgroup_classid check_mtu get_func_ip get_attach_cookie xdp_get_buff_len xdp_load_bytes xdp_store_bytes skb_set_tstamp";
        assert_eq!(names.join(" "), expected);
    }
}
