//! System calls, each as a safe function. Only this directory contains `unsafe` code.
//!
//! The functions make no decisions. Each one checks that the kernel cannot read or write out of bounds, makes
//! the call and returns its result, or the [`Errno`].

mod bpf;
mod build_id;
#[cfg(feature = "loader-program")]
mod descriptor_passing;
mod epoll;
mod fd;
#[cfg(feature = "loader-program")]
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
#[cfg(feature = "standard-streams")]
pub mod standard_streams;
#[cfg(feature = "btf-archive")]
mod system;
#[cfg(test)]
mod testing;
#[cfg(core_relo_static)]
mod unwinding;

pub use bpf::*;
pub use build_id::BuildIdFrame;
pub use core_relo_object::Errno;
#[cfg(feature = "loader-program")]
pub(crate) use isolation::{IsolationError, IsolationStep};
pub(crate) use memory::{cpu_list, page_bytes, prefer_huge_pages};
pub(crate) use memory::{page_size, raise_memlock_limit};
pub use memory::{possible_cpu_numbers, possible_cpus};
pub use pod::{Bool, Element, LpmKey, MemberShape, Pod, Shape};
pub use ring::RingFault;
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
pub use perf::PerfSample;
#[cfg(feature = "usdt")]
pub(crate) use perf::has_uprobe_syscall;
pub(crate) use perf::{
    PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT, PerfEventOpen,
    PerfWakeup, perf_disable, perf_enable, perf_event_open, perf_set_bpf,
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
