//! The JSON lines of `explain`: one for each program, one for the object if it has reasons of its own, then
//! one for each relocation that does not resolve.

use super::{
    availability::Neighbours,
    explained::{ExplainedObject, ExplainedReason},
};
use crate::text::printer::Printer;
use core_relo_verdict::{
    advice::Fix,
    judge::{Reason, Verdict},
    mismatch::Mismatch,
};
use serde::Serialize;
use std::io;

/// The verdict on a program, or on the object.
#[derive(Debug, Serialize)]
struct ExplainedProgramJson<'a> {
    object: &'a str,
    target: &'a str,
    program: Option<&'a str>,
    autoload: bool,
    verdict: Verdict,
    reasons: Vec<ExplainedReasonJson<'a>>,
    guarded: &'a [Reason],
    later: Vec<ExplainedReasonJson<'a>>,
    warnings: Vec<&'a Mismatch>,
}

/// A reason with its fixes.
#[derive(Debug, Serialize)]
struct ExplainedReasonJson<'a> {
    #[serde(flatten)]
    reason: &'a Reason,
    first_kernel: Option<&'a str>,
    last_kernel: Option<&'a str>,
    fixes: &'a [Fix],
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
        warnings.filter(|warning| warning.program == program).collect()
    };
    let by_program = explained.by_program.iter().zip(&explained.later_by_program);
    for (program, (reasons, later)) in explained.verdict.programs.iter().zip(by_program) {
        out.json(&ExplainedProgramJson {
            object: &explained.object,
            target: kernel,
            program: Some(&program.name),
            autoload: program.autoload,
            verdict: program.verdict,
            reasons: reasons_json(reasons),
            guarded: &program.guarded,
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
            verdict: explained.verdict.verdict,
            reasons: reasons.map(|reason| reason_json(reason, neighbours(&reason.reason))).collect(),
            later: Vec::new(),
            warnings: Vec::new(),
            guarded: &[],
        })?;
    }
    out.json_lines(&explained.relocations)
}

fn reason_json<'a>(explained: &'a ExplainedReason, neighbours: Neighbours<'a>) -> ExplainedReasonJson<'a> {
    ExplainedReasonJson {
        reason: &explained.reason,
        first_kernel: neighbours.first,
        last_kernel: neighbours.last,
        fixes: &explained.fixes,
    }
}
