//! The arguments of `gen vmlinux`.

use crate::output::{OutputKind, OutputPath};
use clap::{Args, ValueHint};
use core_relo_report::policy::Glob;
use std::path::PathBuf;

pub(crate) const GEN_VMLINUX_HELP: &str = "Examples:
  core-relo gen vmlinux agent.bpf.c -o vmlinux.h
  core-relo gen vmlinux agent.bpf.c --clang-arg=-Iinclude --clang-arg=-DDEBUG -o vmlinux.h
  core-relo gen vmlinux *.bpf.o --btf 6.12/vmlinux --root task_struct --root 'tcp_*' -o vmlinux.h

The header declares all types that sources name, and those that they reach through the names of members: the sources compile with it.
A note names a source that does not, because it defines a type which another source takes from the header.
clang's preprocessor reads the sources for the kernel's architecture (__TARGET_ARCH_arm64), which `struct pt_regs` tells, else for this machine's,
with the headers of `core-relo-build`. CLANG names clang, BPF_CFLAGS has more arguments for it.

Of an object, it declares the types of CO-RE records, variables, contexts, parameters, typedefs, enums and kfuncs. Code that the compiler
left out has no trace in an object, enumerators and types of local variables only in its debug information (-g, not stripped): give the
source, or name types by --root. Enums with BPF_, XDP_ or TCX_ are always declared.

`core-relo btf dump KERNEL --format c` prints all types of a kernel. Exit status 0 if the header was written, else 2.";

#[derive(Debug, Args)]
pub(crate) struct GenVmlinuxArgs {
    /// Sources of BPF programs (*.c), or objects with BTF (clang -g)
    #[arg(required = true, value_name = "SOURCE|OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The kernel: raw BTF, an ELF with .BTF, a vmlinuz or a package
    #[arg(long, value_name = "KERNEL", value_hint = ValueHint::FilePath, default_value = "/sys/kernel/btf/vmlinux")]
    pub(crate) btf: PathBuf,
    /// File to write the header to; `-` is stdout
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, default_value = "-", value_parser = OutputPath::parser(OutputKind::Vmlinux))]
    pub(crate) output: OutputPath,
    /// Declare the types with this name, too; `*` stands for any characters, `?` for one; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) root: Vec<Glob>,
    /// An argument of clang for the sources, such as -Iinclude or -DNAME; may be repeated
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) clang_arg: Vec<String>,
    /// Add assertions on the sizes, alignments and offsets of all types
    #[arg(long)]
    pub(crate) assertions: bool,
}
