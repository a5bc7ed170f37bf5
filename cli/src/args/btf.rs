//! The arguments of `btf`.

use crate::{
    args::{
        format::{BtfDumpFormat, Format},
        kernel_objects::{ListArgs, ObjectSelector},
    },
    glob::Glob,
};
use clap::{Args, Subcommand, ValueEnum, ValueHint, builder::PossibleValue};
use core_relo_verdict::btf_diff::ItemKind;
use std::path::PathBuf;

const BTF_LIST_HELP: &str = "Example:
  core-relo btf list

Needs CAP_SYS_ADMIN.";
const BTF_SHOW_HELP: &str = "Examples:
  core-relo btf show 1
  core-relo btf show --name nf_conntrack --format json

Needs CAP_SYS_ADMIN.";
const BTF_DUMP_HELP: &str = "Examples:
  core-relo btf dump /sys/kernel/btf/vmlinux --type-name task_struct
  core-relo btf dump /sys/kernel/btf/veth --format json
  core-relo btf dump veth.ko --base vmlinux --type-id 142000
  core-relo btf dump --kernel-id 12";

const BTF_PRINT_HELP: &str = "Examples:
  core-relo btf print prog.bpf.o --type 'struct event' --data event.bin
  core-relo btf print /sys/kernel/btf/vmlinux --type iphdr --compact < header.bin
  core-relo btf print prog.bpf.o --type event --array --format json < events.bin | jq .value

The bytes are those of a machine with the byte order of the BTF. Bytes after a struct belong to its flexible array.
Exit status 0, 1 if the data is too short for its type (the text then says what is cut off), 2 for bad input.";

const BTF_DIFF_HELP: &str = "Examples:
  core-relo btf diff 5.10/vmlinux 7.2/vmlinux --name 'task_*'
  core-relo btf diff old.btf new.btf --kind function,kfunc --format json
  core-relo btf diff old.btf /sys/kernel/btf/vmlinux --for prog.bpf.o

Lines with `-` are those of A, lines with `+` those of B. Types are compared by name and content, whatever their ids are.
Members of anonymous structs and unions count as members of the struct around them.
Exit status 0 without differences, 1 with differences, 2 for bad input.";

#[derive(Debug, Subcommand)]
pub(crate) enum BtfCommand {
    /// Print types, from a file or from the running kernel
    #[command(after_help = BTF_DUMP_HELP)]
    Dump(BtfDumpArgs),
    /// Print bytes as a value of a type
    #[command(after_help = BTF_PRINT_HELP)]
    Print(BtfPrintArgs),
    /// Compare the BTF of two kernels: types, functions, tracepoints, variables
    #[command(after_help = BTF_DIFF_HELP)]
    Diff(BtfDiffArgs),
    /// List the BTF data in the running kernel, one per line
    #[command(after_help = BTF_LIST_HELP)]
    List(ListArgs),
    /// Show everything that the kernel reports about BTF data
    #[command(after_help = BTF_SHOW_HELP)]
    Show(BtfShowArgs),
}

/// The selection of BTF data: one of an id and a name, since BTF cannot be pinned
#[derive(Clone, Debug, Default, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct BtfSelector {
    /// The BTF with this id; short for --id
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) positional_id: Option<u32>,
    /// The BTF with this id
    #[arg(long, value_name = "N")]
    pub(crate) id: Option<u32>,
    /// The BTF with this name: `vmlinux`, or the name of a module
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// Parses the id of a BTF.
fn parse_id(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "expected an id (a number); use --name for a name".to_owned())
}

impl From<&BtfSelector> for ObjectSelector {
    fn from(selector: &BtfSelector) -> Self {
        let BtfSelector { positional_id, id, name } = selector.clone();
        Self { positional_id, id, name, pinned: None }
    }
}

#[derive(Debug, Args)]
pub(crate) struct BtfShowArgs {
    #[command(flatten)]
    pub(crate) selector: BtfSelector,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct BtfDumpArgs {
    /// File to read: raw BTF, an ELF with .BTF, or a vmlinuz
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath, required_unless_present = "kernel_id")]
    pub(crate) path: Option<PathBuf>,
    /// The BTF with this id in the running kernel, as in `btf list`
    #[arg(long, value_name = "N", conflicts_with_all = ["path", "base"])]
    pub(crate) kernel_id: Option<u32>,
    /// Print only the type with this id; it may be a type of the base
    #[arg(long, value_name = "N", alias = "id")]
    pub(crate) type_id: Option<u32>,
    /// Print only types with this name
    #[arg(long, value_name = "NAME", alias = "name")]
    pub(crate) type_name: Option<String>,
    /// Base BTF of the split BTF in PATH [default: `vmlinux` in the same directory]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) base: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: BtfDumpFormat,
}

#[derive(Debug, Args)]
pub(crate) struct BtfPrintArgs {
    /// File with the type: raw BTF, an ELF with .BTF (a BPF object), or a vmlinuz
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) path: PathBuf,
    /// The type: `struct event`, `union u`, `enum e`, a name of any kind, or a type id
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) ty: String,
    /// File with the bytes; `-` is stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "-")]
    pub(crate) data: PathBuf,
    /// The data is an array: print a value for each multiple of the type's size
    #[arg(long)]
    pub(crate) array: bool,
    /// Print each value on one line
    #[arg(long, conflicts_with = "indent")]
    pub(crate) compact: bool,
    /// Print the type of each member
    #[arg(long)]
    pub(crate) types: bool,
    /// Leave out the names of members
    #[arg(long)]
    pub(crate) skip_names: bool,
    /// Leave out members that are zero
    #[arg(long)]
    pub(crate) skip_zeroes: bool,
    /// Indent with N spaces instead of a tab
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=16))]
    pub(crate) indent: Option<u8>,
    /// Base BTF of the split BTF in PATH [default: `vmlinux` in the same directory]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) base: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct BtfDiffArgs {
    /// The old kernel: raw BTF, an ELF with .BTF, or a vmlinuz
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub(crate) old: PathBuf,
    /// The new kernel
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub(crate) new: PathBuf,
    /// Compare only what these objects use: fields, attach targets, helpers, kfuncs, variables, contexts of tracepoints
    #[arg(long = "for", value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) objects: Vec<PathBuf>,
    /// Compare only declarations of these kinds
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',')]
    pub(crate) kind: Vec<DiffKind>,
    /// Compare only names that match a pattern; `*` stands for any characters, `?` for one; may be given several times
    #[arg(long, value_name = "GLOB", value_parser = parse_glob)]
    pub(crate) name: Vec<Glob>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The kinds of declarations that `btf diff` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiffKind(pub(crate) ItemKind);

impl ValueEnum for DiffKind {
    fn value_variants<'a>() -> &'a [Self] {
        const KINDS: [DiffKind; ItemKind::ALL.len()] = {
            let [a, b, c, d, e, f, g, h] = ItemKind::ALL;
            [
                DiffKind(a),
                DiffKind(b),
                DiffKind(c),
                DiffKind(d),
                DiffKind(e),
                DiffKind(f),
                DiffKind(g),
                DiffKind(h),
            ]
        };
        &KINDS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.word()))
    }
}

/// Parses a pattern for names.
fn parse_glob(pattern: &str) -> Result<Glob, String> {
    Glob::new(pattern).map_err(|error| error.to_string())
}
