//! The verdict on a program.

use crate::{
    json::reality::RealityJson,
    policy::{AllowEntry, ProgramAcceptance},
};
use core_relo_verdict::{
    SourceLine,
    judge::{LoaderRefusal, ProgramVerdict, Reason, Verdict},
    kernel::Evidence,
    loaders::Loader,
    mismatch::Mismatch,
};
use serde::Serialize;

/// The verdict on a program.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProgramJson<'a> {
    name: &'a str,
    autoload: bool,
    verdict: &'static str,
    reasons: Vec<JudgedReasonJson<'a>>,
    allowed: Option<VerdictAllowedJson<'a>>,
    /// The outcome of the real load, with `--boot`.
    reality: Option<RealityJson<'a>>,
}

/// The acceptance of a verdict, or of a part of its reasons.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct VerdictAllowedJson<'a> {
    /// The verdict that is left.
    verdict: &'static str,
    pattern: String,
    reason: Option<&'a str>,
}

/// The acceptance of a reason.
#[derive(Clone, Debug, Serialize)]
struct ReasonAllowedJson<'a> {
    pattern: String,
    reason: Option<&'a str>,
}

/// A reason of a verdict.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ReasonJson<'a> {
    kind: &'static str,
    verdict: &'static str,
    text: &'a str,
    source: Option<SourceJson<'a>>,
    evidence: Option<EvidenceJson<'a>>,
    fix: Option<&'a str>,
    loader: Option<LoaderRefusalJson>,
}

/// The rule by which a loader refuses an object.
#[derive(Clone, Debug, Serialize)]
struct LoaderRefusalJson {
    name: &'static str,
    rule: &'static str,
    accepted_by: Vec<&'static str>,
}

/// A reason, and the entry of the allow list that accepts it.
#[derive(Clone, Debug, Serialize)]
struct JudgedReasonJson<'a> {
    #[serde(flatten)]
    reason: ReasonJson<'a>,
    allowed: Option<ReasonAllowedJson<'a>>,
}

/// A source line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SourceJson<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    text: &'a str,
    is_near: bool,
}

/// The evidence for a reason.
#[derive(Clone, Debug, Serialize)]
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
            reasons: program.reasons.iter().map(JudgedReasonJson::new).collect(),
            allowed: None,
            reality: None,
        }
    }

    /// Adds the outcome of the real load.
    pub(crate) fn with_reality(self, reality: Option<RealityJson<'a>>) -> Self {
        Self { reality, ..self }
    }

    /// Adds the accepted reasons.
    pub(crate) fn accept(&mut self, accepted: &'a ProgramAcceptance) {
        self.allowed = accepted.entry().map(|entry| VerdictAllowedJson::new(accepted.verdict, entry));
        for (index, reason) in self.reasons.iter_mut().enumerate() {
            let entry = accepted.reason(index);
            reason.allowed = entry
                .map(|entry| ReasonAllowedJson { pattern: entry.pattern(), reason: entry.reason.as_deref() });
        }
    }

    /// Creates the JSON of a program on a kernel whose types cannot be read.
    pub(crate) fn unjudged(name: &'a str, autoload: bool, reality: RealityJson<'a>) -> Self {
        let verdict = Verdict::Unknown.word();
        Self { name, autoload, verdict, reasons: Vec::new(), allowed: None, reality: Some(reality) }
    }
}

impl<'a> VerdictAllowedJson<'a> {
    /// Creates the value from the verdict that is left and the entry that accepts the worst reason.
    pub(crate) fn new(verdict: Verdict, entry: &'a AllowEntry) -> Self {
        Self { verdict: verdict.word(), pattern: entry.pattern(), reason: entry.reason.as_deref() }
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
            loader: reason.loader.map(LoaderRefusalJson::new),
        }
    }
}

impl LoaderRefusalJson {
    fn new(LoaderRefusal { loader, rule, .. }: LoaderRefusal) -> Self {
        Self {
            name: loader.word(),
            rule: rule.word(),
            accepted_by: rule.accepting().map(Loader::word).collect(),
        }
    }
}

impl<'a> JudgedReasonJson<'a> {
    fn new(reason: &'a Reason) -> Self {
        Self { reason: ReasonJson::new(reason), allowed: None }
    }
}

impl<'a> SourceJson<'a> {
    pub(crate) fn new(source: &'a SourceLine) -> Self {
        let SourceLine { file, line, column, text, is_near } = source;
        Self { file, line: *line, column: *column, text, is_near: *is_near }
    }
}

impl<'a> EvidenceJson<'a> {
    fn new(evidence: &'a Evidence) -> Self {
        Self { source: evidence.source.word(), text: &evidence.text }
    }
}
