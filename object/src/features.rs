//! Kernel features. Each feature of the running kernel is probed once, when it is first needed.

use crate::errno::Errno;
use alloc::sync::Arc;
use core::fmt;
use std::sync::OnceLock;

macro_rules! features {
    ($($(#[$doc:meta])* $variant:ident $name:literal $text:literal,)*) => {
        /// A feature that some kernels lack: what loads depend on (libbpf: `enum kern_feature_id`), and what
        /// the verifier accepts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Feature {$($(#[$doc])* $variant,)*}

        impl Feature {
            /// All features.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns a short name, such as `btf_float`.
            pub const fn name(self) -> &'static str {
                match self {$(Self::$variant => $name,)*}
            }

            /// Returns a description of the feature.
            pub const fn description(self) -> &'static str {
                match self {$(Self::$variant => $text,)*}
            }
        }
    };
}

features! {
    /// Programs and maps have names (4.15).
    Names "object_names" "program and map names",
    /// Instructions may hold the address of a map's value (5.2).
    GlobalData "global_data" "global variables",
    /// BTF can be loaded (4.18).
    Btf "btf" "BTF",
    /// BTF describes functions; programs have `func_info` and `line_info` (5.0).
    BtfFunc "btf_func" "functions in BTF",
    /// Functions in BTF may be global (5.6).
    BtfGlobalFunc "btf_global_func" "global functions in BTF",
    /// BTF has variables and sections (5.2).
    BtfDatasec "btf_datasec" "variables and sections in BTF",
    /// Arrays can be mapped with mmap(2) (5.5).
    ArrayMmap "array_mmap" "arrays mapped into memory",
    /// Programs are loaded with an expected attach type (4.17).
    ExpectedAttachType "expected_attach_type" "expected attach types",
    /// `bpf_probe_read_kernel` and its variants (5.5).
    ProbeReadKernel "probe_read_kernel" "the helper bpf_probe_read_kernel",
    /// A program can hold maps that its code does not use: `BPF_PROG_BIND_MAP` (5.10).
    ProgBindMap "prog_bind_map" "maps bound to programs",
    /// Kernel modules have BTF (5.11).
    ModuleBtf "module_btf" "BTF of modules",
    /// BTF has floating-point numbers (5.13).
    BtfFloat "btf_float" "floating-point numbers in BTF",
    /// Programs attach to perf events by links (5.15).
    PerfLink "perf_link" "perf event links",
    /// BTF has declaration tags (5.16).
    BtfDeclTag "btf_decl_tag" "declaration tags in BTF",
    /// BTF has type tags (5.17).
    BtfTypeTag "btf_type_tag" "type tags in BTF",
    /// Memory is charged to the cgroup instead of `RLIMIT_MEMLOCK` (5.11).
    MemcgAccounting "memcg_accounting" "memory accounting by cgroup",
    /// `bpf_get_attach_cookie` (5.15).
    Cookie "attach_cookie" "attach cookies",
    /// BTF has 64-bit enumerations (6.0).
    BtfEnum64 "btf_enum64" "64-bit enumerations in BTF",
    /// System call functions have wrappers named after the architecture (4.17).
    SyscallWrapper "syscall_wrapper" "system call wrappers",
    /// Several uprobes in one link, filtered by process (6.6; the filter works since 6.11).
    UprobeMulti "uprobe_multi" "multi-uprobe links",
    /// The verifier knows the tag `arg:ctx` (6.8).
    ArgCtxTag "arg_ctx_tag" "the tag arg:ctx",
    /// Sections in BTF may be named `?…` (6.10).
    BtfQmarkDatasec "btf_qmark_datasec" "sections named `?…` in BTF",
    /// A load may point to any offset of an arena (7.0).
    FullRangeOffset "full_range_offset" "offsets beyond 512 MiB in loads of map values",
    /// Programs of up to a million instructions (5.2). Before, the limit was 4096.
    LargePrograms "large_programs" "programs of more than 4096 instructions",
    /// Jumps backwards, if the verifier finds the end of the loop (5.3).
    BoundedLoops "bounded_loops" "bounded loops",
    /// The instruction set `-mcpu=v2`: jumps that compare with less than (4.14).
    IsaV2 "isa_v2" "instruction set v2",
    /// The instruction set `-mcpu=v3`: 32-bit jumps (5.1).
    IsaV3 "isa_v3" "instruction set v3",
    /// The instruction set `-mcpu=v4`: sign extension, byte swaps, signed division, long jumps (6.6).
    IsaV4 "isa_v4" "instruction set v4",
    /// Atomic instructions that fetch, exchange and compare (5.12).
    Atomics "atomics" "atomic instructions",
    /// Addresses of functions: callbacks (5.13).
    Callbacks "callbacks" "callbacks",
    /// Calls of kernel functions (5.13).
    KfuncCalls "kfunc_calls" "calls of kernel functions",
    /// Loops that the kernel ends, `may_goto` (6.9).
    MayGoto "may_goto" "may_goto",
    /// Loads that acquire and stores that release (6.15).
    LoadAcquireStoreRelease "load_acquire_store_release" "load-acquire and store-release",
    /// struct_ops maps that a link attaches, `BPF_F_LINK` (6.4).
    StructOpsLink "struct_ops_link" "struct_ops maps with a link",
    /// Signatures of programs, in a kernel with `CONFIG_SYSTEM_DATA_VERIFICATION` (6.18).
    ProgSignature "prog_signature" "signatures of programs",
    /// BPF tokens (6.9).
    Token "bpf_token" "BPF tokens",
}

/// The number of features.
const COUNT: usize = Feature::ALL.len();

