//! The judge of a fleet, and the plans and answers of its objects on one kernel.

use super::{
    error::FleetError,
    kernel::JudgedKernel,
    objects::{Fleet, FleetObject},
    workers::{CallingThread, Workers},
};
use crate::{
    judge::{KernelAnswers, LoadJudgeError, NeededFeature, ObjectVerdict, TableSearch, judge_by_load},
    kernel::{KernelInputs, NameQuery, VmlinuxNames, WantedFacts},
};
use core::fmt;
use core_relo::{
    Endian, Plan, Relocs, Target,
    minimise::MinimalBtf,
    plan::{Objects, Options},
};
use core_relo_object::{
    InternalError,
    load_plan::{PlanByLoad, Settings},
};
use std::sync::OnceLock;

/// A judge of the objects of a fleet on any number of kernels. Threads may share the judge.
pub struct FleetJudge<'f, D = (), W = CallingThread> {
    fleet: &'f Fleet<'f, D>,
    by_order: ObjectsByOrder<'f, D>,
    given: KernelInputs,
    workers: W,
}

/// The plans and answers of all objects on one kernel.
#[derive(Debug)]
#[non_exhaustive]
pub struct KernelCase<'k, 'f, K, D = ()> {
    /// The kernel, with the modules that the objects need.
    pub kernel: &'k K,
    /// The objects, in the order of the fleet.
    pub objects: Vec<PlannedObject<'k, 'f, D>>,
    /// The kernel's answers to the requirements of the objects.
    pub answers: KernelAnswers<'k, 'k>,
    /// Contradictions between the facts about the kernel, and facts that cannot be read.
    pub warnings: Vec<String>,
}

/// An object on a kernel.
#[derive(Debug)]
#[non_exhaustive]
pub struct PlannedObject<'k, 'f, D = ()> {
    /// The object.
    pub object: &'f FleetObject<'f, D>,
    /// The plan of the object, or the reason why the object does not fit the kernel.
    pub plan: Result<PlanByLoad<'k, 'k>, FleetError>,
}

/// The plans of objects by load, or the errors of objects without one.
type ObjectPlans<'k> = Vec<Result<PlanByLoad<'k, 'k>, FleetError>>;

/// Objects that are planned on a kernel.
struct FittingObjects<'k, 'f, K, D> {
    /// For each object of the fleet, the reason why it does not fit the kernel.
    fits: Vec<Result<(), FleetError>>,
    /// The objects that fit, which have the kernel's byte order.
    same_order: Vec<&'f FleetObject<'f, D>>,
    inputs: KernelInputs,
    /// The names that the objects look up, found in the kernel.
    search: TableSearch<'k>,
    /// The kernel with the modules that the objects need, if they need any.
    with_modules: Option<K>,
}

impl<'f, D: Sync> FleetJudge<'f, D> {
    /// Prepares the objects of a fleet for many kernels.
    pub fn new(fleet: &'f Fleet<'f, D>) -> Self {
        Self::with_workers(fleet, KernelInputs::default(), CallingThread)
    }
}

impl<'f, D: Sync, W: Workers> FleetJudge<'f, D, W> {
    /// Prepares the objects of a fleet for many kernels. `given` are facts that take precedence over those of
    /// each kernel. The workers plan several objects of one kernel.
    pub fn with_workers(fleet: &'f Fleet<'f, D>, given: KernelInputs, workers: W) -> Self {
        let by_order = ObjectsByOrder::new(fleet);
        Self { fleet, by_order, given, workers }
    }

