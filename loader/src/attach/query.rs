//! Queries for the programs that are attached to a target.

use super::{
    error::AttachError,
    target::InterfaceRef,
    tc::{TcAttachPoint, TcFilter, TcHook},
    xdp::{XdpPrograms, xdp_query},
};
use crate::{
    object::AttachType,
    sys::{self, Errno, QueryResult},
};
use std::os::fd::BorrowedFd;

/// `BPF_F_QUERY_EFFECTIVE`.
const EFFECTIVE: u32 = 1;

/// A target that programs are attached to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum QueryTarget<'a> {
    /// A cgroup: the programs attached to the cgroup itself.
    Cgroup(BorrowedFd<'a>),
    /// A cgroup: the programs that run for its processes, those of its ancestors included.
    CgroupEffective(BorrowedFd<'a>),
    /// A network namespace.
    Netns(BorrowedFd<'a>),
    /// The index of a network interface: XDP, tcx or netkit.
    Interface(u32),
    /// A sockmap or sockhash (kernels from 5.18).
    Sockmap(BorrowedFd<'a>),
    /// A lirc device (remote control receiver).
    Lirc(BorrowedFd<'a>),
}

/// The programs attached to a target, in the order in which they run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttachedPrograms {
    /// The program ids.
    pub prog_ids: Vec<u32>,
    /// For tcx and netkit, the link id of each program, 0 for none. Empty for other targets.
    pub link_ids: Vec<u32>,
    /// For a cgroup, `BPF_F_ALLOW_OVERRIDE` (1) and `BPF_F_ALLOW_MULTI` (2).
    pub flags: u32,
    /// The revision, which changes with every attach and detach, see [`Placement`](super::Placement). 0 for targets without.
    pub revision: u64,
}

/// Returns the programs of an attach type that are attached to a target.
///
/// [`TcHook::filters`] lists classifiers that were attached through netlink, [`query_interface`] all programs of an interface.
pub fn query(target: QueryTarget<'_>, attach_type: AttachType) -> Result<AttachedPrograms, AttachError> {
    if let (QueryTarget::Interface(ifindex), AttachType::Xdp) = (target, attach_type) {
        return Ok(AttachedPrograms {
            prog_ids: xdp_query(ifindex)?.prog_ids(),
            ..AttachedPrograms::default()
        });
    }
    query_target(target, attach_type).map_err(|errno| {
        let label = match target {
            QueryTarget::Interface(ifindex) => format!("{attach_type} on interface {ifindex}"),
            QueryTarget::Cgroup(_) | QueryTarget::CgroupEffective(_) => format!("{attach_type} of a cgroup"),
            QueryTarget::Netns(_) => format!("{attach_type} of a network namespace"),
            QueryTarget::Sockmap(_) => format!("{attach_type} of a sockmap"),
            QueryTarget::Lirc(_) => format!("{attach_type} of a lirc device"),
        };
        AttachError::kernel(&label, "query", errno)
    })
}

fn query_target(target: QueryTarget<'_>, attach_type: AttachType) -> Result<AttachedPrograms, Errno> {
    let (fd, ifindex, flags) = match target {
        QueryTarget::Interface(ifindex) => (None, ifindex, 0),
        QueryTarget::CgroupEffective(fd) => (Some(fd), 0, EFFECTIVE),
        QueryTarget::Cgroup(fd)
        | QueryTarget::Netns(fd)
        | QueryTarget::Sockmap(fd)
        | QueryTarget::Lirc(fd) => (Some(fd), 0, 0),
    };
    let QueryResult { prog_ids, link_ids, attach_flags, revision } =
        sys::prog_query(fd, ifindex, attach_type.number(), flags)?;
    Ok(AttachedPrograms { prog_ids, link_ids, flags: attach_flags, revision })
}

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
    const ATTACH_TYPES: [AttachType; 4] =
        [AttachType::TcxIngress, AttachType::TcxEgress, AttachType::NetkitPrimary, AttachType::NetkitPeer];
    let ifindex = interface.into().index()?;
    let mut found = InterfacePrograms { xdp: xdp_query(ifindex)?, ..InterfacePrograms::default() };
    for attach_type in ATTACH_TYPES {
        match query_target(QueryTarget::Interface(ifindex), attach_type) {
            Ok(attached) if attached.prog_ids.is_empty() => {}
            Ok(attached) => found.links.push((attach_type, attached)),
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
    found.tc_ingress = TcHook { ifindex, attach_point: TcAttachPoint::Ingress }.filters()?;
    found.tc_egress = TcHook { ifindex, attach_point: TcAttachPoint::Egress }.filters()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            Placement, TcOptions, XdpMode, tcx,
            test_support::{Counting, in_own_network, pair},
            xdp,
        },
        object::ProgramType,
    };

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
            let attach_type = AttachType::TcxEgress;
            let _xdp = xdp(x.fd(), peer, XdpMode::Generic).unwrap();
            let tcx = tcx(c.fd(), peer, attach_type, &Placement::default());
            let hook = TcHook { ifindex: peer, attach_point: TcAttachPoint::Egress };
            hook.create().unwrap();
            let _tc = hook.attach(c.fd(), TcOptions::default()).unwrap();
            let found = query_interface(peer).unwrap();
            assert_eq!(query(QueryTarget::Interface(peer), AttachType::Xdp).unwrap().prog_ids, [x.id()]);
            assert_eq!(found.xdp.generic, x.id());
            assert_eq!((found.tc_ingress.len(), found.tc_egress.len()), (0, 1));
            assert_eq!(found.tc_egress[0].prog_id, c.id());
            match tcx {
                Ok(_link) => {
                    let [(AttachType::TcxEgress, attached)] = &found.links[..] else { panic!("{found:?}") };
                    assert_eq!(attached.prog_ids, [c.id()]);
                }
                Err(e) => println!("SKIP: {e}"),
            }
        });
    }

    #[test]
    fn a_missing_target_is_named() {
        let e = query(QueryTarget::Interface(1 << 30), AttachType::Xdp).unwrap_err().to_string();
        assert!(e.starts_with("xdp on interface 1073741824: cannot query: ENODEV"), "{e}");
        let file = std::fs::File::open("/dev/null").unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        let e = query(QueryTarget::Cgroup(fd), AttachType::CgroupDevice).unwrap_err().to_string();
        assert!(e.starts_with("BPF_CGROUP_DEVICE of a cgroup: cannot query: "), "{e}");
    }
}
