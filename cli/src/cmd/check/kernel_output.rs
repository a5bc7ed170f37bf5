//! The output for one kernel: JSON lines, rows of the table, messages. Threads prepare it, and one of them
//! prints it.

use super::{
    booted::{BootedKernel, ObjectLoads},
    report::{KernelReport, ObjectReport, REASONS},
    row::{Row, exit_status},
};
use crate::{
    cmd::{guest_setup, verdicts::reasons::reason_lines},
    console::ExitStatus,
    error::BadInput,
    json::{
        check::{CheckLine, KernelJson, ObjectKeys, TargetKeys},
        verdict::ProgramJson,
    },
    text::{line::Line, style::DIM},
};
use core_relo_kernels::{FetchedKernel, KernelId, KernelRelease};
use core_relo_report::{
    AgreementCounts, Baseline, FleetReport, KernelWarning, Row as FleetRow, UnjudgedInput,
    json::JsonLines,
    policy::{Acceptance, AllowList, KernelNames},
};
use core_relo_verdict::{
    judge::{ObjectVerdict, ProgramVerdict, Reason},
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

/// What decides which refusals count.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckPolicy<'p> {
    pub(super) allow_list: &'p AllowList,
    pub(super) baseline: Option<&'p Baseline>,
}

/// What is known of a kernel that has not been read.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelKeys<'k> {
    id: &'k KernelId,
    /// The fetched kernel, if it is one.
    fetched: Option<&'k FetchedKernel>,
}

impl<'k> KernelKeys<'k> {
    pub(super) const fn new(id: &'k KernelId, fetched: Option<&'k FetchedKernel>) -> Self {
        Self { id, fetched }
    }

    fn series(self) -> Option<&'k str> {
        Some(&self.fetched?.series)
    }

    fn distribution(self) -> Option<&'k DistributionKernel> {
        self.fetched?.distribution.as_ref()
    }
}

