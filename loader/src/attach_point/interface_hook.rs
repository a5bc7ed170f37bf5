//! [`InterfaceHook`]: the hooks of a network interface.

use crate::attach::{PacketDirection, TcAttachPoint, XdpMode};
use core_relo_object::object::AttachType;

/// The hook of a network interface that runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers that detach programs handle each of them")]
pub enum InterfaceHook {
    /// XDP.
    Xdp(XdpMode),
    /// A classifier in a direction: by tcx or, with `PointProgram::may_use_traffic_control` on a kernel
    /// without tcx, by traffic control.
    Direction(PacketDirection),
    /// A classifier by link: `TcxIngress`, `TcxEgress`, `NetkitPrimary` or `NetkitPeer`.
    Classifier(AttachType),
    /// A classifier of traffic control, through netlink.
    Tc(TcAttachPoint),
}
