//! Judges and boots kernels.

use super::{
    booted::BootedKernel,
    checker::Checker,
    kernel_output::{CheckPolicy, OutputOptions},
    ordered,
    report::ObjectReport,
};
use crate::{
    args::guest::GuestArgs,
    cmd::{
        guest_setup::new_guest,
        verdicts::objects::{JudgedObject, ObjectFiles, REPORT_BAD, with_judged_objects},
    },
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    fetched::module_store::{ModuleFile, ModuleStore},
    format::Format,
    guest::boot_image::BootImage,
    guest::boot_slots::BootSlots,
    guest::limits::MAX_GUEST_MODULES,
    guest::load::{GuestLoad, ObjectProgram, ObjectPrograms, load_in_guest},
    settings::UserSettings,
};
use core_relo_kernels::{InputError, KernelSelection, KernelSource, OpenedKernel, threads::Threads};
use core_relo_report::policy::AllowList;
use core_relo_verdict::{kernel::KernelInputs, loaders::LoaderKind};
use core_relo_vm::VmError;
use std::{io, num::NonZeroUsize, ops::ControlFlow, path::PathBuf};

/// Settings of the guests that load the objects.
#[derive(Debug)]
pub(crate) struct BootSettings<'a> {
    pub(crate) guest: &'a GuestArgs,
    /// The loader whose rules decide on the verdicts. The guest loads with core-relo.
    pub(crate) loader: LoaderKind,
    /// Whether programs load with the verifier's statistics.
    pub(crate) stats: bool,
    /// The guests that may run at the same time.
    pub(crate) slots: BootSlots,
    /// The modules that guests of fetched kernels load.
    pub(crate) modules: ModuleStore<'a>,
}

impl Checker<'_> {
    /// Judges the objects on a kernel, boots the kernel, and loads the objects.
    pub(super) fn boot(
        &self,
        source: &KernelSource,
        image: Result<OpenedKernel<'_>, InputError>,
        settings: &BootSettings<'_>,
    ) -> BootedKernel {
        let boot_image = open_image(source);
        let kernel = image.and_then(|image| image.parse_with_facts(self.judge.wanted_facts()));
        let report = kernel.map(|kernel| self.check_kernel(&kernel, false)).map_err(BadInput::from);
        let checked = self.judge.objects().iter().enumerate();
        let objects: Vec<_> = checked
            .map(|(index, object)| {
                let report = report.as_ref().ok().and_then(|report| report.objects.get(index));
                object_programs(object, !matches!(report, Some(ObjectReport::Mismatch(_))), settings)
            })
            .collect();
        let program_count = objects.iter().map(ObjectPrograms::load_count).sum();
        let modules = boot_image.as_ref().map_or(Ok(Vec::new()), |_| {
            let names = report.as_ref().map_or(&[][..], |report| &report.modules);
            guest_modules(source, names, settings)
        });
        let (modules, module_error) = match modules {
            Ok(modules) => (modules, None),
            Err(bad) => (Vec::new(), Some(bad)),
        };
        let loads = boot_image.and_then(|image| {
            let _slot = settings.slots.take();
            let mut guest = new_guest(settings.guest, image.kernel.arch(), program_count)?;
            modules.iter().for_each(|module| guest.add_module(&module.name, &module.content));
            let mut loads = load_in_guest(guest, &image.kernel, &objects)?;
            if let Some(bad) = module_error {
                loads.diagnostics.insert_str(0, &format!("core-relo: no modules are loaded: {bad}\n"));
            }
            Ok(loads)
        });
        let (loads, boot_error) = match loads {
            Ok(loads) => (loads, None),
            Err(error) => (GuestLoad::not_booted(&objects, &error.to_string()), Some(error)),
        };
        BootedKernel { name: name_of(source), fetched: source.fetched().cloned(), report, loads, boot_error }
    }
}