    /// Returns the objects.
    pub fn objects(&self) -> &'f [FleetObject<'f, D>] {
        self.fleet.objects()
    }

    /// Returns the names that the needs of the objects look up in each kernel.
    pub fn names(&self) -> &NameQuery {
        self.fleet.needs().names()
    }

    /// Plans the relocations of the objects that have the byte order of a kernel.
    pub fn relocation_plans<'p>(&'p self, target: &'p Target<'p>) -> Vec<Plan<'p>> {
        self.by_order.with_order(target.vmlinux().btf.endian()).plans(target)
    }

    /// Returns the threads that plan several objects of one kernel.
    pub const fn workers(&self) -> &W {
        &self.workers
    }

    /// Returns whether an object has the byte order of a kernel.
    pub fn fits(&self, kernel: &impl JudgedKernel) -> bool {
        let order = kernel.target().vmlinux().btf.endian();
        self.objects().iter().any(|object| object.object.endian() == order)
    }

    /// Returns the facts to find in the images of kernels.
    pub fn wanted_facts(&self) -> WantedFacts {
        WantedFacts {
            version_and_kconfig: true,
            symbols: self.fleet.needs().has_symbols(),
            ..WantedFacts::default()
        }
    }

    /// Returns the verdict on each object on a kernel.
    pub fn verdicts<K: JudgedKernel>(
        &self,
        kernel: &K,
    ) -> Vec<(&'f FleetObject<'f, D>, Result<ObjectVerdict, FleetError>)> {
        self.with_kernel(kernel, None, |case| {
            let verdict = |planned: &PlannedObject<'_, 'f, D>| {
                let plan = planned.plan.as_ref().map_err(FleetError::clone);
                (planned.object, plan.map(|plan| case.judge(planned.object, plan)))
            };
            case.objects.iter().map(verdict).collect()
        })
    }

    /// Plans the objects on a kernel, and passes the plans and the kernel's answers to `use_case`.
    ///
    /// `relocated_against` is the kernel whose types the objects are relocated against, if not those of the
    /// kernel itself.
    pub fn with_kernel<K: JudgedKernel, R>(
        &self,
        kernel: &K,
        relocated_against: Option<&K>,
        use_case: impl FnOnce(&KernelCase<'_, 'f, K, D>) -> R,
    ) -> R {
        let (objects, plans) = self.plan_objects(kernel, relocated_against);
        let plans = match (&objects.with_modules, relocated_against) {
            (Some(kernel), None) => self.plan(&objects.same_order, kernel.target()),
            _ => plans,
        };
        use_case(&self.case(objects.with_modules.as_ref().unwrap_or(kernel), &objects, plans))
    }

    /// Plans the objects on a kernel. If they need modules, the plans are made without them.
    fn plan_objects<'k, K: JudgedKernel>(
        &'k self,
        kernel: &'k K,
        relocated_against: Option<&'k K>,
    ) -> (FittingObjects<'k, 'f, K, D>, ObjectPlans<'k>) {
        let vmlinux = &kernel.target().vmlinux().btf;
        let is_minimal = MinimalBtf::find(vmlinux) == Some(MinimalBtf::ForLoading);
        let order = vmlinux.endian();
        let fits = |object: &FleetObject<'_, D>| match object.object.endian() {
            object if object != order => Err(FleetError::ByteOrder { kernel: order, object }),
            _ if is_minimal => Err(FleetError::MinimalBtf),
            _ => Ok(()),
        };
        let fits: Vec<_> = self.objects().iter().map(fits).collect();
        let same_order = self.objects().iter().zip(&fits).filter(|(_, check)| check.is_ok());
        let same_order: Vec<_> = same_order.map(|(object, _)| object).collect();
        let plans = self.plan(&same_order, relocated_against.unwrap_or(kernel).target());
        let needs = self.fleet.needs();
        let search = TableSearch::new(needs, kernel.target());
        let wanted = WantedFacts {
            version_and_kconfig: needs.has_kconfig(),
            symbols: needs.has_symbols()
                || (kernel.is_running() && needs.probes_untyped_function(&search.names)),
            refused_attach_types: needs.traces_functions(),
        };
        let inputs = kernel.inputs(&self.given, wanted);
        let with_modules = add_modules(kernel, &plans, &search.names);
        (FittingObjects { fits, same_order, inputs, search, with_modules }, plans)
    }

    /// Returns the case of planned objects on a kernel with the modules that they need.
    fn case<'k, K: JudgedKernel>(
        &'k self,
        kernel: &'k K,
        FittingObjects { fits, inputs, search, .. }: &'k FittingObjects<'k, 'f, K, D>,
        plans: ObjectPlans<'k>,
    ) -> KernelCase<'k, 'f, K, D> {
        let answers = search.answers(kernel.target(), inputs);
        let warnings = kernel.warnings(&self.given, &answers.facts);
        let mut plans = plans.into_iter();
        // Workers of the caller may return too few results.
        let missing = || Err(InternalError::new("workers return one plan for each object").into());
        let objects = self.objects().iter().zip(fits).map(|(object, fits)| {
            let plan = match fits {
                Ok(()) => plans.next().unwrap_or_else(missing),
                Err(error) => Err(error.clone()),
            };
            PlannedObject { object, plan }
        });
        KernelCase { kernel, objects: objects.collect(), answers, warnings }
    }

    /// Plans objects that have the byte order of the kernel.
    fn plan<'p>(&'p self, objects: &[&'f FleetObject<'f, D>], target: &'p Target<'p>) -> ObjectPlans<'p> {
        let plans = self.workers.map_chunks(objects, |chunk| {
            if chunk.len() == objects.len() {
                self.relocation_plans(target)
            } else {
                Plan::for_objects_with(&relocs_of(chunk), target, self.fleet.options())
            }
        });
        plans.into_iter().zip(objects).map(|(plan, object)| Ok(object.plan_by_load(plan)?)).collect()
    }
}

