//! [`Program`]: a program of a skeleton, with the attach methods of its kind.

use super::kind;
use crate::{
    attach::{
        AttachError, CgroupOptions, FileRef, IterOptions, KprobeMultiOptions, KprobeOptions, KprobeSet,
        KsyscallOptions, Link, NetfilterHook, PerfEventOptions, RawTracepointOptions, TraceMultiOptions,
        TraceSet, TracepointOptions, UprobeMultiOptions, UprobeOptions, UprobeSet,
    },
    load::{Loaded, LoadedProgram},
};
use alloc::sync::Arc;
use core::{fmt, marker::PhantomData};
use std::{os::fd::OwnedFd, path::Path};

/// The target of a program that its section names, such as `kprobe/vfs_read`.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a type parameter without values")]
pub enum InSection {}

/// No target in the section's name, such as `kprobe`.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a type parameter without values")]
pub enum NoTarget {}

/// A program of a loaded object. `K` is its [`kind`], `T` says whether its section names the target.
///
/// A program that was not loaded, by [`autoload`](crate::load_plan::ProgramSettings::autoload), has no descriptor, and attaching fails.
pub struct Program<K, T = NoTarget> {
    loaded: Arc<Loaded>,
    name: &'static str,
    kind: PhantomData<fn() -> (K, T)>,
}

impl<K, T> Program<K, T> {
    /// Creates the handle of a program.
    pub fn new(loaded: &Arc<Loaded>, name: &'static str) -> Self {
        Self { loaded: Arc::clone(loaded), name, kind: PhantomData }
    }

    /// Creates the handle of a program, if the program was loaded.
    pub fn optional(loaded: &Arc<Loaded>, name: &'static str) -> Option<Self> {
        loaded.program(name).map(|_| Self::new(loaded, name))
    }

    /// Returns the program's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the loaded program, with its descriptor and log, or `None` if the program was not loaded.
    pub fn loaded(&self) -> Option<&LoadedProgram> {
        self.loaded.program(self.name)
    }
}

impl<K> Program<K, InSection> {
    /// Attaches the program to the target that its section names.
    pub fn attach(&self) -> Result<Link, AttachError> {
        self.loaded.attach(self.name)
    }
}

impl<T> Program<kind::Kprobe, T> {
    /// Attaches the program to a kernel function, see [`attach::kprobe`](crate::attach::kprobe()).
    pub fn attach_to(&self, function: &str, options: &KprobeOptions) -> Result<Link, AttachError> {
        self.loaded.attach_kprobe(self.name, function, options)
    }
}

impl<T> Program<kind::TraceMulti, T> {
    /// Attaches the program to many kernel functions, see [`attach::trace_multi`](crate::attach::trace_multi()).
    pub fn attach_to(
        &self,
        functions: TraceSet<'_>,
        options: &TraceMultiOptions<'_>,
    ) -> Result<Link, AttachError> {
        self.loaded.attach_trace_multi(self.name, functions, options)
    }
}

impl<T> Program<kind::KprobeMulti, T> {
    /// Attaches the program to many kernel functions, see [`attach::kprobe_multi`](crate::attach::kprobe_multi()).
    pub fn attach_to(
        &self,
        functions: KprobeSet<'_>,
        options: &KprobeMultiOptions<'_>,
    ) -> Result<Link, AttachError> {
        self.loaded.attach_kprobe_multi(self.name, functions, options)
    }
}

impl<T> Program<kind::Ksyscall, T> {
    /// Attaches the program to a system call, see [`attach::ksyscall`](crate::attach::ksyscall()).
    pub fn attach_to(&self, syscall: &str, options: &KsyscallOptions) -> Result<Link, AttachError> {
        self.loaded.attach_ksyscall(self.name, syscall, options)
    }
}

impl<T> Program<kind::Uprobe, T> {
    /// Attaches the program to a location in a binary, see [`attach::uprobe`](crate::attach::uprobe()).
    pub fn attach_to(
        &self,
        binary: impl AsRef<Path>,
        options: &UprobeOptions<'_>,
    ) -> Result<Link, AttachError> {
        self.loaded.attach_uprobe(self.name, binary, options)
    }
}

impl<T> Program<kind::UprobeMulti, T> {
    /// Attaches the program to many locations in a binary, see [`attach::uprobe_multi`](crate::attach::uprobe_multi()).
    pub fn attach_to(
        &self,
        binary: impl AsRef<Path>,
        locations: UprobeSet<'_>,
        options: &UprobeMultiOptions<'_>,
    ) -> Result<Link, AttachError> {
        self.loaded.attach_uprobe_multi(self.name, binary, locations, options)
    }
}

#[cfg(feature = "usdt")]
impl<T> Program<kind::Usdt, T> {
    /// Attaches the program to a USDT probe, see [`attach::usdt`](crate::attach::usdt()).
    pub fn attach_to(
        &self,
        binary: impl AsRef<Path>,
        provider: &str,
        name: &str,
        options: &crate::attach::UsdtOptions,
    ) -> Result<Link, AttachError> {
        self.loaded.attach_usdt(self.name, binary, provider, name, options)
    }
}

