//! What is attached somewhere.

use super::{AttachError, TcFilter, TcHook, TcPoint, Xdp, xdp_query};
use crate::{
    object::AttachType,
    sys::{self, Errno, QueryResult},
};
use std::os::fd::BorrowedFd;

/// `BPF_F_QUERY_EFFECTIVE`.
const EFFECTIVE: u32 = 1;

/// A place that programs are attached to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Target<'a> {
    /// A cgroup: what was attached to it itself.
    Cgroup(BorrowedFd<'a>),
    /// A cgroup: what runs for the processes in it, with what its ancestors hand down.
    CgroupEffective(BorrowedFd<'a>),
    /// A network namespace.
    Netns(BorrowedFd<'a>),
    /// A network interface, by number: XDP, tcx or netkit.
    Interface(u32),
    /// A sockmap or sockhash (kernels from 5.18).
    Sockmap(BorrowedFd<'a>),
    /// A device of remote controls.
    Lirc(BorrowedFd<'a>),
}

/// Which programs are attached somewhere, in the order in which they run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attached {
    /// Ids of programs.
    pub prog_ids: Vec<u32>,
    /// Of tcx and netkit, for each program the id of its link; 0 if it has none. Empty of other places.
    pub link_ids: Vec<u32>,
    /// Of a cgroup: `BPF_F_ALLOW_OVERRIDE` (1) and `BPF_F_ALLOW_MULTI` (2).
    pub flags: u32,
    /// Changes with each attaching and detaching, see [`Placement`](super::Placement); 0 where places have none.
    pub revision: u64,
}

/// Which programs of a type are attached somewhere.
///
/// Classifiers attached through netlink are listed by [`TcHook::filters`], and all of an interface's by [`query_interface`].
pub fn query(target: Target<'_>, attach_type: AttachType) -> Result<Attached, AttachError> {
    if let (Target::Interface(ifindex), AttachType::Xdp) = (target, attach_type) {
        return Ok(Attached { prog_ids: xdp_query(ifindex)?.prog_ids(), ..Attached::default() });
    }
    ask(target, attach_type).map_err(|errno| {
        let what = match target {
            Target::Interface(ifindex) => format!("{attach_type} on interface {ifindex}"),
            Target::Cgroup(_) | Target::CgroupEffective(_) => format!("{attach_type} of a cgroup"),
            Target::Netns(_) => format!("{attach_type} of a network namespace"),
            Target::Sockmap(_) => format!("{attach_type} of a sockmap"),
            Target::Lirc(_) => format!("{attach_type} of a lirc device"),
        };
        AttachError::kernel(&what, "query", errno)
    })
}

fn ask(target: Target<'_>, attach_type: AttachType) -> Result<Attached, Errno> {
    let (fd, ifindex, flags) = match target {
        Target::Interface(ifindex) => (None, ifindex, 0),
        Target::CgroupEffective(fd) => (Some(fd), 0, EFFECTIVE),
        Target::Cgroup(fd) | Target::Netns(fd) | Target::Sockmap(fd) | Target::Lirc(fd) => (Some(fd), 0, 0),
    };
    let QueryResult { prog_ids, link_ids, attach_flags, revision } =
        sys::prog_query(fd, ifindex, attach_type.number(), flags)?;
    Ok(Attached { prog_ids, link_ids, flags: attach_flags, revision })
}

/// All programs on a network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnInterface {
    /// XDP.
    pub xdp: Xdp,
    /// tcx and netkit, by attach type: those that have any.
    pub links: Vec<(AttachType, Attached)>,
    /// Classifiers for what comes in.
    pub tc_ingress: Vec<TcFilter>,
    /// Classifiers for what goes out.
    pub tc_egress: Vec<TcFilter>,
}

/// All programs on a network interface. What the kernel is too old for is empty.
pub fn query_interface(ifindex: u32) -> Result<OnInterface, AttachError> {
    let mut found = OnInterface { xdp: xdp_query(ifindex)?, ..OnInterface::default() };
    for at in
        [AttachType::TcxIngress, AttachType::TcxEgress, AttachType::NetkitPrimary, AttachType::NetkitPeer]
    {
        match ask(Target::Interface(ifindex), at) {
            Ok(attached) if attached.prog_ids.is_empty() => {}
            Ok(attached) => found.links.push((at, attached)),
            // A kernel without, or an interface that is no netkit.
            Err(errno)
                if matches!(
                    errno.0,
                    libc::EINVAL | libc::E2BIG | libc::ENXIO | libc::EACCES | libc::EOPNOTSUPP
                ) => {}
            Err(errno) => {
                return Err(AttachError::kernel(&format!("{at} on interface {ifindex}"), "query", errno));
            }
        }
    }
    found.tc_ingress = TcHook { ifindex, point: TcPoint::Ingress }.filters()?;
    found.tc_egress = TcHook { ifindex, point: TcPoint::Egress }.filters()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            Placement, TcOptions, XdpMode, tcx,
            testing::{Counting, in_own_network, pair},
            xdp,
        },
        object::ProgramType,
    };

    #[test]
    fn all_of_an_interface() {
        in_own_network(|| {
            let Some((_, peer)) = pair("veth") else { return };
            assert_eq!(query_interface(peer).unwrap(), OnInterface::default());
            let (Some(x), Some(c)) = (
                Counting::load(ProgramType::Xdp, Some(AttachType::Xdp), 2),
                Counting::load(ProgramType::SchedCls, None, -1),
            ) else {
                return;
            };
            let at = AttachType::TcxEgress;
            let _xdp = xdp(x.fd(), peer, XdpMode::Generic).unwrap();
            let tcx = tcx(c.fd(), peer, at, &Placement::default());
            let hook = TcHook { ifindex: peer, point: TcPoint::Egress };
            hook.create().unwrap();
            let _tc = hook.attach(c.fd(), TcOptions::default()).unwrap();
            let found = query_interface(peer).unwrap();
            assert_eq!(query(Target::Interface(peer), AttachType::Xdp).unwrap().prog_ids, [x.id()]);
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
    fn what_is_not_there_is_an_error_that_names_it() {
        let e = query(Target::Interface(1 << 30), AttachType::Xdp).unwrap_err().to_string();
        assert!(e.starts_with("xdp on interface 1073741824: cannot query: ENODEV"), "{e}");
        let file = std::fs::File::open("/dev/null").unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        let e = query(Target::Cgroup(fd), AttachType::CgroupDevice).unwrap_err().to_string();
        assert!(e.starts_with("BPF_CGROUP_DEVICE of a cgroup: cannot query: "), "{e}");
    }
}
