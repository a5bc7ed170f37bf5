//! [`Loader`]: a BPF object, the settings of its load, and the load.

mod globals;

#[cfg(feature = "btf-archive")]
use crate::target::archive::{ArchiveError, BtfOrigin, kernel_or_archive};
use crate::{
    features,
    load::{self, Kernel, LoadError, Loaded, Poison, RefusedProgram, ReplaceablePrograms, RunningKernel},
    running_kernel::{running_kernel, with_running_system},
};
use alloc::sync::Arc;
use core_relo::explain::Explanation;
use core_relo_object::{
    load_plan::{InitialValues, LoadPlan, MapSettings, ProgramSettings, Settings, TargetKernel},
    object::Object,
};
use std::os::fd::OwnedFd;

/// A BPF object with the settings of its load.
///
/// ```no_run
/// use core_relo_loader::{Loader, object::Object};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bytes = std::fs::read("exec.bpf.o")?;
/// let object = Object::parse(&bytes)?;
/// let mut loader = Loader::new(&object).name("exec");
/// loader.set_global("target_pid", &std::process::id())?;
/// loader.map_mut("events").max_entries = Some(1 << 20);
/// loader.program_mut("rarely_wanted").autoload = Some(false);
/// let loaded = loader.load()?;
/// println!("{} programs", loaded.programs().len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Loader<'o, 'd> {
    object: &'o Object<'d>,
    settings: Settings,
    kernel: TargetKernel,
    /// The object's variables and their initial values.
    variables: InitialValues<'o, 'd>,
    replaceable: Arc<ReplaceablePrograms>,
}

impl<'o, 'd> Loader<'o, 'd> {
    /// Creates a loader for the running kernel.
    pub fn new(object: &'o Object<'d>) -> Self {
        Self::for_kernel(object, running_kernel())
    }

    /// Creates a loader for another kernel than the running one, or for a description of the running kernel
    /// that the caller changed.
    ///
    /// [`TargetKernel::offline`] describes a kernel of which only the BTF is known.
    pub fn for_kernel(object: &'o Object<'d>, kernel: TargetKernel) -> Self {
        Self {
            object,
            settings: Settings::default(),
            kernel,
            variables: InitialValues::new(object),
            replaceable: Arc::default(),
        }
    }

    /// Names the object. Error messages begin with the name, and names of data maps in the kernel begin with
    /// part of the name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Returns the object.
    pub fn object(&self) -> &'o Object<'d> {
        self.object
    }

    /// Returns the kernel that the load is planned for. What the caller did not set is read from the running
    /// system.
    pub fn kernel(&self) -> TargetKernel {
        with_running_system(self.kernel.clone())
    }

    /// Returns the kernel that the load is planned for, to change it.
    pub fn kernel_mut(&mut self) -> &mut TargetKernel {
        &mut self.kernel
    }

    /// Takes the kernel's types from an archive of minimal BTF if the running kernel has none. Returns where
    /// the types come from.
    ///
    /// ```no_run
    /// # use core_relo_loader::{Loader, object::Object};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (object, archive) = (std::fs::read("exec.bpf.o")?, std::fs::read("agent-btf.tar.gz")?);
    /// # let object = Object::parse(&object)?;
    /// # let mut loader = Loader::new(&object);
    /// // An agent contains the archive: `include_bytes!("agent-btf.tar.gz")`.
    /// println!("types from {}", loader.set_btf_archive(&archive)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`kernel_or_archive`](crate::target::archive::kernel_or_archive) describes the choice of the entry.
    #[cfg(feature = "btf-archive")]
    pub fn set_btf_archive(&mut self, archive: &[u8]) -> Result<BtfOrigin, ArchiveError> {
        let found = kernel_or_archive(archive)?;
        self.kernel.btf = found.btf;
        Ok(found.origin)
    }

    /// Returns all settings of the load.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns all settings of the load, to change them.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Returns the settings of a program, at first the defaults. [`plan`](Self::plan) fails if the object has
    /// no program of this name.
    pub fn program_mut(&mut self, name: &str) -> &mut ProgramSettings {
        self.settings.program_mut(name)
    }

