//! XDP programs on a network interface, by a kernel link or by netlink.
//!
//! Programs for devmap and cpumap entries are not attached here: a map update stores the program's descriptor
//! in the entry's value.

#[cfg(test)]
mod tests;

use super::{
    error::{AttachError, Hint},
    interface::InterfaceRef,
    link::{Attachment, Link},
    netlink::{Attributes, NetlinkError, Request, attribute, attribute_u32},
    program_type::explain_einval,
    rtnetlink::{RtnetlinkSocket, ifinfomsg, netlink_error, query_interface_attributes},
};
use crate::sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget};
use core_relo_object::object::AttachType;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

const RTM_SETLINK: u16 = 19;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_FD: u16 = 1;
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_XDP_FLAGS: u16 = 3;
const IFLA_XDP_PROG_ID: u16 = 4;
const IFLA_XDP_DRV_PROG_ID: u16 = 5;
const IFLA_XDP_SKB_PROG_ID: u16 = 6;
const IFLA_XDP_HW_PROG_ID: u16 = 7;
const IFLA_XDP_EXPECTED_FD: u16 = 8;
const XDP_FLAGS_UPDATE_IF_NOEXIST: u32 = 1;
const XDP_FLAGS_REPLACE: u32 = 1 << 4;
/// The value of `IFLA_XDP_FD` that detaches (-1).
const NO_PROGRAM: u32 = u32::MAX;

/// The place in the packet's path that runs the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum XdpMode {
    /// The driver if it supports XDP, else the generic mode.
    #[default]
    Any,
    /// The network stack, after the kernel has allocated a socket buffer (`XDP_FLAGS_SKB_MODE`).
    Generic,
    /// The driver (`XDP_FLAGS_DRV_MODE`).
    Driver,
    /// The network card (`XDP_FLAGS_HW_MODE`). The program must have been loaded for this interface.
    Hardware,
}

impl XdpMode {
    const fn flags(self) -> u32 {
        match self {
            Self::Any => 0,
            Self::Generic => 1 << 1,
            Self::Driver => 1 << 2,
            Self::Hardware => 1 << 3,
        }
    }
}

/// The program that [`ProgramRef::attach_xdp_netlink`](super::ProgramRef::attach_xdp_netlink) may replace.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum XdpReplace<'a> {
    /// No program: attaching fails if a program is attached (`EBUSY`).
    #[default]
    Never,
    /// Any program.
    Any,
    /// This program (kernels from 5.7): attaching fails unless this program is attached.
    Expected(BorrowedFd<'a>),
}

/// Attaches a program by a kernel link (kernels from 5.9; libbpf: `bpf_program__attach_xdp`).
pub(super) fn xdp<'i>(
    prog: BorrowedFd<'_>,
    interface: impl Into<InterfaceRef<'i>>,
    mode: XdpMode,
) -> Result<Link, AttachError> {
    let interface = interface.into();
    let ifindex = interface.index()?;
    let label = attachment_label(interface);
    match sys::link_create(&link_request(prog, ifindex, mode)) {
        Ok(fd) => Ok(Link::from_fd(fd, label)),
        Err(Errno(libc::EINVAL)) if !kernel_has_links(prog) => {
            xdp_netlink(prog, interface, mode, XdpReplace::Never)
        }
        Err(errno) => {
            let error = AttachError::kernel_with_hint(&label, "attach", errno, hint(errno));
            Err(explain_einval(error, prog, AttachType::Xdp))
        }
    }
}

fn link_request(prog: BorrowedFd<'_>, ifindex: u32, mode: XdpMode) -> LinkCreate<'_> {
    LinkCreate {
        prog,
        target: LinkTarget::Interface(ifindex),
        attach_type: AttachType::Xdp.number(),
        flags: mode.flags(),
        extra: LinkExtra::None,
    }
}

/// Returns whether the kernel has XDP links.
///
/// The probe creates a driver-mode link on the loopback interface, whose driver has no XDP support. A kernel
/// without XDP links answers `EINVAL`, a kernel with XDP links another error.
fn kernel_has_links(prog: BorrowedFd<'_>) -> bool {
    const LOOPBACK: u32 = 1;
    sys::link_create(&link_request(prog, LOOPBACK, XdpMode::Driver)).err() != Some(Errno(libc::EINVAL))
}

/// Attaches a program by netlink (libbpf: `bpf_xdp_attach`). The program stays attached if the process ends
/// without dropping the link.
pub(super) fn xdp_netlink<'i>(
    prog: BorrowedFd<'_>,
    interface: impl Into<InterfaceRef<'i>>,
    mode: XdpMode,
    replace: XdpReplace<'_>,
) -> Result<Link, AttachError> {
    let interface = interface.into();
    let ifindex = interface.index()?;
    let label = attachment_label(interface);
    let attach = || {
        let prog = prog.try_clone_to_owned().map_err(|e| Errno::from_io_error(&e))?;
        let mut socket = RtnetlinkSocket::open()?;
        let (flags, expected) = match replace {
            XdpReplace::Never => (XDP_FLAGS_UPDATE_IF_NOEXIST, None),
            XdpReplace::Any => (0, None),
            XdpReplace::Expected(old) => (0, Some(old)),
        };
        set_program(&mut socket, ifindex, mode.flags() | flags, Some(prog.as_fd()), expected)?;
        Ok(XdpAttachment { socket, ifindex, mode, prog })
    };
    match attach() {
        Ok(attachment) => Ok(Link::new(attachment, label)),
        Err(error) => Err(explain_einval(refusal(&label, error), prog, AttachType::Xdp)),
    }
}

