//! The same values as JSON lines. The order and names of keys are documented in docs/json.md.

use crate::{
    error::BadInput,
    input::target::{Kernel, order},
    render::{planned, style},
};
use core_relo::{
    Name,
    explain::{self, Explainer, TriedCandidate, reason},
    plan::Planned,
};
use serde::Serialize;
use std::io::{self, Write};

/// Writes one object and ends the line.
pub(crate) fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// Bad input.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Failure {
    error: ErrorText,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ErrorText {
    file: String,
    what: String,
    help: Option<String>,
}

impl Failure {
    pub(crate) fn new(bad: &BadInput) -> Self {
        Self { error: ErrorText::new(bad) }
    }
}

impl ErrorText {
    pub(crate) fn new(bad: &BadInput) -> Self {
        Self { file: bad.file.clone(), what: bad.what.clone(), help: bad.help.clone() }
    }
}

/// Where a record is, in the source and in the object.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SourceLine {
    pub(crate) file: String,
    pub(crate) line: u32,
    column: u32,
    text: String,
}

impl SourceLine {
    pub(crate) fn of(planned: &Planned<'_>) -> Option<Self> {
        let s = planned.source()?;
        let (file, text) = (s.file.shortened().to_string(), s.text.shortened().to_string());
        Some(Self { file, line: s.line, column: s.column, text })
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Local {
    type_id: u32,
    spec: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct InTarget {
    btf: String,
    type_id: u32,
    spec: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Candidate {
    btf: String,
    type_id: u32,
    spec: String,
    verdict: String,
    matched: bool,
}

/// One record of a plan.
#[derive(Debug, Serialize)]
pub(crate) struct Relocation<'a> {
    object: &'a str,
    target: &'a str,
    section: String,
    program: Option<String>,
    relocation: u32,
    insn: Option<u32>,
    kind: String,
    local: Local,
    outcome: &'static str,
    local_value: Option<u64>,
    target_value: Option<u64>,
    before: Option<String>,
    after: Option<String>,
    source: Option<SourceLine>,
    candidates: Vec<Candidate>,
    reason: String,
    target_spec: Option<InTarget>,
    warning: Option<String>,
    candidates_left_out: usize,
}

impl<'a> Relocation<'a> {
    pub(crate) fn new<'p>(
        object: &'a str,
        kernel: &'a Kernel,
        planned: &Planned<'p>,
        explainer: &mut Explainer<'p>,
    ) -> Self {
        let record = planned.record();
        let (candidates, candidates_left_out) = candidates(planned, explainer.tried(planned));
        let endian = planned.btf().endian();
        let spec = planned.local_spec().map(|spec| explain::text(spec.text(planned.btf())));
        Self {
            object,
            target: &kernel.name,
            section: record.section.shortened().to_string(),
            program: planned::program(planned),
            relocation: record.index,
            insn: record.insn.map(|insn| insn.0),
            kind: record.relo.kind.to_string(),
            local: Local { type_id: record.relo.root.0, spec },
            outcome: style::outcome(&planned.decision()),
            local_value: planned.local_value(),
            target_value: planned.target_value(),
            before: planned.before().map(|slot| slot.hex(endian).to_string()),
            after: planned.after().map(|slot| slot.hex(endian).to_string()),
            source: SourceLine::of(planned),
            candidates,
            reason: reason(planned),
            target_spec: planned.target_spec().map(|(source, spec)| InTarget {
                btf: source.name.clone(),
                type_id: spec.root.0,
                spec: explain::text(spec.text(&source.btf)),
            }),
            warning: planned::warning(planned),
            candidates_left_out,
        }
    }
}

/// The candidates that are listed, and how many are not.
fn candidates(planned: &Planned<'_>, tried: Vec<TriedCandidate>) -> (Vec<Candidate>, usize) {
    let left_out = planned.candidate_count().saturating_sub(tried.len());
    let one = |tried: TriedCandidate| Candidate {
        spec: tried.spec.unwrap_or_else(|| format!("[{}] {}", tried.type_id, tried.what)),
        btf: tried.btf,
        type_id: tried.type_id.0,
        verdict: tried.verdict,
        matched: tried.matched,
    };
    (tried.into_iter().map(one).collect(), left_out)
}

/// One record explained.
#[derive(Debug, Serialize)]
pub(crate) struct Explained<'a> {
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

impl<'a> Explained<'a> {
    pub(crate) fn new<'p>(
        object: &'a str,
        kernel: &'a Kernel,
        planned: &Planned<'p>,
        explainer: &mut Explainer<'p>,
    ) -> Self {
        let record = planned.record();
        let explanation = explainer.explain(planned);
        let (tried, tried_left_out) = candidates(planned, explanation.tried);
        Self {
            object,
            target: &kernel.name,
            section: record.section.shortened().to_string(),
            program: planned::program(planned),
            relocation: record.index,
            insn: record.insn.map(|insn| insn.0),
            kind: record.relo.kind.to_string(),
            outcome: style::outcome(&planned.decision()),
            source: SourceLine::of(planned),
            tried,
            access: explanation.access,
            local: explanation.local,
            reason: explanation.reason,
            near: explanation.near,
            help: explanation.help,
            warning: planned::warning(planned),
            tried_left_out,
        }
    }
}

/// A name from a file.
pub(crate) fn text(name: &[u8]) -> String {
    Name::new(name).to_string()
}

/// A byte order's name.
pub(crate) fn byte_order(endian: core_relo::Endian) -> &'static str {
    order(endian)
}
