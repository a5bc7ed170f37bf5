//! The kernel's ids of programs, maps, BTFs and links.

use super::{Cmd, attr, call_done, call_fd};
use crate::sys::Errno;
use std::os::fd::OwnedFd;

attr! {
    struct IdAttr { id: u32, next_id: u32, open_flags: u32, token_fd: u32, }
}

fn next(cmd: Cmd, after: u32) -> Result<Option<u32>, Errno> {
    let mut attr = IdAttr { id: after, ..IdAttr::default() };
    match call_done(cmd, &mut attr) {
        Ok(()) => Ok(Some(attr.next_id)),
        Err(Errno(libc::ENOENT)) => Ok(None),
        Err(e) => Err(e),
    }
}

fn open(cmd: Cmd, id: u32) -> Result<OwnedFd, Errno> {
    call_fd(cmd, &mut IdAttr { id, ..IdAttr::default() })
}

/// The first program's id above `after`; ids begin at 1.
pub fn next_prog_id(after: u32) -> Result<Option<u32>, Errno> {
    next(Cmd::ProgNextId, after)
}

/// The first map's id above `after`.
pub fn next_map_id(after: u32) -> Result<Option<u32>, Errno> {
    next(Cmd::MapNextId, after)
}

/// The first BTF's id above `after`.
pub fn next_btf_id(after: u32) -> Result<Option<u32>, Errno> {
    next(Cmd::BtfNextId, after)
}

/// The first link's id above `after`.
pub fn next_link_id(after: u32) -> Result<Option<u32>, Errno> {
    next(Cmd::LinkNextId, after)
}

/// The program of an id; `ENOENT` once it is gone.
pub fn prog_fd_by_id(id: u32) -> Result<OwnedFd, Errno> {
    open(Cmd::ProgFdById, id)
}

/// The map of an id.
pub fn map_fd_by_id(id: u32) -> Result<OwnedFd, Errno> {
    open(Cmd::MapFdById, id)
}

/// The BTF of an id.
pub fn btf_fd_by_id(id: u32) -> Result<OwnedFd, Errno> {
    open(Cmd::BtfFdById, id)
}

/// The link of an id.
pub fn link_fd_by_id(id: u32) -> Result<OwnedFd, Errno> {
    open(Cmd::LinkFdById, id)
}
