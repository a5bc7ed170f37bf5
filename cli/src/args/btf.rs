//! The arguments of `btf`.

use crate::output::{OutputKind, OutputPath};
use crate::{
    args::{
        btf_check::{self, BtfCheckArgs},
        btf_ids::{self, BtfIdsArgs},
        btf_query::{self, BtfFindArgs, BtfLayoutArgs, BtfOffsetArgs},
        btf_write::BtfWriteCommand,
        format::BtfDumpFormat,
        object_name::parse_name,
        object_selector::ListArgs,
    },
    format::Format,
    input::kernel_args::KernelArgs,
    kernel_objects::select::Selector,
};
use clap::{Args, Subcommand, ValueEnum, ValueHint, builder::PossibleValue};
use core_relo_loader::inventory::ObjectSelection;
use core_relo_report::policy::Glob;
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
  core-relo btf dump --kernel-id 12
  core-relo btf dump /sys/kernel/btf/vmlinux --format c > vmlinux.h
  core-relo btf dump vmlinux --format c --root task_struct --root 'sk_*' --assertions";

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

const BTF_MIN_HELP: &str = "Examples:
  core-relo btf min prog.bpf.o --btf vmlinux-5.4.btf -o prog-5.4.btf
  core-relo btf min *.bpf.o --btf btfhub-archive/ubuntu -o agent-btf.tar.gz
  core-relo btf min prog.bpf.o --btf kernels/ --verdicts -o kernels-min.tar.gz
  core-relo check prog.bpf.o --btf kernels-min.tar.gz

Keeps the types, members and enumerators that the relocations of the objects read, and the declarations of attach targets, kfuncs, kernel
variables and struct_ops. A plan against the result is the same as against the full BTF. A kernel without BTF needs nothing else to
relocate the objects.
One kernel gives a raw BTF file. An OUT that ends with .tar.gz or .tgz is an archive of any number of kernels, which the loader reads.
Kernels are named by their paths, as on BTFHub: ubuntu/20.04/x86_64/5.4.0-42-generic.btf. Their modules are in a directory with the
kernel's name, 5.4.0-42-generic/nf_conntrack.btf, in the input and in the archive.
If an object or a kernel cannot be read, every such file is named, nothing is written, and the exit status is 2.";

const BTF_WHICH_HELP: &str = "Examples:
  core-relo btf which agent-btf.tar.gz
  core-relo btf which agent-btf.tar.gz --release 5.4.0-42-generic --arch x86_64
  core-relo btf which agent-btf.tar.gz --all --format json

Shows the BTF that the loader takes from an archive for a kernel, by default the running one, and why.
Exit status 0 if there is one, 1 if there is none or several match equally well, 2 if the archive is damaged.";

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
    /// Check BTF by the rules of the kernel that loads it
    #[command(after_help = btf_check::HELP)]
    Check(BtfCheckArgs),
    /// Find types: by name, kind, member, size, or by the type that they use
    #[command(after_help = btf_query::BTF_FIND_HELP)]
    Find(BtfFindArgs),
    /// Show the members of a struct or union with offsets, holes and cache lines
    #[command(after_help = btf_query::BTF_LAYOUT_HELP)]
    Layout(BtfLayoutArgs),
    /// Show the offset and size of a field by its path
    #[command(after_help = btf_query::BTF_OFFSET_HELP)]
    Offset(BtfOffsetArgs),
    /// Write the part of kernels' BTF that objects need
    #[command(after_help = BTF_MIN_HELP)]
    Min(BtfMinArgs),
    /// Show which BTF of an archive belongs to a kernel
    #[command(after_help = BTF_WHICH_HELP)]
    Which(BtfWhichArgs),
    /// List the BTF data in the running kernel, one per line
    #[command(after_help = BTF_LIST_HELP)]
    List(ListArgs),
    /// Show everything that the kernel reports about BTF data
    #[command(after_help = BTF_SHOW_HELP)]
    Show(BtfShowArgs),
    #[command(flatten)]
    Write(BtfWriteCommand),
    /// Show, check or fill in the type ids in .BTF_ids of modules and kernels
    #[command(after_help = btf_ids::HELP)]
    Ids(BtfIdsArgs),
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
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) name: Option<String>,
}

