//! Map and program types that depend on the kernel's configuration, with the functions that exist only if the type is compiled.
//!
//! The enumerators of these types exist in every configuration. Each function is global, or its address is in a table of operations, so
//! that compilers do not inline it. A build may still leave a single function out of the BTF, for example if two functions share the
//! name. A type is therefore absent only if all of its functions are.

/// A map type that depends on the configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConditionalMapType {
    pub(super) number: u32,
    /// The option without which the type is left out, in the newest kernel.
    pub(super) option: &'static str,
    pub(super) functions: &'static [&'static str],
}

const fn row(number: u32, option: &'static str, functions: &'static [&'static str]) -> ConditionalMapType {
    ConditionalMapType { number, option, functions }
}

/// The map types, in order of number (`include/linux/bpf_types.h`).
pub(super) const MAP_TYPES: &[ConditionalMapType] = &[
    row(4, "CONFIG_PERF_EVENTS", &["perf_event_fd_array_get_ptr", "perf_event_fd_array_release"]),
    row(7, "CONFIG_PERF_EVENTS", &["stack_map_alloc", "stack_map_get_next_key"]),
    row(8, "CONFIG_CGROUPS", &["cgroup_fd_array_get_ptr", "cgroup_fd_array_put_ptr"]),
    row(14, "CONFIG_NET", &["dev_map_alloc", "dev_map_enqueue"]),
    row(15, "CONFIG_NET", &["sock_map_alloc", "sock_map_get_from_fd", "sock_map_lookup_sys"]),
    row(16, "CONFIG_NET", &["cpu_map_alloc", "cpu_map_enqueue"]),
    row(17, "CONFIG_XDP_SOCKETS", &["xsk_map_alloc", "xsk_map_delete_elem"]),
    row(18, "CONFIG_NET", &["sock_hash_alloc", "sock_hash_free"]),
    row(19, "CONFIG_CGROUP_BPF", CGROUP_STORAGE),
    row(20, "CONFIG_INET", &["reuseport_array_alloc", "bpf_fd_reuseport_array_update_elem"]),
    row(21, "CONFIG_CGROUP_BPF", CGROUP_STORAGE),
    row(24, "CONFIG_NET", &["bpf_sk_storage_map_alloc", "sk_storage_map_alloc", "bpf_sk_storage_free"]),
    row(25, "CONFIG_NET", &["dev_map_hash_lookup_elem", "dev_map_hash_update_elem"]),
    row(26, "CONFIG_BPF_JIT", &["bpf_struct_ops_map_alloc", "bpf_struct_ops_get"]),
    row(28, "CONFIG_BPF_LSM", &["inode_storage_map_alloc", "bpf_inode_storage_free"]),
    row(29, "CONFIG_BPF_SYSCALL", &["task_storage_map_alloc", "bpf_task_storage_free"]),
    // `cgroup_storage_map_alloc` is no evidence: both kinds of cgroup storage have a function of this name.
    row(32, "CONFIG_CGROUPS", &["bpf_cgrp_storage_free", "bpf_cgrp_storage_get"]),
    row(33, "CONFIG_64BIT", &["arena_map_alloc", "arena_map_free"]),
];

const CGROUP_STORAGE: &[&str] = &["bpf_cgroup_storage_alloc", "cgroup_storage_lookup_elem"];

/// The functions that check a program's access to its context, by program type. They tell the compiled types of kernels before 5.5,
/// which have no `struct bpf_ctx_convert`.
pub(super) const PROGRAM_TYPES: &[(u32, &str)] = &[
    (1, "sk_filter_is_valid_access"),
    (2, "kprobe_prog_is_valid_access"),
    (3, "tc_cls_act_is_valid_access"),
    (4, "tc_cls_act_is_valid_access"),
    (5, "tp_prog_is_valid_access"),
    (6, "xdp_is_valid_access"),
    (7, "pe_prog_is_valid_access"),
    (8, "cg_skb_is_valid_access"),
    (9, "sock_filter_is_valid_access"),
    (10, "lwt_is_valid_access"),
    (11, "lwt_is_valid_access"),
    (12, "lwt_is_valid_access"),
    (13, "sock_ops_is_valid_access"),
    (14, "sk_skb_is_valid_access"),
    (15, "cgroup_dev_is_valid_access"),
    (16, "sk_msg_is_valid_access"),
    (17, "raw_tp_prog_is_valid_access"),
    (18, "sock_addr_is_valid_access"),
    (19, "lwt_is_valid_access"),
    (20, "lirc_mode2_is_valid_access"),
    (21, "sk_reuseport_is_valid_access"),
    (22, "flow_dissector_is_valid_access"),
    (23, "sysctl_is_valid_access"),
    (24, "raw_tp_writable_prog_is_valid_access"),
    (25, "cg_sockopt_is_valid_access"),
];

/// The program types that practically every kernel with BPF has, by the option that compiles them (`include/linux/bpf_types.h`).
pub(super) const USUAL_PROGRAM_TYPES: &[(&str, &[u32])] =
    &[("CONFIG_NET", &[1, 3, 4, 6, 10, 11, 12, 14, 16, 19]), ("CONFIG_BPF_EVENTS", &[2, 5, 7, 17, 24])];

/// A helper that depends on the configuration. `BPF_CALL` makes the functions of helpers global.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConditionalHelper {
    pub(super) number: u32,
    /// The function of the helper.
    pub(super) function: &'static str,
    /// Functions of the same file that every kernel with the helper's number has. If the BTF has them, it describes the file.
    pub(super) neighbours: &'static [&'static str],
    /// The option without which the helper is left out. `None` if most architectures set it.
    pub(super) option: Option<&'static str>,
}

