//! `check`: relocates objects against kernels without loading them, and prints a line for each object and
//! kernel.

pub(crate) mod boot;
mod boot_plan;
pub(crate) mod booted;
mod checker;
mod kernel_output;
mod ordered;
mod report;
mod report_cache;
mod reports;
pub(crate) mod results_command;
pub(crate) mod results_file;
pub(crate) mod results_header;
mod results_reader;
mod row;
mod settings;
mod stored;
mod writer;

use crate::{
    args::relocate::CheckArgs,
    cmd::{
        budget_gate::BudgetGate,
        verdicts::{
            objects::{JudgedObjects, ObjectFiles, with_judged_objects},
            variants::check_single_object,
        },
    },
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult},
    fetched::kernel_paths,
    format::Format,
    input::{input_error::note_text, object::ObjectFile},
    json::check::ObjectKeys,
    output::OutputPath,
    progress::Progress,
    settings::UserSettings,
};
use boot::BootSettings;
use boot_plan::BootPlan;
use booted::BootedKernel;
use checker::Checker;
use core_relo_kernels::{
    Defect, InputError, KernelFilter, KernelId, KernelSelection, KernelSource, stream::Descriptor,
    threads::Threads,
};
use core_relo_report::{FleetReport, policy::AllowList};
use core_relo_verdict::loaders::LoaderKind;
use kernel_output::{CheckPolicy, KernelKeys, KernelOutput, OutputOptions, bad_object_line};
use results_file::ResultsFile;
use results_header::{PreviousResults, ResultsHeader};
use settings::CheckSettings;
use std::path::Path;
use std::{collections::BTreeSet, io, num::NonZeroUsize, ops::ControlFlow};
use writer::{CheckOutput, CheckWriter};

/// The minimum number of kernels for which a progress bar is shown.
const PROGRESS_KERNELS: usize = 4;

pub(crate) fn run(console: &mut Console<'_>, args: &CheckArgs) -> CommandResult {
    if args.resume.is_some()
        && let Some(path) = args.kernels.btf.iter().find(|path| Descriptor::from_path(path).is_some())
    {
        let bad = BadInput::for_path(path, "is standard input or a pipe, expected a file with --resume");
        return Err(bad.help("write its content to a file first").into());
    }
    let (settings, budget) = (CheckSettings::new(args)?, BudgetGate::open(&args.stats)?);
    let jobs = NonZeroUsize::new(args.jobs);
    let threads = CheckThreads { kernels: Threads::new(jobs), objects: Threads::new(jobs) };
    let files = ObjectFiles::read(console, &args.objects, &threads.objects, report_bad_object)?;
    let (loader, user) = (settings.loader, &settings.user);
    with_judged_objects(console, &files, loader, user, &threads.objects, |console, objects| {
        let state = CheckState { resumed: None, budget };
        check_selection(console, args, objects, &threads, &settings, state)
    })
}

