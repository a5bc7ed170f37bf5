//! A program that runs for the packets of a network namespace, as `net list` prints it.

use crate::{
    describe::name,
    text::table::{Cell, left_cell, right_cell},
};
use core_relo_loader::attach::{TcAttachPoint, TcProgram};
use serde::Serialize;

/// The columns of the table.
pub(super) const COLUMNS: &[&str] = &["TYPE", "DEVICE", "WHERE", "ID", "NAME", "LINK"];

/// The JSON line of an attachment. The keys are those of `bpftool net`, except for `type`, which names
/// bpftool's list.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct NetAttachment {
    /// `xdp`, `tc`, `tcx`, `netkit`, `netfilter`, `flow_dissector` or `sk_lookup`.
    #[serde(rename = "type")]
    pub(super) attachment_type: &'static str,
    pub(super) devname: Option<String>,
    pub(super) ifindex: Option<u32>,
    /// Of XDP: `driver`, `generic` or `offload`; `None` if an old kernel does not report it.
    pub(super) mode: Option<&'static str>,
    /// Of tc, tcx and netkit: `clsact/ingress`, `tcx/egress`, `netkit/peer`, or the kind of the qdisc or
    /// class.
    pub(super) kind: Option<String>,
    pub(super) prog_id: u32,
    pub(super) name: Option<String>,
    pub(super) link_id: Option<u32>,
    /// Of tc, the classifier.
    pub(super) classifier: Option<Classifier>,
    /// Of netfilter, the hook.
    pub(super) netfilter: Option<NetfilterHook>,
}

/// A classifier of tc.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Classifier {
    /// The kind of the classifier: `bpf`, `flower` and so on.
    kind: String,
    /// The name that the classifier or action has.
    name: String,
    /// The handle of the qdisc or class, `1:10`; `null` for `clsact` and `ingress`.
    parent: Option<String>,
    handle: u32,
    priority: u16,
    is_action: bool,
}

/// A hook of netfilter.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct NetfilterHook {
    pub(super) pf: u32,
    pub(super) hook: u32,
    pub(super) prio: i32,
    pub(super) flags: u32,
}

impl NetAttachment {
    /// Creates the attachment of a classifier or action.
    pub(super) fn tc(program: &TcProgram, devname: &str) -> Self {
        let parent = match program.attach_point {
            TcAttachPoint::Parent(handle) => Some(format!("{:x}:{:x}", handle >> 16, handle & 0xffff)),
            _ => None,
        };
        let direction = match program.attach_point {
            TcAttachPoint::Ingress => "/ingress",
            TcAttachPoint::Egress => "/egress",
            _ => "",
        };
        // An `ingress` qdisc has one direction only.
        let direction = if program.parent_kind == "ingress" { "" } else { direction };
        let kind = format!("{}{direction}", program.parent_kind);
        Self {
            attachment_type: "tc",
            devname: Some(name(devname.as_bytes())),
            ifindex: Some(program.ifindex),
            kind: Some(name(kind.as_bytes())),
            prog_id: program.prog_id,
            classifier: Some(Classifier {
                kind: name(program.classifier.as_bytes()),
                name: name(program.name.as_bytes()),
                parent,
                handle: program.handle,
                priority: program.priority,
                is_action: program.is_action,
            }),
            ..Self::default()
        }
    }

    /// Returns the row of the table.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let device = match (&self.devname, self.ifindex) {
            (Some(name), Some(index)) => format!("{name}({index})"),
            _ => String::new(),
        };
        vec![
            left_cell(self.attachment_type),
            left_cell(device),
            left_cell(self.place()),
            right_cell(self.prog_id),
            left_cell(self.name.as_deref().unwrap_or("")),
            left_cell(self.link_id.map_or_else(String::new, |id| id.to_string())),
        ]
    }

    /// Returns the place on the device, or in the network namespace.
    fn place(&self) -> String {
        let mut parts: Vec<String> =
            self.mode.map(str::to_owned).into_iter().chain(self.kind.clone()).collect();
        if let Some(classifier) = &self.classifier {
            parts.extend(classifier.parent.as_ref().map(|parent| format!("parent {parent}")));
            parts.push(format!("handle {:#x} priority {}", classifier.handle, classifier.priority));
            if classifier.is_action {
                parts.push(format!("action of {}", classifier.kind));
            }
        }
        parts.extend(self.netfilter.as_ref().map(NetfilterHook::text));
        parts.join(" ")
    }
}

impl NetfilterHook {
    /// The bit of `flags` that makes the kernel defragment packets first (`BPF_F_NETFILTER_IP_DEFRAG`).
    const DEFRAG: u32 = 1;

    fn text(&self) -> String {
        const HOOKS: [&str; 5] = ["prerouting", "input", "forward", "output", "postrouting"];
        let family = match self.pf {
            2 => "ip".to_owned(),
            10 => "ip6".to_owned(),
            other => format!("pf {other}"),
        };
        let hook = usize::try_from(self.hook).ok().and_then(|index| HOOKS.get(index));
        let hook = hook.map_or_else(|| format!("hook {}", self.hook), |hook| (*hook).to_owned());
        let flags = match self.flags {
            0 => String::new(),
            Self::DEFRAG => " defrag".to_owned(),
            other => format!(" flags {other:#x}"),
        };
        format!("{family} {hook} priority {}{flags}", self.prio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_netfilter_have_the_names_of_nft() {
        let hook = |pf, hook, flags| NetfilterHook { pf, hook, prio: -128, flags }.text();
        assert_eq!(hook(2, 0, 1), "ip prerouting priority -128 defrag");
        assert_eq!(hook(10, 4, 0), "ip6 postrouting priority -128");
        assert_eq!(hook(7, 9, 6), "pf 7 hook 9 priority -128 flags 0x6");
    }
}
