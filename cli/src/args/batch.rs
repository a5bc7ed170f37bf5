//! The arguments of `batch`.

use crate::format::Format;
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const HELP: &str = "Examples:
  core-relo batch commands.txt
  core-relo batch commands.txt --keep-going --format json
  printf 'map update 7 1 100\\nmap dump 7\\n' | core-relo batch -

Each line is a command without `core-relo`, with words and quotes as in a shell: `map update --name flows '{\"port\": 80}' 1`. A `#` begins a
comment. Lines are run one after the other. The first that fails ends the batch, unless --keep-going is given; what the lines before it
did stays. With --format json, every command that can prints JSON lines.

Ctrl-C, SIGTERM and SIGHUP end the command that runs, as they would end it by itself. The lines after it are not run, also with
--keep-going, and the signal ends the batch: a shell then shows 128 and the number of the signal, 130 for Ctrl-C and 143 for SIGTERM.
A signal that regularly ends the command of the last line, as Ctrl-C ends `prog tracelog`, leaves the status of this command.
Exit status: that of the line that failed; with --keep-going, the largest. 2 if the reader of the output is gone before the last line.";

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
