//! The options for the kernels that a command works on.

use crate::byte_count;
#[cfg(feature = "fetch")]
use crate::input::fetched_args::FetchedKernelArgs;
use clap::{Args, ValueHint};
use core_relo_kernels::{KernelPaths, Limits};
use std::path::PathBuf;

/// The kernels to relocate against
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct KernelArgs {
    /// Kernel to relocate against: raw BTF, an ELF with .BTF (vmlinux, .ko, BPF object), a vmlinuz, a package
    /// (.deb, .rpm, .apk, pacman), a tar archive or a directory of them; `-` is stdin; may be given several
    /// times, also for packages of one kernel [default: the running kernel]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) btf: Vec<PathBuf>,
    #[cfg(feature = "fetch")]
    #[command(flatten)]
    pub(crate) fetched: FetchedKernelArgs,
    /// BTF of modules (split BTF, .ko, .ko.xz and the like, a package, or a directory of them) that belong to
    /// the kernel; may be given several times
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) module: Vec<PathBuf>,
    /// Base of a split --btf [default: `vmlinux` in the same directory]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) base: Option<PathBuf>,
    /// Limit for a kernel's file, and for everything that is unpacked from it: bytes, or 512K, 64M, 1G. An
    /// archive may unpack to 64 times as much [default: 1 GiB, and at most 64 times the size of the
    /// compressed file, but 64 MiB of any file and 512 MiB of any archive]
    #[arg(long, value_name = "N", value_parser = byte_count::parse)]
    pub(crate) max_bytes: Option<u64>,
}

impl KernelArgs {
    /// Returns whether kernels are named.
    pub(crate) const fn names_kernels(&self) -> bool {
        self.names_fetched() || !self.btf.is_empty()
    }

    /// Returns whether fetched kernels are named.
    pub(crate) const fn names_fetched(&self) -> bool {
        #[cfg(feature = "fetch")]
        return !self.fetched.kernels.is_empty();
        #[cfg(not(feature = "fetch"))]
        return false;
    }

    /// Names kernels of distributions, as the options do. Without the feature `fetch`, there are none.
    #[cfg(feature = "fetch")]
    pub(crate) fn with_specs(mut self, specs: &[String]) -> Self {
        self.fetched.kernels = specs.to_vec();
        self
    }

    /// Names kernels of distributions, as the options do. Without the feature `fetch`, there are none.
    #[cfg(not(feature = "fetch"))]
    pub(crate) fn with_specs(self, _specs: &[String]) -> Self {
        self
    }

    /// Returns the paths of the kernels and modules, without fetched kernels.
    pub(crate) fn paths(&self) -> KernelPaths {
        let mut paths = KernelPaths::new(&self.btf);
        paths.modules.clone_from(&self.module);
        paths.base.clone_from(&self.base);
        paths.limits = Limits::new(self.max_bytes);
        paths
    }
}
