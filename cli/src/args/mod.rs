//! The command line.

mod attach_word;
pub(crate) mod attachments;
pub(crate) mod batch;
mod bpftool_hints;
mod bpftool_words;
pub(crate) mod btf;
pub(crate) mod btf_check;
pub(crate) mod btf_ids;
pub(crate) mod btf_query;
pub(crate) mod btf_write;
#[cfg(feature = "completions")]
pub(crate) mod completion;
mod deferred;
#[cfg(test)]
mod documents;
pub(crate) mod events;
pub(crate) mod feature;
pub(crate) mod files;
pub(crate) mod format;
pub(crate) mod gen_header;
pub(crate) mod gen_loader;
pub(crate) mod gen_object;
pub(crate) mod gen_rust;
pub(crate) mod gen_vmlinux;
pub(crate) mod guest;
mod help_text;
pub(crate) mod kernel_objects;
pub(crate) mod kernel_services;
#[cfg(feature = "fetch")]
pub(crate) mod kernels;
mod list_selection;
pub(crate) mod load;
pub(crate) mod loader;
pub(crate) mod map_elements;
mod object_name;
pub(crate) mod object_selector;
pub(crate) mod object_words;
pub(crate) mod prog_attach;
pub(crate) mod prog_profile;
pub(crate) mod prog_sign;
pub(crate) mod prog_stats;
pub(crate) mod relocate;
pub(crate) mod report;
pub(crate) mod requires;
pub(crate) mod site;
pub(crate) mod stats;
pub(crate) mod test_run;
pub(crate) mod trace_output;
pub(crate) mod vm;

use crate::{format::Format, output::CommandFiles};
use attachments::{CgroupCommand, NetCommand, PerfCommand};
use batch::BatchArgs;
use bpftool_words::first_operand;
use btf::BtfCommand;
use clap::{
    Args as ClapArgs, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueHint,
    builder::styling, error::ErrorKind,
};
use core_relo::Name;
pub(crate) use deferred::Deferred;
use deferred::with_arguments;
use feature::FeatureArgs;
use files::{collect_files, with_force};
use format::{BtfDumpFormat, Color};
use gen_object::GenCommand;
use help_text::with_joined_paragraphs;
use kernel_objects::{LinkCommand, MapCommand, ProgCommand};
use kernel_services::{IterCommand, StructOpsCommand, TokenCommand};
use list_selection::suggest_show;
use load::{LoadArgs, RunArgs};
use relocate::{CheckArgs, ExplainArgs, PatchArgs, PlanArgs};
use report::ReportArgs;
use requires::RequiresArgs;
use site::SiteArgs;
use std::{env, ffi::OsString, path::PathBuf};
use vm::VmArgs;

const STYLES: styling::Styles = styling::Styles::styled()
    .header(styling::AnsiColor::Green.on_default().bold())
    .usage(styling::AnsiColor::Green.on_default().bold())
    .literal(styling::AnsiColor::Cyan.on_default().bold())
    .placeholder(styling::AnsiColor::Cyan.on_default());

const GLOBAL: &str = "Global options";

const INSPECT_HELP: &str = "Examples:
  core-relo inspect prog.bpf.o
  core-relo inspect prog.bpf.o --relocs
  core-relo inspect prog.bpf.o --disasm
  core-relo inspect prog.bpf.o --disasm --program handle_exec --opcodes
  core-relo inspect prog.bpf.o --disasm --graph | dot -Tsvg > prog.svg

--disasm prints instructions as llvm-objdump does, and adds source lines, CO-RE relocations, labels, and the names of maps, variables
and called functions. Bytes that are no instruction are printed as `<unknown>`, with the reason.";

const ROOT_HELP: &str = "bpftool's options -j, --json, -p and --pretty stand for --format json of a command.

Exit status: 0 if everything loads; 1 if something does not, or needs input; 2 for an open question, \
bad input or wrong usage. `plan` exits with 1 if a relocation is poisoned or fails, `patch` only if it writes nothing, `demo` with 0.";

/// The version, and the commit that was built if it is known: `0.1.0 (abc123def 2026-01-31)`.
const VERSION: &str = env!("CORE_RELO_VERSION");

/// Checks whether BPF objects load on kernels, explains why not, and loads objects.
///
/// `check` and `explain` judge BPF objects for the running kernel or for other kernels, from the BTF of each:
/// relocations (CO-RE), helpers, maps, attach targets and more. They load nothing and need no privileges.
/// `load` and `run` load objects into the running kernel. `prog`, `map`, `link`, `net`, `cgroup` and so on
/// show and change the kernel's BPF objects and need CAP_SYS_ADMIN.
#[derive(Debug, Parser)]
#[command(name = "core-relo", version = VERSION, styles = STYLES, max_term_width = 100, after_help = ROOT_HELP)]
#[command(propagate_version = true, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    /// When to use colours; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Log to stderr (-vv: more)
    #[arg(short, long, global = true, help_heading = GLOBAL, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
    /// The files that the command line names.
    #[arg(skip)]
    pub(crate) files: CommandFiles,
}

