//! The results of checking all objects on one kernel. They do not contain the kernel's name, so that links to one file share them.

use crate::{
    error::BadInput,
    json::check::Unresolved,
    text::{line::Line, style::DIM},
};
use core_relo::plan::Summary;
use std::{
    collections::{HashSet, hash_map::RandomState},
    hash::BuildHasher as _,
    sync::Arc,
};

/// The maximum number of reasons in a text report. `explain` prints all of them.
const REASONS: usize = 3;

/// The reports of all objects on one kernel. They do not depend on the name of the kernel's file.
#[derive(Debug)]
pub(super) struct KernelReport(pub(super) Vec<ObjectReport>);

/// The report of one object on one kernel.
#[derive(Debug)]
pub(super) enum ObjectReport {
    Planned {
        summary: Summary,
        /// The unresolved relocations, for JSON.
        unresolved: Vec<Unresolved>,
        /// The lines below the object's row, for text.
        reasons: Arc<[Line]>,
    },
    /// The object does not fit the kernel, for example because of its byte order.
    Mismatch(BadInput),
}

impl KernelReport {
    /// Returns the approximate size of the report in memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.0.iter().map(ObjectReport::memory_bytes).sum()
    }
}

impl ObjectReport {
    fn memory_bytes(&self) -> usize {
        let content = match self {
            Self::Planned { unresolved, reasons, .. } => {
                let relocation_bytes = |u: &Unresolved| size_of::<Unresolved>() + u.reason.len();
                let relocations: usize = unresolved.iter().map(relocation_bytes).sum();
                relocations + reasons.iter().map(Line::memory_bytes).sum::<usize>()
            }
            Self::Mismatch(bad) => bad.what.len() + bad.file.len(),
        };
        size_of::<Self>() + content
    }
}

/// The distinct reasons of a text report. The first few are stored as lines with their source positions, the others are counted.
#[derive(Default)]
pub(super) struct Reasons {
    lines: Vec<Line>,
    hashes: HashSet<u64>,
    hasher: RandomState,
}

impl Reasons {
    pub(super) fn add(&mut self, unresolved: &Unresolved) {
        let record = &unresolved.record;
        let position = record.position();
        let hash = self.hasher.hash_one((&position, &record.access, &unresolved.reason));
        if self.hashes.insert(hash) && self.lines.len() < REASONS {
            let (program, access) = (record.program_or_section(), &record.access);
            let rest = format!(" {program}: {access}: {}", unresolved.reason);
            self.lines.push(Line::new().styled(DIM, position).text(rest));
        }
    }

    pub(super) fn into_lines(mut self) -> Vec<Line> {
        if let Some(more) = self.hashes.len().checked_sub(REASONS).filter(|more| *more > 0) {
            let more = format_args!("… and {more} more, see `core-relo explain`");
            self.lines.push(Line::new().styled(DIM, more));
        }
        self.lines
    }
}
