//! The output for one kernel: JSON lines, rows of the table, messages. Threads prepare it, and one of them
//! prints it.

use super::{
    booted::{BootedKernel, ObjectLoads},
    report::{KernelReport, ObjectReport, REASONS},
};
use crate::{
    cmd::{
        guest_setup,
        verdicts::{exit_status, reasons::reason_lines},
    },
    console::ExitStatus,
    describe,
    error::BadInput,
    json::{
        check::{CheckLine, TargetKeys},
        verdict::ProgramJson,
    },
    text::{
        line::Line,
        style::{self, DIM},
    },
};
use anstyle::Style;
use core_relo_kernels::{KernelId, KernelRelease};
use core_relo_report::{
    AgreementCounts, FleetReport, KernelWarning, Row as FleetRow, UnjudgedInput,
    json::JsonLines,
    policy::{Acceptance, AllowList, KernelNames},
};
use core_relo_verdict::{
    judge::{ObjectVerdict, Verdict},
    kernel::DistributionKernel,
};
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
    /// Whether the kernel is one of a directory or an archive.
    pub(super) is_listed: bool,
}

/// The output for one kernel.
#[derive(Default)]
pub(super) struct KernelOutput {
    pub(super) exit: ExitStatus,
    /// Messages for stderr.
    pub(super) errors: Vec<BadInput>,
    /// Warnings for stderr, with the kernel's name.
    pub(super) warnings: Vec<String>,
    /// The reason why the kernel is skipped, with the name of the kernel as its file.
    pub(super) skipped: Option<BadInput>,
    /// Further lines for stderr: the messages of a guest.
    pub(super) messages: Vec<Line>,
    /// Whether the kernel was booted, or was to boot.
    pub(super) is_booted: bool,
    /// The verdicts of a booted kernel, compared with its real loads.
    pub(super) agreement: AgreementCounts,
    pub(super) lines: JsonLines,
    pub(super) rows: Vec<Row>,
    /// The results for the summary and for reports.
    pub(super) fleet: FleetReport,
}

