//! Traffic control: classifiers (`cls_bpf`, direct action) below a `clsact` qdisc, through netlink.
//!
//! They are attached for as long as the qdisc lasts, whatever becomes of the process; a [`Link`] takes its own away when it
//! is dropped. On kernels from 6.6, [`tcx`](super::tcx) does the same with links.

mod qdisc;
#[cfg(test)]
mod tests;

pub use qdisc::Qdisc;

use super::{
    AttachError, Attachment, Hint, Link,
    netlink::{
        Attributes, CREATE, DUMP, ECHO, EXCL, Message, REPLACE, Refused, Request, attribute, attribute_u32,
    },
    route::{Route, refusal},
};
use crate::sys::{self, Errno};
use core_relo::Endian;
use std::os::fd::{AsRawFd as _, BorrowedFd};

const RTM_NEWTFILTER: u16 = 44;
const RTM_DELTFILTER: u16 = 45;
const RTM_GETTFILTER: u16 = 46;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_ID: u16 = 11;
const ACT_DIRECT: u32 = 1;
/// Bytes of `struct tcmsg`.
const HEADER: usize = 20;
/// `ETH_P_ALL`, in the network's byte order.
const ALL_PROTOCOLS: [u8; 2] = [0, 3];

/// A point in an interface's traffic where classifiers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an interface and a point are all there is to it")]
pub struct TcHook {
    /// The interface's number, in the calling thread's network namespace.
    pub ifindex: u32,
    /// Which point.
    pub point: TcPoint,
}

/// Which point in the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcPoint {
    /// What comes in.
    Ingress,
    /// What goes out.
    Egress,
    /// The class or qdisc with this handle, which the caller made.
    Parent(u32),
}

impl TcPoint {
    const fn parent(self) -> u32 {
        match self {
            Self::Ingress => 0xffff_fff2,
            Self::Egress => 0xffff_fff3,
            Self::Parent(parent) => parent,
        }
    }
}

/// How a classifier is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct TcOptions {
    /// The number by which it is known beside others of the same priority; 0: the kernel chooses one.
    pub handle: u32,
    /// Lower ones run first; 0: the kernel chooses one.
    pub priority: u16,
    /// Takes the place of the one with this handle and priority.
    pub replace: bool,
}

/// A classifier that is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcFilter {
    /// Its number beside others of the same priority.
    pub handle: u32,
    /// Its priority.
    pub priority: u16,
    /// Its program's id.
    pub prog_id: u32,
    /// What it is called: `name:[id]`.
    pub name: String,
}

impl TcHook {
    /// Makes the interface's `clsact` qdisc, which holds both directions. Whether it was there already is the answer: `false`.
    /// Another parent than these two is the caller's to make, see [`Qdisc`].
    pub fn create(&self) -> Result<bool, AttachError> {
        self.is_of_clsact("create")?;
        Self::clsact(self.ifindex).create()
    }

    /// Removes all that is attached in this direction, whoever attached it; the qdisc and the other direction stay. It is for
    /// [`clsact`](Self::clsact) to remove those, too.
    pub fn destroy(&self) -> Result<(), AttachError> {
        self.is_of_clsact("destroy")?;
        self.flush()
    }

