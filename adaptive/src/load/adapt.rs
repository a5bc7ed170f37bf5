//! [`AdaptiveLoader`]: chooses variants, loads them, and chooses again if the kernel disagrees.

use super::{
    chooser::{Chooser, Judge},
    error::{AdaptiveError, AttemptError},
    failed_part::FailedPart,
    report::{LoadPrivileges, ReportDetails, report},
    verdicts::with_verdicts,
};
use crate::{
    startup_report::{LinkReport, Outcome, Rejection, ReportedKernel, StartupReport},
    variants::{KernelValueError, ObjectVariants, VariantError, VariantGroup, VariantTable},
};
use alloc::sync::Arc;
use core::{convert::Infallible, fmt};
use core_relo_loader::{
    Loader,
    attach::Link,
    load::{LoadError, Loaded, ReplaceablePrograms, RunningKernel, retry_taken_pins},
    load_plan::{LoadPlan, Settings},
};
use core_relo_verdict::judge::{NeededFeature, ObjectVerdict};

/// A loader that chooses among the variants of an object.
///
/// The settings of the loader apply, except which of the table's programs are loaded. A failed attempt leaves
/// nothing in the kernel.
pub struct AdaptiveLoader<'l, 'o, 'd> {
    loader: &'l Loader<'o, 'd>,
    variants: ObjectVariants,
    judge: Option<Box<Judge<'l>>>,
    features: Vec<NeededFeature>,
    kernel: Option<ReportedKernel>,
}

/// The result of an adaptive load, and the report of what was chosen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdaptiveLoad<T> {
    /// The loaded object, or the plan.
    pub value: T,
    /// What is loaded, and why.
    pub report: StartupReport,
}

/// The loader and the plan of a selection of variants.
type Attempt<'a, 'o, 'd, T, E> = &'a mut dyn FnMut(&Loader<'o, 'd>, &LoadPlan) -> Result<T, AttemptError<E>>;

impl<'l, 'o, 'd> AdaptiveLoader<'l, 'o, 'd> {
    /// Creates an adaptive loader. Fails if the table names something that the object does not have.
    pub fn new(loader: &'l Loader<'o, 'd>, table: &VariantTable) -> Result<Self, VariantError> {
        Ok(Self {
            loader,
            variants: table.fit(loader.object())?,
            judge: None,
            features: Vec::new(),
            kernel: None,
        })
    }

    /// Replaces the verdicts by those of another judge, such as one that knows more about a kernel than the
    /// loader. The error of the judge is the reason why there is no verdict; the alternatives are then tried
    /// in their order.
    #[must_use]
    pub fn judged_by(mut self, judge: impl Fn(&Settings) -> Result<ObjectVerdict, String> + 'l) -> Self {
        self.judge = Some(Box::new(judge));
        self
    }

    /// Sets the features that the object needs, for a load that another judge [judges](Self::judged_by): the
    /// report has them, and alternatives that the kernel cannot attach are not chosen. The default judge
    /// finds them itself.
    #[must_use]
    pub fn features(mut self, features: Vec<NeededFeature>) -> Self {
        self.features = features;
        self
    }

    /// Sets what the report says about the kernel. The default describes the running kernel.
    #[must_use]
    pub fn kernel(mut self, kernel: ReportedKernel) -> Self {
        self.kernel = Some(kernel);
        self
    }

    /// Returns the table and the object's names behind it.
    pub const fn variants(&self) -> &ObjectVariants {
        &self.variants
    }

    /// Chooses variants by their verdicts alone, and returns the settings of their load. Nothing is planned
    /// or loaded.
    pub fn choose(&self) -> Result<AdaptiveLoad<Settings>, AdaptiveError> {
        self.with_judge(&mut |judge, features| {
            let mut choice = Choice::new(self, features)?;
            let settings = choice.chooser.choose(judge, features)?;
            choice.check_exhausted(&settings, 0)?;
            let details = choice.details(Outcome::Planned, 0);
            let report = choice.report(&settings, None, details);
            Ok(AdaptiveLoad { value: settings, report })
        })
    }

    /// Chooses variants and plans their load. Nothing is loaded, so that only verdicts and planning decide.
    pub fn plan(&self) -> Result<AdaptiveLoad<LoadPlan>, AdaptiveError> {
        self.run_attempts(Outcome::Planned, &mut |_, plan| Ok((plan.clone(), Vec::new())))
    }

