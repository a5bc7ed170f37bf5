//! All programs that traffic control runs: classifiers and actions of every qdisc and class.

use super::{
    RTM_GETTFILTER, RTM_NEWTFILTER, TC_H_MIN_EGRESS, TC_H_MIN_INGRESS, TCA_BPF_ID, TCA_BPF_NAME, TCA_KIND,
    TCA_OPTIONS, TCMSG_BYTES, TcAttachPoint, qdisc::RTM_NEWQDISC,
};
use crate::{
    attach::{
        error::AttachError,
        netlink::{Attributes, DUMP, Message, NetlinkError, Request, attribute, attribute_u32, attributes},
        rtnetlink::{RtnetlinkSocket, netlink_error, tcmsg},
    },
    sys::Errno,
};
use core_relo::Endian;

const RTM_GETQDISC: u16 = 38;
const RTM_NEWTCLASS: u16 = 40;
const RTM_GETTCLASS: u16 = 42;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_ACT_BPF_NAME: u16 = 6;
const TCA_ACT_BPF_ID: u16 = 9;

/// The attribute of each kind of classifier that has the actions (`TCA_BPF_ACT` and so on).
const ACTIONS: [(&[u8], u16); 9] = [
    (b"bpf", 1),
    (b"matchall", 2),
    (b"flower", 3),
    (b"basic", 3),
    (b"u32", 7),
    (b"cgroup", 1),
    (b"fw", 4),
    (b"route", 6),
    (b"flow", 9),
];

/// A program that traffic control runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcProgram {
    /// The interface index.
    pub ifindex: u32,
    /// The attach point of the classifier.
    pub attach_point: TcAttachPoint,
    /// The kind of the qdisc or class at the attach point: `clsact`, `htb` and so on.
    pub parent_kind: String,
    /// The kind of the classifier: `bpf`, or another kind with the program as an action.
    pub classifier: String,
    /// The classifier's handle.
    pub handle: u32,
    /// The classifier's priority.
    pub priority: u16,
    /// Whether the program is an action of the classifier (`act_bpf`), not the classifier itself.
    pub is_action: bool,
    /// The program's id.
    pub prog_id: u32,
    /// The name that the classifier or action was given. May be empty.
    pub name: String,
}

/// A qdisc or class, which may have classifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parent {
    ifindex: u32,
    handle: u32,
    kind: String,
}

/// Returns the programs that traffic control runs on one interface, or on all interfaces of the calling
/// thread's network namespace.
///
/// Includes actions of classifiers that are no programs themselves. An interface that disappears meanwhile
/// has no programs.
pub fn tc_programs(ifindex: Option<u32>) -> Result<Vec<TcProgram>, AttachError> {
    let label = || ifindex.map_or_else(|| "tc".to_owned(), |index| format!("tc of interface {index}"));
    RtnetlinkSocket::open()
        .and_then(|mut socket| list_programs(&mut socket, ifindex))
        .map_err(|error| netlink_error(&label(), "query", error))
}

/// Returns the kind of an interface's qdisc with a handle.
pub(super) fn qdisc_kind(
    socket: &mut RtnetlinkSocket,
    ifindex: u32,
    handle: u32,
) -> Result<Option<String>, NetlinkError> {
    let mut qdiscs = Vec::new();
    let fixed = tcmsg(ifindex, 0, 0, 0);
    let request = Request { kind: RTM_GETQDISC, flags: DUMP, fixed, attributes: Attributes::default() };
    socket.request(request, |message| qdiscs.extend(parse_parent(message)))?;
    let found = qdiscs.into_iter().find(|qdisc| (qdisc.ifindex, qdisc.handle) == (ifindex, handle));
    Ok(found.map(|qdisc| qdisc.kind))
}