impl<T> Program<kind::Tracepoint, T> {
    /// Attaches the program to a tracepoint, see [`attach::tracepoint`](crate::attach::tracepoint()).
    pub fn attach_to(
        &self,
        category: &str,
        name: &str,
        options: &TracepointOptions,
    ) -> Result<Link, AttachError> {
        self.loaded.attach_tracepoint(self.name, category, name, options)
    }
}

impl<T> Program<kind::RawTracepoint, T> {
    /// Attaches the program to a raw tracepoint, see [`attach::raw_tracepoint`](crate::attach::raw_tracepoint()).
    pub fn attach_to(&self, name: &str, options: &RawTracepointOptions) -> Result<Link, AttachError> {
        self.loaded.attach_raw_tracepoint(self.name, name, options)
    }
}

impl<T> Program<kind::Iter, T> {
    /// Attaches the iterator to a part of its objects, such as one map, see [`attach::iter`](crate::attach::iter()).
    pub fn attach_to(&self, options: &IterOptions<'_>) -> Result<Link, AttachError> {
        self.loaded.attach_iter(self.name, options)
    }
}

impl<T> Program<kind::PerfEvent, T> {
    /// Attaches the program to a perf event, see [`attach::perf_event`](crate::attach::perf_event()).
    pub fn attach_to(&self, event: OwnedFd, options: &PerfEventOptions) -> Result<Link, AttachError> {
        self.loaded.attach_perf_event(self.name, event, options)
    }
}

impl<T> Program<kind::Cgroup, T> {
    /// Attaches the program to a cgroup, by path or descriptor, see [`attach::cgroup`](crate::attach::cgroup()).
    pub fn attach_to<'c>(
        &self,
        cgroup: impl Into<FileRef<'c>>,
        options: &CgroupOptions<'_>,
    ) -> Result<Link, AttachError> {
        self.loaded.attach_cgroup(self.name, cgroup, options)
    }
}

impl<T> Program<kind::Netns, T> {
    /// Attaches the program to a network namespace, by path or descriptor, see [`attach::netns`](crate::attach::netns()).
    pub fn attach_to<'n>(&self, netns: impl Into<FileRef<'n>>) -> Result<Link, AttachError> {
        self.loaded.attach_netns(self.name, netns)
    }
}

impl<T> Program<kind::Sockmap, T> {
    /// Attaches the program to one of the object's sockmaps or sockhashes, by name, see
    /// [`attach::sockmap`](crate::attach::sockmap()).
    pub fn attach_to(&self, map: &str) -> Result<Link, AttachError> {
        self.loaded.attach_sockmap(self.name, map)
    }
}

impl<T> Program<kind::Netfilter, T> {
    /// Attaches the program to a netfilter hook, see [`attach::netfilter`](crate::attach::netfilter()).
    pub fn attach_to(&self, hook: NetfilterHook) -> Result<Link, AttachError> {
        self.loaded.attach_netfilter(self.name, hook)
    }
}

impl<T> Program<kind::Lirc, T> {
    /// Attaches the program to an infrared receiver, by path or descriptor, see [`attach::lirc`](crate::attach::lirc()).
    pub fn attach_to<'d>(&self, device: impl Into<FileRef<'d>>) -> Result<Link, AttachError> {
        self.loaded.attach_lirc(self.name, device)
    }
}

#[cfg(feature = "netlink")]
mod interface {
    use super::{Program, kind};
    use crate::attach::{AttachError, InterfaceRef, Link, Placement, TcAttachPoint, TcOptions, XdpMode};

    impl<T> Program<kind::Xdp, T> {
        /// Attaches the program to a network interface, by name or index, see [`attach::xdp`](crate::attach::xdp()).
        pub fn attach_to<'i>(
            &self,
            interface: impl Into<InterfaceRef<'i>>,
            mode: XdpMode,
        ) -> Result<Link, AttachError> {
            self.loaded.attach_xdp(self.name, interface, mode)
        }
    }

    impl<T> Program<kind::Tc, T> {
        /// Attaches the program by a tcx link (Linux 6.6 and later), see [`attach::tcx`](crate::attach::tcx()).
        pub fn attach_tcx<'i>(
            &self,
            interface: impl Into<InterfaceRef<'i>>,
            placement: &Placement<'_>,
        ) -> Result<Link, AttachError> {
            self.loaded.attach_tcx(self.name, interface, placement)
        }

        /// Attaches the program as a filter of traffic control over netlink, see [`attach::TcHook`](crate::attach::TcHook).
        pub fn attach_tc<'i>(
            &self,
            interface: impl Into<InterfaceRef<'i>>,
            attach_point: TcAttachPoint,
            options: TcOptions,
        ) -> Result<Link, AttachError> {
            self.loaded.attach_tc(self.name, interface, attach_point, options)
        }
    }

    impl<T> Program<kind::Netkit, T> {
        /// Attaches the program to a netkit device, see [`attach::netkit`](crate::attach::netkit()).
        pub fn attach_to<'i>(
            &self,
            interface: impl Into<InterfaceRef<'i>>,
            placement: &Placement<'_>,
        ) -> Result<Link, AttachError> {
            self.loaded.attach_netkit(self.name, interface, placement)
        }
    }
}

impl<K, T> Clone for Program<K, T> {
    fn clone(&self) -> Self {
        Self::new(&self.loaded, self.name)
    }
}

impl<K, T> fmt::Debug for Program<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Program").field(&self.name).finish()
    }
}
