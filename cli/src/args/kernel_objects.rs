//! The arguments of the commands that show the programs, maps and links in the running kernel.

use crate::args::prog_sign::{self, ProgSignArgs};
use crate::output::{OutputKind, OutputPath};
use crate::{
    args::{
        map_elements::{
            MapCreateArgs, MapDeleteArgs, MapEventsArgs, MapGetnextArgs, MapLookupArgs, MapPushArgs,
            MapUpdateArgs,
        },
        object_selector::{
            ElementArgs, ListArgs, ObjectChangeArgs, ObjectSelector, ProgramSelector, ProgramShowArgs,
            ShowArgs, link_name, one_link_name, one_name,
        },
        object_words::{LinkUpdateArgs, PinArgs, ProgramPinArgs},
        prog_attach::{self, ProgAttachArgs, ProgDetachArgs},
        prog_profile::{self, ProgProfileArgs},
        prog_stats::{self, ProgStatsArgs},
        test_run::{self, ProgRunArgs},
        trace_output::{self, ProgStreamArgs, TracelogArgs},
    },
    format::Format,
};
use clap::{Args, Subcommand, ValueHint};

const PROG_HELP: &str = "Examples:
  core-relo prog list
  core-relo prog show --name handle_exec
  core-relo prog dump 42
  core-relo prog list --format json | jq 'select(.run_cnt > 0)'
  core-relo prog attach 42 --to dev:eth0

The commands on programs in the running kernel need CAP_SYS_ADMIN; to attach and detach at network interfaces, also CAP_NET_ADMIN. Exit
status: 0 if everything was read, changed or written, 2 if not. The --help of each command has its own conditions.";
const PROG_LIST_HELP: &str = "Example:
  core-relo prog list";
const PROG_SHOW_HELP: &str = "Examples:
  core-relo prog show 42
  core-relo prog show --pinned /sys/fs/bpf/handle_exec --format json";
const PROG_DUMP_HELP: &str = "Examples:
  core-relo prog dump 42
  core-relo prog dump --name handle_exec --raw
  core-relo prog dump 42 --jited --opcodes
  core-relo prog dump 42 --graph | dot -Tsvg > prog.svg
  core-relo prog dump 42 --jited -o code.bin
  core-relo prog dump 42 --format json | jq -r 'select(.call) | .call.name'

Prints the translated instructions, after the verifier has rewritten them, with the names of maps and called functions. A called
function is printed as `#N` if /proc/kallsyms hides addresses from this user. --jited prints the machine code of x86-64 and arm64
kernels, if core-relo was built with the feature jit-disassembly. --jited --raw prints its bytes, for other architectures and builds, and for
another disassembler.";
const MAP_HELP: &str = "Examples:
  core-relo map list
  core-relo map show --name events
  core-relo map dump --pinned /sys/fs/bpf/counts
  core-relo map lookup --name counts 7
  core-relo map update --name counts 7 100

Needs CAP_SYS_ADMIN; for a pinned map, permission to read the pin. Exit status: 0 if everything was read or written, 1 if an
element is missing or exists already, 2 for another error.";
const MAP_LIST_HELP: &str = "Example:
  core-relo map list";
const MAP_SHOW_HELP: &str = "Examples:
  core-relo map show 7
  core-relo map show --name events --format json";
const MAP_DUMP_HELP: &str = "Examples:
  core-relo map dump 7
  core-relo map dump --name counts --types
  core-relo map dump --name .rodata
  core-relo map dump --pinned /sys/fs/bpf/counts --format json | jq .value

Without BTF, or with --hex, keys and values are printed as bytes. A data section is a map of one element, whose name consists of
those of the object and the section. --name .rodata selects the map of each object. The name of its pin has no dot: _rodata.
A queue or stack shows only its next element, which stays in it. Ring buffers are read by `core-relo map events`.";
const MAP_PEEK_HELP: &str = "Examples:
  core-relo map peek 7
  core-relo map peek --name queue --format json

Exit status: 0 if there is an element, 1 if not, 2 if it could not be read.";
const MAP_POP_HELP: &str = "Examples:
  core-relo map pop 7
  core-relo map pop --name queue --format json

Exit status: 0 if there was an element, 1 if not, 2 if it could not be removed.";
const MAP_FREEZE_HELP: &str = "Examples:
  core-relo map freeze 7
  core-relo map freeze --pinned /sys/fs/bpf/limits

Programs may still write to the map. No command makes it writable again.";
const LINK_HELP: &str = "Examples:
  core-relo link list
  core-relo link show 3

Needs CAP_SYS_ADMIN. A link has no name: --name is the name of its program. Exit status: 0 if everything was read or changed, 2 if
not.";
const LINK_LIST_HELP: &str = "Example:
  core-relo link list";
const LINK_SHOW_HELP: &str = "Examples:
  core-relo link show 3
  core-relo link show --name handle_exec --format json";

const LINK_DETACH_HELP: &str = "Examples:
  core-relo link detach 3
  core-relo link detach --pinned /sys/fs/bpf/exec_link

The link stays, without a target, as long as it has pins and holders; a note names the pins. The kernel detaches links of cgroups, network interfaces, network
namespaces, netfilter, sockmaps and struct_ops; links of other types end with their last pin and holder. The kernel does not report
whether a link of netfilter is detached.";

