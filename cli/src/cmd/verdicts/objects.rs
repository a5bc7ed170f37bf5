//! The objects to judge, parsed once for all kernels.

use crate::{
    console::Console,
    error::{BadInput, CommandResult},
    input::{
        object::{ObjectBudget, ObjectFile},
        object_paths,
    },
    json::check::RecordFacts,
    settings::{AppliedSettings, ObjectNames, UserSettings},
};
use core_relo::{Plan, Relocs};
use core_relo_kernels::threads::Threads;
use core_relo_loader::{
    InternalError,
    load_plan::{PlanByLoad, Settings},
    object::Object,
};
use core_relo_verdict::{
    fleet::{Fleet, FleetObject},
    loaders::LoaderKind,
    requirements::{NeedTable, ObjectNeeds},
};
use std::{
    borrow::Cow,
    io,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// The objects to judge.
pub(crate) struct JudgedObjects<'o> {
    pub(crate) fleet: Fleet<'o, ObjectContext<'o>>,
    /// The errors of the objects that cannot be read or parsed. They have been reported.
    pub(crate) bad: Vec<BadInput>,
}

/// What the command knows of an object to judge.
pub(crate) struct ObjectContext<'o> {
    pub(crate) file: &'o ObjectFile,
    /// The facts of each relocation record. They are computed for the first kernel on which the record does
    /// not resolve.
    pub(crate) records: Vec<OnceLock<Arc<RecordFacts>>>,
    /// The settings of user space, which the needs of the object have.
    pub(crate) user: AppliedSettings,
}

impl<'o> ObjectContext<'o> {
    pub(crate) fn new(file: &'o ObjectFile, relocs: &Relocs<'_>) -> Self {
        let records = relocs.records().iter().map(|_| OnceLock::new()).collect();
        Self { file, records, user: AppliedSettings::default() }
    }
}

/// An object to judge.
pub(crate) type JudgedObject<'o> = FleetObject<'o, ObjectContext<'o>>;

/// The programs that a load selects.
#[derive(Clone, Copy)]
pub(crate) struct LoadSelection<'s> {
    pub(crate) loader: LoaderKind,
    pub(crate) settings: &'s Settings,
    /// The only program of the load. `None` for those of the default load with the settings.
    pub(crate) program: Option<&'s str>,
}

/// Returns the plan of an object's load, and of each other program by itself.
pub(crate) fn plan_by_load<'p>(
    object: &Object<'_>,
    relocs: &Relocs<'_>,
    selection: LoadSelection<'_>,
    plan: Plan<'p>,
) -> Result<Plan<'p>, InternalError> {
    if !plan.depends_on_selection() {
        return Ok(plan);
    }
    let mut table = NeedTable::default();
    // Without needs, no load is possible.
    let needs = ObjectNeeds::collect_for(selection.loader, object, relocs, &mut table);
    let Ok(mut needs) = needs else { return Ok(plan) };
    needs.apply_settings(selection.settings, &mut table);
    if let Some(program) = selection.program {
        needs.relocate_alone(program);
    }
    needs.plan_by_load(Cow::Owned(plan)).map(PlanByLoad::into_plan)
}

