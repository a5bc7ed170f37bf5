//! An object, set up and loaded: what most who embed this crate need.

use crate::{
    features::Features,
    limits,
    load::{self, LoadError, Loaded, Meaning, Running},
    load_plan::{Global, Host, LoadPlan, LoadPlanError, MapSettings, ProgramSettings, Settings, globals},
    object::{DataSection, Object},
    sys::Pod,
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
    object: &'o Object<'d>,
    settings: Settings,
    host: Host,
}

impl<'o, 'd> Loader<'o, 'd> {
    /// For the running kernel.
    pub fn new(object: &'o Object<'d>) -> Self {
        Self::on(object, Host::running())
    }

    /// For a kernel that is described: see [`Host::offline`].
    pub fn on(object: &'o Object<'d>, host: Host) -> Self {
        Self { object, settings: Settings::default(), host }
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

    /// Loads these programs and no others.
    pub fn only<'n>(&mut self, programs: impl IntoIterator<Item = &'n str>) {
        let wanted: Vec<_> = programs.into_iter().collect();
        for p in self.object.programs().iter().filter(|p| !p.is_subprogram) {
            let name = String::from_utf8_lossy(p.name).into_owned();
            let is_wanted = wanted.contains(&name.as_str());
            self.program(&name).autoload = Some(is_wanted);
        }
        for name in wanted {
            self.program(name).autoload = Some(true);
        }
    }

    /// The variables of all data sections, in the symbol table's order.
    pub fn globals(&self) -> Vec<Global> {
        globals::of(self.object)
    }

    /// Sets a variable's first value: also one that is constant for the programs, by which the verifier may leave out code.
    ///
    /// The value has to have the variable's size.
    pub fn set_global<T: Pod>(&mut self, name: &str, value: &T) -> Result<&mut Self, LoadPlanError> {
        self.set_global_bytes(name, value.as_bytes())
    }

    /// The same, by its bytes in the machine's order.
    pub fn set_global_bytes(&mut self, name: &str, value: &[u8]) -> Result<&mut Self, LoadPlanError> {
        let global = self.find_global(name, value.len())?;
        let fail =
            |what: String| LoadPlanError::Map { map: global.section.as_str().into(), what: what.into() };
        let settings = self.settings.maps.entry(global.section.clone()).or_default();
        if settings.data.is_none() {
            let section = section_of(self.object, &global.section);
            let size = settings.value_size.map_or_else(|| section.map_or(0, |s| s.size), u64::from);
            if settings.value_size.is_none() && size > limits::DATA_BYTES {
                return Err(fail(format!("it has {size} bytes, {} is the most", limits::DATA_BYTES)));
            }
            let mut data = section.map_or_else(Vec::new, |s| s.bytes.to_vec());
            data.resize(usize::try_from(size).unwrap_or(usize::MAX), 0);
            settings.data = Some(data);
        }
        let data = settings.data.get_or_insert_default();
        let size = data.len();
        let room = data.get_mut(global.offset..global.offset.saturating_add(global.size));
        let too_small =
            || fail(format!("its variable `{name}` does not lie in the {size} bytes it was set to"));
        room.ok_or_else(too_small)?.copy_from_slice(value);
        Ok(self)
    }

    /// A variable's first value, as it stands now.
    pub fn global<T: Pod>(&self, name: &str) -> Result<T, LoadPlanError> {
        let global = self.find_global(name, size_of::<T>())?;
        let set = self.settings.maps.get(&global.section).and_then(|s| s.data.as_deref());
        let data = set.unwrap_or_else(|| section_of(self.object, &global.section).map_or(&[], |s| s.bytes));
        // What the file says nothing of is 0.
        let given = data.get(global.offset..).unwrap_or_default();
        let mut bytes: Vec<u8> = given.iter().copied().take(global.size).collect();
        bytes.resize(global.size, 0);
        T::from_bytes(&bytes).ok_or(LoadPlanError::GlobalSize {
            name: name.into(),
            expected: global.size,
            found: size_of::<T>(),
        })
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
            .map_err(|cause| LoadError::Plan { object: self.settings.name.clone(), cause })
    }

    /// Plans and loads.
    pub fn load(&self) -> Result<Loaded, LoadError> {
        self.carry_out(&self.plan()?)
    }

    /// Loads a plan that [`plan`](Self::plan) made.
    pub fn carry_out(&self, plan: &LoadPlan) -> Result<Loaded, LoadError> {
        load::load(plan, &Running).map_err(|error| self.explained(plan, error))
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

    fn find_global(&self, name: &str, size: usize) -> Result<Global, LoadPlanError> {
        let globals = self.globals();
        let global = globals::find(&globals, name)?;
        if global.size == size {
            return Ok(global.clone());
        }
        Err(LoadPlanError::GlobalSize { name: name.into(), expected: global.size, found: size })
    }
}

fn section_of<'o, 'd>(object: &'o Object<'d>, name: &str) -> Option<&'o DataSection<'d>> {
    object.data_sections().iter().find(|s| s.name == name.as_bytes())
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