fn list_programs(socket: &mut RtnetlinkSocket, only: Option<u32>) -> Result<Vec<TcProgram>, NetlinkError> {
    let mut qdiscs = Vec::new();
    let mut dump = |kind, ifindex, parents: &mut Vec<Parent>| {
        let fixed = tcmsg(ifindex, 0, 0, 0);
        let request = Request { kind, flags: DUMP, fixed, attributes: Attributes::default() };
        empty_if_gone(socket.request(request, |message| parents.extend(parse_parent(message))))
    };
    dump(RTM_GETQDISC, 0, &mut qdiscs)?;
    // A qdisc without a handle was created by the kernel and has no classifiers.
    qdiscs.retain(|qdisc| qdisc.handle != 0 && only.is_none_or(|only| qdisc.ifindex == only));
    let mut with_classes: Vec<u32> =
        qdiscs.iter().filter(|qdisc| !is_ingress(&qdisc.kind)).map(|qdisc| qdisc.ifindex).collect();
    with_classes.dedup();
    let mut parents = Vec::new();
    for qdisc in qdiscs {
        if qdisc.kind == "clsact" {
            for minor in [TC_H_MIN_INGRESS, TC_H_MIN_EGRESS] {
                parents.push(Parent { handle: minor, ..qdisc.clone() });
            }
        } else {
            parents.push(qdisc);
        }
    }
    for ifindex in with_classes {
        dump(RTM_GETTCLASS, ifindex, &mut parents)?;
    }
    let mut found: Vec<TcProgram> = Vec::new();
    for parent in &parents {
        let fixed = tcmsg(parent.ifindex, 0, parent.handle, 0);
        let request = Request { kind: RTM_GETTFILTER, flags: DUMP, fixed, attributes: Attributes::default() };
        empty_if_gone(socket.request(request, |message| parse_programs(message, parent, &mut found)))?;
    }
    found.sort_by_key(|program| program.ifindex);
    Ok(found)
}

fn is_ingress(kind: &str) -> bool {
    matches!(kind, "clsact" | "ingress")
}

/// Accepts the errors for an interface, qdisc or class that does not exist any more.
fn empty_if_gone(answer: Result<(), NetlinkError>) -> Result<(), NetlinkError> {
    match answer {
        Err(error) if matches!(error.errno, Errno(libc::ENODEV | libc::ENOENT | libc::EINVAL)) => Ok(()),
        answer => answer,
    }
}

fn parse_parent(message: &Message<'_>) -> Option<Parent> {
    let (fixed, attributes) = message.split(TCMSG_BYTES)?;
    if message.kind != RTM_NEWQDISC && message.kind != RTM_NEWTCLASS {
        return None;
    }
    let e = Endian::native();
    let kind = text(attribute(attributes, TCA_KIND)?);
    Some(Parent { ifindex: e.u32(fixed, 4)?, handle: e.u32(fixed, 8)?, kind })
}

/// Adds the program of a classifier, and those of its actions.
fn parse_programs(message: &Message<'_>, parent: &Parent, found: &mut Vec<TcProgram>) {
    let Some((fixed, attrs)) = message.split(TCMSG_BYTES) else { return };
    let e = Endian::native();
    let (Some(handle), Some(info)) = (e.u32(fixed, 8), e.u32(fixed, 16)) else { return };
    // An entry without options is the head of a list of classifiers.
    let (Some(kind), Some(options)) = (attribute(attrs, TCA_KIND), attribute(attrs, TCA_OPTIONS)) else {
        return;
    };
    let (Ok(priority), RTM_NEWTFILTER) = (u16::try_from(info >> 16), message.kind) else { return };
    let attach_point = match (&*parent.kind, parent.handle) {
        ("clsact", TC_H_MIN_EGRESS) => TcAttachPoint::Egress,
        ("clsact" | "ingress", _) => TcAttachPoint::Ingress,
        _ => TcAttachPoint::Parent(parent.handle),
    };
    let program = TcProgram {
        ifindex: parent.ifindex,
        attach_point,
        parent_kind: parent.kind.clone(),
        classifier: text(kind),
        handle,
        priority,
        is_action: false,
        prog_id: 0,
        name: String::new(),
    };
    let kind = kind.strip_suffix(b"\0").unwrap_or(kind);
    if let (b"bpf", Some(prog_id)) = (kind, attribute_u32(options, TCA_BPF_ID)) {
        let name = name_text(attribute(options, TCA_BPF_NAME));
        found.push(TcProgram { prog_id, name, ..program.clone() });
    }
    let Some((_, actions)) = ACTIONS.iter().find(|(known, _)| *known == kind) else { return };
    for (_, action) in attribute(options, *actions).into_iter().flat_map(attributes) {
        if attribute(action, TCA_ACT_KIND) != Some(b"bpf\0") {
            continue;
        }
        let Some(options) = attribute(action, TCA_ACT_OPTIONS) else { continue };
        // Classic BPF programs have no id.
        if let Some(prog_id) = attribute_u32(options, TCA_ACT_BPF_ID) {
            let name = name_text(attribute(options, TCA_ACT_BPF_NAME));
            found.push(TcProgram { prog_id, name, is_action: true, ..program.clone() });
        }
    }
}

