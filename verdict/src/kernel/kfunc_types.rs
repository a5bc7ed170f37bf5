//! The kfuncs that programs of each type may call, observed on real kernels.
//!
//! The kernel registers sets of kfuncs for program types (`register_btf_kfunc_id_set`), and BTF has no trace
//! of the sets. The table records what the kernels of [`OBSERVED_KERNELS`] did with a program of a single
//! call. It has the kfuncs of vmlinux only. EXT, STRUCT_OPS and LIRC_MODE2 were not observed. Programs of
//! each attach type were observed, too: it matters for three kfuncs only.

use super::{observed::Observations, observed_kernels::OBSERVED_KERNELS};
use core_relo_object::object::{AttachType, ProgramType};

/// Kfuncs that the same program types may call.
struct KfuncClass {
    /// The program types, a bit for each number. `None` for a kernel without the kfuncs.
    callable: [Option<u64>; OBSERVED_KERNELS.len()],
    names: &'static [&'static str],
}

/// The programs of a type and attach type that may call some kfuncs, which other attach types of the program
/// type may not.
struct AttachRow {
    program_type: ProgramType,
    attach_type: AttachType,
    callable: [Option<bool>; OBSERVED_KERNELS.len()],
}

/// The kfuncs that the kernel opens to some attach types (kernel: filters of `struct btf_kfunc_id_set`).
struct AttachKfuncs {
    names: &'static [&'static str],
    rows: &'static [AttachRow],
    /// The observation for the other attach types of the program types.
    others: [Option<bool>; OBSERVED_KERNELS.len()],
}

const NONE: Option<bool> = None;
const NO: Option<bool> = Some(false);
const YES: Option<bool> = Some(true);

const BY_ATTACH_TYPE: [AttachKfuncs; 2] = [
    AttachKfuncs {
        names: &["bpf_session_cookie", "bpf_session_is_return"],
        rows: &[
            AttachRow {
                program_type: ProgramType::Kprobe,
                attach_type: AttachType::TraceKprobeSession,
                callable: [NONE, NONE, YES, YES],
            },
            AttachRow {
                program_type: ProgramType::Kprobe,
                attach_type: AttachType::TraceUprobeSession,
                callable: [NONE, NONE, NONE, YES],
            },
            AttachRow {
                program_type: ProgramType::Tracing,
                attach_type: AttachType::TraceFsession,
                callable: [NONE, NONE, NONE, YES],
            },
        ],
        others: [NONE, NONE, NO, NO],
    },
    AttachKfuncs {
        names: &["bpf_sock_destroy"],
        rows: &[AttachRow {
            program_type: ProgramType::Tracing,
            attach_type: AttachType::TraceIter,
            callable: [NONE, NONE, YES, YES],
        }],
        others: [NONE, NONE, NO, NO],
    },
];

/// Returns the kfuncs that the kernel opens to some attach types of a program type, if a kfunc is one of
/// them.
fn by_attach_type(program_type: ProgramType, kfunc: &[u8]) -> Option<&'static AttachKfuncs> {
    let is_one = |kfuncs: &&AttachKfuncs| kfuncs.names.iter().any(|name| name.as_bytes() == kfunc);
    let kfuncs = BY_ATTACH_TYPE.iter().find(is_one)?;
    kfuncs.rows.iter().any(|row| row.program_type == program_type).then_some(kfuncs)
}

/// Returns whether the attach type decides if programs of a type may call a kfunc.
pub fn depends_on_attach_type(program_type: ProgramType, kfunc: &[u8]) -> bool {
    by_attach_type(program_type, kfunc).is_some()
}

/// Returns whether the observed kernels let programs of a type and attach type call a kfunc. `None` stands
/// for programs without an expected attach type, such as those of kprobes. Returns [`Observations::NONE`] for
/// a kfunc or a type without observations.
pub(super) fn observed_support(
    program_type: ProgramType,
    attach_type: Option<AttachType>,
    kfunc: &[u8],
) -> Observations {
    if matches!(program_type, ProgramType::Ext | ProgramType::StructOps | ProgramType::LircMode2) {
        return Observations::NONE;
    }
    if let Some(kfuncs) = by_attach_type(program_type, kfunc) {
        let own = kfuncs
            .rows
            .iter()
            .find(|row| row.program_type == program_type && Some(row.attach_type) == attach_type);
        let callable = own.map_or(kfuncs.others, |row| row.callable);
        return Observations::new(|kernel| callable.get(kernel).copied().flatten());
    }
    let has_kfunc = |class: &&KfuncClass| class.names.iter().any(|name| name.as_bytes() == kfunc);
    let Some(class) = TABLE.iter().find(has_kfunc) else { return Observations::NONE };
    Observations::new(|kernel| {
        let types = class.callable.get(kernel).copied().flatten()?;
        types.checked_shr(program_type.number()).map(|types| types & 1 != 0)
    })
}

