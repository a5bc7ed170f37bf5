//! Lightweight tunnels: programs on the packets of a route (`lwt_in`, `lwt_out`, `lwt_xmit`), through netlink.
//!
//! A route with programs lasts whatever becomes of the process; a [`Link`] takes its own away when it is dropped. Programs of
//! `lwt_seg6local` are not put on here: `ip route … encap seg6local action End.BPF`.

use super::{
    AttachError, Attachment, Link,
    netlink::{Attributes, CREATE, EXCL, Refused, Request},
    route::{Route, refusal},
};
use crate::sys::{self, Errno};
use core::net::IpAddr;
use core_relo::Endian;
use std::os::fd::{AsRawFd as _, BorrowedFd};

const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
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
const LWT_BPF_PROG_FD: u16 = 1;
const LWT_BPF_PROG_NAME: u16 = 2;
const RT_TABLE_MAIN: u32 = 254;

/// A route out of an interface, to be made with programs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers")]
pub struct LwtRoute {
    /// Where to: the network's address.
    pub to: IpAddr,
    /// How many of its bits count.
    pub prefix_len: u8,
    /// The interface's number, in the calling thread's network namespace.
    pub ifindex: u32,
    /// The routing table; 0 is the main one.
    pub table: u32,
    /// Lower ones go before; 0: the kernel chooses.
    pub priority: u32,
}

/// The programs on a route's packets; at least one.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct LwtPrograms<'a> {
    /// On those that come in (`lwt_in`).
    pub input: Option<BorrowedFd<'a>>,
    /// On those that this machine sends (`lwt_out`).
    pub output: Option<BorrowedFd<'a>>,
    /// On those that go out by the interface (`lwt_xmit`).
    pub xmit: Option<BorrowedFd<'a>>,
    /// Bytes that `xmit` may put before a packet, 256 at most.
    pub headroom: u32,
}

/// Makes a route with programs on it.
pub fn lwt(programs: &LwtPrograms<'_>, route: &LwtRoute) -> Result<Link, AttachError> {
    let what = format!("lwt on {}/{} by interface {}", route.to, route.prefix_len, route.ifindex);
    if [programs.input, programs.output, programs.xmit].iter().all(Option::is_none) {
        return Err(AttachError::target(what, "expected one program or more"));
    }
    let made = Route::open().and_then(|mut talk| {
        let e = Endian::native();
        let attributes = route
            .attributes()
            .bytes(RTA_ENCAP_TYPE, &e.u16_bytes(ENCAP_BPF))
            .nest(RTA_ENCAP, &programs.attributes()?);
        let request = Request {
            kind: RTM_NEWROUTE,
            flags: CREATE | EXCL,
            fixed: route.header(),
            attributes,
        };
        talk.ask(request, |_| {})?;
        Ok(OnRoute { talk, route: *route })
    });
    match made {
        Ok(made) => Ok(Link::new(made, what)),
        Err(refused) => Err(refusal(&what, "attach", refused)),
    }
}

impl LwtPrograms<'_> {
    fn attributes(&self) -> Result<Attributes, Refused> {
        let mut all = Attributes::default();
        for (kind, program) in
            [(LWT_BPF_IN, self.input), (LWT_BPF_OUT, self.output), (LWT_BPF_XMIT, self.xmit)]
        {
            let Some(program) = program else { continue };
            // Without a name the kernel takes none.
            let info = sys::prog_info(&program)?;
            let one = Attributes::default()
                .u32(LWT_BPF_PROG_FD, program.as_raw_fd().cast_unsigned())
                .text(LWT_BPF_PROG_NAME, &format!("{}:[{}]", info.name(), info.id));
            all = all.nest(kind, &one);
        }
        Ok(if self.headroom == 0 { all } else { all.u32(LWT_BPF_XMIT_HEADROOM, self.headroom) })
    }
}

impl LwtRoute {
    /// `struct rtmsg`: a route of the administrator's to one that is reached directly.
    fn header(&self) -> Vec<u8> {
        const STATIC: u8 = 4;
        const SCOPE_LINK: u8 = 253;
        const UNICAST: u8 = 1;
        let family = if self.to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let family = u8::try_from(family).unwrap_or_default();
        // The table goes as an attribute, which has room for all of them.
        vec![family, self.prefix_len, 0, 0, 0, STATIC, SCOPE_LINK, UNICAST, 0, 0, 0, 0]
    }

