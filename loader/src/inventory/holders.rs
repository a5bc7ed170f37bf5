//! The holders of kernel objects: processes and pins that keep them alive, as far as this process may see
//! them.

use super::{
    pins::find_pins,
    processes::{Process, find_processes},
    unreadable::{HoldersByObject, Unreadable},
};
use crate::sys::ObjectKind;
use alloc::collections::BTreeMap;
use std::path::PathBuf;

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

    /// Returns the files and directories that this process cannot read, such as the descriptors of other
    /// users' processes.
    pub fn unreadable(&self) -> &[PathBuf] {
        &self.unreadable.0
    }
}
