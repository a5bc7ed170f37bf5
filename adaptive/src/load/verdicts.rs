//! The verdicts on a load, for any choice of variants.

use super::chooser::Judge;
use core_relo_loader::{Loader, load_plan::Settings};
use core_relo_verdict::{
    fleet::{CallingThread, Fleet, FleetJudge, KernelCase, LoadKernel},
    judge::NeededFeature,
    kernel::KernelInputs,
};

/// A judge and the kernel's features that the object needs, or the reason why no verdict is possible.
type Judged<'j> = Result<(&'j Judge<'j>, &'j [NeededFeature]), String>;

/// Calls `use_judge` with a judge of the loads of a loader.
pub(super) fn with_verdicts<R>(loader: &Loader<'_, '_>, use_judge: impl FnOnce(Judged<'_>) -> R) -> R {
    let (mut fleet, settings, kernel) = (Fleet::default(), loader.settings(), loader.kernel());
    if let Err(cause) = fleet.add(loader.object(), settings) {
        return use_judge(Err(cause.to_string()));
    }
    fleet.apply_settings(|settings| Some(settings));
    fleet.judge_as_load();
    let kernels = LoadKernel::new(&kernel).and_then(|own| Ok((own, LoadKernel::relocated_against(&kernel)?)));
    let (kernel, relocated_against) = match kernels {
        Ok(kernels) => kernels,
        Err(cause) => return use_judge(Err(cause.to_string())),
    };
    let kconfig_overrides = settings.kconfig.as_deref().map(Into::into);
    let given = KernelInputs { kconfig_overrides, ..KernelInputs::default() };
    let judge = FleetJudge::with_workers(&fleet, given, CallingThread::default());
    judge.with_kernel(&kernel, relocated_against.as_ref(), |case| use_case(case, use_judge))
}

fn use_case<R>(
    case: &KernelCase<'_, '_, LoadKernel<'_>, &Settings>,
    use_judge: impl FnOnce(Judged<'_>) -> R,
) -> R {
    if let Some(cause) = case.kernel.module_error() {
        return use_judge(Err(cause.to_string()));
    }
    let Some(planned) = case.objects.first() else {
        return use_judge(Err("the object has no plan on the kernel".to_owned()));
    };
    match &planned.plan {
        Ok(plan) => {
            let judge = |settings: &Settings| {
                case.judge_load(planned.object, plan, settings).map_err(|error| error.to_string())
            };
            use_judge(Ok((&judge, &case.features(planned.object))))
        }
        Err(cause) => use_judge(Err(cause.to_string())),
    }
}
