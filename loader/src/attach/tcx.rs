//! tcx and netkit: programs in an interface's traffic by links, in an order that each can choose.

use super::{
    AttachError, Hint, Link,
    order::{Placement, not_placed},
};
use crate::{object::AttachType, sys::LinkTarget};
use std::os::fd::BorrowedFd;

/// Attaches a classifier to an interface's traffic (kernels from 6.6): `attach_type` is `TcxIngress` or `TcxEgress`.
///
/// tcx runs before classifiers attached through [`TcHook`](super::TcHook).
pub fn tcx(
    prog: BorrowedFd<'_>,
    ifindex: u32,
    attach_type: AttachType,
    place: &Placement<'_>,
) -> Result<Link, AttachError> {
    const UNKNOWN: Hint = Hint("it needs a kernel from 6.6, and a classifier");
    on_interface(("tcx", UNKNOWN), prog, ifindex, attach_type, place)
}

/// Attaches a classifier to a netkit device (kernels from 6.7), of which `ifindex` is the primary end: `attach_type` is
/// `NetkitPrimary` or `NetkitPeer`.
pub fn netkit(
    prog: BorrowedFd<'_>,
    ifindex: u32,
    attach_type: AttachType,
    place: &Placement<'_>,
) -> Result<Link, AttachError> {
    const UNKNOWN: Hint = Hint("it needs a kernel from 6.7, a netkit device, and a classifier");
    on_interface(("netkit", UNKNOWN), prog, ifindex, attach_type, place)
}

fn on_interface(
    (family, unknown): (&str, Hint),
    prog: BorrowedFd<'_>,
    ifindex: u32,
    attach_type: AttachType,
    place: &Placement<'_>,
) -> Result<Link, AttachError> {
    let what = format!("{family} ({attach_type}) on interface {ifindex}");
    if ifindex == 0 {
        return Err(AttachError::target(what, "no interface has the number 0"));
    }
    let made = place.link(prog, LinkTarget::Interface(ifindex), attach_type, 0);
    made.map(|fd| Link::from_fd(fd, what.as_str())).map_err(|errno| not_placed(&what, errno, place, unknown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            Neighbour, Order, Target, query,
            testing::{Counting, eventually, in_own_network, kernel_before, pair, send_on_pair},
        },
        object::ProgramType,
        sys,
    };

    /// `TCX_NEXT`.
    const NEXT: i32 = -1;

    fn program(at: AttachType) -> Option<Counting> {
        Counting::load(ProgramType::SchedCls, Some(at), NEXT)
    }

    #[test]
    fn tcx_fires_in_both_directions() {
        in_own_network(|| {
            if kernel_before(6, 6, "tcx") {
                return;
            }
            let Some((near, peer)) = pair("veth") else { return };
            for (ifindex, at) in [(peer, AttachType::TcxIngress), (near, AttachType::TcxEgress)] {
                let Some(prog) = program(at) else { return };
                let link = tcx(prog.fd(), ifindex, at, &Placement::default()).unwrap();
                assert_eq!(query(Target::Interface(ifindex), at).unwrap().prog_ids, [prog.id()]);
                prog.fires(link, send_on_pair);
                assert_eq!(query(Target::Interface(ifindex), at).unwrap().prog_ids, [0; 0]);
            }
        });
    }

    #[test]
    fn programs_run_in_the_order_asked_for() {
        in_own_network(|| {
            if kernel_before(6, 6, "tcx") {
                return;
            }
            let at = AttachType::TcxIngress;
            let Some((_, peer)) = pair("veth") else { return };
            let progs: Vec<_> = (0..5).filter_map(|_| program(at)).collect();
            let [one, two, three, four, five] = &progs[..] else { return };
            let put = |prog: &Counting, order| {
                tcx(prog.fd(), peer, at, &Placement { order, ..Placement::default() }).unwrap()
            };
            let one_link = put(one, Order::Last);
            let _two = put(two, Order::First);
            let _three = put(three, Order::After(Neighbour::ProgId(two.id())));
            let _four = put(four, Order::Before(Neighbour::Link(one_link.fd().unwrap())));
            let one_id = sys::link_info(&one_link.fd().unwrap()).unwrap().id;
            let _five = put(five, Order::After(Neighbour::LinkId(one_id)));
            let now = query(Target::Interface(peer), at).unwrap();
            assert_eq!(now.prog_ids, [two, three, four, one, five].map(Counting::id));
            assert_eq!(now.link_ids.len(), 5);
            assert_eq!(now.link_ids[3], one_id);
            let late = program(at).unwrap();
            let stale = Placement { expected_revision: now.revision - 1, ..Placement::default() };
            let error = tcx(late.fd(), peer, at, &stale).unwrap_err().to_string();
            assert!(error.contains("ESTALE") && error.contains("query again"), "{error}");
            let fresh = Placement { expected_revision: now.revision, ..Placement::default() };
            let link = tcx(late.fd(), peer, at, &fresh).unwrap();
            let order = Order::Before(Neighbour::ProgId(late.id()));
            drop(link);
            let there = || query(Target::Interface(peer), at).unwrap().prog_ids;
            assert!(eventually(|| !there().contains(&late.id())));
            let gone = tcx(late.fd(), peer, at, &Placement { order, ..Placement::default() }).unwrap_err();
            assert!(gone.to_string().contains("the neighbour is not attached"), "{gone}");
        });
    }

    #[test]
    fn netkit_fires_on_its_primary() {
        in_own_network(|| {
            let at = AttachType::NetkitPrimary;
            let Some((near, _)) = pair("netkit") else { return };
            let Some(prog) = program(at) else { return };
            let link = netkit(prog.fd(), near, at, &Placement::default()).unwrap();
            assert_eq!(query(Target::Interface(near), at).unwrap().prog_ids, [prog.id()]);
            prog.fires(link, send_on_pair);
        });
    }

    #[test]
    fn no_interface_no_link() {
        let Some(prog) = program(AttachType::TcxIngress) else { return };
        let place = Placement::default();
        assert!(matches!(tcx(prog.fd(), 0, AttachType::TcxIngress, &place), Err(AttachError::Target { .. })));
        let error = netkit(prog.fd(), 1, AttachType::NetkitPeer, &place).unwrap_err().to_string();
        assert!(error.starts_with("netkit (BPF_NETKIT_PEER) on interface 1: cannot attach: "), "{error}");
    }
}
