//! Queueing disciplines: `clsact`, which holds classifiers, and those that are written in BPF.

use crate::attach::{
    AttachError,
    netlink::{Attributes, CREATE, EXCL, Request},
    route::{Route, refusal},
};

const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const TCA_KIND: u16 = 1;

/// A queueing discipline on an interface.
///
/// One written in BPF (a struct_ops map of `Qdisc_ops`, kernels from 6.16) is registered by
/// [`struct_ops`](crate::attach::struct_ops) and put on an interface by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is what the kernel takes")]
pub struct Qdisc<'a> {
    /// The interface's number, in the calling thread's network namespace.
    pub ifindex: u32,
    /// What it goes below: [`Qdisc::ROOT`], or a class.
    pub parent: u32,
    /// Its number, the upper 16 bits; 0: the kernel chooses one.
    pub handle: u32,
    /// Its kind by name.
    pub kind: &'a str,
}

impl Qdisc<'_> {
    /// The parent of an interface's main one (`TC_H_ROOT`).
    pub const ROOT: u32 = u32::MAX;

    /// Makes it. Whether it was there already is the answer: `false`.
    pub fn create(&self) -> Result<bool, AttachError> {
        match self.ask(RTM_NEWQDISC, CREATE | EXCL, "create") {
            Ok(()) => Ok(true),
            Err(AttachError::Netlink { errno, .. }) if errno.0 == libc::EEXIST => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes it and all that is in it.
    pub fn destroy(&self) -> Result<(), AttachError> {
        self.ask(RTM_DELQDISC, 0, "destroy")
    }

    fn ask(&self, kind: u16, flags: u16, action: &'static str) -> Result<(), AttachError> {
        let fixed = super::header(self.ifindex, self.handle, self.parent, 0);
        let attributes = Attributes::default().text(TCA_KIND, self.kind);
        let request = Request { kind, flags, fixed, attributes };
        Route::open().and_then(|mut route| route.ask(request, |_| {})).map_err(|refused| {
            refusal(&format!("qdisc {} on interface {}", self.kind, self.ifindex), action, refused)
        })
    }
}
