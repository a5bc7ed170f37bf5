//! The judge of all objects on one kernel.

use super::objects::{JudgedObject, JudgedObjects, ObjectsByOrder};
use crate::error::BadInput;
use core_relo::{Plan, Relocs};
use core_relo_kernels::{Kernel, WantedFacts, threads::Threads};
use core_relo_loader::{
    load_plan::{PlanByLoad, Settings},
    running_kernel,
};
use core_relo_verdict::{
    judge::{KernelAnswers, KernelFeature, LoadJudgeError, ObjectVerdict, judge_by_load},
    kernel::{KernelFacts, KernelInputs, VmlinuxNames},
};

/// A judge of objects on any number of kernels. Threads share the judge.
pub(crate) struct KernelJudge<'c> {
    objects: ObjectsByOrder<'c>,
    judged: &'c JudgedObjects<'c>,
    inputs: KernelInputs,
    threads: &'c Threads,
}

/// The plans and answers of all objects on one kernel.
pub(crate) struct KernelCase<'k, 'c> {
    /// The kernel, with the modules that the objects need.
    pub(crate) kernel: &'k Kernel,
    /// For each object its plan, or the reason why the object does not fit the kernel, such as its byte order.
    pub(crate) plans: Vec<Result<(&'k JudgedObject<'c>, PlanByLoad<'k, 'k>), BadInput>>,
    pub(crate) answers: KernelAnswers<'k, 'k>,
    /// Contradictions between the facts about the kernel, and facts that cannot be read.
    pub(crate) warnings: Vec<String>,
}

/// The plans of objects by load, or the errors of objects without one.
type ObjectPlans<'k> = Vec<Result<PlanByLoad<'k, 'k>, BadInput>>;

/// Objects that are planned on a kernel.
struct PlannedObjects<'k, 'c> {
    /// For each object, the reason why it does not fit the kernel.
    fits: Vec<Result<(), BadInput>>,
    /// The objects that fit, which have the kernel's byte order.
    same_order: Vec<&'k JudgedObject<'c>>,
    inputs: KernelInputs,
    /// The names that the objects look up, found in the kernel.
    vmlinux: VmlinuxNames<'k>,
    /// The kernel with the modules that the objects need, if they need any.
    with_modules: Option<Kernel>,
}

impl<'c> KernelJudge<'c> {
    pub(crate) fn new(judged: &'c JudgedObjects<'c>, inputs: KernelInputs, threads: &'c Threads) -> Self {
        let objects = ObjectsByOrder::new(&judged.objects, judged.options);
        Self { objects, judged, inputs, threads }
    }

