//! The holders of kernel objects: processes and pins that keep them alive, as far as this process may see them.

use super::{
    pins::find_pins,
    processes::{Process, find_processes},
};
use crate::sys::{Errno, ObjectKind};
use alloc::collections::BTreeMap;
use std::{
    io,
    path::{Path, PathBuf},
};

/// The holders of each object, by the object's kind and id.
pub(super) type HoldersByObject<T> = BTreeMap<(ObjectKind, u32), Vec<T>>;

/// The processes that have objects open, and the paths at which objects are pinned.
///
/// An object without holders may have holders in what is [`unreadable`](Self::unreadable).
#[derive(Debug, Default)]
pub struct Holders {
    processes: HoldersByObject<Process>,
    pins: HoldersByObject<PathBuf>,
    unreadable: Unreadable,
}

impl Holders {
    /// Reads `/proc` and every mounted bpffs.
    pub fn find() -> Self {
        let mut unreadable = Unreadable::default();
        let processes = find_processes(&mut unreadable);
        Self { processes, pins: find_pins(&mut unreadable), unreadable }
    }

    /// Reads `/proc`. The result has no pins.
    pub fn find_processes() -> Self {
        let mut unreadable = Unreadable::default();
        Self { processes: find_processes(&mut unreadable), pins: BTreeMap::new(), unreadable }
    }

    /// Reads every mounted bpffs. The result has no processes.
    pub fn find_pins() -> Self {
        let mut unreadable = Unreadable::default();
        Self { processes: BTreeMap::new(), pins: find_pins(&mut unreadable), unreadable }
    }

    /// Returns the processes that have an object open, in the order of their pids.
    pub fn processes(&self, kind: ObjectKind, id: u32) -> &[Process] {
        self.processes.get(&(kind, id)).map_or(&[], Vec::as_slice)
    }

    /// Returns the paths of an object's pins.
    pub fn pins(&self, kind: ObjectKind, id: u32) -> &[PathBuf] {
        self.pins.get(&(kind, id)).map_or(&[], Vec::as_slice)
    }

    /// Returns the files and directories that this process cannot read, such as the descriptors of other users' processes.
    pub fn unreadable(&self) -> &[PathBuf] {
        &self.unreadable.0
    }
}

/// The files and directories that could not be read, and may show holders.
#[derive(Debug, Default)]
pub(super) struct Unreadable(Vec<PathBuf>);

impl Unreadable {
    /// Returns the value that was read. Adds the path if it exists and could not be read.
    pub(super) fn note<T>(&mut self, path: &Path, read: io::Result<T>) -> Option<T> {
        // The process has ended, or the directory was removed.
        let is_gone = |e| matches!(Errno::from_io_error(e), Errno::ENOENT | Errno::ESRCH);
        if let Err(e) = &read
            && !is_gone(e)
        {
            log::info!("{}: its holders of objects are not known: {e}", path.display());
            self.0.push(path.into());
        }
        read.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No holders, and holders that this process may not see, are different answers.
    #[test]
    fn what_cannot_be_read_is_listed_and_what_is_gone_is_not() {
        let mut unreadable = Unreadable::default();
        let mut note = |path: &str, errno: Errno| {
            let read: io::Result<()> = Err(io::Error::from_raw_os_error(errno.0));
            unreadable.note(Path::new(path), read)
        };
        assert_eq!(note("/proc/1/fd", Errno::EACCES), None);
        assert_eq!(note("/proc/2/fd", Errno::ENOENT), None);
        assert_eq!(unreadable.note(Path::new("/proc/3/fd"), Ok(3)), Some(3));
        let holders = Holders { unreadable, ..Holders::default() };
        assert_eq!(holders.unreadable(), [Path::new("/proc/1/fd")]);
    }
}