/// Returns the program types that some observed kernel lets call a kfunc, at some attach type.
pub fn kfunc_program_types(kfunc: &[u8]) -> Vec<ProgramType> {
    let permits = |program_type: &ProgramType| match by_attach_type(*program_type, kfunc) {
        Some(kfuncs) => kfuncs.rows.iter().any(|row| {
            row.program_type == *program_type
                && Observations::new(|kernel| row.callable.get(kernel).copied().flatten()).permits_anywhere()
        }),
        None => observed_support(*program_type, None, kfunc).permits_anywhere(),
    };
    ProgramType::ALL.iter().copied().filter(permits).collect()
}

/// Returns the names of all kfuncs that some observed kernel or its modules have.
pub fn known_kfuncs() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|class| class.names).chain(OTHERS).copied()
}

/// Returns whether a function of this name is a kfunc in some kernel.
pub(super) fn is_known_kfunc(name: &[u8]) -> bool {
    let is_name = |known: &&str| known.as_bytes() == name;
    let prefixes: [&[u8]; 2] = [b"bpf_kfunc_call_", b"bpf_testmod_"];
    TABLE.iter().any(|class| class.names.iter().any(is_name))
        || OTHERS.iter().any(is_name)
        || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// The kfuncs of modules, and those of kernels between the observed ones.
const OTHERS: &[&str] = &[
    "bbr_cwnd_event",
    "bbr_init",
    "bbr_main",
    "bbr_min_tso_segs",
    "bbr_set_state",
    "bbr_sndbuf_expand",
    "bbr_ssthresh",
    "bbr_undo_cwnd",
    "bictcp_acked",
    "bictcp_cong_avoid",
    "bictcp_cwnd_event",
    "bictcp_init",
    "bictcp_recalc_ssthresh",
    "bictcp_state",
    "bpf_cgroup_kptr_get",
    "bpf_cpumask_any",
    "bpf_cpumask_any_and",
    "bpf_cpumask_kptr_get",
    "bpf_ct_change_status",
    "bpf_ct_change_timeout",
    "bpf_ct_insert_entry",
    "bpf_ct_release",
    "bpf_ct_set_nat_info",
    "bpf_ct_set_status",
    "bpf_ct_set_timeout",
    "bpf_rbtree_add",
    "bpf_skb_ct_alloc",
    "bpf_skb_ct_lookup",
    "bpf_skb_get_fou_encap",
    "bpf_skb_get_xfrm_info",
    "bpf_skb_set_fou_encap",
    "bpf_skb_set_xfrm_info",
    "bpf_task_acquire_not_zero",
    "bpf_task_kptr_get",
    "bpf_xdp_ct_alloc",
    "bpf_xdp_ct_lookup",
    "bpf_xdp_flow_lookup",
    "dctcp_cwnd_event",
    "dctcp_cwnd_undo",
    "dctcp_init",
    "dctcp_ssthresh",
    "dctcp_state",
    "dctcp_update_alpha",
    "hid_bpf_allocate_context",
    "hid_bpf_attach_prog",
    "hid_bpf_get_data",
    "hid_bpf_hw_output_report",
    "hid_bpf_hw_request",
    "hid_bpf_input_report",
    "hid_bpf_release_context",
    "hid_bpf_try_input_report",
];

const fn class(
    callable: [Option<u64>; OBSERVED_KERNELS.len()],
    names: &'static [&'static str],
) -> KfuncClass {
    KfuncClass { callable, names }
}

