//! Routes and the programs on them, as callers describe them.

use core::net::IpAddr;
use std::os::fd::BorrowedFd;

/// A route through an interface.
///
/// ```no_run
/// # fn example(program: std::os::fd::BorrowedFd<'_>) -> Result<(), core_relo_loader::attach::AttachError> {
/// use core_relo_loader::attach::{self, LwtPrograms, LwtRoute};
/// use std::net::Ipv4Addr;
///
/// let network = Ipv4Addr::new(10, 88, 0, 0).into();
/// let route = LwtRoute { priority: 7, ..LwtRoute::new(network, 24, attach::interface_index("eth0")?) };
/// let programs = LwtPrograms { xmit: Some(program), ..LwtPrograms::default() };
/// let link = attach::lwt(&programs, &route)?;
/// // Packets to 10.88.0.0/24 pass through the program now.
/// link.detach()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..LwtRoute::new(…)`")]
pub struct LwtRoute {
    /// The address of the destination network.
    pub destination: IpAddr,
    /// The length of the network prefix in bits. All other bits of the address are 0.
    pub prefix_len: u8,
    /// The interface index, in the calling thread's network namespace. The interface has to be up.
    pub ifindex: u32,
    /// The gateway, of the destination's address family. `None` if the interface reaches the network
    /// directly.
    pub gateway: Option<IpAddr>,
    /// The routing table; 0 stands for the main table.
    pub table: u32,
    /// The metric: among routes to one destination, the lowest metric wins. 0 stands for 1024 with IPv6.
    pub priority: u32,
}

impl LwtRoute {
    /// Returns a route to a network that the interface reaches directly, in the main table, with the default
    /// metric.
    #[must_use]
    pub const fn new(destination: IpAddr, prefix_len: u8, ifindex: u32) -> Self {
        Self { destination, prefix_len, ifindex, gateway: None, table: 0, priority: 0 }
    }

    /// Returns the mistake in the route, if there is one. The kernel would refuse the route without a reason.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let (bits, width) = match self.destination {
            IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        let Some(host_bits) = u32::checked_sub(width, self.prefix_len.into()) else {
            return Some("the prefix is longer than the address");
        };
        let host_mask = u128::MAX.checked_shl(host_bits).map_or(u128::MAX, |network| !network);
        if bits & host_mask != 0 {
            return Some("expected the address of a network, without bits beyond the prefix");
        }
        if self.ifindex == 0 {
            return Some("the interface index is 0, expected 1 or more");
        }
        let other_family =
            self.gateway.is_some_and(|gateway| gateway.is_ipv4() != self.destination.is_ipv4());
        other_family.then_some("expected a gateway of the destination's address family")
    }
}

/// The programs on a route's packets. At least one is set.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct LwtPrograms<'a> {
    /// The program on incoming packets that take the route (`lwt_in`).
    pub input: Option<BorrowedFd<'a>>,
    /// The program on packets of this machine and on forwarded ones, before they are sent (`lwt_out`).
    pub output: Option<BorrowedFd<'a>>,
    /// The program on packets that leave by the interface (`lwt_xmit`). It may change them and prepend
    /// headers.
    pub xmit: Option<BorrowedFd<'a>>,
    /// The maximum number of bytes that `xmit` may prepend to a packet, up to 256.
    pub headroom: u32,
}
