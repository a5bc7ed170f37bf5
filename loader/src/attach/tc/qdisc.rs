//! Queueing disciplines (qdiscs): `clsact`, to which classifiers are attached, and qdiscs that BPF programs
//! implement.

use super::TCA_KIND;
use crate::attach::{
    error::AttachError,
    netlink::{Attributes, CREATE, EXCL, Request},
    rtnetlink::{RtnetlinkSocket, netlink_error, tcmsg},
};

pub(super) const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;

/// A queueing discipline (qdisc) of an interface.
///
/// BPF programs implement a kind of qdisc by a struct_ops map of `Qdisc_ops` (kernels from 6.16).
/// [`struct_ops`](crate::attach::struct_ops) registers the kind under its `id`. [`create`](Self::create) then
/// creates a qdisc of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the fields are those of the kernel's request")]
pub struct Qdisc<'a> {
    /// The interface index, in the calling thread's network namespace.
    pub ifindex: u32,
    /// The parent's handle (`tcm_parent`): [`Qdisc::ROOT`], `TC_H_CLSACT` (0xfffffff1), or a class
    /// `MAJOR:MINOR` as 16 bits each.
    pub parent: u32,
    /// The qdisc's handle (`tcm_handle`): the major number in the upper 16 bits, 0 in the lower. With 0, the
    /// kernel chooses a handle.
    pub handle: u32,
    /// The kind (`TCA_KIND`), such as `clsact` or `fq`.
    pub kind: &'a str,
}

impl Qdisc<'_> {
    /// The parent of an interface's root qdisc (`TC_H_ROOT`).
    pub const ROOT: u32 = u32::MAX;

    /// Creates the qdisc. Returns `false` if the qdisc exists already.
    pub fn create(&self) -> Result<bool, AttachError> {
        match self.request(RTM_NEWQDISC, CREATE | EXCL, "create") {
            Ok(()) => Ok(true),
            Err(AttachError::Netlink { errno, .. }) if errno.0 == libc::EEXIST => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes the qdisc with its classes and classifiers. Fails if the interface has no such qdisc.
    pub fn destroy(&self) -> Result<(), AttachError> {
        self.request(RTM_DELQDISC, 0, "destroy")
    }

    fn request(&self, kind: u16, flags: u16, action: &'static str) -> Result<(), AttachError> {
        let fixed = tcmsg(self.ifindex, self.handle, self.parent, 0);
        let attributes = Attributes::default().text(TCA_KIND, self.kind);
        let request = Request { kind, flags, fixed, attributes };
        RtnetlinkSocket::open().and_then(|mut socket| socket.request(request, |_| {})).map_err(|error| {
            netlink_error(&format!("qdisc {} on interface {}", self.kind, self.ifindex), action, error)
        })
    }
}
