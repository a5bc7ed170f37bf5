//! The arguments of `requires`.

use crate::{args::loader::LoaderArgs, format::Format, policy::ConfigArgs, settings::SettingsArgs};
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const REQUIRES_HELP: &str = "Examples:
  core-relo requires prog.bpf.o
  core-relo requires build/                         the objects in a directory
  core-relo requires prog.bpf.o --format json | jq -r '.programs[].helpers[].name'

Everything comes from the object alone. `core-relo check` compares the requirements with kernels.
A use may lie in code that a kernel never reaches, for example behind bpf_core_field_exists(): see the existence checks.
libbpf replaces bpf_probe_read_kernel(), bpf_probe_read_user() and their _str variants on kernels that lack them.
Exit status 0, or 2 for bad input.";

#[derive(Debug, Args)]
pub(crate) struct RequiresArgs {
    /// BPF objects, and directories of them (`*.o`); `-` is stdin
    #[arg(required = true, value_name = "OBJ", value_hint = ValueHint::AnyPath)]
    pub(crate) objects: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) loader: LoaderArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