    /// Returns the objects.
    pub(crate) fn objects(&self) -> &'c [JudgedObject<'c>] {
        self.objects.all
    }

    /// Returns whether an object has the byte order of a kernel.
    pub(crate) fn fits(&self, kernel: &Kernel) -> bool {
        self.objects.all.iter().any(|object| kernel.check_byte_order(object.object.endian()).is_ok())
    }

    /// Returns the facts to find in the images of kernels.
    pub(crate) fn wanted_facts(&self) -> WantedFacts {
        WantedFacts { version_and_kconfig: true, symbols: self.judged.needs.has_symbols() }
    }

    /// Returns the threads that work on several objects of one kernel.
    pub(crate) const fn threads(&self) -> &'c Threads {
        self.threads
    }

    /// Plans the objects on a kernel, and passes the plans and the kernel's answers to `use_case`.
    ///
    /// `relocated_against` is the kernel whose types the objects are relocated against, if not those of the kernel itself.
    pub(crate) fn with_kernel<R>(
        &self,
        kernel: &Kernel,
        relocated_against: Option<&Kernel>,
        use_case: impl FnOnce(&KernelCase<'_, 'c>) -> R,
    ) -> R {
        let (objects, plans) = self.plan_objects(kernel, relocated_against);
        let plans = match (&objects.with_modules, relocated_against) {
            (Some(kernel), None) => self.plan(&objects.same_order, kernel),
            _ => plans,
        };
        use_case(&self.case(objects.with_modules.as_ref().unwrap_or(kernel), &objects, plans))
    }

    /// Plans the objects on a kernel. If they need modules, the plans are made without them.
    fn plan_objects<'k>(
        &'k self,
        kernel: &'k Kernel,
        relocated_against: Option<&'k Kernel>,
    ) -> (PlannedObjects<'k, 'c>, ObjectPlans<'k>) {
        let objects = self.objects.all;
        let has_types = kernel.check_for_verdicts();
        let fits = |object: &JudgedObject<'_>| {
            kernel
                .check_byte_order(object.object.endian())
                .and_then(|()| has_types.clone())
                .map_err(BadInput::from)
        };
        let fits: Vec<_> = objects.iter().map(fits).collect();
        let same_order = objects.iter().zip(&fits).filter(|(_, check)| check.is_ok());
        let same_order: Vec<_> = same_order.map(|(object, _)| object).collect();
        let plans = self.plan(&same_order, relocated_against.unwrap_or(kernel));
        let needs = &self.judged.needs;
        let vmlinux = VmlinuxNames::new(&kernel.target, &self.judged.names);
        let probes_untyped = || needs.probes_untyped_function(&vmlinux);
        let symbols = needs.has_symbols() || (kernel.is_running() && probes_untyped());
        let wanted = WantedFacts { version_and_kconfig: needs.has_kconfig(), symbols };
        let mut inputs = kernel.inputs(&self.inputs, wanted);
        if kernel.is_running()
            && needs.traces_functions()
            && let Some(system) = running_kernel().system
        {
            inputs.refused_attach_types = system.refused_attach_types();
        }
        let with_modules = add_modules(kernel, &plans, &vmlinux);
        (PlannedObjects { fits, same_order, inputs, vmlinux, with_modules }, plans)
    }

    /// Returns the case of planned objects on a kernel with the modules that they need.
    fn case<'k>(
        &'k self,
        kernel: &'k Kernel,
        objects: &'k PlannedObjects<'k, 'c>,
        plans: ObjectPlans<'k>,
    ) -> KernelCase<'k, 'c> {
        let PlannedObjects { fits, same_order, inputs, vmlinux, .. } = objects;
        let facts = KernelFacts::with_names(vmlinux.clone(), &kernel.target, inputs);
        let warnings = kernel.warnings(&self.inputs, &facts);
        let answers = KernelAnswers::new(&self.judged.needs, facts);
        let mut planned = same_order.iter().copied().zip(plans);
        let plans = fits.iter().filter_map(|check| match check {
            Ok(()) => planned.next().map(|(object, plan)| Ok((object, plan?))),
            Err(bad) => Some(Err(bad.clone())),
        });
        KernelCase { kernel, plans: plans.collect(), answers, warnings }
    }

    /// Plans objects that have the byte order of the kernel.
    fn plan<'p>(&'p self, objects: &[&'p JudgedObject<'c>], kernel: &'p Kernel) -> ObjectPlans<'p> {
        let plans = self.threads.map_chunks(objects, |chunk| match chunk.len() == objects.len() {
            true => self.objects.with_order(kernel.target.vmlinux().btf.endian()).plans(&kernel.target),
            false => Plan::for_objects_with(&relocs_of(chunk), &kernel.target, self.judged.options),
        });
        plans.into_iter().zip(objects).map(|(plan, object)| object.plan_by_load(plan)).collect()
    }
}

impl KernelCase<'_, '_> {
    /// Judges an object of the case.
    pub(crate) fn judge(&self, object: &JudgedObject<'_>, plan: &PlanByLoad<'_, '_>) -> ObjectVerdict {
        match &object.needs {
            Ok(needs) => judge_by_load(needs, plan, &self.answers)
                .unwrap_or_else(|error| ObjectVerdict::unknown(object.object, object.loader, &error)),
            Err(error) => ObjectVerdict::refused_by_linker(object.object, object.loader, error),
        }
    }

    /// Judges an object of the case with the settings of a load.
    pub(crate) fn judge_load(
        &self,
        object: &JudgedObject<'_>,
        plan: &PlanByLoad<'_, '_>,
        settings: &Settings,
    ) -> Result<ObjectVerdict, LoadJudgeError> {
        self.answers.judge_load(object.object, &object.relocs, plan.plan(), settings)
    }

    /// Returns the features of the kernel that an object of the case needs.
    pub(crate) fn features(&self, object: &JudgedObject<'_>) -> Vec<KernelFeature> {
        object.needs.as_ref().map_or_else(|_| Vec::new(), |needs| self.answers.features(needs))
    }
}

/// Returns the running kernel with the modules that may have the types, functions and kfuncs which vmlinux lacks.
fn add_modules(
    kernel: &Kernel,
    plans: &[Result<PlanByLoad<'_, '_>, BadInput>],
    vmlinux: &VmlinuxNames<'_>,
) -> Option<Kernel> {
    if !kernel.can_add_modules() {
        return None;
    }
    let names: Vec<_> = vmlinux.names_for_modules().collect();
    let plans = plans.iter().flatten().map(PlanByLoad::plan);
    if names.is_empty() {
        return kernel.with_needed_modules(plans);
    }
    kernel.with_modules_for(plans.flat_map(Plan::names_for_modules).chain(names))
}

fn relocs_of<'c, 'o>(objects: &[&'c JudgedObject<'o>]) -> Vec<&'c Relocs<'o>> {
    objects.iter().map(|object| &object.relocs).collect()
}
