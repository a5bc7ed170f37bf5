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
use core_relo::{
    Endian, Plan, Relocs,
    plan::{Objects, Options},
};
use core_relo_kernels::threads::Threads;
use core_relo_loader::{
    InternalError,
    link::LinkError,
    load_plan::{PlanByLoad, Settings},
    object::Object,
};
use core_relo_verdict::{
    kernel::NameQuery,
    loaders::Loader,
    requirements::{NeedTable, ObjectNeeds},
};
use std::{
    borrow::Cow,
    io,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// The objects to judge, with the table of what they need.
pub(crate) struct JudgedObjects<'o> {
    pub(crate) objects: Vec<JudgedObject<'o>>,
    /// The errors of the objects that cannot be read or parsed. They have been reported.
    pub(crate) bad: Vec<BadInput>,
    pub(crate) needs: NeedTable,
    /// The names that the needs look up in each kernel.
    pub(crate) names: NameQuery,
    /// The options of the objects' plans, which are those of their loader.
    pub(crate) options: Options,
}

/// An object to judge.
pub(crate) struct JudgedObject<'o> {
    pub(crate) file: &'o ObjectFile,
    pub(crate) object: &'o Object<'o>,
    pub(crate) relocs: Relocs<'o>,
    /// The facts of each relocation record. They are computed for the first kernel on which the record does not resolve.
    pub(crate) records: Vec<OnceLock<Arc<RecordFacts>>>,
    /// The loader that opens the object.
    pub(crate) loader: Loader,
    /// What the object needs of a kernel, or the reason why no loader opens the object.
    pub(crate) needs: Result<ObjectNeeds<'o, 'o>, LinkError>,
    /// The settings of user space, which `needs` have.
    pub(crate) user: AppliedSettings,
}

impl<'o> JudgedObject<'o> {
    /// Collects what an object needs if a loader loads it, and adds it to `table`.
    pub(crate) fn new(
        loader: Loader,
        file: &'o ObjectFile,
        object: &'o Object<'o>,
        relocs: Relocs<'o>,
        table: &mut NeedTable,
    ) -> Self {
        let records = relocs.records().iter().map(|_| OnceLock::new()).collect();
        let needs = ObjectNeeds::collect_for(loader, object, &relocs, table);
        Self { file, object, relocs, records, loader, needs, user: AppliedSettings::default() }
    }

    /// Applies settings of user space, and adds what the object needs with them to `table`.
    fn apply_settings(&mut self, user: AppliedSettings, table: &mut NeedTable) {
        if let Ok(needs) = &mut self.needs {
            needs.apply_settings(&user.settings, table);
        }
        self.user = user;
    }

    /// Returns the plan of the default load, and of each other program by itself.
    pub(crate) fn plan_by_load<'p>(&self, plan: Plan<'p>) -> Result<PlanByLoad<'p, 'p>, BadInput> {
        match &self.needs {
            Ok(needs) => needs.plan_by_load(Cow::Owned(plan)).map_err(|e| BadInput::new(&*self.file.name, e)),
            // Without needs, no load is possible.
            Err(_) => Ok(PlanByLoad::undivided(Cow::Owned(plan))),
        }
    }
}

/// The programs that a load selects.
#[derive(Clone, Copy)]
pub(crate) struct LoadSelection<'s> {
    pub(crate) loader: Loader,
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

/// Parses an object, collects what the object needs if a loader loads it with settings of user space, and calls `use_needs` with the needs,
/// their table, and the relocations.
pub(crate) fn with_needs<T>(
    loader: Loader,
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
    loader: Loader,
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
    loader: Loader,
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
    let (mut objects, mut table) = (Vec::new(), NeedTable::default());
    let relocs = threads.map(&parsed, |(file, object)| file.relocs_or_none(object));
    for ((file, object), relocs) in parsed.iter().zip(relocs) {
        match relocs {
            Ok(relocs) => objects.push(JudgedObject::new(loader, file, object, relocs, &mut table)),
            Err(bad) => {
                report_bad(console, &bad)?;
                bad_objects.push(bad);
            }
        }
    }
    if !settings.is_empty() {
        let warnings = apply_settings(&mut objects, settings, &mut table)?;
        warnings.iter().try_for_each(|warning| console.warn(warning))?;
    }
    let names = table.names();
    let options = relocation_options(loader, false);
    use_objects(console, &JudgedObjects { objects, bad: bad_objects, needs: table, names, options })
}

/// Returns how a loader relocates enumerators, unless the caller wants them zero-extended.
pub(crate) fn relocation_options(loader: Loader, zero_extends_enums: bool) -> Options {
    let zero_extends = zero_extends_enums || matches!(loader, Loader::Cilium | Loader::Aya);
    Options::default().zero_extend_unsigned_enums(zero_extends)
}

/// Applies settings of user space to the objects that have their names. Returns warnings about settings that change nothing.
fn apply_settings(
    objects: &mut [JudgedObject<'_>],
    settings: &UserSettings,
    table: &mut NeedTable,
) -> Result<Vec<String>, BadInput> {
    let names: Vec<_> =
        objects.iter().map(|object| (&*object.file.name, ObjectNames::new(object.object))).collect();
    settings.check_names(&names.iter().map(|(file, names)| (*file, names)).collect::<Vec<_>>())?;
    let mut warnings = Vec::new();
    for (judged, (file, names)) in objects.iter_mut().zip(&names) {
        let user = settings.applied(file, names)?;
        warnings.extend_from_slice(&user.warnings);
        judged.apply_settings(user, table);
    }
    Ok(warnings)
}

/// The objects of each byte order, prepared for all kernels of that order.
pub(crate) struct ObjectsByOrder<'o> {
    pub(crate) all: &'o [JudgedObject<'o>],
    little: OnceLock<Objects<'o>>,
    big: OnceLock<Objects<'o>>,
    options: Options,
}

impl<'o> ObjectsByOrder<'o> {
    pub(crate) fn new(all: &'o [JudgedObject<'o>], options: Options) -> Self {
        Self { all, little: OnceLock::new(), big: OnceLock::new(), options }
    }

    /// Returns the objects of a byte order.
    pub(crate) fn with_order(&self, order: Endian) -> &Objects<'o> {
        let prepared = if order == Endian::Little { &self.little } else { &self.big };
        prepared.get_or_init(|| {
            let with_order = self.all.iter().filter(|object| object.object.endian() == order);
            Objects::new(with_order.map(|object| &object.relocs)).with_options(self.options)
        })
    }
}
