//! The table of section names and their program types: libbpf's `section_defs`, as of the development after
//! libbpf 1.7.
//!
//! libbpf 1.7 lacks `tracepoint.s`, `tp.s`, `raw_tracepoint.s`, `raw_tp.s`, `tp_btf.s`, and `fentry.multi`,
//! `fexit.multi`, `fsession.multi`, with and without `.s`.

use super::kernel_enums::{AttachType as A, MultiKind, ProgramType as P};

/// The rule for matching a section's name with a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SecMatch {
    /// The section's name equals the row's name.
    Exact,
    /// The section's name is the row's name, optionally followed by `/` and a target (libbpf: `name+`).
    WithTarget,
}

/// Properties of the programs in a section, besides their type.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecFlags(u8);

const NONE: u8 = 0;
const OPTIONAL: u8 = 1;
const ATTACHABLE: u8 = 2;
const ATTACH_BTF: u8 = 4;
const SLEEPABLE: u8 = 8;
const XDP_FRAGS: u8 = 16;
const USDT: u8 = 32;

impl SecFlags {
    /// Returns whether the expected attach type is left out for kernels that do not support it
    /// (`SEC_EXP_ATTACH_OPT`).
    pub const fn attach_type_is_optional(self) -> bool {
        self.has(OPTIONAL)
    }

    /// Returns whether `BPF_PROG_ATTACH` can attach the program (`SEC_ATTACHABLE`, which libbpf uses for its
    /// name tables only).
    pub const fn is_attachable(self) -> bool {
        self.has(ATTACHABLE)
    }

    /// Returns whether the target is a BTF id of the kernel or of another program (`SEC_ATTACH_BTF`).
    pub const fn needs_attach_btf(self) -> bool {
        self.has(ATTACH_BTF)
    }

    /// Returns whether the program may sleep (`BPF_F_SLEEPABLE`).
    pub const fn is_sleepable(self) -> bool {
        self.has(SLEEPABLE)
    }

    /// Returns whether the program accepts multi-buffer packets (`BPF_F_XDP_HAS_FRAGS`).
    pub const fn has_xdp_frags(self) -> bool {
        self.has(XDP_FRAGS)
    }

    /// Returns whether the program is a USDT probe, which is attached as `uprobe.multi` if the kernel
    /// supports that.
    pub const fn is_usdt(self) -> bool {
        self.has(USDT)
    }

    const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

impl core::fmt::Debug for SecFlags {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names = [
            (OPTIONAL, "attach type optional"),
            (ATTACHABLE, "attachable"),
            (ATTACH_BTF, "attach btf"),
            (SLEEPABLE, "sleepable"),
            (XDP_FRAGS, "xdp frags"),
            (USDT, "usdt"),
        ];
        let set = names.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, name)| name);
        f.debug_set().entries(set).finish()
    }
}

/// A row of the table: a section name and the properties of its programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecDef {
    /// The name, without libbpf's trailing `+`.
    pub name: &'static str,
    /// The rule for matching a section's name.
    pub matching: SecMatch,
    /// The program type.
    pub program_type: P,
    /// The expected attach type, if the name implies one.
    pub attach_type: Option<A>,
    /// The other properties.
    pub flags: SecFlags,
    /// The auto-attach method; `None` if libbpf does not attach the programs by their section's name.
    pub(super) auto_attach: Option<AutoAttach>,
}

/// The method by which libbpf attaches a program by its section's name: the `attach_*` function of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AutoAttach {
    Kprobe {
        retprobe: bool,
    },
    KprobeMulti(MultiKind),
    TraceMulti,
    Ksyscall {
        retprobe: bool,
    },
    Uprobe {
        retprobe: bool,
    },
    UprobeMulti(MultiKind),
    Usdt,
    Tracepoint,
    RawTracepoint,
    /// `attach_trace`, `attach_lsm`: the target that the program was loaded for.
    AsLoaded,
    Iter,
}

