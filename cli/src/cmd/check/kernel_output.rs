//! The output for one kernel: JSON lines, rows of the table, messages. Threads prepare it, and one of them prints it.

use super::report::{KernelReport, ObjectReport};
use crate::{
    console::ExitStatus,
    describe,
    error::BadInput,
    input::kernel::id::KernelId,
    json::{
        check::{CheckLine, TargetKeys},
        writer::JsonLines,
    },
    text::line::Line,
};
use core_relo_verdict::judge::Verdict;
use std::{io, sync::Arc};

/// The output formats to prepare. With `--resume`, both are possible.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputFormats {
    pub(super) json: bool,
    pub(super) text: bool,
}

/// The output for one kernel.
#[derive(Default)]
pub(super) struct KernelOutput {
    pub(super) exit: ExitStatus,
    /// Messages for stderr.
    pub(super) errors: Vec<BadInput>,
    pub(super) lines: JsonLines,
    pub(super) rows: Vec<Row>,
}

/// A row of the table, and the lines below it.
pub(super) struct Row {
    pub(super) verdict: Verdict,
    pub(super) cells: [String; 3],
    pub(super) reasons: Arc<[Line]>,
}

impl KernelOutput {
    /// Creates the output for a kernel that was checked.
    pub(super) fn new<'o>(
        (name, id): (&str, &KernelId),
        report: &KernelReport,
        objects: impl Iterator<Item = &'o str>,
        formats: OutputFormats,
    ) -> io::Result<Self> {
        let mut output = Self::default();
        let target_id = id.key(name);
        let target = TargetKeys { target: name, target_id: target_id.as_deref() };
        for (object, report) in objects.zip(&report.0) {
            match report {
                ObjectReport::Mismatch(bad) => {
                    // A cached report has the name under which the file was first read.
                    let bad = BadInput { file: name.to_owned(), ..bad.clone() };
                    if formats.json {
                        output.lines.push(&CheckLine::bad_input(Some(object), Some(target), &bad))?;
                    }
                    let what = format!("{} ({object})", bad.what);
                    output.errors.push(BadInput { what, ..bad });
                }
                ObjectReport::Planned { summary, unresolved, verdict, reasons } => {
                    output.exit = output.exit.max(exit_status(verdict.verdict));
                    if formats.json {
                        output
                            .lines
                            .push(&CheckLine::judged(object, target, *summary, unresolved, verdict))?;
                    }
                    if formats.text {
                        let cells = [object.to_owned(), name.to_owned(), describe::summary(*summary)];
                        let (verdict, reasons) = (verdict.verdict, Arc::clone(reasons));
                        output.rows.push(Row { verdict, cells, reasons });
                    }
                }
            }
        }
        Ok(output)
    }

    /// Creates the output for a kernel that cannot be read.
    pub(super) fn bad_kernel(
        bad: &BadInput,
        id: Option<&KernelId>,
        formats: OutputFormats,
    ) -> io::Result<Self> {
        let mut output = Self { errors: vec![bad.clone()], ..Self::default() };
        if formats.json {
            let target_id = id.and_then(|id| id.key(&bad.file));
            let target = TargetKeys { target: &bad.file, target_id: target_id.as_deref() };
            output.lines.push(&CheckLine::bad_input(None, Some(target), bad))?;
        }
        Ok(output)
    }
}

/// Creates the line for an object that cannot be read.
pub(super) fn bad_object_line(bad: &BadInput) -> io::Result<JsonLines> {
    let mut line = JsonLines::default();
    line.push(&CheckLine::bad_input(Some(&bad.file), None, bad))?;
    Ok(line)
}

/// Returns the exit status for a verdict.
const fn exit_status(verdict: Verdict) -> ExitStatus {
    match verdict {
        Verdict::Loads => ExitStatus::Success,
        Verdict::Refused | Verdict::NeedsInput => ExitStatus::Incompatible,
        Verdict::Unknown => ExitStatus::Error,
    }
}
