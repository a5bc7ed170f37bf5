//! The source lines of an object's accesses, kept for further kernels.

use crate::{limits, source_line::SourceLine};
use hashbrown::HashMap;
use std::sync::{Mutex, PoisonError};

/// The source lines of an object's accesses by record, kept for further kernels. Threads may share them.
#[derive(Debug, Default)]
pub(crate) struct AccessLines {
    known: Mutex<HashMap<usize, Option<SourceLine>>>,
}

impl AccessLines {
    /// Returns the line of a record's access, for which `search` is called unless the line is known.
    pub(crate) fn find(
        &self,
        record: usize,
        search: impl FnOnce() -> Option<SourceLine>,
    ) -> Option<SourceLine> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&record) {
            return known.clone();
        }
        let line = search();
        let mut known = lock();
        if known.len() < limits::KEPT_LINES {
            known.insert(record, line.clone());
        }
        line
    }
}
