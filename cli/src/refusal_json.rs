//! The parts of a refusal in JSON that `load` writes and that `vm` reads from its guests.

use core_relo_loader::load::{ReportStep, VerifierReport};
use serde::{Deserialize, Serialize};

/// The word for a load that cannot be planned because facts about the kernel cannot be read.
pub(crate) const LACKS_FACTS: &str = "facts";

/// The verifier's explanation: "report of error" in docs/json.md.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct VerifierReportJson {
    category: String,
    problem: String,
    reason: String,
    at: Option<ReportStepJson>,
    path: Vec<ReportStepJson>,
    suggestion: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct ReportStepJson {
    label: String,
    note: String,
    insn: Option<u32>,
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    source: Option<String>,
}

impl VerifierReportJson {
    pub(crate) fn new(report: &VerifierReport) -> Self {
        Self {
            category: report.category.clone(),
            problem: report.problem.clone(),
            reason: report.reason.clone(),
            at: report.location.as_ref().map(ReportStepJson::new),
            path: report.path.iter().map(ReportStepJson::new).collect(),
            suggestion: report.suggestion.clone(),
        }
    }
}

impl ReportStepJson {
    fn new(step: &ReportStep) -> Self {
        let (file, line) = step.line.clone().unzip();
        Self {
            label: step.label.clone(),
            note: step.note.clone(),
            insn: step.insn,
            function: step.function.clone(),
            file,
            line,
            source: step.source.clone(),
        }
    }
}
