//! Settings of a load, with which a caller overrides the object.

use super::{kernel_handle::KernelHandle, symbol_address::SymbolAddress};
use crate::{
    elf::key,
    object::{AttachType, MapDef, Object, Program, ProgramType, SEC_DEFS, SecDef},
};
use alloc::{borrow::Cow, collections::BTreeMap};
use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

/// Settings of a load.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The object's name. It is part of the kernel's names of data maps, and errors begin with it.
    pub name: String,
    /// Settings of programs, by program name.
    pub programs: HashMap<String, ProgramSettings>,
    /// Settings of maps, by map name. The name of a data map is its section's name. The name of the inner map
    /// of a map of maps is `MAP.inner`, as in libbpf: a template of the maps that the outer map will hold. Of
    /// its settings, the type, the sizes, the flags, the extra value and the NUMA node count. A type makes a
    /// definition of an inner map that the object does not define.
    pub maps: HashMap<String, MapSettings>,
    /// The addresses of kernel symbols without a type, by name, in place of those that the kernel's symbols
    /// have. For names that several symbols have, which libbpf refuses.
    pub ksyms: HashMap<String, SymbolAddress>,
    /// The directory of maps that are pinned by name.
    pub pin_root: PathBuf,
    /// Lines of kernel configuration. They take precedence over the kernel's own configuration.
    pub kconfig: Option<String>,
    /// The source of a BPF token.
    pub token: TokenSource,
    /// The verifier's log level for programs that it accepts: 0 is no log, 1 basic, 2 verbose. Adding 4 logs
    /// statistics. A program that the kernel refuses is loaded again with level 1, if the level has no log of
    /// the instructions.
    pub log_level: u32,
    /// Whether the kernel may lack a strong extern that no loaded program uses: of `.ksyms`, or of
    /// `.kconfig`, where the value is then 0. libbpf refuses the object. A load of variants sets this, so
    /// that another program can be loaded in place of the one that uses the extern. A value of the
    /// configuration that does not fit its extern is refused in any case.
    pub allows_unused_externs: bool,
    /// Options of CO-RE relocation that differ from libbpf.
    pub core_options: core_relo::plan::Options,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: String::new(),
            programs: HashMap::new(),
            maps: HashMap::new(),
            ksyms: HashMap::new(),
            pin_root: PathBuf::from("/sys/fs/bpf"),
            kconfig: None,
            token: TokenSource::Auto,
            log_level: 0,
            allows_unused_externs: false,
            core_options: core_relo::plan::Options::default(),
        }
    }
}

impl Settings {
    /// Returns the settings of a program, at first the defaults. Planning refuses the name of a program that
    /// the object does not have.
    pub fn program_mut(&mut self, name: &str) -> &mut ProgramSettings {
        self.programs.entry(name.to_owned()).or_default()
    }

    /// Returns the settings of a map, at first the defaults. The name of a data map is its section's name,
    /// such as `.rodata`.
    pub fn map_mut(&mut self, name: &str) -> &mut MapSettings {
        self.maps.entry(name.to_owned()).or_default()
    }

    /// Returns the settings of the inner map of a map of maps.
    pub fn inner_map(&self, outer: &str) -> Option<&MapSettings> {
        // Most loads have no settings of maps.
        if self.maps.is_empty() { None } else { self.maps.get(&inner_map_name(outer)) }
    }

    /// Selects the programs to load. Programs of struct_ops maps are loaded with their map in any case, and
    /// programs that a program array holds with the programs that use the array.
    pub fn select_programs<'n>(&mut self, object: &Object<'_>, programs: impl IntoIterator<Item = &'n str>) {
        let selected: HashSet<_> = programs.into_iter().collect();
        for program in object.programs().iter().filter(|p| !p.is_subprogram) {
            let name = key(program.name());
            let is_selected = selected.contains(name.as_str());
            self.program_mut(&name).autoload = Some(is_selected);
        }
        for name in selected {
            self.program_mut(name).autoload = Some(true);
        }
    }
}