/// Parses an object, collects what the object needs if a loader loads it with settings of user space, and
/// calls `use_needs` with the needs, their table, and the relocations.
pub(crate) fn with_needs<T>(
    loader: LoaderKind,
    file: &ObjectFile,
    settings: Option<&Settings>,
    use_needs: impl FnOnce(&ObjectNeeds<'_, '_>, &NeedTable, &Relocs<'_>) -> T,
) -> Result<T, BadInput> {
    let object = file.parse()?;
    let relocs = file.relocs_or_none(&object)?;
    let mut table = NeedTable::default();
    let mut needs = ObjectNeeds::collect_for(loader, &object, &relocs, &mut table)
        .map_err(|error| BadInput::new(&*file.name, error))?;
    if let Some(settings) = settings {
        needs.apply_settings(settings, &mut table);
    }
    Ok(use_needs(&needs, &table, &relocs))
}

/// A function that reports an object that cannot be read or parsed.
type BadObjectReporter = fn(&mut Console<'_>, &BadInput) -> io::Result<()>;

/// Reports an object as other bad input is reported.
pub(crate) const REPORT_BAD: BadObjectReporter = |console, bad| console.report_error(bad);

/// The object files that were read.
pub(crate) struct ObjectFiles {
    files: Vec<ObjectFile>,
    /// The errors of the files that cannot be read. They have been reported.
    bad: Vec<BadInput>,
    report_bad: BadObjectReporter,
}

impl ObjectFiles {
    pub(crate) fn new(files: Vec<ObjectFile>, report_bad: BadObjectReporter) -> Self {
        Self { files, bad: Vec::new(), report_bad }
    }

    /// Reads object files, and those in directories. Bad input is reported.
    pub(crate) fn read(
        console: &mut Console<'_>,
        paths: &[PathBuf],
        threads: &Threads,
        report_bad: BadObjectReporter,
    ) -> io::Result<Self> {
        let mut read = Self::new(Vec::new(), report_bad);
        let paths = object_paths::find_objects(paths);
        let budget = ObjectBudget::default();
        let read_file = |path: &Result<PathBuf, BadInput>| {
            ObjectFile::read_within(path.as_ref().map_err(BadInput::clone)?, &budget)
        };
        for file in threads.map(&paths, read_file) {
            match file {
                Ok(file) => read.files.push(file),
                Err(bad) => {
                    report_bad(console, &bad)?;
                    read.bad.push(bad);
                }
            }
        }
        Ok(read)
    }
}

/// Parses the objects, and calls `use_objects` with them. Bad input is reported.
pub(crate) fn with_judged_objects(
    console: &mut Console<'_>,
    files: &ObjectFiles,
    loader: LoaderKind,
    settings: &UserSettings,
    threads: &Threads,
    use_objects: impl FnOnce(&mut Console<'_>, &JudgedObjects<'_>) -> CommandResult,
) -> CommandResult {
    judge_objects(console, files, loader, settings, threads, Box::new(use_objects))
}

/// A function that uses parsed objects. One machine code for all of them keeps the program small.
type ObjectsUser<'u> = Box<dyn FnOnce(&mut Console<'_>, &JudgedObjects<'_>) -> CommandResult + 'u>;

fn judge_objects(
    console: &mut Console<'_>,
    ObjectFiles { files, bad, report_bad }: &ObjectFiles,
    loader: LoaderKind,
    settings: &UserSettings,
    threads: &Threads,
    use_objects: ObjectsUser<'_>,
) -> CommandResult {
    let (mut parsed, mut bad_objects) = (Vec::new(), bad.clone());
    for (file, object) in files.iter().zip(threads.map(files, ObjectFile::parse)) {
        match object {
            Ok(object) => parsed.push((file, object)),
            Err(bad) => {
                report_bad(console, &bad)?;
                bad_objects.push(bad);
            }
        }
    }
    let mut fleet = Fleet::new(loader);
    let relocs = threads.map(&parsed, |(file, object)| file.relocs_or_none(object));
    for ((file, object), relocs) in parsed.iter().zip(relocs) {
        match relocs {
            Ok(relocs) => {
                let context = ObjectContext::new(file, &relocs);
                fleet.add_with_relocs(object, relocs, context);
            }
            Err(bad) => {
                report_bad(console, &bad)?;
                bad_objects.push(bad);
            }
        }
    }
    if !settings.is_empty() {
        let warnings = apply_settings(&mut fleet, settings)?;
        warnings.iter().try_for_each(|warning| console.warn(warning))?;
    }
    use_objects(console, &JudgedObjects { fleet, bad: bad_objects })
}

/// Applies settings of user space to the objects that have their names. Returns warnings about settings that
/// change nothing.
fn apply_settings(
    fleet: &mut Fleet<'_, ObjectContext<'_>>,
    settings: &UserSettings,
) -> Result<Vec<String>, BadInput> {
    let objects = fleet.objects().iter();
    let names: Vec<_> =
        objects.map(|object| (&*object.data.file.name, ObjectNames::new(object.object))).collect();
    settings.check_names(&names.iter().map(|(file, names)| (*file, names)).collect::<Vec<_>>())?;
    let mut warnings = Vec::new();
    let applied = names.iter().map(|(file, names)| settings.applied(file, names));
    let applied = applied.collect::<Result<Vec<_>, _>>()?;
    for (judged, user) in fleet.objects_mut().iter_mut().zip(applied) {
        warnings.extend_from_slice(&user.warnings);
        judged.data.user = user;
    }
    fleet.apply_settings(|context| Some(&context.user.settings));
    Ok(warnings)
}
