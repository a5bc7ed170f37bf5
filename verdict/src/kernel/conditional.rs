//! Map and program types that depend on the kernel's configuration, with the functions that exist only if the
//! type is compiled.
//!
//! The enumerators of these types exist in every configuration. Each function is global, or its address is in
//! a table of operations, so that compilers do not inline it. A build may still leave a single function out
//! of the BTF, for example if two functions share the name. A type is therefore absent only if all of its
//! functions are.

use super::fixed_names::Func;
use core_relo::insn::Helper;
use core_relo_object::object::{MapType as M, ProgramType as P};

/// A map type that depends on the configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConditionalMapType {
    pub(super) map_type: M,
    /// The option without which the type is left out, in the newest kernel.
    pub(super) option: &'static str,
    pub(super) functions: &'static [Func],
}

const fn row(map_type: M, option: &'static str, functions: &'static [Func]) -> ConditionalMapType {
    ConditionalMapType { map_type, option, functions }
}

/// The map types, in order of number (`include/linux/bpf_types.h`).
pub(super) const MAP_TYPES: &[ConditionalMapType] = &[
    row(
        M::PerfEventArray,
        "CONFIG_PERF_EVENTS",
        &[Func::perf_event_fd_array_get_ptr, Func::perf_event_fd_array_release],
    ),
    row(M::StackTrace, "CONFIG_PERF_EVENTS", &[Func::stack_map_alloc, Func::stack_map_get_next_key]),
    row(M::CgroupArray, "CONFIG_CGROUPS", &[Func::cgroup_fd_array_get_ptr, Func::cgroup_fd_array_put_ptr]),
    row(M::Devmap, "CONFIG_NET", &[Func::dev_map_alloc, Func::dev_map_enqueue]),
    row(
        M::Sockmap,
        "CONFIG_NET",
        &[Func::sock_map_alloc, Func::sock_map_get_from_fd, Func::sock_map_lookup_sys],
    ),
    row(M::Cpumap, "CONFIG_NET", &[Func::cpu_map_alloc, Func::cpu_map_enqueue]),
    row(M::Xskmap, "CONFIG_XDP_SOCKETS", &[Func::xsk_map_alloc, Func::xsk_map_delete_elem]),
    row(M::Sockhash, "CONFIG_NET", &[Func::sock_hash_alloc, Func::sock_hash_free]),
    row(M::CgroupStorage, "CONFIG_CGROUP_BPF", CGROUP_STORAGE),
    row(
        M::ReuseportSockarray,
        "CONFIG_INET",
        &[Func::reuseport_array_alloc, Func::bpf_fd_reuseport_array_update_elem],
    ),
    row(M::PercpuCgroupStorage, "CONFIG_CGROUP_BPF", CGROUP_STORAGE),
    row(
        M::SkStorage,
        "CONFIG_NET",
        &[Func::bpf_sk_storage_map_alloc, Func::sk_storage_map_alloc, Func::bpf_sk_storage_free],
    ),
    row(M::DevmapHash, "CONFIG_NET", &[Func::dev_map_hash_lookup_elem, Func::dev_map_hash_update_elem]),
    row(M::StructOps, "CONFIG_BPF_JIT", &[Func::bpf_struct_ops_map_alloc, Func::bpf_struct_ops_get]),
    row(M::InodeStorage, "CONFIG_BPF_LSM", &[Func::inode_storage_map_alloc, Func::bpf_inode_storage_free]),
    row(M::TaskStorage, "CONFIG_BPF_SYSCALL", &[Func::task_storage_map_alloc, Func::bpf_task_storage_free]),
    // `cgroup_storage_map_alloc` is no evidence: both kinds of cgroup storage have a function of this name.
    row(M::CgrpStorage, "CONFIG_CGROUPS", &[Func::bpf_cgrp_storage_free, Func::bpf_cgrp_storage_get]),
    row(M::Arena, "CONFIG_64BIT", &[Func::arena_map_alloc, Func::arena_map_free]),
];

const CGROUP_STORAGE: &[Func] = &[Func::bpf_cgroup_storage_alloc, Func::cgroup_storage_lookup_elem];

