//! The arguments of the `btf` subcommands that write BTF.

use crate::format::Format;
use crate::output::{OutputKind, OutputPath};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

const DEDUP_HELP: &str = "Examples:
  core-relo btf dedup prog.bpf.o -o prog.btf
  core-relo btf dedup module.btf --base vmlinux -o module-small.btf

Works like libbpf's btf__dedup: equal types become one, and forward declarations become their definitions.
With --base, types that the base has are left out.";
const MERGE_HELP: &str = "Examples:
  core-relo btf merge a.bpf.o b.bpf.o c.bpf.o -o all.btf
  core-relo btf merge nf_nat.btf nf_conntrack.btf --base vmlinux -o netfilter.btf";
const SORT_HELP: &str = "Example:
  core-relo btf sort vmlinux-6.1.btf -o sorted.btf

The order is that of kernel builds from Linux 7.0 on: types without a name, then by name. Searches by name then need no index.";
const SPLIT_HELP: &str = "Examples:
  core-relo btf split a.bpf.o b.bpf.o --base vmlinux -o programs.btf
  core-relo btf split own.btf --base common.btf -o - | wc -c

The inputs are BTF without a base. The output is split BTF: the types of the inputs that the base does not have.";
const DISTIL_HELP: &str = "Example:
  core-relo btf distil module.ko --base vmlinux -o module.btf --base-output module.base.btf

Works like libbpf's btf__distill_base. The distilled base is what .BTF.base of a module contains: names, kinds and sizes of the
kernel's types to which the module refers. With it, the BTF can be relocated to other builds of the kernel.";
const ENCODE_HELP: &str = "Examples:
  core-relo btf encode /usr/lib/debug/boot/vmlinux-5.10 -o vmlinux-5.10.btf
  core-relo btf encode nf_conntrack.ko --base vmlinux-5.10.btf -o nf_conntrack.btf

Works like `pahole -J`: reads DWARF, and writes types, functions in the symbol table and per-CPU variables, each type once.
Functions whose definitions differ are left out, as are units in other languages than C.";
const CONVERT_HELP: &str = "Examples:
  core-relo btf convert s390x.btf --endian little -o s390x-little.btf
  core-relo btf convert vmlinux --layout remove -o vmlinux.btf

The layout section, in headers of newer BTF, gives the sizes of records, so that readers can skip unknown kinds.";

#[derive(Debug, Subcommand)]
pub(crate) enum BtfWriteCommand {
    /// Write BTF with each type once
    #[command(after_help = DEDUP_HELP)]
    Dedup(BtfRewriteArgs),
    /// Write the deduplicated BTF of several files as one
    #[command(after_help = MERGE_HELP)]
    Merge(BtfMergeArgs),
    /// Write BTF with its types sorted by name
    #[command(after_help = SORT_HELP)]
    Sort(BtfRewriteArgs),
    /// Write the types that a base does not have, as split BTF
    #[command(after_help = SPLIT_HELP)]
    Split(BtfSplitArgs),
    /// Write split BTF and the part of its base that relocates it to another base
    #[command(after_help = DISTIL_HELP, alias = "distill")]
    Distil(BtfDistilArgs),
    /// Write BTF in another byte order, or with or without a layout section
    #[command(after_help = CONVERT_HELP)]
    Convert(BtfConvertArgs),
    /// Write the BTF of a kernel, module or object from its debug information (DWARF)
    #[command(after_help = ENCODE_HELP)]
    Encode(BtfEncodeArgs),
}

/// The input of a command that writes one BTF in another way.
#[derive(Debug, Args)]
pub(crate) struct BtfInputArgs {
    /// File to read: raw BTF, an ELF with .BTF, a vmlinuz or a package
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) path: PathBuf,
    /// Base BTF of the split BTF in PATH [default: `vmlinux` in the same directory]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) base: Option<PathBuf>,
}

/// The output of a command that writes BTF.
#[derive(Debug, Args)]
pub(crate) struct BtfOutputArgs {
    /// File to write raw BTF to; `-` is stdout
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser(OutputKind::Btf))]
    pub(crate) output: OutputPath,
    /// Output format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct BtfRewriteArgs {
    #[command(flatten)]
    pub(crate) input: BtfInputArgs,
    #[command(flatten)]
    pub(crate) output: BtfOutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BtfMergeArgs {
    /// Files to read: raw BTF, ELF files with .BTF
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Base BTF of the split BTF in all PATHs; the output is split from the same base
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) base: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: BtfOutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BtfSplitArgs {
    /// Files to read: raw BTF, ELF files with .BTF
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) paths: Vec<PathBuf>,
    /// BTF whose types are left out of the output
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) base: PathBuf,
    #[command(flatten)]
    pub(crate) output: BtfOutputArgs,
}

#[derive(Debug, Args)]
#[command(mut_arg("path", |path| path.help("Split BTF to read: raw BTF, or an ELF with .BTF")))]
pub(crate) struct BtfDistilArgs {
    #[command(flatten)]
    pub(crate) input: BtfInputArgs,
    /// File to write the distilled base to
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser(OutputKind::Btf))]
    pub(crate) base_output: OutputPath,
    #[command(flatten)]
    pub(crate) output: BtfOutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BtfConvertArgs {
    #[command(flatten)]
    pub(crate) input: BtfInputArgs,
    /// Byte order of the output [default: that of the input]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub(crate) endian: Option<ByteOrder>,
    /// Add or remove the layout section
    #[arg(long, value_enum, value_name = "CHANGE")]
    pub(crate) layout: Option<Layout>,
    #[command(flatten)]
    pub(crate) output: BtfOutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BtfEncodeArgs {
    /// ELF file with debug information: vmlinux, module or object; or a package with a vmlinux
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) path: PathBuf,
    /// BTF of the kernel to which the module in PATH belongs; the output is split BTF
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) base: Option<PathBuf>,
    /// Number of threads; 0 means one for each CPU
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(crate) jobs: usize,
    #[command(flatten)]
    pub(crate) output: BtfOutputArgs,
}

/// The byte orders of `btf convert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByteOrder {
    /// As on x86, arm64 and riscv64
    Little,
    /// As on s390x
    Big,
}

/// The changes of the layout section by `btf convert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// Write a layout section
    Add,
    /// Leave the layout section out
    Remove,
}

impl BtfWriteCommand {
    /// Returns the output of the command.
    pub(crate) fn output(&self) -> &BtfOutputArgs {
        match self {
            Self::Dedup(c) => &c.output,
            Self::Merge(c) => &c.output,
            Self::Sort(c) => &c.output,
            Self::Split(c) => &c.output,
            Self::Distil(c) => &c.output,
            Self::Convert(c) => &c.output,
            Self::Encode(c) => &c.output,
        }
    }
}
