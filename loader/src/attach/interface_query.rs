//! All programs of a network interface.

use super::{
    error::AttachError,
    interface::InterfaceRef,
    query::{AttachedPrograms, QueryTarget, query_target},
    tc::{TcAttachPoint, TcFilter, TcHook},
    xdp::{XdpPrograms, xdp_query},
};
use core_relo_object::object::AttachType;

/// The programs on a network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterfacePrograms {
    /// The XDP programs.
    pub xdp: XdpPrograms,
    /// The tcx and netkit programs, for each attach type that has any.
    pub links: Vec<(AttachType, AttachedPrograms)>,
    /// The classifiers of incoming packets.
    pub tc_ingress: Vec<TcFilter>,
    /// The classifiers of outgoing packets.
    pub tc_egress: Vec<TcFilter>,
}

/// Returns all programs on a network interface. Kinds that the kernel does not support are empty.
pub fn query_interface<'i>(interface: impl Into<InterfaceRef<'i>>) -> Result<InterfacePrograms, AttachError> {
    let ifindex = interface.into().index()?;
    let mut found = InterfacePrograms { xdp: xdp_query(ifindex)?, ..InterfacePrograms::default() };
    found.links = query_interface_links(ifindex)?;
    found.tc_ingress = TcHook { ifindex, attach_point: TcAttachPoint::Ingress }.filters()?;
    found.tc_egress = TcHook { ifindex, attach_point: TcAttachPoint::Egress }.filters()?;
    Ok(found)
}

/// Returns the tcx and netkit programs of a network interface, for each attach type that has any.
pub fn query_interface_links(ifindex: u32) -> Result<Vec<(AttachType, AttachedPrograms)>, AttachError> {
    const ATTACH_TYPES: [AttachType; 4] =
        [AttachType::TcxIngress, AttachType::TcxEgress, AttachType::NetkitPrimary, AttachType::NetkitPeer];
    let mut links = Vec::new();
    for attach_type in ATTACH_TYPES {
        match query_target(QueryTarget::Interface(ifindex), attach_type) {
            Ok(attached) if attached.prog_ids.is_empty() => {}
            Ok(attached) => links.push((attach_type, attached)),
            // The kernel does not know the attach type, or the interface is no netkit device.
            Err(errno)
                if matches!(
                    errno.0,
                    libc::EINVAL | libc::E2BIG | libc::ENXIO | libc::EACCES | libc::EOPNOTSUPP
                ) => {}
            Err(errno) => {
                let label = format!("{attach_type} on interface {ifindex}");
                return Err(AttachError::kernel(&label, "query", errno));
            }
        }
    }
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::{
        Placement, ProgramRef, TcOptions, XdpMode, query,
        test_support::{Counting, in_own_network, pair},
    };
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;

    #[test]
    fn all_programs_of_an_interface_are_found() {
        in_own_network(|| {
            let Some((_, peer)) = pair("veth") else { return };
            assert_eq!(query_interface(peer).unwrap(), InterfacePrograms::default());
            let (Some(x), Some(c)) = (
                Counting::load(ProgramType::Xdp, Some(AttachType::Xdp), 2),
                Counting::load(ProgramType::SchedCls, None, -1),
            ) else {
                return;
            };
            let _xdp = ProgramRef::from_fd(x.fd()).attach_xdp(peer, XdpMode::Generic).unwrap();
            let classifier = ProgramRef::from_fd(c.fd()).with_attach_type(AttachType::TcxEgress);
            let tcx = classifier.attach_tcx(peer, &Placement::default());
            let hook = TcHook { ifindex: peer, attach_point: TcAttachPoint::Egress };
            hook.create().unwrap();
            let _tc = hook.attach(c.fd(), TcOptions::default()).unwrap();
            let found = query_interface(peer).unwrap();
            assert_eq!(query(QueryTarget::Interface(peer), AttachType::Xdp).unwrap().prog_ids, [x.id()]);
            assert_eq!(found.xdp.generic_prog_id, x.id());
            assert_eq!((found.tc_ingress.len(), found.tc_egress.len()), (0, 1));
            assert_eq!(found.tc_egress[0].prog_id, c.id());
            match tcx {
                Ok(_link) => {
                    let [(AttachType::TcxEgress, attached)] = &found.links[..] else { panic!("{found:?}") };
                    assert_eq!(attached.prog_ids, [c.id()]);
                }
                Err(e) => skip!("{e}"),
            }
        });
    }
}
