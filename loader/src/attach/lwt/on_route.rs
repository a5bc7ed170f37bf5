//! Routes with programs in netlink's words: made, found again, taken away.

use super::{
    super::{
        Attachment,
        netlink::{Attributes, CREATE, DUMP, EXCL, Message, Refused, Request, attribute, attribute_u32},
        route::Route,
    },
    LwtPrograms, LwtRoute,
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
/// `LWTUNNEL_ENCAP_BPF`, a number of 16 bits.
const ENCAP_BPF: u16 = 6;
const LWT_BPF_IN: u16 = 1;
const LWT_BPF_OUT: u16 = 2;
const LWT_BPF_XMIT: u16 = 3;
const LWT_BPF_XMIT_HEADROOM: u16 = 4;
/// `LWTUNNEL_ENCAP_SEG6_LOCAL`.
const ENCAP_SEG6_LOCAL: u16 = 7;
const SEG6_LOCAL_ACTION: u16 = 1;
const SEG6_LOCAL_BPF: u16 = 8;
const ACTION_END_BPF: u32 = 15;
/// `LWT_BPF_PROG_FD`, `SEG6_LOCAL_BPF_PROG`.
const PROG_FD: u16 = 1;
/// `LWT_BPF_PROG_NAME`, `SEG6_LOCAL_BPF_PROG_NAME`.
const PROG_NAME: u16 = 2;
const RT_TABLE_MAIN: u32 = 254;
/// Metric of a route of IPv6 for which none is given.
const IPV6_USUAL: u32 = 1024;
/// Bytes of `struct rtmsg`.
const HEADER: usize = 12;

/// What a route does with its packets before it sends them.
#[derive(Clone, Debug)]
pub(super) struct Encap {
    kind: u16,
    attributes: Attributes,
    /// The programs' places and names: all that the kernel tells of them afterwards in each version.
    names: Vec<(u16, String)>,
}

impl Encap {
    pub(super) fn bpf(programs: &LwtPrograms<'_>) -> Result<Self, Errno> {
        let mut all = Self::empty(ENCAP_BPF);
        for (place, program) in
            [(LWT_BPF_IN, programs.input), (LWT_BPF_OUT, programs.output), (LWT_BPF_XMIT, programs.xmit)]
        {
            if let Some(program) = program {
                all = all.program(place, program.as_raw_fd(), name(program)?);
            }
        }
        if programs.headroom != 0 {
            all.attributes = all.attributes.u32(LWT_BPF_XMIT_HEADROOM, programs.headroom);
        }
        Ok(all)
    }

    pub(super) fn seg6local(program: BorrowedFd<'_>) -> Result<Self, Errno> {
        Ok(Self::end_bpf(program.as_raw_fd(), name(program)?))
    }

    pub(super) fn end_bpf(fd: i32, name: String) -> Self {
        let mut all = Self::empty(ENCAP_SEG6_LOCAL);
        all.attributes = all.attributes.u32(SEG6_LOCAL_ACTION, ACTION_END_BPF);
        all.program(SEG6_LOCAL_BPF, fd, name)
    }

    fn empty(kind: u16) -> Self {
        Self { kind, attributes: Attributes::default(), names: Vec::new() }
    }

    fn program(mut self, place: u16, fd: i32, name: String) -> Self {
        let one = Attributes::default().u32(PROG_FD, fd.cast_unsigned()).text(PROG_NAME, &name);
        self.attributes = self.attributes.nest(place, &one);
        self.names.push((place, name));
        self
    }

    /// Whether a route's attributes are with these programs.
    fn is_of(&self, route: &[u8]) -> bool {
        let kind = attribute(route, RTA_ENCAP_TYPE).and_then(|kind| Endian::native().u16(kind, 0));
        let there = attribute(route, RTA_ENCAP).unwrap_or_default();
        kind == Some(self.kind)
            && self.names.iter().all(|(place, name)| {
                let found = attribute(there, *place).and_then(|one| attribute(one, PROG_NAME));
                found.is_some_and(|found| found.strip_suffix(b"\0").unwrap_or(found) == name.as_bytes())
            })
    }
}

/// What the kernel is to call a program, which it takes only with a name: unlike any other's.
fn name(program: BorrowedFd<'_>) -> Result<String, Errno> {
    let info = sys::prog_info(&program)?;
    Ok(format!("{}:[{}]", info.name(), info.id))
}

impl LwtRoute {
    /// That it be made.
    pub(super) fn creation(&self, encap: &Encap) -> Request {
        let encap_type = Endian::native().u16_bytes(encap.kind);
        let attributes =
            self.attributes().bytes(RTA_ENCAP_TYPE, &encap_type).nest(RTA_ENCAP, &encap.attributes);
        Request { kind: RTM_NEWROUTE, flags: CREATE | EXCL, fixed: self.header(), attributes }
    }

    /// That it be taken away.
    fn removal(&self) -> Request {
        Request { kind: RTM_DELROUTE, flags: 0, fixed: self.header(), attributes: self.attributes() }
    }

    /// For the routes of its table and interface.
    fn neighbours(&self) -> Request {
        let mut fixed = vec![0; HEADER];
        if let Some(family) = fixed.first_mut() {
            *family = self.family();
        }
        let attributes = Attributes::default().u32(RTA_TABLE, self.table()).u32(RTA_OIF, self.ifindex);
        Request { kind: RTM_GETROUTE, flags: DUMP, fixed, attributes }
    }

    /// Whether a message is about it, made with these programs.
    pub(super) fn is_told(&self, encap: &Encap, message: &Message<'_>) -> bool {
        let Some((fixed, attributes)) = message.split(HEADER) else { return false };
        let to = octets(self.to);
        message.kind == RTM_NEWROUTE
            && fixed.get(..2) == Some(&[self.family(), self.prefix_len])
            // The kernel leaves out where a default route leads to, and a metric of 0.
            && attribute(attributes, RTA_DST).map_or(self.prefix_len == 0, |found| found == to)
            && attribute_u32(attributes, RTA_TABLE) == Some(self.table())
            && attribute_u32(attributes, RTA_OIF) == Some(self.ifindex)
            && attribute_u32(attributes, RTA_PRIORITY).unwrap_or(0) == self.priority()
            && encap.is_of(attributes)
    }

    /// `struct rtmsg`: a route of the administrator's.
    fn header(&self) -> Vec<u8> {
        const STATIC: u8 = 4;
        const SCOPE_UNIVERSE: u8 = 0;
        const SCOPE_LINK: u8 = 253;
        const UNICAST: u8 = 1;
        let scope = if self.via.is_some() { SCOPE_UNIVERSE } else { SCOPE_LINK };
        // The table goes as an attribute, which has room for all of them.
        vec![self.family(), self.prefix_len, 0, 0, 0, STATIC, scope, UNICAST, 0, 0, 0, 0]
    }

    fn attributes(&self) -> Attributes {
        let mut all = Attributes::default()
            .bytes(RTA_DST, &octets(self.to))
            .u32(RTA_OIF, self.ifindex)
            .u32(RTA_TABLE, self.table());
        if let Some(via) = self.via {
            all = all.bytes(RTA_GATEWAY, &octets(via));
        }
        if self.priority() == 0 { all } else { all.u32(RTA_PRIORITY, self.priority()) }
    }

    fn family(&self) -> u8 {
        let family = if self.to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        u8::try_from(family).unwrap_or_default()
    }

    const fn table(&self) -> u32 {
        if self.table == 0 { RT_TABLE_MAIN } else { self.table }
    }

    /// As the kernel has it: without one, a removal would be of any metric.
    fn priority(&self) -> u32 {
        if self.priority == 0 && self.to.is_ipv6() { IPV6_USUAL } else { self.priority }
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// A route that was made here. The socket keeps to the network namespace that the interface's number is of.
#[derive(Debug)]
pub(super) struct OnRoute {
    pub(super) talk: Route,
    pub(super) route: LwtRoute,
    pub(super) encap: Encap,
}

impl OnRoute {
    pub(super) fn make(mut talk: Route, route: LwtRoute, encap: Encap) -> Result<Self, Refused> {
        talk.ask(route.creation(&encap), |_| {})?;
        Ok(Self { talk, route, encap })
    }

    /// That the route is still the one that was made, for a removal does not say with which programs.
    fn still_there(&mut self) -> Result<(), Refused> {
        let Self { talk, route, encap } = self;
        // There may be very many others.
        talk.filtered();
        let mut found = false;
        talk.ask(route.neighbours(), |message| found |= route.is_told(encap, message))?;
        if found { Ok(()) } else { Err(Errno(libc::ENOENT).into()) }
    }
}

impl Attachment for OnRoute {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn detach(&mut self) -> Result<(), Errno> {
        match self.still_there().and_then(|()| self.talk.ask(self.route.removal(), |_| {})) {
            Ok(()) => Ok(()),
            // The interface is gone, and the route with it.
            Err(refused) if refused.errno.0 == libc::ENODEV => Ok(()),
            Err(refused) => Err(refused.logged()),
        }
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn leak(self: Box<Self>) {}
}