/// The output for one kernel.
#[derive(Default)]
pub(super) struct KernelOutput {
    pub(super) exit: ExitStatus,
    /// Messages for stderr.
    pub(super) errors: Vec<BadInput>,
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

impl KernelOutput {
    /// Creates the output for a kernel that was checked. The real loads of a booted kernel are printed beside
    /// the verdicts.
    pub(super) fn new(
        (name, keys): (&str, KernelKeys<'_>),
        report: &KernelReport,
        objects: &[ObjectKeys<'_>],
        (policy, booted): (CheckPolicy<'_>, Option<&BootedKernel>),
        options: OutputOptions,
    ) -> io::Result<Self> {
        let mut output = Self::default();
        let target_id = keys.id.key(name);
        let distribution = report.distribution.as_ref();
        let release = release_of(name, distribution);
        let kernel = KernelJson::new(&release, keys.series());
        let target =
            TargetKeys { target: name, target_id: target_id.as_deref(), kernel: &kernel, distribution };
        let kernel_warning = |text: &String| KernelWarning::new(name, &**text);
        output.fleet.kernel_warnings.extend(report.warnings.iter().map(kernel_warning));
        let mut names = KernelNames::new(name, report.release.as_deref());
        names.version = release.version;
        names.is_listed = options.is_listed;
        let entries = policy.allow_list.for_kernel(&names);
        for (index, (keys, object_report)) in objects.iter().copied().zip(&report.objects).enumerate() {
            let object = keys.object;
            let loads = booted.map(|booted| booted.object(index, object));
            match object_report {
                ObjectReport::BadVariants => {}
                ObjectReport::Mismatch(bad) => {
                    // A cached report has the name under which the file was first read.
                    let bad = BadInput { file: name.to_owned(), ..bad.clone() };
                    if options.json {
                        let line = CheckLine::bad_input(Some(keys), Some(target), &bad);
                        output.lines.push(&line.with_kernel_warnings(&report.warnings))?;
                    }
                    output.push(fleet_row(object, target, &release, Err(&bad)), options);
                    let what = format!("{} ({object})", bad.what);
                    output.errors.push(BadInput { what, ..bad });
                }
                ObjectReport::Planned { summary, unresolved, verdict, adaptive, reasons, notes } => {
                    let acceptance = entries.accept(object, verdict);
                    let mut row = fleet_row(object, target, &release, Ok(Arc::clone(verdict)));
                    row.relocations = Some(*summary);
                    row.real_loads = loads.iter().flat_map(ObjectLoads::for_report).collect();
                    row.acceptance.clone_from(&acceptance);
                    row.comparison = policy.baseline.map(|baseline| baseline.compare(&row));
                    if options.json {
                        let realities = loads.iter().flat_map(ObjectLoads::realities);
                        let line = CheckLine::judged(keys, target, *summary, unresolved, verdict, realities);
                        let line = line.with_acceptance(acceptance.as_ref());
                        let line =
                            line.with_default_load(loads.as_ref().and_then(ObjectLoads::default_load_json));
                        let line = line.with_startup_report(adaptive.as_deref(), name);
                        let line = line.with_comparison(row.comparison.as_ref());
                        output.lines.push(&line.with_kernel_warnings(&report.warnings))?;
                    }
                    if options.text {
                        let reasons = match &acceptance {
                            None => Arc::clone(reasons),
                            Some(acceptance) => reason_lines(verdict, Some(acceptance), Some(REASONS)).into(),
                        };
                        let notes = match &loads {
                            Some(loads) => notes.iter().cloned().chain(loads.lines()).collect(),
                            None => Arc::clone(notes),
                        };
                        output.rows.push(Row::new(&row, reasons, notes));
                    }
                    if !options.report {
                        row.outcome = Ok(Arc::new(without_evidence(verdict, options)));
                    }
                    // The real loads and the groups of the text need the acceptance of each program.
                    row.acceptance = match options.report || options.text || loads.is_some() {
                        true => acceptance,
                        false => acceptance.map(Acceptance::without_details),
                    };
                    output.push(row, options);
                }
            }
        }
        Ok(output)
    }

    /// Creates the output for a kernel that was judged and booted.
    pub(super) fn booted(
        id: &KernelId,
        booted: &BootedKernel,
        objects: &[ObjectKeys<'_>],
        policy: CheckPolicy<'_>,
        options: OutputOptions,
    ) -> io::Result<Self> {
        let kernel = KernelKeys::new(id, booted.fetched.as_ref());
        if let (Err(_), Some(error)) = (&booted.report, &booted.boot_error) {
            let mut output = Self::bad_kernel(&guest_setup::bad_input(error), Some(kernel), options)?;
            output.exit = ExitStatus::Error;
            output.is_booted = true;
            output.messages.extend(guest_setup::console_lines(error));
            return Ok(output);
        }
        let name = &*booted.name;
        let mut output = match &booted.report {
            Ok(report) => Self::new((name, kernel), report, objects, (policy, Some(booted)), options)?,
            Err(bad) => Self::unjudged((name, kernel), bad, (policy, booted), objects, options)?,
        };
        output.is_booted = true;
        let names: Vec<_> = objects.iter().map(|keys| keys.object).collect();
        output.agreement = booted.agreements(&names).collect();
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
        (name, keys): (&str, KernelKeys<'_>),
        bad: &BadInput,
        (policy, booted): (CheckPolicy<'_>, &BootedKernel),
        objects: &[ObjectKeys<'_>],
        options: OutputOptions,
    ) -> io::Result<Self> {
        let mut output = Self::default();
        output
            .messages
            .push(Line::from(format_args!("core-relo: note: no verdicts, only real loads: {bad}")));
        let (target_id, distribution) = (keys.id.key(name), keys.distribution());
        let release = release_of(name, distribution);
        let kernel = KernelJson::new(&release, keys.series());
        let target =
            TargetKeys { target: name, target_id: target_id.as_deref(), kernel: &kernel, distribution };
        for (index, keys) in objects.iter().copied().enumerate() {
            let loads = booted.object(index, keys.object);
            let mut row = fleet_row(keys.object, target, &release, Err(bad));
            row.real_loads = loads.for_report().collect();
            row.comparison = policy.baseline.map(|baseline| baseline.compare(&row));
            if options.json {
                let programs = loads.programs.iter().zip(loads.realities());
                let programs = programs.map(|(program, reality)| {
                    ProgramJson::unjudged(program.subject(), program.autoload(), reality)
                });
                let line = CheckLine::bad_input(Some(keys), Some(target), bad);
                let line = line.with_programs(programs.collect()).with_comparison(row.comparison.as_ref());
                output.lines.push(&line.with_default_load(loads.default_load_json()))?;
            }
            if options.text {
                output.rows.push(Row::new(&row, Arc::default(), loads.lines().into()));
            }
            output.push(row, options);
        }
        Ok(output)
    }

    /// Adds the result for an object.
    fn push(&mut self, row: FleetRow, options: OutputOptions) {
        self.exit = self.exit.max(exit_status(row.conclusion(), options.strict));
        self.fleet.rows.push(row);
    }

    /// Creates the output for a kernel that the user did not name, and that no object fits.
    pub(super) fn skipped(name: &str, bad: &BadInput) -> Self {
        Self { skipped: Some(BadInput { file: name.to_owned(), ..bad.clone() }), ..Self::default() }
    }

    /// Creates the output for a kernel that cannot be read.
    pub(super) fn bad_kernel(
        bad: &BadInput,
        keys: Option<KernelKeys<'_>>,
        options: OutputOptions,
    ) -> io::Result<Self> {
        let mut output = Self { errors: vec![bad.clone()], ..Self::default() };
        output.fleet.unread.push(bad.into());
        if options.json {
            let target_id = keys.and_then(|keys| keys.id.key(&bad.file));
            let distribution = keys.and_then(KernelKeys::distribution);
            let release = release_of(&bad.file, distribution);
            let kernel = KernelJson::new(&release, keys.and_then(KernelKeys::series));
            let target = TargetKeys {
                target: &bad.file,
                target_id: target_id.as_deref(),
                kernel: &kernel,
                distribution,
            };
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

/// Returns the parts of a verdict that the summary and the groups of the text need. Without evidence, most
/// kernels have equal verdicts, which are in memory once.
fn without_evidence(verdict: &ObjectVerdict, options: OutputOptions) -> ObjectVerdict {
    let mut part = ObjectVerdict::default();
    part.verdict = verdict.verdict;
    if options.text {
        let plain = |reason: &Reason| {
            let mut plain = reason.clone();
            plain.evidence = None;
            plain
        };
        part.reasons = verdict.reasons.iter().map(plain).collect();
        let programs = verdict.programs.iter().map(|program| {
            let reasons = program.reasons.iter().map(plain).collect();
            let mut part = ProgramVerdict::new(&*program.name, reasons);
            part.autoload = program.autoload;
            part.verdict = program.verdict;
            part
        });
        part.programs = programs.collect();
        part.warnings.clone_from(&verdict.warnings);
    }
    part
}

/// Creates the result for an object on a kernel.
fn fleet_row(
    object: &str,
    target: TargetKeys<'_>,
    release: &KernelRelease,
    outcome: Result<Arc<ObjectVerdict>, &BadInput>,
) -> FleetRow {
    let mut row = FleetRow::new(object, target.target, outcome.map_err(UnjudgedInput::from));
    row.kernel_series.clone_from(&target.kernel.series);
    row.distribution = target.distribution.cloned();
    row.kernel_version = release.version;
    row.architecture = release.architecture.map(str::to_owned);
    row
}

/// Creates the line for an object that cannot be read.
pub(super) fn bad_object_line(bad: &BadInput) -> io::Result<JsonLines> {
    let mut line = JsonLines::default();
    let keys = ObjectKeys { object: &bad.file, object_hash: None };
    line.push(&CheckLine::bad_input(Some(keys), None, bad))?;
    Ok(line)
}
