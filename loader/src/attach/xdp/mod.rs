//! XDP: programs on a network interface, by a link or (as older kernels and tools have it) by netlink.
//!
//! Programs of devmaps and cpumaps are attached by putting them into the map.

#[cfg(test)]
mod tests;

use super::{
    AttachError, Attachment, Hint, Link,
    netlink::{Attributes, Refused, Request, attribute, attribute_u32},
    route::{Route, interface_attributes, interface_header, refusal},
};
use crate::{
    object::AttachType,
    sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget},
};
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
const UPDATE_IF_NOEXIST: u32 = 1;
const FLAG_REPLACE: u32 = 1 << 4;
/// Instead of a program's descriptor: none.
const NO_PROGRAM: u32 = u32::MAX;

/// Where in the network stack the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum XdpMode {
    /// In the driver if it can, else in the generic stack.
    #[default]
    Any,
    /// In the generic stack, on socket buffers (`XDP_FLAGS_SKB_MODE`).
    Generic,
    /// In the driver (`XDP_FLAGS_DRV_MODE`).
    Driver,
    /// In the device (`XDP_FLAGS_HW_MODE`).
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

/// What is to become of a program that is attached already, by netlink.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum XdpOver<'a> {
    /// It stays, and attaching fails.
    #[default]
    Nothing,
    /// It goes, whichever it is.
    Anything,
    /// It goes if it is this one (kernels from 5.7); else attaching fails.
    Program(BorrowedFd<'a>),
}

/// Attaches by a link (kernels from 5.9); kernels without them by netlink, if no other program is there.
pub fn xdp(prog: BorrowedFd<'_>, ifindex: u32, mode: XdpMode) -> Result<Link, AttachError> {
    let link = LinkCreate {
        prog,
        target: LinkTarget::Interface(ifindex),
        attach_type: AttachType::Xdp.number(),
        flags: mode.flags(),
        extra: LinkExtra::None,
    };
    match sys::link_create(&link) {
        Ok(fd) => Ok(Link::from_fd(fd, what(ifindex))),
        Err(Errno(libc::EINVAL)) if !kernel_has_links(prog) => {
            xdp_netlink(prog, ifindex, mode, XdpOver::Nothing)
        }
        Err(errno) => {
            let (what, action) = (what(ifindex).into(), "attach");
            Err(AttachError::Kernel { what, action, errno, hint: hint(errno) })
        }
    }
}

/// Whether the kernel has links of XDP: if it does, it goes as far as to see that the loopback interface has no driver that
/// could run a program.
fn kernel_has_links(prog: BorrowedFd<'_>) -> bool {
    const LOOPBACK: u32 = 1;
    let link = LinkCreate {
        prog,
        target: LinkTarget::Interface(LOOPBACK),
        attach_type: AttachType::Xdp.number(),
        flags: XdpMode::Driver.flags(),
        extra: LinkExtra::None,
    };
    sys::link_create(&link).err() != Some(Errno(libc::EINVAL))
}

/// Attaches by netlink: it stays if the process ends without dropping the link.
///
/// Detaching takes away this program and no other, and does not bring back one that it took the place of.
pub fn xdp_netlink(
    prog: BorrowedFd<'_>,
    ifindex: u32,
    mode: XdpMode,
    over: XdpOver<'_>,
) -> Result<Link, AttachError> {
    let refused = |refused| refusal(&what(ifindex), "attach", refused);
    let prog = prog.try_clone_to_owned().map_err(|e| refused(Errno::from_io_error(&e).into()))?;
    let mut route = Route::open().map_err(refused)?;
    let (flags, expected) = match over {
        XdpOver::Nothing => (UPDATE_IF_NOEXIST, None),
        XdpOver::Anything => (0, None),
        XdpOver::Program(old) => (0, Some(old)),
    };
    set(&mut route, ifindex, mode.flags() | flags, Some(prog.as_fd()), expected).map_err(refused)?;
    Ok(Link::new(OnInterface { route, ifindex, mode, prog }, what(ifindex)))
}

/// Takes away a program that netlink attached, whoever did; with `expected`, only if it is that one.
pub fn xdp_detach(ifindex: u32, mode: XdpMode, expected: Option<BorrowedFd<'_>>) -> Result<(), AttachError> {
    let done = Route::open().and_then(|mut route| set(&mut route, ifindex, mode.flags(), None, expected));
    done.map_err(|refused| refusal(&what(ifindex), "detach", refused))
}

/// The programs on an interface; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Xdp {
    /// Whether there are programs in more than one mode.
    pub multiple: bool,
    /// The id of the program, if there is but one.
    pub prog_id: u32,
    /// That of the program in the driver.
    pub driver: u32,
    /// That of the program in the generic stack.
    pub generic: u32,
    /// That of the program in the device.
    pub hardware: u32,
}

