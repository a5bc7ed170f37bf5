//! The plans of objects on several kernels, for `plan` and `explain --relocation`.

use crate::{
    args::{config::ConfigArgs, relocate::KernelArgs, settings::SettingsArgs},
    cmd::verdicts::objects::{LoadSelection, plan_by_load, relocation_options},
    console::{Console, ExitStatus},
    describe,
    error::BadInput,
    input::{
        directory,
        kernel::{parsed::Kernel, selection::Selection},
        object::{ObjectBudget, ObjectFile},
    },
    policy::{Config, ProjectLoad},
    settings::{AppliedSettings, ObjectNames, UserSettings},
};
use core_relo::{
    CodeSection, Plan, Relocs,
    plan::{Options, PlannedReloc, Summary},
};
use core_relo_loader::object::Object;
use core_relo_verdict::loaders::Loader;
use std::{io, iter, ops::ControlFlow, path::PathBuf};

/// A function that prints a plan.
type PlanWriter<'f> = &'f mut dyn FnMut(&mut Console<'_>, &ObjectFile, &Kernel, &Plan<'_>) -> io::Result<()>;

/// The objects to plan, the kernels, and the load that the plans are for.
#[derive(Clone, Copy)]
pub(crate) struct PlanRequest<'a> {
    pub(crate) objects: &'a [PathBuf],
    pub(crate) kernels: &'a KernelArgs,
    pub(crate) settings: &'a SettingsArgs,
    pub(crate) config: &'a ConfigArgs,
    /// The loader that the options name.
    pub(crate) loader: Option<Loader>,
    /// The only program that is loaded. `None` for the default load.
    pub(crate) program: Option<&'a str>,
    /// Whether enumerators are zero-extended, whatever the loader does.
    pub(crate) zero_extends_enums: bool,
}

/// Plans objects on each kernel, and passes the plans to `write`. Bad input is reported.
pub(crate) fn for_each_kernel(
    console: &mut Console<'_>,
    request: PlanRequest<'_>,
    write: PlanWriter<'_>,
) -> io::Result<()> {
    let load = Config::load_of_project(request.config, request.loader, request.settings);
    let ProjectLoad { loader, user } = match load {
        Ok(load) => load,
        Err(bad) => return console.report_error(&bad),
    };
    let options = relocation_options(loader, request.zero_extends_enums);
    let (mut files, budget) = (Vec::new(), ObjectBudget::default());
    for path in directory::find_objects(request.objects) {
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
    let settings = match applied_settings(&user, &parsed) {
        Ok(settings) => settings,
        Err(bad) => return console.report_error(&bad),
    };
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
    plan_on_kernels(console, &objects, &Selection::new(request.kernels), write)
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

/// Plans objects on each kernel of a selection.
fn plan_on_kernels(
    console: &mut Console<'_>,
    objects: &[PlannedObject<'_>],
    selection: &Selection,
    write: PlanWriter<'_>,
) -> io::Result<()> {
    selection.notes.iter().try_for_each(|note| console.note(note))?;
    selection.bad.iter().try_for_each(|source| console.report_error(&source.bad))?;
    for source in &selection.sources {
        let mut written = Ok(());
        let note = selection.visit_kernels(source, &mut |kernel| {
            written = match kernel {
                Ok(kernel) => objects.iter().try_for_each(|object| object.plan(console, &kernel, write)),
                Err(bad) => console.report_error(&bad),
            };
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        written?;
        note.iter().try_for_each(|note| console.note(note))?;
    }
    Ok(())
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
    /// A kernel of the other byte order is reported and planned: the object does not load there, but each relocation has a result.
    fn plan(&self, console: &mut Console<'_>, kernel: &Kernel, write: PlanWriter<'_>) -> io::Result<()> {
        if let Err(bad) = kernel.check_byte_order(self.object.endian()) {
            console.report_error_on_stderr(&bad)?;
        }
        let plan = Plan::with_options(&self.relocs, &kernel.target, self.options, |_| true);
        let with_modules = kernel.with_needed_modules(iter::once(&plan));
        let (kernel, plan) = match &with_modules {
            Some(kernel) => {
                (kernel, Plan::with_options(&self.relocs, &kernel.target, self.options, |_| true))
            }
            None => (kernel, plan),
        };
        let plan = match plan_by_load(self.object, &self.relocs, self.selection, plan) {
            Ok(plan) => plan,
            Err(error) => return console.report_error(&BadInput::new(&*self.file.name, error)),
        };
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
