//! Ids of programs, maps, BTF objects and links.

use super::call::{Cmd, attr, call_done, call_fd};
use core_relo_object::Errno;
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

/// Returns the first program id above `after`. Ids begin at 1.
pub fn next_prog_id(after: u32) -> Result<Option<u32>, Errno> {
    next(Cmd::ProgNextId, after)
}

/// Returns the first map id above `after`.
pub fn next_map_id(after: u32) -> Result<Option<u32>, Errno> {
    next(Cmd::MapNextId, after)
}

/// Returns the first BTF id above `after`.
pub fn next_btf_id(after: u32) -> Result<Option<u32>, Errno> {
    next(Cmd::BtfNextId, after)
}

/// Returns the first link id above `after`.
pub fn next_link_id(after: u32) -> Result<Option<u32>, Errno> {
    next(Cmd::LinkNextId, after)
}

/// Opens a program by id. A missing program is `ENOENT`.
pub fn prog_fd_by_id(id: u32) -> Result<OwnedFd, Errno> {
    open(Cmd::ProgFdById, id)
}

/// Opens a map by id.
pub fn map_fd_by_id(id: u32) -> Result<OwnedFd, Errno> {
    open(Cmd::MapFdById, id)
}

/// Opens a BTF object by id.
pub fn btf_fd_by_id(id: u32) -> Result<OwnedFd, Errno> {
    open(Cmd::BtfFdById, id)
}

/// Opens a link by id.
pub fn link_fd_by_id(id: u32) -> Result<OwnedFd, Errno> {
    open(Cmd::LinkFdById, id)
}
