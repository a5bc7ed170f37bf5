//! What a kernel can do. The running kernel is probed as late as possible, and once for each feature.

use crate::errno::Errno;
use alloc::sync::Arc;
use core::fmt;
use std::sync::OnceLock;

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// Something that not every kernel can do (libbpf: `enum kern_feature_id`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Feature {$($(#[$doc])* $name,)*}

        impl Feature {
            /// Every one.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What it is, in words.
            pub const fn text(self) -> &'static str {
                match self {$(Self::$name => $text,)*}
            }
        }
    };
}

features! {
    /// Programs and maps have names (4.15).
    Names "names of programs and maps",
    /// Instructions may point into a map's value (5.2).
    GlobalData "global variables",
    /// BTF can be loaded (4.18).
    Btf "BTF",
    /// BTF has functions, programs have records of functions and lines (5.0).
    BtfFunc "functions in BTF",
    /// Functions in BTF may be global (5.6).
    BtfGlobalFunc "global functions in BTF",
    /// BTF has variables and sections (5.2).
    BtfDatasec "variables and sections in BTF",
    /// Arrays can be mapped into memory (5.5).
    ArrayMmap "arrays mapped into memory",
    /// Programs are loaded with the attach type they are for (4.17).
    ExpectedAttachType "expected attach types",
    /// `bpf_probe_read_kernel` and its relatives (5.5).
    ProbeReadKernel "the helper bpf_probe_read_kernel",
    /// A program can hold maps it does not mention (5.10).
    ProgBindMap "maps bound to programs",
    /// Modules have BTF (5.11).
    ModuleBtf "BTF of modules",
    /// BTF has floating-point numbers (5.13).
    BtfFloat "floating-point numbers in BTF",
    /// Perf events are attached by links (5.15).
    PerfLink "links of perf events",
    /// BTF has declaration tags (5.16).
    BtfDeclTag "declaration tags in BTF",
    /// BTF has type tags (5.17).
    BtfTypeTag "type tags in BTF",
    /// Memory is charged to the cgroup, not to a limit (5.11).
    MemcgAccounting "memory accounting by cgroup",
    /// `bpf_get_attach_cookie` (5.15).
    Cookie "attach cookies",
    /// BTF has 64-bit enumerations (6.0).
    BtfEnum64 "64-bit enumerations in BTF",
    /// System calls' functions have wrappers named after the architecture (4.17).
    SyscallWrapper "wrappers of system calls",
    /// Many uprobes in one link, filtered by process (6.6; rightly so since 6.11).
    UprobeMulti "links of many uprobes",
    /// The verifier knows the tag `arg:ctx` (6.8).
    ArgCtxTag "the tag arg:ctx",
    /// Sections in BTF may be named `?…` (6.10).
    BtfQmarkDatasec "sections named `?…` in BTF",
    /// A load may point anywhere into an arena (7.0).
    FullRangeOffset "offsets beyond 512 MiB in loads of map values",
}

/// How many there are.
const COUNT: usize = Feature::ALL.len();

/// Finds out what the running kernel can do.
pub trait ProbeKernel: Send + Sync {
    /// Probes a feature, in a way that leaves nothing behind.
    fn probe(&self, feature: Feature) -> Result<bool, Errno>;

    /// Checks that this process may load programs.
    ///
    /// Where maps and programs are charged to the limit on locked memory, the limit is raised first: what was loaded a moment ago
    /// counts for a while, and a probe that fails for that would be taken for a kernel that can do less.
    fn check_permission(&self, charges_locked_memory: bool) -> Result<(), Errno>;
}

/// What a kernel can do.
#[derive(Clone)]
pub struct Features(Arc<Inner>);

struct Inner {
    known: [OnceLock<bool>; COUNT],
    /// Probes features of the running kernel that are not known yet; none if all are given.
    kernel: Option<Box<dyn ProbeKernel>>,
    /// Set once this process is known to be permitted to load programs.
    is_permitted: OnceLock<()>,
}

impl Features {
    /// What the running kernel can do: each feature is probed when it is first needed.
    pub fn from_probe(kernel: impl ProbeKernel + 'static) -> Self {
        Self::new(Default::default(), Some(Box::new(kernel)))
    }

    fn new(known: [OnceLock<bool>; COUNT], kernel: Option<Box<dyn ProbeKernel>>) -> Self {
        Self(Arc::new(Inner { known, kernel, is_permitted: OnceLock::new() }))
    }

    /// Those of a kernel that can do everything, for plans without a kernel.
    pub fn newest() -> Self {
        Self::fixed(|_| true)
    }

    /// As a caller says, for tests and for plans without a kernel.
    pub fn fixed(has: impl Fn(Feature) -> bool) -> Self {
        let known: [OnceLock<bool>; COUNT] = Default::default();
        for (feature, cell) in Feature::ALL.iter().zip(&known) {
            cell.get_or_init(|| has(*feature));
        }
        Self::new(known, None)
    }

    /// Checks that the running kernel lets this process load programs, and so probe it.
    pub fn check(&self) -> Result<(), Errno> {
        let Some(kernel) = &self.0.kernel else { return Ok(()) };
        if self.0.is_permitted.get().is_none() {
            kernel.check_permission(self.charges_locked_memory())?;
            self.0.is_permitted.get_or_init(|| ());
        }
        Ok(())
    }

    /// Whether maps and programs are charged to the limit on locked memory. Unlike other questions, a process that may load nothing
    /// gets an answer, too: the limit may be what keeps it from loading.
    pub fn charges_locked_memory(&self) -> bool {
        !self.ask(Feature::MemcgAccounting)
    }

    /// Whether the kernel can do it.
    ///
    /// If this process may ask nothing ([`check`](Self::check)), the answer is yes: that makes the most useful plan. A single
    /// probe that cannot be made counts as no, as in libbpf's `feat_supported`, and is made again when asked again.
    pub fn has(&self, feature: Feature) -> bool {
        self.check().is_err() || self.ask(feature)
    }

    fn ask(&self, feature: Feature) -> bool {
        let at = Feature::ALL.iter().position(|f| *f == feature);
        let Some(cell) = at.and_then(|at| self.0.known.get(at)) else { return false };
        if let Some(known) = cell.get() {
            return *known;
        }
        let Some(kernel) = &self.0.kernel else { return false };
        match kernel.probe(feature) {
            Ok(has) => *cell.get_or_init(|| has),
            Err(errno) => {
                log::info!("cannot find out about {}: {errno}", feature.text());
                false
            }
        }
    }

    /// Whether the running kernel is asked.
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

    #[test]
    fn fixed_ones_are_as_said_and_never_asked() {
        let old = Features::fixed(|f| f == Feature::Btf);
        assert!(old.has(Feature::Btf) && !old.has(Feature::BtfFunc) && !old.is_live());
        assert!(Feature::ALL.iter().all(|f| Features::newest().has(*f)));
    }
}