/// Detaches a program that any process attached by netlink (libbpf: `bpf_xdp_detach`).
///
/// With `expected` (kernels from 5.7), fails if another program is attached.
pub fn xdp_detach<'i>(
    interface: impl Into<InterfaceRef<'i>>,
    mode: XdpMode,
    expected: Option<BorrowedFd<'_>>,
) -> Result<(), AttachError> {
    let interface = interface.into();
    let ifindex = interface.index()?;
    RtnetlinkSocket::open()
        .and_then(|mut socket| set_program(&mut socket, ifindex, mode.flags(), None, expected))
        .map_err(|error| netlink_error(&attachment_label(interface), "detach", error))
}

/// The ids of the XDP programs on an interface (libbpf: `struct bpf_xdp_query_opts`). The id 0 stands for no
/// program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct XdpPrograms {
    /// Whether programs are attached in more than one mode (`XDP_ATTACHED_MULTI`).
    pub has_multiple_modes: bool,
    /// The id of the only program; 0 if programs are attached in more than one mode.
    pub prog_id: u32,
    /// The id of the program in [`XdpMode::Driver`].
    pub driver_prog_id: u32,
    /// The id of the program in [`XdpMode::Generic`].
    pub generic_prog_id: u32,
    /// The id of the program in [`XdpMode::Hardware`].
    pub hardware_prog_id: u32,
}

impl XdpPrograms {
    /// Returns the ids of all attached programs.
    pub fn prog_ids(&self) -> Vec<u32> {
        let mut ids = vec![self.hardware_prog_id, self.driver_prog_id, self.generic_prog_id];
        ids.retain(|id| *id != 0);
        if ids.is_empty() && self.prog_id != 0 {
            ids.push(self.prog_id);
        }
        ids
    }

    /// Returns the mode in which a program is attached. Returns `None` if the program is not attached, or if
    /// the kernel does not report the mode.
    pub fn mode_of(&self, prog_id: u32) -> Option<XdpMode> {
        let modes = [
            (self.driver_prog_id, XdpMode::Driver),
            (self.generic_prog_id, XdpMode::Generic),
            (self.hardware_prog_id, XdpMode::Hardware),
        ];
        modes.into_iter().find(|(id, _)| prog_id != 0 && *id == prog_id).map(|(_, mode)| mode)
    }
}

/// Returns the XDP programs on an interface (libbpf: `bpf_xdp_query`).
pub fn xdp_query<'i>(interface: impl Into<InterfaceRef<'i>>) -> Result<XdpPrograms, AttachError> {
    let interface = interface.into();
    let ifindex = interface.index()?;
    let attributes =
        RtnetlinkSocket::open().and_then(|mut socket| query_interface_attributes(&mut socket, ifindex));
    match attributes {
        Ok(attributes) => Ok(parse_interface_attributes(&attributes)),
        Err(error) => Err(netlink_error(&attachment_label(interface), "query", error)),
    }
}

/// Parses the XDP programs in the attributes of an interface.
pub(super) fn parse_interface_attributes(attributes: &[u8]) -> XdpPrograms {
    // An interface without XDP programs may lack the attribute.
    attribute(attributes, IFLA_XDP).map_or(XdpPrograms::default(), parse_xdp_attribute)
}

fn parse_xdp_attribute(xdp: &[u8]) -> XdpPrograms {
    const XDP_ATTACHED_MULTI: u8 = 4;
    // The kernel omits the id of a mode without a program.
    let id = |kind| attribute_u32(xdp, kind).unwrap_or(0);
    XdpPrograms {
        has_multiple_modes: attribute(xdp, IFLA_XDP_ATTACHED)
            .is_some_and(|mode| mode.first() == Some(&XDP_ATTACHED_MULTI)),
        prog_id: id(IFLA_XDP_PROG_ID),
        driver_prog_id: id(IFLA_XDP_DRV_PROG_ID),
        generic_prog_id: id(IFLA_XDP_SKB_PROG_ID),
        hardware_prog_id: id(IFLA_XDP_HW_PROG_ID),
    }
}