/// Checks objects on the kernels that the arguments select.
fn check_selection(
    console: &mut Console<'_>,
    args: &CheckArgs,
    objects: &JudgedObjects<'_>,
    threads: &CheckThreads,
    settings: &CheckSettings<'_>,
    state: CheckState,
) -> CommandResult {
    check_single_object(settings.variants.as_ref(), objects.fleet.objects())?;
    let open_results = |path: &OutputPath| {
        let objects =
            objects.fleet.objects().iter().map(|object| (&*object.data.file.name, object.data.file.bytes()));
        let header = ResultsHeader::new(objects).with_allow(settings.allow_list.patterns());
        let header = header.with_settings(settings.deciding_options());
        ResultsFile::open(path, &header)
    };
    // Without objects there are no results. The header would only stand in the way of the next run.
    let results_path = args.resume.as_ref().filter(|_| !objects.fleet.objects().is_empty());
    let resumed = match results_path.map(open_results).transpose() {
        Ok(resumed) => resumed,
        Err(bad) => return Ok(console.report_error_on_stderr(&bad)?),
    };
    if let Some((results, previous)) = &resumed
        && previous.kernel_count() > 0
    {
        let (name, kernels) = (results.name(), previous.kernel_count());
        console
            .note(&format!("{name}: has the results of {kernels} kernels, which are not checked again"))?;
    }
    // The directories are listed after the results file was created, which may be in one of them.
    let results_file = resumed.as_ref().map(|(results, _)| results.inode());
    let has_kernels = args.boot.is_none() || args.kernels.names_kernels();
    let selection = match has_kernels && !objects.fleet.objects().is_empty() {
        true => {
            // The results file may be in a directory of kernels.
            let is_included = |path: &Path| args.shard.is_none_or(|shard| shard.includes(path));
            let filter = KernelFilter::new(&is_included, results_file);
            KernelSelection::filtered(&kernel_paths(&args.kernels, &args.config)?, filter, &threads.kernels)
        }
        // The images to boot are the only kernels. Without objects, no directory is listed and no kernel is
        // read.
        false => KernelSelection::default(),
    };
    if let Some((results, previous)) = &resumed
        && let Some(bad) = previous.changed_kernel(&selection, results.name())
    {
        return Ok(console.report_error_on_stderr(&bad)?);
    }
    // An entry may be for a kernel of another shard or of an earlier run.
    let is_complete = args.shard.is_none() && resumed.is_none();
    check_kernels(console, objects, &selection, threads, settings, CheckState { resumed, ..state })?;
    if is_complete { Ok(warn_of_unused_entries(console, &settings.allow_list)?) } else { Ok(()) }
}

/// Returns the identity of a directory that cannot be read; `None` for a wrong combination of arguments.
fn unread_kernel(error: &InputError) -> Option<KernelId> {
    let is_combination = matches!(error.defect, Defect::ModulesOfSeveralKernels { .. });
    (!is_combination).then(|| KernelId::File(error.path.clone().into_os_string()))
}

/// Warns of entries of the allow list that have accepted nothing.
fn warn_of_unused_entries(console: &mut Console<'_>, allow_list: &AllowList) -> io::Result<()> {
    allow_list.unused().try_for_each(|entry| {
        console.warn(&format!("{entry}: the entry accepts nothing; help: remove it if the gap is closed"))
    })
}

/// Checks objects on a selection of kernels. Reports bad input on the console.
pub(crate) fn check(
    console: &mut Console<'_>,
    files: Vec<ObjectFile>,
    selection: &KernelSelection,
) -> CommandResult {
    let threads = CheckThreads { kernels: Threads::new(None), objects: Threads::none() };
    let (loader, user) = (LoaderKind::default(), UserSettings::default());
    let files = ObjectFiles::new(files, report_bad_object);
    with_judged_objects(console, &files, loader, &user, &threads.objects, |console, objects| {
        let state = CheckState { resumed: None, budget: BudgetGate::default() };
        Ok(check_kernels(console, objects, selection, &threads, &CheckSettings::default(), state)?)
    })
}

/// Reports an object that cannot be read.
fn report_bad_object(console: &mut Console<'_>, bad: &BadInput) -> io::Result<()> {
    if console.format == Format::Json {
        console.out.json_lines(&bad_object_line(bad)?)?;
    }
    console.report_error_on_stderr(bad)
}

/// The state at the start of a check.
struct CheckState {
    /// The results file of an earlier run, and its results.
    resumed: Option<(ResultsFile, PreviousResults)>,
    budget: BudgetGate,
}

/// Threads that check several kernels, and threads that check several objects on one kernel. The two never
/// work at the same time.
struct CheckThreads {
    kernels: Threads,
    objects: Threads,
}

