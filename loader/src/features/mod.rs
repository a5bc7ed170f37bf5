//! What the running kernel can do, asked as late as possible and once.

mod probe;

use crate::sys::{self, Errno};
use alloc::sync::Arc;
use core::fmt;
use std::{
    os::fd::{AsFd as _, OwnedFd},
    sync::OnceLock,
};

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident $text:literal $probe:ident,)*) => {
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

            fn probe(self, token: Option<&OwnedFd>) -> Result<bool, Errno> {
                let token = token.map(|t| t.as_fd());
                match self {$(Self::$name => probe::$probe(token),)*}
            }
        }
    };
}

features! {
    /// Programs and maps have names (4.15).
    Names "names of programs and maps" names,
    /// Instructions may point into a map's value (5.2).
    GlobalData "global variables" global_data,
    /// BTF can be loaded (4.18).
    Btf "BTF" btf,
    /// BTF has functions, programs have records of functions and lines (5.0).
    BtfFunc "functions in BTF" btf_func,
    /// Functions in BTF may be global (5.6).
    BtfGlobalFunc "global functions in BTF" btf_global_func,
    /// BTF has variables and sections (5.2).
    BtfDatasec "variables and sections in BTF" btf_datasec,
    /// Arrays can be mapped into memory (5.5).
    ArrayMmap "arrays mapped into memory" array_mmap,
    /// Programs are loaded with the attach type they are for (4.17).
    ExpectedAttachType "expected attach types" expected_attach_type,
    /// `bpf_probe_read_kernel` and its relatives (5.5).
    ProbeReadKernel "the helper bpf_probe_read_kernel" probe_read_kernel,
    /// A program can hold maps it does not mention (5.10).
    ProgBindMap "maps bound to programs" prog_bind_map,
    /// Modules have BTF (5.11).
    ModuleBtf "BTF of modules" module_btf,
    /// BTF has floating-point numbers (5.13).
    BtfFloat "floating-point numbers in BTF" btf_float,
    /// Perf events are attached by links (5.15).
    PerfLink "links of perf events" perf_link,
    /// BTF has declaration tags (5.16).
    BtfDeclTag "declaration tags in BTF" btf_decl_tag,
    /// BTF has type tags (5.17).
    BtfTypeTag "type tags in BTF" btf_type_tag,
    /// Memory is charged to the cgroup, not to a limit (5.11).
    MemcgAccounting "memory accounting by cgroup" memcg_accounting,
    /// `bpf_get_attach_cookie` (5.15).
    Cookie "attach cookies" cookie,
    /// BTF has 64-bit enumerations (6.0).
    BtfEnum64 "64-bit enumerations in BTF" btf_enum64,
    /// System calls' functions have wrappers named after the architecture (4.17).
    SyscallWrapper "wrappers of system calls" syscall_wrapper,
    /// Many uprobes in one link, filtered by process (6.6; rightly so since 6.11).
    UprobeMulti "links of many uprobes" uprobe_multi,
    /// The verifier knows the tag `arg:ctx` (6.8).
    ArgCtxTag "the tag arg:ctx" arg_ctx_tag,
    /// Sections in BTF may be named `?…` (6.10).
    BtfQmarkDatasec "sections named `?…` in BTF" btf_qmark_datasec,
    /// A load may point anywhere into an arena (7.0).
    FullRangeOffset "offsets beyond 512 MiB in loads of map values" full_range_offset,
}

/// How many there are.
const COUNT: usize = Feature::ALL.len();

/// What a kernel can do.
#[derive(Clone)]
pub struct Features(Arc<Inner>);

struct Inner {
    known: [OnceLock<bool>; COUNT],
    /// Whether what is not known is asked of the running kernel.
    live: bool,
    /// The token to ask with.
    token: Option<Arc<OwnedFd>>,
    /// Whether it is known that the kernel may be asked.
    may_ask: OnceLock<()>,
}

impl Features {
    /// The running kernel's: each is asked when it is first needed, once for the whole process.
    pub fn running() -> Self {
        static RUNNING: OnceLock<Features> = OnceLock::new();
        RUNNING.get_or_init(|| Self::asking(None)).clone()
    }

    /// The running kernel's, asked with a BPF token.
    pub fn with_token(token: Arc<OwnedFd>) -> Self {
        Self::asking(Some(token))
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
        Self(Arc::new(Inner { known, live: false, token: None, may_ask: OnceLock::new() }))
    }

    fn asking(token: Option<Arc<OwnedFd>>) -> Self {
        let inner = Inner { known: Default::default(), live: true, token, may_ask: OnceLock::new() };
        Self(Arc::new(inner))
    }

    /// Whether the running kernel lets this process ask, which is to say, load anything.
    ///
    /// Where maps and programs are charged to the limit on locked memory, the limit is raised first: what was loaded a moment ago
    /// counts for a while, and a probe that fails for that would be taken for a kernel that can do less.
    pub fn check(&self) -> Result<(), Errno> {
        if !self.0.live || self.0.may_ask.get().is_some() {
            return Ok(());
        }
        if self.charges_locked_memory()
            && let Err(errno) = sys::raise_memlock_limit()
        {
            log::info!("the limit on locked memory stays: {errno}");
        }
        probe::loading(self.0.token.as_ref().map(|t| t.as_fd()))?;
        self.0.may_ask.get_or_init(|| ());
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
        if !self.0.live {
            return false;
        }
        match feature.probe(self.0.token.as_deref()) {
            Ok(has) => *cell.get_or_init(|| has),
            Err(errno) => {
                log::info!("cannot find out about {}: {errno}", feature.text());
                false
            }
        }
    }

    /// Whether the running kernel is asked.
    pub fn is_live(&self) -> bool {
        self.0.live
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
        assert_eq!(format!("{:?}", Features::running().0.known.len()), COUNT.to_string());
    }

    #[test]
    fn the_running_kernel_answers_where_it_may_be_asked() {
        let running = Features::running();
        if !running.has(Feature::Btf) {
            return println!("SKIP: no BTF can be loaded here");
        }
        // What a kernel of 5.10 has every one has that these tests run on.
        for feature in
            [Feature::Names, Feature::GlobalData, Feature::BtfFunc, Feature::BtfDatasec, Feature::ArrayMmap]
        {
            assert!(running.has(feature), "{feature:?}");
        }
    }
}