/// The helpers, in order of number. `bpf_probe_read` needs an architecture whose user and kernel addresses do not overlap (5.8), unlike
/// s390x.
pub(super) const HELPERS: &[ConditionalHelper] = &[
    ConditionalHelper {
        number: 4,
        function: "bpf_probe_read_compat",
        neighbours: TRACING_HELPERS,
        option: None,
    },
    ConditionalHelper {
        number: 45,
        function: "bpf_probe_read_compat_str",
        neighbours: TRACING_HELPERS,
        option: None,
    },
    ConditionalHelper {
        number: 58,
        function: "bpf_override_return",
        neighbours: TRACING_HELPERS,
        option: Some("CONFIG_BPF_KPROBE_OVERRIDE"),
    },
    ConditionalHelper {
        number: 145,
        function: "bpf_inode_storage_get",
        neighbours: &ALWAYS_COMPILED,
        option: Some("CONFIG_BPF_LSM"),
    },
    ConditionalHelper {
        number: 146,
        function: "bpf_inode_storage_delete",
        neighbours: &ALWAYS_COMPILED,
        option: Some("CONFIG_BPF_LSM"),
    },
];

/// Helpers of `kernel/trace/bpf_trace.c`. The BTF of 5.10 leaves out the functions of `kernel/trace`.
const TRACING_HELPERS: &[&str] = &["bpf_probe_read_kernel", "bpf_probe_read_user"];

/// Functions that every kernel with bpf(2) has and no compiler inlines. A BTF without them does not describe the functions of
/// `kernel/bpf`.
pub(super) const ALWAYS_COMPILED: [&str; 3] = ["array_map_alloc", "htab_map_alloc", "bpf_check"];

/// Functions that exist if the kernel has trampolines (`CONFIG_BPF_JIT`, `kernel/bpf/trampoline.c`).
pub(super) const TRAMPOLINES: [&str; 3] =
    ["bpf_trampoline_link_prog", "bpf_trampoline_get", "arch_prepare_bpf_trampoline"];

/// Functions that exist if the kernel attaches trampolines to its own functions with ftrace (`CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS`). The
/// first is in `kernel/bpf/trampoline.c` (6.0), the others in `kernel/trace`.
pub(super) const DIRECT_CALLS: [&str; 3] =
    ["bpf_tramp_ftrace_ops_func", "register_ftrace_direct", "modify_ftrace_direct"];

/// A function of kernels with LSM programs that may sleep at more than one hook (5.11).
pub(super) const HAS_SLEEPABLE_LSM: &str = "bpf_lsm_is_sleepable_hook";

/// A function of kernels that check what LSM programs return (6.12).
pub(super) const CHECKS_LSM_RESULTS: &str = "bpf_lsm_get_retval_range";

/// A function of kernels with `CONFIG_FUNCTION_ERROR_INJECTION`.
pub(super) const ERROR_INJECTION: &str = "within_error_injection_list";

/// A function of kernels that have further lists of functions for fmod_ret programs and programs that may sleep (6.2).
pub(super) const FMOD_RET_SETS: &str = "register_btf_fmodret_id_set";

/// Functions that exist if the kernel reads the BTF of modules (`CONFIG_DEBUG_INFO_BTF_MODULES`).
pub(super) const MODULE_BTF: [&str; 2] = ["btf_module_notify", "btf_module_read"];

/// The functions behind bpf(2) on architectures with system call wrappers, as libbpf names them (`probe_kern_syscall_wrapper`).
pub(super) const SYSCALL_WRAPPERS: [&str; 4] =
    ["__x64_sys_bpf", "__arm64_sys_bpf", "__s390x_sys_bpf", "__riscv_sys_bpf"];