fn check_kernels(
    console: &mut Console<'_>,
    objects: &JudgedObjects<'_>,
    selection: &KernelSelection,
    threads: &CheckThreads,
    settings: &CheckSettings<'_>,
    CheckState { resumed, mut budget }: CheckState,
) -> io::Result<()> {
    selection.notes.iter().try_for_each(|note| console.note(&note_text(note)))?;
    let (mut results, previous) = match resumed {
        Some((results, previous)) => (Some(results), previous),
        None => (None, PreviousResults::default()),
    };
    console.raise_exit(previous.exit);
    let options = OutputOptions {
        json: results.is_some() || console.format == Format::Json,
        text: console.format == Format::Text && settings.reports.prints_lines(),
        report: settings.reports.needs_reasons(),
        strict: settings.strict,
        is_listed: false,
    };
    let to_judge = selection.sources.iter().filter(|source| !previous.has_source(source));
    let choice = BootPlan::choose(settings.boot.as_ref(), to_judge);
    match choice.not_booted() {
        Some((text, true)) => console.note(&text)?,
        Some((text, false)) => console.report_error_on_stderr(&BadInput::new("--boot", text))?,
        None => {}
    }
    let units = choice.kernels.into_iter().map(|(source, boot)| Unit { source, selection, boot });
    let mut units: Vec<_> = units.collect();
    if let Some(plan) = &settings.boot
        && !objects.fleet.objects().is_empty()
    {
        let (selection, boot) = (&plan.images, Some(&plan.settings));
        units.extend(selection.sources.iter().map(|source| Unit { source, selection, boot }));
    }
    if console.exit == ExitStatus::Error {
        // So far, only objects have been read.
        budget.record_incomplete("an object cannot be read");
    }
    let no_threads = Threads::none();
    let object_threads = if units.len() == 1 { &threads.objects } else { &no_threads };
    let policy = CheckPolicy { allow_list: &settings.allow_list, baseline: settings.baseline.as_ref() };
    let checker = Checker::new(objects, settings.inputs.clone(), policy, object_threads, options)
        .with_variants(settings.variants.as_ref());
    // Reports name the objects that cannot be read, and those with bad tables of variants.
    let mut bad_objects = objects.bad.clone();
    for bad in checker.bad_variants() {
        budget.record_incomplete(bad.to_string());
        report_bad_object(console, bad)?;
        bad_objects.push(bad.clone());
    }
    let keys: Vec<_> =
        objects.fleet.objects().iter().map(|object| ObjectKeys::new(object.data.file)).collect();
    let names: Vec<_> = keys.iter().map(|keys| keys.object).collect();
    let mut progress = Progress::new("kernels", units.len(), PROGRESS_KERNELS);
    let needs_results = CheckWriter::needs_fleet(console, &settings.reports);
    let stored = match &mut results {
        Some(results) if needs_results && previous.kernel_count() > 0 => match results.stored() {
            Ok(stored) => stored,
            Err(bad) => return console.report_error_on_stderr(&bad),
        },
        _ => FleetReport::default(),
    };
    let mut writer =
        CheckWriter::new(console, results, &settings.reports).with_all_lines(settings.prints_all);
    writer.add_unread(bad_objects);
    writer.write_stored(stored, settings.strict)?;
    for error in &selection.errors {
        let id = unread_kernel(error);
        if !id.as_ref().is_some_and(|id| previous.has_kernel(id)) {
            let keys = id.as_ref().map(|id| KernelKeys::new(id, None));
            let output = KernelOutput::bad_kernel(&error.into(), keys, options)?;
            writer.write(CheckOutput::Kernel(id, Box::new(output)))?;
        }
    }
    let work = |unit: &Unit<'_>, send: &mut dyn FnMut(io::Result<UnitOutput>) -> ControlFlow<()>| {
        let is_wanted = |id: &_| !previous.has_kernel(id);
        let note = unit.selection.visit_images(unit.source, &is_wanted, &mut |id, image| {
            send(match unit.boot {
                Some(boot) => {
                    Ok(UnitOutput::Booted(id.clone(), Box::new(checker.boot(unit.source, image, boot))))
                }
                None => checker.check(id, image, unit.source).map(|kernel| {
                    UnitOutput::Judged(CheckOutput::Kernel(Some(id.clone()), Box::new(kernel)))
                }),
            })
        });
        if let Some(note) = note {
            let _: ControlFlow<()> = send(Ok(UnitOutput::Judged(CheckOutput::Note(note_text(&note)))));
        }
    };
    let (mut kernel_count, mut ended_units) = (0u64, units.iter());
    let (mut skipped, mut has_kernel) = (SkippedKernels::default(), previous.kernel_count() > 0);
    ordered::for_each_in_order(&threads.kernels, &units, work, |output| {
        let Some(output) = output.transpose()? else {
            if let Some(KernelSource::Archive(path)) = ended_units.next().map(|unit| unit.source) {
                writer.end_archive(path);
            }
            // An archive without kernels counts as one.
            if kernel_count == 0 {
                progress.count(false);
            }
            kernel_count = 0;
            return Ok(());
        };
        let output = match output {
            UnitOutput::Judged(output) => output,
            UnitOutput::Booted(id, booted) => {
                booted.record(&names, &mut budget);
                let output = KernelOutput::booted(&id, &booted, &keys, policy, options)?;
                CheckOutput::Kernel(Some(id), Box::new(output))
            }
        };
        if let CheckOutput::Kernel(_, kernel) = &output {
            has_kernel |= kernel.skipped.is_none();
            skipped.add(kernel.skipped.as_ref());
            progress.count(kernel_count != 0);
            kernel_count += 1;
        }
        progress.write_above(&mut writer, |writer| writer.write(output), CheckWriter::flush_console)
    })?;
    drop(progress);
    // Another shard may have the kernels that fit.
    if !has_kernel
        && !settings.is_shard
        && let Some(bad) = skipped.no_fitting_kernel()
    {
        let output = KernelOutput::bad_kernel(&bad, None, options)?;
        writer.write(CheckOutput::Kernel(None, Box::new(output)))?;
    }
    writer.finish(&settings.reports)?;
    budget.finish(console)
}