/// A prober of the running kernel.
pub trait ProbeKernel: Send + Sync {
    /// Probes a feature. A probe leaves nothing loaded in the kernel.
    fn probe(&self, feature: Feature) -> Result<bool, Errno>;

    /// Checks that this process may load programs.
    ///
    /// If maps and programs are charged to `RLIMIT_MEMLOCK`, the implementation raises the limit first.
    /// Otherwise a probe could fail for lack of memory and look like a missing feature: the kernel releases
    /// the charge of a closed program late.
    fn check_permission(&self, charges_locked_memory: bool) -> Result<(), Errno>;
}

/// A kernel's features.
#[derive(Clone)]
pub struct Features(Arc<Inner>);

struct Inner {
    known: [OnceLock<bool>; COUNT],
    /// The prober for unknown features; `None` if all features are known.
    kernel: Option<Box<dyn ProbeKernel>>,
    /// Set once the kernel has permitted this process to load programs.
    is_permitted: OnceLock<()>,
}

impl Features {
    /// The features of the running kernel, each probed when it is first needed.
    pub fn from_probe(kernel: impl ProbeKernel + 'static) -> Self {
        Self::new(core::array::from_fn(|_| OnceLock::new()), Some(Box::new(kernel)))
    }

    fn new(known: [OnceLock<bool>; COUNT], kernel: Option<Box<dyn ProbeKernel>>) -> Self {
        Self(Arc::new(Inner { known, kernel, is_permitted: OnceLock::new() }))
    }

    /// Every feature that this crate knows, for plans without a kernel.
    pub fn newest() -> Self {
        Self::fixed(|_| true)
    }

    /// The features for which `has` returns true, for tests and plans without a kernel.
    pub fn fixed(has: impl Fn(Feature) -> bool) -> Self {
        let known: [OnceLock<bool>; COUNT] = core::array::from_fn(|_| OnceLock::new());
        for (feature, cell) in Feature::ALL.iter().zip(&known) {
            cell.get_or_init(|| has(*feature));
        }
        Self::new(known, None)
    }

    /// Checks that this process may load programs, and so may probe the kernel.
    pub fn check_permission(&self) -> Result<(), Errno> {
        let Some(kernel) = &self.0.kernel else { return Ok(()) };
        if self.0.is_permitted.get().is_none() {
            kernel.check_permission(self.charges_locked_memory())?;
            self.0.is_permitted.get_or_init(|| ());
        }
        Ok(())
    }

    /// Returns whether maps and programs are charged to `RLIMIT_MEMLOCK`.
    ///
    /// Unlike [`has`](Self::has), this does not need permission to load programs: the limit may be the reason
    /// for the refusal.
    pub fn charges_locked_memory(&self) -> bool {
        // The limit itself may refuse the probe.
        !matches!(self.probe(Feature::MemcgAccounting), Ok(true))
    }

    /// Returns whether the kernel has a feature.
    ///
    /// Returns true if this process may not probe the kernel ([`check_permission`](Self::check_permission)),
    /// or if nothing tells ([`probe`](Self::probe)): a plan for a kernel with every feature is the most
    /// useful one. To libbpf's `feat_supported`, a probe that a policy refuses shows an old kernel.
    pub fn has(&self, feature: Feature) -> bool {
        self.check_permission().is_err() || self.probe(feature).unwrap_or(true)
    }

    /// Returns whether the kernel has a feature. Fails with the kernel's error if it does not tell: a policy,
    /// the scope of a BPF token or a lack of resources refuses the probe. Such a probe runs again at the next
    /// call.
    pub fn probe(&self, feature: Feature) -> Result<bool, Errno> {
        let at = Feature::ALL.iter().position(|f| *f == feature);
        let Some(cell) = at.and_then(|at| self.0.known.get(at)) else { return Ok(false) };
        if let Some(known) = cell.get() {
            return Ok(*known);
        }
        let Some(kernel) = &self.0.kernel else { return Ok(false) };
        let result = kernel.probe(feature);
        match result {
            Ok(has) => Ok(*cell.get_or_init(|| has)),
            Err(errno) => {
                log::info!("the kernel does not tell whether it has {}: {errno}", feature.description());
                Err(errno)
            }
        }
    }

    /// Returns whether the running kernel is probed.
    pub fn is_live(&self) -> bool {
        self.0.kernel.is_some()
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |(feature, cell): (&Feature, &OnceLock<bool>)| Some((*feature, *cell.get()?));
        f.debug_map().entries(Feature::ALL.iter().zip(&self.0.known).filter_map(known)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that refuses all probes but one, as under a policy or with a token that delegates little.
    struct Closed;

    impl ProbeKernel for Closed {
        fn probe(&self, feature: Feature) -> Result<bool, Errno> {
            const EPERM: Errno = Errno(1);
            if feature == Feature::BtfFloat { Ok(false) } else { Err(EPERM) }
        }

        fn check_permission(&self, _charges_locked_memory: bool) -> Result<(), Errno> {
            Ok(())
        }
    }

    #[test]
    fn a_refused_probe_is_not_an_old_kernel() {
        let features = Features::from_probe(Closed);
        assert!(features.has(Feature::ProbeReadKernel) && !features.has(Feature::BtfFloat));
        assert_eq!(features.probe(Feature::ProbeReadKernel), Err(Errno(1)));
        // The limit on locked memory is raised: it may be what refuses the probe.
        assert!(features.charges_locked_memory());
    }

    #[test]
    fn fixed_features_are_not_probed() {
        let old = Features::fixed(|f| f == Feature::Btf);
        assert!(old.has(Feature::Btf) && !old.has(Feature::BtfFunc) && !old.is_live());
        assert!(Feature::ALL.iter().all(|f| Features::newest().has(*f)));
    }
}