/// Parses the id of a BTF.
fn parse_id(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "expected an id (a number); use --name for a name".to_owned())
}

impl Selector for BtfSelector {
    fn selection(&self) -> Option<ObjectSelection> {
        let id = self.id.or(self.positional_id).map(ObjectSelection::Id);
        id.or_else(|| self.name.clone().map(ObjectSelection::Name))
    }
}

#[derive(Debug, Args)]
#[command(mut_group("BtfSelector", |group| group.required(false)))]
pub(crate) struct BtfShowArgs {
    #[command(flatten)]
    pub(crate) selector: BtfSelector,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct BtfDumpArgs {
    /// File to read: raw BTF, an ELF with .BTF, a vmlinuz or a package
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
    /// With --format c, declare only the types with this name and what they need; `*` stands for any
    /// characters, `?` for one; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) root: Vec<Glob>,
    /// With --format c, add assertions on the sizes, alignments and offsets of all types
    #[arg(long)]
    pub(crate) assertions: bool,
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
    /// The old kernel: raw BTF, an ELF with .BTF, a vmlinuz or a package
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub(crate) old: PathBuf,
    /// The new kernel
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub(crate) new: PathBuf,
    /// Compare only what these objects use: fields, attach targets, helpers, kfuncs, variables, contexts of
    /// tracepoints
    #[arg(long = "for", value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) objects: Vec<PathBuf>,
    /// Compare only declarations of these kinds
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',')]
    pub(crate) kind: Vec<DiffKind>,
    /// Compare only names that match a pattern; `*` stands for any characters, `?` for one; may be given
    /// several times
    #[arg(long, value_name = "GLOB")]
    pub(crate) name: Vec<Glob>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct BtfMinArgs {
    /// BPF object, or a directory of them
    #[arg(required = true, value_name = "OBJ", value_hint = ValueHint::AnyPath)]
    pub(crate) objects: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// File to write to: raw BTF of one kernel, or an archive if the name ends with .tar.gz or .tgz; `-` is
    /// stdout
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser(OutputKind::BtfOrArchive))]
    pub(crate) output: OutputPath,
    /// Also keep what `check` reads, so that its verdicts stay the same
    #[arg(long)]
    pub(crate) verdicts: bool,
    /// Keep the ids of all types, with records of 12 bytes for types that are left out [default: if an object
    /// asks for the id of a kernel's type]
    #[arg(long)]
    pub(crate) keep_ids: bool,
    /// Output format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct BtfWhichArgs {
    /// Archive that `btf min` wrote
    #[arg(value_name = "ARCHIVE", value_hint = ValueHint::FilePath)]
    pub(crate) archive: PathBuf,
    /// Release of the kernel, as `uname -r` prints it [default: the running kernel, with all its properties]
    #[arg(long, value_name = "R")]
    pub(crate) release: Option<String>,
    /// Architecture of the kernel, as `uname -m` prints it
    #[arg(long, value_name = "A", requires = "release")]
    pub(crate) arch: Option<String>,
    /// Distribution and its version, as in /etc/os-release: `ubuntu/20.04`
    #[arg(long, value_name = "ID/VERSION", requires = "release")]
    pub(crate) distribution: Option<String>,
    /// Version string of the kernel, as `uname -v` prints it
    #[arg(long, value_name = "V", requires = "release")]
    pub(crate) version_string: Option<String>,
    /// Build id of the kernel's vmlinux, in hexadecimal digits
    #[arg(long, value_name = "HEX", requires = "release")]
    pub(crate) build_id: Option<String>,
    /// List all kernels of the archive, with the reasons why they do not belong to the kernel
    #[arg(long)]
    pub(crate) all: bool,
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
