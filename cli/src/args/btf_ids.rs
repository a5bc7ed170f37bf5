//! The arguments of `btf ids`.

use crate::format::Format;
use crate::output::{OutputKind, OutputPath};
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const HELP: &str = "Examples:
  core-relo btf ids tcp_bbr.ko --btf vmlinux
  core-relo btf ids /lib/modules/6.1.0-18-amd64/kernel/net/ipv4/tcp_bbr.ko.xz --btf vmlinux
  core-relo btf ids module.o --resolve --btf vmlinux -o module.resolved.o

--resolve works like resolve_btfids of the kernel's build: it fills in ids and counts, and sorts sets.
Exit status 0 if the ids are those of the BTF, or were written; 1 if an id is wrong or a type is missing (then --resolve writes nothing);
2 for bad input.";

#[derive(Debug, Args)]
pub(crate) struct BtfIdsArgs {
    /// ELF file with .BTF_ids: a module, also compressed, an object of the kernel's build, a vmlinux
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) path: PathBuf,
    /// The kernel's BTF: the base of the file's .BTF, or the types of a file without .BTF
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) btf: Option<PathBuf>,
    /// Write the file with its ids filled in
    #[arg(long, requires = "output")]
    pub(crate) resolve: bool,
    /// Write the file although the BTF lacks types; their ids are 0
    #[arg(long, requires = "resolve")]
    pub(crate) allow_missing: bool,
    /// File to write to, which may be the input; `-` is stdout
    #[arg(short, long, value_name = "OUT", requires = "resolve", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser_in_place_of("path", OutputKind::Elf))]
    pub(crate) output: Option<OutputPath>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