impl Args {
    /// Parses the arguments of this process.
    ///
    /// Clap's error messages quote arguments. A returned error is therefore that of parsing the escaped
    /// arguments.
    pub(crate) fn from_process() -> Result<Self, clap::Error> {
        let raw: Vec<OsString> = env::args_os().collect();
        Self::parse_words(raw.iter().cloned()).map_err(|error| {
            // Help and the version quote nothing.
            if !error.use_stderr() {
                return error;
            }
            let escaped = raw.iter().map(|arg| Name::new(arg.as_encoded_bytes()).to_string().into());
            match Self::parse_words(escaped) {
                Err(error) => error,
                // Escaping has removed the error: an argument was not UTF-8. A parser that names the argument
                // has escaped it.
                Ok(_) if error.kind() == ErrorKind::ValueValidation => error,
                Ok(_) => clap::Error::new(error.kind()).with_cmd(&Self::command()),
            }
        })
    }

    /// Parses the words of a command line. The first one is the name of this command.
    ///
    /// Only messages about the command line, such as help and suggestions, need the arguments of commands
    /// that it does not name.
    pub(crate) fn parse_words(words: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.collect();
        match Self::parse_with(&mut Self::named_command(&words), words.iter().cloned()) {
            Err(error) if error.kind() != ErrorKind::DisplayVersion => {
                Self::parse_with(&mut Self::full_command(), words.into_iter())
            }
            result => result,
        }
    }

