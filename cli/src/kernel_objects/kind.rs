//! The kinds of kernel objects that have an id.

use core_relo_loader::sys::{self, Errno};
use std::os::fd::{AsFd, OwnedFd};

/// A kind of kernel object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Prog,
    Map,
    Link,
    Btf,
}

impl Kind {
    /// Returns the noun for messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Prog => "program",
            Self::Map => "map",
            Self::Link => "link",
            Self::Btf => "BTF",
        }
    }

    /// Returns the name of the subcommand for the objects.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Prog => "prog",
            Self::Map => "map",
            Self::Link => "link",
            Self::Btf => "btf",
        }
    }

    /// Returns the next id in use after `after`.
    pub(crate) fn next_id(self, after: u32) -> Result<Option<u32>, Errno> {
        match self {
            Self::Prog => sys::next_prog_id(after),
            Self::Map => sys::next_map_id(after),
            Self::Link => sys::next_link_id(after),
            Self::Btf => sys::next_btf_id(after),
        }
    }

    /// Opens the object with this id.
    pub(crate) fn open(self, id: u32) -> Result<OwnedFd, Errno> {
        match self {
            Self::Prog => sys::prog_fd_by_id(id),
            Self::Map => sys::map_fd_by_id(id),
            Self::Link => sys::link_fd_by_id(id),
            Self::Btf => sys::btf_fd_by_id(id),
        }
    }

    /// Returns the id of an open object of this kind.
    pub(crate) fn id(self, fd: &impl AsFd) -> Result<u32, Errno> {
        match self {
            Self::Prog => sys::prog_info(fd).map(|info| info.id),
            Self::Map => sys::map_info(fd).map(|info| info.id),
            Self::Link => sys::link_info(fd).map(|info| info.id),
            Self::Btf => sys::btf_info(fd).map(|info| info.id),
        }
    }

    /// Returns the kind of a descriptor from its link in `/proc/PID/fd`: `anon_inode:bpf-map`.
    pub(crate) fn from_fd_link(text: &str) -> Option<Self> {
        Some(match text.strip_prefix("anon_inode:")?.trim_matches(['[', ']']) {
            "bpf-prog" => Self::Prog,
            "bpf-map" => Self::Map,
            "bpf_link" | "bpf-link" => Self::Link,
            "btf" => Self::Btf,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_descriptors() {
        assert_eq!(Kind::from_fd_link("anon_inode:bpf-map"), Some(Kind::Map));
        assert_eq!(Kind::from_fd_link("anon_inode:bpf_link"), Some(Kind::Link));
        assert_eq!(Kind::from_fd_link("anon_inode:[bpf-prog]"), Some(Kind::Prog));
        assert_eq!(Kind::from_fd_link("anon_inode:btf"), Some(Kind::Btf));
        assert_eq!(Kind::from_fd_link("/tmp/bpf-map"), None);
        assert_eq!(Kind::from_fd_link("anon_inode:[eventpoll]"), None);
    }
}