    /// An interface's `clsact` qdisc: destroying it removes all that is attached, in both directions.
    pub const fn clsact(ifindex: u32) -> Qdisc<'static> {
        Qdisc { ifindex, parent: 0xffff_fff1, handle: 0xffff_0000, kind: "clsact" }
    }

    fn is_of_clsact(&self, action: &'static str) -> Result<(), AttachError> {
        const OTHER: Hint = Hint("the parent is the caller's own: make and destroy it as a `Qdisc`");
        match self.point {
            TcPoint::Ingress | TcPoint::Egress => Ok(()),
            TcPoint::Parent(_) => {
                Err(AttachError::hinted(&self.what(), action, Errno(libc::EOPNOTSUPP), OTHER))
            }
        }
    }

    /// Removes all that is attached here, whoever attached it.
    pub fn flush(&self) -> Result<(), AttachError> {
        let request = self.filter(RTM_DELTFILTER, 0, None, Attributes::default());
        let done = Route::open().and_then(|mut route| route.ask(request, |_| {}));
        done.map_err(|refused| refusal(&self.what(), "flush", refused))
    }

    /// Attaches a program. The hook has to be there: [`create`](Self::create).
    pub fn attach(&self, prog: BorrowedFd<'_>, options: TcOptions) -> Result<Link, AttachError> {
        let attached = Route::open().and_then(|mut route| {
            let filter = self.set(&mut route, prog, options)?;
            Ok(Classifier { route, hook: *self, filter })
        });
        match attached {
            Ok(classifier) => Ok(Link::new(classifier, self.what())),
            Err(refused) => Err(refusal(&self.what(), "attach", refused)),
        }
    }

    /// Takes away the one with this handle and priority, whoever attached it.
    pub fn detach(&self, handle: u32, priority: u16) -> Result<(), AttachError> {
        let request = self.filter(RTM_DELTFILTER, 0, Some((handle, priority)), bpf());
        let done = Route::open().and_then(|mut route| route.ask(request, |_| {}));
        done.map_err(|refused| refusal(&self.what(), "detach", refused))
    }

    /// The one with this handle and priority.
    pub fn query(&self, handle: u32, priority: u16) -> Result<TcFilter, AttachError> {
        let found = Route::open().and_then(|mut route| self.get(&mut route, handle, priority));
        found.map_err(|refused| refusal(&self.what(), "query", refused))
    }

    /// All that are attached here, in the order in which they run. None if there is no hook.
    pub fn filters(&self) -> Result<Vec<TcFilter>, AttachError> {
        let found = Route::open().and_then(|mut route| self.list(&mut route));
        found.map_err(|refused| refusal(&self.what(), "query", refused))
    }

    /// Adds or replaces a classifier; what the kernel says it has become.
    fn set(&self, route: &mut Route, prog: BorrowedFd<'_>, options: TcOptions) -> Result<TcFilter, Refused> {
        let info = sys::prog_info(&prog)?;
        let inner = Attributes::default()
            .u32(TCA_BPF_FD, prog.as_raw_fd().cast_unsigned())
            .text(TCA_BPF_NAME, &format!("{}:[{}]", info.name(), info.id))
            .u32(TCA_BPF_FLAGS, ACT_DIRECT);
        let flags = CREATE | ECHO | if options.replace { REPLACE } else { EXCL };
        let place = Some((options.handle, options.priority));
        let request = self.filter(RTM_NEWTFILTER, flags, place, bpf().nest(TCA_OPTIONS, &inner));
        // Should it not be echoed, it is found by what was not there before.
        let is_placed = options.handle != 0 && options.priority != 0;
        let before = if is_placed { Vec::new() } else { self.list(route)? };
        let mut made = None;
        route.ask(request, |message| made = made.take().or_else(|| read(message)))?;
        match made {
            Some(made) => Ok(made),
            None if is_placed => self.get(route, options.handle, options.priority),
            None => added(&before, self.list(route)?, info.id).ok_or(Refused::from(Errno(libc::ENOENT))),
        }
    }

    fn get(&self, route: &mut Route, handle: u32, priority: u16) -> Result<TcFilter, Refused> {
        let request = self.filter(RTM_GETTFILTER, 0, Some((handle, priority)), bpf());
        let mut found = None;
        route.ask(request, |message| found = found.take().or_else(|| read(message)))?;
        found.ok_or(Refused::from(Errno(libc::ENOENT)))
    }

    fn list(&self, route: &mut Route) -> Result<Vec<TcFilter>, Refused> {
        let mut found = Vec::new();
        let request = self.filter(RTM_GETTFILTER, DUMP, None, Attributes::default());
        match route.ask(request, |message| found.extend(read(message))) {
            // No such qdisc, so nothing in it.
            Err(refused) if refused.errno.0 == libc::EINVAL && found.is_empty() => Ok(found),
            asked => asked.map(|()| found),
        }
    }

    /// A request about one classifier by handle and priority, or about all.
    fn filter(&self, kind: u16, flags: u16, place: Option<(u32, u16)>, attributes: Attributes) -> Request {
        let (handle, priority) = place.unwrap_or_default();
        let protocol =
            if place.is_some() { Endian::native().u16(&ALL_PROTOCOLS, 0).unwrap_or_default() } else { 0 };
        let info = u32::from(priority) << 16 | u32::from(protocol);
        Request { kind, flags, fixed: header(self.ifindex, handle, self.point.parent(), info), attributes }
    }

    fn what(&self) -> String {
        let point = match self.point {
            TcPoint::Ingress => "ingress".into(),
            TcPoint::Egress => "egress".into(),
            TcPoint::Parent(parent) => format!("{:x}:{:x}", parent >> 16, parent & 0xffff),
        };
        format!("tc {point} of interface {}", self.ifindex)
    }
}