    /// Parses the words of a command line as [`parse_words`](Self::parse_words) does. A caller with many
    /// command lines creates the description of the command once, because its creation takes most of the
    /// time.
    pub(crate) fn parse_with(
        command: &mut clap::Command,
        words: impl Iterator<Item = OsString>,
    ) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.collect();
        let options = bpftool_words::to_options(words.clone(), command);
        let matches = command.try_get_matches_from_mut(&options);
        matches
            .map_err(|error| suggest_show(error, &words, command))
            .and_then(|mut matches| {
                let files = collect_files(command, &matches);
                let parsed = Self::from_arg_matches_mut(&mut matches);
                parsed.map(|args| Self { files, ..args }).map_err(|error| error.format(command))
            })
            .map_err(|error| bpftool_hints::add_hint(error, &words))
    }

    /// Returns the command with its help, and `--force` of the commands with outputs.
    pub(crate) fn full_command() -> clap::Command {
        with_joined_paragraphs(with_force(Self::described_command()))
    }

    /// Returns the command with the arguments of all its commands.
    pub(crate) fn described_command() -> clap::Command {
        Self::command().mut_subcommands(with_arguments)
    }

    /// Returns the command with the arguments of the command that a command line names, without help.
    fn named_command(words: &[OsString]) -> clap::Command {
        let root = Self::command();
        let word = first_operand(words, 1).and_then(|place| words.get(place));
        let name = word.and_then(|word| root.find_subcommand(word)).map(|named| named.get_name().to_owned());
        with_force(match name {
            Some(name) => root.mut_subcommand(name, with_arguments),
            None => root,
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check whether objects load on kernels; prints one line per object and kernel
    #[command(after_help = relocate::CHECK_HELP)]
    Check(Deferred<CheckArgs>),
    /// Make one report of the results of several checks: of shards, interrupted runs, machines, days
    #[command(after_help = report::REPORT_HELP)]
    Report(Deferred<ReportArgs>),
    /// Show every relocation, with its instruction before and after
    #[command(after_help = relocate::PLAN_HELP)]
    Plan(Deferred<PlanArgs>),
    /// Explain why objects do not load, and show the code that helps
    #[command(after_help = relocate::EXPLAIN_HELP)]
    Explain(Deferred<ExplainArgs>),
    /// Write the object with its instructions relocated
    #[command(after_help = relocate::PATCH_HELP)]
    Patch(Deferred<PatchArgs>),
    /// Load objects into the running kernel, or show the load plan
    #[command(after_help = load::LOAD_HELP)]
    Load(Deferred<LoadArgs>),
    /// Load one program and run it on your data (BPF_PROG_TEST_RUN)
    #[command(after_help = load::RUN_HELP)]
    Run(Deferred<RunArgs>),
    /// Load objects on other kernels, in QEMU: which programs load, and why others do not
    #[command(after_help = vm::VM_HELP)]
    Vm(Deferred<VmArgs>),
    /// Show the contents of an object: programs, maps, externs, relocations, BTF
    #[command(after_help = INSPECT_HELP)]
    Inspect(Deferred<InspectArgs>),
    /// Show what objects require of a kernel: map types, helpers, kfuncs, instructions, fields
    #[command(after_help = requires::REQUIRES_HELP)]
    Requires(Deferred<RequiresArgs>),
    /// Show what a kernel offers: program and map types, helpers, kfuncs, attach types, limits
    #[command(after_help = feature::FEATURE_HELP)]
    Feature(Deferred<FeatureArgs>),
    /// Print, query, compare or write BTF types, or list the BTF in the running kernel
    #[command(subcommand)]
    Btf(Deferred<BtfCommand>),
    /// Show, run, attach and pin programs in the running kernel
    #[command(subcommand)]
    Prog(Deferred<ProgCommand>),
    /// Show and change maps in the running kernel, and their elements
    #[command(subcommand)]
    Map(Deferred<MapCommand>),
    /// Show, pin, update and detach links in the running kernel
    #[command(subcommand)]
    Link(Deferred<LinkCommand>),
    /// Show the programs on network interfaces and in the network namespace
    #[command(subcommand)]
    Net(Deferred<NetCommand>),
    /// Show the programs of cgroups
    #[command(subcommand)]
    Cgroup(Deferred<CgroupCommand>),
    /// Show the programs on perf events and raw tracepoints, by process
    #[command(subcommand)]
    Perf(Deferred<PerfCommand>),
    /// Show, register and unregister structs of the kernel that programs implement
    #[command(subcommand, name = "struct_ops")]
    StructOps(Deferred<StructOpsCommand>),
    /// Pin iterators, and read their output
    #[command(subcommand)]
    Iter(Deferred<IterCommand>),
    /// Show the mounted bpffs from which BPF tokens can be created
    #[command(subcommand)]
    Token(Deferred<TokenCommand>),
    /// Generate files: one linked object, a Rust skeleton, a loader program, headers for C
    #[command(subcommand)]
    Gen(Deferred<GenCommand>),
    /// List and fetch the kernels of distributions, to check objects against
    #[cfg(feature = "fetch")]
    #[command(subcommand)]
    Kernels(Deferred<kernels::KernelsCommand>),
    /// Write a static page that checks objects in the browser
    #[command(after_help = site::SITE_HELP)]
    Site(Deferred<SiteArgs>),
    /// Run commands from a file, one for each line
    #[command(after_help = batch::HELP)]
    Batch(Deferred<BatchArgs>),
    /// Run `check` and `explain` on an example object and kernels that are built in
    Demo(Deferred<DemoArgs>),
    /// Print a shell completion script
    #[cfg(feature = "completions")]
    #[command(after_help = completion::HELP)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of one command, or of all commands
    #[cfg(feature = "man")]
    #[command(
        after_help = "Examples:\n  core-relo man > core-relo.1\n  core-relo man check | man -l -\n  core-relo man prog attach | man -l -"
    )]
    Man {
        /// The command, such as `check` or `prog attach`
        command: Vec<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// BPF object; `-` is stdin
    #[arg(value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) object: PathBuf,
    /// Print the instructions
    #[arg(long, conflicts_with = "relocs")]
    pub(crate) disasm: bool,
    /// Print all ELF relocations of code and data, with what they refer to. Without it, those of code are
    /// counted
    #[arg(long)]
    pub(crate) relocs: bool,
    /// Print only the instructions of this program or subprogram
    #[arg(long, value_name = "NAME", requires = "disasm")]
    pub(crate) program: Option<String>,
    /// Print the bytes of each instruction
    #[arg(long, requires = "disasm")]
    pub(crate) opcodes: bool,
    /// Print the control-flow graph of each function for Graphviz (DOT)
    #[arg(long, requires = "disasm")]
    pub(crate) graph: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

impl Command {
    /// Returns the output format of the command.
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Check(c) => c.format.lines(),
            Self::Report(c) => c.format.lines(),
            Self::Plan(c) => c.format,
            Self::Explain(c) => c.format,
            Self::Patch(c) => c.format,
            Self::Load(c) => c.format,
            Self::Run(c) => c.format,
            Self::Vm(c) => c.format,
            Self::Inspect(c) => c.format,
            Self::Requires(c) => c.format,
            Self::Feature(c) => c.format,
            Self::Btf(Deferred(BtfCommand::Dump(c))) => match c.format {
                BtfDumpFormat::Raw | BtfDumpFormat::C => Format::Text,
                BtfDumpFormat::Json => Format::Json,
            },
            Self::Btf(Deferred(BtfCommand::Print(c))) => c.format,
            Self::Btf(Deferred(BtfCommand::Diff(c))) => c.format,
            Self::Btf(Deferred(BtfCommand::Find(c))) => c.format,
            Self::Btf(Deferred(BtfCommand::Check(c))) => c.format,
            Self::Btf(Deferred(BtfCommand::Layout(c))) => c.format,
            Self::Btf(Deferred(BtfCommand::Offset(c))) => c.format,
            Self::Btf(Deferred(BtfCommand::Min(c))) => c.format,
            Self::Btf(Deferred(BtfCommand::Which(c))) => c.format,
            Self::Btf(Deferred(BtfCommand::List(c))) => c.format,
            Self::Btf(Deferred(BtfCommand::Show(c))) => c.format,
            Self::Btf(Deferred(BtfCommand::Write(c))) => c.output().format,
            Self::Btf(Deferred(BtfCommand::Ids(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::List(c))) | Self::Map(Deferred(MapCommand::List(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::Show(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::Dump(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::Attach(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::Run(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::Profile(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::Stats(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::Tracelog(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::Stream(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::Detach(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::Sign(c))) => c.format,
            Self::Map(Deferred(MapCommand::Dump(c) | MapCommand::Peek(c) | MapCommand::Pop(c))) => {
                c.elements.format
            }
            Self::Map(Deferred(MapCommand::Lookup(c))) => c.elements.format,
            Self::Map(Deferred(MapCommand::Getnext(c))) => c.elements.format,
            Self::Map(Deferred(MapCommand::Update(c))) => c.format,
            Self::Map(Deferred(MapCommand::Delete(c))) => c.format,
            Self::Map(Deferred(MapCommand::Push(c))) => c.format,
            Self::Map(Deferred(MapCommand::Events(c))) => c.format,
            Self::Map(Deferred(MapCommand::Freeze(c))) => c.format,
            Self::Map(Deferred(MapCommand::Show(c))) => c.format,
            Self::Map(Deferred(MapCommand::Pin(c))) | Self::Link(Deferred(LinkCommand::Pin(c))) => c.format,
            Self::Map(Deferred(MapCommand::Create(c))) => c.format,
            Self::Link(Deferred(LinkCommand::List(c))) => c.format,
            Self::Link(Deferred(LinkCommand::Show(c))) => c.format,
            Self::Prog(Deferred(ProgCommand::Pin(c))) => c.format,
            Self::Link(Deferred(LinkCommand::Detach(c))) => c.format,
            Self::Link(Deferred(LinkCommand::Update(c))) => c.format,
            Self::Net(Deferred(NetCommand::List(c))) => c.format,
            Self::Cgroup(Deferred(CgroupCommand::List(c) | CgroupCommand::Tree(c))) => c.format,
            Self::Perf(Deferred(PerfCommand::List(c))) => c.format,
            Self::StructOps(Deferred(StructOpsCommand::List(c))) => c.format,
            Self::StructOps(Deferred(StructOpsCommand::Show(c))) => c.format,
            Self::StructOps(Deferred(StructOpsCommand::Dump(c))) => c.elements.format,
            Self::StructOps(Deferred(StructOpsCommand::Register(c))) => c.format,
            Self::StructOps(Deferred(StructOpsCommand::Unregister(c))) => c.format,
            Self::Iter(Deferred(IterCommand::Pin(c))) => c.format,
            Self::Iter(Deferred(IterCommand::Read(_))) => Format::Text,
            Self::Token(Deferred(TokenCommand::List(c))) => c.format,
            Self::Gen(Deferred(GenCommand::Object(c))) => c.format,
            Self::Gen(Deferred(GenCommand::Loader(c))) => c.format,
            Self::Gen(Deferred(GenCommand::Rust(_) | GenCommand::Vmlinux(_) | GenCommand::Header(_))) => {
                Format::Text
            }
            #[cfg(feature = "fetch")]
            Self::Kernels(c) => c.0.format(),
            Self::Site(_) => Format::Text,
            Self::Batch(c) => c.format,
            Self::Demo(c) => c.format,
            #[cfg(feature = "completions")]
            Self::Completions { .. } => Format::Text,
            #[cfg(feature = "man")]
            Self::Man { .. } => Format::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Args::full_command().debug_assert();
    }

    /// Describing the arguments of all commands takes longer than most commands do.
    #[test]
    fn only_the_named_command_has_its_arguments() {
        for (line, named) in [
            ("core-relo check a.o", "check"),
            ("core-relo --color never -v prog show id 7", "prog"),
            ("core-relo --version", ""),
            ("core-relo chekc a.o", ""),
        ] {
            let root = Args::named_command(&line.split(' ').map(Into::into).collect::<Vec<_>>());
            for name in ["check", "load", "prog", "btf"] {
                let command = root.find_subcommand(name).unwrap();
                let is_described = command.get_arguments().next().is_some() || command.has_subcommands();
                assert_eq!(is_described, name == named, "{line}: {name}");
            }
        }
    }
}
