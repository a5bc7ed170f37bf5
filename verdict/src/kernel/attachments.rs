//! Whether a kernel attaches programs by an attach type or a link type: the kernel's enums, and what the configuration leaves out.

use super::{answer::Answer, facts::KernelFacts};
use core_relo::btf::Kind;
use core_relo_object::{
    features::Feature,
    object::{AttachType, LinkType},
};

/// The structs of links that exist only if the link type is compiled, with the option.
pub(super) const LINK_STRUCTS: [(LinkType, &str, &str); 5] = [
    (LinkType::KprobeMulti, "bpf_kprobe_multi_link", "CONFIG_FPROBE"),
    (LinkType::UprobeMulti, "bpf_uprobe_multi_link", "CONFIG_UPROBES"),
    (LinkType::Netfilter, "bpf_nf_link", "CONFIG_NETFILTER_BPF_LINK"),
    (LinkType::Tcx, "tcx_link", "CONFIG_NET_XGRESS"),
    (LinkType::Netkit, "netkit_link", "CONFIG_NETKIT"),
];

/// The struct of kprobe events, which exists only with `CONFIG_KPROBE_EVENTS`.
pub(super) const KPROBE_STRUCT: &str = "trace_kprobe";

/// Returns the type of the links by which programs of an attach type are attached, if the configuration may leave it out.
const fn conditional_link(attach_type: AttachType) -> Option<LinkType> {
    use AttachType as A;
    match attach_type {
        A::TraceKprobeMulti | A::TraceKprobeSession => Some(LinkType::KprobeMulti),
        A::TraceUprobeMulti | A::TraceUprobeSession => Some(LinkType::UprobeMulti),
        A::Netfilter => Some(LinkType::Netfilter),
        A::TcxIngress | A::TcxEgress => Some(LinkType::Tcx),
        A::NetkitPrimary | A::NetkitPeer => Some(LinkType::Netkit),
        _ => None,
    }
}

impl KernelFacts<'_> {
    /// Answers whether the kernel attaches programs of an attach type: it has the type, and was compiled with the programs and links. A
    /// kernel may [load](Self::attach_type) programs that it does not attach.
    pub fn attachment(&self, attach_type: AttachType) -> Answer {
        let in_enum = self.attach_type(attach_type.number());
        if !in_enum.is_present() {
            return in_enum;
        }
        let program_type = attach_type.program_type().map(|ty| self.program_type(ty.number()));
        if let Some(absent @ Answer::Absent(_)) = program_type {
            return absent;
        }
        match conditional_link(attach_type) {
            Some(link_type) => self.compiled_link(link_type, in_enum),
            None => in_enum,
        }
    }

    /// Answers whether the kernel attaches programs of an attach type, if programs of the type load whether or not it does. Returns `None`
    /// for attach types that a load checks.
    pub fn attachment_after_load(&self, attach_type: AttachType) -> Option<Answer> {
        conditional_link(attach_type).is_some().then(|| self.attachment(attach_type))
    }

    /// Answers whether the kernel attaches programs to kprobes.
    pub fn kprobe_events(&self) -> Answer {
        const OPTION: &str = "CONFIG_KPROBE_EVENTS";
        if self.vmlinux.find(self.query, KPROBE_STRUCT.as_bytes(), Kind::Struct).is_some() {
            return Answer::from_btf(true, format!("struct {KPROBE_STRUCT}"));
        }
        if self.describes_bpf_functions() {
            return Answer::from_btf(false, format!("no struct {KPROBE_STRUCT}: {OPTION} is not set"));
        }
        self.answer_option(OPTION)
    }

    /// Answers whether the kernel has a link type and was compiled with it.
    ///
    /// Links of struct_ops maps came later than their number, which older kernels use internally.
    pub fn link(&self, link_type: LinkType) -> Answer {
        let in_enum = self.link_type(link_type.number());
        match link_type {
            LinkType::StructOps if in_enum.is_present() => self.feature(Feature::StructOpsLink),
            _ if in_enum.is_present() => self.compiled_link(link_type, in_enum),
            _ => in_enum,
        }
    }

    fn compiled_link(&self, link_type: LinkType, in_enum: Answer) -> Answer {
        let Some((_, name, option)) = LINK_STRUCTS.iter().find(|(other, ..)| *other == link_type) else {
            return in_enum;
        };
        if self.vmlinux.find(self.query, name.as_bytes(), Kind::Struct).is_some() {
            return Answer::from_btf(true, format!("struct {name}"));
        }
        if self.describes_bpf_functions() {
            return Answer::from_btf(false, format!("no struct {name}: {option} is not set"));
        }
        self.answer_option(option)
    }
}
