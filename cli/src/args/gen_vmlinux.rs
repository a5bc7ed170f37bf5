//! The arguments of `gen vmlinux`.

use crate::output::{OutputKind, OutputPath};
use crate::{args::btf::parse_glob, glob::Glob};
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(crate) const GEN_VMLINUX_HELP: &str = "Examples:
  core-relo gen vmlinux agent.bpf.o -o vmlinux.h
  core-relo gen vmlinux *.bpf.o --btf 6.12/vmlinux --root task_struct --root 'tcp_*' -o vmlinux.h

The header declares the types of CO-RE records, of contexts and parameters, typedefs, kfuncs and variables that the objects use.
Enumerators that a program uses as constants leave no trace in its object: enums with BPF_, XDP_ or TCX_ are always declared, others
by --root. `core-relo btf dump KERNEL --format c` prints all types of a kernel. Exit status 0 if the header was written, else 2.";

#[derive(Debug, Args)]
pub(crate) struct GenVmlinuxArgs {
    /// BPF objects with BTF (clang -g)
    #[arg(required = true, value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) objects: Vec<PathBuf>,
    /// The kernel: raw BTF, an ELF with .BTF, or a vmlinuz
    #[arg(long, value_name = "KERNEL", value_hint = ValueHint::FilePath, default_value = "/sys/kernel/btf/vmlinux")]
    pub(crate) btf: PathBuf,
    /// File to write the header to; `-` is stdout
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, default_value = "-", value_parser = OutputPath::parser(OutputKind::Vmlinux))]
    pub(crate) output: OutputPath,
    /// Declare the types with this name, too; `*` stands for any characters, `?` for one; may be repeated
    #[arg(long, value_name = "NAME", value_parser = parse_glob)]
    pub(crate) root: Vec<Glob>,
    /// Add assertions on the sizes, alignments and offsets of all types
    #[arg(long)]
    pub(crate) assertions: bool,
}
