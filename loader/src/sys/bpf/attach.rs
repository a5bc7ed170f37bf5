//! Attaching a program without a link.

use super::call::{Cmd, address_mut, attr, call_done, count, fd, opt_fd};
use core_relo_object::Errno;
use std::os::fd::BorrowedFd;

/// `BPF_F_QUERY_EFFECTIVE`.
const QUERY_EFFECTIVE: u32 = 1;
/// `BPF_LSM_CGROUP`.
const LSM_CGROUP: u32 = 43;

attr! {
    struct AttachAttr {
        target: u32, attach_bpf_fd: u32, attach_type: u32, attach_flags: u32, replace_bpf_fd: u32, relative: u32,
        expected_revision: u64,
    }
    struct QueryAttr {
        target: u32, attach_type: u32, query_flags: u32, attach_flags: u32, prog_ids: u64, count: u32, pad: u32,
        prog_attach_flags: u64, link_ids: u64, link_attach_flags: u64, revision: u64,
    }
}

/// A program and its attach target, for an attachment without a link, which lasts (`BPF_PROG_ATTACH`).
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct ProgAttach<'a> {
    /// The program.
    pub prog: Option<BorrowedFd<'a>>,
    /// A cgroup, map or network namespace; `None` with an interface.
    pub target: Option<BorrowedFd<'a>>,
    /// A network interface's index, instead of `target`.
    pub ifindex: u32,
    /// The kernel's number of the attach type.
    pub attach_type: u32,
    /// `BPF_F_*` flags.
    pub flags: u32,
    /// The program to replace, with `BPF_F_REPLACE`.
    pub replace: Option<BorrowedFd<'a>>,
}

impl ProgAttach<'_> {
    /// Attaches the program.
    pub fn attach(&self) -> Result<(), Errno> {
        call_done(Cmd::ProgAttach, &mut self.attr())
    }

    /// Detaches the program.
    pub fn detach(&self) -> Result<(), Errno> {
        call_done(Cmd::ProgDetach, &mut self.attr())
    }

    fn attr(&self) -> AttachAttr {
        AttachAttr {
            target: self.target.map_or(self.ifindex, fd),
            attach_bpf_fd: opt_fd(self.prog),
            attach_type: self.attach_type,
            attach_flags: self.flags,
            replace_bpf_fd: opt_fd(self.replace),
            ..AttachAttr::default()
        }
    }
}

/// Requests to attach a program to a target that does not exist: a closed descriptor, and the index of no
/// network interface.
pub(crate) fn attach_to_closed_target(prog: BorrowedFd<'_>, attach_type: u32) -> Result<(), Errno> {
    let closed =
        AttachAttr { target: u32::MAX, attach_bpf_fd: fd(prog), attach_type, ..AttachAttr::default() };
    call_done(Cmd::ProgAttach, &mut { closed })
}

/// The programs of an attach target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueryResult {
    /// Ids of programs, in the order in which they run.
    pub prog_ids: Vec<u32>,
    /// The flags of the programs.
    pub attach_flags: u32,
    /// For an interface, the link id of each program, 0 for a program without a link. Empty for other
    /// targets.
    pub link_ids: Vec<u32>,
    /// The flags of each program, for LSM programs of a cgroup: each function has its own. Empty for other
    /// targets.
    pub prog_attach_flags: Vec<u32>,
    /// A number that each attach and detach changes; 0 if the kernel has no such number for the target.
    pub revision: u64,
}

/// Lists the programs of a cgroup, network namespace or interface (`BPF_PROG_QUERY`).
pub(crate) fn prog_query(
    target: Option<BorrowedFd<'_>>,
    ifindex: u32,
    attach_type: u32,
    flags: u32,
) -> Result<QueryResult, Errno> {
    let mut prog_ids = vec![0u32; 64];
    // Kernels with programs on interfaces know this field. Older kernels refuse a query with unknown fields.
    let mut link_ids = if target.is_none() { prog_ids.clone() } else { Vec::new() };
    // Kernels with LSM programs on cgroups know this field, but refuse it for effective programs.
    let has_own_flags = attach_type == LSM_CGROUP && flags & QUERY_EFFECTIVE == 0;
    let mut prog_attach_flags = if has_own_flags { prog_ids.clone() } else { Vec::new() };
    loop {
        let mut attr = QueryAttr {
            target: target.map_or(ifindex, fd),
            attach_type,
            query_flags: flags,
            count: count(&prog_ids)?,
            prog_ids: address_mut(&mut prog_ids),
            prog_attach_flags: address_mut(&mut prog_attach_flags),
            link_ids: address_mut(&mut link_ids),
            ..QueryAttr::default()
        };
        let room = prog_ids.len();
        match call_done(Cmd::ProgQuery, &mut attr) {
            Err(Errno(libc::ENOSPC)) if room < 1 << 16 => {
                prog_ids.resize(room.checked_mul(4).ok_or(Errno(libc::E2BIG))?, 0);
                link_ids.resize(if link_ids.is_empty() { 0 } else { prog_ids.len() }, 0);
                prog_attach_flags.resize(if prog_attach_flags.is_empty() { 0 } else { prog_ids.len() }, 0);
            }
            Err(e) => return Err(e),
            Ok(()) => {
                let count = usize::try_from(attr.count).map_err(|_large| Errno(libc::E2BIG))?;
                prog_ids.truncate(count);
                link_ids.truncate(count);
                prog_attach_flags.truncate(count);
                let QueryAttr { attach_flags, revision, .. } = attr;
                return Ok(QueryResult { prog_ids, attach_flags, link_ids, prog_attach_flags, revision });
            }
        }
    }
}
