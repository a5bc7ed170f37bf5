//! Traffic control: classifiers (`cls_bpf`, direct action) on a `clsact` qdisc, through netlink.
//!
//! A classifier stays attached as long as its qdisc exists, even if the process ends. Dropping its [`Link`]
//! detaches it. Kernels from 6.6 also have [`attach_tcx`](super::ProgramRef::attach_tcx), which attaches
//! classifiers by kernel links.

mod programs;
mod qdisc;
#[cfg(test)]
mod tests;

pub use programs::{TcProgram, tc_programs};
pub use qdisc::Qdisc;

use super::{
    error::{AttachError, Hint},
    interface::InterfaceRef,
    link::{Attachment, Link},
    netlink::{
        Attributes, CREATE, DUMP, ECHO, EXCL, Message, NetlinkError, REPLACE, Request, attribute,
        attribute_u32,
    },
    program_type::explain_einval_by_types,
    rtnetlink::{self, RtnetlinkSocket, netlink_error, tcmsg},
};
use crate::sys::{self, Errno};
use core_relo::Endian;
use core_relo_object::object::ProgramType;
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
/// `TCA_BPF_FLAG_ACT_DIRECT`.
const ACT_DIRECT: u32 = 1;
/// Bytes of `struct tcmsg`.
const TCMSG_BYTES: usize = 20;
/// `ETH_P_ALL` in network byte order.
const ETH_P_ALL: u16 = 3u16.to_be();
const TC_H_CLSACT: u32 = 0xffff_fff1;
/// The handle of the qdiscs `clsact` and `ingress`.
const CLSACT_HANDLE: u32 = 0xffff_0000;
const TC_H_MIN_INGRESS: u32 = 0xffff_fff2;
const TC_H_MIN_EGRESS: u32 = 0xffff_fff3;

/// An attach point of an interface that runs classifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an interface and an attach point say it all")]
pub struct TcHook {
    /// The interface index, in the calling thread's network namespace.
    pub ifindex: u32,
    /// The attach point.
    pub attach_point: TcAttachPoint,
}

/// An attach point of an interface (`enum bpf_tc_attach_point` of libbpf).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcAttachPoint {
    /// Incoming packets.
    Ingress,
    /// Outgoing packets.
    Egress,
    /// The class or qdisc with this handle, which the caller created.
    Parent(u32),
}

impl TcAttachPoint {
    const fn parent(self) -> u32 {
        match self {
            Self::Ingress => TC_H_MIN_INGRESS,
            Self::Egress => TC_H_MIN_EGRESS,
            Self::Parent(parent) => parent,
        }
    }
}

/// The options of a classifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct TcOptions {
    /// The handle, which distinguishes classifiers of the same priority. With 0, the kernel chooses one.
    pub handle: u32,
    /// The priority. Classifiers with lower numbers run first. With 0, the kernel chooses one.
    pub priority: u16,
    /// Replaces the classifier with this handle and priority.
    pub replace: bool,
}

/// An attached classifier.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcFilter {
    /// The handle, which distinguishes classifiers of the same priority.
    pub handle: u32,
    /// The priority.
    pub priority: u16,
    /// The program's id.
    pub prog_id: u32,
    /// The classifier's name, `name:[id]`.
    pub name: String,
}

impl TcFilter {
    const fn key(&self) -> FilterKey {
        FilterKey { handle: self.handle, priority: self.priority }
    }
}

/// The handle and priority that identify a classifier at a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FilterKey {
    handle: u32,
    priority: u16,
}

