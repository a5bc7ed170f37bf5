//! An object, set up and loaded: what most who embed this crate need.

use crate::{
    features::Features,
    limits,
    load::{self, LoadError, Loaded, Meaning, Running},
    load_plan::{Host, LoadPlan, LoadPlanError, MapSettings, ProgramSettings, Settings},
    object::{DataKind, Object, Place, Symbol, SymbolKind},
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

/// A variable of a program's that user space can read and set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Global {
    /// Its name.
    pub name: String,
    /// The section it lies in, which is its map's name.
    pub section: String,
    /// Where in the section, in bytes.
    pub offset: usize,
    /// Its size in bytes.
    pub size: usize,
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
        self.object.symbols().filter_map(|s| self.global_of(&s)).collect()
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
        let mut data = self.data_of(&global.section);
        if let Some(room) = data.get_mut(global.offset..global.offset.saturating_add(global.size)) {
            room.copy_from_slice(value);
        }
        self.map(&global.section).data = Some(data);
        Ok(self)
    }

    /// A variable's first value, as it stands now.
    pub fn global<T: Pod>(&self, name: &str) -> Result<T, LoadPlanError> {
        let global = self.find_global(name, size_of::<T>())?;
        let data = self.data_of(&global.section);
        let bytes = data.get(global.offset..).unwrap_or_default();
        T::from_bytes(bytes).ok_or(LoadPlanError::GlobalSize {
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
        let loaded = load::load(plan, &Running).map_err(|error| self.explained(plan, error))?;
        Ok(loaded.with_globals(self.globals()))
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
        let mut globals = self.globals();
        let Some(at) = globals.iter().position(|g| g.name == name) else {
            let near = globals.iter().map(|g| g.name.as_str().into()).collect();
            return Err(LoadPlanError::NoSuch { kind: "global", name: name.into(), near });
        };
        let global = globals.swap_remove(at);
        if global.size == size {
            return Ok(global);
        }
        Err(LoadPlanError::GlobalSize { name: name.into(), expected: global.size, found: size })
    }

    fn global_of(&self, symbol: &Symbol<'_>) -> Option<Global> {
        let Place::Section(index) = symbol.place else { return None };
        if symbol.kind != SymbolKind::Object {
            return None;
        }
        let section = self.object.data_sections().iter().find(|s| s.section_index == index)?;
        let is_data = matches!(section.kind, DataKind::Data | DataKind::Rodata | DataKind::Bss);
        let end = symbol.value.checked_add(symbol.size)?;
        (is_data && end <= section.size).then_some(())?;
        Some(Global {
            name: String::from_utf8_lossy(symbol.name).into_owned(),
            section: String::from_utf8_lossy(section.name).into_owned(),
            offset: usize::try_from(symbol.value).ok()?,
            size: usize::try_from(symbol.size).ok()?,
        })
    }

    /// What a data section holds at first, as it stands now.
    fn data_of(&self, section: &str) -> Vec<u8> {
        let settings = self.settings.maps.get(section);
        if let Some(data) = settings.and_then(|s| s.data.clone()) {
            return data;
        }
        let found = self.object.data_sections().iter().find(|s| s.name == section.as_bytes());
        let mut data = found.map(|s| s.bytes.to_vec()).unwrap_or_default();
        let size = found.and_then(|s| usize::try_from(s.size).ok()).unwrap_or_default();
        let resized = settings.and_then(|s| s.value_size).and_then(|n| usize::try_from(n).ok());
        // A section that is too large is refused when the load is planned.
        let most = usize::try_from(limits::DATA_BYTES).unwrap_or(usize::MAX);
        data.resize(resized.unwrap_or_else(|| size.min(most)), 0);
        data
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
