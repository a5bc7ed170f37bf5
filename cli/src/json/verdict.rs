//! The verdict on a program, with what only the command knows: accepted reasons and real loads.

use crate::json::reality::RealityJson;
use core_relo_report::policy::{AllowEntry, ProgramAcceptance};
use core_relo_verdict::judge::{ProgramVerdict, Reason, Verdict};
use serde::Serialize;

/// The verdict on a program.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProgramJson<'a> {
    name: &'a str,
    autoload: bool,
    verdict: Verdict,
    reasons: Vec<ReasonJson<'a>>,
    allowed: Option<AllowedVerdict<'a>>,
    /// The outcome of the real load, with `--boot`.
    reality: Option<RealityJson<'a>>,
}

/// A reason, and the entry of the allow list that accepts it.
#[derive(Clone, Debug, Serialize)]
struct ReasonJson<'a> {
    #[serde(flatten)]
    reason: &'a Reason,
    allowed: Option<AllowEntryJson<'a>>,
}

/// The acceptance of a verdict, or of a part of its reasons.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AllowedVerdict<'a> {
    /// The verdict that is left.
    verdict: Verdict,
    #[serde(flatten)]
    entry: AllowEntryJson<'a>,
}

/// An entry of the allow list.
#[derive(Clone, Debug, Serialize)]
struct AllowEntryJson<'a> {
    pattern: String,
    reason: Option<&'a str>,
    place: &'a str,
}

impl<'a> ProgramJson<'a> {
    pub(crate) fn new(program: &'a ProgramVerdict) -> Self {
        Self {
            name: &program.name,
            autoload: program.autoload,
            verdict: program.verdict,
            reasons: program.reasons.iter().map(|reason| ReasonJson { reason, allowed: None }).collect(),
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
        self.allowed = accepted.entry().map(|entry| AllowedVerdict::new(accepted.verdict, entry));
        for (index, reason) in self.reasons.iter_mut().enumerate() {
            reason.allowed = accepted.reason(index).map(AllowEntryJson::new);
        }
    }

    /// Creates the JSON of a program on a kernel whose types cannot be read.
    pub(crate) fn unjudged(name: &'a str, autoload: bool, reality: RealityJson<'a>) -> Self {
        let reasons = Vec::new();
        Self { name, autoload, verdict: Verdict::Unknown, reasons, allowed: None, reality: Some(reality) }
    }
}

impl<'a> AllowedVerdict<'a> {
    /// Creates the value from the verdict that is left and the entry that accepts the worst reason.
    pub(crate) fn new(verdict: Verdict, entry: &'a AllowEntry) -> Self {
        Self { verdict, entry: AllowEntryJson::new(entry) }
    }
}

impl<'a> AllowEntryJson<'a> {
    fn new(entry: &'a AllowEntry) -> Self {
        Self { pattern: entry.pattern(), reason: entry.reason.as_deref(), place: entry.place() }
    }
}