/// The classifier with a program's id that was not there before, if it is but one.
fn added(before: &[TcFilter], now: Vec<TcFilter>, prog_id: u32) -> Option<TcFilter> {
    let is_new = |filter: &TcFilter| filter.prog_id == prog_id && !before.contains(filter);
    let mut new = now.into_iter().filter(is_new);
    new.next().filter(|_| new.next().is_none())
}

fn bpf() -> Attributes {
    Attributes::default().text(TCA_KIND, "bpf")
}

/// `struct tcmsg`.
fn header(ifindex: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    let mut out = vec![0; 4];
    for word in [ifindex, handle, parent, info] {
        Endian::native().put_u32(&mut out, word);
    }
    out
}

/// A classifier of ours, if the message is about one.
fn read(message: &Message<'_>) -> Option<TcFilter> {
    let (fixed, attributes) = message.split(HEADER)?;
    let e = Endian::native();
    if message.kind != RTM_NEWTFILTER || attribute(attributes, TCA_KIND)? != b"bpf\0" {
        return None;
    }
    let options = attribute(attributes, TCA_OPTIONS)?;
    let name = attribute(options, TCA_BPF_NAME).unwrap_or_default();
    Some(TcFilter {
        handle: e.u32(fixed, 8)?,
        priority: u16::try_from(e.u32(fixed, 16)? >> 16).unwrap_or_default(),
        prog_id: attribute_u32(options, TCA_BPF_ID)?,
        name: String::from_utf8_lossy(name.strip_suffix(b"\0").unwrap_or(name)).into_owned(),
    })
}

/// A classifier that was attached here. The socket keeps to the network namespace that the interface's number is of.
#[derive(Debug)]
struct Classifier {
    route: Route,
    hook: TcHook,
    filter: TcFilter,
}

impl Classifier {
    /// That the classifier in its place is still the one that was put there.
    fn still_there(&mut self) -> Result<(), Refused> {
        let TcFilter { handle, priority, prog_id, .. } = self.filter;
        let now = self.hook.get(&mut self.route, handle, priority)?;
        if now.prog_id == prog_id { Ok(()) } else { Err(Errno(libc::ENOENT).into()) }
    }

    /// Whether nothing is attached any more where it was, by it or by others.
    fn is_gone(&mut self) -> bool {
        let TcFilter { handle, priority, .. } = self.filter;
        let there = self.hook.list(&mut self.route);
        there.is_ok_and(|all| !all.iter().any(|f| (f.handle, f.priority) == (handle, priority)))
    }
}

impl Attachment for Classifier {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn detach(&mut self) -> Result<(), Errno> {
        let place = Some((self.filter.handle, self.filter.priority));
        let request = self.hook.filter(RTM_DELTFILTER, 0, place, bpf());
        match self.still_there().and_then(|()| self.route.ask(request, |_| {})) {
            Ok(()) => Ok(()),
            // The interface is gone, and the attachment with it.
            Err(refused) if refused.errno.0 == libc::ENODEV => Ok(()),
            // So is it with the qdisc.
            Err(refused) if matches!(refused.errno.0, libc::EINVAL | libc::ENOENT) && self.is_gone() => {
                Ok(())
            }
            Err(refused) => Err(refused.logged()),
        }
    }

    fn update(&mut self, prog: BorrowedFd<'_>) -> Result<(), Errno> {
        self.still_there().map_err(Refused::logged)?;
        let TcFilter { handle, priority, .. } = self.filter;
        let options = TcOptions { handle, priority, replace: true };
        self.filter = self.hook.set(&mut self.route, prog, options).map_err(Refused::logged)?;
        Ok(())
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn leak(self: Box<Self>) {}
}
