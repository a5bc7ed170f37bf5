//! The lines of `plan` and `explain`: one for each relocation.

use super::record::RecordKeys;
use crate::describe;
use core_relo::{
    explain::{self, Explainer, Explanation, TriedCandidate, reason},
    plan::PlannedReloc,
};
use core_relo_verdict::SourceLine;
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
    candidates: Vec<TriedCandidate>,
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
        let candidates = explainer.tried(planned);
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
            source: planned.source_line().map(SourceLine::from),
            candidates_left_out: left_out(planned, &candidates),
            candidates,
            reason: reason(planned),
            target_spec: planned.target_spec().map(|(source, spec)| TargetAccess {
                btf: source.name.clone(),
                type_id: spec.root.0,
                spec: explain::text(spec.text(&source.btf)),
            }),
            warning: describe::warning(planned),
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
    #[serde(flatten)]
    explanation: Explanation,
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
        Self {
            object,
            target: kernel,
            record: RecordKeys::new(planned),
            outcome: describe::outcome(&planned.decision()),
            source: planned.source_line().map(SourceLine::from),
            warning: describe::warning(planned),
            tried_left_out: left_out(planned, &explanation.tried),
            explanation,
        }
    }
}

/// Returns the number of candidates that are not listed.
fn left_out(planned: &PlannedReloc<'_>, tried: &[TriedCandidate]) -> usize {
    planned.candidate_count().saturating_sub(tried.len())
}