impl TcHook {
    /// Returns an attach point of an interface. An interface name is looked up in the calling thread's
    /// network namespace.
    pub fn new<'i>(
        interface: impl Into<InterfaceRef<'i>>,
        attach_point: TcAttachPoint,
    ) -> Result<Self, AttachError> {
        Ok(Self { ifindex: interface.into().index()?, attach_point })
    }

    /// Creates the interface's `clsact` qdisc, which holds both directions. Returns `false` if the qdisc
    /// exists already.
    ///
    /// Other parents are created by the caller, see [`Qdisc`].
    pub fn create(&self) -> Result<bool, AttachError> {
        self.check_clsact("create")?;
        Self::clsact(self.ifindex).create()
    }

    /// Removes all classifiers of this direction, whoever attached them. The qdisc and the other direction
    /// stay, see [`clsact`](Self::clsact).
    pub fn destroy(&self) -> Result<(), AttachError> {
        self.check_clsact("destroy")?;
        self.flush()
    }

    /// Returns an interface's `clsact` qdisc. Destroying the qdisc removes the classifiers of both
    /// directions.
    pub const fn clsact(ifindex: u32) -> Qdisc<'static> {
        Qdisc { ifindex, parent: TC_H_CLSACT, handle: CLSACT_HANDLE, kind: "clsact" }
    }

    fn check_clsact(&self, action: &'static str) -> Result<(), AttachError> {
        const OTHER: Hint = Hint("the caller owns this parent: create and destroy it as a `Qdisc`");
        match self.attach_point {
            TcAttachPoint::Ingress | TcAttachPoint::Egress => Ok(()),
            TcAttachPoint::Parent(_) => {
                Err(AttachError::kernel_with_hint(&self.label(), action, Errno(libc::EOPNOTSUPP), OTHER))
            }
        }
    }

    /// Removes all classifiers at this hook, whoever attached them.
    pub fn flush(&self) -> Result<(), AttachError> {
        self.check_direction()?;
        let request = self.request_for_all(RTM_DELTFILTER, 0);
        RtnetlinkSocket::open()
            .and_then(|mut socket| socket.request(request, |_| {}))
            .map_err(|error| netlink_error(&self.label(), "flush", error))
    }

    /// Checks that the interface's qdisc has this direction.
    fn check_direction(&self) -> Result<(), AttachError> {
        let checked = RtnetlinkSocket::open().and_then(|mut socket| {
            if self.has_direction(&mut socket)? {
                return Ok(None);
            }
            rtnetlink::interface_name(&mut socket, self.ifindex).map(Some)
        });
        match checked.map_err(|error| netlink_error(&self.label(), "find the qdisc of", error))? {
            None => Ok(()),
            Some(name) => Err(AttachError::target(
                self.label(),
                format!(
                    "the interface has a qdisc `ingress`, which has no egress: replace it by `clsact`, which has both directions \
                     (`tc qdisc del dev {name} ingress`)"
                ),
            )),
        }
    }

    /// Returns whether the interface's qdisc has this direction. The kernel takes the egress of the older
    /// qdisc `ingress` for its ingress, and creates no `clsact` in its place.
    fn has_direction(&self, socket: &mut RtnetlinkSocket) -> Result<bool, NetlinkError> {
        let TcAttachPoint::Egress = self.attach_point else { return Ok(true) };
        let kind = programs::qdisc_kind(socket, self.ifindex, CLSACT_HANDLE)?;
        Ok(kind.as_deref() != Some("ingress"))
    }

    /// Attaches a program. [`create`](Self::create) the hook before. Fails for egress if the interface has
    /// the qdisc `ingress`.
    pub fn attach(&self, prog: BorrowedFd<'_>, options: TcOptions) -> Result<Link, AttachError> {
        self.check_direction()?;
        let attached = RtnetlinkSocket::open().and_then(|mut socket| {
            let filter = self.add_filter(&mut socket, prog, options)?;
            Ok(TcAttachment { socket, hook: *self, filter })
        });
        match attached {
            Ok(attachment) => Ok(Link::new(attachment, self.label())),
            Err(error) => {
                let error = netlink_error(&self.label(), "attach", error);
                Err(explain_einval_by_types(error, prog, vec![ProgramType::SchedCls]))
            }
        }
    }

    /// Detaches the classifier with this handle and priority, whoever attached it.
    pub fn detach(&self, handle: u32, priority: u16) -> Result<(), AttachError> {
        self.check_direction()?;
        let request = self.request_for(RTM_DELTFILTER, 0, FilterKey { handle, priority }, bpf_kind());
        RtnetlinkSocket::open()
            .and_then(|mut socket| socket.request(request, |_| {}))
            .map_err(|error| netlink_error(&self.label(), "detach", error))
    }

    /// Returns the classifier with this handle and priority.
    pub fn query(&self, handle: u32, priority: u16) -> Result<TcFilter, AttachError> {
        self.check_direction()?;
        RtnetlinkSocket::open()
            .and_then(|mut socket| self.get_filter(&mut socket, FilterKey { handle, priority }))
            .map_err(|error| netlink_error(&self.label(), "query", error))
    }

    /// Returns all classifiers at this hook, in the order in which they run. Empty if the qdisc does not
    /// exist.
    pub fn filters(&self) -> Result<Vec<TcFilter>, AttachError> {
        RtnetlinkSocket::open()
            .and_then(|mut socket| self.list_filters(&mut socket))
            .map_err(|error| netlink_error(&self.label(), "query", error))
    }

    /// Adds or replaces a classifier. Returns the classifier with the handle and priority that the kernel
    /// chose.
    fn add_filter(
        &self,
        socket: &mut RtnetlinkSocket,
        prog: BorrowedFd<'_>,
        options: TcOptions,
    ) -> Result<TcFilter, NetlinkError> {
        let info = sys::ProgramInfo::query(&prog)?;
        let bpf_options = Attributes::default()
            .u32(TCA_BPF_FD, prog.as_raw_fd().cast_unsigned())
            .text(TCA_BPF_NAME, &format!("{}:[{}]", info.name(), info.id))
            .u32(TCA_BPF_FLAGS, ACT_DIRECT);
        let flags = CREATE | ECHO | if options.replace { REPLACE } else { EXCL };
        let key = FilterKey { handle: options.handle, priority: options.priority };
        let request =
            self.request_for(RTM_NEWTFILTER, flags, key, bpf_kind().nest(TCA_OPTIONS, &bpf_options));
        // If the kernel does not echo the classifier, a query by key or a comparison of the lists finds it.
        let is_key_complete = key.handle != 0 && key.priority != 0;
        let before = if is_key_complete { Vec::new() } else { self.list_filters(socket)? };
        let mut echoed = None;
        socket.request(request, |message| echoed = echoed.take().or_else(|| parse_filter(message)))?;
        match echoed {
            Some(filter) => Ok(filter),
            None if is_key_complete => self.get_filter(socket, key),
            None => find_added(&before, self.list_filters(socket)?, info.id)
                .ok_or(NetlinkError::from(Errno(libc::ENOENT))),
        }
    }

    fn get_filter(&self, socket: &mut RtnetlinkSocket, key: FilterKey) -> Result<TcFilter, NetlinkError> {
        let request = self.request_for(RTM_GETTFILTER, 0, key, bpf_kind());
        let mut found = None;
        socket.request(request, |message| found = found.take().or_else(|| parse_filter(message)))?;
        found.ok_or(NetlinkError::from(Errno(libc::ENOENT)))
    }

    fn list_filters(&self, socket: &mut RtnetlinkSocket) -> Result<Vec<TcFilter>, NetlinkError> {
        let mut found = Vec::new();
        if !self.has_direction(socket)? {
            return Ok(found);
        }
        let request = self.request_for_all(RTM_GETTFILTER, DUMP);
        match socket.request(request, |message| found.extend(parse_filter(message))) {
            // The qdisc does not exist.
            Err(error) if error.errno.0 == libc::EINVAL && found.is_empty() => Ok(found),
            answer => answer.map(|()| found),
        }
    }

    /// Creates a request for one classifier.
    fn request_for(&self, kind: u16, flags: u16, key: FilterKey, attributes: Attributes) -> Request {
        let info = u32::from(key.priority) << 16 | u32::from(ETH_P_ALL);
        let fixed = tcmsg(self.ifindex, key.handle, self.attach_point.parent(), info);
        Request { kind, flags, fixed, attributes }
    }

    /// Creates a request for all classifiers at this hook.
    fn request_for_all(&self, kind: u16, flags: u16) -> Request {
        let fixed = tcmsg(self.ifindex, 0, self.attach_point.parent(), 0);
        Request { kind, flags, fixed, attributes: Attributes::default() }
    }

    fn label(&self) -> String {
        let attach_point = match self.attach_point {
            TcAttachPoint::Ingress => "ingress".into(),
            TcAttachPoint::Egress => "egress".into(),
            TcAttachPoint::Parent(parent) => format!("{:x}:{:x}", parent >> 16, parent & 0xffff),
        };
        format!("tc {attach_point} of interface {}", self.ifindex)
    }
}

