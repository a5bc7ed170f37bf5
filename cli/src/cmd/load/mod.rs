//! `load`: loads objects into the running kernel, or prints the load plan.

pub(crate) mod adaptive;
mod dry_run;
mod loaded_object;
mod loader_file;
mod object_loader;
pub(crate) mod report;
pub(crate) mod setup;
#[cfg(test)]
mod tests;

use crate::{
    args::load::LoadArgs,
    attach_point,
    cmd::budget_gate::BudgetGate,
    console::{Console, ExitStatus},
    error::{BadInput, CommandError, CommandResult, escape_path},
    events::{EventLimits, find_sources, print_events},
    input::{
        object::{ObjectFile, object_name},
        variant_table::unchosen_note,
    },
    output::is_ended_by_signal,
    process::{interrupt::InterruptibleKernel, signals::TerminationSignals},
    settings::{UserSettings, check_program_name},
};
use adaptive::read_table;
use core_relo_kernels::Kernel;
use core_relo_loader::{Loader, load_plan::TargetKernel, loader_program::LoaderFile, target::KernelBtf};
use dry_run::DryRunKernel;
use loaded_object::LoadedObject;
use object_loader::ObjectLoader;
use report::end_by_signal;
use setup::{pin_dirs, set_up, set_up_loading};
use std::{path::Path, sync::Arc};

/// The bit of a log level that logs statistics (kernel: `BPF_LOG_STATS`).
const LOG_STATS: u32 = 4;

/// The largest number of programs that are named with their places if nothing was attached.
const NAMED_PROGRAMS: usize = 3;

pub(crate) fn run(console: &mut Console<'_>, args: &LoadArgs) -> CommandResult {
    if args.dry_run {
        // A dry run changes nothing that a signal would have to undo.
        return load_all(console, args, &InterruptibleKernel::new(&mut || false)).map(drop);
    }
    let mut termination = TerminationSignals::catch_all()?;
    let loaded = load_all(console, args, &InterruptibleKernel::new(&mut || termination.has_arrived()));
    let finished = match loaded {
        Ok(Some(loaded)) => keep_loaded(console, args, loaded, &mut termination),
        Ok(None) => return end_by_signal(console, termination),
        Err(e) => Err(e),
    };
    match finished {
        Err(CommandError::Output(e)) if is_ended_by_signal(&e) => end_by_signal(console, termination),
        Err(e) => {
            if args.attaches() || args.pin.is_some() {
                // The objects whose report was not delivered are unloaded again.
                console.raise_exit(ExitStatus::Error);
            }
            Err(e)
        }
        Ok(()) => {
            termination.ignore_until_exit();
            Ok(())
        }
    }
}

/// Leaves pinned objects in the kernel. Keeps objects that are only attached until a signal arrives.
fn keep_loaded(
    console: &mut Console<'_>,
    args: &LoadArgs,
    mut loaded: Vec<LoadedObject>,
    termination: &mut TerminationSignals,
) -> CommandResult {
    if args.pin.is_some() {
        // Flushing is the last step that can fail or wait. If the report cannot be printed, dropping the
        // objects undoes the load, except for the pins of maps that the objects themselves name.
        console.out.flush()?;
        let links = loaded.iter().flat_map(|object| &object.links);
        let unpinned: Vec<_> =
            links.filter(|link| link.fd().is_none()).map(|link| link.label().to_owned()).collect();
        loaded.into_iter().for_each(LoadedObject::leak);
        for name in unpinned {
            let note = "attached without a link, which no pin keeps: it stays when the pins are removed";
            console.note(&format!("{name}: {note}; `core-relo prog detach` detaches classifiers"))?;
        }
    } else if args.attaches() && !loaded.is_empty() {
        console.out.flush()?;
        if loaded.iter().any(|object| !object.links.is_empty()) {
            console.note("attached; Ctrl-C detaches")?;
            match loaded.iter_mut().find_map(|object| object.events.as_mut()) {
                Some(readers) => {
                    let limits = EventLimits::new(args.events.count, args.events.timeout);
                    print_events(console, readers, limits, &mut || termination.has_arrived())?;
                }
                None => termination.wait(),
            }
        } else {
            console.raise_exit(ExitStatus::Incompatible);
            console.note(&nothing_attached(&loaded))?;
        }
        for e in loaded.into_iter().flat_map(LoadedObject::detach) {
            console.report_error_on_stderr(&BadInput::new("detaching", e))?;
        }
    }
    Ok(())
}

