//! What was typed after `gen`.

use crate::args::Format;
use clap::{Args as ClapArgs, Subcommand, ValueHint};
use std::path::PathBuf;

const OBJECT: &str = "Examples:
  core-relo gen object prog.bpf.o main.bpf.o maps.bpf.o
  core-relo gen object prog.bpf.o *.bpf.o && core-relo check prog.bpf.o

As `bpftool gen object`: sections of one name become one, symbols are resolved, types are merged and each kept once.
Global functions and variables of several files need BTF (clang -g). Exit status 0 if the object was written, else 2.";

#[derive(Debug, Subcommand)]
#[command(after_help = OBJECT)]
pub(crate) enum Gen {
    /// Link several objects into one
    #[command(after_help = OBJECT)]
    Object(GenObject),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GenObject {
    /// Where to write, as `patch` does; `-` is stdout
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// BPF objects; of several weak definitions the first one's counts
    #[arg(required = true, value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) objects: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
