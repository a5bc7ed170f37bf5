//! The output for one kernel: JSON lines, rows of the table, messages. Threads prepare it, and one of them prints it.

use super::{
    booted::{AgreementCounts, BootedKernel, ObjectLoads},
    report::{KernelReport, ObjectReport},
};
use crate::{
    console::ExitStatus,
    describe,
    error::{BadInput, escape_path},
    guest::setup,
    input::kernel::{id::KernelId, release::KernelRelease},
    json::{
        check::{CheckLine, TargetKeys},
        verdict::ProgramJson,
        writer::JsonLines,
    },
    report::{FleetReport, Row as FleetRow},
    text::{line::Line, style::DIM},
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
    /// Further lines for stderr: the messages of a guest.
    pub(super) messages: Vec<Line>,
    /// The verdicts of a booted kernel, compared with its real loads.
    pub(super) agreement: AgreementCounts,
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
    /// Creates the output for a kernel that was checked. The real loads of a booted kernel are printed beside the verdicts.
    pub(super) fn new<'o>(
        (name, id): (&str, &KernelId),
        report: &KernelReport,
        objects: impl Iterator<Item = &'o str>,
        booted: Option<&BootedKernel>,
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
        for (index, (object, report)) in objects.zip(&report.0).enumerate() {
            let loads = booted.map(|booted| booted.object(index, object));
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
                    let exit = || exit_status(verdict.verdict, options.strict);
                    output.exit = output.exit.max(loads.as_ref().map_or_else(exit, ObjectLoads::exit_status));
                    if options.json {
                        let realities = loads.iter().flat_map(ObjectLoads::realities);
                        let line =
                            CheckLine::judged(object, target, *summary, unresolved, verdict, realities);
                        output.lines.push(&line)?;
                    }
                    // The summary needs only the verdict on the object.
                    let mut judged = ObjectVerdict::default();
                    judged.verdict = verdict.verdict;
                    if options.report {
                        judged.programs.clone_from(&verdict.programs);
                    }
                    output.fleet.rows.push(fleet_row(object, Ok(judged)));
                    if options.text {
                        let cells = [object.to_owned(), name.to_owned(), describe::summary(*summary)];
                        let reasons = match &loads {
                            Some(loads) => reasons.iter().cloned().chain(loads.lines()).collect(),
                            None => Arc::clone(reasons),
                        };
                        let verdict = verdict.verdict;
                        output.rows.push(Row { verdict, cells, reasons });
                    }
                }
            }
        }
        Ok(output)
    }

    /// Creates the output for a kernel that was judged and booted.
    pub(super) fn booted(
        id: &KernelId,
        booted: &BootedKernel,
        objects: &[&str],
        options: OutputOptions,
    ) -> io::Result<Self> {
        let name = escape_path(&booted.path);
        let mut output = match &booted.report {
            Ok(report) => Self::new((&name, id), report, objects.iter().copied(), Some(booted), options)?,
            Err(bad) => Self::unjudged((&name, id), bad, booted, objects, options)?,
        };
        output.agreement = AgreementCounts::new(booted.programs(objects));
        if let Some(error) = &booted.boot_error {
            output.errors.push(setup::bad_input(error));
            output.messages.extend(setup::console_lines(error));
        }
        let diagnostics = booted.loads.diagnostics.lines();
        output.messages.extend(diagnostics.map(|line| Line::new().styled(DIM, line)));
        Ok(output)
    }

    /// Creates the output for a booted kernel whose types cannot be read: the real loads without verdicts.
    fn unjudged(
        (name, id): (&str, &KernelId),
        bad: &BadInput,
        booted: &BootedKernel,
        objects: &[&str],
        options: OutputOptions,
    ) -> io::Result<Self> {
        let mut output = Self::default();
        output
            .messages
            .push(Line::from(format_args!("core-relo: note: no verdicts, only real loads: {bad}")));
        let target_id = id.key(name);
        let target = TargetKeys { target: name, target_id: target_id.as_deref() };
        for (index, object) in objects.iter().enumerate() {
            let loads = booted.object(index, object);
            output.exit = output.exit.max(loads.exit_status());
            if options.json {
                let programs = loads.programs.iter().zip(loads.realities());
                let programs = programs.map(|(program, reality)| {
                    ProgramJson::unjudged(&program.load.program, program.load.autoload, reality)
                });
                let line = CheckLine::bad_input(Some(object), Some(target), bad);
                output.lines.push(&line.with_programs(programs.collect()))?;
            }
            if options.text {
                let cells = [(*object).to_owned(), name.to_owned(), "no types of the kernel".to_owned()];
                let (verdict, reasons) = (Verdict::Unknown, loads.lines().into());
                output.rows.push(Row { verdict, cells, reasons });
            }
        }
        output.fleet.unread.push(bad.clone());
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
