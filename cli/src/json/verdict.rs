//! The verdict on a program.

use crate::json::reality::RealityJson;
use core_relo_verdict::{
    SourceLine,
    judge::{ProgramVerdict, Reason, Verdict},
    kernel::Evidence,
};
use serde::Serialize;

/// The verdict on a program.
#[derive(Debug, Serialize)]
pub(crate) struct ProgramJson<'a> {
    name: &'a str,
    autoload: bool,
    verdict: &'static str,
    reasons: Vec<ReasonJson<'a>>,
    /// The outcome of the real load, with `--boot`.
    reality: Option<RealityJson<'a>>,
}

/// A reason of a verdict.
#[derive(Debug, Serialize)]
pub(crate) struct ReasonJson<'a> {
    kind: &'static str,
    verdict: &'static str,
    text: &'a str,
    source: Option<SourceJson<'a>>,
    evidence: Option<EvidenceJson<'a>>,
    fix: Option<&'a str>,
}

/// A source line.
#[derive(Debug, Serialize)]
struct SourceJson<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    text: &'a str,
}

/// The evidence for a reason.
#[derive(Debug, Serialize)]
struct EvidenceJson<'a> {
    source: &'static str,
    text: &'a str,
}

impl<'a> ProgramJson<'a> {
    pub(crate) fn new(program: &'a ProgramVerdict, reality: Option<RealityJson<'a>>) -> Self {
        Self {
            name: &program.name,
            autoload: program.autoload,
            verdict: program.verdict.word(),
            reasons: program.reasons.iter().map(ReasonJson::new).collect(),
            reality,
        }
    }

    /// Creates the JSON of a program on a kernel whose types cannot be read.
    pub(crate) fn unjudged(name: &'a str, autoload: bool, reality: RealityJson<'a>) -> Self {
        let verdict = Verdict::Unknown.word();
        Self { name, autoload, verdict, reasons: Vec::new(), reality: Some(reality) }
    }
}

impl<'a> ReasonJson<'a> {
    pub(crate) fn new(reason: &'a Reason) -> Self {
        Self {
            kind: reason.kind.word(),
            verdict: reason.verdict.word(),
            text: &reason.text,
            source: reason.source.as_ref().map(SourceJson::new),
            evidence: reason.evidence.as_ref().map(EvidenceJson::new),
            fix: reason.fix.as_deref(),
        }
    }
}

impl<'a> SourceJson<'a> {
    fn new(source: &'a SourceLine) -> Self {
        Self { file: &source.file, line: source.line, column: source.column, text: &source.text }
    }
}

impl<'a> EvidenceJson<'a> {
    fn new(evidence: &'a Evidence) -> Self {
        Self { source: evidence.source.word(), text: &evidence.text }
    }
}
