//! Attaching programs to targets of the kernel that trace: tracepoints, perf events, iterators, and the
//! targets of loads.

use crate::attach::{
    AttachError, FreplaceTarget, IterOptions, Link, PerfEventOptions, ProgramRef, RawTracepointOptions,
    TraceOptions, TracepointOptions, auto, iter, perf_event, trace, tracepoint,
};
use std::os::fd::{BorrowedFd, OwnedFd};

impl ProgramRef<'_> {
    /// Attaches the program to the target that its section name states (libbpf: `bpf_program__attach`).
    ///
    /// Fails with [`AttachError::NoAutoAttach`] if libbpf does not auto-attach programs of this section, or
    /// if the program has another type than its section. Then call the method for the target, such as
    /// [`attach_xdp`](Self::attach_xdp).
    pub fn attach(&self) -> Result<Link, AttachError> {
        match self.sec_def() {
            Some(_) => auto::auto(self).map_err(|e| self.named(e)),
            None => Err(auto::not_automatic(self.section, self.name)),
        }
    }

    /// Attaches a tracing program to the function or tracepoint that it was loaded for (libbpf:
    /// `bpf_program__attach_trace_opts`).
    pub fn attach_trace(&self, options: &TraceOptions) -> Result<Link, AttachError> {
        let attach_type = self.expect_attach_type("a section such as `fentry/vfs_read`")?;
        trace::trace(self.fd, attach_type, *options).map_err(|e| self.named(e))
    }

    /// Attaches an LSM program to the hook that it was loaded for (libbpf: `bpf_program__attach_lsm`).
    pub fn attach_lsm(&self) -> Result<Link, AttachError> {
        trace::lsm(self.fd).map_err(|e| self.named(e))
    }

    /// Attaches a freplace program (libbpf: `bpf_program__attach_freplace`). Without a target, the program
    /// replaces the function that it was loaded for.
    pub fn attach_freplace(&self, target: Option<FreplaceTarget<'_>>) -> Result<Link, AttachError> {
        trace::freplace(self.fd, target).map_err(|e| self.named(e))
    }

    /// Attaches a freplace program to another program's function by name.
    pub fn attach_freplace_function(
        &self,
        target: BorrowedFd<'_>,
        function: &str,
    ) -> Result<Link, AttachError> {
        trace::freplace_function(self.fd, target, function).map_err(|e| self.named(e))
    }

    /// Attaches the program to a tracepoint, such as `sched`, `sched_switch` (libbpf:
    /// `bpf_program__attach_tracepoint_opts`).
    pub fn attach_tracepoint(
        &self,
        category: &str,
        name: &str,
        options: &TracepointOptions,
    ) -> Result<Link, AttachError> {
        tracepoint::tracepoint(self.fd, category, name, *options).map_err(|e| self.named(e))
    }

    /// Attaches the program to a raw tracepoint, such as `sched_switch` (libbpf:
    /// `bpf_program__attach_raw_tracepoint_opts`).
    pub fn attach_raw_tracepoint(
        &self,
        name: &str,
        options: &RawTracepointOptions,
    ) -> Result<Link, AttachError> {
        tracepoint::raw_tracepoint(self.fd, name, *options).map_err(|e| self.named(e))
    }

    /// Attaches the program to a perf event, such as one of
    /// [`open_perf_counter`](crate::attach::open_perf_counter) (libbpf:
    /// `bpf_program__attach_perf_event_opts`). The link takes ownership of the event.
    pub fn attach_perf_event(&self, event: OwnedFd, options: &PerfEventOptions) -> Result<Link, AttachError> {
        perf_event::perf_event(self.fd, event, options).map_err(|e| self.named(e))
    }

    /// Attaches an iterator (libbpf: `bpf_program__attach_iter`). The program runs when an
    /// [`IterReader`](crate::attach::IterReader) of the link is read.
    pub fn attach_iter(&self, options: &IterOptions<'_>) -> Result<Link, AttachError> {
        iter::iter(self.fd, options).map_err(|e| self.named(e))
    }
}
