//! What was typed, as typed.

use crate::{
    args_gen::Gen,
    args_kernel::{Btf, Link, Map, Prog},
    input::shard::Shard,
};
use clap::{
    Args as ClapArgs, CommandFactory as _, Parser, Subcommand, ValueEnum, ValueHint, builder::styling,
};
use clap_complete::Shell;
use core_relo::Name;
use std::{env, ffi::OsString, num::NonZeroUsize, path::PathBuf, str::FromStr};

const STYLES: styling::Styles = styling::Styles::styled()
    .header(styling::AnsiColor::Green.on_default().bold())
    .usage(styling::AnsiColor::Green.on_default().bold())
    .literal(styling::AnsiColor::Cyan.on_default().bold())
    .placeholder(styling::AnsiColor::Cyan.on_default());

const GLOBAL: &str = "Global options";

const EXIT: &str = "Exit status: 0 if every relocation resolves (everything was loaded), 1 if some are poisoned or fail \
(something was refused), 2 if it could not be told (bad input, wrong usage). `patch` ends with 1 only if it writes nothing, \
`demo` with 0.";

/// On which kernels will this BPF object load, and if not, why?
///
/// Relocates BPF objects (CO-RE) against the running kernel, or against the BTF of others, and says what became of each
/// relocation: nothing is loaded for that, and no privileges are needed. `load` and `run` load into the running kernel. `prog`,
/// `map`, `link` and `btf list` show what it holds, for which they need CAP_SYS_ADMIN.
#[derive(Debug, Parser)]
#[command(name = "core-relo", version, styles = STYLES, max_term_width = 100, after_help = EXIT)]
#[command(propagate_version = true, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    /// When to use colours; `auto` is on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Say on stderr what is done (-vv: more)
    #[arg(short, long, global = true, help_heading = GLOBAL, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// Parses the arguments of this process.
    ///
    /// What is printed instead (help, or what is wrong) repeats arguments, so it is made of escaped ones.
    pub(crate) fn from_process() -> Result<Self, clap::Error> {
        let given: Vec<OsString> = env::args_os().collect();
        Self::try_parse_from(&given).map_err(|error| {
            let escaped = given.iter().map(|arg| Name::new(arg.as_encoded_bytes()).to_string());
            match Self::try_parse_from(escaped) {
                Err(error) => error,
                // Wrong only because of what is escaped, as bytes that are not UTF-8.
                Ok(_) => clap::Error::new(error.kind()).with_cmd(&Self::command()),
            }
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// JSON lines: one object a line (docs/json.md)
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DumpFormat {
    /// The notation of `bpftool btf dump`
    #[default]
    #[value(alias = "text")]
    Raw,
    /// JSON lines: one type a line, by bpftool's names
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Whether objects fit kernels: a line per object and kernel
    #[command(after_help = CHECK)]
    Check(Check),
    /// Dry run: every relocation, with its instruction before and after
    #[command(after_help = PLAN)]
    Plan(Plan),
    /// Why relocations do not resolve, and what would mend it
    #[command(after_help = EXPLAIN)]
    Explain(Explain),
    /// Write the object with its instructions relocated
    #[command(after_help = PATCH)]
    Patch(Patch),
    /// Load objects into the running kernel, or say what that would ask of it
    #[command(after_help = crate::args_load::LOAD)]
    Load(crate::args_load::Load),
    /// Load one program and have the kernel run it on your data
    #[command(after_help = crate::args_load::RUN)]
    Run(crate::args_load::Run),
    /// What an object holds: programs, maps, externs, relocations, BTF
    #[command(after_help = INSPECT)]
    Inspect(Inspect),
    /// Look into BTF
    #[command(subcommand)]
    Btf(Btf),
    /// The programs in the running kernel
    #[command(subcommand)]
    Prog(Prog),
    /// The maps in the running kernel, and what they hold
    #[command(subcommand)]
    Map(Map),
    /// What is attached where in the running kernel
    #[command(subcommand)]
    Link(Link),
    /// Make files out of objects
    #[command(subcommand)]
    Gen(Gen),
    /// Show `check` and `explain` on an object and kernels that come with this program
    Demo(Demo),
    /// Print a shell completion script
    #[command(
        after_help = "Example:\n  core-relo completions bash > ~/.local/share/bash-completion/completions/core-relo"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, of all or of one command
    #[command(after_help = "Examples:\n  core-relo man > core-relo.1\n  core-relo man check | man -l -")]
    Man {
        /// The command (`check`, `btf`, …)
        command: Option<String>,
    },
}

const CHECK: &str = "Examples:
  core-relo check prog.bpf.o                        against the running kernel
  core-relo check *.bpf.o --btf kernels/            every object against every BTF in a folder
  core-relo check *.bpf.o --btf kernels/ --shard 2/8 --resume results-2.jsonl
  core-relo check prog.bpf.o --btf /boot/vmlinuz-6.1.0-18-amd64 --format json

What is checked are the relocations. Whether a kernel also has what programs attach to, and their externs, says
`core-relo load --dry-run --btf PATH`.";
const PLAN: &str = "Examples:
  core-relo plan prog.bpf.o
  core-relo plan prog.bpf.o --btf vmlinux-6.1.btf --program handle_exec
  core-relo plan prog.bpf.o --btf vmlinux --format json | jq 'select(.outcome == \"poison\")'";
const EXPLAIN: &str = "Examples:
  core-relo explain prog.bpf.o --btf vmlinux-5.10.btf
  core-relo explain prog.bpf.o --relocation tp_btf/sched_switch#3
  core-relo explain prog.bpf.o --program handle_exec --format json";
const PATCH: &str = "Examples:
  core-relo patch prog.bpf.o --btf vmlinux-6.1.btf -o prog-6.1.bpf.o
  core-relo patch prog.bpf.o --btf vmlinux-6.1.btf -o - | sha256sum

Nothing is written if a relocation fails: exit status 1. Instructions that do not resolve are poisoned
as by libbpf, reported on stderr, and written: they may stand behind a guard, exit status 0.
The relocation records stay: give the result to a loader that does not relocate again.

OUT is replaced as a whole or left as it was, also if the command is interrupted; its owner and mode stay, and other hard links to
the old file keep the old content. A device, a pipe or an open file (/dev/stdout) is written to, as by `cat >>`. A link is followed,
but not that of another user in a folder like /tmp. With `-`, and wherever OUT is stdout, the report goes to stderr.";
const INSPECT: &str = "Example:
  core-relo inspect prog.bpf.o";

/// The kernels to relocate against
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct Targets {
    /// Kernel to relocate against: raw BTF, an ELF with .BTF (vmlinux, .ko, BPF object), a vmlinuz, a tar archive or a folder
    /// of them; may be given several times [default: the running kernel]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) btf: Vec<PathBuf>,
    /// BTF of modules (split BTF, .ko, .ko.xz and the like, or a folder of them) that belong to the kernel; may be given several times
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) module: Vec<PathBuf>,
    /// Kernel that a split --btf belongs to [default: `vmlinux` beside it]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) base: Option<PathBuf>,
    /// Bytes that a kernel's file may have, and that all streams in it may unpack to together; an archive may unpack to 64 times as many
    /// [default: 1 GiB, and at most 64 times the size of the compressed file, but 64 MiB of any file and 512 MiB of any archive]
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Check {
    /// BPF objects
    #[arg(required = true, value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) objects: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// Kernels, or many objects, that are checked at the same time, or fewer if no more threads can be created; 1 starts no
    /// thread [default: one for each CPU]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Check only the I-th of N parts of the kernels; each is of one part, by its path below the --btf folder
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Keep the results in FILE too, as JSON lines, and leave out the kernels that it has already; one run at a time writes to it.
    /// A FILE that no such run wrote on the same objects is not changed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["module", "base"])]
    pub(crate) resume: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Plan {
    /// BPF object
    #[arg(value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) object: PathBuf,
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// Show only this program (all are planned)
    #[arg(long, value_name = "NAME")]
    pub(crate) program: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Explain {
    /// BPF object
    #[arg(value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) object: PathBuf,
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// Explain only this program's relocations
    #[arg(long, value_name = "NAME")]
    pub(crate) program: Option<String>,
    /// Explain this relocation, also if it resolves: its number in its section, or SECTION#N
    #[arg(long, value_name = "N|SECTION#N")]
    pub(crate) relocation: Option<RelocationRef>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Patch {
    /// BPF object
    #[arg(value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) object: PathBuf,
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// Where to write; `-` is stdout
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Inspect {
    /// BPF object
    #[arg(value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) object: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Dump {
    /// Raw BTF, an ELF with .BTF, a vmlinuz
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath, required_unless_present = "kernel_id")]
    pub(crate) path: Option<PathBuf>,
    /// The BTF of this id in the running kernel, as `btf list` shows them
    #[arg(long, value_name = "N", conflicts_with_all = ["path", "base"])]
    pub(crate) kernel_id: Option<u32>,
    /// Only the type of this id
    #[arg(long, value_name = "N")]
    pub(crate) id: Option<u32>,
    /// Only types of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// BTF that a split BTF belongs to [default: `vmlinux` beside it]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) base: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: DumpFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Demo {
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `3`, or `tp_btf/sched_switch#3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RelocationRef {
    pub(crate) section: Option<String>,
    pub(crate) number: u32,
}

impl FromStr for RelocationRef {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let (section, number) = match s.rsplit_once('#') {
            Some(("", number)) => (None, number),
            Some((section, number)) => (Some(section.to_owned()), number),
            None => (None, s),
        };
        let wanted = |_| "expected a number, or SECTION#NUMBER as `plan` shows it".to_owned();
        Ok(Self { section, number: number.parse().map_err(wanted)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn relocations_are_named_by_number_or_section() {
        let parsed = |s: &str| s.parse::<RelocationRef>().map(|r| (r.section, r.number));
        assert_eq!(parsed("3"), Ok((None, 3)));
        assert_eq!(parsed("#3"), Ok((None, 3)));
        assert_eq!(parsed("xdp#0"), Ok((Some("xdp".into()), 0)));
        assert!(parsed("xdp").is_err());
    }
}