    /// Loads the first variants that the kernel accepts.
    pub fn load(&self) -> Result<AdaptiveLoad<Loaded>, AdaptiveError> {
        self.run_attempts(Outcome::Loaded, &mut |loader, plan| {
            Ok((loader.execute(plan, &RunningKernel)?, Vec::new()))
        })
    }

    /// Loads and attaches the first variants that the kernel accepts and that can be attached. Pins of maps
    /// are the last step.
    ///
    /// As [`Loaded::attach_all`], programs whose section names no target stay unattached.
    pub fn load_and_attach(&self) -> Result<AdaptiveLoad<(Loaded, Vec<Link>)>, AdaptiveError> {
        self.run_attempts(Outcome::Attached, &mut |loader, plan| {
            let (loaded, links) = load_and_attach(loader, plan)?;
            let reports = links.iter().map(LinkReport::new).collect();
            Ok(((loaded, links), reports))
        })
    }

    /// Calls `attempt` with the plan of the chosen variants, until it succeeds. After an error that is about
    /// a part with alternatives, the next alternative is chosen. `attempt` has to undo what it did before it
    /// fails.
    ///
    /// `attempt` also returns the links that it attached, for the report.
    pub fn load_with<T, E>(
        &self,
        mut attempt: impl FnMut(&Loader<'o, 'd>, &LoadPlan) -> Result<(T, Vec<LinkReport>), AttemptError<E>>,
    ) -> Result<AdaptiveLoad<T>, AdaptiveError<E>> {
        self.run_attempts(Outcome::Loaded, &mut attempt)
    }

    /// Calls `use_judge` with the judge of the loads, and the kernel's features that the object needs.
    fn with_judge<R>(&self, use_judge: &mut dyn FnMut(&Judge<'_>, &[NeededFeature]) -> R) -> R {
        if let Some(judge) = &self.judge {
            return use_judge(&**judge, &self.features);
        }
        with_verdicts(self.loader, |judged| match judged {
            Ok((judge, features)) => use_judge(judge, features),
            Err(cause) => use_judge(&|_| Err(cause.clone()), &[]),
        })
    }

    fn run_attempts<T, E>(
        &self,
        outcome: Outcome,
        attempt: Attempt<'_, 'o, 'd, (T, Vec<LinkReport>), E>,
    ) -> Result<AdaptiveLoad<T>, AdaptiveError<E>> {
        self.with_judge(&mut |judge, features| self.run_judged((judge, features), outcome, &mut *attempt))
    }

    #[expect(clippy::arithmetic_side_effects, reason = "each attempt rejects a part of the object")]
    fn run_judged<T, E>(
        &self,
        (judge, features): (&Judge<'_>, &[NeededFeature]),
        outcome: Outcome,
        attempt: Attempt<'_, 'o, 'd, (T, Vec<LinkReport>), E>,
    ) -> Result<AdaptiveLoad<T>, AdaptiveError<E>> {
        let mut choice = Choice::new(self, features)?;
        let replaceable = Arc::new(self.replaceable_programs());
        let mut attempt_count = 0usize;
        loop {
            let settings = choice.chooser.choose(judge, features)?;
            choice.check_exhausted(&settings, attempt_count)?;
            let mut loader = self.loader.clone();
            *loader.settings_mut() = settings.clone();
            loader.set_replaceable_programs(Arc::clone(&replaceable));
            attempt_count += 1;
            let planned = loader.plan().map_err(AttemptError::Load);
            let tried = planned.and_then(|plan| attempt(&loader, &plan).map(|done| (done, plan)));
            let error = match tried {
                Ok(((value, links), plan)) => {
                    let details = ReportDetails { links, ..choice.details(outcome, attempt_count) };
                    let report = choice.report(&settings, Some(&plan), details);
                    return Ok(AdaptiveLoad { value, report });
                }
                Err(error) => error,
            };
            let failed = match &error {
                AttemptError::Load(cause) => FailedPart::of_load(cause),
                AttemptError::Attach(cause) => FailedPart::of_attach(cause),
                AttemptError::Other(_) => None,
            };
            let others = match &error {
                AttemptError::Load(LoadError::Program { others, .. }) => others.as_slice(),
                _ => &[],
            };
            if failed.is_some_and(|failed| choice.chooser.reject(failed, others)) {
                continue;
            }
            let details = choice.details(Outcome::Failed, attempt_count);
            let report = Box::new(choice.report(&settings, None, details));
            return Err(match error {
                AttemptError::Load(cause) => AdaptiveError::Load { cause: Box::new(cause), report },
                AttemptError::Attach(cause) => AdaptiveError::Attach { cause: Box::new(cause), report },
                AttemptError::Other(cause) => AdaptiveError::Other { cause, report },
            });
        }
    }
}

impl AdaptiveLoader<'_, '_, '_> {
    /// Returns the programs that another selection replaces or leaves out. The programs of a group are one
    /// part.
    fn replaceable_programs(&self) -> ReplaceablePrograms {
        let groups = self.variants.table().groups();
        let grouped = groups.iter().enumerate().flat_map(|(part, group)| {
            let programs = group.alternatives.iter().flat_map(|alternative| &alternative.0);
            programs.map(move |program| (program.clone(), part))
        });
        let optional = self.variants.optional_programs().map(str::to_owned);
        grouped.chain(optional.zip(groups.len()..)).collect()
    }
}

/// The choice of a load, with the facts for its report.
struct Choice<'c> {
    chooser: Chooser<'c>,
    constants: Vec<Result<i128, KernelValueError>>,
    features: &'c [NeededFeature],
    kernel: ReportedKernel,
    /// The privileges of a load into the running kernel.
    privileges: Option<LoadPrivileges>,
}

