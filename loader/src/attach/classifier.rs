//! Classifiers, attached in the best way that the kernel has: tcx, else traffic control.

use super::{
    error::AttachError,
    interface::InterfaceRef,
    link::Link,
    placement::Placement,
    query::{QueryTarget, query_target},
    tc::{TcAttachPoint, TcHook, TcOptions},
    tcx::tcx,
};
use core_relo_object::object::AttachType;
use std::os::fd::BorrowedFd;

/// A direction of the packets of a network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "packets come in or go out")]
pub enum PacketDirection {
    /// Incoming packets.
    Ingress,
    /// Outgoing packets.
    Egress,
}

impl PacketDirection {
    /// Returns the attach type of a tcx link.
    pub const fn attach_type(self) -> AttachType {
        match self {
            Self::Ingress => AttachType::TcxIngress,
            Self::Egress => AttachType::TcxEgress,
        }
    }

    const fn attach_point(self) -> TcAttachPoint {
        match self {
            Self::Ingress => TcAttachPoint::Ingress,
            Self::Egress => TcAttachPoint::Egress,
        }
    }
}

/// Attaches a classifier to an interface: as a [`tcx`] link where the kernel has tcx, else by traffic
/// control. A missing `clsact` qdisc is created for that.
pub(super) fn classifier<'i>(
    prog: BorrowedFd<'_>,
    interface: impl Into<InterfaceRef<'i>>,
    direction: PacketDirection,
) -> Result<Link, AttachError> {
    let ifindex = interface.into().index()?;
    match tcx(prog, ifindex, direction.attach_type(), &Placement::default()) {
        Err(error) if error.errno().is_some_and(is_unsupported) && !has_tcx(ifindex, direction) => {
            log::info!("interface {ifindex}: this kernel has no tcx, the classifier uses traffic control");
            traffic_control(prog, ifindex, direction.attach_point(), TcOptions::default())
        }
        attached => attached,
    }
}

/// Attaches a classifier of traffic control. Removes a `clsact` qdisc that was created for it if the
/// classifier is refused.
///
/// The caller creates other parents, see [`Qdisc`](super::Qdisc).
pub(super) fn traffic_control<'i>(
    prog: BorrowedFd<'_>,
    interface: impl Into<InterfaceRef<'i>>,
    attach_point: TcAttachPoint,
    options: TcOptions,
) -> Result<Link, AttachError> {
    let hook = TcHook::new(interface, attach_point)?;
    let is_new = !matches!(attach_point, TcAttachPoint::Parent(_)) && hook.create()?;
    let attached = hook.attach(prog, options);
    if is_new
        && attached.is_err()
        && let Err(e) = TcHook::clsact(hook.ifindex).destroy()
    {
        log::warn!("interface {}: the clsact qdisc is not removed: {e}", hook.ifindex);
    }
    attached
}

/// Returns whether an error may mean that the kernel does not know the attach type.
const fn is_unsupported(errno: crate::sys::Errno) -> bool {
    matches!(errno.0, libc::EINVAL | libc::EOPNOTSUPP | libc::E2BIG)
}

/// Returns whether the kernel has tcx: it lists the programs of an interface.
fn has_tcx(ifindex: u32, direction: PacketDirection) -> bool {
    query_target(QueryTarget::Interface(ifindex), direction.attach_type()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::test_support::{Counting, in_own_network, pair, send_on_pair};
    use core_relo_object::object::ProgramType;

    #[test]
    fn one_call_attaches_on_kernels_with_and_without_tcx() {
        in_own_network(|| {
            let Some((near, peer)) = pair("veth") else { return };
            for (ifindex, direction) in [(peer, PacketDirection::Ingress), (near, PacketDirection::Egress)] {
                // `TCX_NEXT` and `TC_ACT_UNSPEC`.
                let Some(prog) = Counting::load(ProgramType::SchedCls, None, -1) else { return };
                let link = classifier(prog.fd(), ifindex, direction).unwrap();
                assert_eq!(link.fd().is_some(), has_tcx(ifindex, direction));
                prog.fires(link, send_on_pair);
                let Some(prog) = Counting::load(ProgramType::SchedCls, None, -1) else { return };
                let link =
                    traffic_control(prog.fd(), ifindex, direction.attach_point(), TcOptions::default())
                        .unwrap();
                assert!(link.fd().is_none());
                prog.fires(link, send_on_pair);
            }
        });
    }

    #[test]
    fn another_program_type_is_an_error_and_leaves_no_qdisc() {
        in_own_network(|| {
            let Some((_, peer)) = pair("veth") else { return };
            let Some(prog) = Counting::load(ProgramType::Xdp, None, 2) else { return };
            classifier(prog.fd(), peer, PacketDirection::Ingress).unwrap_err();
            traffic_control(prog.fd(), peer, TcAttachPoint::Ingress, TcOptions::default()).unwrap_err();
            let hook = TcHook { ifindex: peer, attach_point: TcAttachPoint::Ingress };
            assert!(hook.create().unwrap(), "the qdisc was removed");
        });
    }
}
