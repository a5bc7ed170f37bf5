//! The lines of `plan` and `explain`: one for each relocation.

use crate::describe;
use core_relo::{
    explain::{self, Explainer, TriedCandidate, reason},
    plan::PlannedReloc,
};
use serde::Serialize;

/// The source line of a relocation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SourceLine {
    pub(crate) file: String,
    pub(crate) line: u32,
    column: u32,
    text: String,
}

impl SourceLine {
    pub(crate) fn new(planned: &PlannedReloc<'_>) -> Option<Self> {
        let s = planned.source()?;
        let (file, text) = (s.file.shortened().to_string(), s.text.shortened().to_string());
        Some(Self { file, line: s.line, column: s.column, text })
    }
}

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
    section: String,
    program: Option<String>,
    relocation: u32,
    insn: Option<u32>,
    kind: String,
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
        let record = planned.record();
        let (candidates, candidates_left_out) = candidates(planned, explainer.tried(planned));
        let endian = planned.btf().endian();
        let spec = planned.local_spec().map(|spec| explain::text(spec.text(planned.btf())));
        Self {
            object,
            target: kernel,
            section: record.section.shortened().to_string(),
            program: describe::program_name(planned),
            relocation: record.index,
            insn: record.insn.map(|insn| insn.0),
            kind: record.relo.kind.to_string(),
            local: LocalAccess { type_id: record.relo.root.0, spec },
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
    section: String,
    program: Option<String>,
    relocation: u32,
    insn: Option<u32>,
    kind: String,
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
        let record = planned.record();
        let explanation = explainer.explain(planned);
        let (tried, tried_left_out) = candidates(planned, explanation.tried);
        Self {
            object,
            target: kernel,
            section: record.section.shortened().to_string(),
            program: describe::program_name(planned),
            relocation: record.index,
            insn: record.insn.map(|insn| insn.0),
            kind: record.relo.kind.to_string(),
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
