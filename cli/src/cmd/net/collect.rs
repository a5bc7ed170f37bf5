//! Collects the programs of a network namespace.

use super::attachment::{NetAttachment, NetfilterHook};
use crate::{describe, error::BadInput, kernel_objects::error::refused};
use core_relo_loader::{
    Errno,
    attach::{
        AttachError, NetworkInterface, QueryTarget, network_interfaces, query, query_interface_links,
        tc_programs,
    },
    inventory::{ObjectKind, ProgramNames, link_infos},
    object::AttachType,
};
use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
};

/// `BPF_LINK_TYPE_NETNS`.
const NETNS_LINK: u32 = 5;
/// `BPF_LINK_TYPE_XDP`.
const XDP_LINK: u32 = 6;
/// `BPF_LINK_TYPE_NETFILTER`.
const NETFILTER_LINK: u32 = 10;

/// The links that attach to network interfaces, network namespaces or netfilter.
#[derive(Debug, Default)]
struct Links {
    /// The links of each interface and XDP program. The kernel does not report the namespace of the
    /// interface.
    xdp: BTreeMap<(u32, u32), Vec<u32>>,
    /// The links of each namespace (inode), attach type (number) and program.
    netns: BTreeMap<(u64, u32, u32), Vec<u32>>,
    netfilter: Vec<NetAttachment>,
}

/// Returns the programs of this network namespace, or of one of its interfaces.
pub(super) fn collect(device: Option<&str>) -> Result<Vec<NetAttachment>, BadInput> {
    let interfaces = selected_interfaces(device)?;
    let links = read_links()?;
    let mut found = Vec::new();
    for interface in &interfaces {
        found.extend(xdp(interface, &links));
    }
    for interface in &interfaces {
        found.extend(interface_links(interface)?);
    }
    let only = device.and(interfaces.first()).map(|interface| interface.ifindex);
    let by_index: HashMap<u32, &str> =
        interfaces.iter().map(|interface| (interface.ifindex, &*interface.name)).collect();
    for program in tc_programs(only).map_err(|e| query_refusal(&e))? {
        // An interface that was created since the interfaces were listed is left out.
        if let Some(devname) = by_index.get(&program.ifindex) {
            found.push(NetAttachment::tc(&program, devname));
        }
    }
    if device.is_none() {
        found.extend(namespace_programs(&links)?);
        found.extend(links.netfilter);
    }
    let mut names = ProgramNames::default();
    for attachment in &mut found {
        attachment.name = names.get(attachment.prog_id).name;
    }
    Ok(found)
}

fn selected_interfaces(device: Option<&str>) -> Result<Vec<NetworkInterface>, BadInput> {
    let mut interfaces = network_interfaces().map_err(|e| query_refusal(&e))?;
    let Some(device) = device else { return Ok(interfaces) };
    let names: Vec<String> = interfaces.iter().map(|i| describe::name(i.name.as_bytes())).collect();
    interfaces.retain(|interface| interface.name == device);
    if interfaces.is_empty() {
        let what = "no such interface in this network namespace";
        let bad = BadInput::new(describe::name(device.as_bytes()), what);
        return Err(bad.help(format!("it has {}", names.join(", "))));
    }
    Ok(interfaces)
}

fn read_links() -> Result<Links, BadInput> {
    let mut links = Links::default();
    for info in link_infos()? {
        match (info.link_type, info.detail) {
            (XDP_LINK, [ifindex, ..]) => {
                links.xdp.entry((ifindex, info.prog_id)).or_default().push(info.id);
            }
            (NETNS_LINK, [inode, attach_type, ..]) => {
                let key = (inode.into(), attach_type, info.prog_id);
                links.netns.entry(key).or_default().push(info.id);
            }
            (NETFILTER_LINK, [pf, hook, prio, flags, ..]) => links.netfilter.push(NetAttachment {
                attachment_type: "netfilter",
                prog_id: info.prog_id,
                link_id: Some(info.id),
                netfilter: Some(NetfilterHook { pf, hook, prio: prio.cast_signed(), flags }),
                ..NetAttachment::default()
            }),
            _ => {}
        }
    }
    Ok(links)
}

