//! Lightweight tunnels: programs on the packets of a route, through netlink.
//!
//! A route with programs stays as long as its interface is up, even if the process ends. Dropping the
//! [`Link`] removes the route, but no other route that replaced it.

mod attachment;
mod route;
#[cfg(test)]
mod tests;

pub use route::{LwtPrograms, LwtRoute};

use super::{
    error::{AttachError, Hint},
    link::Link,
    netlink::NetlinkError,
    program_type::explain_einval_by_types,
    rtnetlink::{RtnetlinkSocket, netlink_error},
};
use crate::sys::Errno;
use attachment::{Encap, LwtAttachment};
use core_relo_object::object::ProgramType;
use std::os::fd::BorrowedFd;

/// Adds a route with programs of the types `lwt_in`, `lwt_out` and `lwt_xmit` (`ip route add … encap bpf …`).
///
/// Fails with `EEXIST` if the table has a route with the same destination and metric. A route may have
/// several programs, so [`Link::update`] is not supported.
pub fn lwt(programs: &LwtPrograms<'_>, route: &LwtRoute) -> Result<Link, AttachError> {
    let by_type = [
        (programs.input, ProgramType::LwtIn),
        (programs.output, ProgramType::LwtOut),
        (programs.xmit, ProgramType::LwtXmit),
    ];
    let problem = if by_type.iter().all(|(program, _)| program.is_none()) {
        Some("expected at least one program")
    } else if programs.headroom != 0 && programs.xmit.is_none() {
        Some("headroom needs an `xmit` program")
    } else {
        None
    };
    attach_route("lwt", route, problem, || Encap::bpf(programs)).map_err(|error| {
        let given = by_type.into_iter().filter_map(|(program, expected)| Some((program?, expected)));
        given
            .fold(error, |error, (program, expected)| explain_einval_by_types(error, program, vec![expected]))
    })
}

/// Adds a segment route with a program of the type `lwt_seg6local`
/// (`ip -6 route add … encap seg6local action End.BPF …`).
pub(crate) fn seg6local(prog: BorrowedFd<'_>, route: &LwtRoute) -> Result<Link, AttachError> {
    let problem = route.destination.is_ipv4().then_some("segment routing needs an IPv6 destination");
    attach_route("seg6local", route, problem, || Encap::seg6local(prog))
        .map_err(|error| explain_einval_by_types(error, prog, vec![ProgramType::LwtSeg6local]))
}

fn attach_route(
    family: &str,
    route: &LwtRoute,
    problem: Option<&'static str>,
    encap: impl FnOnce() -> Result<Encap, Errno>,
) -> Result<Link, AttachError> {
    let label =
        format!("{family} on {}/{} by interface {}", route.destination, route.prefix_len, route.ifindex);
    if let Some(problem) = problem.or_else(|| route.problem()) {
        return Err(AttachError::target(label, problem));
    }
    let attached = RtnetlinkSocket::open().and_then(|socket| LwtAttachment::add(socket, *route, encap()?));
    match attached {
        Ok(attachment) => Ok(Link::new(attachment, label)),
        Err(error) => Err(lwt_error(&label, error)),
    }
}

fn lwt_error(label: &str, error: NetlinkError) -> AttachError {
    let hint = Hint(match error.errno.0 {
        libc::EEXIST => {
            "the table has a route with this destination and metric already: remove it, or choose another priority"
        }
        libc::EOPNOTSUPP => {
            "is this kernel built with CONFIG_LWTUNNEL_BPF, and CONFIG_IPV6_SEG6_LWTUNNEL for segments?"
        }
        libc::EINVAL => "is each program of the type of its place: lwt_in, lwt_out, lwt_xmit, lwt_seg6local?",
        libc::ENETDOWN | libc::ENETUNREACH => "is the interface up, and does it reach the gateway?",
        libc::ERANGE => "headroom is 256 at most",
        _ => return netlink_error(label, "attach", error),
    });
    let NetlinkError { errno, ext_ack } = error;
    // The kernel's explanation is more precise than the hint.
    let hint = if errno.0 == libc::EINVAL && !ext_ack.is_empty() { Hint::default() } else { hint };
    AttachError::Netlink { label: label.into(), action: "attach", errno, ext_ack: ext_ack.into(), hint }
}