/// Whether kernels were skipped, and the remedies.
#[derive(Debug, Default)]
struct SkippedKernels {
    is_any_skipped: bool,
    remedies: BTreeSet<String>,
}

impl SkippedKernels {
    /// Adds the reason why a kernel is skipped, if it is.
    fn add(&mut self, reason: Option<&BadInput>) {
        if let Some(bad) = reason {
            self.is_any_skipped = true;
            self.remedies.extend(bad.help.clone());
        }
    }

    /// Returns the error if every kernel is skipped.
    fn no_fitting_kernel(self) -> Option<BadInput> {
        let remedies: Vec<_> = self.remedies.into_iter().collect();
        let help = Some(remedies.join("; or ")).filter(|help| !help.is_empty());
        self.is_any_skipped.then(|| no_fitting_kernel(help))
    }
}

/// Creates the error if every kernel is skipped, with the remedies.
pub(crate) fn no_fitting_kernel(help: Option<String>) -> BadInput {
    BadInput { help, ..BadInput::new("--btf", "no kernel fits the objects: all are skipped") }
}

/// A kernel, or an archive of kernels, to check.
struct Unit<'s> {
    source: &'s KernelSource,
    /// The selection of the source.
    selection: &'s KernelSelection,
    /// The settings of the guest, for an image that boots.
    boot: Option<&'s BootSettings<'s>>,
}

/// A result of a unit.
enum UnitOutput {
    Judged(CheckOutput),
    Booted(KernelId, Box<BootedKernel>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_remedy_for_skipped_kernels_is_named_once() {
        let mut skipped = SkippedKernels::default();
        assert!(SkippedKernels::default().no_fitting_kernel().is_none());
        let bad = |help: &str| BadInput::new("vmlinux", "skipped").help(help);
        for help in ["use B", "use A", "use B"] {
            skipped.add(Some(&bad(help)));
        }
        skipped.add(None);
        let error = skipped.no_fitting_kernel().map(|bad| bad.to_string());
        let expected = "--btf: no kernel fits the objects: all are skipped; use A; or use B";
        assert_eq!(error.as_deref(), Some(expected));
    }
}