impl SecDef {
    /// Returns the first row that matches a section's name without its leading `?` (libbpf: `find_sec_def`).
    ///
    /// ```
    /// use core_relo_object::object::{ProgramType, SecDef};
    /// let def = SecDef::find(b"fentry/vfs_read").unwrap();
    /// assert_eq!(def.program_type, ProgramType::Tracing);
    /// assert!(def.flags.needs_attach_btf());
    /// assert_eq!(SecDef::target(b"fentry/vfs_read"), Some(&b"vfs_read"[..]));
    /// assert!(SecDef::find(b"xdp/eth0").is_none());
    /// ```
    pub fn find(section: &[u8]) -> Option<&'static Self> {
        SEC_DEFS.iter().find(|def| def.matches(section))
    }

    /// Returns the part of a section's name after the first `/`.
    pub fn target(section: &[u8]) -> Option<&[u8]> {
        let slash = section.iter().position(|b| *b == b'/')?;
        section.get(slash.checked_add(1)?..)
    }

    fn matches(&self, section: &[u8]) -> bool {
        match (section.strip_prefix(self.name.as_bytes()), self.matching) {
            (Some([]), _) | (Some([b'/', ..]), SecMatch::WithTarget) => true,
            (Some(_) | None, _) => false,
        }
    }
}

const fn exact(name: &'static str, program_type: P, attach_type: Option<A>, flags: u8) -> SecDef {
    SecDef {
        name,
        matching: SecMatch::Exact,
        program_type,
        attach_type,
        flags: SecFlags(flags),
        auto_attach: None,
    }
}

const fn with_target(name: &'static str, program_type: P, attach_type: Option<A>, flags: u8) -> SecDef {
    SecDef {
        name,
        matching: SecMatch::WithTarget,
        program_type,
        attach_type,
        flags: SecFlags(flags),
        auto_attach: None,
    }
}

impl A {
    /// Returns the type of the programs with this attach type. Programs of several types attach to perf
    /// events: PERF_EVENT stands for them.
    pub fn program_type(self) -> Option<P> {
        match self {
            Self::PerfEvent => Some(P::PerfEvent),
            Self::StructOps => Some(P::StructOps),
            _ => SEC_DEFS.iter().find(|def| def.attach_type == Some(self)).map(|def| def.program_type),
        }
    }
}

impl SecDef {
    const fn attached(self, method: AutoAttach) -> Self {
        Self { auto_attach: Some(method), ..self }
    }
}

const KPROBE: AutoAttach = AutoAttach::Kprobe { retprobe: false };
const KRETPROBE: AutoAttach = AutoAttach::Kprobe { retprobe: true };
const UPROBE: AutoAttach = AutoAttach::Uprobe { retprobe: false };
const URETPROBE: AutoAttach = AutoAttach::Uprobe { retprobe: true };
const KSYSCALL: AutoAttach = AutoAttach::Ksyscall { retprobe: false };
const KRETSYSCALL: AutoAttach = AutoAttach::Ksyscall { retprobe: true };

