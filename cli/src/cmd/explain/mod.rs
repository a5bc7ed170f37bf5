//! `explain`: the verdict on each program of an object, the reasons, and how to fix them.

mod availability;
mod explained;
mod json;
mod relocations;
mod text;

use crate::input::input_error::note_text;
use crate::{
    args::relocate::ExplainArgs,
    cmd::{
        check::no_fitting_kernel,
        kernel_visits::visit_kernels,
        verdicts::{
            exit_status, kernel_inputs,
            kernel_judge::{KernelCase, KernelJudge, bad_plan},
            objects::{JudgedObject, JudgedObjects, ObjectFiles, REPORT_BAD, with_judged_objects},
            variants::{VariantChoice, VariantTables, check_single_object},
        },
    },
    console::Console,
    describe,
    error::{BadInput, CommandResult},
    fetched::kernel_paths,
    format::Format,
    input::{object::ObjectFile, variant_table::read_variants},
    policy::{Config, ProjectLoad},
    settings::UserSettings,
};
use availability::{Availability, Neighbours};
use core_relo_kernels::{Kernel, KernelSelection, KernelSource, threads::Threads};
use core_relo_loader::load_plan::PlanByLoad;
use core_relo_verdict::{kernel::KernelInputs, loaders::LoaderKind};
use explained::{ExplainOptions, ExplainedObject};
use std::{io, slice};

pub(crate) fn run(console: &mut Console<'_>, args: &ExplainArgs) -> CommandResult {
    if args.relocation.is_some() {
        return relocations::run(console, args);
    }
    let inputs = kernel_inputs(&args.evidence)?;
    let given = args.variants.as_deref().map(read_variants).transpose()?;
    let ProjectLoad { loader, user } =
        Config::load_of_project(&args.config, args.evidence.loader.loader, &args.settings)?;
    let threads = Threads::none();
    let files = ObjectFiles::read(console, slice::from_ref(&args.object), &threads, REPORT_BAD)?;
    with_judged_objects(console, &files, loader, &user, &threads, |console, objects| {
        if objects.fleet.objects().is_empty() {
            return Ok(());
        }
        check_single_object(given.as_ref(), objects.fleet.objects())?;
        // One program is judged as if it were loaded alone.
        let variants = match args.program {
            Some(_) => VariantTables::default(),
            None => VariantTables::new(objects.fleet.objects(), given.as_ref()),
        };
        let selection = KernelSelection::new(&kernel_paths(&args.kernels, &args.config)?);
        let options = ExplainOptions {
            is_json: console.format == Format::Json,
            program: args.program.as_deref(),
            variants: &variants,
        };
        Ok(explain_on(console, objects, &selection, inputs, options)?)
    })
}

/// Explains objects on a selection of kernels, for `demo`.
pub(crate) fn explain(
    console: &mut Console<'_>,
    files: Vec<ObjectFile>,
    selection: &KernelSelection,
) -> CommandResult {
    let (loader, user) = (LoaderKind::default(), UserSettings::default());
    let files = ObjectFiles::new(files, REPORT_BAD);
    with_judged_objects(console, &files, loader, &user, &Threads::none(), |console, objects| {
        let is_json = console.format == Format::Json;
        let variants = &VariantTables::new(objects.fleet.objects(), None);
        let options = ExplainOptions { is_json, program: None, variants };
        Ok(explain_on(console, objects, selection, KernelInputs::default(), options)?)
    })
}

/// The explained objects on one kernel, and the kernel's index in the [`Availability`].
struct ExplainedKernel {
    name: String,
    index: usize,
    objects: Vec<ExplainedObject>,
}

