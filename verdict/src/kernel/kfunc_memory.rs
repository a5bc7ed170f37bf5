//! The memory that kfuncs read and write: the arguments whose size another argument tells.
//!
//! The kernel knows them by the name of that argument, such as `buffer__szk` (kernel:
//! `is_kfunc_arg_mem_size`). It checks them for reads and writes, whatever the kfunc does (kernel:
//! `check_kfunc_mem_size_reg`). The table has the kfuncs of 6.12, 6.18 and 7.2.

/// Returns the registers with the addresses of memory that a kfunc may read and write.
pub(crate) fn kfunc_memory(kfunc: &[u8]) -> &'static [u8] {
    match kfunc {
        b"bpf_copy_from_user_str"
        | b"bpf_copy_from_user_task_str"
        | b"bpf_crypto_ctx_create"
        | b"scx_bpf_events" => &[1],
        b"bpf_cpumask_populate"
        | b"bpf_path_d_path"
        | b"bpf_sock_addr_set_sun_path"
        | b"bpf_xdp_get_xfrm_state"
        | b"scx_bpf_dump_bstr"
        | b"scx_bpf_error_bstr" => &[2],
        b"bpf_dynptr_slice"
        | b"bpf_dynptr_slice_rdwr"
        | b"bpf_sk_assign_tcp_reqsk"
        | b"bpf_stream_vprintk"
        | b"bpf_stream_vprintk_impl"
        | b"scx_bpf_exit_bstr" => &[3],
        b"bpf_skb_ct_alloc" | b"bpf_skb_ct_lookup" | b"bpf_xdp_ct_alloc" | b"bpf_xdp_ct_lookup" => &[2, 4],
        _ => &[],
    }
}