/// The observations.
#[rustfmt::skip]
static TABLE: &[KfuncClass] = &[
    class([None, None, None, Some(0x0001_e7ef_fffe)], &[
        "__bpf_trap", "bpf_arena_reserve_pages", "bpf_cgroup_read_xattr", "bpf_copy_from_user_dynptr",
        "bpf_copy_from_user_str_dynptr", "bpf_copy_from_user_task_dynptr", "bpf_copy_from_user_task_str",
        "bpf_copy_from_user_task_str_dynptr", "bpf_dynptr_copy", "bpf_dynptr_file_discard", "bpf_dynptr_from_file",
        "bpf_dynptr_memset", "bpf_get_kmem_cache", "bpf_get_mem_cgroup", "bpf_get_root_mem_cgroup",
        "bpf_iter_dmabuf_destroy", "bpf_iter_dmabuf_new", "bpf_iter_dmabuf_next", "bpf_iter_kmem_cache_destroy",
        "bpf_iter_kmem_cache_new", "bpf_iter_kmem_cache_next", "bpf_local_irq_restore", "bpf_local_irq_save",
        "bpf_mem_cgroup_flush_stats", "bpf_mem_cgroup_memory_events", "bpf_mem_cgroup_page_state",
        "bpf_mem_cgroup_usage", "bpf_mem_cgroup_vm_events", "bpf_probe_read_kernel_dynptr",
        "bpf_probe_read_kernel_str_dynptr", "bpf_probe_read_user_dynptr", "bpf_probe_read_user_str_dynptr",
        "bpf_put_mem_cgroup", "bpf_res_spin_lock", "bpf_res_spin_lock_irqsave", "bpf_res_spin_unlock",
        "bpf_res_spin_unlock_irqrestore", "bpf_strcasecmp", "bpf_strcasestr", "bpf_strchr", "bpf_strchrnul",
        "bpf_strcmp", "bpf_strcspn", "bpf_stream_print_stack", "bpf_stream_vprintk", "bpf_stream_vprintk_impl",
        "bpf_strlen", "bpf_strncasecmp", "bpf_strncasestr", "bpf_strnchr", "bpf_strnlen", "bpf_strnstr",
        "bpf_strrchr", "bpf_strspn", "bpf_strstr", "bpf_task_work_schedule_resume",
        "bpf_task_work_schedule_resume_impl", "bpf_task_work_schedule_signal", "bpf_task_work_schedule_signal_impl",
        "bpf_timer_cancel_async", "bpf_wq_set_callback",
    ]),
    class([None, None, None, Some(0x0000_0000)], &[
        "__scx_bpf_dsq_insert_vtime", "bpf_io_uring_get_region", "bpf_io_uring_submit_sqes", "bpf_kfree_skb",
        "bpf_qdisc_bstats_update", "bpf_qdisc_init_prologue", "bpf_qdisc_reset_destroy_epilogue",
        "bpf_qdisc_skb_drop", "bpf_qdisc_watchdog_schedule", "bpf_skb_get_hash", "cubictcp_cwnd_event_tx_start",
        "scx_bpf_cid_override", "scx_bpf_dispatch_cancel", "scx_bpf_dispatch_nr_slots", "scx_bpf_dsq_insert",
        "scx_bpf_dsq_insert___v2", "scx_bpf_dsq_insert_vtime", "scx_bpf_dsq_move_to_local",
        "scx_bpf_dsq_move_to_local___v2", "scx_bpf_reenqueue_local", "scx_bpf_sub_dispatch",
    ]),
    class([None, None, None, Some(0x8000_0000)], &[
        "__scx_bpf_select_cpu_and", "bpf_wakeup_sources_get_head", "bpf_wakeup_sources_read_lock",
        "bpf_wakeup_sources_read_unlock", "scx_bpf_create_dsq", "scx_bpf_dsq_move", "scx_bpf_dsq_move_set_slice",
        "scx_bpf_dsq_move_set_vtime", "scx_bpf_dsq_move_vtime", "scx_bpf_select_cpu_and", "scx_bpf_select_cpu_dfl",
    ]),
    class([None, None, Some(0x0001_e7ef_fffe), Some(0x0001_e7ef_fffe)], &[
        "bpf_arena_alloc_pages", "bpf_arena_free_pages", "bpf_cast_to_kern_ctx", "bpf_copy_from_user_str",
        "bpf_dynptr_adjust", "bpf_dynptr_clone", "bpf_dynptr_is_null", "bpf_dynptr_is_rdonly", "bpf_dynptr_size",
        "bpf_dynptr_slice", "bpf_dynptr_slice_rdwr", "bpf_iter_bits_destroy", "bpf_iter_bits_new",
        "bpf_iter_bits_next", "bpf_iter_css_destroy", "bpf_iter_css_new", "bpf_iter_css_next",
        "bpf_iter_css_task_destroy", "bpf_iter_css_task_new", "bpf_iter_css_task_next", "bpf_iter_num_destroy",
        "bpf_iter_num_new", "bpf_iter_num_next", "bpf_iter_task_destroy", "bpf_iter_task_new", "bpf_iter_task_next",
        "bpf_iter_task_vma_destroy", "bpf_iter_task_vma_new", "bpf_iter_task_vma_next", "bpf_map_sum_elem_count",
        "bpf_modify_return_test_tp", "bpf_preempt_disable", "bpf_preempt_enable", "bpf_rcu_read_lock",
        "bpf_rcu_read_unlock", "bpf_rdonly_cast", "bpf_wq_init", "bpf_wq_set_callback_impl", "bpf_wq_start",
        "bpf_xdp_metadata_rx_hash", "bpf_xdp_metadata_rx_timestamp", "bpf_xdp_metadata_rx_vlan_tag",
    ]),
    class([None, None, Some(0xa684_83e8), Some(0xa686_a3e8)], &[
        "bpf_cgroup_acquire", "bpf_cgroup_ancestor", "bpf_cgroup_from_id", "bpf_cgroup_release", "bpf_list_pop_back",
        "bpf_list_pop_front", "bpf_list_push_back_impl", "bpf_list_push_front_impl", "bpf_obj_drop_impl",
        "bpf_obj_new_impl", "bpf_percpu_obj_drop_impl", "bpf_percpu_obj_new_impl", "bpf_rbtree_add_impl",
        "bpf_rbtree_first", "bpf_rbtree_remove", "bpf_refcount_acquire_impl", "bpf_task_acquire", "bpf_task_from_pid",
        "bpf_task_get_cgroup1", "bpf_task_release", "bpf_task_under_cgroup", "bpf_throw",
    ]),
    class([None, None, Some(0xa400_00a0), Some(0xa402_00a0)], &[
        "bpf_cpumask_acquire", "bpf_cpumask_and", "bpf_cpumask_any_and_distribute", "bpf_cpumask_any_distribute",
        "bpf_cpumask_clear", "bpf_cpumask_clear_cpu", "bpf_cpumask_copy", "bpf_cpumask_create", "bpf_cpumask_empty",
        "bpf_cpumask_equal", "bpf_cpumask_first", "bpf_cpumask_first_and", "bpf_cpumask_first_zero",
        "bpf_cpumask_full", "bpf_cpumask_intersects", "bpf_cpumask_or", "bpf_cpumask_release", "bpf_cpumask_set_cpu",
        "bpf_cpumask_setall", "bpf_cpumask_subset", "bpf_cpumask_test_and_clear_cpu", "bpf_cpumask_test_and_set_cpu",
        "bpf_cpumask_test_cpu", "bpf_cpumask_weight", "bpf_cpumask_xor",
    ]),
    class([None, None, None, Some(0xa402_00a0)], &[
        "bpf_cpumask_populate", "bpf_iter_scx_dsq_destroy", "bpf_iter_scx_dsq_new", "bpf_iter_scx_dsq_next",
        "scx_bpf_cid_curr", "scx_bpf_cid_to_cpu", "scx_bpf_cid_topo", "scx_bpf_cidperf_cap", "scx_bpf_cidperf_cur",
        "scx_bpf_cidperf_set", "scx_bpf_cpu_curr", "scx_bpf_cpu_node", "scx_bpf_cpu_rq", "scx_bpf_cpu_to_cid",
        "scx_bpf_cpuperf_cap", "scx_bpf_cpuperf_cur", "scx_bpf_cpuperf_set", "scx_bpf_destroy_dsq",
        "scx_bpf_dsq_nr_queued", "scx_bpf_dsq_peek", "scx_bpf_dsq_reenq", "scx_bpf_dump_bstr", "scx_bpf_error_bstr",
        "scx_bpf_events", "scx_bpf_exit_bstr", "scx_bpf_get_idle_cpumask", "scx_bpf_get_idle_cpumask_node",
        "scx_bpf_get_idle_smtmask", "scx_bpf_get_idle_smtmask_node", "scx_bpf_get_online_cpumask",
        "scx_bpf_get_possible_cpumask", "scx_bpf_kick_cid", "scx_bpf_kick_cpu", "scx_bpf_locked_rq", "scx_bpf_now",
        "scx_bpf_nr_cids", "scx_bpf_nr_cpu_ids", "scx_bpf_nr_node_ids", "scx_bpf_nr_online_cids",
        "scx_bpf_pick_any_cpu", "scx_bpf_pick_any_cpu_node", "scx_bpf_pick_idle_cpu", "scx_bpf_pick_idle_cpu_node",
        "scx_bpf_put_cpumask", "scx_bpf_put_idle_cpumask", "scx_bpf_reenqueue_local___v2", "scx_bpf_task_cgroup",
        "scx_bpf_task_cid", "scx_bpf_task_cpu", "scx_bpf_task_running", "scx_bpf_task_set_dsq_vtime",
        "scx_bpf_task_set_slice", "scx_bpf_test_and_clear_cpu_idle", "scx_bpf_this_cid", "scx_bpf_tid_to_task",
    ]),
    class([None, None, Some(0x8000_0000), Some(0x8000_0000)], &[
        "bpf_crypto_ctx_acquire", "bpf_crypto_ctx_create", "bpf_crypto_ctx_release",
    ]),
    class([None, None, Some(0x0000_0058), Some(0x0000_0058)], &[
        "bpf_crypto_decrypt", "bpf_crypto_encrypt",
    ]),
    class([None, None, Some(0x0001_268c_dfba), Some(0x0001_268e_ffba)], &[
        "bpf_dynptr_from_skb",
    ]),
    class([None, None, None, Some(0x0000_0018)], &[
        "bpf_dynptr_from_skb_meta",
    ]),
    class([None, None, Some(0x0000_0040), Some(0x0000_0040)], &[
        "bpf_dynptr_from_xdp", "bpf_xdp_get_xfrm_state", "bpf_xdp_xfrm_state_release",
    ]),
    class([None, Some(0x0000_0000), Some(0x0000_0000), Some(0x0000_0000)], &[
        "bpf_fentry_test1", "bpf_modify_return_test", "cubictcp_acked", "cubictcp_cong_avoid", "cubictcp_init",
        "cubictcp_recalc_ssthresh", "cubictcp_state", "tcp_cong_avoid_ai", "tcp_reno_cong_avoid", "tcp_reno_ssthresh",
        "tcp_reno_undo_cwnd", "tcp_slow_start",
    ]),
    class([None, None, Some(0x2000_0000), Some(0x2000_0000)], &[
        "bpf_get_dentry_xattr", "bpf_get_file_xattr", "bpf_get_fsverity_digest", "bpf_get_task_exe_file",
        "bpf_path_d_path", "bpf_put_file",
    ]),
    class([None, Some(0x2400_0000), Some(0x2400_00a0), Some(0xa686_a3e8)], &[
        "bpf_key_put", "bpf_lookup_system_key", "bpf_lookup_user_key", "bpf_verify_pkcs7_signature",
    ]),
    class([None, Some(0xa400_0008), Some(0xa400_00a8), Some(0xa402_00a8)], &[
        "bpf_kfunc_call_memb_release", "bpf_kfunc_call_test_release",
    ]),
    class([None, None, None, Some(0xa686_a3e8)], &[
        "bpf_list_add", "bpf_list_back", "bpf_list_del", "bpf_list_empty", "bpf_list_front", "bpf_list_is_first",
        "bpf_list_is_last", "bpf_list_push_back", "bpf_list_push_front", "bpf_obj_drop", "bpf_obj_new",
        "bpf_percpu_obj_drop", "bpf_percpu_obj_new", "bpf_rbtree_add", "bpf_rbtree_left", "bpf_rbtree_right",
        "bpf_rbtree_root", "bpf_refcount_acquire", "bpf_send_signal_task", "bpf_task_from_vpid",
    ]),
    class([None, None, Some(0x0000_0000), Some(0x0000_0000)], &[
        "bpf_modify_return_test2",
    ]),
    class([None, None, None, Some(0x2000_0000)], &[
        "bpf_real_data_inode", "bpf_remove_dentry_xattr", "bpf_set_dentry_xattr",
    ]),
    class([None, None, Some(0x0000_0004), Some(0x0000_0004)], &[
        "bpf_session_cookie", "bpf_session_is_return",
    ]),
    class([None, None, Some(0x0000_0008), Some(0x0000_0008)], &[
        "bpf_sk_assign_tcp_reqsk",
    ]),
    class([None, None, Some(0x0284_8300), Some(0x0284_a300)], &[
        "bpf_sock_addr_set_sun_path",
    ]),
    class([None, None, Some(0x0400_0000), Some(0x0400_0000)], &[
        "bpf_sock_destroy",
    ]),
    class([None, None, None, Some(0x0284_a300)], &[
        "bpf_sock_ops_enable_tx_tstamp",
    ]),
    class([None, None, None, Some(0x0000_0040)], &[
        "bpf_xdp_pull_data",
    ]),
    class([None, Some(0x2400_0000), Some(0x2400_00a0), None], &[
        "cgroup_rstat_flush", "cgroup_rstat_updated",
    ]),
    class([None, Some(0x2400_0000), Some(0xa684_83e8), Some(0xa686_a3e8)], &[
        "crash_kexec",
    ]),
    class([None, None, None, Some(0x2402_00a0)], &[
        "css_rstat_flush", "css_rstat_updated",
    ]),
    class([None, Some(0x0000_0000), Some(0x0000_0000), None], &[
        "cubictcp_cwnd_event",
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::observed::tests::Shape;
    use ProgramType as P;

    #[test]
    fn kfuncs_of_program_types() {
        assert_eq!(observed_support(P::Tracing, None, b"bpf_task_acquire").shape(), Shape::Always);
        assert_eq!(observed_support(P::Kprobe, None, b"bpf_task_acquire").shape(), Shape::Never);
        assert_eq!(observed_support(P::Xdp, None, b"bpf_dynptr_from_xdp").shape(), Shape::Always);
        assert_eq!(observed_support(P::SchedCls, None, b"bpf_dynptr_from_xdp").shape(), Shape::Never);
        assert_eq!(observed_support(P::RawTracepoint, None, b"bpf_cpumask_create").shape(), Shape::From(3));
        assert_eq!(observed_support(P::Kprobe, None, b"bpf_iter_num_new").shape(), Shape::Always);
        let session =
            |attach_type| observed_support(P::Tracing, Some(attach_type), b"bpf_session_cookie").shape();
        assert_eq!(session(AttachType::TraceFsession), Shape::Always);
        assert_eq!(session(AttachType::TraceFentry), Shape::Never);
        let kprobe = |attach_type| observed_support(P::Kprobe, attach_type, b"bpf_session_is_return").shape();
        assert_eq!(kprobe(Some(AttachType::TraceKprobeSession)), Shape::Always);
        assert_eq!(kprobe(Some(AttachType::TraceKprobeMulti)), Shape::Never);
        assert_eq!(kprobe(None), Shape::Never, "a kprobe has no expected attach type");
        assert_eq!(kfunc_program_types(b"bpf_session_cookie"), [P::Kprobe, P::Tracing]);
        let destroy =
            |attach_type| observed_support(P::Tracing, Some(attach_type), b"bpf_sock_destroy").shape();
        assert_eq!(destroy(AttachType::TraceIter), Shape::Always);
        assert_eq!(destroy(AttachType::TraceRawTp), Shape::Never);
        assert_eq!(kfunc_program_types(b"bpf_dynptr_from_xdp"), [P::Xdp]);
        // A type and a kfunc that were not observed.
        assert_eq!(observed_support(P::StructOps, None, b"bpf_task_acquire").shape(), Shape::Always);
        assert_eq!(observed_support(P::Kprobe, None, b"bpf_testmod_test_mod_kfunc").shape(), Shape::Always);
    }

    #[test]
    fn each_kfunc_has_one_class() {
        let mut names: Vec<_> = TABLE.iter().flat_map(|class| class.names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