impl Xdp {
    /// The ids of the programs there are.
    pub fn prog_ids(&self) -> Vec<u32> {
        let mut ids = vec![self.hardware, self.driver, self.generic];
        ids.retain(|id| *id != 0);
        if ids.is_empty() && self.prog_id != 0 {
            ids.push(self.prog_id);
        }
        ids
    }
}

/// Which programs are on an interface.
pub fn xdp_query(ifindex: u32) -> Result<Xdp, AttachError> {
    let answer = Route::open().and_then(|mut route| interface_attributes(&mut route, ifindex));
    match answer {
        Ok(attributes) => Ok(read_answer(&attributes)),
        Err(refused) => Err(refusal(&what(ifindex), "query", refused)),
    }
}

fn read_answer(attributes: &[u8]) -> Xdp {
    attribute(attributes, IFLA_XDP).map(read).unwrap_or_default()
}

fn read(xdp: &[u8]) -> Xdp {
    /// `XDP_ATTACHED_MULTI`.
    const MULTI: u8 = 4;
    let id = |kind| attribute_u32(xdp, kind).unwrap_or_default();
    Xdp {
        multiple: attribute(xdp, IFLA_XDP_ATTACHED).is_some_and(|mode| mode.first() == Some(&MULTI)),
        prog_id: id(IFLA_XDP_PROG_ID),
        driver: id(IFLA_XDP_DRV_PROG_ID),
        generic: id(IFLA_XDP_SKB_PROG_ID),
        hardware: id(IFLA_XDP_HW_PROG_ID),
    }
}

fn set(
    route: &mut Route,
    ifindex: u32,
    mut flags: u32,
    prog: Option<BorrowedFd<'_>>,
    expected: Option<BorrowedFd<'_>>,
) -> Result<(), Refused> {
    let number = |fd: BorrowedFd<'_>| fd.as_raw_fd().cast_unsigned();
    let mut xdp = Attributes::default().u32(IFLA_XDP_FD, prog.map_or(NO_PROGRAM, number));
    if let Some(old) = expected {
        flags |= FLAG_REPLACE;
        xdp = xdp.u32(IFLA_XDP_EXPECTED_FD, number(old));
    }
    if flags != 0 {
        xdp = xdp.u32(IFLA_XDP_FLAGS, flags);
    }
    let attributes = Attributes::default().nest(IFLA_XDP, &xdp);
    route.ask(Request { kind: RTM_SETLINK, flags: 0, fixed: interface_header(ifindex), attributes }, |_| {})
}

/// A program attached by netlink. The socket keeps to the network namespace that the interface's number is of.
#[derive(Debug)]
struct OnInterface {
    route: Route,
    ifindex: u32,
    mode: XdpMode,
    prog: OwnedFd,
}

impl OnInterface {
    /// For kernels before 5.7, which cannot be told which program is to go.
    fn detach_unnamed(&mut self) -> Result<(), Refused> {
        let there = read_answer(&interface_attributes(&mut self.route, self.ifindex)?);
        if !there.prog_ids().contains(&sys::prog_info(&self.prog)?.id) {
            return Err(Errno(libc::ENOENT).into());
        }
        set(&mut self.route, self.ifindex, self.mode.flags(), None, None)
    }
}

impl Attachment for OnInterface {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn detach(&mut self) -> Result<(), Errno> {
        match set(&mut self.route, self.ifindex, self.mode.flags(), None, Some(self.prog.as_fd())) {
            Ok(()) => Ok(()),
            Err(refused) if refused.errno.0 == libc::EINVAL => self.detach_unnamed().map_err(Refused::logged),
            // The interface is gone, and the attachment with it.
            Err(refused) if refused.errno.0 == libc::ENODEV => Ok(()),
            Err(refused) => Err(refused.logged()),
        }
    }

    fn update(&mut self, prog: BorrowedFd<'_>) -> Result<(), Errno> {
        let prog = prog.try_clone_to_owned().map_err(|e| Errno::from_io_error(&e))?;
        let (new, old) = (Some(prog.as_fd()), Some(self.prog.as_fd()));
        set(&mut self.route, self.ifindex, self.mode.flags(), new, old).map_err(Refused::logged)?;
        self.prog = prog;
        Ok(())
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn leak(self: Box<Self>) {}
}

fn what(ifindex: u32) -> String {
    format!("xdp on interface {ifindex}")
}

fn hint(errno: Errno) -> Hint {
    match errno.0 {
        libc::EBUSY | libc::EEXIST => {
            Hint("another program or link is there already, perhaps in the other mode: see `xdp_query`")
        }
        libc::EINVAL => {
            Hint("is there such an interface in this network namespace, and does the program go with it?")
        }
        libc::EOPNOTSUPP => Hint("the driver cannot run it: try the generic mode"),
        _ => Hint::of(errno),
    }
}