impl<D, W> fmt::Debug for FleetJudge<'_, D, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetJudge").field("objects", &self.fleet.objects().len()).finish_non_exhaustive()
    }
}

impl<K, D> KernelCase<'_, '_, K, D> {
    /// Judges an object of the case.
    pub fn judge(&self, object: &FleetObject<'_, D>, plan: &PlanByLoad<'_, '_>) -> ObjectVerdict {
        match &object.needs {
            Ok(needs) => judge_by_load(needs, plan, &self.answers)
                .unwrap_or_else(|error| ObjectVerdict::unknown(object.object, object.loader, &error)),
            Err(error) => ObjectVerdict::refused_by_linker(object.object, object.loader, error),
        }
    }

    /// Judges an object of the case with the settings of a load.
    pub fn judge_load(
        &self,
        object: &FleetObject<'_, D>,
        plan: &PlanByLoad<'_, '_>,
        settings: &Settings,
    ) -> Result<ObjectVerdict, LoadJudgeError> {
        self.answers.judge_load(object.object, &object.relocs, plan.plan(), settings)
    }

    /// Returns the features of the kernel that an object of the case needs.
    pub fn features(&self, object: &FleetObject<'_, D>) -> Vec<NeededFeature> {
        object.needs.as_ref().map_or_else(|_| Vec::new(), |needs| self.answers.features(needs))
    }
}

/// Returns the kernel with the modules that may have the types, functions and kfuncs which vmlinux lacks.
fn add_modules<K: JudgedKernel>(
    kernel: &K,
    plans: &[Result<PlanByLoad<'_, '_>, FleetError>],
    vmlinux: &VmlinuxNames<'_>,
) -> Option<K> {
    if !kernel.can_add_modules() {
        return None;
    }
    let mut names = vmlinux.names_for_modules().peekable();
    let plans = plans.iter().flatten().map(PlanByLoad::plan);
    let needs_modules = vmlinux.needs_modules() || names.peek().is_some();
    if !needs_modules && !plans.clone().any(Plan::needs_modules) {
        return None;
    }
    kernel.with_modules_for(&mut plans.flat_map(Plan::names_for_modules).chain(names))
}

fn relocs_of<'f, D>(objects: &[&'f FleetObject<'f, D>]) -> Vec<&'f Relocs<'f>> {
    objects.iter().map(|object| &object.relocs).collect()
}

/// The objects of each byte order, prepared for all kernels of that order.
struct ObjectsByOrder<'f, D> {
    all: &'f [FleetObject<'f, D>],
    little: OnceLock<Objects<'f>>,
    big: OnceLock<Objects<'f>>,
    options: Options,
}

impl<'f, D> ObjectsByOrder<'f, D> {
    fn new(fleet: &'f Fleet<'f, D>) -> Self {
        let (little, big) = (OnceLock::new(), OnceLock::new());
        Self { all: fleet.objects(), little, big, options: fleet.options() }
    }

    /// Returns the objects of a byte order.
    fn with_order(&self, order: Endian) -> &Objects<'f> {
        let prepared = if order == Endian::Little { &self.little } else { &self.big };
        prepared.get_or_init(|| {
            let with_order = self.all.iter().filter(|object| object.object.endian() == order);
            Objects::new(with_order.map(|object| &object.relocs)).with_options(self.options)
        })
    }
}
