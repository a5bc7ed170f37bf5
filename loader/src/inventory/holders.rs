//! The holders of kernel objects: processes and pins that keep them alive, as far as this process may see them.

use super::{
    pins::all_pins,
    processes::{Process, all_processes},
};
use crate::sys::ObjectKind;
use alloc::collections::BTreeMap;
use std::path::PathBuf;

/// The processes that have objects open, and the paths at which objects are pinned.
#[derive(Debug, Default)]
pub struct Holders {
    processes: BTreeMap<(ObjectKind, u32), Vec<Process>>,
    pins: BTreeMap<(ObjectKind, u32), Vec<PathBuf>>,
}

impl Holders {
    /// Reads `/proc` and every mounted bpffs.
    pub fn find() -> Self {
        Self { processes: all_processes(), pins: all_pins() }
    }

    /// Returns the processes that have an object open, in the order of their pids.
    pub fn processes(&self, kind: ObjectKind, id: u32) -> &[Process] {
        self.processes.get(&(kind, id)).map_or(&[], Vec::as_slice)
    }

    /// Returns the paths of an object's pins.
    pub fn pins(&self, kind: ObjectKind, id: u32) -> &[PathBuf] {
        self.pins.get(&(kind, id)).map_or(&[], Vec::as_slice)
    }
}
