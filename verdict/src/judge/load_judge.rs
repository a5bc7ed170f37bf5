//! The verdicts on an object with the settings of a load, on the kernel that the load is planned for.

use super::{
    answers::KernelAnswers, error::JudgeError, features::KernelFeature, model::ObjectVerdict, object::judge,
};
use crate::{
    kernel::{KernelFacts, KernelInputs, KernelVersion, NameQuery, VmlinuxNames},
    loaders::Loader,
    requirements::{NeedTable, ObjectNeeds},
};
use core_relo::{Plan, Relocs, Target, minimise::MinimalBtf};
use core_relo_object::{
    link::LinkError,
    load_plan::{Settings, TargetKernel},
    object::{Object, ObjectError},
    target::KernelBtfError,
};
use std::io::Read as _;
use thiserror::Error;

/// A judge of one object on one kernel, for any number of settings.
///
/// ```no_run
/// use core_relo_object::{load_plan::{Settings, TargetKernel}, object::Object};
/// use core_relo_verdict::judge::LoadJudge;
///
/// # fn example(object: &Object<'_>, kernel: &TargetKernel) -> Result<(), Box<dyn std::error::Error>> {
/// let settings = Settings::default();
/// let verdict = LoadJudge::with(object, kernel, &settings, |judge| judge.judge(&settings))??;
/// println!("{}", verdict.verdict);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LoadJudge<'j, 'd> {
    object: &'j Object<'d>,
    relocs: &'j Relocs<'j>,
    needs: NeedTable,
    plan: Plan<'j>,
    answers: KernelAnswers<'j, 'j>,
}

/// A reason why no verdict is possible.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadJudgeError {
    /// The object's relocations cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// libbpf would not open the object.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The kernel's types cannot be read.
    #[error(transparent)]
    Kernel(#[from] KernelBtfError),
    /// The kernel's BTF is reduced to the types of relocations.
    #[error("the kernel's BTF is minimal BTF without the types on which verdicts depend")]
    MinimalBtf,
    /// The byte orders of the object and the kernel differ.
    #[error("the object has another byte order than the kernel")]
    ByteOrder,
    /// The requirements, the plan and the kernel's answers do not belong together.
    #[error(transparent)]
    Judge(#[from] JudgeError),
}

core_relo::debug_as_message!(LoadJudgeError);

impl<'d> LoadJudge<'_, 'd> {
    /// Prepares a judge of an object on a kernel, and passes it to `use_judge`.
    ///
    /// Of the running kernel, the modules, the configuration and the symbols are read if the object needs them. The kernel is searched
    /// for the types and attach targets in `settings`; [`judge`](Self::judge) knows no others.
    pub fn with<T>(
        object: &Object<'d>,
        kernel: &TargetKernel,
        settings: &Settings,
        use_judge: impl FnOnce(&LoadJudge<'_, 'd>) -> T,
    ) -> Result<T, LoadJudgeError> {
        let evidence = Evidence::collect(object, kernel, settings)?;
        Ok(use_judge(&evidence.judge(object)))
    }

    /// Returns the features of the kernel that the object needs with the settings of a load. Those that attach a program at the place of
    /// its section are left out if the caller attaches the program.
    pub fn features(&self, settings: &Settings) -> Result<Vec<KernelFeature>, LoadJudgeError> {
        let mut table = self.needs.clone();
        let mut needs = ObjectNeeds::collect_for(Loader::CoreRelo, self.object, self.relocs, &mut table)?;
        needs.apply_settings(settings, &mut table);
        needs.judge_as_load();
        Ok(self.answers.features(&needs))
    }

    /// Returns the verdict on the object with the settings of a load.
    pub fn judge(&self, settings: &Settings) -> Result<ObjectVerdict, LoadJudgeError> {
        self.answers.judge_load(self.object, self.relocs, &self.plan, settings)
    }
}

/// The requirements of an object, and what is known about a kernel.
struct Evidence<'o> {
    relocs: Relocs<'o>,
    needs: NeedTable,
    names: NameQuery,
    inputs: KernelInputs,
    /// The types that the object is relocated against.
    types: Target<'static>,
    target: Target<'static>,
}

