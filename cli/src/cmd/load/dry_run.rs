//! The verdict of a dry run: that of `check`, with the settings of the load.

use crate::{
    args::load::LoadArgs,
    cmd::verdicts::{
        kernel_judge::{KernelCase, KernelJudge, bad_plan},
        objects::{JudgedObject, ObjectContext},
    },
    error::{BadInput, escape_path},
    input::object::ObjectFile,
};
use core_relo_kernels::{
    Kernel, KernelSource, Limits, OpenedKernel, WantedFacts, kernel_text, threads::Threads,
};
use core_relo_loader::{
    load_plan::{PlanByLoad, Settings, TargetKernel},
    object::Object,
};
use core_relo_verdict::{
    fleet::Fleet,
    judge::{NeededFeature, ObjectVerdict},
    kernel::KernelInputs,
    loaders::LoaderKind,
};
use std::{path::Path, sync::Arc};

/// The kernel of a dry run, and the kernel against whose types objects are relocated, if another.
pub(super) struct DryRunKernel {
    pub(super) kernel: Kernel,
    pub(super) relocated_against: Option<Kernel>,
    inputs: KernelInputs,
}

impl DryRunKernel {
    /// Reads the kernels.
    pub(super) fn read(args: &LoadArgs) -> Result<Self, BadInput> {
        let kernel = match &args.btf {
            Some(path) => {
                let source = file_source(path);
                let wanted =
                    WantedFacts { version_and_kconfig: true, symbols: true, ..WantedFacts::default() };
                OpenedKernel::open(&source, &[], Limits::default())?.parse_with_facts(wanted)?
            }
            None => Kernel::read(&KernelSource::Running, &[], Limits::default())?,
        };
        let mut inputs = KernelInputs { version: args.kernel_version, ..KernelInputs::default() };
        if let Some(path) = &args.kallsyms {
            inputs.kallsyms = Some(kernel_text::read_kallsyms(path)?.into());
            inputs.origins.kallsyms = Some(escape_path(path).into());
        }
        if let Some(path) = &args.setup.kconfig {
            let given = kernel_text::read_kconfig(path)?;
            if kernel.has_own_kconfig() {
                inputs.kconfig_overrides = Some(given.into());
            } else {
                // The user provides the configuration that the kernel's file lacks.
                inputs.kconfig = Some(given.into());
            }
        }
        let relocated_against = args.relocate_against.as_deref().map(read_file).transpose()?;
        Ok(Self { kernel, relocated_against, inputs })
    }

    /// Returns the kernel for which to plan the load. Only the user's symbols have addresses: those of a
    /// kernel's files change when it starts.
    pub(super) fn plan_target(&self) -> TargetKernel {
        let mut target = self.kernel.plan_target(self.inputs.version);
        if let Some(symbols) = &self.inputs.kallsyms {
            target.kallsyms = Some(Arc::clone(symbols));
        }
        target
    }

    /// Judges an object with the settings of a load.
    pub(super) fn judge(
        &self,
        file: &ObjectFile,
        object: &Object<'_>,
        settings: &Settings,
    ) -> Result<ObjectVerdict, BadInput> {
        self.with_case(file, object, settings, |case, object, plan| case.judge(object, plan))
    }

    /// Returns the features of the kernel that an object needs with the settings of a load.
    pub(super) fn features(
        &self,
        file: &ObjectFile,
        object: &Object<'_>,
        settings: &Settings,
    ) -> Result<Vec<NeededFeature>, BadInput> {
        self.with_case(file, object, settings, |case, object, _| case.features(object))
    }

    fn with_case<T>(
        &self,
        file: &ObjectFile,
        object: &Object<'_>,
        settings: &Settings,
        use_case: impl FnOnce(&KernelCase<'_, '_>, &JudgedObject<'_>, &PlanByLoad<'_, '_>) -> T,
    ) -> Result<T, BadInput> {
        let relocs = file.relocs_or_none(object)?;
        let context = ObjectContext::new(file, &relocs);
        let mut fleet = Fleet::new(LoaderKind::CoreRelo).with_options(settings.core_options);
        fleet.add_with_relocs(object, relocs, context);
        fleet.apply_settings(|_| Some(settings));
        fleet.judge_as_load();
        let threads = Threads::none();
        let judge = KernelJudge::with_workers(&fleet, self.inputs.clone(), &threads);
        judge.with_kernel(&self.kernel, self.relocated_against.as_ref(), |case| {
            let planned = case.objects.first().ok_or_else(|| {
                BadInput::new(&*file.name, "no plan on the kernel, expected one plan for one object")
            })?;
            match &planned.plan {
                Ok(plan) => Ok(use_case(case, planned.object, plan)),
                Err(error) => Err(bad_plan(error, case.kernel, planned.object)),
            }
        })
    }
}

pub(super) fn read_file(path: &Path) -> Result<Kernel, BadInput> {
    Ok(Kernel::read(&file_source(path), &[], Limits::default())?)
}

fn file_source(path: &Path) -> KernelSource {
    KernelSource::File { path: path.to_path_buf(), base: None, is_listed: false }
}