/// Attaches a program, or detaches the attached one if `prog` is `None`.
fn set_program(
    socket: &mut RtnetlinkSocket,
    ifindex: u32,
    mut flags: u32,
    prog: Option<BorrowedFd<'_>>,
    expected: Option<BorrowedFd<'_>>,
) -> Result<(), NetlinkError> {
    let number = |fd: BorrowedFd<'_>| fd.as_raw_fd().cast_unsigned();
    let mut xdp = Attributes::default().u32(IFLA_XDP_FD, prog.map_or(NO_PROGRAM, number));
    if let Some(old) = expected {
        flags |= XDP_FLAGS_REPLACE;
        xdp = xdp.u32(IFLA_XDP_EXPECTED_FD, number(old));
    }
    if flags != 0 {
        xdp = xdp.u32(IFLA_XDP_FLAGS, flags);
    }
    let attributes = Attributes::default().nest(IFLA_XDP, &xdp);
    socket.request(Request { kind: RTM_SETLINK, flags: 0, fixed: ifinfomsg(ifindex), attributes }, |_| {})
}

/// A program attached by netlink. The socket belongs to the interface's network namespace, even if the thread
/// enters another one.
#[derive(Debug)]
struct XdpAttachment {
    socket: RtnetlinkSocket,
    ifindex: u32,
    mode: XdpMode,
    prog: OwnedFd,
}

impl XdpAttachment {
    /// Detaches the program on kernels before 5.7, which do not know `XDP_FLAGS_REPLACE`: compares the
    /// attached program's id first.
    fn detach_by_id(&mut self) -> Result<(), NetlinkError> {
        let attached =
            parse_interface_attributes(&query_interface_attributes(&mut self.socket, self.ifindex)?);
        if !attached.prog_ids().contains(&sys::ProgramInfo::query(&self.prog)?.id) {
            return Err(Errno(libc::ENOENT).into());
        }
        set_program(&mut self.socket, self.ifindex, self.mode.flags(), None, None)
    }
}

impl Attachment for XdpAttachment {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn detach(&mut self) -> Result<(), Errno> {
        match set_program(&mut self.socket, self.ifindex, self.mode.flags(), None, Some(self.prog.as_fd())) {
            Ok(()) => Ok(()),
            Err(error) if error.errno.0 == libc::EINVAL => {
                self.detach_by_id().map_err(NetlinkError::into_logged_errno)
            }
            // The interface was removed, and the attachment with it.
            Err(error) if error.errno.0 == libc::ENODEV => Ok(()),
            Err(error) => Err(error.into_logged_errno()),
        }
    }

    fn update(&mut self, prog: BorrowedFd<'_>) -> Result<(), Errno> {
        let prog = prog.try_clone_to_owned().map_err(|e| Errno::from_io_error(&e))?;
        let (new, old) = (Some(prog.as_fd()), Some(self.prog.as_fd()));
        set_program(&mut self.socket, self.ifindex, self.mode.flags(), new, old)
            .map_err(NetlinkError::into_logged_errno)?;
        self.prog = prog;
        Ok(())
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn leak(self: Box<Self>) {}

    fn abandon(self: Box<Self>) {}
}

/// Returns the label of the attachment in errors and in [`Link::label`].
fn attachment_label(interface: InterfaceRef<'_>) -> String {
    format!("xdp on {interface}")
}

/// Returns the error of an attachment by netlink, with the ways out that links have, too.
fn refusal(label: &str, error: NetlinkError) -> AttachError {
    let mut error = netlink_error(label, "attach", error);
    if let AttachError::Netlink { errno, hint: way_out, .. } = &mut error
        && matches!(errno.0, libc::ERANGE | libc::EOPNOTSUPP)
    {
        *way_out = hint(*errno);
    }
    error
}

fn hint(errno: Errno) -> Hint {
    match errno.0 {
        libc::EBUSY | libc::EEXIST => Hint("another program or link is attached, perhaps in another mode"),
        libc::EINVAL => Hint(
            "no such interface in this network namespace, or the program was loaded for another interface, a devmap or a cpumap",
        ),
        libc::EOPNOTSUPP => Hint("the driver does not support XDP: try the generic mode"),
        libc::ERANGE => Hint(
            "the MTU is too large for a program that takes packets in one buffer: load it for packets in several buffers (section `xdp.frags`), \
             lower the MTU, or use the generic mode (`xdpgeneric`)",
        ),
        _ => Hint::for_errno(errno),
    }
}
