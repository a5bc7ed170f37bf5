//! tcx and netkit: classifiers that kernel links attach to an interface. Each link chooses its position in
//! the order of programs.

use super::{
    error::{AttachError, Hint},
    interface::InterfaceRef,
    link::Link,
    placement::{Placement, placement_error},
    program_type::explain_einval,
};
use crate::sys::LinkTarget;
use core_relo_object::object::AttachType;
use std::os::fd::BorrowedFd;

/// Attaches a classifier to an interface (kernels from 6.6). `attach_type` is `TcxIngress` or `TcxEgress`.
pub(super) fn tcx<'i>(
    prog: BorrowedFd<'_>,
    interface: impl Into<InterfaceRef<'i>>,
    attach_type: AttachType,
    placement: &Placement<'_>,
) -> Result<Link, AttachError> {
    const UNSUPPORTED: Hint = Hint("tcx needs a kernel from 6.6");
    attach_to_interface("tcx", UNSUPPORTED, prog, interface.into(), attach_type, placement)
}

/// Attaches a classifier to a netkit device (kernels from 6.7). The interface is the primary end, and
/// `attach_type` is `NetkitPrimary` or `NetkitPeer`.
pub(super) fn netkit<'i>(
    prog: BorrowedFd<'_>,
    interface: impl Into<InterfaceRef<'i>>,
    attach_type: AttachType,
    placement: &Placement<'_>,
) -> Result<Link, AttachError> {
    const UNSUPPORTED: Hint = Hint("netkit needs a kernel from 6.7 and a netkit device");
    attach_to_interface("netkit", UNSUPPORTED, prog, interface.into(), attach_type, placement)
}

fn attach_to_interface(
    hook: &str,
    unsupported: Hint,
    prog: BorrowedFd<'_>,
    interface: InterfaceRef<'_>,
    attach_type: AttachType,
    placement: &Placement<'_>,
) -> Result<Link, AttachError> {
    let label = format!("{hook} ({attach_type}) on {interface}");
    let ifindex = interface.index()?;
    if ifindex == 0 {
        return Err(AttachError::target(label, "the interface index is 0, expected 1 or more"));
    }
    placement
        .create_link(prog, LinkTarget::Interface(ifindex), attach_type, 0)
        .map(|fd| Link::from_fd(fd, label.as_str()))
        .map_err(|errno| {
            explain_einval(placement_error(&label, errno, placement, unsupported), prog, attach_type)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            Anchor, Order, QueryTarget, query,
            test_support::{Counting, eventually, in_own_network, kernel_before, pair, send_on_pair},
        },
        sys,
    };
    use core_relo_object::object::ProgramType;

    /// `TCX_NEXT`.
    const NEXT: i32 = -1;

    fn program(attach_type: AttachType) -> Option<Counting> {
        Counting::load(ProgramType::SchedCls, Some(attach_type), NEXT)
    }

    #[test]
    fn tcx_runs_in_both_directions() {
        in_own_network(|| {
            if kernel_before(6, 6, "tcx") {
                return;
            }
            let Some((near, peer)) = pair("veth") else { return };
            for (ifindex, attach_type) in [(peer, AttachType::TcxIngress), (near, AttachType::TcxEgress)] {
                let Some(prog) = program(attach_type) else { return };
                let link = tcx(prog.fd(), ifindex, attach_type, &Placement::default()).unwrap();
                assert_eq!(
                    query(QueryTarget::Interface(ifindex), attach_type).unwrap().prog_ids,
                    [prog.id()]
                );
                prog.fires(link, send_on_pair);
                assert_eq!(query(QueryTarget::Interface(ifindex), attach_type).unwrap().prog_ids, [0; 0]);
            }
        });
    }

    #[test]
    fn programs_run_in_the_chosen_order() {
        in_own_network(|| {
            if kernel_before(6, 6, "tcx") {
                return;
            }
            let attach_type = AttachType::TcxIngress;
            let Some((_, peer)) = pair("veth") else { return };
            let progs: Vec<_> = (0..5).filter_map(|_| program(attach_type)).collect();
            let [one, two, three, four, five] = &progs[..] else { return };
            let attach = |prog: &Counting, order| {
                tcx(prog.fd(), peer, attach_type, &Placement { order, ..Placement::default() }).unwrap()
            };
            let one_link = attach(one, Order::Last);
            let _two = attach(two, Order::First);
            let _three = attach(three, Order::After(Anchor::ProgId(two.id())));
            let _four = attach(four, Order::Before(Anchor::Link(one_link.fd().unwrap())));
            let one_id = sys::LinkInfo::query(&one_link.fd().unwrap()).unwrap().id;
            let _five = attach(five, Order::After(Anchor::LinkId(one_id)));
            let now = query(QueryTarget::Interface(peer), attach_type).unwrap();
            assert_eq!(now.prog_ids, [two, three, four, one, five].map(Counting::id));
            assert_eq!(now.link_ids.len(), 5);
            assert_eq!(now.link_ids[3], one_id);
            let late = program(attach_type).unwrap();
            let stale = Placement { expected_revision: now.revision - 1, ..Placement::default() };
            let error = tcx(late.fd(), peer, attach_type, &stale).unwrap_err().to_string();
            assert!(error.contains("ESTALE") && error.contains("query again"), "{error}");
            let fresh = Placement { expected_revision: now.revision, ..Placement::default() };
            let link = tcx(late.fd(), peer, attach_type, &fresh).unwrap();
            let order = Order::Before(Anchor::ProgId(late.id()));
            drop(link);
            let attached = || query(QueryTarget::Interface(peer), attach_type).unwrap().prog_ids;
            assert!(eventually(|| !attached().contains(&late.id())));
            let gone =
                tcx(late.fd(), peer, attach_type, &Placement { order, ..Placement::default() }).unwrap_err();
            assert!(gone.to_string().contains("the anchor is not attached"), "{gone}");
        });
    }

    #[test]
    fn netkit_runs_on_its_primary_end() {
        in_own_network(|| {
            let attach_type = AttachType::NetkitPrimary;
            let Some((near, _)) = pair("netkit") else { return };
            let Some(prog) = program(attach_type) else { return };
            let link = netkit(prog.fd(), near, attach_type, &Placement::default()).unwrap();
            assert_eq!(query(QueryTarget::Interface(near), attach_type).unwrap().prog_ids, [prog.id()]);
            prog.fires(link, send_on_pair);
        });
    }

    #[test]
    fn a_missing_interface_is_named() {
        let Some(prog) = program(AttachType::TcxIngress) else { return };
        let placement = Placement::default();
        assert!(matches!(
            tcx(prog.fd(), 0, AttachType::TcxIngress, &placement),
            Err(AttachError::Target { .. })
        ));
        let error = netkit(prog.fd(), 1, AttachType::NetkitPeer, &placement).unwrap_err().to_string();
        assert!(error.starts_with("netkit (BPF_NETKIT_PEER) on interface 1: cannot attach: "), "{error}");
    }
}