impl<'c> Choice<'c> {
    fn new(
        loader: &'c AdaptiveLoader<'_, '_, '_>,
        features: &'c [NeededFeature],
    ) -> Result<Self, VariantError> {
        let kernel = loader.loader.kernel();
        let types = kernel.relocation_btf.as_ref().unwrap_or(&kernel.btf);
        let constants = loader.variants.find_constants(types)?;
        let numbers = constants.iter().map(|number| number.as_ref().ok().copied()).collect();
        let chooser =
            Chooser::new(loader.loader.object(), &loader.variants, loader.loader.settings(), numbers);
        Ok(Self {
            chooser,
            constants,
            features,
            kernel: loader.kernel.clone().unwrap_or_else(|| ReportedKernel::describe(&kernel)),
            privileges: kernel.btf.is_live().then(|| LoadPrivileges::new(loader.loader)),
        })
    }

    /// Returns the error of a group without a working alternative that is not optional.
    fn check_exhausted<E>(&self, settings: &Settings, attempts: usize) -> Result<(), AdaptiveError<E>> {
        let Some((group, rejections)) = self.chooser.exhausted_group() else { return Ok(()) };
        let report = self.report(settings, None, self.details(Outcome::Failed, attempts));
        Err(exhausted(group, rejections, Box::new(report)))
    }

    const fn details(&self, outcome: Outcome, attempts: usize) -> ReportDetails {
        ReportDetails { outcome, attempts, links: Vec::new(), privileges: self.privileges }
    }

    fn report(&self, settings: &Settings, plan: Option<&LoadPlan>, details: ReportDetails) -> StartupReport {
        let kernel = (self.kernel.clone(), self.features.to_vec());
        report(&self.chooser, &self.constants, settings, plan, kernel, details)
    }
}

impl fmt::Debug for AdaptiveLoader<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdaptiveLoader").field("variants", &self.variants).finish_non_exhaustive()
    }
}

/// Loads and attaches a plan. Tries again if another process pins one of the maps at the same time.
fn load_and_attach(
    loader: &Loader<'_, '_>,
    plan: &LoadPlan,
) -> Result<(Loaded, Vec<Link>), AttemptError<Infallible>> {
    // Only errors of the load itself are a reason for another attempt with the same plan.
    retry_taken_pins(|remaining| {
        let mut loaded = loader.execute_unpinned(plan, &RunningKernel)?;
        loaded.adopt_pins(remaining, &RunningKernel);
        match loaded.attach_all() {
            Ok(links) => {
                loaded.pin_maps(&RunningKernel)?;
                Ok(Ok((loaded, links)))
            }
            Err(cause) => Ok(Err(AttemptError::Attach(cause))),
        }
    })
    .map_err(|cause: LoadError| AttemptError::Load(cause))?
}

/// Creates the error of a group without a working alternative.
fn exhausted<E>(
    group: &VariantGroup,
    rejections: &[Vec<Rejection>],
    report: Box<StartupReport>,
) -> AdaptiveError<E> {
    let last = rejections.last().and_then(|rejections| rejections.first());
    AdaptiveError::Exhausted {
        group: group.name.clone(),
        count: group.alternatives.len(),
        last: last.map(|rejection| rejection.reasons.join("; ")),
        report,
    }
}