/// The functions that check a program's access to its context, by program type. They tell the compiled types
/// of kernels before 5.5, which have no `struct bpf_ctx_convert`.
pub(super) const PROGRAM_TYPES: &[(P, Func)] = &[
    (P::SocketFilter, Func::sk_filter_is_valid_access),
    (P::Kprobe, Func::kprobe_prog_is_valid_access),
    (P::SchedCls, Func::tc_cls_act_is_valid_access),
    (P::SchedAct, Func::tc_cls_act_is_valid_access),
    (P::Tracepoint, Func::tp_prog_is_valid_access),
    (P::Xdp, Func::xdp_is_valid_access),
    (P::PerfEvent, Func::pe_prog_is_valid_access),
    (P::CgroupSkb, Func::cg_skb_is_valid_access),
    (P::CgroupSock, Func::sock_filter_is_valid_access),
    (P::LwtIn, Func::lwt_is_valid_access),
    (P::LwtOut, Func::lwt_is_valid_access),
    (P::LwtXmit, Func::lwt_is_valid_access),
    (P::SockOps, Func::sock_ops_is_valid_access),
    (P::SkSkb, Func::sk_skb_is_valid_access),
    (P::CgroupDevice, Func::cgroup_dev_is_valid_access),
    (P::SkMsg, Func::sk_msg_is_valid_access),
    (P::RawTracepoint, Func::raw_tp_prog_is_valid_access),
    (P::CgroupSockAddr, Func::sock_addr_is_valid_access),
    (P::LwtSeg6local, Func::lwt_is_valid_access),
    (P::LircMode2, Func::lirc_mode2_is_valid_access),
    (P::SkReuseport, Func::sk_reuseport_is_valid_access),
    (P::FlowDissector, Func::flow_dissector_is_valid_access),
    (P::CgroupSysctl, Func::sysctl_is_valid_access),
    (P::RawTracepointWritable, Func::raw_tp_writable_prog_is_valid_access),
    (P::CgroupSockopt, Func::cg_sockopt_is_valid_access),
];

/// The program types that practically every kernel with BPF has, by the option that compiles them
/// (`include/linux/bpf_types.h`).
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
    pub(super) function: Func,
    /// Functions of the same file that every kernel with the helper's number has. If the BTF has them, it
    /// describes the file.
    pub(super) neighbours: &'static [Func],
    /// The option without which the helper is left out. `None` if most architectures set it.
    pub(super) option: Option<&'static str>,
}

/// The helpers, in order of number. `bpf_probe_read` needs an architecture whose user and kernel addresses do
/// not overlap (5.8), unlike s390x.
pub(super) const HELPERS: &[ConditionalHelper] = &[
    ConditionalHelper {
        helper: Helper::PROBE_READ,
        function: Func::bpf_probe_read_compat,
        neighbours: TRACING_HELPERS,
        option: None,
    },
    ConditionalHelper {
        helper: Helper::PROBE_READ_STR,
        function: Func::bpf_probe_read_compat_str,
        neighbours: TRACING_HELPERS,
        option: None,
    },
    ConditionalHelper {
        helper: Helper::OVERRIDE_RETURN,
        function: Func::bpf_override_return,
        neighbours: TRACING_HELPERS,
        option: Some("CONFIG_BPF_KPROBE_OVERRIDE"),
    },
    ConditionalHelper {
        helper: Helper::INODE_STORAGE_GET,
        function: Func::bpf_inode_storage_get,
        neighbours: &ALWAYS_COMPILED,
        option: Some("CONFIG_BPF_LSM"),
    },
    ConditionalHelper {
        helper: Helper::INODE_STORAGE_DELETE,
        function: Func::bpf_inode_storage_delete,
        neighbours: &ALWAYS_COMPILED,
        option: Some("CONFIG_BPF_LSM"),
    },
];

/// Helpers of `kernel/trace/bpf_trace.c`. The BTF of 5.10 leaves out the functions of `kernel/trace`.
const TRACING_HELPERS: &[Func] = &[Func::bpf_probe_read_kernel, Func::bpf_probe_read_user];

/// Functions that every kernel with bpf(2) has and no compiler inlines. A BTF without them does not describe
/// the functions of `kernel/bpf`.
pub(super) const ALWAYS_COMPILED: [Func; 3] = [Func::array_map_alloc, Func::htab_map_alloc, Func::bpf_check];

/// Functions that exist if the kernel has trampolines (`CONFIG_BPF_JIT`, `kernel/bpf/trampoline.c`).
pub(super) const TRAMPOLINES: [Func; 3] =
    [Func::bpf_trampoline_link_prog, Func::bpf_trampoline_get, Func::arch_prepare_bpf_trampoline];

/// Functions that exist if the kernel attaches trampolines to its own functions with ftrace
/// (`CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS`). The first is in `kernel/bpf/trampoline.c` (6.0), the others
/// in `kernel/trace`.
pub(super) const DIRECT_CALLS: [Func; 3] =
    [Func::bpf_tramp_ftrace_ops_func, Func::register_ftrace_direct, Func::modify_ftrace_direct];

/// A function of kernels with LSM programs that may sleep at more than one hook (5.11).
pub(super) const HAS_SLEEPABLE_LSM: Func = Func::bpf_lsm_is_sleepable_hook;

/// A function of kernels that check what LSM programs return (6.12).
pub(super) const CHECKS_LSM_RESULTS: Func = Func::bpf_lsm_get_retval_range;

/// A function of kernels with `CONFIG_FUNCTION_ERROR_INJECTION`.
pub(super) const ERROR_INJECTION: Func = Func::within_error_injection_list;

/// A function of kernels that have further lists of functions for fmod_ret programs and programs that may
/// sleep (6.2).
pub(super) const FMOD_RET_SETS: Func = Func::register_btf_fmodret_id_set;

/// Functions that exist if the kernel reads the BTF of modules (`CONFIG_DEBUG_INFO_BTF_MODULES`).
pub(super) const MODULE_BTF: [Func; 2] = [Func::btf_module_notify, Func::btf_module_read];
