//! The keys of a relocation record, the same in the lines of `check`, `plan` and `explain`.

use crate::describe;
use core_relo::plan::PlannedReloc;
use serde::Serialize;

/// The place and the kind of a relocation record.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RecordKeys {
    pub(crate) section: String,
    pub(crate) program: Option<String>,
    pub(crate) relocation: u32,
    insn: Option<u32>,
    kind: String,
}

impl RecordKeys {
    pub(crate) fn new(planned: &PlannedReloc<'_>) -> Self {
        let record = planned.record();
        Self {
            section: record.section.shortened().to_string(),
            program: describe::program_name(planned),
            relocation: record.index_in_section,
            insn: record.insn.map(|insn| insn.0),
            kind: record.relo.kind.to_string(),
        }
    }
}