/// A row of the table, and the lines below it.
pub(super) struct Row {
    /// The style and the word of the verdict.
    pub(super) verdict: (Style, &'static str),
    pub(super) cells: [String; 3],
    pub(super) reasons: Arc<[Line]>,
    pub(super) notes: Arc<[Line]>,
}

impl KernelOutput {
    /// Creates the output for a kernel that was checked. The real loads of a booted kernel are printed beside
    /// the verdicts.
    pub(super) fn new(
        (name, id): (&str, &KernelId),
        report: &KernelReport,
        objects: &[&str],
        (allow_list, booted): (&AllowList, Option<&BootedKernel>),
        options: OutputOptions,
    ) -> io::Result<Self> {
        let mut output = Self::default();
        let target_id = id.key(name);
        let distribution = report.distribution.as_ref();
        let target = TargetKeys { target: name, target_id: target_id.as_deref(), distribution };
        output.warnings.extend(report.warnings.iter().map(|warning| format!("{name}: {warning}")));
        let kernel_warning = |text: &String| KernelWarning::new(name, &**text);
        output.fleet.kernel_warnings.extend(report.warnings.iter().map(kernel_warning));
        let release = release_of(name, distribution);
        let mut names = KernelNames::new(name, report.release.as_deref());
        names.version = release.version;
        names.is_listed = options.is_listed;
        let entries = allow_list.for_kernel(&names);
        for (index, (object, object_report)) in objects.iter().copied().zip(&report.objects).enumerate() {
            let loads = booted.map(|booted| booted.object(index, object));
            match object_report {
                ObjectReport::BadVariants => {}
                ObjectReport::Mismatch(bad) => {
                    // A cached report has the name under which the file was first read.
                    let bad = BadInput { file: name.to_owned(), ..bad.clone() };
                    if options.json {
                        output.lines.push(&CheckLine::bad_input(Some(object), Some(target), &bad))?;
                    }
                    let mut row = fleet_row(object, name, &release, Err(&bad));
                    row.distribution = distribution.cloned();
                    output.fleet.rows.push(row);
                    let what = format!("{} ({object})", bad.what);
                    output.errors.push(BadInput { what, ..bad });
                }
                ObjectReport::Planned { summary, unresolved, verdict, adaptive, reasons, notes } => {
                    let acceptance = entries.accept(object, verdict);
                    let verdict_left = acceptance.as_ref().map_or(verdict.verdict, |a| a.verdict);
                    let exit = || exit_status(verdict_left, options.strict);
                    let real_exit = |loads: &ObjectLoads<'_>| loads.exit_status(acceptance.as_ref());
                    output.exit = output.exit.max(loads.as_ref().map_or_else(exit, real_exit));
                    if options.json {
                        let realities = loads.iter().flat_map(ObjectLoads::realities);
                        let line =
                            CheckLine::judged(object, target, *summary, unresolved, verdict, realities);
                        let line = line.with_acceptance(acceptance.as_ref());
                        let line =
                            line.with_default_load(loads.as_ref().and_then(ObjectLoads::default_load_json));
                        let line = line.with_startup_report(adaptive.as_deref(), name);
                        output.lines.push(&line.with_kernel_warnings(&report.warnings))?;
                    }
                    if options.text {
                        let cells = [object.to_owned(), name.to_owned(), describe::summary(*summary)];
                        let reasons = match &acceptance {
                            None => Arc::clone(reasons),
                            Some(acceptance) => reason_lines(verdict, Some(acceptance), Some(REASONS)).into(),
                        };
                        let notes = match &loads {
                            Some(loads) => notes.iter().cloned().chain(loads.lines()).collect(),
                            None => Arc::clone(notes),
                        };
                        let is_allowed = verdict_left == Verdict::Loads && verdict.verdict != Verdict::Loads;
                        let verdict = match is_allowed {
                            true => (DIM, "allowed"),
                            false => (style::verdict_style(verdict_left), describe::verdict(verdict_left)),
                        };
                        output.rows.push(Row { verdict, cells, reasons, notes });
                    }
                    // The summary needs only the verdict on the object.
                    let judged = if options.report {
                        Arc::clone(verdict)
                    } else {
                        let mut judged = ObjectVerdict::default();
                        judged.verdict = verdict.verdict;
                        Arc::new(judged)
                    };
                    // The real loads need the acceptance of each program.
                    let acceptance = match options.report || loads.is_some() {
                        true => acceptance,
                        false => acceptance.map(Acceptance::without_details),
                    };
                    let mut row = fleet_row(object, name, &release, Ok(judged));
                    row.acceptance = acceptance;
                    row.distribution = distribution.cloned();
                    row.real_loads = loads.iter().flat_map(ObjectLoads::for_report).collect();
                    output.fleet.rows.push(row);
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
        allow_list: &AllowList,
        options: OutputOptions,
    ) -> io::Result<Self> {
        if let (Err(_), Some(error)) = (&booted.report, &booted.boot_error) {
            let mut output = Self::bad_kernel(&guest_setup::bad_input(error), Some(id), options)?;
            output.exit = ExitStatus::Error;
            output.is_booted = true;
            output.messages.extend(guest_setup::console_lines(error));
            return Ok(output);
        }
        let name = &*booted.name;
        let mut output = match &booted.report {
            Ok(report) => Self::new((name, id), report, objects, (allow_list, Some(booted)), options)?,
            Err(bad) => Self::unjudged((name, id), bad, booted, objects, options)?,
        };
        output.is_booted = true;
        output.agreement = booted.agreements(objects).collect();
        if let Some(error) = &booted.boot_error {
            output.errors.push(guest_setup::bad_input(error));
            output.messages.extend(guest_setup::console_lines(error));
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
        let target = TargetKeys { target: name, target_id: target_id.as_deref(), distribution: None };
        let release = KernelRelease::from_name(name);
        for (index, object) in objects.iter().enumerate() {
            let loads = booted.object(index, object);
            output.exit = output.exit.max(loads.exit_status(None));
            let mut row = fleet_row(object, name, &release, Err(bad));
            row.real_loads = loads.for_report().collect();
            output.fleet.rows.push(row);
            if options.json {
                let programs = loads.programs.iter().zip(loads.realities());
                let programs = programs.map(|(program, reality)| {
                    ProgramJson::unjudged(program.subject(), program.autoload(), reality)
                });
                let line = CheckLine::bad_input(Some(object), Some(target), bad);
                let line = line.with_programs(programs.collect());
                output.lines.push(&line.with_default_load(loads.default_load_json()))?;
            }
            if options.text {
                let cells = [(*object).to_owned(), name.to_owned(), "no types of the kernel".to_owned()];
                let verdict = (style::verdict_style(Verdict::Unknown), describe::verdict(Verdict::Unknown));
                let (reasons, notes) = (Arc::default(), loads.lines().into());
                output.rows.push(Row { verdict, cells, reasons, notes });
            }
        }
        Ok(output)
    }

    /// Creates the output for a kernel that the user did not name, and that no object fits.
    pub(super) fn skipped(name: &str, bad: &BadInput) -> Self {
        Self { skipped: Some(BadInput { file: name.to_owned(), ..bad.clone() }), ..Self::default() }
    }

    /// Creates the output for a kernel that cannot be read.
    pub(super) fn bad_kernel(
        bad: &BadInput,
        id: Option<&KernelId>,
        options: OutputOptions,
    ) -> io::Result<Self> {
        let mut output = Self { errors: vec![bad.clone()], ..Self::default() };
        output.fleet.unread.push(bad.into());
        if options.json {
            let target_id = id.and_then(|id| id.key(&bad.file));
            let target =
                TargetKeys { target: &bad.file, target_id: target_id.as_deref(), distribution: None };
            output.lines.push(&CheckLine::bad_input(None, Some(target), bad))?;
        }
        Ok(output)
    }
}

/// Returns the version and the architecture of a kernel: those of its package, or else those in its name.
fn release_of(name: &str, distribution: Option<&DistributionKernel>) -> KernelRelease {
    let of_name = KernelRelease::from_name(name);
    let Some(package) = distribution else { return of_name };
    KernelRelease {
        version: package.linux_version().or(of_name.version),
        architecture: of_name
            .architecture
            .or_else(|| KernelRelease::known_architecture(&package.architecture)),
    }
}

/// Creates the result for an object on a kernel.
fn fleet_row(
    object: &str,
    kernel: &str,
    release: &KernelRelease,
    outcome: Result<Arc<ObjectVerdict>, &BadInput>,
) -> FleetRow {
    let mut row = FleetRow::new(object, kernel, outcome.map_err(UnjudgedInput::from));
    row.kernel_version = release.version;
    row.architecture = release.architecture.map(str::to_owned);
    row
}

/// Creates the line for an object that cannot be read.
pub(super) fn bad_object_line(bad: &BadInput) -> io::Result<JsonLines> {
    let mut line = JsonLines::default();
    line.push(&CheckLine::bad_input(Some(&bad.file), None, bad))?;
    Ok(line)
}
