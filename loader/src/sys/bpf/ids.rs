//! Ids of programs, maps, BTF objects and links.

use super::{
    call::{Cmd, attr, call_done, call_fd},
    kind::ObjectKind,
};
use core_relo_object::Errno;
use std::os::fd::OwnedFd;

attr! {
    struct IdAttr { id: u32, next_id: u32, open_flags: u32, token_fd: u32, }
}

impl ObjectKind {
    /// Returns the first id in use above `after`. Ids begin at 1.
    pub fn next_id(self, after: u32) -> Result<Option<u32>, Errno> {
        let cmd = match self {
            Self::Program => Cmd::ProgNextId,
            Self::Map => Cmd::MapNextId,
            Self::Link => Cmd::LinkNextId,
            Self::Btf => Cmd::BtfNextId,
        };
        let mut attr = IdAttr { id: after, ..IdAttr::default() };
        match call_done(cmd, &mut attr) {
            Ok(()) => Ok(Some(attr.next_id)),
            Err(Errno(libc::ENOENT)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Opens the object with this id. A missing object is `ENOENT`, a link that is being created `EAGAIN`.
    pub fn open(self, id: u32) -> Result<OwnedFd, Errno> {
        let cmd = match self {
            Self::Program => Cmd::ProgFdById,
            Self::Map => Cmd::MapFdById,
            Self::Link => Cmd::LinkFdById,
            Self::Btf => Cmd::BtfFdById,
        };
        call_fd(cmd, &mut IdAttr { id, ..IdAttr::default() })
    }
}