#[derive(Debug, Subcommand)]
#[command(after_help = PROG_HELP)]
pub(crate) enum ProgCommand {
    /// List the programs, one per line
    #[command(after_help = PROG_LIST_HELP)]
    List(ListArgs),
    /// Show everything that the kernel reports about programs
    #[command(after_help = PROG_SHOW_HELP)]
    Show(ProgramShowArgs),
    /// Print the translated instructions (xlated) or the machine code (jited), with source lines
    #[command(after_help = PROG_DUMP_HELP)]
    Dump(ProgDumpArgs),
    /// Pin a program
    Pin(ProgramPinArgs),
    /// Attach a program to an interface, a cgroup, a map, a function and so on
    #[command(after_help = prog_attach::ATTACH_HELP)]
    Attach(ProgAttachArgs),
    /// Detach a program that is attached without a link
    #[command(after_help = prog_attach::DETACH_HELP)]
    Detach(ProgDetachArgs),
    /// Run a loaded program on your data (BPF_PROG_TEST_RUN)
    #[command(after_help = test_run::PROG_RUN_HELP)]
    Run(ProgRunArgs),
    /// Count the runs of programs and measure their time
    #[command(after_help = prog_stats::HELP)]
    Stats(ProgStatsArgs),
    /// Count the cycles, cache misses and so on of a program's runs
    #[command(after_help = prog_profile::HELP)]
    Profile(ProgProfileArgs),
    /// Print the messages of bpf_trace_printk and bpf_printk
    #[command(after_help = trace_output::TRACELOG_HELP)]
    Tracelog(TracelogArgs),
    /// Print the messages of bpf_stream_printk, or the kernel's reports of a program's faults
    #[command(after_help = trace_output::STREAM_HELP)]
    Stream(ProgStreamArgs),
    /// Sign a loader file, so that the kernel can verify its program
    #[command(after_help = prog_sign::HELP)]
    Sign(ProgSignArgs),
}

#[derive(Debug, Subcommand)]
#[command(after_help = MAP_HELP)]
pub(crate) enum MapCommand {
    /// List the maps, one per line
    #[command(after_help = MAP_LIST_HELP)]
    List(ListArgs),
    /// Show everything that the kernel reports about maps
    #[command(after_help = MAP_SHOW_HELP)]
    Show(ShowArgs),
    /// Print the elements, formatted by the BTF types of keys and values
    #[command(after_help = MAP_DUMP_HELP)]
    Dump(MapDumpArgs),
    /// Print the element with a key
    Lookup(MapLookupArgs),
    /// Print the key after a key, or the first key
    Getnext(MapGetnextArgs),
    /// Write an element
    Update(MapUpdateArgs),
    /// Remove an element
    Delete(MapDeleteArgs),
    /// Print the next element of a queue or stack, which stays in it
    #[command(after_help = MAP_PEEK_HELP, mut_arg("name", one_name))]
    Peek(MapDumpArgs),
    /// Append a value to a queue, a stack or a Bloom filter
    #[command(visible_alias = "enqueue")]
    Push(MapPushArgs),
    /// Print and remove the next element of a queue or stack
    #[command(after_help = MAP_POP_HELP, visible_alias = "dequeue", mut_arg("name", one_name))]
    Pop(MapDumpArgs),
    /// Print the records of a ring buffer or perf event array as they arrive
    #[command(visible_alias = "event_pipe")]
    Events(MapEventsArgs),
    /// Make a map read-only for user space, for good
    #[command(after_help = MAP_FREEZE_HELP)]
    Freeze(ObjectChangeArgs),
    /// Pin a map
    Pin(PinArgs),
    /// Create a map and pin it
    Create(MapCreateArgs),
}

#[derive(Debug, Subcommand)]
#[command(after_help = LINK_HELP)]
pub(crate) enum LinkCommand {
    /// List the links, one per line
    #[command(after_help = LINK_LIST_HELP)]
    List(ListArgs),
    /// Show everything that the kernel reports about links
    #[command(after_help = LINK_SHOW_HELP, mut_arg("name", link_name))]
    Show(ShowArgs),
    /// Pin a link, so that the program stays attached when its holders end
    #[command(mut_arg("name", one_link_name))]
    Pin(PinArgs),
    /// Detach the program of a link, even if the link has other holders
    #[command(after_help = LINK_DETACH_HELP, mut_arg("name", one_link_name))]
    Detach(ObjectChangeArgs),
    /// Replace the program of a link
    #[command(mut_arg("name", one_link_name))]
    Update(LinkUpdateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProgDumpArgs {
    #[command(flatten)]
    pub(crate) selector: ProgramSelector,
    /// Print only the instructions and their bytes: no names, no source lines
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print the machine code
    #[arg(long)]
    pub(crate) jited: bool,
    /// Print the bytes of each instruction
    #[arg(long, conflicts_with = "graph")]
    pub(crate) opcodes: bool,
    /// Print the columns of source lines
    #[arg(long, conflicts_with = "graph")]
    pub(crate) linum: bool,
    /// Print the control-flow graph of each function for Graphviz (DOT)
    #[arg(long, conflicts_with = "jited")]
    pub(crate) graph: bool,
    /// Write the bytes of the instructions, or of the machine code, of one program to this file; `-` is
    /// stdout
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser(OutputKind::Bytes))]
    #[arg(conflicts_with_all = ["raw", "opcodes", "linum", "graph", "format"])]
    pub(crate) output: Option<OutputPath>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct MapDumpArgs {
    #[command(flatten)]
    pub(crate) selector: ObjectSelector,
    #[command(flatten)]
    pub(crate) elements: ElementArgs,
}