/// Reads the modules that the guest of a fetched kernel loads.
fn guest_modules(
    source: &KernelSource,
    names: &[String],
    settings: &BootSettings<'_>,
) -> Result<Vec<ModuleFile>, BadInput> {
    match source {
        KernelSource::Fetched(kernel) if names.len() > MAX_GUEST_MODULES => {
            let what = format!("{} modules may be needed, expected at most {MAX_GUEST_MODULES}", names.len());
            Err(BadInput::new(&*kernel.name, what))
        }
        KernelSource::Fetched(kernel) if !names.is_empty() => settings.modules.read(kernel, names),
        _ => Ok(Vec::new()),
    }
}

/// Opens the image of a kernel.
pub(crate) fn open_image(source: &KernelSource) -> Result<BootImage, VmError> {
    match source.boot_image() {
        Some(path) => BootImage::open(path),
        None => Err(VmError::NotBootable {
            path: PathBuf::from(name_of(source)),
            reason: "not a file".to_owned(),
        }),
    }
}

/// Returns the name of a kernel in messages and reports.
pub(crate) fn name_of(source: &KernelSource) -> String {
    match source {
        KernelSource::Fetched(kernel) => kernel.name.clone(),
        KernelSource::File { path, .. } | KernelSource::Archive(path) => escape_path(path),
        KernelSource::Embedded { name, .. } => (*name).to_owned(),
        KernelSource::Running => "running kernel".to_owned(),
    }
}

/// Returns the programs of an object to load.
fn object_programs<'o>(
    object: &'o JudgedObject<'_>,
    fits_kernel: bool,
    settings: &BootSettings<'_>,
) -> ObjectPrograms<'o> {
    let programs = object.object.programs().iter().filter(|program| !program.is_subprogram && fits_kernel);
    let each_options = if settings.stats { vec!["--stats".into()] } else { Vec::new() };
    ObjectPrograms {
        path: &object.data.file.name,
        bytes: object.data.file.bytes(),
        programs: programs.map(ObjectProgram::new).collect(),
        options: object.data.user.options.clone(),
        each_options,
    }
}

/// A function that receives each booted kernel, with the paths of the objects.
pub(crate) type KernelVisitor<'v> =
    dyn FnMut(&mut Console<'_>, &[&str], &BootedKernel) -> io::Result<()> + 'v;

/// Judges objects on kernels and boots the kernels. Passes the kernels to `emit` in their order. Bad objects
/// are reported.
pub(crate) fn boot_kernels(
    console: &mut Console<'_>,
    objects: &[PathBuf],
    selection: &KernelSelection,
    jobs: usize,
    settings: &BootSettings<'_>,
    user: &UserSettings,
    emit: &mut KernelVisitor<'_>,
) -> CommandResult {
    let (kernel_threads, no_threads) = (Threads::new(NonZeroUsize::new(jobs)), Threads::none());
    let files = ObjectFiles::read(console, objects, &no_threads, REPORT_BAD)?;
    let loader = settings.loader;
    with_judged_objects(console, &files, loader, user, &no_threads, |console, checked| {
        if checked.fleet.objects().is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = checked.fleet.objects().iter().map(|object| &*object.data.file.name).collect();
        let options = OutputOptions {
            json: console.format == Format::Json,
            text: false,
            report: false,
            strict: false,
            is_listed: false,
        };
        let allow_list = AllowList::default();
        let policy = CheckPolicy { allow_list: &allow_list, baseline: None };
        let checker = Checker::new(checked, KernelInputs::default(), policy, &no_threads, options);
        let work = |source: &KernelSource, send: &mut dyn FnMut(BootedKernel) -> ControlFlow<()>| {
            let note = selection
                .visit_images(source, &|_| true, &mut |_, image| send(checker.boot(source, image, settings)));
            note.into_iter().for_each(|note| log::warn!("{note}"));
        };
        Ok(ordered::for_each_in_order(&kernel_threads, &selection.sources, work, |booted| match booted {
            Some(booted) => emit(console, &names, &booted),
            None => Ok(()),
        })?)
    })
}
