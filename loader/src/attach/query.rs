//! Queries for the programs that are attached to a target.

use super::error::AttachError;
use crate::sys::{self, Errno, QueryResult};
use core_relo_object::object::AttachType;
use std::os::fd::BorrowedFd;

/// `BPF_F_QUERY_EFFECTIVE`.
const EFFECTIVE: u32 = 1;

/// A target that programs are attached to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum QueryTarget<'a> {
    /// A cgroup: the programs attached to the cgroup itself.
    Cgroup(BorrowedFd<'a>),
    /// A cgroup: the programs that run for its processes, those of its ancestors included.
    CgroupEffective(BorrowedFd<'a>),
    /// A network namespace.
    Netns(BorrowedFd<'a>),
    /// The index of a network interface: XDP, tcx or netkit.
    Interface(u32),
    /// A sockmap or sockhash (kernels from 5.18).
    Sockmap(BorrowedFd<'a>),
    /// A lirc device (remote control receiver).
    Lirc(BorrowedFd<'a>),
}

/// The programs attached to a target, in the order in which they run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttachedPrograms {
    /// The program ids.
    pub prog_ids: Vec<u32>,
    /// For tcx and netkit, the link id of each program, 0 for none. Empty for other targets.
    pub link_ids: Vec<u32>,
    /// For a cgroup, `BPF_F_ALLOW_OVERRIDE` (1) and `BPF_F_ALLOW_MULTI` (2).
    pub flags: u32,
    /// For LSM programs of a cgroup, the flags of each program. Empty for other targets.
    pub prog_flags: Vec<u32>,
    /// The revision, which changes with every attach and detach, see [`Placement`](super::Placement). 0 for
    /// targets without.
    pub revision: u64,
}

/// Returns the programs of an attach type that are attached to a target.
///
/// [`TcHook::filters`](super::TcHook::filters) lists classifiers that were attached through netlink,
/// [`query_interface`](super::query_interface()) all programs of an interface.
pub fn query(target: QueryTarget<'_>, attach_type: AttachType) -> Result<AttachedPrograms, AttachError> {
    if let (QueryTarget::Interface(ifindex), AttachType::Xdp) = (target, attach_type) {
        return query_xdp(ifindex);
    }
    query_target(target, attach_type).map_err(|errno| {
        let label = match target {
            QueryTarget::Interface(ifindex) => format!("{attach_type} on interface {ifindex}"),
            QueryTarget::Cgroup(_) | QueryTarget::CgroupEffective(_) => format!("{attach_type} of a cgroup"),
            QueryTarget::Netns(_) => format!("{attach_type} of a network namespace"),
            QueryTarget::Sockmap(_) => format!("{attach_type} of a sockmap"),
            QueryTarget::Lirc(_) => format!("{attach_type} of a lirc device"),
        };
        AttachError::kernel(&label, "query", errno)
    })
}

/// Returns the XDP programs of an interface, which bpf(2) does not list.
#[cfg(feature = "netlink")]
fn query_xdp(ifindex: u32) -> Result<AttachedPrograms, AttachError> {
    let prog_ids = super::xdp::xdp_query(ifindex)?.prog_ids();
    Ok(AttachedPrograms { prog_ids, ..AttachedPrograms::default() })
}

#[cfg(not(feature = "netlink"))]
fn query_xdp(ifindex: u32) -> Result<AttachedPrograms, AttachError> {
    let problem = "XDP programs are listed by netlink, expected a build with the crate feature `netlink`";
    Err(AttachError::target(format!("xdp on interface {ifindex}"), problem))
}

pub(super) fn query_target(
    target: QueryTarget<'_>,
    attach_type: AttachType,
) -> Result<AttachedPrograms, Errno> {
    let (fd, ifindex, flags) = match target {
        QueryTarget::Interface(ifindex) => (None, ifindex, 0),
        QueryTarget::CgroupEffective(fd) => (Some(fd), 0, EFFECTIVE),
        QueryTarget::Cgroup(fd)
        | QueryTarget::Netns(fd)
        | QueryTarget::Sockmap(fd)
        | QueryTarget::Lirc(fd) => (Some(fd), 0, 0),
    };
    let QueryResult { prog_ids, link_ids, attach_flags, prog_attach_flags, revision } =
        sys::prog_query(fd, ifindex, attach_type.number(), flags)?;
    Ok(AttachedPrograms { prog_ids, link_ids, flags: attach_flags, prog_flags: prog_attach_flags, revision })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_target_is_named() {
        let e = query(QueryTarget::Interface(1 << 30), AttachType::Xdp).unwrap_err().to_string();
        assert!(e.starts_with("xdp on interface 1073741824: cannot query: ENODEV"), "{e}");
        let file = std::fs::File::open("/dev/null").unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        let e = query(QueryTarget::Cgroup(fd), AttachType::CgroupDevice).unwrap_err().to_string();
        assert!(e.starts_with("BPF_CGROUP_DEVICE of a cgroup: cannot query: "), "{e}");
    }
}
