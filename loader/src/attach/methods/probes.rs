//! Attaching programs to functions of the kernel and of binaries.

#[cfg(feature = "usdt")]
use crate::attach::usdt::{self, UsdtOptions};
use crate::attach::{
    AttachError, KprobeMultiOptions, KprobeOptions, KprobeSet, KsyscallOptions, Link, ProgramRef,
    TraceMultiOptions, TraceSet, kprobe, kprobe_multi, trace_multi,
};
#[cfg(feature = "uprobe")]
use crate::attach::{UprobeMultiOptions, UprobeOptions, UprobeSet, uprobe, uprobe_multi};
#[cfg(feature = "uprobe")]
use std::{os::fd::AsFd, path::Path};

impl ProgramRef<'_> {
    /// Attaches the program to a kernel function (libbpf: `bpf_program__attach_kprobe_opts`).
    ///
    /// `function` is a name, or an address in hexadecimal, `0xffffffff81000000`, for one of several functions
    /// of a name. An offset from a symbol with a unique name, such as `_text`, names a place in any function.
    ///
    /// Fails if the kernel has no such function (`ENOENT`), has several functions of that name
    /// (`EADDRNOTAVAIL`), or forbids probes on it (`EINVAL`).
    pub fn attach_kprobe(&self, function: &str, options: &KprobeOptions) -> Result<Link, AttachError> {
        kprobe::kprobe(self.fd, function, options).map_err(|e| self.named(e))
    }

    /// Attaches the program to many kernel functions (libbpf: `bpf_program__attach_kprobe_multi_opts`).
    pub fn attach_kprobe_multi(
        &self,
        functions: KprobeSet<'_>,
        options: &KprobeMultiOptions<'_>,
    ) -> Result<Link, AttachError> {
        kprobe_multi::kprobe_multi(self.fd, functions, options).map_err(|e| self.named(e))
    }

    /// Attaches the program to many kernel functions (libbpf: `bpf_program__attach_tracing_multi`). The
    /// program's section is `fentry.multi`, `fexit.multi` or `fsession.multi`.
    ///
    /// The kernel refuses the whole link if one of the functions cannot be traced. A pattern selects only
    /// functions that tracefs lists as traceable, that no other symbol has the name of, and whose parameters
    /// and result trampolines support: at most 12 parameters of at most 16 bytes, and no struct as result.
    pub fn attach_trace_multi(
        &self,
        functions: TraceSet<'_>,
        options: &TraceMultiOptions<'_>,
    ) -> Result<Link, AttachError> {
        let attach_type = self.expect_attach_type("fentry.multi")?;
        trace_multi::trace_multi(self.fd, attach_type, functions, options).map_err(|e| self.named(e))
    }

    /// Attaches the program to the function that implements a system call (libbpf:
    /// `bpf_program__attach_ksyscall`).
    ///
    /// `syscall` is the name without a prefix, such as `unlinkat`. Fails like
    /// [`attach_kprobe`](Self::attach_kprobe).
    pub fn attach_ksyscall(&self, syscall: &str, options: &KsyscallOptions) -> Result<Link, AttachError> {
        kprobe::ksyscall(self.fd, syscall, options).map_err(|e| self.named(e))
    }

    /// Attaches the program to a location in a binary (libbpf: `bpf_program__attach_uprobe_opts`).
    ///
    /// The binary is a path, a name that is searched for in `PATH` or in the library directories, or
    /// `archive!/member` for an uncompressed member of a ZIP archive. With a process in a container, paths
    /// and names are those of the process.
    #[cfg(feature = "uprobe")]
    pub fn attach_uprobe(
        &self,
        binary: impl AsRef<Path>,
        options: &UprobeOptions<'_>,
    ) -> Result<Link, AttachError> {
        uprobe::uprobe(self.fd, binary, options).map_err(|e| self.named(e))
    }

    /// Attaches the program to many locations in a binary (libbpf: `bpf_program__attach_uprobe_multi`).
    ///
    /// The binary is a path, or a name that is searched for in `PATH` or in the library directories.
    #[cfg(feature = "uprobe")]
    pub fn attach_uprobe_multi(
        &self,
        binary: impl AsRef<Path>,
        locations: UprobeSet<'_>,
        options: &UprobeMultiOptions<'_>,
    ) -> Result<Link, AttachError> {
        uprobe_multi::uprobe_multi(self.fd, binary, locations, options).map_err(|e| self.named(e))
    }

    /// Attaches the program to many locations in an open binary (kernels from 7.2), also if the binary was
    /// deleted or replaced since it was opened, or is in another mount namespace.
    #[cfg(feature = "uprobe")]
    pub fn attach_uprobe_multi_file(
        &self,
        binary: &impl AsFd,
        locations: UprobeSet<'_>,
        options: &UprobeMultiOptions<'_>,
    ) -> Result<Link, AttachError> {
        uprobe_multi::uprobe_multi_file(self.fd, binary, locations, options).map_err(|e| self.named(e))
    }

    /// Attaches the program to all locations of a USDT probe in a binary (libbpf:
    /// `bpf_program__attach_usdt`).
    ///
    /// The binary is a path, or a name that is searched for in `PATH` or in the library directories.
    #[cfg(feature = "usdt")]
    pub fn attach_usdt(
        &self,
        binary: impl AsRef<Path>,
        provider: &str,
        name: &str,
        options: &UsdtOptions,
    ) -> Result<Link, AttachError> {
        let attach = || {
            let manager =
                self.expect_usdt(format!("usdt/{}:{provider}:{name}", binary.as_ref().display()))?;
            usdt::usdt(self.fd, manager, &binary, provider, name, options)
        };
        attach().map_err(|e| self.named(e))
    }
}
