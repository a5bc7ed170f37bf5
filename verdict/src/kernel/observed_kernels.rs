//! The kernels that were observed, and the marks by which another kernel is found to be as new.

use super::{
    KernelVersion,
    fixed_names::{Enum, Func, Struct},
    mark::Mark,
};

/// A kernel that was observed, and the parts of BTF by which another kernel is found to be as new, or newer.
pub(super) struct ObservedKernel {
    pub(super) release: KernelVersion,
    /// Marks that came with this release, or shortly before. One of them is enough.
    pub(super) since: &'static [Mark],
    /// A mark that came with the next release that has one.
    pub(super) later: Mark,
}

/// The observed kernels, from the oldest on.
pub(super) const OBSERVED_KERNELS: [ObservedKernel; 4] = [
    ObservedKernel {
        release: KernelVersion::release(5, 10),
        since: &[Mark::Enumerator(Enum::bpf_func_id, "BPF_FUNC_per_cpu_ptr")],
        later: Mark::Enumerator(Enum::bpf_func_id, "BPF_FUNC_task_storage_get"), // 5.11
    },
    ObservedKernel {
        release: KernelVersion::release(6, 1),
        since: &[Mark::Enumerator(Enum::bpf_func_id, "BPF_FUNC_user_ringbuf_drain")],
        later: Mark::Enumerator(Enum::bpf_func_id, "BPF_FUNC_cgrp_storage_get"), // 6.2
    },
    ObservedKernel {
        release: KernelVersion::release(6, 12),
        since: &[
            Mark::Member(Struct::bpf_insn_aux_data, "fastcall_pattern"),
            Mark::Function(Func::bpf_copy_from_user_str),
        ],
        later: Mark::Enumerator(Enum::bpf_attach_type, "BPF_TRACE_UPROBE_SESSION"), // 6.13
    },
    ObservedKernel {
        release: KernelVersion::release(7, 2),
        since: &[Mark::Enumerator(Enum::bpf_attach_type, "BPF_TRACE_FSESSION_MULTI")],
        later: Mark::Member(Struct::bpf_verifier_env, "diag"), // 7.3
    },
];
