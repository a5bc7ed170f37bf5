//! [`Loader`]: the usual way from an object to loaded programs.

use crate::{
    features,
    globals::InitialValues,
    host::{running_host, with_running_system},
    load::{self, Kernel, LoadError, Loaded, Meaning, Running},
    load_plan::{Host, LoadPlan, MapSettings, ProgramSettings, Settings},
    object::Object,
};
use alloc::sync::Arc;
use core_relo::explain::Explanation;

/// Sets up an object and loads it.
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
    host: Host,
    /// The object's variables and their first values.
    pub(crate) variables: InitialValues<'o, 'd>,
}

impl<'o, 'd> Loader<'o, 'd> {
    /// A loader for the running kernel.
    pub fn new(object: &'o Object<'d>) -> Self {
        Self::with_host(object, running_host())
    }

    /// A loader for a kernel that is described: see [`Host::offline`].
    pub fn with_host(object: &'o Object<'d>, host: Host) -> Self {
        Self { object, settings: Settings::default(), host, variables: InitialValues::new(object) }
    }

    /// Names the object: the kernel shows (some of) it in the names of data maps, and errors begin with it.
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
    pub fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    /// Returns all settings of the load.
    pub fn settings(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Returns the settings of a program. Planning finds out if the object has no program of the name.
    pub fn program(&mut self, name: &str) -> &mut ProgramSettings {
        self.settings.program(name)
    }

    /// Returns the settings of a map; a data map goes by its section's name, as `.rodata`.
    pub fn map(&mut self, name: &str) -> &mut MapSettings {
        self.settings.map(name)
    }

    /// Loads these programs and no others. Programs of struct_ops maps are loaded with their map in any case.
    pub fn select_programs<'n>(&mut self, programs: impl IntoIterator<Item = &'n str>) {
        self.settings.select_programs(self.object, programs);
    }

    /// Plans everything that the load asks of the kernel. Changes nothing; the running kernel is probed for what it can do.
    pub fn plan(&self) -> Result<LoadPlan, LoadError> {
        let mut host = with_running_system(self.host.clone());
        // Without its token, a process in a user namespace would find that the kernel can do nothing.
        if host.features.is_live()
            && let Some(token) = load::token(&self.settings.name, &self.settings.token, &Running)?
        {
            host.features = features::with_token(Arc::new(token));
        }
        LoadPlan::new(self.object, &self.settings, &host)
            .map_err(|cause| LoadError::Plan { object: self.settings.name.clone().into(), cause })
    }

    /// Plans and loads.
    pub fn load(&self) -> Result<Loaded, LoadError> {
        self.execute(&self.plan()?)
    }

    /// Loads a plan that [`plan`](Self::plan) made.
    pub fn execute(&self, plan: &LoadPlan) -> Result<Loaded, LoadError> {
        load::load(plan, &Running).map_err(|error| self.add_explanation(plan, error))
    }

    /// Loads a plan on a kernel and makes no pins. [`Loaded::pin_maps`] makes them; nobody does if the load ends with this process.
    pub fn load_unpinned(&self, plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
        load::load_unpinned(plan, kernel).map_err(|error| self.add_explanation(plan, error))
    }

    /// Adds the engine's explanation, if the verifier reached an access that the kernel's types do not have.
    fn add_explanation(&self, plan: &LoadPlan, mut error: LoadError) -> LoadError {
        if let LoadError::Program { refused, .. } = &mut error
            && let Some(Meaning::CoreRelo { why, record }) = &mut refused.meaning
            && let Some(found) = plan.explain(self.object, &self.settings, &self.host, *record)
        {
            *why = explanation_text(&found);
        }
        error
    }
}

/// Formats an explanation as a few lines.
fn explanation_text(found: &Explanation) -> String {
    let mut text = format!("{}: {}", found.local, found.reason);
    for (what, lines) in [("near", &found.near), ("help", &found.help)] {
        for line in lines {
            text.push_str("\n   = ");
            text.push_str(what);
            text.push_str("  ");
            text.push_str(line);
        }
    }
    text
}
