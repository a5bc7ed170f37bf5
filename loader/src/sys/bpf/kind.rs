//! Kinds of BPF objects. The kernel has one request for the properties of all kinds, but a struct for each.

use core::fmt;
use std::path::Path;

/// A kind of BPF object that has an id in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the kernel has these")]
pub enum ObjectKind {
    /// A program.
    Program,
    /// A map.
    Map,
    /// A link.
    Link,
    /// A BTF: a program's, the kernel's or a module's.
    Btf,
}

impl ObjectKind {
    /// Returns the kind of a descriptor from its link in `/proc/PID/fd`: `anon_inode:bpf-map`. New links and
    /// links opened by id or pin differ in name.
    pub(crate) fn from_fd_link(link: &Path) -> Option<Self> {
        Some(match link.to_str()?.strip_prefix("anon_inode:")?.trim_matches(['[', ']']) {
            "bpf-prog" => Self::Program,
            "bpf-map" => Self::Map,
            "bpf_link" | "bpf-link" => Self::Link,
            "btf" => Self::Btf,
            _ => return None,
        })
    }
}

/// The noun for messages: `program`.
impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program => "program",
            Self::Map => "map",
            Self::Link => "link",
            Self::Btf => "BTF",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{BtfInfo, InfoError, LinkInfo, MapFd, MapInfo, ProgramInfo};
    use core_relo_object::Errno;
    use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};

    #[test]
    fn kinds_of_descriptors() {
        let kind = |link: &str| ObjectKind::from_fd_link(Path::new(link));
        assert_eq!(kind("anon_inode:bpf-map"), Some(ObjectKind::Map));
        assert_eq!(kind("anon_inode:bpf_link"), Some(ObjectKind::Link));
        assert_eq!(kind("anon_inode:[bpf-prog]"), Some(ObjectKind::Program));
        assert_eq!(kind("anon_inode:btf"), Some(ObjectKind::Btf));
        assert_eq!((kind("/tmp/bpf-map"), kind("anon_inode:[eventpoll]"), kind("")), (None, None, None));
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
        let is = |kind, found, object: BorrowedFd<'_>| {
            Some(InfoError::OtherKind { kind, found, fd: object.as_raw_fd() })
        };
        assert_eq!(MapFd::new(prog.try_clone().unwrap()).unwrap_err(), Errno::EINVAL);
        assert!(MapInfo::query(&map).is_ok() && ProgramInfo::query(&prog).is_ok());
        let (a_map, found) = (map.as_fd(), Some(ObjectKind::Map));
        assert_eq!(ProgramInfo::query(&map).err(), is(ObjectKind::Program, found, a_map));
        assert_eq!(LinkInfo::query(&map).err(), is(ObjectKind::Link, found, a_map));
        assert_eq!(BtfInfo::query(&map).err(), is(ObjectKind::Btf, found, a_map));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(MapInfo::query(&file).err(), is(ObjectKind::Map, None, file.as_fd()));
        let link = crate::sys::raw_tracepoint_open(Some(c"sys_enter"), prog.as_fd(), 0).unwrap();
        assert!(LinkInfo::query(&link).is_ok());
        assert_eq!(MapInfo::query(&link).err(), is(ObjectKind::Map, Some(ObjectKind::Link), link.as_fd()));
        if let Ok(Some(id)) = ObjectKind::Btf.next_id(0) {
            assert!(BtfInfo::query(&ObjectKind::Btf.open(id).unwrap()).is_ok());
        }
    }
}
