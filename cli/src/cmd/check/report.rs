//! The results of checking all objects on one kernel. They do not contain the kernel's name, so that links to one file share them.

use crate::{
    error::BadInput,
    json::check::Unresolved,
    text::{
        line::Line,
        style::{DIM, WARNING},
    },
};
use core_relo::plan::Summary;
use core_relo_verdict::{
    SourceLine,
    judge::{ObjectVerdict, ProgramVerdict, Reason},
    mismatch::Mismatch,
};
use std::{collections::HashSet, sync::Arc};

/// The maximum number of reasons in a text report. `explain` prints all of them.
const REASONS: usize = 3;

/// The maximum number of warnings in a text report.
const WARNINGS: usize = 5;

/// The reports of all objects on one kernel. They do not depend on the name of the kernel's file.
#[derive(Debug)]
pub(super) struct KernelReport(pub(super) Vec<ObjectReport>);

/// The report of one object on one kernel.
#[derive(Debug)]
pub(super) enum ObjectReport {
    Planned {
        summary: Summary,
        /// The unresolved relocations, for JSON.
        unresolved: Vec<Unresolved>,
        /// The verdict on each program.
        verdict: ObjectVerdict,
        /// The lines below the object's row, for text.
        reasons: Arc<[Line]>,
    },
    /// The object does not fit the kernel, for example because of its byte order.
    Mismatch(BadInput),
}

impl KernelReport {
    /// Returns the approximate size of the report in memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.0.iter().map(ObjectReport::memory_bytes).sum()
    }
}

impl ObjectReport {
    fn memory_bytes(&self) -> usize {
        let content = match self {
            Self::Planned { unresolved, reasons, verdict, .. } => {
                let relocation_bytes = |u: &Unresolved| size_of::<Unresolved>() + u.reason.len();
                let relocations: usize = unresolved.iter().map(relocation_bytes).sum();
                let programs: usize = verdict.programs.iter().map(program_bytes).sum();
                let warnings: usize = verdict.warnings.iter().map(warning_bytes).sum();
                relocations + programs + warnings + reasons.iter().map(Line::memory_bytes).sum::<usize>()
            }
            Self::Mismatch(bad) => bad.what.len() + bad.file.len(),
        };
        size_of::<Self>() + content
    }
}

/// Returns about how many bytes the verdict on a program takes in memory.
fn program_bytes(program: &ProgramVerdict) -> usize {
    let reason_bytes = |reason: &Reason| {
        let source = reason.source.as_ref().map_or(0, source_bytes);
        let evidence = reason.evidence.as_ref().map_or(0, |evidence| evidence.text.len());
        let fix = reason.fix.as_ref().map_or(0, String::len);
        size_of::<Reason>() + reason.text.len() + source + evidence + fix
    };
    size_of::<ProgramVerdict>() + program.name.len() + program.reasons.iter().map(reason_bytes).sum::<usize>()
}

/// Returns about how many bytes a warning takes in memory.
fn warning_bytes(warning: &Mismatch) -> usize {
    let Mismatch { program, text, source, local, target, .. } = warning;
    let strings = [program, text, local, target].map(String::len);
    size_of::<Mismatch>() + strings.iter().sum::<usize>() + source.as_ref().map_or(0, source_bytes)
}

fn source_bytes(source: &SourceLine) -> usize {
    source.file.len() + source.text.len()
}

/// Returns the first few warnings as lines, each with the declarations of the object and of the kernel. The others are only counted.
pub(super) fn warning_lines(warnings: &[Mismatch]) -> Vec<Line> {
    let mut lines = Vec::new();
    for Mismatch { program, text, source, local, target, .. } in warnings.iter().take(WARNINGS) {
        let position = source.as_ref().map(|source| format!("{}:{} ", source.file, source.line));
        let line = Line::new().styled(WARNING, "warning: ").styled(DIM, position.unwrap_or_default());
        lines.push(line.text(format_args!("{program}: {text}")));
        for (side, declaration) in [("object", local), ("kernel", target)] {
            lines.push(Line::new().styled(DIM, format_args!("  {side}: ")).text(declaration));
        }
    }
    if let Some(more) = warnings.len().checked_sub(WARNINGS).filter(|more| *more > 0) {
        let plural = if more == 1 { "" } else { "s" };
        let more = format_args!("… and {more} more warning{plural}, see --format json");
        lines.push(Line::new().styled(DIM, more));
    }
    lines
}

/// Returns the first few different reasons of a verdict as lines, with their source positions. The others are only counted.
pub(super) fn reason_lines(verdict: &ObjectVerdict) -> Vec<Line> {
    let (mut distinct, mut lines) = (HashSet::new(), Vec::new());
    // Programs of the default load come first.
    let (default, optional): (Vec<_>, Vec<_>) = verdict.programs.iter().partition(|program| program.autoload);
    for program in default.into_iter().chain(optional) {
        for reason in &program.reasons {
            let position = reason.source.as_ref().map(|source| format!("{}:{} ", source.file, source.line));
            if !distinct.insert((position.clone(), &reason.text)) || lines.len() >= REASONS {
                continue;
            }
            let fix = reason.fix.as_ref().map_or_else(String::new, |fix| format!("; fix: {fix}"));
            let optional = if program.autoload { "" } else { " (not in the default load)" };
            let rest = format!("{}{optional}: {}{fix}", program.name, reason.text);
            lines.push(Line::new().styled(DIM, position.unwrap_or_default()).text(rest));
        }
    }
    if let Some(more) = distinct.len().checked_sub(REASONS).filter(|more| *more > 0) {
        let more = format_args!("… and {more} more, see --format json");
        lines.push(Line::new().styled(DIM, more));
    }
    lines
}
