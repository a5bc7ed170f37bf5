//! The arguments of `batch`.

use super::format::Format;
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const HELP: &str = "Examples:
  core-relo batch commands.txt
  core-relo batch commands.txt --keep-going --format json
  printf 'map update 7 1 100\\nmap dump 7\\n' | core-relo batch -

Each line is a command without `core-relo`, with words and quotes as in a shell: `map update --name flows '{\"port\": 80}' 1`. A `#` begins a
comment. Lines are run one after the other. The first that fails ends the batch, unless --keep-going is given; what the lines before it
did stays. With --format json, every command that can prints JSON lines.
Exit status: that of the line that failed; with --keep-going, the largest.";

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    /// The file of commands; `-` is stdin
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Run the lines after one that fails
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Output format of the commands
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
