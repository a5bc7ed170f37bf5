//! Routes with programs (lightweight tunnels): `route:10.88.0.0/24,eth0`.

use super::point_error::PlaceProblem;
use crate::attach::{AttachError, Link, LwtPrograms, LwtRoute, interface_index, lwt, seg6local};
use core::net::IpAddr;
use core_relo_object::object::ProgramType;
use std::os::fd::BorrowedFd;

/// A route through an interface, which runs a program (a lightweight tunnel).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutePoint {
    destination: IpAddr,
    prefix_len: u8,
    interface: String,
    gateway: Option<IpAddr>,
}

impl RoutePoint {
    /// Parses `10.88.0.0/24,eth0` or `10.88.0.0/24,eth0,10.0.0.1`.
    pub(super) fn parse(text: &str) -> Result<Self, PlaceProblem> {
        let parse = || {
            let mut words = text.split(',');
            let (destination, prefix_len) = words.next()?.split_once('/')?;
            let interface = words.next().filter(|name| !name.is_empty())?.to_owned();
            let gateway = words.next().map(str::parse).transpose().ok()?;
            let (destination, prefix_len) = (destination.parse().ok()?, prefix_len.parse().ok()?);
            words.next().is_none().then_some(Self { destination, prefix_len, interface, gateway })
        };
        let route = parse().ok_or(PlaceProblem::Route)?;
        let (bits, address) = match route.destination {
            IpAddr::V4(address) => (32u32, u128::from(address.to_bits())),
            IpAddr::V6(address) => (128, address.to_bits()),
        };
        let host_bits = bits.checked_sub(u32::from(route.prefix_len));
        let host_bits = host_bits.ok_or(PlaceProblem::PrefixLength { bits })?;
        if address.unbounded_shr(host_bits).unbounded_shl(host_bits) != address {
            return Err(PlaceProblem::HostBits);
        }
        Ok(route)
    }

    /// Returns whether a program of a type can have the route. Segment routing is for IPv6.
    pub(super) fn fits(&self, program_type: ProgramType) -> bool {
        program_type != ProgramType::LwtSeg6local || self.destination.is_ipv6()
    }

    /// Adds the route with a program.
    pub fn attach(&self, program: BorrowedFd<'_>, program_type: ProgramType) -> Result<Link, AttachError> {
        let Self { destination, prefix_len, gateway, .. } = *self;
        let ifindex = interface_index(&self.interface)?;
        let route = LwtRoute { gateway, ..LwtRoute::new(destination, prefix_len, ifindex) };
        let fd = Some(program);
        let programs = LwtPrograms::default();
        match program_type {
            ProgramType::LwtIn => lwt(&LwtPrograms { input: fd, ..programs }, &route),
            ProgramType::LwtOut => lwt(&LwtPrograms { output: fd, ..programs }, &route),
            ProgramType::LwtXmit => lwt(&LwtPrograms { xmit: fd, ..programs }, &route),
            _ => seg6local(program, &route),
        }
    }

    /// Returns the command that removes the route.
    pub fn removal(&self) -> String {
        let Self { destination, prefix_len, interface, .. } = self;
        let family = if destination.is_ipv6() { "-6 " } else { "" };
        format!("`ip {family}route del {destination}/{prefix_len} dev {interface}`")
    }
}