    /// Returns the settings of a map, at first the defaults. The name of a data map is the name of its
    /// section, such as `.rodata`.
    ///
    /// [`plan`](Self::plan) fails if the object has no map of this name.
    pub fn map_mut(&mut self, name: &str) -> &mut MapSettings {
        self.settings.map_mut(name)
    }

    /// Selects the programs to load. Programs of struct_ops maps are always loaded with their map.
    pub fn select_programs<'n>(&mut self, programs: impl IntoIterator<Item = &'n str>) {
        self.settings.select_programs(self.object, programs);
    }

    /// Sets the programs that another load of the object can replace: after the first refusal, the load
    /// continues with them, so that one load finds all that the kernel refuses.
    pub fn set_replaceable_programs(&mut self, programs: Arc<ReplaceablePrograms>) {
        self.replaceable = programs;
    }

    /// Returns whether the load has a BPF token. A token that cannot be created counts as none.
    pub fn has_token(&self) -> bool {
        self.create_token().is_ok_and(|token| token.is_some())
    }

    /// Plans every request of the load to the kernel. The only requests of this call are feature probes of
    /// the running kernel.
    pub fn plan(&self) -> Result<LoadPlan, LoadError> {
        let mut kernel = self.kernel();
        // Without the token, all probes of a process in a user namespace would fail.
        if kernel.features.is_live()
            && let Some(token) = self.create_token()?
        {
            kernel.features = features::with_token(Arc::new(token));
        }
        LoadPlan::new(self.object, &self.settings, &kernel)
            .map_err(|cause| LoadError::Plan { object: self.settings.name.clone().into(), cause })
    }

    /// Loads the object into the running kernel: plans the load and executes the plan.
    pub fn load(&self) -> Result<Loaded, LoadError> {
        self.execute(&self.plan()?, &RunningKernel)
    }

    /// Executes a plan from [`plan`](Self::plan). As [`load::execute`], with the engine's explanation in
    /// errors.
    pub fn execute(&self, plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
        load::execute_replaceable(plan, kernel, &self.replaceable)
            .map_err(|error| self.add_explanation(plan, error))
    }

    /// Executes a plan without creating pins, as [`load::execute_unpinned`], with the engine's explanation in
    /// errors. [`Loaded::pin_maps`] creates the pins.
    pub fn execute_unpinned(&self, plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
        load::prepare(plan, kernel)
            .and_then(|prepared| prepared.finish_unpinned(&self.replaceable))
            .map_err(|error| self.add_explanation(plan, error))
    }

    fn create_token(&self) -> Result<Option<OwnedFd>, LoadError> {
        load::create_token(&self.settings.name, &self.settings.token, &RunningKernel)
    }

    /// Adds the engine's explanation, if the verifier reached a poisoned CO-RE relocation.
    fn add_explanation(&self, plan: &LoadPlan, mut error: LoadError) -> LoadError {
        if let LoadError::Program { refused, others, .. } = &mut error {
            self.explain_poison(plan, refused);
            for refused in others {
                self.explain_poison(plan, refused);
            }
        }
        error
    }

    fn explain_poison(&self, plan: &LoadPlan, refused: &mut RefusedProgram) {
        if let Some(Poison::CoreRelo { reason, record }) = &mut refused.poison
            && let Some(explanation) = plan.explain(self.object, &self.settings, &self.kernel, *record)
        {
            *reason = explanation_text(&explanation);
        }
    }
}

/// Formats an explanation as a few lines.
fn explanation_text(explanation: &Explanation) -> String {
    let mut text = format!("{}: {}", explanation.local, explanation.reason);
    for (label, lines) in [("near", &explanation.near), ("help", &explanation.help)] {
        for line in lines {
            text.push_str("\n   = ");
            text.push_str(label);
            text.push_str("  ");
            text.push_str(line);
        }
    }
    text
}
