//! The memory that helpers read and write.
//!
//! The tables are the arguments that the kernel declares as memory, as keys or as values of maps (kernel: `struct bpf_func_proto`), and
//! that every kernel since 5.10 with the helper reads, or writes. Left out are arguments that older kernels take for read and newer ones
//! for written, such as the result of `bpf_strtol`, the parameters of `bpf_fib_lookup`, the name of `bpf_sysctl_get_name` (written from
//! 6.16 on) and, in tracing programs, the buffer of `bpf_get_stack`; the bytes of `bpf_xdp_store_bytes`, which older kernels take for
//! written; and those whose use depends on the map, such as the value of `bpf_map_peek_elem`.

/// Returns the registers with the addresses that a helper reads.
pub(super) const fn read_arguments(helper: u32) -> &'static [u8] {
    match helper {
        // bpf_trace_printk, bpf_strtol, bpf_strtoul, bpf_btf_find_by_name_kind, bpf_kallsyms_lookup_name and bpf_strncmp.
        6 | 105 | 106 | 167 | 179 | 182 => &[1],
        // bpf_tcp_raw_gen_syncookie_ipv4, bpf_tcp_raw_gen_syncookie_ipv6, and the same with `check`.
        204..=207 => &[1, 2],
        // bpf_csum_diff and bpf_trace_vprintk.
        28 | 177 => &[1, 3],
        // bpf_map_lookup_elem, bpf_map_delete_elem, bpf_skb_set_tunnel_key, bpf_skb_set_tunnel_opt, bpf_probe_write_user, bpf_bind,
        // bpf_sk_lookup_tcp, bpf_sk_lookup_udp, bpf_map_push_elem, bpf_skc_lookup_tcp, bpf_sysctl_set_new_value, bpf_seq_write,
        // bpf_ringbuf_output, bpf_store_hdr_opt, bpf_seq_printf_btf, bpf_redirect_neigh, bpf_sys_bpf and bpf_map_lookup_percpu_elem.
        1 | 3 | 21 | 30 | 36 | 64 | 84 | 85 | 87 | 99 | 104 | 127 | 130 | 143 | 150 | 152 | 166 | 195 => &[2],
        // bpf_map_update_elem.
        2 => &[2, 3],
        // bpf_tcp_check_syncookie, bpf_tcp_gen_syncookie and bpf_seq_printf.
        100 | 110 | 126 => &[2, 4],
        // bpf_skb_store_bytes, bpf_sock_map_update, bpf_sock_hash_update, bpf_msg_redirect_hash, bpf_sk_redirect_hash,
        // bpf_lwt_push_encap, bpf_lwt_seg6_store_bytes, bpf_lwt_seg6_action, bpf_sk_select_reuseport, bpf_sk_storage_get,
        // bpf_inode_storage_get, bpf_snprintf_btf, bpf_task_storage_get, bpf_dynptr_write and bpf_cgrp_storage_get.
        9 | 53 | 70..=74 | 76 | 82 | 107 | 145 | 149 | 156 | 202 | 210 => &[3],
        // bpf_perf_event_output, bpf_setsockopt, bpf_skb_output, bpf_xdp_output and bpf_snprintf.
        25 | 49 | 111 | 121 | 165 => &[4],
        _ => &[],
    }
}