/// Returns the id of a link, if it is the only one.
fn single_link(ids: Option<&Vec<u32>>) -> Option<u32> {
    match ids.map(Vec::as_slice) {
        Some([link]) => Some(*link),
        _ => None,
    }
}

/// Returns the XDP programs of an interface in each mode.
fn xdp(interface: &NetworkInterface, links: &Links) -> Vec<NetAttachment> {
    let xdp = &interface.xdp;
    let mut modes = vec![
        (Some("driver"), xdp.driver_prog_id),
        (Some("generic"), xdp.generic_prog_id),
        (Some("offload"), xdp.hardware_prog_id),
    ];
    modes.retain(|(_, prog_id)| *prog_id != 0);
    if modes.is_empty() && xdp.prog_id != 0 {
        // Kernels before 4.19 report the program only.
        modes.push((None, xdp.prog_id));
    }
    let attachment = |(mode, prog_id)| {
        // The interface of another namespace may have the same index and program.
        let link_id = single_link(links.xdp.get(&(interface.ifindex, prog_id)));
        NetAttachment {
            attachment_type: "xdp",
            devname: Some(describe::name(interface.name.as_bytes())),
            ifindex: Some(interface.ifindex),
            mode,
            prog_id,
            link_id,
            ..NetAttachment::default()
        }
    };
    modes.into_iter().map(attachment).collect()
}

/// Returns the tcx and netkit programs of an interface.
fn interface_links(interface: &NetworkInterface) -> Result<Vec<NetAttachment>, BadInput> {
    let queried = match query_interface_links(interface.ifindex) {
        Ok(queried) => queried,
        // The interface was removed.
        Err(e) if e.errno() == Some(Errno::ENODEV) => return Ok(Vec::new()),
        Err(e) => return Err(query_refusal(&e)),
    };
    let mut found = Vec::new();
    for (attach_type, attached) in queried {
        let (attachment_type, kind) = match attach_type {
            AttachType::TcxIngress => ("tcx", "tcx/ingress"),
            AttachType::TcxEgress => ("tcx", "tcx/egress"),
            AttachType::NetkitPrimary => ("netkit", "netkit/primary"),
            AttachType::NetkitPeer => ("netkit", "netkit/peer"),
            other => ("unknown", other.name()),
        };
        for (index, prog_id) in attached.prog_ids.iter().enumerate() {
            found.push(NetAttachment {
                attachment_type,
                devname: Some(describe::name(interface.name.as_bytes())),
                ifindex: Some(interface.ifindex),
                kind: Some(kind.to_owned()),
                prog_id: *prog_id,
                // A program without a link has the link id 0.
                link_id: attached.link_ids.get(index).copied().filter(|id| *id != 0),
                ..NetAttachment::default()
            });
        }
    }
    Ok(found)
}

/// Returns the programs of the network namespace itself.
fn namespace_programs(links: &Links) -> Result<Vec<NetAttachment>, BadInput> {
    const PATH: &str = "/proc/self/ns/net";
    let failed = |e| BadInput::new(PATH, format_args!("cannot open it: {e}"));
    let namespace = File::open(PATH).map_err(failed)?;
    let inode = namespace.metadata().map_err(failed)?.ino();
    let mut found = Vec::new();
    for (attach_type, attachment_type) in
        [(AttachType::FlowDissector, "flow_dissector"), (AttachType::SkLookup, "sk_lookup")]
    {
        match query(QueryTarget::Netns(namespace.as_fd()), attach_type) {
            Ok(attached) => found.extend(attached.prog_ids.into_iter().map(|prog_id| NetAttachment {
                attachment_type,
                prog_id,
                link_id: single_link(links.netns.get(&(inode, attach_type.number(), prog_id))),
                ..NetAttachment::default()
            })),
            // The kernel does not know the attach type.
            Err(e) if e.errno() == Some(Errno::EINVAL) => {}
            Err(e) => return Err(query_refusal(&e)),
        }
    }
    Ok(found)
}

/// Creates the error for a query that the kernel refuses.
fn query_refusal(e: &AttachError) -> BadInput {
    match e.errno() {
        Some(errno) if errno == Errno::EPERM => refused(ObjectKind::Program, "query the attached", errno),
        _ => BadInput::new("running kernel", e),
    }
}