fn explain_on(
    console: &mut Console<'_>,
    objects: &JudgedObjects<'_>,
    selection: &KernelSelection,
    inputs: KernelInputs,
    options: ExplainOptions<'_>,
) -> io::Result<()> {
    selection.notes.iter().try_for_each(|note| console.note(&note_text(note)))?;
    options.variants.errors().try_for_each(|bad| console.report_error(bad))?;
    selection.errors.iter().try_for_each(|error| console.report_error(&error.into()))?;
    if let Some(program) = options.program {
        objects
            .fleet
            .objects()
            .iter()
            .flat_map(|object| &object.needs)
            .for_each(|needs| needs.relocate_alone(program));
    }
    let threads = Threads::none();
    let judge = KernelJudge::with_workers(&objects.fleet, inputs, &threads);
    let has_several = !matches!(
        &*selection.sources,
        [KernelSource::Running | KernelSource::File { .. } | KernelSource::Fetched(_)]
    );
    let (mut availability, mut explained) = (Availability::default(), Vec::new());
    let (mut has_skipped, mut has_kernel) = (false, false);
    visit_kernels(console, selection, &mut |console, source, image| {
        let kernel = image.and_then(|image| image.parse_with_facts(judge.wanted_facts()))?;
        if source.is_listed() && !judge.fits(&kernel) {
            has_skipped = true;
            let what = "the kernel has the other byte order than the object";
            return Ok(console.note(&format!("{}: skipped: {what}", kernel.name))?);
        }
        has_kernel = true;
        let kernel = explain_kernel(console, &judge, &kernel, &mut availability, options)?;
        // Other kernels may tell more about this one.
        if has_several {
            explained.push(kernel);
            return Ok(());
        }
        Ok(write_kernel(console, &kernel, &availability)?)
    })?;
    if has_skipped && !has_kernel {
        let help = "compile the objects for the kernels: --target=bpfel or --target=bpfeb";
        console.report_error(&no_fitting_kernel(Some(help.to_owned())))?;
    }
    explained.iter().try_for_each(|kernel| write_kernel(console, kernel, &availability))
}

fn explain_kernel(
    console: &mut Console<'_>,
    judge: &KernelJudge<'_>,
    kernel: &Kernel,
    availability: &mut Availability,
    options: ExplainOptions<'_>,
) -> io::Result<ExplainedKernel> {
    judge.with_kernel(kernel, None, |case| {
        let name = case.kernel.name.clone();
        case.warnings.iter().try_for_each(|warning| console.warn(&format!("{name}: {warning}")))?;
        let index = availability.add(&name, case);
        let mut objects = Vec::new();
        for (index, planned) in case.objects.iter().enumerate() {
            match &planned.plan {
                Ok(plan) => match explain_object(console, index, (planned.object, plan), case, options) {
                    Ok(explained) => objects.extend(explained),
                    Err(error) => console.report(error)?,
                },
                Err(error) => console.report_error(&bad_plan(error, case.kernel, planned.object))?,
            }
        }
        Ok(ExplainedKernel { name, index, objects })
    })
}

/// Explains an object. For the name of a subprogram, explains the relocations of the subprogram.
fn explain_object(
    console: &mut Console<'_>,
    index: usize,
    (object, plan): (&JudgedObject<'_>, &PlanByLoad<'_, '_>),
    case: &KernelCase<'_, '_>,
    options: ExplainOptions<'_>,
) -> CommandResult<Option<ExplainedObject>> {
    if let Some(name) = options.program {
        let programs = object.object.programs().iter();
        let mut named = programs.filter(|program| program.name() == name.as_bytes());
        if named.next().ok_or_else(|| no_program(object, name))?.is_subprogram {
            relocations::explain_function(console, object.data.file, case.kernel, plan.plan(), name)?;
            return Ok(None);
        }
    }
    let choice = match options.variants.get(index) {
        Some(Ok(table)) => Some(VariantChoice::new((object, table), plan, case)?),
        // Reported once for all kernels.
        Some(Err(_)) => return Ok(None),
        None => None,
    };
    let explained = ExplainedObject::new(index, (object, plan), case, choice.as_ref(), options)?;
    console.raise_exit(exit_status(explained.verdict.verdict, false));
    Ok(Some(explained))
}

fn no_program(object: &JudgedObject<'_>, name: &str) -> BadInput {
    let names: Vec<_> =
        object.object.programs().iter().map(|program| describe::name(program.name())).collect();
    let bad = BadInput::new(&*object.data.file.name, format_args!("no program `{name}`"));
    bad.help(format!("it has {}", names.join(", ")))
}

fn write_kernel(
    console: &mut Console<'_>,
    kernel: &ExplainedKernel,
    availability: &Availability,
) -> io::Result<()> {
    kernel.objects.iter().try_for_each(|object| {
        let neighbours = |reason: &core_relo_verdict::judge::Reason| {
            let lacks = reason.requirement.filter(|_| reason.evidence.is_some());
            lacks.map_or_else(Neighbours::default, |lacks| {
                availability.neighbours(kernel.index, object.index, lacks)
            })
        };
        match console.format {
            Format::Json => json::write(&mut console.out, &kernel.name, object, &neighbours),
            Format::Text => text::write(&mut console.out, &kernel.name, object, &neighbours),
        }
    })
}
