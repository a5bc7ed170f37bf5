//! Files by path, and the file systems that they are in.
#![expect(unsafe_code, reason = "open and fstatfs are calls into C")]

use alloc::ffi::CString;
use core::mem::MaybeUninit;
use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd as _, FromRawFd as _},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
};

/// Opens a path with `O_PATH`, which opens no contents.
///
/// The standard library cannot: its `custom_flags` drops the bits of `O_ACCMODE`, which in musl contains
/// `O_PATH`. The open would then wait for the writer of a pipe.
pub(crate) fn open_path(path: &Path) -> io::Result<File> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    loop {
        // SAFETY: `path` ends with a NUL and lives beyond the call.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
        if fd >= 0 {
            // SAFETY: the call above opened the descriptor, and nothing else owns it.
            return Ok(unsafe { File::from_raw_fd(fd) });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Returns the magic number of a file's file system.
pub(crate) fn file_system(file: &File) -> io::Result<u64> {
    let mut stat = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the descriptor is open, and `stat` has room for the struct that the call writes.
    if unsafe { libc::fstatfs(file.as_raw_fd(), stat.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above succeeded, so it filled `stat`.
    let stat = unsafe { stat.assume_init() };
    // The type of `f_type` depends on the architecture: `i64`, `i32` or `u32`.
    u64::try_from(i128::from(stat.f_type)).map_err(io::Error::other)
}
