//! [`OwnInterfaces`]: the network interfaces of this network namespace, of which links may be.

use super::{
    link_target::{LinkDevice, LinkTarget},
    object::list,
};
use crate::{
    attach::{self, InterfaceRef, QueryTarget, XdpPrograms},
    sys::{Errno, LinkInfo, ObjectKind},
};
use alloc::collections::BTreeMap;
use core::cell::OnceCell;
use core_relo_object::object::{AttachType, LinkType};

/// The number of XDP links of each interface index and program.
type XdpLinkCounts = BTreeMap<(u32, u32), usize>;

/// The network interfaces of this network namespace, which are queried for the links that they have.
#[derive(Debug, Default)]
pub struct OwnInterfaces {
    /// The XDP links in all network namespaces, once they are counted.
    xdp_links: OnceCell<Option<XdpLinkCounts>>,
}

impl OwnInterfaces {
    /// Finds the network interface of an XDP, tcx or netkit link. Other links stay as they are.
    pub fn find_device(&self, info: &LinkInfo, target: &mut LinkTarget) {
        let attach_type = match LinkType::from_number(info.link_type) {
            Some(LinkType::Tcx | LinkType::Netkit) => info.detail.get(1).copied(),
            _ => None,
        };
        if let LinkTarget::Interface { ifindex, device, .. } = target
            && *ifindex != 0
        {
            *device = self.find(info, *ifindex, attach_type);
        }
    }

    /// Finds the interface of an XDP, tcx or netkit link. `attach_type` is the number in the info of a tcx or
    /// netkit link.
    fn find(&self, info: &LinkInfo, ifindex: u32, attach_type: Option<u32>) -> LinkDevice {
        match attach_type {
            Some(number) => AttachType::from_number(number)
                .map_or(LinkDevice::Unclear, |attach_type| find_classifier(info.id, ifindex, attach_type)),
            None => self.find_xdp(info.prog_id, ifindex),
        }
    }

    /// Finds the interface of an XDP link. The kernel reports the program of an interface, but not its link.
    ///
    /// If the same program is attached to this interface without a link, and by a link to an interface of
    /// another namespace with the same index, the kernel reports no difference, and the link is taken for one
    /// of this namespace.
    fn find_xdp(&self, prog_id: u32, ifindex: u32) -> LinkDevice {
        let XdpPrograms { prog_id: only, driver_prog_id, generic_prog_id, hardware_prog_id, .. } =
            match attach::xdp_query(ifindex) {
                Ok(programs) => programs,
                Err(e) => return without_answer(e.errno()),
            };
        if ![only, driver_prog_id, generic_prog_id, hardware_prog_id].contains(&prog_id) {
            return LinkDevice::OtherNetns;
        }
        let links = self.xdp_links.get_or_init(count_xdp_links);
        match links.as_ref().and_then(|links| links.get(&(ifindex, prog_id))) {
            Some(1) => named(ifindex),
            // Several links attach the program to interfaces with this index, or the links changed meanwhile.
            _ => LinkDevice::Unclear,
        }
    }
}

/// Finds the interface of a tcx or netkit link.
fn find_classifier(link_id: u32, ifindex: u32, attach_type: AttachType) -> LinkDevice {
    match attach::query(QueryTarget::Interface(ifindex), attach_type) {
        Ok(attached) if attached.link_ids.contains(&link_id) => named(ifindex),
        Ok(_) => LinkDevice::OtherNetns,
        Err(e) => without_answer(e.errno()),
    }
}

/// Returns the interface of a link for which the interface of this namespace cannot be queried.
fn without_answer(errno: Option<Errno>) -> LinkDevice {
    match errno {
        // There is no such interface, it is no netkit interface, or it is the peer of one.
        Some(Errno::ENODEV | Errno::ENXIO | Errno::EACCES) => LinkDevice::OtherNetns,
        _ => LinkDevice::Unclear,
    }
}

/// Returns an interface of this network namespace with its name.
fn named(ifindex: u32) -> LinkDevice {
    // /sys/class/net shows the interfaces of the namespace in which sysfs was mounted.
    InterfaceRef::from(ifindex).name().map_or(LinkDevice::Unclear, LinkDevice::Own)
}

/// Counts the XDP links of each interface index and program. `None` if the kernel does not list them, or
/// without the right to open them.
fn count_xdp_links() -> Option<XdpLinkCounts> {
    let mut links = XdpLinkCounts::new();
    for link in list(ObjectKind::Link).ok()? {
        let Some(fd) = link.open().ok()? else { continue };
        let info = LinkInfo::query(&fd).ok()?;
        if let (true, [ifindex, ..]) = (info.link_type == LinkType::Xdp.number(), info.detail) {
            let count: &mut usize = links.entry((ifindex, info.prog_id)).or_default();
            *count = count.checked_add(1)?;
        }
    }
    Some(links)
}
