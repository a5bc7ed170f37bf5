//! Kinds of programs: the type parameter of [`Program`](super::Program), which decides the attach methods.

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[expect(clippy::exhaustive_enums, reason = "a type parameter without values")]
        pub enum $name {}
    )*};
}

kinds! {
    /// `kprobe`, `kretprobe`: a kernel function or its return.
    Kprobe;
    /// `kprobe.multi`, `kretprobe.multi`, `kprobe.session`: many kernel functions.
    KprobeMulti;
    /// `ksyscall`, `kretsyscall`: a system call.
    Ksyscall;
    /// `uprobe`, `uretprobe`: a function of a binary or its return.
    Uprobe;
    /// `uprobe.multi`, `uretprobe.multi`, `uprobe.session`: many functions of a binary.
    UprobeMulti;
    /// `usdt`: a static probe of a binary.
    Usdt;
    /// `tp`, `tracepoint`.
    Tracepoint;
    /// `raw_tp`, `raw_tracepoint`.
    RawTracepoint;
    /// `fentry`, `fexit`, `fmod_ret`, `tp_btf`, `lsm`, `freplace`: the target that the program is loaded for.
    Trace;
    /// `fentry.multi`, `fexit.multi`, `fsession.multi`: many kernel functions.
    TraceMulti;
    /// `iter`.
    Iter;
    /// `perf_event`.
    PerfEvent;
    /// `xdp`.
    Xdp;
    /// `tc`, `tcx`, `classifier`, `action`.
    Tc;
    /// `netkit`.
    Netkit;
    /// `cgroup/…`, `cgroup_skb/…`, `sockops`, `lsm_cgroup`.
    Cgroup;
    /// `sk_lookup`, `flow_dissector`.
    Netns;
    /// `sk_skb`, `sk_msg`.
    Sockmap;
    /// `netfilter`.
    Netfilter;
    /// `lirc_mode2`.
    Lirc;
    /// Programs that are not attached by themselves: `socket`, `syscall`, `struct_ops`, `xdp/devmap`, `sk_reuseport`, `lwt_…` and others.
    Unattached;
}
