//! Settings of a load: what a caller wants to differ from the object.

use crate::{
    elf::key,
    object::{AttachType, Object, ProgramType},
};
use alloc::sync::Arc;
use std::{
    collections::{HashMap, HashSet},
    os::fd::OwnedFd,
    path::PathBuf,
};

/// Settings of a load.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The object's name: the kernel shows it in those of data maps, and errors begin with it.
    pub name: String,
    /// Programs set up otherwise, by name.
    pub programs: HashMap<String, ProgramSettings>,
    /// Maps set up otherwise, by name; data maps go by their section's.
    pub maps: HashMap<String, MapSettings>,
    /// The folder of maps that are pinned by name.
    pub pin_root: PathBuf,
    /// Lines of configuration that come before the kernel's own.
    pub kconfig: Option<String>,
    /// BPF token.
    pub token: TokenSource,
    /// The verifier's log level for programs that it accepts: 0 no log, 1 basic, 2 verbose; 4 adds statistics.
    pub log_level: u32,
    /// Options of CO-RE relocation that differ from libbpf.
    pub core_options: core_relo::plan::Options,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: String::new(),
            programs: HashMap::new(),
            maps: HashMap::new(),
            pin_root: PathBuf::from("/sys/fs/bpf"),
            kconfig: None,
            token: TokenSource::Auto,
            log_level: 0,
            core_options: core_relo::plan::Options::default(),
        }
    }
}

impl Settings {
    /// Returns the settings of a program. Planning finds out if the object has no program of the name.
    pub fn program(&mut self, name: &str) -> &mut ProgramSettings {
        self.programs.entry(name.to_owned()).or_default()
    }

    /// Returns the settings of a map; a data map goes by its section's name, as `.rodata`.
    pub fn map(&mut self, name: &str) -> &mut MapSettings {
        self.maps.entry(name.to_owned()).or_default()
    }

    /// Loads these programs of an object and no others. Programs of struct_ops maps are loaded with their map in any case.
    pub fn select_programs<'n>(&mut self, object: &Object<'_>, programs: impl IntoIterator<Item = &'n str>) {
        let wanted: HashSet<_> = programs.into_iter().collect();
        for program in object.programs().iter().filter(|p| !p.is_subprogram) {
            let name = key(program.name);
            let is_wanted = wanted.contains(name.as_str());
            self.program(&name).autoload = Some(is_wanted);
        }
        for name in wanted {
            self.program(name).autoload = Some(true);
        }
    }
}

/// The source of a BPF token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the loader acts on each")]
pub enum TokenSource {
    /// From `/sys/fs/bpf` if that delegates, else none; as libbpf does, whose `LIBBPF_BPF_TOKEN_PATH` in the environment is not
    /// looked at: that is [`Path`](Self::Path), or [`Off`](Self::Off) if it is empty.
    #[default]
    Auto,
    /// None.
    Off,
    /// From the bpffs at this path, which has to delegate.
    Path(PathBuf),
}

/// Settings of a program.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ProgramSettings {
    /// Whether it is loaded; none: unless its section begins with `?`. A program that stands in a struct_ops map is loaded if
    /// the table is created, whatever is said here.
    pub autoload: Option<bool>,
    /// Whether `Loaded::attach_all` attaches it; none: yes.
    pub autoattach: Option<bool>,
    /// Its type, where the section's name does not say it, or another; then nothing else that the name says holds: no attach
    /// type, no flags, nothing to attach to.
    pub program_type: Option<ProgramType>,
    /// Its expected attach type, instead of the section's; [`AttachType::CgroupInetIngress`] is 0, which is none.
    pub attach_type: Option<AttachType>,
    /// Further `BPF_F_*` flags.
    pub flags: u32,
    /// The network device it is for, 0 for none.
    pub ifindex: u32,
    /// The attach target, instead of the section's.
    pub attach_to: Option<AttachTarget>,
    /// The verifier's log level, instead of the one for all programs.
    pub log_level: Option<u32>,
}

/// The attach target of a tracing, LSM, extension or iterator program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AttachTarget {
    /// A function or hook of the kernel, or of the module before a `:`.
    Kernel(String),
    /// A function of another program.
    Program {
        /// The program.
        program: Arc<OwnedFd>,
        /// The function's name in its BTF.
        function: String,
    },
}

/// Settings of a map.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MapSettings {
    /// Whether it is created; none: unless its section begins with `?`. References to one that is not are poisoned.
    pub autocreate: Option<bool>,
    /// Whether `Loaded::attach_all` registers it, if it is a struct_ops map; none: yes.
    pub autoattach: Option<bool>,
    /// The maximum number of entries.
    pub max_entries: Option<u32>,
    /// Bytes of a value; of a data map the new size of its section.
    pub value_size: Option<u32>,
    /// Bytes of a key.
    pub key_size: Option<u32>,
    /// Its type.
    pub map_type: Option<u32>,
    /// `BPF_F_*` flags.
    pub map_flags: Option<u32>,
    /// The extra value of the map's type (`map_extra`).
    pub map_extra: Option<u64>,
    /// The memory node it is put on.
    pub numa_node: Option<u32>,
    /// The network device it belongs to.
    pub ifindex: u32,
    /// Where it is pinned, or whether not: `Some(None)`.
    pub pin: Option<Option<PathBuf>>,
    /// A map to use instead of creating one.
    pub reuse: Option<Arc<OwnedFd>>,
    /// For a map of maps: a map like those it will hold.
    pub inner: Option<Arc<OwnedFd>>,
    /// The initial contents of a data map, the arena or a struct_ops map.
    pub data: Option<Vec<u8>>,
    /// Of a struct_ops map, programs by member, instead of those the object has there; `None` leaves a member empty. A program
    /// that stands in no table any more is not loaded.
    pub programs: HashMap<String, Option<String>>,
}
