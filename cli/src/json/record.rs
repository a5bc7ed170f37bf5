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

/// A source line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SourceLine {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) text: String,
    pub(crate) is_near: bool,
}

impl SourceLine {
    pub(crate) fn new(planned: &PlannedReloc<'_>) -> Option<Self> {
        planned.source_line().map(Self::from)
    }
}

impl From<core_relo::SourceLine<'_>> for SourceLine {
    fn from(line: core_relo::SourceLine<'_>) -> Self {
        let (file, text) = (line.file.shortened().to_string(), line.text.shortened().to_string());
        Self { file, line: line.line, column: line.column, text, is_near: line.is_near }
    }
}

impl From<core_relo_verdict::SourceLine> for SourceLine {
    fn from(line: core_relo_verdict::SourceLine) -> Self {
        let core_relo_verdict::SourceLine { file, line, column, text, is_near } = line;
        Self { file, line, column, text, is_near }
    }
}
