//! The programs behind descriptors of other processes.

use super::call::{Cmd, address_mut, attr, call_done, count};
use core_relo_object::Errno;

attr! {
    struct TaskFdAttr {
        pid: u32, fd: u32, flags: u32, buf_len: u32, buf: u64, prog_id: u32, fd_type: u32, probe_offset: u64,
        probe_addr: u64,
    }
}

/// The bound on the length of a name: that of a path, and an event of a probe.
const NAME_BYTES: usize = 4096;

/// The program of a perf event or raw tracepoint (`BPF_TASK_FD_QUERY`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskProgram {
    /// The program's id.
    pub prog_id: u32,
    /// The kind of the event (`enum bpf_task_fd_type`): 0 raw tracepoint, 1 tracepoint, 2 kprobe, 3
    /// kretprobe, 4 uprobe, 5 uretprobe.
    pub fd_type: u32,
    /// The name of the tracepoint or function, or the path of the file with a uprobe. Empty for an address.
    pub name: Vec<u8>,
    /// The offset from the start of the function or file.
    pub probe_offset: u64,
    /// The address of a kprobe without a name; 0 if the kernel hides it.
    pub probe_addr: u64,
}

impl TaskProgram {
    /// Returns the program behind a descriptor of a process.
    ///
    /// A descriptor without a program is `ENOENT` or `EBADF`, a descriptor of another kind `ENOTSUPP` (524).
    pub fn query(pid: u32, fd: u32) -> Result<Self, Errno> {
        let mut name = vec![0u8; NAME_BYTES];
        let mut attr = TaskFdAttr {
            pid,
            fd,
            buf_len: count(&name)?,
            buf: address_mut(&mut name),
            ..TaskFdAttr::default()
        };
        match call_done(Cmd::TaskFdQuery, &mut attr) {
            // The kernel has cut the name.
            Ok(()) | Err(Errno(libc::ENOSPC)) => {}
            Err(e) => return Err(e),
        }
        name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
        let TaskFdAttr { prog_id, fd_type, probe_offset, probe_addr, .. } = attr;
        Ok(Self { prog_id, fd_type, name, probe_offset, probe_addr })
    }
}
