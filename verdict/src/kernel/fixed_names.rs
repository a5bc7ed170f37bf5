//! The names that every kernel is asked for. Each is a constant, so that no name is looked up that the query
//! lacks.

use super::kernel_name::NameId;
use core::fmt;
use core_relo::btf::Kind;

macro_rules! fixed_names {
    ($($kind:ident, $doc:literal, { $($name:ident)* })*) => {
        /// The names, in the order of their positions in a query.
        #[derive(Clone, Copy)]
        #[expect(non_camel_case_types, reason = "names of the kernel")]
        enum Position { $($($name,)*)* }

        /// The names and kinds, in the order of their positions in a query.
        pub(super) const FIXED_NAMES: &[(&str, Kind)] = &[$($((stringify!($name), Kind::$kind),)*)*];

        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(super) struct $kind {
                id: NameId,
                pub(super) name: &'static str,
            }

            #[expect(non_upper_case_globals, reason = "names of the kernel")]
            impl $kind {
                $(pub(super) const $name: Self =
                    Self {
                    id: NameId { position: Position::$name as usize, kind: Kind::$kind },
                    name: stringify!($name),
                };)*
            }

            impl From<$kind> for NameId {
                fn from(fixed: $kind) -> Self {
                    fixed.id
                }
            }

            impl fmt::Display for $kind {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(self.name)
                }
            }
        )*
    };
}

fixed_names! {
    Func, "A function of the kernel that every kernel is asked for.", {
        arch_prepare_bpf_trampoline arena_map_alloc arena_map_free array_map_alloc bpf_cgroup_storage_alloc
        bpf_cgrp_storage_free bpf_cgrp_storage_get bpf_check bpf_copy_from_user_str
        bpf_fd_reuseport_array_update_elem bpf_inode_storage_delete bpf_inode_storage_free
        bpf_inode_storage_get bpf_lsm_get_retval_range bpf_lsm_is_sleepable_hook bpf_override_return
        bpf_probe_read_compat bpf_probe_read_compat_str bpf_probe_read_kernel bpf_probe_read_user
        bpf_res_spin_lock bpf_sk_storage_free bpf_sk_storage_map_alloc bpf_struct_ops_get
        bpf_struct_ops_map_alloc bpf_task_storage_free bpf_tramp_ftrace_ops_func bpf_trampoline_get
        bpf_trampoline_link_prog bpf_trampoline_multi_attach btf_module_notify btf_module_read
        cg_skb_is_valid_access cg_sockopt_is_valid_access cgroup_dev_is_valid_access cgroup_fd_array_get_ptr
        cgroup_fd_array_put_ptr cgroup_storage_lookup_elem check_atomic check_atomic_rmw check_load_mem
        check_mem_reg check_store_reg coerce_reg_to_size_sx cpu_map_alloc cpu_map_enqueue dev_map_alloc
        dev_map_enqueue dev_map_hash_lookup_elem dev_map_hash_update_elem do_init_module find_module
        flow_dissector_is_valid_access htab_map_alloc inode_storage_map_alloc klp_enable_patch
        kprobe_prog_is_valid_access lirc_mode2_is_valid_access lwt_is_valid_access modify_ftrace_direct
        pe_prog_is_valid_access perf_event_fd_array_get_ptr perf_event_fd_array_release
        raw_tp_prog_is_valid_access raw_tp_writable_prog_is_valid_access register_btf_fmodret_id_set
        register_ftrace_direct reuseport_array_alloc sk_filter_is_valid_access sk_msg_is_valid_access
        sk_reuseport_is_valid_access sk_skb_is_valid_access sk_storage_map_alloc sock_addr_is_valid_access
        sock_filter_is_valid_access sock_hash_alloc sock_hash_free sock_map_alloc sock_map_get_from_fd
        sock_map_lookup_sys sock_ops_is_valid_access stack_map_alloc stack_map_get_next_key
        sysctl_is_valid_access task_storage_map_alloc tc_cls_act_is_valid_access tp_prog_is_valid_access
        verify_pkcs7_signature within_error_injection_list xdp_is_valid_access xsk_map_alloc
        xsk_map_delete_elem
    }
    Struct, "A struct of the kernel that every kernel is asked for.", {
        bpf_async_cb bpf_ctx_convert bpf_func_info_aux bpf_func_state bpf_insn_aux_data
        bpf_kprobe_multi_link bpf_map bpf_map_ops bpf_nf_link bpf_prog bpf_prog_aux bpf_ringbuf
        bpf_subprog_info bpf_uprobe_multi_link bpf_verifier_env bpf_verifier_state btf_module cpumask
        net_device netkit_link paca_struct pt_regs tcx_link trace_kprobe
    }
    Enum, "An enum of the kernel that every kernel is asked for.", {
        bpf_attach_type bpf_cmd bpf_func_id bpf_link_type bpf_map_type bpf_prog_type bpf_reg_type
    }
}