/// Returns the message that nothing was attached, with the places where the programs can be attached.
fn nothing_attached(loaded: &[LoadedObject]) -> String {
    let programs: Vec<_> = loaded.iter().flat_map(|object| object.loaded.programs()).collect();
    let (mut places, mut others) = (Vec::new(), Vec::new());
    for program in programs.iter().take(NAMED_PROGRAMS) {
        match attach_point::place_for(program.plan.program_type()) {
            Ok(place) => places.push(format!("--attach-to {}={place}", program.name())),
            Err(other) => others.push(format!("; program `{}`: {other}", program.name())),
        }
    }
    let mut message = "nothing was attached".to_owned();
    if !places.is_empty() {
        message = format!("{message}; name a place: {}", places.join(", "));
    }
    message.extend(others);
    match programs.len() {
        0 => message.push_str(", as no program was loaded"),
        count if count > NAMED_PROGRAMS => {
            message.push_str(&format!("; {} more programs", count - NAMED_PROGRAMS))
        }
        _ => {}
    }
    message
}

/// Loads the objects, and returns those that stay loaded. Returns `None` if a signal arrived, after
/// everything was undone.
fn load_all(
    console: &mut Console<'_>,
    args: &LoadArgs,
    kernel: &InterruptibleKernel<'_>,
) -> CommandResult<Option<Vec<LoadedObject>>> {
    if !args.events.print.is_empty() && args.objects.len() > 1 {
        let what = format!("{} objects, expected one", args.objects.len());
        return Err(BadInput::new("--print", what).into());
    }
    if !args.attach_to.is_empty() && args.objects.len() > 1 {
        let what = format!("{} objects, expected one", args.objects.len());
        return Err(BadInput::new("--attach-to", what).into());
    }
    let (target, judged_kernel) = target_kernel(args)?;
    if let (Some(version), Some(kernels)) = (args.kernel_version, &judged_kernel)
        && let Some(warning) = kernels.kernel.version_warning(version)
    {
        console.warn(&format!("{}: {warning}", kernels.kernel.name))?;
    }
    let mut budget = BudgetGate::open(&args.stats)?;
    let pin_dirs = pin_dirs(args)?;
    let mut settings = UserSettings::new(&args.setup.settings)?;
    if args.objects.len() != 1 {
        settings = settings.check_files(&args.objects)?;
    }
    let mut loaded = Vec::new();
    for (path, pin_dir) in args.objects.iter().zip(&pin_dirs) {
        if kernel.check_interrupted() {
            break;
        }
        let (target, judged_kernel, pin_dir) = (&target, judged_kernel.as_ref(), pin_dir.as_deref());
        let settings = &settings;
        let request = LoadRequest { args, settings, path, pin_dir, target, judged_kernel, kernel };
        match request.run(console, &mut budget) {
            Ok(object) => loaded.extend(object),
            Err(CommandError::BadInput(bad)) => {
                budget.record_incomplete(bad.to_string());
                console.report_load_error(&escape_path(path), &bad)?;
            }
            Err(e) => return Err(e),
        }
    }
    if kernel.is_interrupted() {
        return Ok(None);
    }
    budget.finish(console)?;
    Ok(Some(loaded))
}

/// One object to load.
struct LoadRequest<'a, 's> {
    args: &'a LoadArgs,
    settings: &'a UserSettings,
    path: &'a Path,
    /// The directory in which the object is pinned.
    pin_dir: Option<&'a Path>,
    target: &'a TargetKernel,
    /// The kernel that a dry run judges the object on.
    judged_kernel: Option<&'a DryRunKernel>,
    kernel: &'a InterruptibleKernel<'s>,
}

