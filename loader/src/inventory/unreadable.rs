//! [`Unreadable`]: where holders of kernel objects may be that this process cannot see.

use crate::sys::{Errno, ObjectKind};
use alloc::collections::BTreeMap;
use core::fmt::Display;
use std::{
    io,
    path::{Path, PathBuf},
};

/// The holders of each object, by the object's kind and id.
pub(super) type HoldersByObject<T> = BTreeMap<(ObjectKind, u32), Vec<T>>;

/// The files and directories that could not be read, and may show holders.
#[derive(Debug, Default)]
pub(super) struct Unreadable(pub(super) Vec<PathBuf>);

impl Unreadable {
    /// Returns the value that was read. Adds the path if it exists and could not be read.
    pub(super) fn note<T>(&mut self, path: &Path, read: io::Result<T>) -> Option<T> {
        // The process has ended, or the directory was removed.
        let is_gone = |e| matches!(Errno::from_io_error(e), Errno::ENOENT | Errno::ESRCH);
        if let Err(e) = &read
            && !is_gone(e)
        {
            self.add(path, e);
        }
        read.ok()
    }

    /// Adds a path with the reason. A directory that is added for several of its entries in a row is listed
    /// once.
    pub(super) fn add(&mut self, path: &Path, why: &impl Display) {
        if self.0.last().is_none_or(|last| last != path) {
            log::info!("{}: its holders of objects are not known: {why}", path.display());
            self.0.push(path.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No holders, and holders that this process may not see, are different answers.
    #[test]
    fn what_cannot_be_read_is_listed_and_what_is_gone_is_not() {
        let mut unreadable = Unreadable::default();
        for (path, errno) in [("/proc/1/fd", Errno::EACCES), ("/proc/2/fd", Errno::ENOENT)] {
            let read: io::Result<()> = Err(io::Error::from_raw_os_error(errno.0));
            assert_eq!(unreadable.note(Path::new(path), read), None);
        }
        assert_eq!(unreadable.note(Path::new("/proc/3/fd"), Ok(3)), Some(3));
        assert_eq!(unreadable.0, [Path::new("/proc/1/fd")]);
    }
}
