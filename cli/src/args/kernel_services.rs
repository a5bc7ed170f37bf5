//! The arguments of `struct_ops`, `iter` and `token`.

use crate::{
    args::{
        object_name::parse_name,
        object_selector::{ElementArgs, ListArgs, ObjectChangeArgs, ObjectSelector, ShowArgs, one_link_name},
    },
    format::Format,
};
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const STRUCT_OPS_HELP: &str = "Examples:
  core-relo struct_ops list
  core-relo struct_ops dump --name cubic
  core-relo struct_ops register cubic.bpf.o /sys/fs/bpf/cubic
  core-relo struct_ops unregister --name cubic

A struct_ops map is a struct of the kernel, such as `tcp_congestion_ops`, whose functions are programs. Needs CAP_SYS_ADMIN.";
const STRUCT_OPS_LIST_HELP: &str = "Example:
  core-relo struct_ops list";
const STRUCT_OPS_SHOW_HELP: &str = "Examples:
  core-relo struct_ops show 7
  core-relo struct_ops show --name cubic --format json";
const STRUCT_OPS_DUMP_HELP: &str = "Examples:
  core-relo struct_ops dump 7
  core-relo struct_ops dump --name cubic --format json | jq .value.data

Prints the value by the types in the kernel's BTF. The value of a function is the id of its program.";
const STRUCT_OPS_REGISTER_HELP: &str = "Examples:
  core-relo struct_ops register cubic.bpf.o
  core-relo struct_ops register cubic_link.bpf.o /sys/fs/bpf/cubic

Loads the object and registers every struct_ops map in it. The kernel keeps a map of the section `.struct_ops` until it is
unregistered. A map of the section `.struct_ops.link` is registered by a link, which is pinned in the directory under the map's name.
If one map cannot be registered, none is. Exit status: 0 if all maps are registered, 1 if the kernel refuses the object, 2 for another
error.";
const STRUCT_OPS_UNREGISTER_HELP: &str = "Examples:
  core-relo struct_ops unregister 7
  core-relo struct_ops unregister --name cubic

A map that is registered by a link ends with the link: `core-relo link detach`.";
const ITER_HELP: &str = "Examples:
  core-relo iter pin tasks.bpf.o /sys/fs/bpf/tasks
  cat /sys/fs/bpf/tasks

An iterator is a program that the kernel calls for each object of a kind when a file is read. Needs CAP_SYS_ADMIN.";
const ITER_PIN_HELP: &str = "Examples:
  core-relo iter pin tasks.bpf.o /sys/fs/bpf/tasks
  core-relo iter pin elements.bpf.o /sys/fs/bpf/elements --map 7
  core-relo iter pin elements.bpf.o /sys/fs/bpf/elements --map /sys/fs/bpf/counts

Each read of the pin runs the program. Iterators of the sections iter/bpf_map_elem, iter/bpf_sk_storage_map and iter/sockmap need --map.
Exit status: 0 if the iterator is pinned, 1 if the kernel refuses the object, 2 for another error.";
const ITER_READ_HELP: &str = "Examples:
  core-relo iter read 3
  core-relo iter read --pinned /sys/fs/bpf/tasks
  core-relo iter read --name dump_task --raw > tasks.bin

Runs the iterator of a link, which needs no pin, and prints its output. Without --raw, control characters are escaped. The
program decides on the format of its output, so there is no --format.";
const TOKEN_HELP: &str = "Examples:
  core-relo token list
  core-relo token show /sys/fs/bpf/token

Lists the mounted bpffs from which tokens can be created: those that delegate commands, map types, program types or attach types
(`mount -t bpf -o delegate_cmds=…`). Needs no privileges.";

#[derive(Debug, Subcommand)]
#[command(after_help = STRUCT_OPS_HELP)]
pub(crate) enum StructOpsCommand {
    /// List the struct_ops maps, one per line
    #[command(after_help = STRUCT_OPS_LIST_HELP)]
    List(ListArgs),
    /// Show what the kernel reports about struct_ops maps
    #[command(after_help = STRUCT_OPS_SHOW_HELP)]
    Show(ShowArgs),
    /// Print the values of struct_ops maps by the kernel's types
    #[command(after_help = STRUCT_OPS_DUMP_HELP)]
    Dump(StructOpsDumpArgs),
    /// Load an object and register its struct_ops maps
    #[command(after_help = STRUCT_OPS_REGISTER_HELP)]
    Register(RegisterArgs),
    /// Unregister a struct_ops map
    #[command(after_help = STRUCT_OPS_UNREGISTER_HELP)]
    Unregister(ObjectChangeArgs),
}

#[derive(Debug, Subcommand)]
#[command(after_help = ITER_HELP)]
pub(crate) enum IterCommand {
    /// Load an object, and pin the link of its iterator
    #[command(after_help = ITER_PIN_HELP)]
    Pin(IterPinArgs),
    /// Run the iterator of a link, and print its output
    #[command(after_help = ITER_READ_HELP)]
    Read(IterReadArgs),
}

#[derive(Debug, Subcommand)]
#[command(after_help = TOKEN_HELP)]
pub(crate) enum TokenCommand {
    /// List the mounted bpffs that delegate rights, with these rights
    #[command(visible_alias = "show")]
    List(TokenListArgs),
}

#[derive(Debug, Args)]
#[command(mut_group("ObjectSelector", |group| group.required(false)))]
pub(crate) struct StructOpsDumpArgs {
    #[command(flatten)]
    pub(crate) selector: ObjectSelector,
    #[command(flatten)]
    pub(crate) elements: ElementArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RegisterArgs {
    /// BPF object; `-` is stdin
    #[arg(value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) object: PathBuf,
    /// Pin the links in this directory of a bpffs
    #[arg(value_name = "LINK_DIR", value_hint = ValueHint::DirPath)]
    pub(crate) link_dir: Option<PathBuf>,
    /// File of CONFIG_…= lines that take precedence over the kernel's configuration; a .gz is unpacked
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kconfig: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct IterPinArgs {
    /// BPF object; `-` is stdin
    #[arg(value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) object: PathBuf,
    /// The path of the pin, on a bpffs; the directory is created if its parent exists
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) path: PathBuf,
    /// The map whose elements the iterator visits: its id, name or pin
    #[arg(long)]
    pub(crate) map: Option<String>,
    /// The iterator, if the object has several
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) program: Option<String>,
    /// File of CONFIG_…= lines that take precedence over the kernel's configuration; a .gz is unpacked
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kconfig: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(mut_arg("name", one_link_name))]
pub(crate) struct IterReadArgs {
    #[command(flatten)]
    pub(crate) selector: ObjectSelector,
    /// Print the bytes as they are
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TokenListArgs {
    /// Only the bpffs mounted here
    #[arg(value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) path: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
