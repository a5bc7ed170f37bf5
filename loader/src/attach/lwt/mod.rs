//! Lightweight tunnels: programs on the packets of a route, through netlink.
//!
//! A route with programs lasts whatever becomes of the process, as long as the interface is up; a [`Link`] takes its own away
//! when it is dropped, and no route that has come in its place.

mod on_route;
#[cfg(test)]
mod tests;

use super::{
    AttachError, Hint, Link,
    netlink::Refused,
    route::{Route, refusal},
};
use crate::sys::Errno;
use core::net::IpAddr;
use on_route::{Encap, OnRoute};
use std::os::fd::BorrowedFd;

/// A route out of an interface, to be made with programs on its packets.
///
/// ```no_run
/// # fn example(program: std::os::fd::BorrowedFd<'_>) -> Result<(), core_relo_loader::attach::AttachError> {
/// use core_relo_loader::attach::{self, LwtPrograms, LwtRoute};
/// use std::net::Ipv4Addr;
///
/// let to = Ipv4Addr::new(10, 88, 0, 0).into();
/// let route = LwtRoute { priority: 7, ..LwtRoute::new(to, 24, attach::interface("eth0")?) };
/// let programs = LwtPrograms { xmit: Some(program), ..LwtPrograms::default() };
/// let link = attach::lwt(&programs, &route)?;
/// // What goes to 10.88.0.0/24 goes through the program now.
/// link.detach()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..LwtRoute::new(…)`")]
pub struct LwtRoute {
    /// Where to: the network's address.
    pub to: IpAddr,
    /// How many of its bits count; the others are 0.
    pub prefix_len: u8,
    /// The interface's number, in the calling thread's network namespace. It has to be up.
    pub ifindex: u32,
    /// The gateway, of the same family; none if the network is reached by the interface directly.
    pub via: Option<IpAddr>,
    /// The routing table; 0 is the main one.
    pub table: u32,
    /// The metric: of routes to the same place the one with the lowest counts. 0 is 1024 for IPv6.
    pub priority: u32,
}

impl LwtRoute {
    /// To a network that an interface reaches directly, in the main table, with the usual metric.
    #[must_use]
    pub const fn new(to: IpAddr, prefix_len: u8, ifindex: u32) -> Self {
        Self { to, prefix_len, ifindex, via: None, table: 0, priority: 0 }
    }

    /// What is wrong with it that the kernel would not say, or not in words.
    fn problem(&self) -> Option<&'static str> {
        let (bits, width) = match self.to {
            IpAddr::V4(to) => (u128::from(to.to_bits()), 32),
            IpAddr::V6(to) => (to.to_bits(), 128),
        };
        let Some(host_bits) = u32::checked_sub(width, self.prefix_len.into()) else {
            return Some("the prefix is longer than the address");
        };
        let host = u128::MAX.checked_shl(host_bits).map_or(u128::MAX, |network| !network);
        if bits & host != 0 {
            return Some("expected a network's address, without bits beyond the prefix");
        }
        if self.ifindex == 0 {
            return Some("expected the number of an interface, which 0 is not");
        }
        let other_family = self.via.is_some_and(|via| via.is_ipv4() != self.to.is_ipv4());
        other_family.then_some("expected a gateway of the address's own family")
    }
}

/// The programs on a route's packets; at least one.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct LwtPrograms<'a> {
    /// On those that come in and are to take the route (`lwt_in`).
    pub input: Option<BorrowedFd<'a>>,
    /// On those that are about to be sent on it, of this machine or forwarded (`lwt_out`).
    pub output: Option<BorrowedFd<'a>>,
    /// On those that go out by the interface (`lwt_xmit`); it may change them, and put headers before them.
    pub xmit: Option<BorrowedFd<'a>>,
    /// Bytes that `xmit` may put before a packet, 256 at most.
    pub headroom: u32,
}

/// Makes a route with programs on it (`ip route add … encap bpf …`), of the types `lwt_in`, `lwt_out` and `lwt_xmit`.
///
/// A route to the same place, in the same table and of the same metric, is left alone, and the error is `EEXIST`. Since a route
/// may have several programs, [`Link::update`] is refused.
pub fn lwt(programs: &LwtPrograms<'_>, route: &LwtRoute) -> Result<Link, AttachError> {
    let problem = if [programs.input, programs.output, programs.xmit].iter().all(Option::is_none) {
        Some("expected one program or more")
    } else if programs.headroom != 0 && programs.xmit.is_none() {
        Some("headroom is for a program of `xmit`")
    } else {
        None
    };
    make("lwt", route, problem, || Encap::bpf(programs))
}

/// Makes a route of segments with a program on it (`ip -6 route add … encap seg6local action End.BPF …`), of the type
/// `lwt_seg6local`.
///
/// It runs on packets that come in for an address of the route's, with a segment routing header that has segments left. The
/// rest is as with [`lwt`].
pub fn seg6local(prog: BorrowedFd<'_>, route: &LwtRoute) -> Result<Link, AttachError> {
    let problem = route.to.is_ipv4().then_some("segments are routed by IPv6 alone");
    make("seg6local", route, problem, || Encap::seg6local(prog))
}

fn make(
    what: &str,
    route: &LwtRoute,
    problem: Option<&'static str>,
    encap: impl FnOnce() -> Result<Encap, Errno>,
) -> Result<Link, AttachError> {
    let what = format!("{what} on {}/{} by interface {}", route.to, route.prefix_len, route.ifindex);
    if let Some(problem) = problem.or_else(|| route.problem()) {
        return Err(AttachError::target(what, problem));
    }
    let made = Route::open().and_then(|talk| OnRoute::make(talk, *route, encap()?));
    match made {
        Ok(made) => Ok(Link::new(made, what)),
        Err(refused) => Err(not_made(&what, refused)),
    }
}

fn not_made(what: &str, refused: Refused) -> AttachError {
    let hint = Hint(match refused.errno.0 {
        libc::EEXIST => {
            "there is a route to this place with this metric already: remove it, or choose another priority"
        }
        libc::EOPNOTSUPP => {
            "is this kernel built with CONFIG_LWTUNNEL_BPF, and CONFIG_IPV6_SEG6_LWTUNNEL for segments?"
        }
        libc::EINVAL => {
            "is each program of the type for its place: lwt_in, lwt_out, lwt_xmit, lwt_seg6local?"
        }
        libc::ENETDOWN | libc::ENETUNREACH => "is the interface up, and the gateway reached by it?",
        libc::ERANGE => "headroom is 256 at most",
        _ => return refusal(what, "attach", refused),
    });
    let Refused { errno, said } = refused;
    // The kernel's own words say more than a guess.
    let hint = if errno.0 == libc::EINVAL && !said.is_empty() { Hint::default() } else { hint };
    AttachError::Netlink { what: what.into(), action: "attach", errno, said: said.into(), hint }
}
