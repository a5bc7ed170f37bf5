//! An object, set up and loaded: what most who embed this crate need.

use crate::{
    Global,
    elf::key,
    features::Features,
    load::{self, Kernel, LoadError, Loaded, Meaning, Running},
    load_plan::{Host, LoadPlan, MapSettings, ProgramSettings, Settings},
    object::Object,
};
use alloc::sync::Arc;
use core_relo::explain::Explanation;
use std::sync::OnceLock;

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
    /// Its variables, once they were asked for.
    pub(crate) globals: OnceLock<Vec<Global>>,
}

impl<'o, 'd> Loader<'o, 'd> {
    /// For the running kernel.
    pub fn new(object: &'o Object<'d>) -> Self {
        Self::on(object, Host::running())
    }

    /// For a kernel that is described: see [`Host::offline`].
    pub fn on(object: &'o Object<'d>, host: Host) -> Self {
        Self { object, settings: Settings::default(), host, globals: OnceLock::new() }
    }

    /// Names the object: the kernel shows (some of) it in the names of data maps, and errors begin with it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// The object.
    pub fn object(&self) -> &'o Object<'d> {
        self.object
    }

    /// What it is loaded on.
    pub fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    /// Everything that can be set.
    pub fn settings(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// What can be set of a program. That the object has none of the name is found out when it is planned.
    pub fn program(&mut self, name: &str) -> &mut ProgramSettings {
        self.settings.programs.entry(name.to_owned()).or_default()
    }

    /// What can be set of a map; a data map goes by its section's name, as `.rodata`.
    pub fn map(&mut self, name: &str) -> &mut MapSettings {
        self.settings.maps.entry(name.to_owned()).or_default()
    }

    /// Loads these programs and no others; but those of struct_ops tables with their table, always.
    pub fn only<'n>(&mut self, programs: impl IntoIterator<Item = &'n str>) {
        let wanted: Vec<_> = programs.into_iter().collect();
        for p in self.object.programs().iter().filter(|p| !p.is_subprogram) {
            let name = key(p.name);
            let is_wanted = wanted.contains(&name.as_str());
            self.program(&name).autoload = Some(is_wanted);
        }
        for name in wanted {
            self.program(name).autoload = Some(true);
        }
    }

    /// Everything the load would ask of the kernel. Nothing is done, but to ask the running kernel what it can do.
    pub fn plan(&self) -> Result<LoadPlan, LoadError> {
        let mut host = self.host.clone();
        // Without its token, a process in a user namespace would hear that the kernel can do nothing.
        if host.features.is_live()
            && let Some(token) = load::token(&self.settings.name, &self.settings.token, &Running)?
        {
            host.features = Features::with_token(Arc::new(token));
        }
        LoadPlan::new(self.object, &self.settings, &host)
            .map_err(|cause| LoadError::Plan { object: self.settings.name.clone().into(), cause })
    }

    /// Plans and loads.
    pub fn load(&self) -> Result<Loaded, LoadError> {
        self.carry_out(&self.plan()?)
    }

    /// Loads a plan that [`plan`](Self::plan) made.
    pub fn carry_out(&self, plan: &LoadPlan) -> Result<Loaded, LoadError> {
        load::load(plan, &Running).map_err(|error| self.explained(plan, error))
    }

    /// Loads a plan on a kernel and makes no pins: [`Loaded::pin_maps`] does, or nobody, if the load ends with this process.
    pub fn load_unpinned(&self, plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
        load::load_unpinned(plan, kernel).map_err(|error| self.explained(plan, error))
    }

    /// With the engine's explanation, if the verifier got to an access that the kernel's types do not have.
    fn explained(&self, plan: &LoadPlan, mut error: LoadError) -> LoadError {
        if let LoadError::Program { refused, .. } = &mut error
            && let Some(Meaning::CoreRelo { why, record }) = &mut refused.meaning
            && let Some(found) = plan.explain(self.object, &self.settings, &self.host, *record)
        {
            *why = text_of(&found);
        }
        error
    }
}

/// An explanation as a few lines.
fn text_of(found: &Explanation) -> String {
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