/// Returns the name of the inner map of a map of maps: `MAP.inner`.
pub fn inner_map_name(outer: &str) -> String {
    format!("{outer}.inner")
}

/// The source of a BPF token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the loader acts on each")]
pub enum TokenSource {
    /// A token from `/sys/fs/bpf` if that bpffs delegates, else no token.
    ///
    /// Unlike libbpf, this ignores the environment variable `LIBBPF_BPF_TOKEN_PATH`:
    /// [`Environment`](Self::Environment) reads it.
    #[default]
    Auto,
    /// As libbpf's default: [`Path`](Self::Path) if the environment variable `LIBBPF_BPF_TOKEN_PATH` is a
    /// path, [`Off`](Self::Off) if the variable is empty, and [`Auto`](Self::Auto) without the variable. The
    /// variable is read during the load.
    Environment,
    /// No token.
    Off,
    /// A token from the bpffs at this path, which has to delegate.
    Path(PathBuf),
}

/// Settings of a program.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ProgramSettings {
    /// Whether the program is loaded. By default a program is loaded unless its section begins with `?`. A
    /// program in a struct_ops table ignores this setting: it is loaded if the table is created. So does a
    /// program in a program array that a loaded program uses: [`MapSettings::elements`] leaves it out.
    pub autoload: Option<bool>,
    /// Whether `Loaded::attach_all` attaches the program. The default is `true`.
    pub autoattach: Option<bool>,
    /// The name of the program's section, in place of the object's: the program is loaded and attached as if
    /// it were in this section. A leading `?` has no effect.
    /// [`section_for_type`](crate::object::section_for_type) returns the section name for the word of a type.
    pub section: Option<String>,
    /// The program type. A type that differs from the type in the section name also drops the attach type,
    /// the flags and the attach target of the section name.
    pub program_type: Option<ProgramType>,
    /// The expected attach type, instead of the section's. [`AttachType::CgroupInetIngress`] is 0, the same
    /// as no attach type.
    pub attach_type: Option<AttachType>,
    /// Further `BPF_F_*` flags.
    pub flags: u32,
    /// The network device that the program is offloaded or bound to, 0 for none.
    pub ifindex: u32,
    /// The attach target, instead of the section's. Programs that trace many functions by one link
    /// (`fentry.multi`) are loaded for its module, and the kernel takes the functions when they are attached.
    pub attach_to: Option<AttachTarget>,
    /// The verifier's log level, instead of [`Settings::log_level`].
    pub log_level: Option<u32>,
}

impl ProgramSettings {
    /// Returns whether the settings decide on the type or the attach target of a program.
    pub const fn has_type(&self) -> bool {
        self.section.is_some()
            || self.program_type.is_some()
            || self.attach_type.is_some()
            || self.attach_to.is_some()
    }

    /// Returns the name of the section that a program is loaded for: that of the settings, or the program's
    /// own.
    pub fn section_of<'s>(&'s self, program: &Program<'s>) -> &'s [u8] {
        self.section.as_deref().map_or(program.section, str::as_bytes)
    }

    /// Returns the name of a section whose programs have the type and attach type of these settings. It keeps
    /// the target of the program's section. A type and attach type that no section name has do not count.
    pub fn section_with_type<'s>(&'s self, program: &Program<'s>) -> Cow<'s, [u8]> {
        let section = self.section_of(program);
        let own = program.in_section(section);
        let def = own.sec_def();
        let program_type = self.program_type.or(def.map(|def| def.program_type));
        let is_own_type = def.map(|def| def.program_type) == program_type;
        let own_attach_type = def.filter(|_| is_own_type).and_then(|def| def.attach_type);
        let attach_type = self.attach_type.or(own_attach_type);
        if is_own_type && attach_type == own_attach_type {
            return Cow::Borrowed(section);
        }
        let has_type = |row: &&SecDef| {
            let is_unset = attach_type.is_none() && row.flags.attach_type_is_optional();
            Some(row.program_type) == program_type && (row.attach_type == attach_type || is_unset)
        };
        let Some(row) = SEC_DEFS.iter().find(has_type) else { return Cow::Borrowed(section) };
        let target = SecDef::target(own.section_name()).filter(|_| row.flags.needs_attach_btf());
        match target {
            Some(target) => Cow::Owned([row.name.as_bytes(), b"/", target].concat()),
            None => Cow::Borrowed(row.name.as_bytes()),
        }
    }
}

