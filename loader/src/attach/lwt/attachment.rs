//! Netlink requests that add, find and remove routes with programs.

use super::{
    super::{
        link::Attachment,
        netlink::{Attributes, CREATE, DUMP, EXCL, Message, NetlinkError, Request, attribute, attribute_u32},
        rtnetlink::RtnetlinkSocket,
    },
    route::{LwtPrograms, LwtRoute},
};
use crate::sys::{self, Errno};
use core::net::IpAddr;
use core_relo::Endian;
use std::os::fd::{AsRawFd as _, BorrowedFd};

pub(super) const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const RTM_GETROUTE: u16 = 26;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_TABLE: u16 = 15;
const RTA_ENCAP_TYPE: u16 = 21;
const RTA_ENCAP: u16 = 22;
/// `LWTUNNEL_ENCAP_BPF`. The attribute has 16 bits.
const ENCAP_BPF: u16 = 6;
const LWT_BPF_IN: u16 = 1;
const LWT_BPF_OUT: u16 = 2;
const LWT_BPF_XMIT: u16 = 3;
const LWT_BPF_XMIT_HEADROOM: u16 = 4;
/// `LWTUNNEL_ENCAP_SEG6_LOCAL`.
const ENCAP_SEG6_LOCAL: u16 = 7;
const SEG6_LOCAL_ACTION: u16 = 1;
const SEG6_LOCAL_BPF: u16 = 8;
/// `SEG6_LOCAL_ACTION_END_BPF`.
const ACTION_END_BPF: u32 = 15;
/// `LWT_BPF_PROG_FD`, `SEG6_LOCAL_BPF_PROG`.
const PROG_FD: u16 = 1;
/// `LWT_BPF_PROG_NAME`, `SEG6_LOCAL_BPF_PROG_NAME`.
const PROG_NAME: u16 = 2;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const RT_TABLE_MAIN: u32 = 254;
/// The metric of an IPv6 route that sets none (`IP6_RT_PRIO_USER`).
const IPV6_DEFAULT_METRIC: u32 = 1024;
/// Bytes of `struct rtmsg`.
const RTMSG_BYTES: usize = 12;

/// The encapsulation of a route: the programs that process its packets.
#[derive(Clone, Debug)]
pub(super) struct Encap {
    kind: u16,
    attributes: Attributes,
    /// The hook and name of each program. All kernels report these two, so they identify the programs.
    names: Vec<(u16, String)>,
}

impl Encap {
    pub(super) fn bpf(programs: &LwtPrograms<'_>) -> Result<Self, Errno> {
        let mut encap = Self::empty(ENCAP_BPF);
        for (hook, program) in
            [(LWT_BPF_IN, programs.input), (LWT_BPF_OUT, programs.output), (LWT_BPF_XMIT, programs.xmit)]
        {
            if let Some(program) = program {
                encap = encap.with_program(hook, program.as_raw_fd(), unique_name(program)?);
            }
        }
        if programs.headroom != 0 {
            encap.attributes = encap.attributes.u32(LWT_BPF_XMIT_HEADROOM, programs.headroom);
        }
        Ok(encap)
    }

    pub(super) fn seg6local(program: BorrowedFd<'_>) -> Result<Self, Errno> {
        Ok(Self::end_bpf(program.as_raw_fd(), unique_name(program)?))
    }

    pub(super) fn end_bpf(fd: i32, name: String) -> Self {
        let mut encap = Self::empty(ENCAP_SEG6_LOCAL);
        encap.attributes = encap.attributes.u32(SEG6_LOCAL_ACTION, ACTION_END_BPF);
        encap.with_program(SEG6_LOCAL_BPF, fd, name)
    }

    fn empty(kind: u16) -> Self {
        Self { kind, attributes: Attributes::default(), names: Vec::new() }
    }

    fn with_program(mut self, hook: u16, fd: i32, name: String) -> Self {
        let program = Attributes::default().u32(PROG_FD, fd.cast_unsigned()).text(PROG_NAME, &name);
        self.attributes = self.attributes.nest(hook, &program);
        self.names.push((hook, name));
        self
    }

    /// Returns whether a route's attributes name the same programs.
    fn matches_attributes(&self, route: &[u8]) -> bool {
        let kind = attribute(route, RTA_ENCAP_TYPE).and_then(|kind| Endian::native().u16(kind, 0));
        let Some(encap) = attribute(route, RTA_ENCAP) else { return false };
        kind == Some(self.kind)
            && self.names.iter().all(|(hook, name)| {
                let found = attribute(encap, *hook).and_then(|program| attribute(program, PROG_NAME));
                found.is_some_and(|found| found.strip_suffix(b"\0").unwrap_or(found) == name.as_bytes())
            })
    }
}

/// Returns a name that no other program has. The kernel takes programs of routes only with a name.
fn unique_name(program: BorrowedFd<'_>) -> Result<String, Errno> {
    let info = sys::ProgramInfo::query(&program)?;
    Ok(format!("{}:[{}]", info.name(), info.id))
}

