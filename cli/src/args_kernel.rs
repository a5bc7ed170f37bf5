//! The arguments of the commands that look at the running kernel.

use crate::args::{Dump, Format};
use clap::{Args as ClapArgs, Subcommand, ValueHint};
use std::path::PathBuf;

const PROG: &str = "Examples:
  core-relo prog list
  core-relo prog show --name handle_exec
  core-relo prog dump --id 42
  core-relo prog list --format json | jq 'select(.run_cnt > 0)'

Needs CAP_SYS_ADMIN. Exit status: 0 if it could be shown, 2 if not.";
const PROG_LIST: &str = "Example:
  core-relo prog list";
const PROG_SHOW: &str = "Examples:
  core-relo prog show --id 42
  core-relo prog show --pinned /sys/fs/bpf/handle_exec --format json";
const PROG_DUMP: &str = "Examples:
  core-relo prog dump --id 42
  core-relo prog dump --name handle_exec --raw
  core-relo prog dump --id 42 --format json | jq -r 'select(.call) | .call.name'

Shows what the verifier made of the program: jumps are relative, maps and calls are named. A call shows as `#N` if
/proc/kallsyms hides addresses from this user.";
const MAP: &str = "Examples:
  core-relo map list
  core-relo map show --name events
  core-relo map dump --pinned /sys/fs/bpf/counts

Needs CAP_SYS_ADMIN, a pinned map the right to read its pin. Exit status: 0 if it could be shown, 2 if not.";
const MAP_LIST: &str = "Example:
  core-relo map list";
const MAP_SHOW: &str = "Examples:
  core-relo map show --id 7
  core-relo map show --name events --format json";
const MAP_DUMP: &str = "Examples:
  core-relo map dump --id 7
  core-relo map dump --name counts --types
  core-relo map dump --pinned /sys/fs/bpf/counts --format json | jq .value

Without BTF, or with --hex, keys and values are shown as bytes.";
const LINK: &str = "Examples:
  core-relo link list
  core-relo link show --id 3

Needs CAP_SYS_ADMIN. A link has no name: --name means its program's. Exit status: 0 if it could be shown, 2 if not.";
const LINK_LIST: &str = "Example:
  core-relo link list";
const LINK_SHOW: &str = "Examples:
  core-relo link show --id 3
  core-relo link show --name handle_exec --format json";
const BTF_LIST: &str = "Example:
  core-relo btf list

Needs CAP_SYS_ADMIN.";
const BTF_SHOW: &str = "Examples:
  core-relo btf show --id 1
  core-relo btf show --name nf_conntrack --format json

Needs CAP_SYS_ADMIN.";
const DUMP: &str = "Examples:
  core-relo btf dump /sys/kernel/btf/vmlinux --name task_struct
  core-relo btf dump /sys/kernel/btf/veth --format json
  core-relo btf dump veth.ko --base vmlinux --id 142000
  core-relo btf dump --kernel-id 12";

#[derive(Debug, Subcommand)]
#[command(after_help = PROG)]
pub(crate) enum Prog {
    /// A line per program
    #[command(after_help = PROG_LIST)]
    List(List),
    /// Everything the kernel says of programs
    #[command(after_help = PROG_SHOW)]
    Show(Show),
    /// The instructions as the kernel runs them, with source lines
    #[command(after_help = PROG_DUMP)]
    Dump(ProgDump),
}

#[derive(Debug, Subcommand)]
#[command(after_help = MAP)]
pub(crate) enum Map {
    /// A line per map
    #[command(after_help = MAP_LIST)]
    List(List),
    /// Everything the kernel says of maps
    #[command(after_help = MAP_SHOW)]
    Show(Show),
    /// The elements, keys and values by their types
    #[command(after_help = MAP_DUMP)]
    Dump(MapDump),
}

#[derive(Debug, Subcommand)]
#[command(after_help = LINK)]
pub(crate) enum Link {
    /// A line per link
    #[command(after_help = LINK_LIST)]
    List(List),
    /// Everything the kernel says of links
    #[command(after_help = LINK_SHOW)]
    Show(Show),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Btf {
    /// Print types, of a file or of the kernel's
    #[command(after_help = DUMP)]
    Dump(Dump),
    /// A line per BTF in the kernel
    #[command(after_help = BTF_LIST)]
    List(List),
    /// Everything the kernel says of its BTFs
    #[command(after_help = BTF_SHOW)]
    Show(BtfShow),
}

/// Which of the kernel's objects
#[derive(Clone, Debug, Default, ClapArgs)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// The one of this id
    #[arg(long, value_name = "N")]
    pub(crate) id: Option<u32>,
    /// Those of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The one pinned here
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) pinned: Option<PathBuf>,
}

/// Which BTF in the kernel; BTF cannot be pinned
#[derive(Clone, Debug, Default, ClapArgs)]
#[group(required = true, multiple = false)]
pub(crate) struct WhichBtf {
    /// The one of this id
    #[arg(long, value_name = "N")]
    pub(crate) id: Option<u32>,
    /// Those of this name: `vmlinux`, a module's, a loader's
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

impl From<&WhichBtf> for Which {
    fn from(which: &WhichBtf) -> Self {
        Self { id: which.id, name: which.name.clone(), pinned: None }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct List {
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BtfShow {
    #[command(flatten)]
    pub(crate) which: WhichBtf,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProgDump {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Instructions only, with their bytes: no names, no source lines
    #[arg(long)]
    pub(crate) raw: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MapDump {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Show keys and values as bytes
    #[arg(long)]
    pub(crate) hex: bool,
    /// Say the type of each part
    #[arg(long)]
    pub(crate) types: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

impl Prog {
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::List(c) => c.format,
            Self::Show(c) => c.format,
            Self::Dump(c) => c.format,
        }
    }
}

impl Map {
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::List(c) => c.format,
            Self::Show(c) => c.format,
            Self::Dump(c) => c.format,
        }
    }
}

impl Link {
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::List(c) => c.format,
            Self::Show(c) => c.format,
        }
    }
}

impl Btf {
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Dump(c) if c.format == crate::args::DumpFormat::Json => Format::Json,
            Self::Dump(_) => Format::Text,
            Self::List(c) => c.format,
            Self::Show(c) => c.format,
        }
    }
}