/// The attach target of a tracing, LSM, extension or iterator program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AttachTarget {
    /// A function or hook of the kernel, or of a module in the form `module:function`.
    Kernel(String),
    /// A function of another program.
    Program {
        /// The program.
        program: KernelHandle,
        /// The function's name in the program's BTF.
        function: String,
    },
}

/// Settings of a map.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MapSettings {
    /// Whether the map is created. By default a map is created unless its section begins with `?`. References
    /// to a map that is not created are poisoned.
    pub autocreate: Option<bool>,
    /// Whether `Loaded::attach_all` registers the map, for struct_ops maps. The default is `true`.
    pub autoattach: Option<bool>,
    /// The maximum number of entries.
    pub max_entries: Option<u32>,
    /// The size of a value in bytes. For a data map this is the new size of its section.
    pub value_size: Option<u32>,
    /// The size of a key in bytes.
    pub key_size: Option<u32>,
    /// The kernel's number of the map type.
    pub map_type: Option<u32>,
    /// `BPF_F_*` flags.
    pub map_flags: Option<u32>,
    /// The extra value of the map's type (`map_extra`).
    pub map_extra: Option<u64>,
    /// The NUMA node of the map's memory.
    pub numa_node: Option<u32>,
    /// The network device that the map is offloaded to, 0 for none.
    pub ifindex: u32,
    /// The name of the only program that may use the map (kernels from 6.18; libbpf:
    /// `bpf_map__set_exclusive_program`). The kernel refuses every other program, by the hash of its
    /// instructions.
    pub exclusive_to: Option<String>,
    /// The path of the pin. `Some(None)` turns pinning off.
    pub pin: Option<Option<PathBuf>>,
    /// A map to reuse instead of creating a new map.
    pub reuse: Option<KernelHandle>,
    /// The inner map of a map of maps: a template of the maps that it will hold.
    pub inner: Option<KernelHandle>,
    /// The initial contents of a data map, the arena or a struct_ops map.
    pub data: Option<Vec<u8>>,
    /// The programs of a struct_ops map by member, instead of the object's. `None` leaves a member empty. A
    /// program that is no longer in any table is not loaded.
    pub programs: HashMap<String, Option<String>>,
    /// The programs of a program array by key, instead of the object's. `None` leaves an element empty.
    pub elements: BTreeMap<u32, Option<String>>,
}

impl MapSettings {
    /// Returns a definition with the type, sizes, flags, extra value and NUMA node of these settings. `own`
    /// is the definition of the object. Returns `None` without a definition and without a type.
    pub fn definition(&self, own: Option<&MapDef>) -> Option<MapDef> {
        let mut def = match (own, self.map_type) {
            (Some(own), _) => own.clone(),
            (None, Some(_)) => MapDef::default(),
            (None, None) => return None,
        };
        def.map_type = self.map_type.unwrap_or(def.map_type);
        // The types of the object describe keys and values of the object's sizes.
        if let Some(size) = self.key_size.filter(|size| *size != def.key_size) {
            (def.key_size, def.key_type) = (size, None);
        }
        if let Some(size) = self.value_size.filter(|size| *size != def.value_size) {
            (def.value_size, def.value_type) = (size, None);
        }
        def.max_entries = self.max_entries.unwrap_or(def.max_entries);
        def.map_flags = self.map_flags.unwrap_or(def.map_flags);
        def.map_extra = self.map_extra.unwrap_or(def.map_extra);
        def.numa_node = self.numa_node.or(def.numa_node);
        Some(def)
    }
}
