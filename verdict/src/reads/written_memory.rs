//! The memory that helpers fill.

/// Returns the register with the memory that a helper writes to on every kernel since 5.10 (kernel: `ARG_PTR_TO_UNINIT_MEM`). The verifier
/// of older kernels takes the memory of some other helpers for memory that they read.
pub(super) const fn written_argument(helper: u32) -> Option<u8> {
    Some(match helper {
        // probe_read and its variants, get_current_comm, copy_from_user, get_branch_snapshot, copy_from_user_task, dynptr_read.
        4 | 16 | 45 | 112..=115 | 148 | 176 | 191 | 201 => 1,
        // skb_get_tunnel_key, skb_get_tunnel_opt, perf_prog_read_value, get_stack, map_pop_elem, map_peek_elem, sysctl_get_name,
        // sysctl_get_current_value, sysctl_get_new_value, get_task_stack, ima_inode_hash, ima_file_hash.
        20 | 29 | 56 | 67 | 88 | 89 | 101..=103 | 141 | 161 | 193 => 2,
        // skb_load_bytes, perf_event_read_value, skb_get_xfrm_state, skb_load_bytes_relative, get_ns_current_pid_tgid, xdp_load_bytes.
        26 | 55 | 66 | 68 | 120 | 189 => 3,
        // getsockopt.
        57 => 4,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::written_argument;
    use core_relo::insn::helper_name;

    /// Protects the numbers of the helpers.
    #[test]
    fn helpers_that_fill_memory_are_those_of_the_comments() {
        let names = |register: u8| -> Vec<_> {
            (1..=250)
                .filter(|helper| written_argument(*helper) == Some(register))
                .filter_map(helper_name)
                .collect()
        };
        let first = [
            "probe_read",
            "get_current_comm",
            "probe_read_str",
            "probe_read_user",
            "probe_read_kernel",
            "probe_read_user_str",
            "probe_read_kernel_str",
            "copy_from_user",
            "get_branch_snapshot",
            "copy_from_user_task",
            "dynptr_read",
        ];
        assert_eq!(names(1), first);
        let second = [
            "skb_get_tunnel_key",
            "skb_get_tunnel_opt",
            "perf_prog_read_value",
            "get_stack",
            "map_pop_elem",
            "map_peek_elem",
            "sysctl_get_name",
            "sysctl_get_current_value",
            "sysctl_get_new_value",
            "get_task_stack",
            "ima_inode_hash",
            "ima_file_hash",
        ];
        assert_eq!(names(2), second);
        let third = [
            "skb_load_bytes",
            "perf_event_read_value",
            "skb_get_xfrm_state",
            "skb_load_bytes_relative",
            "get_ns_current_pid_tgid",
            "xdp_load_bytes",
        ];
        assert_eq!(names(3), third);
        assert_eq!(names(4), ["getsockopt"]);
    }
}
