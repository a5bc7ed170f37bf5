//! Queueing disciplines: `clsact`, which holds classifiers, and qdiscs written in BPF.

use crate::attach::{
    error::AttachError,
    netlink::{Attributes, CREATE, EXCL, Request},
    rtnetlink::{RtnetlinkSocket, netlink_error, tcmsg},
};

const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const TCA_KIND: u16 = 1;

/// A queueing discipline on an interface.
///
/// A qdisc written in BPF is a struct_ops map of `Qdisc_ops` (kernels from 6.16). [`struct_ops`](crate::attach::struct_ops)
/// registers its kind, and [`create`](Self::create) puts a qdisc of that kind on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the fields are those of the kernel's request")]
pub struct Qdisc<'a> {
    /// The interface index, in the calling thread's network namespace.
    pub ifindex: u32,
    /// The parent: [`Qdisc::ROOT`], or a class.
    pub parent: u32,
    /// The handle, whose number is in the upper 16 bits. With 0, the kernel chooses one.
    pub handle: u32,
    /// The name of the kind, such as `clsact` or `fq`.
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

    /// Removes the qdisc and all that is attached to it.
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