impl<'o> Evidence<'o> {
    fn collect(
        object: &'o Object<'_>,
        kernel: &TargetKernel,
        settings: &Settings,
    ) -> Result<Self, LoadJudgeError> {
        let relocs = object.relocs_or_none()?;
        let mut needs = NeedTable::default();
        ObjectNeeds::collect_for(Loader::CoreRelo, object, &relocs, &mut needs)?
            .apply_settings(settings, &mut needs);
        let names = needs.names();
        let source = kernel.relocation_btf.as_ref().unwrap_or(&kernel.btf);
        let (mut types, mut target) = (source.target(false)?, kernel.btf.target(false)?);
        let vmlinux = &target.vmlinux().btf;
        if vmlinux.endian() != object.endian() {
            return Err(LoadJudgeError::ByteOrder);
        }
        if MinimalBtf::find(vmlinux) == Some(MinimalBtf::ForLoading) {
            return Err(LoadJudgeError::MinimalBtf);
        }
        let vmlinux_names = VmlinuxNames::new(&target, &names);
        let wants_symbols = needs.has_symbols() || needs.probes_untyped_function(&vmlinux_names);
        let mut inputs = inputs(kernel, wants_symbols);
        inputs.kconfig_overrides = settings.kconfig.as_deref().map(Into::into);
        if let Some(system) = kernel.system.as_ref().filter(|_| kernel.btf.is_live()) {
            inputs.lockdown = system.lockdown();
            inputs.memory_nodes = system.memory_nodes();
            if needs.traces_functions() {
                inputs.refused_attach_types = system.refused_attach_types();
            }
        }
        let plan = Plan::new(&relocs, &types);
        let missing: Vec<_> = plan.names_for_modules().chain(vmlinux_names.names_for_modules()).collect();
        let needs_modules = plan.needs_modules() || vmlinux_names.names_for_modules().next().is_some();
        if needs_modules && !kernel.btf.modules().map_err(KernelBtfError::from)?.is_empty() {
            let with_modules = kernel.btf.target_with_names(missing.iter().copied())?;
            if kernel.relocation_btf.is_none() {
                types = with_modules.clone();
            }
            target = with_modules;
        }
        Ok(Self { relocs, needs, names, inputs, types, target })
    }

    fn judge<'j, 'd>(&'j self, object: &'j Object<'d>) -> LoadJudge<'j, 'd> {
        let Self { relocs, needs, names, inputs, types, target } = self;
        let answers = KernelAnswers::new(needs, KernelFacts::new(target, names, inputs));
        LoadJudge { object, relocs, needs: needs.clone(), plan: Plan::new(relocs, types), answers }
    }
}

impl KernelAnswers<'_, '_> {
    /// Returns the verdict on an object of the table with the settings of a load. `plan` relocates the object against the kernel.
    pub fn judge_load(
        &self,
        object: &Object<'_>,
        relocs: &Relocs<'_>,
        plan: &Plan<'_>,
        settings: &Settings,
    ) -> Result<ObjectVerdict, LoadJudgeError> {
        // The requirements are in the table already, so that they get the same indices.
        let mut table = self.table.clone();
        let mut needs = ObjectNeeds::collect_for(Loader::CoreRelo, object, relocs, &mut table)?;
        needs.apply_settings(settings, &mut table);
        needs.judge_as_load();
        Ok(judge(&needs, plan, self)?)
    }
}

/// Returns the facts about a kernel beside its BTF, with its symbols if they are wanted.
fn inputs(kernel: &TargetKernel, wants_symbols: bool) -> KernelInputs {
    let mut inputs =
        KernelInputs { version: KernelVersion::from_code(kernel.kernel_version), ..KernelInputs::default() };
    match kernel.read_kconfig() {
        Ok(kconfig) => inputs.kconfig = Some(kconfig),
        Err(e) => inputs.kconfig_error = Some(e.to_string().into()),
    }
    if wants_symbols {
        let mut bytes = Vec::new();
        // Symbols that cannot be read leave the questions unknown.
        let read = kernel.open_kallsyms().and_then(|mut symbols| symbols.read_to_end(&mut bytes));
        inputs.kallsyms = read.ok().map(|_count| String::from_utf8_lossy(&bytes).into());
    }
    inputs
}
