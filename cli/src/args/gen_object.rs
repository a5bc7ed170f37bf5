//! The arguments of `gen`.

use crate::output::{OutputKind, OutputPath};
use crate::{
    args::{
        gen_header::{self, GenHeaderArgs},
        gen_loader::{self, GenLoaderArgs},
        gen_rust::{self, GenRustArgs},
        gen_vmlinux::{self, GenVmlinuxArgs},
    },
    format::Format,
};
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const GEN_HELP: &str = "Examples:
  core-relo gen object prog.bpf.o main.bpf.o maps.bpf.o
  core-relo gen rust agent.bpf.o -o src/agent.skel.rs
  core-relo gen loader prog.bpf.o -o prog.loader
  core-relo gen vmlinux agent.bpf.o -o vmlinux.h
  core-relo gen header -o core_relo.h";

const GEN_OBJECT_HELP: &str = "Examples:
  core-relo gen object prog.bpf.o main.bpf.o maps.bpf.o
  core-relo gen object prog.bpf.o *.bpf.o && core-relo check prog.bpf.o

Works like `bpftool gen object`: joins sections with the same name, resolves symbols, merges and deduplicates BTF.
Global functions and variables that several files share need BTF (clang -g). Exit status 0 if the object was written, else 2.";

#[derive(Debug, Subcommand)]
#[command(after_help = GEN_HELP)]
pub(crate) enum GenCommand {
    /// Link several objects into one
    #[command(after_help = GEN_OBJECT_HELP)]
    Object(GenObjectArgs),
    /// Generate a Rust skeleton: programs, maps and variables as fields, C types as Rust types
    #[command(after_help = gen_rust::GEN_RUST_HELP)]
    Rust(GenRustArgs),
    /// Generate a loader program, which loads the object from within the kernel, or show one
    #[command(after_help = gen_loader::GEN_LOADER_HELP)]
    Loader(Box<GenLoaderArgs>),
    /// Generate a C header with the kernel types that objects use
    #[command(after_help = gen_vmlinux::GEN_VMLINUX_HELP)]
    Vmlinux(GenVmlinuxArgs),
    /// Print core_relo.h: macros that declare variants of programs, and types of events
    #[command(after_help = gen_header::GEN_HEADER_HELP)]
    Header(GenHeaderArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GenObjectArgs {
    /// File to write the object to, as for `patch`; `-` is stdout
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser(OutputKind::BpfObject))]
    pub(crate) output: OutputPath,
    /// BPF objects to link; of several weak definitions, the first is used
    #[arg(required = true, value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) objects: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
