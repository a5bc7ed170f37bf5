//! The output for one kernel: JSON lines, rows of the table, messages. Threads prepare it, and one of them prints it.

use super::report::{KernelReport, ObjectReport};
use crate::{
    console::ExitStatus,
    describe,
    error::BadInput,
    input::kernel::{id::KernelId, release::KernelRelease},
    json::{
        check::{CheckLine, TargetKeys},
        writer::JsonLines,
    },
    report::{FleetReport, Row as FleetRow},
    text::line::Line,
};
use core_relo_verdict::judge::{ObjectVerdict, Verdict};
use std::{io, sync::Arc};

/// The parts of the output to prepare. With `--resume`, both JSON and text are possible.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputOptions {
    pub(super) json: bool,
    pub(super) text: bool,
    /// Whether a report follows, which needs every reason.
    pub(super) report: bool,
    /// Whether an unknown verdict counts as a refusal (`--strict`).
    pub(super) strict: bool,
}

/// The output for one kernel.
#[derive(Default)]
pub(super) struct KernelOutput {
    pub(super) exit: ExitStatus,
    /// Messages for stderr.
    pub(super) errors: Vec<BadInput>,
    pub(super) lines: JsonLines,
    pub(super) rows: Vec<Row>,
    /// The results for the summary and for reports.
    pub(super) fleet: FleetReport,
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
        options: OutputOptions,
    ) -> io::Result<Self> {
        let mut output = Self::default();
        let target_id = id.key(name);
        let target = TargetKeys { target: name, target_id: target_id.as_deref() };
        let release = KernelRelease::from_name(name);
        let fleet_row = |object: &str, outcome| FleetRow {
            object: object.to_owned(),
            kernel: name.to_owned(),
            kernel_version: release.version,
            architecture: release.architecture.map(str::to_owned),
            outcome,
        };
        for (object, report) in objects.zip(&report.0) {
            match report {
                ObjectReport::Mismatch(bad) => {
                    // A cached report has the name under which the file was first read.
                    let bad = BadInput { file: name.to_owned(), ..bad.clone() };
                    if options.json {
                        output.lines.push(&CheckLine::bad_input(Some(object), Some(target), &bad))?;
                    }
                    output.fleet.rows.push(fleet_row(object, Err(bad.clone())));
                    let what = format!("{} ({object})", bad.what);
                    output.errors.push(BadInput { what, ..bad });
                }
                ObjectReport::Planned { summary, unresolved, verdict, reasons } => {
                    output.exit = output.exit.max(exit_status(verdict.verdict, options.strict));
                    if options.json {
                        output
                            .lines
                            .push(&CheckLine::judged(object, target, *summary, unresolved, verdict))?;
                    }
                    // The summary needs only the verdict on the object.
                    let mut judged = ObjectVerdict::default();
                    judged.verdict = verdict.verdict;
                    if options.report {
                        judged.programs.clone_from(&verdict.programs);
                        judged.warnings.clone_from(&verdict.warnings);
                    }
                    output.fleet.rows.push(fleet_row(object, Ok(judged)));
                    if options.text {
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
        options: OutputOptions,
    ) -> io::Result<Self> {
        let mut output = Self { errors: vec![bad.clone()], ..Self::default() };
        output.fleet.unread.push(bad.clone());
        if options.json {
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
const fn exit_status(verdict: Verdict, strict: bool) -> ExitStatus {
    match verdict {
        Verdict::Loads => ExitStatus::Success,
        Verdict::Refused | Verdict::NeedsInput => ExitStatus::Incompatible,
        Verdict::Unknown if strict => ExitStatus::Incompatible,
        Verdict::Unknown => ExitStatus::Error,
    }
}
