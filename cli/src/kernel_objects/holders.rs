//! The holders of kernel objects: processes and pins that keep them alive, as far as this process may see them.

use crate::{
    error::escape_path,
    kernel_objects::{
        kind::Kind,
        pins,
        processes::{self, Process},
    },
};
use std::{collections::BTreeMap, path::PathBuf};

/// The processes that have objects open, and the paths at which objects are pinned.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    processes: BTreeMap<(Kind, u32), Vec<Process>>,
    pins: BTreeMap<(Kind, u32), Vec<PathBuf>>,
}

impl Holders {
    /// Reads `/proc` and every mounted bpffs.
    pub(crate) fn find() -> Self {
        Self { processes: processes::find_all(), pins: pins::find_all() }
    }

    /// Returns the processes that have an object open, in the order of their pids.
    pub(crate) fn processes(&self, kind: Kind, id: u32) -> &[Process] {
        self.processes.get(&(kind, id)).map_or(&[], Vec::as_slice)
    }

    /// Returns the paths of an object's pins, escaped.
    pub(crate) fn pins(&self, kind: Kind, id: u32) -> Vec<String> {
        self.pins.get(&(kind, id)).into_iter().flatten().map(|path| escape_path(path)).collect()
    }
}
