//! The words of attach points: their kinds, with the program types that fit them, and hooks.

use super::interface_hook::InterfaceHook;
use crate::attach::{PacketDirection, TcAttachPoint, XdpMode};
use core_relo_object::object::{AttachType, ProgramType, SEC_DEFS, SecMatch};

/// The kinds of attach points that are no section names, and the program types that fit them.
const KINDS: [(&str, &[ProgramType]); 9] = {
    use ProgramType as P;
    [
        ("dev", &[P::Xdp, P::SchedCls]),
        (
            "cgroup",
            &[
                P::CgroupSkb,
                P::CgroupSock,
                P::CgroupSockAddr,
                P::CgroupSockopt,
                P::CgroupSysctl,
                P::CgroupDevice,
                P::SockOps,
                P::Lsm,
                P::Tracing,
            ],
        ),
        ("netns", &[P::SkLookup, P::FlowDissector]),
        ("map", &[P::SkMsg, P::SkSkb, P::Tracing]),
        ("lirc", &[P::LircMode2]),
        ("netfilter", &[P::Netfilter]),
        ("pid", &[P::PerfEvent, P::Kprobe, P::Tracing]),
        ("cpu", &[P::PerfEvent]),
        ("route", &[P::LwtIn, P::LwtOut, P::LwtXmit, P::LwtSeg6local]),
    ]
};

/// Returns the section names that are kinds of attach points, with their program types.
fn section_kinds() -> impl Iterator<Item = (&'static str, ProgramType)> {
    use ProgramType as P;
    let probes = [P::Kprobe, P::Tracepoint, P::RawTracepoint, P::RawTracepointWritable];
    let defs = SEC_DEFS.iter().filter(|def| def.matching == SecMatch::WithTarget);
    defs.filter(move |def| probes.contains(&def.program_type)).map(|def| (def.name, def.program_type))
}

/// Returns whether a kind of attach point is a section's name.
pub fn is_section_kind(kind: &str) -> bool {
    section_kinds().any(|(name, _)| name == kind)
}

/// Returns the words of all kinds of attach points.
pub fn attach_point_kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(kind, _)| *kind).chain(section_kinds().map(|(kind, _)| kind))
}

/// Returns the kinds of attach points that fit a program type.
pub fn fitting_kinds(program_type: ProgramType) -> Vec<&'static str> {
    let places = KINDS.iter().filter(|(_, types)| types.contains(&program_type)).map(|(kind, _)| *kind);
    let sections = section_kinds().filter(|(_, of)| *of == program_type).map(|(kind, _)| kind);
    places.chain(sections).collect()
}

/// Returns an example of a place.
pub(super) fn example_place(kind: &str) -> &'static str {
    match kind {
        "dev" => "eth0",
        "cgroup" => "/sys/fs/cgroup/system.slice",
        "netns" => "/proc/self/ns/net",
        "map" => "socks",
        "lirc" => "/dev/lirc0",
        "netfilter" => "ipv4,input,0",
        "pid" => "42",
        "cpu" => "all",
        "route" => "10.88.0.0/24,eth0",
        "tp" | "tp.s" | "tracepoint" | "tracepoint.s" => "sched/sched_switch",
        kind if kind.starts_with("usdt") => "/usr/bin/node:node:gc__start",
        kind if kind.starts_with('u') => "/bin/bash:readline",
        kind if kind.starts_with("raw") => "sys_enter",
        "ksyscall" | "kretsyscall" => "openat",
        _ => "vfs_read",
    }
}

/// Returns the problem with a section's name in the notation of attach points: `kprobe:function` for
/// `kprobe/function`.
pub(super) fn as_point(kind: &str, problem: &str) -> String {
    let words = attach_point_kinds().filter(|kind| is_section_kind(kind));
    words.fold(problem.to_owned(), |text, word| text.replace(&format!("`{word}/"), &format!("`{kind}:")))
}

/// The words for the hooks of a network interface. Those of bpftool's `net attach` are among them.
pub(super) const INTERFACE_HOOKS: [(&str, InterfaceHook); 14] = [
    ("xdp", InterfaceHook::Xdp(XdpMode::Any)),
    ("xdpgeneric", InterfaceHook::Xdp(XdpMode::Generic)),
    ("xdpdrv", InterfaceHook::Xdp(XdpMode::Driver)),
    ("xdpoffload", InterfaceHook::Xdp(XdpMode::Hardware)),
    ("ingress", InterfaceHook::Direction(PacketDirection::Ingress)),
    ("egress", InterfaceHook::Direction(PacketDirection::Egress)),
    ("tcx_ingress", InterfaceHook::Classifier(AttachType::TcxIngress)),
    ("tcx_egress", InterfaceHook::Classifier(AttachType::TcxEgress)),
    ("primary", InterfaceHook::Classifier(AttachType::NetkitPrimary)),
    ("peer", InterfaceHook::Classifier(AttachType::NetkitPeer)),
    ("netkit_primary", InterfaceHook::Classifier(AttachType::NetkitPrimary)),
    ("netkit_peer", InterfaceHook::Classifier(AttachType::NetkitPeer)),
    ("tc_ingress", InterfaceHook::Tc(TcAttachPoint::Ingress)),
    ("tc_egress", InterfaceHook::Tc(TcAttachPoint::Egress)),
];

/// Returns the word for a hook of a network interface.
pub fn interface_hook_word(hook: InterfaceHook) -> Option<&'static str> {
    INTERFACE_HOOKS.iter().find(|(_, known)| *known == hook).map(|(word, _)| *word)
}

/// The words for netfilter's hooks, at the kernel's numbers.
pub(super) const NETFILTER_HOOKS: [&str; 5] = ["prerouting", "input", "forward", "output", "postrouting"];
