//! The plans of objects on several kernels, for `plan` and `explain --relocation`.

use super::kernel_visits::{report_selection, visit_kernels};
use crate::{
    args::relocate::RelocationArgs,
    cmd::verdicts::objects::{LoadSelection, plan_by_load},
    console::{Console, ExitStatus},
    describe,
    error::{BadInput, CommandResult},
    fetched::kernel_paths,
    input::{
        kernel_args::KernelArgs,
        object::{ObjectBudget, ObjectFile},
        object_paths,
    },
    policy::{Config, ConfigArgs, ProjectLoad},
    settings::{AppliedSettings, ObjectNames, SettingsArgs, UserSettings},
};
use core_relo::{
    CodeSection, Plan, Relocs,
    plan::{Options, PlannedReloc, Summary},
};
use core_relo_kernels::{Kernel, KernelSelection, OpenedKernel};
use core_relo_loader::object::Object;
use core_relo_verdict::loaders::LoaderKind;
use std::{iter, path::PathBuf};

/// A function that prints a plan.
type PlanWriter<'f> = &'f mut dyn FnMut(&mut Console<'_>, &ObjectFile, &Kernel, &Plan<'_>) -> CommandResult;

/// The objects to plan, the kernels, and the load that the plans are for.
#[derive(Clone, Copy)]
pub(crate) struct PlanRequest<'a> {
    pub(crate) objects: &'a [PathBuf],
    pub(crate) kernels: &'a KernelArgs,
    pub(crate) settings: &'a SettingsArgs,
    pub(crate) config: &'a ConfigArgs,
    /// The loader that the options name.
    pub(crate) loader: Option<LoaderKind>,
    /// The only program that is loaded. `None` for the default load.
    pub(crate) program: Option<&'a str>,
    /// How relocations differ from the loader's.
    pub(crate) relocation: RelocationArgs,
}

/// Plans objects on each kernel, and passes the plans to `write`. Bad input is reported.
pub(crate) fn for_each_kernel(
    console: &mut Console<'_>,
    request: PlanRequest<'_>,
    write: PlanWriter<'_>,
) -> CommandResult {
    let ProjectLoad { loader, user } =
        Config::load_of_project(request.config, request.loader, request.settings)?;
    let options = request.relocation.options_for(loader);
    let (mut files, budget) = (Vec::new(), ObjectBudget::default());
    for path in object_paths::find_objects(request.objects) {
        match path.and_then(|path| ObjectFile::read_within(&path, &budget)) {
            Ok(file) => files.push(file),
            Err(bad) => console.report_error(&bad)?,
        }
    }
    let mut parsed = Vec::new();
    for file in &files {
        match file.parse() {
            Ok(object) => parsed.push((file, object)),
            Err(bad) => console.report_error(&bad)?,
        }
    }
    let settings = applied_settings(&user, &parsed)?;
    let warnings = settings.iter().flat_map(|applied| &applied.warnings);
    warnings.into_iter().try_for_each(|warning| console.warn(warning))?;
    let mut objects = Vec::new();
    for ((file, object), applied) in parsed.iter().zip(&settings) {
        let selection = LoadSelection { loader, settings: &applied.settings, program: request.program };
        match file.relocs(object) {
            Ok(relocs) => {
                objects.push(PlannedObject { file, object, relocs, selection, options });
            }
            Err(bad) => console.report_error(&bad)?,
        }
    }
    if objects.is_empty() {
        return Ok(());
    }
    let selection = KernelSelection::new(&kernel_paths(request.kernels, request.config)?);
    report_selection(console, &selection)?;
    visit_kernels(console, &selection, &mut |console, _, image| {
        let kernel = image.and_then(OpenedKernel::parse)?;
        for object in &objects {
            object.plan(console, &kernel, write).or_else(|error| console.report(error))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Returns the settings that apply to each object.
fn applied_settings(
    user: &UserSettings,
    objects: &[(&ObjectFile, Object<'_>)],
) -> Result<Vec<AppliedSettings>, BadInput> {
    if user.is_empty() {
        return Ok(objects.iter().map(|_| AppliedSettings::default()).collect());
    }
    let names: Vec<_> =
        objects.iter().map(|(file, object)| (&*file.name, ObjectNames::new(object))).collect();
    user.check_names(&names.iter().map(|(file, names)| (*file, names)).collect::<Vec<_>>())?;
    names.iter().map(|(file, names)| user.applied(file, names)).collect()
}

/// An object to plan.
struct PlannedObject<'o> {
    file: &'o ObjectFile,
    object: &'o Object<'o>,
    relocs: Relocs<'o>,
    selection: LoadSelection<'o>,
    options: Options,
}

impl PlannedObject<'_> {
    /// Plans the object on a kernel, and passes the plan to `write`.
    ///
    /// A kernel of the other byte order is reported and planned: the object does not load there, but each
    /// relocation has a result.
    fn plan(&self, console: &mut Console<'_>, kernel: &Kernel, write: PlanWriter<'_>) -> CommandResult {
        if let Err(bad) = kernel.check_byte_order(self.object.endian()) {
            console.report_error_on_stderr(&bad.into())?;
        }
        let plan = Plan::with_options(&self.relocs, &kernel.target, self.options, |_| true);
        let with_modules = kernel.with_needed_modules(iter::once(&plan));
        let (kernel, plan) = match &with_modules {
            Some(kernel) => {
                (kernel, Plan::with_options(&self.relocs, &kernel.target, self.options, |_| true))
            }
            None => (kernel, plan),
        };
        let plan = plan_by_load(self.object, &self.relocs, self.selection, plan)
            .map_err(|error| BadInput::new(&*self.file.name, error))?;
        console.raise_exit(exit_status(shown_summary(&plan, self.selection.program)));
        write(console, self.file, kernel, &plan)
    }
}

/// Counts the records of a plan, or those of one program or subprogram.
pub(crate) fn shown_summary(plan: &Plan<'_>, program: Option<&str>) -> Summary {
    let Some(program) = program else { return plan.summary() };
    let is_shown = |planned: &PlannedReloc<'_>| is_of_program(planned, program);
    plan.iter().filter(is_shown).map(|planned| planned.decision()).collect()
}

/// Returns whether a relocation is one of a program or subprogram.
pub(crate) fn is_of_program(planned: &PlannedReloc<'_>, program: &str) -> bool {
    planned.function().is_some_and(|function| function.name == program.as_bytes())
}

/// Returns the exit status for a plan.
pub(crate) fn exit_status(summary: Summary) -> ExitStatus {
    if summary.is_clean() { ExitStatus::Success } else { ExitStatus::Incompatible }
}

/// Returns an error if the object has no program or subprogram of this name.
pub(crate) fn check_program(file: &ObjectFile, code: &[CodeSection<'_>], name: &str) -> Result<(), BadInput> {
    let functions = || code.iter().flat_map(|section| &section.functions);
    if functions().any(|f| f.name == name.as_bytes()) {
        return Ok(());
    }
    let names: Vec<_> = functions().map(|f| describe::name(f.name)).collect();
    let bad = BadInput::new(&*file.name, format_args!("no program `{name}`"));
    Err(bad.help(format!("it has {}", names.join(", "))))
}
