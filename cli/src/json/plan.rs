//! The lines of `plan` and `explain`: one for each relocation.

use super::record::{RecordKeys, SourceLine};
use crate::describe;
use core_relo::{
    explain::{self, Explainer, TriedCandidate, reason},
    plan::PlannedReloc,
};
use serde::Serialize;

/// The local access of a relocation.
#[derive(Debug, Serialize)]
struct LocalAccess {
    type_id: u32,
    spec: Option<String>,
}

/// The target access that matched.
#[derive(Debug, Serialize)]
struct TargetAccess {
    btf: String,
    type_id: u32,
    spec: String,
}

#[derive(Debug, Serialize)]
struct Candidate {
    btf: String,
    type_id: u32,
    spec: String,
    verdict: String,
    matched: bool,
}

/// A relocation of a plan.
#[derive(Debug, Serialize)]
pub(crate) struct PlannedRelocationJson<'a> {
    object: &'a str,
    target: &'a str,
    #[serde(flatten)]
    record: RecordKeys,
    local: LocalAccess,
    outcome: &'static str,
    local_value: Option<u64>,
    target_value: Option<u64>,
    before: Option<String>,
    after: Option<String>,
    source: Option<SourceLine>,
    candidates: Vec<Candidate>,
    reason: String,
    target_spec: Option<TargetAccess>,
    warning: Option<String>,
    candidates_left_out: usize,
}

impl<'a> PlannedRelocationJson<'a> {
    pub(crate) fn new<'p>(
        object: &'a str,
        kernel: &'a str,
        planned: &PlannedReloc<'p>,
        explainer: &mut Explainer<'p>,
    ) -> Self {
        let (candidates, candidates_left_out) = candidates(planned, explainer.tried(planned));
        let endian = planned.btf().endian();
        let spec = planned.local_spec().map(|spec| explain::text(spec.text(planned.btf())));
        Self {
            object,
            target: kernel,
            record: RecordKeys::new(planned),
            local: LocalAccess { type_id: planned.record().relo.root.0, spec },
            outcome: describe::outcome(&planned.decision()),
            local_value: planned.local_value(),
            target_value: planned.target_value(),
            before: planned.before().map(|slot| slot.hex(endian).to_string()),
            after: planned.after().map(|slot| slot.hex(endian).to_string()),
            source: SourceLine::new(planned),
            candidates,
            reason: reason(planned),
            target_spec: planned.target_spec().map(|(source, spec)| TargetAccess {
                btf: source.name.clone(),
                type_id: spec.root.0,
                spec: explain::text(spec.text(&source.btf)),
            }),
            warning: describe::warning(planned),
            candidates_left_out,
        }
    }
}

/// An explained relocation.
#[derive(Debug, Serialize)]
pub(crate) struct ExplainedRelocationJson<'a> {
    object: &'a str,
    target: &'a str,
    #[serde(flatten)]
    record: RecordKeys,
    outcome: &'static str,
    source: Option<SourceLine>,
    access: String,
    local: String,
    reason: String,
    tried: Vec<Candidate>,
    near: Vec<String>,
    help: Vec<String>,
    warning: Option<String>,
    tried_left_out: usize,
}

impl<'a> ExplainedRelocationJson<'a> {
    pub(crate) fn new<'p>(
        object: &'a str,
        kernel: &'a str,
        planned: &PlannedReloc<'p>,
        explainer: &mut Explainer<'p>,
    ) -> Self {
        let explanation = explainer.explain(planned);
        let (tried, tried_left_out) = candidates(planned, explanation.tried);
        Self {
            object,
            target: kernel,
            record: RecordKeys::new(planned),
            outcome: describe::outcome(&planned.decision()),
            source: SourceLine::new(planned),
            access: explanation.access,
            local: explanation.local,
            reason: explanation.reason,
            tried,
            near: explanation.near,
            help: explanation.help,
            warning: describe::warning(planned),
            tried_left_out,
        }
    }
}

/// Returns the listed candidates, and the number of those that are not listed.
fn candidates(planned: &PlannedReloc<'_>, tried: Vec<TriedCandidate>) -> (Vec<Candidate>, usize) {
    let left_out = planned.candidate_count().saturating_sub(tried.len());
    let candidate = |tried: TriedCandidate| Candidate {
        spec: tried.spec.unwrap_or_else(|| format!("[{}] {}", tried.type_id, tried.what)),
        btf: tried.btf,
        type_id: tried.type_id.0,
        verdict: tried.verdict,
        matched: tried.matched,
    };
    (tried.into_iter().map(candidate).collect(), left_out)
}