/// All section names of libbpf, in its order. The first match counts.
#[rustfmt::skip]
pub static SEC_DEFS: &[SecDef] = &[
    exact("socket", P::SocketFilter, None, NONE),
    exact("sk_reuseport/migrate", P::SkReuseport, Some(A::SkReuseportSelectOrMigrate), ATTACHABLE),
    exact("sk_reuseport", P::SkReuseport, Some(A::SkReuseportSelect), ATTACHABLE),
    with_target("kprobe", P::Kprobe, None, NONE).attached(KPROBE),
    with_target("uprobe", P::Kprobe, None, NONE).attached(UPROBE),
    with_target("uprobe.s", P::Kprobe, None, SLEEPABLE).attached(UPROBE),
    with_target("kretprobe", P::Kprobe, None, NONE).attached(KRETPROBE),
    with_target("uretprobe", P::Kprobe, None, NONE).attached(URETPROBE),
    with_target("uretprobe.s", P::Kprobe, None, SLEEPABLE).attached(URETPROBE),
    with_target("kprobe.multi", P::Kprobe, Some(A::TraceKprobeMulti), NONE).attached(AutoAttach::KprobeMulti(MultiKind::Entry)),
    with_target("kretprobe.multi", P::Kprobe, Some(A::TraceKprobeMulti), NONE).attached(AutoAttach::KprobeMulti(MultiKind::Return)),
    with_target("kprobe.session", P::Kprobe, Some(A::TraceKprobeSession), NONE).attached(AutoAttach::KprobeMulti(MultiKind::Session)),
    with_target("uprobe.multi", P::Kprobe, Some(A::TraceUprobeMulti), NONE).attached(AutoAttach::UprobeMulti(MultiKind::Entry)),
    with_target("uretprobe.multi", P::Kprobe, Some(A::TraceUprobeMulti), NONE).attached(AutoAttach::UprobeMulti(MultiKind::Return)),
    with_target("uprobe.session", P::Kprobe, Some(A::TraceUprobeSession), NONE).attached(AutoAttach::UprobeMulti(MultiKind::Session)),
    with_target("uprobe.multi.s", P::Kprobe, Some(A::TraceUprobeMulti), SLEEPABLE).attached(AutoAttach::UprobeMulti(MultiKind::Entry)),
    with_target("uretprobe.multi.s", P::Kprobe, Some(A::TraceUprobeMulti), SLEEPABLE).attached(AutoAttach::UprobeMulti(MultiKind::Return)),
    with_target("uprobe.session.s", P::Kprobe, Some(A::TraceUprobeSession), SLEEPABLE).attached(AutoAttach::UprobeMulti(MultiKind::Session)),
    with_target("ksyscall", P::Kprobe, None, NONE).attached(KSYSCALL),
    with_target("kretsyscall", P::Kprobe, None, NONE).attached(KRETSYSCALL),
    with_target("usdt", P::Kprobe, None, USDT).attached(AutoAttach::Usdt),
    with_target("usdt.s", P::Kprobe, None, USDT | SLEEPABLE).attached(AutoAttach::Usdt),
    exact("tc/ingress", P::SchedCls, Some(A::TcxIngress), NONE),
    exact("tc/egress", P::SchedCls, Some(A::TcxEgress), NONE),
    exact("tcx/ingress", P::SchedCls, Some(A::TcxIngress), NONE),
    exact("tcx/egress", P::SchedCls, Some(A::TcxEgress), NONE),
    exact("tc", P::SchedCls, None, NONE),
    exact("classifier", P::SchedCls, None, NONE),
    exact("action", P::SchedAct, None, NONE),
    exact("netkit/primary", P::SchedCls, Some(A::NetkitPrimary), NONE),
    exact("netkit/peer", P::SchedCls, Some(A::NetkitPeer), NONE),
    with_target("tracepoint", P::Tracepoint, None, NONE).attached(AutoAttach::Tracepoint),
    with_target("tp", P::Tracepoint, None, NONE).attached(AutoAttach::Tracepoint),
    with_target("tracepoint.s", P::Tracepoint, None, SLEEPABLE).attached(AutoAttach::Tracepoint),
    with_target("tp.s", P::Tracepoint, None, SLEEPABLE).attached(AutoAttach::Tracepoint),
    with_target("raw_tracepoint", P::RawTracepoint, None, NONE).attached(AutoAttach::RawTracepoint),
    with_target("raw_tp", P::RawTracepoint, None, NONE).attached(AutoAttach::RawTracepoint),
    with_target("raw_tracepoint.s", P::RawTracepoint, None, SLEEPABLE).attached(AutoAttach::RawTracepoint),
    with_target("raw_tp.s", P::RawTracepoint, None, SLEEPABLE).attached(AutoAttach::RawTracepoint),
    with_target("raw_tracepoint.w", P::RawTracepointWritable, None, NONE).attached(AutoAttach::RawTracepoint),
    with_target("raw_tp.w", P::RawTracepointWritable, None, NONE).attached(AutoAttach::RawTracepoint),
    with_target("tp_btf", P::Tracing, Some(A::TraceRawTp), ATTACH_BTF).attached(AutoAttach::AsLoaded),
    with_target("tp_btf.s", P::Tracing, Some(A::TraceRawTp), ATTACH_BTF | SLEEPABLE).attached(AutoAttach::AsLoaded),
    with_target("fentry", P::Tracing, Some(A::TraceFentry), ATTACH_BTF).attached(AutoAttach::AsLoaded),
    with_target("fmod_ret", P::Tracing, Some(A::ModifyReturn), ATTACH_BTF).attached(AutoAttach::AsLoaded),
    with_target("fexit", P::Tracing, Some(A::TraceFexit), ATTACH_BTF).attached(AutoAttach::AsLoaded),
    with_target("fentry.s", P::Tracing, Some(A::TraceFentry), ATTACH_BTF | SLEEPABLE).attached(AutoAttach::AsLoaded),
    with_target("fmod_ret.s", P::Tracing, Some(A::ModifyReturn), ATTACH_BTF | SLEEPABLE).attached(AutoAttach::AsLoaded),
    with_target("fexit.s", P::Tracing, Some(A::TraceFexit), ATTACH_BTF | SLEEPABLE).attached(AutoAttach::AsLoaded),
    with_target("fsession", P::Tracing, Some(A::TraceFsession), ATTACH_BTF).attached(AutoAttach::AsLoaded),
    with_target("fsession.s", P::Tracing, Some(A::TraceFsession), ATTACH_BTF | SLEEPABLE).attached(AutoAttach::AsLoaded),
    with_target("fsession.multi", P::Tracing, Some(A::TraceFsessionMulti), NONE).attached(AutoAttach::TraceMulti),
    with_target("fsession.multi.s", P::Tracing, Some(A::TraceFsessionMulti), SLEEPABLE).attached(AutoAttach::TraceMulti),
    with_target("fentry.multi", P::Tracing, Some(A::TraceFentryMulti), NONE).attached(AutoAttach::TraceMulti),
    with_target("fexit.multi", P::Tracing, Some(A::TraceFexitMulti), NONE).attached(AutoAttach::TraceMulti),
    with_target("fentry.multi.s", P::Tracing, Some(A::TraceFentryMulti), SLEEPABLE).attached(AutoAttach::TraceMulti),
    with_target("fexit.multi.s", P::Tracing, Some(A::TraceFexitMulti), SLEEPABLE).attached(AutoAttach::TraceMulti),
    with_target("freplace", P::Ext, None, ATTACH_BTF).attached(AutoAttach::AsLoaded),
    with_target("lsm", P::Lsm, Some(A::LsmMac), ATTACH_BTF).attached(AutoAttach::AsLoaded),
    with_target("lsm.s", P::Lsm, Some(A::LsmMac), ATTACH_BTF | SLEEPABLE).attached(AutoAttach::AsLoaded),
    with_target("lsm_cgroup", P::Lsm, Some(A::LsmCgroup), ATTACH_BTF),
    with_target("iter", P::Tracing, Some(A::TraceIter), ATTACH_BTF).attached(AutoAttach::Iter),
    with_target("iter.s", P::Tracing, Some(A::TraceIter), ATTACH_BTF | SLEEPABLE).attached(AutoAttach::Iter),
    exact("syscall", P::Syscall, None, SLEEPABLE),
    exact("xdp.frags/devmap", P::Xdp, Some(A::XdpDevmap), XDP_FRAGS),
    exact("xdp/devmap", P::Xdp, Some(A::XdpDevmap), ATTACHABLE),
    exact("xdp.frags/cpumap", P::Xdp, Some(A::XdpCpumap), XDP_FRAGS),
    exact("xdp/cpumap", P::Xdp, Some(A::XdpCpumap), ATTACHABLE),
    exact("xdp.frags", P::Xdp, Some(A::Xdp), XDP_FRAGS),
    exact("xdp", P::Xdp, Some(A::Xdp), ATTACHABLE | OPTIONAL),
    exact("perf_event", P::PerfEvent, None, NONE),
    exact("lwt_in", P::LwtIn, None, NONE),
    exact("lwt_out", P::LwtOut, None, NONE),
    exact("lwt_xmit", P::LwtXmit, None, NONE),
    exact("lwt_seg6local", P::LwtSeg6local, None, NONE),
    exact("sockops", P::SockOps, Some(A::CgroupSockOps), ATTACHABLE | OPTIONAL),
    exact("sk_skb/stream_parser", P::SkSkb, Some(A::SkSkbStreamParser), ATTACHABLE | OPTIONAL),
    exact("sk_skb/stream_verdict", P::SkSkb, Some(A::SkSkbStreamVerdict), ATTACHABLE | OPTIONAL),
    exact("sk_skb/verdict", P::SkSkb, Some(A::SkSkbVerdict), ATTACHABLE | OPTIONAL),
    exact("sk_skb", P::SkSkb, None, NONE),
    exact("sk_msg", P::SkMsg, Some(A::SkMsgVerdict), ATTACHABLE | OPTIONAL),
    exact("lirc_mode2", P::LircMode2, Some(A::LircMode2), ATTACHABLE | OPTIONAL),
    exact("flow_dissector", P::FlowDissector, Some(A::FlowDissector), ATTACHABLE | OPTIONAL),
    exact("cgroup_skb/ingress", P::CgroupSkb, Some(A::CgroupInetIngress), ATTACHABLE | OPTIONAL),
    exact("cgroup_skb/egress", P::CgroupSkb, Some(A::CgroupInetEgress), ATTACHABLE | OPTIONAL),
    exact("cgroup/skb", P::CgroupSkb, None, NONE),
    exact("cgroup/sock_create", P::CgroupSock, Some(A::CgroupInetSockCreate), ATTACHABLE),
    exact("cgroup/sock_release", P::CgroupSock, Some(A::CgroupInetSockRelease), ATTACHABLE),
    exact("cgroup/sock", P::CgroupSock, Some(A::CgroupInetSockCreate), ATTACHABLE | OPTIONAL),
    exact("cgroup/post_bind4", P::CgroupSock, Some(A::CgroupInet4PostBind), ATTACHABLE),
    exact("cgroup/post_bind6", P::CgroupSock, Some(A::CgroupInet6PostBind), ATTACHABLE),
    exact("cgroup/bind4", P::CgroupSockAddr, Some(A::CgroupInet4Bind), ATTACHABLE),
    exact("cgroup/bind6", P::CgroupSockAddr, Some(A::CgroupInet6Bind), ATTACHABLE),
    exact("cgroup/connect4", P::CgroupSockAddr, Some(A::CgroupInet4Connect), ATTACHABLE),
    exact("cgroup/connect6", P::CgroupSockAddr, Some(A::CgroupInet6Connect), ATTACHABLE),
    exact("cgroup/connect_unix", P::CgroupSockAddr, Some(A::CgroupUnixConnect), ATTACHABLE),
    exact("cgroup/sendmsg4", P::CgroupSockAddr, Some(A::CgroupUdp4Sendmsg), ATTACHABLE),
    exact("cgroup/sendmsg6", P::CgroupSockAddr, Some(A::CgroupUdp6Sendmsg), ATTACHABLE),
    exact("cgroup/sendmsg_unix", P::CgroupSockAddr, Some(A::CgroupUnixSendmsg), ATTACHABLE),
    exact("cgroup/recvmsg4", P::CgroupSockAddr, Some(A::CgroupUdp4Recvmsg), ATTACHABLE),
    exact("cgroup/recvmsg6", P::CgroupSockAddr, Some(A::CgroupUdp6Recvmsg), ATTACHABLE),
    exact("cgroup/recvmsg_unix", P::CgroupSockAddr, Some(A::CgroupUnixRecvmsg), ATTACHABLE),
    exact("cgroup/getpeername4", P::CgroupSockAddr, Some(A::CgroupInet4Getpeername), ATTACHABLE),
    exact("cgroup/getpeername6", P::CgroupSockAddr, Some(A::CgroupInet6Getpeername), ATTACHABLE),
    exact("cgroup/getpeername_unix", P::CgroupSockAddr, Some(A::CgroupUnixGetpeername), ATTACHABLE),
    exact("cgroup/getsockname4", P::CgroupSockAddr, Some(A::CgroupInet4Getsockname), ATTACHABLE),
    exact("cgroup/getsockname6", P::CgroupSockAddr, Some(A::CgroupInet6Getsockname), ATTACHABLE),
    exact("cgroup/getsockname_unix", P::CgroupSockAddr, Some(A::CgroupUnixGetsockname), ATTACHABLE),
    exact("cgroup/sysctl", P::CgroupSysctl, Some(A::CgroupSysctl), ATTACHABLE),
    exact("cgroup/getsockopt", P::CgroupSockopt, Some(A::CgroupGetsockopt), ATTACHABLE),
    exact("cgroup/setsockopt", P::CgroupSockopt, Some(A::CgroupSetsockopt), ATTACHABLE),
    exact("cgroup/dev", P::CgroupDevice, Some(A::CgroupDevice), ATTACHABLE | OPTIONAL),
    with_target("struct_ops", P::StructOps, None, NONE),
    with_target("struct_ops.s", P::StructOps, None, SLEEPABLE),
    exact("sk_lookup", P::SkLookup, Some(A::SkLookup), ATTACHABLE),
    exact("netfilter", P::Netfilter, Some(A::Netfilter), NONE),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn find(section: &str) -> Option<(P, Option<A>)> {
        SecDef::find(section.as_bytes()).map(|d| (d.program_type, d.attach_type))
    }

    #[test]
    fn the_table_is_complete_and_every_row_is_reachable() {
        assert_eq!(SEC_DEFS.len(), 116);
        for def in SEC_DEFS {
            assert_eq!(SecDef::find(def.name.as_bytes()), Some(def), "{}", def.name);
        }
    }

    #[test]
    fn every_attach_type_has_a_program_type() {
        for attach_type in A::ALL {
            assert!(attach_type.program_type().is_some(), "{attach_type}");
        }
    }

    #[test]
    fn a_name_with_a_target_needs_its_slash_and_an_exact_one_takes_none() {
        assert_eq!(find("kprobe/do_exit"), Some((P::Kprobe, None)));
        assert_eq!(find("kprobe"), Some((P::Kprobe, None)));
        assert_eq!(find("kprobe.multi/x*"), Some((P::Kprobe, Some(A::TraceKprobeMulti))));
        assert_eq!(find("kprobes"), None);
        assert_eq!(find("xdp"), Some((P::Xdp, Some(A::Xdp))));
        assert_eq!(find("xdp/"), None);
        assert_eq!(find("xdp/devmap"), Some((P::Xdp, Some(A::XdpDevmap))));
        assert_eq!(find("cgroup_skb/ingress"), Some((P::CgroupSkb, Some(A::CgroupInetIngress))));
        assert_eq!(find("?kprobe"), None);
        assert_eq!(find(""), None);
        assert_eq!(find(".text"), None);
    }

    #[test]
    fn flags_match_libbpf() {
        let flags = |s: &str| SecDef::find(s.as_bytes()).unwrap().flags;
        assert!(flags("lsm.s/file_open").is_sleepable() && flags("lsm.s/file_open").needs_attach_btf());
        assert!(flags("xdp.frags").has_xdp_frags() && !flags("xdp").has_xdp_frags());
        assert!(flags("xdp").is_attachable() && flags("xdp").attach_type_is_optional());
        assert!(flags("usdt.s/x").is_usdt());
        assert_eq!(format!("{:?}", flags("fentry.s/x")), r#"{"attach btf", "sleepable"}"#);
    }
}