    fn attributes(&self) -> Attributes {
        let table = if self.table == 0 { RT_TABLE_MAIN } else { self.table };
        let to = match self.to {
            IpAddr::V4(to) => to.octets().to_vec(),
            IpAddr::V6(to) => to.octets().to_vec(),
        };
        let all = Attributes::default().bytes(RTA_DST, &to).u32(RTA_OIF, self.ifindex).u32(RTA_TABLE, table);
        if self.priority == 0 { all } else { all.u32(RTA_PRIORITY, self.priority) }
    }
}

/// A route that was made here. The socket keeps to the network namespace that the interface's number is of.
#[derive(Debug)]
struct OnRoute {
    talk: Route,
    route: LwtRoute,
}

impl Attachment for OnRoute {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn detach(&mut self) -> Result<(), Errno> {
        let (fixed, attributes) = (self.route.header(), self.route.attributes());
        let request = Request { kind: RTM_DELROUTE, flags: 0, fixed, attributes };
        match self.talk.ask(request, |_| {}) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::testing::{Counting, in_own_network, pair},
        object::ProgramType,
    };
    use core::net::{Ipv4Addr, Ipv6Addr};
    use std::net::UdpSocket;

    fn send() {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        // Once the route is gone, the network cannot be reached.
        let _sent: Result<_, _> = socket.send_to(b"?", (Ipv4Addr::new(10, 88, 0, 5), 9));
    }

    #[test]
    fn programs_run_on_a_routes_packets_until_it_is_taken_away() {
        in_own_network(|| {
            let Some((near, _)) = pair("veth") else { return };
            for (kind, table) in [(ProgramType::LwtXmit, 0), (ProgramType::LwtOut, RT_TABLE_MAIN)] {
                // BPF_OK
                let Some(prog) = Counting::load(kind, None, 0) else { return };
                let route = LwtRoute {
                    to: Ipv4Addr::new(10, 88, 0, 0).into(),
                    prefix_len: 24,
                    ifindex: near,
                    table,
                    priority: 7,
                };
                let mut programs = LwtPrograms::default();
                if kind == ProgramType::LwtXmit {
                    (programs.xmit, programs.headroom) = (Some(prog.fd()), 16);
                } else {
                    programs.output = Some(prog.fd());
                }
                let link = match lwt(&programs, &route) {
                    Err(e) if e.errno() == Some(Errno(libc::EOPNOTSUPP)) => return println!("SKIP: {e}"),
                    link => link.unwrap(),
                };
                assert!(link.fd().is_none() && link.outlives_process());
                let taken = lwt(&programs, &route).unwrap_err();
                assert_eq!(taken.errno(), Some(Errno(libc::EEXIST)), "{taken}");
                prog.fires(link, send);
            }
        });
    }

    #[test]
    fn a_route_of_ipv6_comes_and_goes() {
        in_own_network(|| {
            let Some((near, _)) = pair("veth") else { return };
            let Some(prog) = Counting::load(ProgramType::LwtXmit, None, 0) else { return };
            let to = Ipv6Addr::new(0xfd00, 0, 0, 0x88, 0, 0, 0, 0).into();
            let route = LwtRoute { to, prefix_len: 64, ifindex: near, table: 1000, priority: 0 };
            let programs = LwtPrograms { xmit: Some(prog.fd()), ..LwtPrograms::default() };
            match lwt(&programs, &route) {
                Err(e) => println!("SKIP: {e}"),
                Ok(link) => {
                    link.detach().unwrap();
                    lwt(&programs, &route).unwrap().detach().unwrap();
                }
            }
        });
    }

    #[test]
    fn no_program_or_no_interface_is_refused() {
        let route =
            LwtRoute { to: Ipv4Addr::LOCALHOST.into(), prefix_len: 32, ifindex: 9999, table: 0, priority: 0 };
        let none = lwt(&LwtPrograms::default(), &route).unwrap_err();
        assert_eq!(none.to_string(), "lwt on 127.0.0.1/32 by interface 9999: expected one program or more");
        let Some(prog) = Counting::load(ProgramType::LwtXmit, None, 0) else { return };
        let programs = LwtPrograms { xmit: Some(prog.fd()), ..LwtPrograms::default() };
        in_own_network(|| {
            let missing = lwt(&programs, &route).unwrap_err();
            assert_eq!(missing.errno(), Some(Errno(libc::ENODEV)), "{missing}");
        });
    }
}