/// Returns the registers with the addresses that a helper writes to.
pub(super) const fn written_arguments(helper: u32) -> &'static [u8] {
    match helper {
        // bpf_probe_read, bpf_get_current_comm, bpf_probe_read_str, bpf_probe_read_user, bpf_probe_read_kernel, the same with `str`,
        // bpf_copy_from_user, bpf_get_branch_snapshot, bpf_copy_from_user_task, bpf_dynptr_from_mem and bpf_dynptr_read.
        4 | 16 | 45 | 112..=115 | 148 | 176 | 191 | 197 | 201 => &[1],
        // bpf_skb_get_tunnel_key, bpf_skb_get_tunnel_opt, bpf_perf_prog_read_value, bpf_map_pop_elem, bpf_sysctl_get_current_value,
        // bpf_sysctl_get_new_value, bpf_get_task_stack, bpf_ima_inode_hash and bpf_ima_file_hash.
        20 | 29 | 56 | 88 | 102 | 103 | 141 | 161 | 193 => &[2],
        // bpf_skb_load_bytes, bpf_perf_event_read_value, bpf_skb_get_xfrm_state, bpf_skb_load_bytes_relative,
        // bpf_get_ns_current_pid_tgid and bpf_xdp_load_bytes.
        26 | 55 | 66 | 68 | 120 | 189 => &[3],
        // bpf_getsockopt.
        57 => &[4],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::{read_arguments, written_arguments};
    use core_relo::insn::helper_name;

    /// Returns the names of the helpers that a table has with these registers, separated by spaces.
    fn names(table: fn(u32) -> &'static [u8], registers: &[u8]) -> String {
        let helpers = (1..=250).filter(|helper| table(*helper) == registers);
        helpers.map(|helper| helper_name(helper).expect("a helper")).collect::<Vec<_>>().join(" ")
    }

    /// Protects the numbers of the helpers.
    #[test]
    fn helpers_that_read_memory_are_those_of_the_comments() {
        let names = |registers: &[u8]| names(read_arguments, registers);
        assert_eq!(
            names(&[1]),
            "trace_printk strtol strtoul btf_find_by_name_kind kallsyms_lookup_name strncmp"
        );
        let expected = "tcp_raw_gen_syncookie_ipv4 tcp_raw_gen_syncookie_ipv6 tcp_raw_check_syncookie_ipv4 \
            tcp_raw_check_syncookie_ipv6";
        assert_eq!(names(&[1, 2]), expected);
        assert_eq!(names(&[1, 3]), "csum_diff trace_vprintk");
        let expected = "map_lookup_elem map_delete_elem skb_set_tunnel_key skb_set_tunnel_opt probe_write_user bind sk_lookup_tcp \
            sk_lookup_udp map_push_elem skc_lookup_tcp sysctl_set_new_value seq_write ringbuf_output store_hdr_opt \
            seq_printf_btf redirect_neigh sys_bpf map_lookup_percpu_elem";
        assert_eq!(names(&[2]), expected);
        assert_eq!(names(&[2, 3]), "map_update_elem");
        assert_eq!(names(&[2, 4]), "tcp_check_syncookie tcp_gen_syncookie seq_printf");
        let expected = "skb_store_bytes sock_map_update sock_hash_update msg_redirect_hash sk_redirect_hash lwt_push_encap \
            lwt_seg6_store_bytes lwt_seg6_action sk_select_reuseport sk_storage_get inode_storage_get snprintf_btf \
            task_storage_get dynptr_write cgrp_storage_get";
        assert_eq!(names(&[3]), expected);
        assert_eq!(names(&[4]), "perf_event_output setsockopt skb_output xdp_output snprintf");
    }

    /// Protects the numbers of the helpers.
    #[test]
    fn helpers_that_fill_memory_are_those_of_the_comments() {
        let names = |registers: &[u8]| names(written_arguments, registers);
        let expected = "probe_read get_current_comm probe_read_str probe_read_user probe_read_kernel probe_read_user_str \
            probe_read_kernel_str copy_from_user get_branch_snapshot copy_from_user_task dynptr_from_mem dynptr_read";
        assert_eq!(names(&[1]), expected);
        let expected = "skb_get_tunnel_key skb_get_tunnel_opt perf_prog_read_value map_pop_elem sysctl_get_current_value \
            sysctl_get_new_value get_task_stack ima_inode_hash ima_file_hash";
        assert_eq!(names(&[2]), expected);
        let expected = "skb_load_bytes perf_event_read_value skb_get_xfrm_state skb_load_bytes_relative get_ns_current_pid_tgid \
            xdp_load_bytes";
        assert_eq!(names(&[3]), expected);
        assert_eq!(names(&[4]), "getsockopt");
    }

    /// An argument that some kernels take for read and others for written tells nothing about the map or the context behind the address.
    #[test]
    fn arguments_that_kernels_declare_differently_are_left_out() {
        // bpf_get_stack in programs of raw tracepoints, bpf_sysctl_get_name and bpf_xdp_store_bytes.
        for helper in [67, 101, 190] {
            assert!(read_arguments(helper).is_empty(), "{helper}");
            assert!(written_arguments(helper).is_empty(), "{helper}");
        }
    }
}
