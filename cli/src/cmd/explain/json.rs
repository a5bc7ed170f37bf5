//! The JSON lines of `explain`: one for each program, one for the object if it has reasons of its own, then one for each relocation that
//! does not resolve.

use super::{
    availability::Neighbours,
    explained::{ExplainedObject, ExplainedReason},
};
use crate::{
    json::verdict::{ReasonJson, SourceJson, WarningJson},
    text::printer::Printer,
};
use core_relo_verdict::{advice::Fix, judge::Reason};
use serde::Serialize;
use std::io;

/// The verdict on a program, or on the object.
#[derive(Debug, Serialize)]
struct ExplainedProgramJson<'a> {
    object: &'a str,
    target: &'a str,
    program: Option<&'a str>,
    autoload: bool,
    verdict: &'static str,
    reasons: Vec<ExplainedReasonJson<'a>>,
    guarded: Vec<ReasonJson<'a>>,
    later: Vec<ExplainedReasonJson<'a>>,
    warnings: Vec<WarningJson<'a>>,
}

/// A reason with its fixes.
#[derive(Debug, Serialize)]
struct ExplainedReasonJson<'a> {
    #[serde(flatten)]
    reason: ReasonJson<'a>,
    first_kernel: Option<&'a str>,
    last_kernel: Option<&'a str>,
    fixes: Vec<FixJson<'a>>,
}

#[derive(Debug, Serialize)]
struct FixJson<'a> {
    language: &'static str,
    code: Option<&'a str>,
    text: &'a str,
    applies_to: &'static str,
    declaration: Option<&'a str>,
    source: Option<SourceJson<'a>>,
}

/// Prints the lines of an object on a kernel.
pub(super) fn write<'a>(
    out: &mut Printer<'_>,
    kernel: &'a str,
    explained: &'a ExplainedObject,
    neighbours: &dyn Fn(&Reason) -> Neighbours<'a>,
) -> io::Result<()> {
    let reasons_json = |indices: &[usize]| {
        let reasons = indices.iter().filter_map(|index| explained.reasons.get(*index));
        reasons.map(|reason| reason_json(reason, neighbours(&reason.reason))).collect()
    };
    let warnings_of = |program: &str| {
        let warnings = explained.verdict.warnings.iter();
        warnings.filter(|warning| warning.program == program).map(WarningJson::new).collect()
    };
    let by_program = explained.by_program.iter().zip(&explained.later_by_program);
    for (program, (reasons, later)) in explained.verdict.programs.iter().zip(by_program) {
        out.json(&ExplainedProgramJson {
            object: &explained.object,
            target: kernel,
            program: Some(&program.name),
            autoload: program.autoload,
            verdict: program.verdict.word(),
            reasons: reasons_json(reasons),
            guarded: program.guarded.iter().map(ReasonJson::new).collect(),
            later: reasons_json(later),
            warnings: warnings_of(&program.name),
        })?;
    }
    let own_reasons = || explained.reasons.iter().filter(|reason| reason.programs.is_empty());
    if explained.verdict.programs.is_empty() || own_reasons().next().is_some() {
        let reasons = own_reasons();
        out.json(&ExplainedProgramJson {
            object: &explained.object,
            target: kernel,
            program: None,
            autoload: true,
            verdict: explained.verdict.verdict.word(),
            reasons: reasons.map(|reason| reason_json(reason, neighbours(&reason.reason))).collect(),
            later: Vec::new(),
            warnings: Vec::new(),
            guarded: Vec::new(),
        })?;
    }
    out.json_lines(&explained.relocations)
}

fn reason_json<'a>(explained: &'a ExplainedReason, neighbours: Neighbours<'a>) -> ExplainedReasonJson<'a> {
    ExplainedReasonJson {
        reason: ReasonJson::new(&explained.reason),
        first_kernel: neighbours.first,
        last_kernel: neighbours.last,
        fixes: explained.fixes.iter().map(FixJson::new).collect(),
    }
}

impl<'a> FixJson<'a> {
    fn new(fix: &'a Fix) -> Self {
        Self {
            language: fix.language.word(),
            code: fix.code.as_deref(),
            text: &fix.text,
            applies_to: fix.applies_to.word(),
            declaration: fix.declaration.as_deref(),
            source: fix.source.as_ref().map(SourceJson::new),
        }
    }
}
