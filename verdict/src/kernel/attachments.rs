//! Whether a kernel attaches programs by an attach type or a link type: the kernel's enums, and what the
//! configuration leaves out.

use super::{
    answer::{Answer, Evidence},
    facts::KernelFacts,
    fixed_names::{Func, Struct},
};
use core_relo_object::{
    features::Feature,
    object::{AttachType, LinkType},
};

/// A type in the BTF of kernels that are compiled with a link type.
struct LinkMark {
    link_type: LinkType,
    declaration: LinkDeclaration,
    option: &'static str,
}

enum LinkDeclaration {
    Struct(Struct),
    Function(Func),
}

/// The types of links that the configuration or the architecture may leave out.
const LINK_MARKS: [LinkMark; 6] = {
    const fn mark(link_type: LinkType, name: Struct, option: &'static str) -> LinkMark {
        LinkMark { link_type, declaration: LinkDeclaration::Struct(name), option }
    }
    [
        mark(LinkType::KprobeMulti, Struct::bpf_kprobe_multi_link, "CONFIG_FPROBE"),
        mark(LinkType::UprobeMulti, Struct::bpf_uprobe_multi_link, "CONFIG_UPROBES"),
        mark(LinkType::Netfilter, Struct::bpf_nf_link, "CONFIG_NETFILTER_BPF_LINK"),
        mark(LinkType::Tcx, Struct::tcx_link, "CONFIG_NET_XGRESS"),
        mark(LinkType::Netkit, Struct::netkit_link, "CONFIG_NETKIT"),
        // Only some architectures have the option, such as x86-64.
        LinkMark {
            link_type: LinkType::TracingMulti,
            declaration: LinkDeclaration::Function(Func::bpf_trampoline_multi_attach),
            option: "CONFIG_HAVE_SINGLE_FTRACE_DIRECT_OPS",
        },
    ]
};

/// The struct of kprobe events, which exists only with `CONFIG_KPROBE_EVENTS`.
const KPROBE_STRUCT: Struct = Struct::trace_kprobe;

/// Returns the type of the links by which programs of an attach type are attached, if the configuration may
/// leave it out.
const fn conditional_link(attach_type: AttachType) -> Option<LinkType> {
    use AttachType as A;
    match attach_type {
        A::TraceKprobeMulti | A::TraceKprobeSession => Some(LinkType::KprobeMulti),
        A::TraceUprobeMulti | A::TraceUprobeSession => Some(LinkType::UprobeMulti),
        A::Netfilter => Some(LinkType::Netfilter),
        A::TcxIngress | A::TcxEgress => Some(LinkType::Tcx),
        A::NetkitPrimary | A::NetkitPeer => Some(LinkType::Netkit),
        A::TraceFentryMulti | A::TraceFexitMulti | A::TraceFsessionMulti => Some(LinkType::TracingMulti),
        _ => None,
    }
}

impl KernelFacts<'_> {
    /// Answers whether the kernel attaches programs of an attach type: it has the type, and was compiled with
    /// the programs and links. A kernel may [load](Self::attach_type) programs that it does not attach.
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

    /// Answers whether the kernel attaches programs of an attach type, if programs of the type load whether
    /// or not it does. Returns `None` for attach types that a load checks.
    pub fn attachment_after_load(&self, attach_type: AttachType) -> Option<Answer> {
        conditional_link(attach_type).is_some().then(|| self.attachment(attach_type))
    }

    /// Answers whether the kernel attaches programs to kprobes, which lockdown may forbid.
    pub fn kprobe_events(&self) -> Answer {
        let compiled = self.compiled_kprobe_events();
        match self.inputs.lockdown.filter(|mode| mode.closes_kprobes() && compiled.is_present()) {
            Some(mode) => Answer::Absent(Evidence::of_lockdown(mode)),
            None => compiled,
        }
    }

    fn compiled_kprobe_events(&self) -> Answer {
        let is_found = self.vmlinux.find(KPROBE_STRUCT).is_some();
        self.compiled_with("CONFIG_KPROBE_EVENTS", is_found, format!("struct {KPROBE_STRUCT}"))
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
        let Some(mark) = LINK_MARKS.iter().find(|mark| mark.link_type == link_type) else {
            return in_enum;
        };
        let (found, text) = match mark.declaration {
            LinkDeclaration::Struct(name) => (self.vmlinux.find(name), format!("struct {name}")),
            LinkDeclaration::Function(name) => (self.vmlinux.find(name), format!("FUNC {name}")),
        };
        self.compiled_with(mark.option, found.is_some(), text)
    }
}