/// Decodes the name of a program.
#[expect(clippy::disallowed_methods, reason = "programs attached by other tools may have no name")]
fn name_text(attribute: Option<&[u8]>) -> String {
    attribute.map(text).unwrap_or_default()
}

/// Decodes a text with its terminating NUL.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.strip_suffix(b"\0").unwrap_or(bytes)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::{
        TcHook, TcOptions, netlink,
        test_support::{Counting, in_own_network, pair},
    };
    use core_relo_object::object::ProgramType;

    /// Returns the programs that a message of the kernel describes.
    fn programs(kind: &str, options: &Attributes, parent: &Parent) -> Vec<TcProgram> {
        let attributes = Attributes::default().text(TCA_KIND, kind).nest(TCA_OPTIONS, options);
        let fixed = tcmsg(parent.ifindex, 5, 0, 7 << 16 | 3);
        let request = Request { kind: RTM_NEWTFILTER, flags: 0, fixed, attributes };
        let bytes = request.encode(1).unwrap();
        let mut found = Vec::new();
        parse_programs(&netlink::messages(&bytes).next().unwrap().unwrap(), parent, &mut found);
        found
    }

    fn action(kind: &str, id: Option<u32>) -> Attributes {
        let options = Attributes::default().text(TCA_ACT_BPF_NAME, "act");
        let options = id.map_or(options.clone(), |id| options.u32(TCA_ACT_BPF_ID, id));
        Attributes::default().text(TCA_ACT_KIND, kind).nest(TCA_ACT_OPTIONS, &options)
    }

    #[test]
    fn actions_of_each_kind_of_classifier_are_found() {
        let parent = Parent { ifindex: 3, handle: 0x1_000a, kind: "htb".to_owned() };
        for (kind, attribute) in ACTIONS {
            let kind = str::from_utf8(kind).unwrap();
            // A classic program has no id, and other actions are no programs.
            let actions = Attributes::default()
                .nest(1, &action("gact", Some(1)))
                .nest(2, &action("bpf", Some(42)))
                .nest(3, &action("bpf", None));
            let options = Attributes::default().nest(attribute, &actions);
            let expected = TcProgram {
                ifindex: 3,
                attach_point: TcAttachPoint::Parent(0x1_000a),
                parent_kind: "htb".to_owned(),
                classifier: kind.to_owned(),
                handle: 5,
                priority: 7,
                is_action: true,
                prog_id: 42,
                name: "act".to_owned(),
            };
            assert_eq!(programs(kind, &options, &parent), core::slice::from_ref(&expected));
            if kind == "bpf" {
                let options = options.u32(TCA_BPF_ID, 41).text(TCA_BPF_NAME, "cls");
                let classifier =
                    TcProgram { is_action: false, prog_id: 41, name: "cls".to_owned(), ..expected.clone() };
                assert_eq!(programs(kind, &options, &parent), [classifier, expected]);
            }
        }
        assert_eq!(programs("new", &Attributes::default().u32(TCA_BPF_ID, 1), &parent), []);
    }

    #[test]
    fn the_programs_of_both_directions_are_found() {
        in_own_network(|| {
            let Some((first, second)) = pair("veth") else { return };
            let Some(program) = Counting::load(ProgramType::SchedCls, None, -1) else { return };
            let hooks = [
                TcHook { ifindex: first, attach_point: TcAttachPoint::Ingress },
                TcHook { ifindex: second, attach_point: TcAttachPoint::Egress },
            ];
            let links = hooks.map(|hook| {
                hook.create().unwrap();
                hook.attach(program.fd(), TcOptions::default()).unwrap()
            });
            let places = |only: Option<u32>| -> Vec<_> {
                let found = tc_programs(only).unwrap();
                assert!(found.iter().all(|p| p.prog_id == program.id() && p.parent_kind == "clsact"));
                found.iter().map(|p| TcHook { ifindex: p.ifindex, attach_point: p.attach_point }).collect()
            };
            let mut expected = hooks.to_vec();
            expected.sort_by_key(|hook| hook.ifindex);
            assert_eq!(places(None), expected);
            assert_eq!(places(Some(second)), [hooks[1]]);
            drop(links);
            assert_eq!(places(None), []);
        });
    }
}