impl LoadRequest<'_, '_> {
    /// Loads the object. Returns the object if it stays loaded after the command, or the error of an object
    /// that cannot be read or judged.
    fn run(&self, console: &mut Console<'_>, budget: &mut BudgetGate) -> CommandResult<Option<LoadedObject>> {
        let Self { args, settings, path, pin_dir, target, judged_kernel, kernel } = *self;
        let file = ObjectFile::read(path)?;
        if LoaderFile::is_loader_file(file.bytes()) {
            return self.run_loader_file(console, &file);
        }
        if args.keyring.is_some() {
            let what = format_args!("{} is an object, expected a loader file", file.name);
            let help =
                "generate one with `core-relo gen loader --signable`, and sign it with `core-relo prog sign`";
            return Err(BadInput::new("--keyring", what).help(help).into());
        }
        let object = file.parse()?;
        let mut loader = Loader::for_kernel(&object, target.clone()).name(object_name(path));
        loader.settings_mut().core_options = args.relocation.options();
        let warnings = set_up(&mut loader, &file, args.setup.kconfig.as_deref(), settings)?;
        set_up_loading(&mut loader, &args.loading)?;
        warnings.iter().try_for_each(|warning| console.warn(warning))?;
        for request in &args.attach_to {
            check_program_name(&file, &object, &request.program)
                .map_err(|bad| bad.for_program(&request.program))?;
            // The attach point replaces that of the section.
            loader.program_mut(&request.program).autoattach = Some(false);
        }
        if args.stats.needs_stats() {
            loader.settings_mut().log_level |= LOG_STATS;
        }
        if !args.program.is_empty() {
            loader.select_programs(args.program.iter().map(String::as_str));
        }
        let events = find_sources(&file.name, &object, &args.events.print)?;
        if args.adaptive {
            if let Some(kernel) = judged_kernel {
                kernel.kernel.check_byte_order(object.endian())?;
            }
            let table = read_table(&file, &object, args.variants.as_deref())?;
            let (file, object, events) = (&file, &object, &*events);
            let (verdict, report) = (None, None);
            let left_out = Vec::new();
            let object_loader = ObjectLoader {
                console,
                args,
                pin_dir,
                file,
                object,
                kernel,
                verdict,
                budget,
                events,
                left_out,
                report,
            };
            return object_loader.run_adaptive(&loader, &table, judged_kernel);
        }
        if !args.each && args.program.is_empty() {
            let note = "the object declares variants: `load --adaptive` chooses among them, and `check` judges that choice";
            unchosen_note(&file, &object, note).iter().try_for_each(|note| console.note(note))?;
        }
        let judge = |kernel: &DryRunKernel| kernel.judge(&file, &object, loader.settings_mut());
        let verdict = judged_kernel.map(judge).transpose()?;
        let verdict = verdict.as_ref();
        let object_loader = ObjectLoader {
            console,
            args,
            pin_dir,
            file: &file,
            object: &object,
            kernel,
            verdict,
            budget,
            events: &events,
            left_out: Vec::new(),
            report: None,
        };
        Ok(object_loader.run(&loader)?)
    }
}

/// Returns the kernel for which to plan the load, and for a dry run the kernel to judge the object on.
fn target_kernel(args: &LoadArgs) -> Result<(TargetKernel, Option<DryRunKernel>), BadInput> {
    let relocate_against = args.relocate_against.as_deref();
    let read = || DryRunKernel::read(args);
    if args.btf.is_some() {
        let kernels = read()?;
        return Ok((kernels.plan_target(), Some(kernels)));
    }
    let kernels = if args.dry_run { Some(read()?) } else { None };
    let target = match kernels.as_ref().and_then(|kernels| kernels.relocated_against.as_ref()) {
        Some(kernel) => core_relo_loader::running_kernel().relocated_against(Arc::new(kernel_btf(kernel))),
        None => running_target(relocate_against)?,
    };
    Ok((target, kernels))
}

/// Returns the running kernel, for a load that relocates against the BTF in a file if there is one.
pub(crate) fn running_target(relocate_against: Option<&Path>) -> Result<TargetKernel, BadInput> {
    let target = core_relo_loader::running_kernel();
    let Some(path) = relocate_against else { return Ok(target) };
    Ok(target.relocated_against(Arc::new(kernel_btf(&dry_run::read_file(path)?))))
}

fn kernel_btf(kernel: &Kernel) -> KernelBtf {
    KernelBtf::from_btf(Arc::clone(&kernel.target.vmlinux().btf), [])
}
