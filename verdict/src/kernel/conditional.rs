//! Map and program types that depend on the kernel's configuration, with the functions that exist only if the type is compiled.
//!
//! The enumerators of these types exist in every configuration. Each function is global, or its address is in a table of operations, so
//! that compilers do not inline it. A build may still leave a single function out of the BTF, for example if two functions share the
//! name. A type is therefore absent only if all of its functions are.

use core_relo::insn::Helper;
use core_relo_object::object::{MapType as M, ProgramType as P};

/// A map type that depends on the configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConditionalMapType {
    pub(super) map_type: M,
    /// The option without which the type is left out, in the newest kernel.
    pub(super) option: &'static str,
    pub(super) functions: &'static [&'static str],
}

const fn row(map_type: M, option: &'static str, functions: &'static [&'static str]) -> ConditionalMapType {
    ConditionalMapType { map_type, option, functions }
}

/// The map types, in order of number (`include/linux/bpf_types.h`).
pub(super) const MAP_TYPES: &[ConditionalMapType] = &[
    row(
        M::PerfEventArray,
        "CONFIG_PERF_EVENTS",
        &["perf_event_fd_array_get_ptr", "perf_event_fd_array_release"],
    ),
    row(M::StackTrace, "CONFIG_PERF_EVENTS", &["stack_map_alloc", "stack_map_get_next_key"]),
    row(M::CgroupArray, "CONFIG_CGROUPS", &["cgroup_fd_array_get_ptr", "cgroup_fd_array_put_ptr"]),
    row(M::Devmap, "CONFIG_NET", &["dev_map_alloc", "dev_map_enqueue"]),
    row(M::Sockmap, "CONFIG_NET", &["sock_map_alloc", "sock_map_get_from_fd", "sock_map_lookup_sys"]),
    row(M::Cpumap, "CONFIG_NET", &["cpu_map_alloc", "cpu_map_enqueue"]),
    row(M::Xskmap, "CONFIG_XDP_SOCKETS", &["xsk_map_alloc", "xsk_map_delete_elem"]),
    row(M::Sockhash, "CONFIG_NET", &["sock_hash_alloc", "sock_hash_free"]),
    row(M::CgroupStorage, "CONFIG_CGROUP_BPF", CGROUP_STORAGE),
    row(
        M::ReuseportSockarray,
        "CONFIG_INET",
        &["reuseport_array_alloc", "bpf_fd_reuseport_array_update_elem"],
    ),
    row(M::PercpuCgroupStorage, "CONFIG_CGROUP_BPF", CGROUP_STORAGE),
    row(
        M::SkStorage,
        "CONFIG_NET",
        &["bpf_sk_storage_map_alloc", "sk_storage_map_alloc", "bpf_sk_storage_free"],
    ),
    row(M::DevmapHash, "CONFIG_NET", &["dev_map_hash_lookup_elem", "dev_map_hash_update_elem"]),
    row(M::StructOps, "CONFIG_BPF_JIT", &["bpf_struct_ops_map_alloc", "bpf_struct_ops_get"]),
    row(M::InodeStorage, "CONFIG_BPF_LSM", &["inode_storage_map_alloc", "bpf_inode_storage_free"]),
    row(M::TaskStorage, "CONFIG_BPF_SYSCALL", &["task_storage_map_alloc", "bpf_task_storage_free"]),
    // `cgroup_storage_map_alloc` is no evidence: both kinds of cgroup storage have a function of this name.
    row(M::CgrpStorage, "CONFIG_CGROUPS", &["bpf_cgrp_storage_free", "bpf_cgrp_storage_get"]),
    row(M::Arena, "CONFIG_64BIT", &["arena_map_alloc", "arena_map_free"]),
];

const CGROUP_STORAGE: &[&str] = &["bpf_cgroup_storage_alloc", "cgroup_storage_lookup_elem"];

/// The functions that check a program's access to its context, by program type. They tell the compiled types of kernels before 5.5,
/// which have no `struct bpf_ctx_convert`.
pub(super) const PROGRAM_TYPES: &[(P, &str)] = &[
    (P::SocketFilter, "sk_filter_is_valid_access"),
    (P::Kprobe, "kprobe_prog_is_valid_access"),
    (P::SchedCls, "tc_cls_act_is_valid_access"),
    (P::SchedAct, "tc_cls_act_is_valid_access"),
    (P::Tracepoint, "tp_prog_is_valid_access"),
    (P::Xdp, "xdp_is_valid_access"),
    (P::PerfEvent, "pe_prog_is_valid_access"),
    (P::CgroupSkb, "cg_skb_is_valid_access"),
    (P::CgroupSock, "sock_filter_is_valid_access"),
    (P::LwtIn, "lwt_is_valid_access"),
    (P::LwtOut, "lwt_is_valid_access"),
    (P::LwtXmit, "lwt_is_valid_access"),
    (P::SockOps, "sock_ops_is_valid_access"),
    (P::SkSkb, "sk_skb_is_valid_access"),
    (P::CgroupDevice, "cgroup_dev_is_valid_access"),
    (P::SkMsg, "sk_msg_is_valid_access"),
    (P::RawTracepoint, "raw_tp_prog_is_valid_access"),
    (P::CgroupSockAddr, "sock_addr_is_valid_access"),
    (P::LwtSeg6local, "lwt_is_valid_access"),
    (P::LircMode2, "lirc_mode2_is_valid_access"),
    (P::SkReuseport, "sk_reuseport_is_valid_access"),
    (P::FlowDissector, "flow_dissector_is_valid_access"),
    (P::CgroupSysctl, "sysctl_is_valid_access"),
    (P::RawTracepointWritable, "raw_tp_writable_prog_is_valid_access"),
    (P::CgroupSockopt, "cg_sockopt_is_valid_access"),
];

/// The program types that practically every kernel with BPF has, by the option that compiles them (`include/linux/bpf_types.h`).
pub(super) const USUAL_PROGRAM_TYPES: &[(&str, &[P])] = &[
    (
        "CONFIG_NET",
        &[
            P::SocketFilter,
            P::SchedCls,
            P::SchedAct,
            P::Xdp,
            P::LwtIn,
            P::LwtOut,
            P::LwtXmit,
            P::SkSkb,
            P::SkMsg,
            P::LwtSeg6local,
        ],
    ),
    (
        "CONFIG_BPF_EVENTS",
        &[P::Kprobe, P::Tracepoint, P::PerfEvent, P::RawTracepoint, P::RawTracepointWritable],
    ),
];

/// A helper that depends on the configuration. `BPF_CALL` makes the functions of helpers global.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConditionalHelper {
    pub(super) helper: Helper,
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
        helper: Helper::PROBE_READ,
        function: "bpf_probe_read_compat",
        neighbours: TRACING_HELPERS,
        option: None,
    },
    ConditionalHelper {
        helper: Helper::PROBE_READ_STR,
        function: "bpf_probe_read_compat_str",
        neighbours: TRACING_HELPERS,
        option: None,
    },
    ConditionalHelper {
        helper: Helper::OVERRIDE_RETURN,
        function: "bpf_override_return",
        neighbours: TRACING_HELPERS,
        option: Some("CONFIG_BPF_KPROBE_OVERRIDE"),
    },
    ConditionalHelper {
        helper: Helper::INODE_STORAGE_GET,
        function: "bpf_inode_storage_get",
        neighbours: &ALWAYS_COMPILED,
        option: Some("CONFIG_BPF_LSM"),
    },
    ConditionalHelper {
        helper: Helper::INODE_STORAGE_DELETE,
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

/// The function behind bpf(2) on PowerPC, and the function that it contains if it is a wrapper.
pub(super) const POWERPC_SYSCALL: &str = "sys_bpf";
pub(super) const POWERPC_SYSCALL_BODY: &str = "__se_sys_bpf";
