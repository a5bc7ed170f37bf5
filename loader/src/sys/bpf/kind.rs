//! What a descriptor is one of: the kernel tells of maps, programs and links by the same request, in other words.

use crate::sys::Errno;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// What bpf(2) makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Map,
    Program,
    Link,
    Btf,
}

impl Kind {
    /// `EINVAL` of a descriptor of something else. Without `/proc` it is taken to be right: no request about the wrong thing
    /// reads or writes more memory than it is given.
    pub(super) fn check(self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        // A thread may have descriptors of its own; `self` would be the first one's.
        let Ok(to) = std::fs::read_link(format!("/proc/thread-self/fd/{}", fd.as_raw_fd())) else {
            return Ok(());
        };
        let is_one = to.to_str().is_some_and(|to| self.is_named(to));
        if is_one { Ok(()) } else { Err(Errno(libc::EINVAL)) }
    }

    /// A link that was just made has one name, one that was opened by id or pin the other.
    fn is_named(self, file: &str) -> bool {
        let name = file.strip_prefix("anon_inode:").unwrap_or_default().trim_matches(['[', ']']);
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
        let Some(map) = crate::live_test_support::map(crate::object::MapType::Array, 4, 4, 1) else { return };
        let code = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
        let load = crate::sys::ProgLoad {
            prog_type: crate::object::ProgramType::RawTracepoint.number(),
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
