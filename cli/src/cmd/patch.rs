//! `patch`: the object with its instructions relocated.

use crate::{
    args::relocate::PatchArgs,
    cmd::{
        kernel_visits::report_selection,
        verdicts::objects::{LoadSelection, plan_by_load},
    },
    console::{Console, ExitStatus},
    describe,
    error::{BadInput, CommandResult, escape_path},
    fetched::kernel_paths,
    format::Format,
    input::object::ObjectFile,
    json::check::Unresolved,
    output,
    plan_error::ZERO_EXTEND_HELP,
    policy::{Config, ProjectLoad},
    text::{line::Line, style},
};
use core_relo::{
    Plan,
    plan::{PlannedReloc, Summary},
};
use core_relo_kernels::{Kernel, KernelSelection};
use core_relo_loader::{
    load_plan::Settings,
    object::{CoreRecords, Object},
};
use serde::Serialize;
use std::{io, iter};

/// The JSON line of `patch`.
#[derive(Serialize)]
struct PatchLine<'a> {
    object: &'a str,
    target: &'a str,
    /// `null` if nothing was written.
    output: Option<String>,
    #[serde(flatten)]
    summary: Summary,
    relocations: Vec<Unresolved>,
}

pub(crate) fn run(console: &mut Console<'_>, args: &PatchArgs) -> CommandResult {
    let Some(kernel) = read_selected_kernel(console, args)? else { return Ok(()) };
    let file = ObjectFile::read(&args.object)?;
    let object = file.parse()?;
    kernel.check_byte_order(object.endian())?;
    let mut settings = Settings::default();
    let ProjectLoad { loader, user } = Config::load_of_project(&args.config, None, &args.settings)?;
    let warnings = user.apply_to_object(&file, &object, &mut settings)?;
    user.file_note(&file, &object).iter().try_for_each(|note| console.note(note))?;
    warnings.iter().try_for_each(|warning| console.warn(warning))?;
    let selection = LoadSelection { loader, settings: &settings, program: None };
    patch(console, args, PatchInput { file: &file, object: &object, kernel: &kernel, selection })
}

/// Reads the kernel to patch for. Returns `None` if the sources are bad input that was reported.
fn read_selected_kernel(console: &mut Console<'_>, args: &PatchArgs) -> CommandResult<Option<Kernel>> {
    let selection = KernelSelection::new(&kernel_paths(&args.kernels, &args.config)?);
    report_selection(console, &selection)?;
    let files = selection.files().chain(args.kernels.base.as_deref());
    output::refuse_inputs(files, &args.output, "give the object a name of its own with -o")?;
    match &*selection.sources {
        [] => Ok(None),
        [source] => Ok(Some(Kernel::read(source, &selection.modules, selection.limits)?)),
        sources => {
            let what = format!(
                "an object is patched for one kernel: {} files are selected, expected 1",
                sources.len()
            );
            Err(BadInput::new("--btf", what).into())
        }
    }
}

/// An object to patch, the kernel, and the settings that decide which programs are loaded.
struct PatchInput<'a> {
    file: &'a ObjectFile,
    object: &'a Object<'a>,
    kernel: &'a Kernel,
    selection: LoadSelection<'a>,
}

/// Plans the relocations, writes the object unless one of them fails, and reports the result.
fn patch(console: &mut Console<'_>, args: &PatchArgs, input: PatchInput<'_>) -> CommandResult {
    let PatchInput { file, object, kernel, selection } = input;
    let relocs = file.relocs(object)?;
    let options = args.relocation.options_for(selection.loader);
    let plan = Plan::with_options(&relocs, &kernel.target, options, |_| true);
    let with_modules = kernel.with_needed_modules(iter::once(&plan));
    let (kernel, plan) = match &with_modules {
        Some(kernel) => (kernel, Plan::with_options(&relocs, &kernel.target, options, |_| true)),
        None => (kernel, plan),
    };
    let plan = plan_by_load(object, &relocs, selection, plan).map_err(|e| BadInput::new(&*file.name, e))?;
    let is_written = match plan.patched() {
        Err(_) => {
            console.raise_exit(ExitStatus::Incompatible);
            false
        }
        Ok(patched) => {
            let names = plan.relocs().code().iter().map(|section| section.name);
            let sections = names.zip(patched.sections.iter().map(Vec::as_slice));
            let records = if args.keep_records { CoreRecords::Keep } else { CoreRecords::Remove };
            let bytes = object.rewrite(sections, records).map_err(|e| BadInput::new(&*file.name, e))?;
            output::write(&args.output, &bytes)?;
            true
        }
    };
    Ok(report(console, args, file, kernel, &plan, is_written)?)
}

fn report(
    console: &mut Console<'_>,
    args: &PatchArgs,
    file: &ObjectFile,
    kernel: &Kernel,
    plan: &Plan<'_>,
    is_written: bool,
) -> io::Result<()> {
    let summary = plan.summary();
    let unresolved = || plan.iter().filter(describe::is_unresolved);
    if console.format == Format::Json {
        let line = PatchLine {
            object: &file.name,
            target: &kernel.name,
            output: is_written.then(|| escape_path(&args.output)),
            summary,
            relocations: unresolved().map(|planned| Unresolved::new(&planned)).collect(),
        };
        return console.out.json(&line);
    }
    for planned in unresolved() {
        let Unresolved { record, outcome, reason } = Unresolved::new(&planned);
        let (position, program) = (record.position(), record.program_or_section());
        let rest = format!(": {position} {program}: {}: {reason}", record.access);
        console.err.line(Line::new().styled(style::outcome_style(outcome), outcome).text(rest))?;
    }
    let counts = describe::summary(summary);
    if is_written {
        let rest = format!(": {}: {} for {}: {counts}", escape_path(&args.output), file.name, kernel.name);
        console.out.line(Line::new().styled(style::GOOD, "written").text(rest))
    } else {
        let rest = format!(": {}: nothing written: {counts}", file.name);
        console.err.line(Line::new().styled(style::ERROR, "core-relo").text(rest))?;
        let fails = |planned: PlannedReloc<'_>| planned.decision().is_err_and(|e| e.is_sign_extension());
        if plan.iter().any(fails) { console.note(ZERO_EXTEND_HELP) } else { Ok(()) }
    }
}
