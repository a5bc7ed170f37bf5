//! Attach targets that are files, by path or descriptor.

use super::error::AttachError;
use crate::sys::Errno;
use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::OpenOptionsExt as _,
    },
    path::{Path, PathBuf},
};

/// A file by path or descriptor: the directory of a cgroup, a network namespace, a lirc device.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum FileRef<'a> {
    /// The path. The attach call opens the file.
    Path(&'a Path),
    /// The descriptor of the open file.
    Fd(BorrowedFd<'a>),
}

impl<'a> FileRef<'a> {
    /// Opens the file, unless the caller has it open.
    pub(super) fn open(self) -> Result<OpenFile<'a>, AttachError> {
        self.open_with_flags(0)
    }

    /// Opens the directory, unless the caller has it open.
    pub(super) fn open_dir(self) -> Result<OpenFile<'a>, AttachError> {
        self.open_with_flags(libc::O_DIRECTORY)
    }

    fn open_with_flags(self, flags: i32) -> Result<OpenFile<'a>, AttachError> {
        match self {
            Self::Fd(fd) => Ok(OpenFile::Borrowed(fd)),
            Self::Path(path) => {
                // A named pipe must not block the open.
                let flags = flags | libc::O_NONBLOCK | libc::O_NOCTTY;
                let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
                let failed = |e: io::Error| AttachError::unopened(path, Errno::from_io_error(&e));
                Ok(OpenFile::Owned(file.map_err(failed)?))
            }
        }
    }
}

impl<'a> From<&'a str> for FileRef<'a> {
    fn from(path: &'a str) -> Self {
        Self::Path(Path::new(path))
    }
}

impl<'a> From<&'a String> for FileRef<'a> {
    fn from(path: &'a String) -> Self {
        Self::Path(Path::new(path))
    }
}

impl<'a> From<&'a Path> for FileRef<'a> {
    fn from(path: &'a Path) -> Self {
        Self::Path(path)
    }
}

impl<'a> From<&'a PathBuf> for FileRef<'a> {
    fn from(path: &'a PathBuf) -> Self {
        Self::Path(path)
    }
}

impl<'a> From<BorrowedFd<'a>> for FileRef<'a> {
    fn from(fd: BorrowedFd<'a>) -> Self {
        Self::Fd(fd)
    }
}

impl<'a> From<&'a OwnedFd> for FileRef<'a> {
    fn from(fd: &'a OwnedFd) -> Self {
        Self::Fd(fd.as_fd())
    }
}

impl<'a> From<&'a File> for FileRef<'a> {
    fn from(file: &'a File) -> Self {
        Self::Fd(file.as_fd())
    }
}

/// The file of a [`FileRef`], opened by the attach call or by the caller.
#[derive(Debug)]
pub(super) enum OpenFile<'a> {
    Owned(File),
    Borrowed(BorrowedFd<'a>),
}

impl AsFd for OpenFile<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Owned(file) => file.as_fd(),
            Self::Borrowed(fd) => *fd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let error = FileRef::from("/no/such/cgroup").open_dir().unwrap_err();
        assert_eq!(error.to_string(), "/no/such/cgroup: cannot be opened: ENOENT: No such file or directory");
        let error = FileRef::from("/dev/null").open_dir().unwrap_err();
        assert_eq!(error.errno(), Some(Errno(libc::ENOTDIR)), "{error}");
        assert!(FileRef::from("/proc/self/ns/net").open().is_ok());
    }
}