/// Returns the classifier of a program that was not attached before, if exactly one was added.
fn find_added(before: &[TcFilter], after: Vec<TcFilter>, prog_id: u32) -> Option<TcFilter> {
    let is_new = |filter: &TcFilter| filter.prog_id == prog_id && !before.contains(filter);
    let mut new = after.into_iter().filter(is_new);
    new.next().filter(|_| new.next().is_none())
}

fn bpf_kind() -> Attributes {
    Attributes::default().text(TCA_KIND, "bpf")
}

/// Parses a `cls_bpf` classifier. `None` if the message describes something else.
fn parse_filter(message: &Message<'_>) -> Option<TcFilter> {
    let (fixed, attributes) = message.split(TCMSG_BYTES)?;
    let e = Endian::native();
    if message.kind != RTM_NEWTFILTER || attribute(attributes, TCA_KIND)? != b"bpf\0" {
        return None;
    }
    let options = attribute(attributes, TCA_OPTIONS)?;
    // Classifiers attached by other tools may have no name.
    let name = attribute(options, TCA_BPF_NAME).unwrap_or(&[]);
    Some(TcFilter {
        handle: e.u32(fixed, 8)?,
        priority: u16::try_from(e.u32(fixed, 16)? >> 16).ok()?,
        prog_id: attribute_u32(options, TCA_BPF_ID)?,
        name: String::from_utf8_lossy(name.strip_suffix(b"\0").unwrap_or(name)).into_owned(),
    })
}