impl LwtRoute {
    /// Creates the request that adds the route.
    pub(super) fn add_request(&self, encap: &Encap) -> Request {
        let encap_type = Endian::native().u16_bytes(encap.kind);
        let attributes =
            self.attributes().bytes(RTA_ENCAP_TYPE, &encap_type).nest(RTA_ENCAP, &encap.attributes);
        Request { kind: RTM_NEWROUTE, flags: CREATE | EXCL, fixed: self.rtmsg(), attributes }
    }

    /// Creates the request that removes the route.
    fn delete_request(&self) -> Request {
        Request { kind: RTM_DELROUTE, flags: 0, fixed: self.rtmsg(), attributes: self.attributes() }
    }

    /// Creates the request for all routes of the route's table and interface.
    fn dump_request(&self) -> Request {
        let mut fixed = vec![self.family()];
        fixed.resize(RTMSG_BYTES, 0);
        let attributes = Attributes::default().u32(RTA_TABLE, self.table()).u32(RTA_OIF, self.ifindex);
        Request { kind: RTM_GETROUTE, flags: DUMP, fixed, attributes }
    }

    /// Returns whether a message describes this route with these programs.
    pub(super) fn matches_message(&self, encap: &Encap, message: &Message<'_>) -> bool {
        let Some((fixed, attributes)) = message.split(RTMSG_BYTES) else { return false };
        let destination = octets(self.destination);
        message.kind == RTM_NEWROUTE
            && fixed.get(..2) == Some(&[self.family(), self.prefix_len])
            // The kernel omits the destination of a default route, and a metric of 0.
            && attribute(attributes, RTA_DST).map_or(self.prefix_len == 0, |found| found == destination)
            && attribute_u32(attributes, RTA_TABLE) == Some(self.table())
            && attribute_u32(attributes, RTA_OIF) == Some(self.ifindex)
            && attribute_u32(attributes, RTA_PRIORITY).unwrap_or(0) == self.metric()
            && encap.matches_attributes(attributes)
    }

    /// Encodes a `struct rtmsg` of a static unicast route.
    fn rtmsg(&self) -> Vec<u8> {
        const RTPROT_STATIC: u8 = 4;
        const SCOPE_UNIVERSE: u8 = 0;
        const SCOPE_LINK: u8 = 253;
        const RTN_UNICAST: u8 = 1;
        let scope = if self.gateway.is_some() { SCOPE_UNIVERSE } else { SCOPE_LINK };
        // The table's field has 8 bits only, so the table is an attribute.
        vec![self.family(), self.prefix_len, 0, 0, 0, RTPROT_STATIC, scope, RTN_UNICAST, 0, 0, 0, 0]
    }

    fn attributes(&self) -> Attributes {
        let mut attributes = Attributes::default()
            .bytes(RTA_DST, &octets(self.destination))
            .u32(RTA_OIF, self.ifindex)
            .u32(RTA_TABLE, self.table());
        if let Some(gateway) = self.gateway {
            attributes = attributes.bytes(RTA_GATEWAY, &octets(gateway));
        }
        if self.metric() == 0 { attributes } else { attributes.u32(RTA_PRIORITY, self.metric()) }
    }

    const fn family(&self) -> u8 {
        if self.destination.is_ipv4() { AF_INET } else { AF_INET6 }
    }

    const fn table(&self) -> u32 {
        if self.table == 0 { RT_TABLE_MAIN } else { self.table }
    }

    /// Returns the metric that the kernel stores. A removal request without a metric would match every
    /// metric.
    fn metric(&self) -> u32 {
        if self.priority == 0 && self.destination.is_ipv6() { IPV6_DEFAULT_METRIC } else { self.priority }
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// A route added by this process. The socket stays in the network namespace in which the interface index is
/// valid.
#[derive(Debug)]
pub(super) struct LwtAttachment {
    pub(super) socket: RtnetlinkSocket,
    pub(super) route: LwtRoute,
    pub(super) encap: Encap,
}

impl LwtAttachment {
    /// Adds a route.
    pub(super) fn add(
        mut socket: RtnetlinkSocket,
        route: LwtRoute,
        encap: Encap,
    ) -> Result<Self, NetlinkError> {
        socket.request(route.add_request(&encap), |_| {})?;
        Ok(Self { socket, route, encap })
    }

    /// Checks that the route still has the same programs. A removal request cannot name them.
    fn check_attached(&mut self) -> Result<(), NetlinkError> {
        let Self { socket, route, encap } = self;
        // The kernel filters the dump, because there may be very many other routes.
        socket.enable_strict_checking();
        let mut is_found = false;
        socket.request(route.dump_request(), |message| is_found |= route.matches_message(encap, message))?;
        if is_found { Ok(()) } else { Err(Errno(libc::ENOENT).into()) }
    }
}

impl Attachment for LwtAttachment {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn detach(&mut self) -> Result<(), Errno> {
        match self.check_attached().and_then(|()| self.socket.request(self.route.delete_request(), |_| {})) {
            Ok(()) => Ok(()),
            // The interface is gone, and the route with it.
            Err(error) if error.errno.0 == libc::ENODEV => Ok(()),
            Err(error) => Err(error.into_logged_errno()),
        }
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn leak(self: Box<Self>) {}

    fn abandon(self: Box<Self>) {}
}
