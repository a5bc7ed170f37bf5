//! The settings of user space, which all commands that judge, plan or load objects take.

use crate::settings::Setting;
use clap::Args;

/// The fields of [`SettingsArgs`].
pub(crate) const SETTINGS: [&str; 10] = [
    "set",
    "set_type",
    "attach_target",
    "autoload",
    "max_entries",
    "key_size",
    "value_size",
    "inner_definition",
    "without_map",
    "ksym",
];

/// Settings of user space, which apply before an object is loaded
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SettingsArgs {
    /// Set a global variable before loading, also in an arena or a struct_ops map; may be given several
    /// times. VALUE is a number, true or false, text for an array of char, an enumerator, comma-separated
    /// numbers for an array (missing elements become 0), or hex:0011… (the bytes) for any type. NAME may be a
    /// path to a member or element, such as `config.ports[2]`. SECTION/NAME selects one of two static
    /// variables with the same name. `inspect` lists all names
    #[arg(long, value_name = "NAME=VALUE", value_parser = Setting::parse_global)]
    pub(crate) set: Vec<Setting>,
    /// Load a program as if its section had this name: `xdp`, `cgroup/connect4`, `kprobe/vfs_read`. Without a
    /// target, the target of the program's section stays. TYPE may also be the kernel's name of a type, such
    /// as `sched_cls`. May be given several times
    #[arg(long = "program-type", value_name = "PROG=TYPE", value_parser = Setting::parse_program_type)]
    pub(crate) set_type: Vec<Setting>,
    /// Load a program for this function or hook instead of that in its section: fentry, fexit, fmod_ret,
    /// tp_btf, LSM, freplace. FUNC may be `MODULE:FUNC`, or `FUNC@PROGRAM` for a function of a loaded
    /// program: its id, name or pin. May be given several times
    #[arg(long, value_name = "PROG=FUNC", value_parser = Setting::parse_attach_target)]
    pub(crate) attach_target: Vec<Setting>,
    /// Load a program whose section begins with `?`, or with `=no` leave out a program; may be given several
    /// times
    #[arg(long, value_name = "PROG[=no]", value_parser = Setting::parse_autoload)]
    pub(crate) autoload: Vec<Setting>,
    /// Set the max_entries of a map; may be given several times. The inner map of a map of maps is
    /// `MAP.inner`
    #[arg(long, value_name = "MAP=N", value_parser = Setting::parse_max_entries)]
    pub(crate) max_entries: Vec<Setting>,
    /// Set the size of the keys of a map in bytes; may be given several times
    #[arg(long, value_name = "MAP=N", value_parser = Setting::parse_key_size)]
    pub(crate) key_size: Vec<Setting>,
    /// Set the size of the values of a map in bytes; for a data section, its size. May be given several times
    #[arg(long, value_name = "MAP=N", value_parser = Setting::parse_value_size)]
    pub(crate) value_size: Vec<Setting>,
    /// Define the inner maps of a map of maps, with the sizes of a key and of a value in bytes:
    /// `outer=hash:4:8:64`. May be given several times
    #[arg(long = "inner-map", value_name = "MAP=TYPE:KEY:VALUE:ENTRIES[:FLAGS]", value_parser = Setting::parse_inner_map_option)]
    pub(crate) inner_definition: Vec<Setting>,
    /// Do not create this map, and poison the instructions that use it, as libbpf does; may be given several
    /// times
    #[arg(long, value_name = "MAP", value_parser = Setting::parse_without_map)]
    pub(crate) without_map: Vec<Setting>,
    /// Choose the address of a kernel symbol without a type (`extern const void NAME __ksym`), for a name
    /// that several symbols have: one of their addresses in /proc/kallsyms, or a place after another symbol,
    /// such as `_text+0x1234`. Only core-relo's loads take it. May be given several times
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = Setting::parse_ksym)]
    pub(crate) ksym: Vec<Setting>,
}

impl SettingsArgs {
    /// Returns all settings.
    pub(crate) fn settings(&self) -> impl Iterator<Item = &Setting> {
        let all: [&Vec<Setting>; SETTINGS.len()] = [
            &self.set,
            &self.set_type,
            &self.attach_target,
            &self.autoload,
            &self.max_entries,
            &self.key_size,
            &self.value_size,
            &self.inner_definition,
            &self.without_map,
            &self.ksym,
        ];
        all.into_iter().flatten()
    }
}
