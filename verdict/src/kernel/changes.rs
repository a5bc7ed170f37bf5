//! The instructions and the changes to the verifier, each with its mark in the kernel's BTF.
//!
//! Every row was compared with the BTF of kernels before and after its release
//! (`tests/tests/kernel_facts.rs`).

use super::{
    KernelVersion,
    fixed_names::{Enum, Func, Struct},
    mark::{
        Change,
        Mark::{Enumerator, Function, Member},
    },
};

macro_rules! insn_features {
    ($($(#[$doc:meta])* $name:ident $text:literal $change:expr;)*) => {
        /// A set of instructions that came with one release of the kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum InsnFeature {$($(#[$doc])* $name,)*}

        impl InsnFeature {
            /// All sets.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns a short name, such as `may_goto`.
            pub const fn name(self) -> &'static str {
                match self {$(Self::$name => $text,)*}
            }

            /// Returns the mainline release that added the instructions; `None` if every kernel with BTF has
            /// them.
            pub const fn release(self) -> Option<KernelVersion> {
                match self.change() {
                    Some(change) => Some(change.release),
                    None => None,
                }
            }

            /// Returns the change that added the instructions; `None` if every kernel with BTF has them.
            pub(super) const fn change(self) -> Option<Change> {
                match self {$(Self::$name => $change,)*}
            }
        }
    };
}

/// The marks of the instruction set `v4`, which was merged as one series.
const V4: Option<Change> = Some(Change::new(
    6,
    6,
    &[
        Function(Func::coerce_reg_to_size_sx),
        Enumerator(Enum::bpf_attach_type, "BPF_TCX_INGRESS"),
        Enumerator(Enum::bpf_attach_type, "BPF_TRACE_UPROBE_MULTI"),
    ],
));

insn_features! {
    /// 32-bit arithmetic.
    Alu32 "32-bit arithmetic" None;
    /// Calls of functions of the program (4.16).
    FunctionCall "calls of functions" None;
    /// Jumps that compare 32 bits (5.1, `-mcpu=v3`).
    Jmp32 "32-bit jumps" Some(Change::new(5, 1, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_spin_lock")]));
    /// Addresses of map values, `BPF_PSEUDO_MAP_VALUE` (5.2): global variables.
    MapValueAddress "addresses of map values" Some(Change::new(
        5,
        2,
        &[Enumerator(Enum::bpf_cmd, "BPF_MAP_FREEZE"), Enumerator(Enum::bpf_func_id, "BPF_FUNC_strtol")],
    ));
    /// Jumps backwards (5.3): bounded loops.
    BackwardJump "jumps backwards" Some(Change::new(
        5,
        3,
        &[Member(Struct::bpf_verifier_state, "branches"), Enumerator(Enum::bpf_func_id, "BPF_FUNC_send_signal")],
    ));
    /// Global functions, which the verifier checks on their own (5.6). Older kernels check them as static
    /// functions.
    GlobalFunction "global functions" Some(Change::new(5, 6, &[Member(Struct::bpf_prog_aux, "func_info_aux")]));
    /// Addresses of kernel variables, `BPF_PSEUDO_BTF_ID` (5.10).
    KernelVariableAddress "addresses of kernel variables"
        Some(Change::new(5, 10, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_per_cpu_ptr")]));
    /// Tail calls in programs with several functions (5.10). Only compiled programs may have both.
    TailCallWithFunctions "tail calls in programs with several functions"
        Some(Change::new(5, 10, &[Member(Struct::bpf_prog_aux, "tail_call_reachable")]));
    /// Atomic instructions other than a 32-bit or 64-bit add without fetch (5.12).
    Atomics "atomic instructions" Some(Change::new(
        5,
        12,
        &[
            Enumerator(Enum::bpf_func_id, "BPF_FUNC_check_mtu"),
            Function(Func::check_atomic),
            Function(Func::check_atomic_rmw),
        ],
    ));
    /// Addresses of functions, `BPF_PSEUDO_FUNC` (5.13): callbacks.
    FunctionAddress "addresses of functions" Some(Change::new(
        5,
        13,
        &[Member(Struct::bpf_func_state, "in_callback_fn"), Enumerator(Enum::bpf_reg_type, "PTR_TO_FUNC")],
    ));
    /// Calls of kernel functions, `BPF_PSEUDO_KFUNC_CALL` (5.13).
    KfuncCall "calls of kernel functions" Some(Change::new(5, 13, &[Member(Struct::bpf_prog_aux, "kfunc_tab")]));
    /// Maps by index, `BPF_PSEUDO_MAP_IDX` (5.14).
    MapIndex "maps by index" Some(Change::new(5, 14, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_sys_bpf")]));
    /// Calls of functions of kernel modules (5.16).
    ModuleKfuncCall "calls of functions of modules"
        Some(Change::new(5, 16, &[Member(Struct::bpf_prog_aux, "kfunc_btf_tab")]));
    /// Addresses of kernel functions, `BPF_PSEUDO_BTF_ID` (6.4): tests of weak kfuncs.
    KernelFunctionAddress "addresses of kernel functions"
        Some(Change::new(6, 4, &[Enumerator(Enum::bpf_prog_type, "BPF_PROG_TYPE_NETFILTER")]));
    /// Loads that extend the sign, `BPF_MEMSX` (6.6, `-mcpu=v4`).
    LoadSignExtended "loads with sign extension" V4;
    /// Moves that extend the sign (6.6, `-mcpu=v4`).
    MoveSignExtended "moves with sign extension" V4;
    /// Unconditional byte swaps (6.6, `-mcpu=v4`).
    ByteSwap "unconditional byte swaps" V4;
    /// Signed divisions and remainders (6.6, `-mcpu=v4`).
    SignedDivision "signed division" V4;
    /// Jumps with a 32-bit offset, `gotol` (6.6, `-mcpu=v4`).
    LongJump "gotol" V4;
    /// `may_goto` (6.9).
    MayGoto "may_goto" Some(Change::new(6, 9, &[Member(Struct::bpf_verifier_state, "may_goto_depth")]));
    /// Casts between address spaces (6.9): arenas.
    AddressSpaceCast "address space casts" Some(Change::new(
        6,
        9,
        &[Enumerator(Enum::bpf_map_type, "BPF_MAP_TYPE_ARENA"), Enumerator(Enum::bpf_reg_type, "PTR_TO_ARENA")],
    ));
    /// Loads that acquire and stores that release (6.15).
    LoadAcquireStoreRelease "load-acquire and store-release" Some(Change::new(
        6,
        15,
        &[
            Member(Struct::bpf_insn_aux_data, "live_regs_before"),
            Function(Func::check_load_mem),
            Function(Func::check_store_reg),
        ],
    ));
    /// Indirect jumps, `gotox` (6.19).
    IndirectJump "gotox" Some(Change::new(
        6,
        19,
        &[Enumerator(Enum::bpf_map_type, "BPF_MAP_TYPE_INSN_ARRAY"), Enumerator(Enum::bpf_reg_type, "PTR_TO_INSN")],
    ));
    /// Loads and stores of arguments on the stack, by register 11 (7.2): functions of more than five
    /// arguments.
    StackArguments "arguments on the stack" Some(Change::new(
        7,
        2,
        &[Member(Struct::bpf_subprog_info, "stack_arg_cnt"), Member(Struct::bpf_func_state, "out_stack_arg_cnt")],
    ));
}

/// Programs that may sleep, `BPF_F_SLEEPABLE`.
pub(super) const SLEEPABLE_PROGRAMS: Change =
    Change::new(5, 10, &[Member(Struct::bpf_prog_aux, "sleepable"), Member(Struct::bpf_prog, "sleepable")]);

/// Global functions that nothing calls are not verified.
pub(super) const LAZY_VERIFICATION: Change = Change::new(
    6,
    8,
    &[Member(Struct::bpf_func_info_aux, "called"), Member(Struct::bpf_func_info_aux, "verified")],
);

/// Pointers to memory as parameters of global functions. Older kernels know pointers to the context alone.
pub(super) const POINTER_ARGUMENTS: Change =
    Change::new(5, 12, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_check_mtu"), Function(Func::check_mem_reg)]);

/// `bpf_get_attach_cookie`, which libbpf's `LINUX_HAS_BPF_COOKIE` stands for.
pub(super) const ATTACH_COOKIE: Change =
    Change::new(5, 15, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_get_attach_cookie")]);

/// Enumerators that every kernel since a release has, in order of release.
pub(super) const RELEASES: &[Change] = &[
    Change::new(5, 2, &[Enumerator(Enum::bpf_cmd, "BPF_MAP_FREEZE")]),
    Change::new(5, 5, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_probe_read_kernel")]),
    Change::new(5, 8, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_ringbuf_output")]),
    Change::new(5, 10, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_per_cpu_ptr")]),
    Change::new(5, 11, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_task_storage_get")]),
    Change::new(5, 12, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_check_mtu")]),
    Change::new(5, 13, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_snprintf")]),
    Change::new(5, 14, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_sys_bpf")]),
    Change::new(5, 15, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_timer_init")]),
    Change::new(5, 17, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_loop")]),
    Change::new(5, 19, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_kptr_xchg")]),
    Change::new(6, 1, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_user_ringbuf_drain")]),
    Change::new(6, 2, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_cgrp_storage_get")]),
    Change::new(6, 4, &[Enumerator(Enum::bpf_prog_type, "BPF_PROG_TYPE_NETFILTER")]),
    Change::new(6, 6, &[Enumerator(Enum::bpf_attach_type, "BPF_TCX_INGRESS")]),
    Change::new(6, 7, &[Enumerator(Enum::bpf_attach_type, "BPF_NETKIT_PRIMARY")]),
    Change::new(6, 9, &[Enumerator(Enum::bpf_cmd, "BPF_TOKEN_CREATE")]),
    Change::new(6, 10, &[Enumerator(Enum::bpf_attach_type, "BPF_TRACE_KPROBE_SESSION")]),
    Change::new(6, 13, &[Enumerator(Enum::bpf_attach_type, "BPF_TRACE_UPROBE_SESSION")]),
    Change::new(6, 17, &[Enumerator(Enum::bpf_cmd, "BPF_PROG_STREAM_READ_BY_FD")]),
    Change::new(6, 19, &[Enumerator(Enum::bpf_map_type, "BPF_MAP_TYPE_INSN_ARRAY")]),
];
