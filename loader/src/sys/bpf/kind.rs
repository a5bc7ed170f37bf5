//! Kinds of BPF objects. The kernel has one request for the properties of all kinds, but a struct for each.

use core_relo_object::Errno;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The kind of object behind a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Map,
    Program,
    Link,
    Btf,
}

impl Kind {
    /// Checks a descriptor's kind. Another kind is `EINVAL`.
    ///
    /// Without `/proc` the check succeeds. Even then no request accesses memory beyond its buffers.
    pub(super) fn check(self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        // A thread may have its own descriptors; `/proc/self` would show those of the first thread.
        let Ok(target) = std::fs::read_link(format!("/proc/thread-self/fd/{}", fd.as_raw_fd())) else {
            return Ok(());
        };
        let is_kind = target.to_str().is_some_and(|target| self.is_named(target));
        if is_kind { Ok(()) } else { Err(Errno(libc::EINVAL)) }
    }

    /// Returns whether the name of an anonymous file stands for this kind. New links and links opened by id or pin differ in name.
    fn is_named(self, file: &str) -> bool {
        let Some(name) = file.strip_prefix("anon_inode:") else { return false };
        let name = name.trim_matches(['[', ']']);
        match self {
            Self::Map => name == "bpf-map",
            Self::Program => name == "bpf-prog",
            Self::Link => matches!(name, "bpf_link" | "bpf-link"),
            Self::Btf => name == "btf",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{MapFd, btf_info, link_info, map_info, next_btf_id, prog_info};
    use std::os::fd::AsFd as _;

    #[test]
    fn names_of_files() {
        assert!(Kind::Map.is_named("anon_inode:bpf-map") && !Kind::Map.is_named("anon_inode:bpf-prog"));
        assert!(Kind::Link.is_named("anon_inode:bpf_link") && Kind::Program.is_named("anon_inode:bpf-prog"));
        assert!(!Kind::Map.is_named("/tmp/bpf-map") && !Kind::Btf.is_named(""));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no bpf(2)")]
    fn each_is_told_from_the_others() {
        let Some(map) = crate::live_test_support::map(core_relo_object::object::MapType::Array, 4, 4, 1)
        else {
            return;
        };
        let code = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
        let load = crate::sys::ProgLoad {
            prog_type: core_relo_object::object::ProgramType::RawTracepoint.number(),
            insns: &code,
            license: b"GPL",
            ..Default::default()
        };
        let prog = crate::sys::prog_load(&load, &mut []).unwrap();
        let no = Errno(libc::EINVAL);
        assert_eq!(MapFd::new(prog.try_clone().unwrap()).unwrap_err(), no);
        assert!(map_info(&map).is_ok() && prog_info(&prog).is_ok());
        assert_eq!((prog_info(&map), link_info(&map), btf_info(&map)), (Err(no), Err(no), Err(no)));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!((map_info(&file), prog_info(&file)), (Err(no), Err(no)));
        let link = crate::sys::raw_tracepoint_open(Some(c"sys_enter"), prog.as_fd(), 0).unwrap();
        assert!(link_info(&link).is_ok());
        assert_eq!(map_info(&link), Err(no));
        if let Ok(Some(id)) = next_btf_id(0) {
            assert!(btf_info(&crate::sys::btf_fd_by_id(id).unwrap()).is_ok());
        }
    }
}
