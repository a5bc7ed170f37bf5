//! System calls, each as a safe function. Only this directory contains `unsafe` code.
//!
//! The functions make no decisions. Each one checks that the kernel cannot read or write out of bounds, makes the call and returns its
//! result, or the [`Errno`].
//!
//! The module is public with the crate feature `sys` only. Its functions and types follow bpf(2) and may change with any version.
//!
//! ```no_run
//! use core_relo_loader::sys::{self, Errno};
//!
//! # fn main() -> Result<(), Errno> {
//! let mut id = 0;
//! while let Some(next) = sys::next_prog_id(id)? {
//!     let program = sys::prog_fd_by_id(next)?;
//!     println!("{next}: {}", sys::prog_info(&program)?.name());
//!     id = next;
//! }
//! # Ok(())
//! # }
//! ```

mod bpf;
mod build_id;
mod descriptor_passing;
mod epoll;
mod fd;
mod isolation;
mod mapping;
mod memory;
#[cfg(all(test, miri))]
mod miri_mmap;
mod mmap;
#[cfg(feature = "netlink")]
mod netlink;
mod open;
mod perf;
mod pod;
#[doc(hidden)]
pub mod pod_macro;
mod ring;
#[cfg(feature = "sys")]
mod standard_streams;
#[cfg(feature = "btf-archive")]
mod system;
#[cfg(test)]
mod testing;
#[cfg(core_relo_static)]
mod unwinding;

pub use bpf::*;
pub(crate) use bpf::{attach_to_closed_target, has_link_type, has_token_create, link_to_closed_target};
pub use build_id::BuildIdFrame;
pub use core_relo_object::Errno;
pub use isolation::{IsolationError, IsolationStep};
pub(crate) use memory::{cpu_list, page_bytes, prefer_huge_pages};
pub use memory::{page_size, possible_cpu_numbers, possible_cpus, raise_memlock_limit};
pub use pod::{Bool, Element, LpmKey, MemberShape, Pod, Shape};
pub use ring::RingFault;
#[cfg(feature = "sys")]
pub use standard_streams::{is_closed_at_start, is_stdout_closed_at_start};
#[cfg(feature = "btf-archive")]
pub(crate) use system::machine;

pub(crate) use epoll::{Epoll, Interest, Waited};
pub(crate) use mapping::{Access, Mapping, to_pages};
#[cfg(test)]
pub(crate) use memory::{in_child, own_pidfd, pin_to_first_cpu};
pub(crate) use mmap::{FileMapping, is_vmlinux_btf};
#[cfg(feature = "netlink")]
pub(crate) use netlink::Netlink;
pub(crate) use open::{file_system, open_path};
pub use perf::{
    PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW, PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT,
    PerfEventOpen, PerfSample, PerfWakeup, has_uprobe_syscall, perf_disable, perf_enable, perf_event_open,
    perf_set_bpf,
};
pub(crate) use ring::{
    Claim, KernelRing, OpenFault, PERF_MAP, PERF_OPEN, PerfRecord, PerfRing, Reservation, ReservedSample,
    UserRing,
};
#[cfg(test)]
pub(crate) use testing::{new_pid_namespace_for_children, own_network};

#[cfg(test)]
mod tests {
    use super::Errno;

    #[test]
    fn errors_have_the_names_of_this_architecture() {
        for (number, name) in [
            (libc::EPERM, "EPERM"),
            (libc::ENOENT, "ENOENT"),
            (libc::ESRCH, "ESRCH"),
            (libc::EINTR, "EINTR"),
            (libc::EIO, "EIO"),
            (libc::ENXIO, "ENXIO"),
            (libc::E2BIG, "E2BIG"),
            (libc::EBADF, "EBADF"),
            (libc::EAGAIN, "EAGAIN"),
            (libc::ENOMEM, "ENOMEM"),
            (libc::EACCES, "EACCES"),
            (libc::EFAULT, "EFAULT"),
            (libc::EBUSY, "EBUSY"),
            (libc::EEXIST, "EEXIST"),
            (libc::ENODEV, "ENODEV"),
            (libc::ENOTDIR, "ENOTDIR"),
            (libc::EINVAL, "EINVAL"),
            (libc::ENFILE, "ENFILE"),
            (libc::EMFILE, "EMFILE"),
            (libc::ENOSPC, "ENOSPC"),
            (libc::EROFS, "EROFS"),
            (libc::ERANGE, "ERANGE"),
            (libc::ENOSYS, "ENOSYS"),
            (libc::EILSEQ, "EILSEQ"),
            (libc::EOPNOTSUPP, "EOPNOTSUPP"),
            (libc::ENOLINK, "ENOLINK"),
            (libc::ESTALE, "ESTALE"),
            (libc::ENOPKG, "ENOPKG"),
            (libc::EBADMSG, "EBADMSG"),
            (libc::ENOKEY, "ENOKEY"),
            (libc::EKEYEXPIRED, "EKEYEXPIRED"),
            (libc::EKEYREVOKED, "EKEYREVOKED"),
            (libc::EKEYREJECTED, "EKEYREJECTED"),
            (libc::EDEADLK, "EDEADLK"),
            (libc::ELOOP, "ELOOP"),
            (libc::EPROTO, "EPROTO"),
            (libc::EOVERFLOW, "EOVERFLOW"),
            (libc::EMSGSIZE, "EMSGSIZE"),
            (libc::EINPROGRESS, "EINPROGRESS"),
        ] {
            assert_eq!(Errno(number).name(), Some(name));
        }
    }
}
