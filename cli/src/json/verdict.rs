//! The verdict on a program.

use core_relo_verdict::{
    SourceLine,
    judge::{ProgramVerdict, Reason},
    kernel::Evidence,
    mismatch::Mismatch,
};
use serde::Serialize;

/// The verdict on a program.
#[derive(Debug, Serialize)]
pub(crate) struct ProgramJson<'a> {
    name: &'a str,
    autoload: bool,
    verdict: &'static str,
    reasons: Vec<ReasonJson<'a>>,
}

/// A reason of a verdict.
#[derive(Debug, Serialize)]
struct ReasonJson<'a> {
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

/// A silent mismatch.
#[derive(Debug, Serialize)]
pub(crate) struct WarningJson<'a> {
    kind: &'static str,
    program: &'a str,
    text: &'a str,
    source: Option<SourceJson<'a>>,
    local: &'a str,
    target: &'a str,
}

impl<'a> WarningJson<'a> {
    pub(crate) fn new(mismatch: &'a Mismatch) -> Self {
        let Mismatch { kind, program, text, source, local, target, .. } = mismatch;
        Self { kind: kind.word(), program, text, source: source.as_ref().map(SourceJson::new), local, target }
    }
}

impl<'a> ProgramJson<'a> {
    pub(crate) fn new(program: &'a ProgramVerdict) -> Self {
        Self {
            name: &program.name,
            autoload: program.autoload,
            verdict: program.verdict.word(),
            reasons: program.reasons.iter().map(ReasonJson::new).collect(),
        }
    }
}

impl<'a> ReasonJson<'a> {
    fn new(reason: &'a Reason) -> Self {
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
