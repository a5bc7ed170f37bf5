//! [`Loader`]: settings of a load, then the load.

use crate::{
    features,
    load::{self, Kernel, LoadError, Loaded, Poison, RunningKernel},
    running_kernel::{running_kernel, with_running_system},
};
use alloc::sync::Arc;
use core_relo::explain::Explanation;
use core_relo_object::{
    load_plan::{InitialValues, LoadPlan, MapSettings, ProgramSettings, Settings, TargetKernel},
    object::Object,
};

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
/// loader.map("events").max_entries = Some(1 << 20);
/// loader.program("rarely_wanted").autoload = Some(false);
/// let loaded = loader.load()?;
/// println!("{} programs", loaded.programs().len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Loader<'o, 'd> {
    pub(crate) object: &'o Object<'d>,
    pub(crate) settings: Settings,
    kernel: TargetKernel,
    /// The object's variables and their first values.
    pub(crate) variables: InitialValues<'o, 'd>,
}

impl<'o, 'd> Loader<'o, 'd> {
    /// Creates a loader for the running kernel.
    pub fn new(object: &'o Object<'d>) -> Self {
        Self::for_kernel(object, running_kernel())
    }

    /// Creates a loader for another kernel than the running one, or for a description of the running kernel that the caller changed.
    ///
    /// [`TargetKernel::offline`] describes a kernel of which only the BTF is known.
    pub fn for_kernel(object: &'o Object<'d>, kernel: TargetKernel) -> Self {
        Self { object, settings: Settings::default(), kernel, variables: InitialValues::new(object) }
    }

    /// Names the object. Error messages begin with the name, and names of data maps in the kernel begin with part of the name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Returns the object.
    pub fn object(&self) -> &'o Object<'d> {
        self.object
    }

    /// Returns the kernel that the object is planned for.
    pub fn kernel(&mut self) -> &mut TargetKernel {
        &mut self.kernel
    }

    /// Returns all settings of the load.
    pub fn settings(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Returns the settings of a program. [`plan`](Self::plan) fails if the object has no program of this name.
    pub fn program(&mut self, name: &str) -> &mut ProgramSettings {
        self.settings.program(name)
    }

    /// Returns the settings of a map. The name of a data map is the name of the section, such as `.rodata`.
    pub fn map(&mut self, name: &str) -> &mut MapSettings {
        self.settings.map(name)
    }

    /// Selects the programs to load. Programs of struct_ops maps are always loaded with their map.
    pub fn select_programs<'n>(&mut self, programs: impl IntoIterator<Item = &'n str>) {
        self.settings.select_programs(self.object, programs);
    }

    /// Plans every request of the load to the kernel. Changes nothing, but probes the running kernel for features.
    pub fn plan(&self) -> Result<LoadPlan, LoadError> {
        let mut kernel = with_running_system(self.kernel.clone());
        // Without the token, all probes of a process in a user namespace would fail.
        if kernel.features.is_live()
            && let Some(token) =
                load::create_token(&self.settings.name, &self.settings.token, &RunningKernel)?
        {
            kernel.features = features::with_token(Arc::new(token));
        }
        LoadPlan::new(self.object, &self.settings, &kernel)
            .map_err(|cause| LoadError::Plan { object: self.settings.name.clone().into(), cause })
    }

    /// Plans and loads.
    pub fn load(&self) -> Result<Loaded, LoadError> {
        self.execute(&self.plan()?)
    }

    /// Loads a plan that [`plan`](Self::plan) made.
    pub fn execute(&self, plan: &LoadPlan) -> Result<Loaded, LoadError> {
        load::load(plan, &RunningKernel).map_err(|error| self.add_explanation(plan, error))
    }

    /// Loads a plan without pinning maps. [`Loaded::pin_maps`] pins them. Loads that end with this process need no pins.
    pub fn load_unpinned(&self, plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
        load::load_unpinned(plan, kernel).map_err(|error| self.add_explanation(plan, error))
    }

    /// Adds the engine's explanation, if the verifier reached a poisoned CO-RE relocation.
    fn add_explanation(&self, plan: &LoadPlan, mut error: LoadError) -> LoadError {
        if let LoadError::Program { refused, .. } = &mut error
            && let Some(Poison::CoreRelo { reason, record }) = &mut refused.poison
            && let Some(explanation) = plan.explain(self.object, &self.settings, &self.kernel, *record)
        {
            *reason = explanation_text(&explanation);
        }
        error
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
