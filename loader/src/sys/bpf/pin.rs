//! Pins below bpffs, and BPF tokens.

use super::call::{Cmd, address, attr, call_done, call_fd, fd};
use alloc::ffi::CString;
use core_relo_object::Errno;
use std::{
    fs::{self, DirBuilder},
    io::ErrorKind,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt as _, fs::DirBuilderExt as _},
    },
    path::Path,
};

attr! {
    struct PinAttr { pathname: u64, bpf_fd: u32, file_flags: u32, }
    struct TokenAttr { flags: u32, bpffs_fd: u32, }
}

fn c_path(path: &Path) -> Result<CString, Errno> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_nul| Errno(libc::EINVAL))
}

/// Pins a program, map or link in a bpffs.
pub(crate) fn obj_pin(object: impl AsFd, path: &Path) -> Result<(), Errno> {
    let path = c_path(path)?;
    let attr =
        PinAttr { pathname: address(path.as_bytes_with_nul()), bpf_fd: fd(object.as_fd()), file_flags: 0 };
    call_done(Cmd::ObjPin, &mut { attr })
}

/// Pins a program, map or link in a bpffs. Creates the pin's directory if that directory is missing, but no
/// directory above it (libbpf: `make_parent_dir`). If the pin fails, removes the new directory again.
pub fn pin_in_new_directory(object: impl AsFd, path: &Path) -> Result<(), Errno> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let is_new = dir.map_or(Ok(false), make_pin_dir)?;
    obj_pin(object, path).inspect_err(|_refused| {
        if let Some(dir) = dir.filter(|_| is_new)
            && let Err(e) = fs::remove_dir(dir)
        {
            log::warn!("{}: not removed: {}", dir.display(), Errno::from_io_error(&e));
        }
    })
}

/// Creates a directory for pins that only its owner can use. Returns `false` if the directory exists.
pub(crate) fn make_pin_dir(path: &Path) -> Result<bool, Errno> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(Errno::from_io_error(&e)),
    }
}

/// Renames a pin in the same bpffs. An existing `to` is `EEXIST`.
pub(crate) fn rename_pin(from: &Path, to: &Path) -> Result<(), Errno> {
    let (from, to) = (c_path(from)?, c_path(to)?);
    // SAFETY: both paths end in NUL and outlive the call. The other arguments are numbers.
    let done = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    if done < 0 { Err(Errno::last()) } else { Ok(()) }
}

/// Opens a pinned program, map or link. `flags` are 0, `BPF_F_RDONLY` or `BPF_F_WRONLY`.
pub(crate) fn obj_get(path: &Path, flags: u32) -> Result<OwnedFd, Errno> {
    let path = c_path(path)?;
    let attr = PinAttr { pathname: address(path.as_bytes_with_nul()), bpf_fd: 0, file_flags: flags };
    call_fd(Cmd::ObjGet, &mut { attr })
}

/// Creates a BPF token from the root directory of a bpffs that is mounted with `delegate_…` options.
pub(crate) fn token_create(bpffs: impl AsFd) -> Result<OwnedFd, Errno> {
    call_fd(Cmd::TokenCreate, &mut TokenAttr { flags: 0, bpffs_fd: fd(bpffs.as_fd()) })
}

/// Returns whether the kernel knows the command that creates tokens. The request creates none: its descriptor
/// is closed.
pub(crate) fn has_token_create() -> Result<bool, Errno> {
    match call_fd(Cmd::TokenCreate, &mut TokenAttr { flags: 0, bpffs_fd: u32::MAX }) {
        Ok(_) | Err(Errno(libc::EBADF)) => Ok(true),
        Err(Errno(libc::EINVAL)) => Ok(false),
        Err(errno) => Err(errno),
    }
}