/// A classifier attached by this process. The socket stays in the network namespace in which the interface
/// index is valid.
#[derive(Debug)]
struct TcAttachment {
    socket: RtnetlinkSocket,
    hook: TcHook,
    filter: TcFilter,
}

impl TcAttachment {
    /// Checks that the classifier still runs the program that was attached.
    fn check_attached(&mut self) -> Result<(), NetlinkError> {
        let attached = self.hook.get_filter(&mut self.socket, self.filter.key())?;
        if attached.prog_id == self.filter.prog_id { Ok(()) } else { Err(Errno(libc::ENOENT).into()) }
    }

    /// Returns whether no classifier has this handle and priority any more.
    fn is_gone(&mut self) -> bool {
        let key = self.filter.key();
        let attached = self.hook.list_filters(&mut self.socket);
        attached.is_ok_and(|all| !all.iter().any(|filter| filter.key() == key))
    }
}

impl Attachment for TcAttachment {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn detach(&mut self) -> Result<(), Errno> {
        let request = self.hook.request_for(RTM_DELTFILTER, 0, self.filter.key(), bpf_kind());
        match self.check_attached().and_then(|()| self.socket.request(request, |_| {})) {
            Ok(()) => Ok(()),
            // The interface is gone, and the attachment with it.
            Err(error) if error.errno.0 == libc::ENODEV => Ok(()),
            // The qdisc or the classifier is gone, and the attachment with it.
            Err(error) if matches!(error.errno.0, libc::EINVAL | libc::ENOENT) && self.is_gone() => Ok(()),
            Err(error) => Err(error.into_logged_errno()),
        }
    }

    fn update(&mut self, prog: BorrowedFd<'_>) -> Result<(), Errno> {
        self.check_attached().map_err(NetlinkError::into_logged_errno)?;
        let FilterKey { handle, priority } = self.filter.key();
        let options = TcOptions { handle, priority, replace: true };
        self.filter =
            self.hook.add_filter(&mut self.socket, prog, options).map_err(NetlinkError::into_logged_errno)?;
        Ok(())
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn leak(self: Box<Self>) {}

    fn abandon(self: Box<Self>) {}
}
