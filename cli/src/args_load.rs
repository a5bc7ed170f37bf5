//! The arguments of the commands that load.

use crate::args::Format;
use clap::{Args as ClapArgs, ValueHint};
use std::{path::PathBuf, str::FromStr};

pub(crate) const LOAD: &str = "Examples:
  core-relo load prog.bpf.o                           load, say what became of it, and let go
  core-relo load prog.bpf.o --dry-run                 everything that would be asked of the kernel
  core-relo load prog.bpf.o --dry-run --btf vmlinux   the same for another kernel, without privileges
  core-relo load prog.bpf.o --each                    each program for itself: which load, which do not
  core-relo load prog.bpf.o --attach --set target_pid=42
  core-relo load prog.bpf.o --attach --pin /sys/fs/bpf/mine

Loading needs CAP_BPF, CAP_PERFMON for tracing, CAP_NET_ADMIN for networking, or root. With --attach the programs
stay until Ctrl-C; with --pin maps, programs and links stay below DIR (DIR/maps, DIR, DIR/links) after the command.
A map that the object pins by name (LIBBPF_PIN_BY_NAME) is used where it is pinned already; with --pin, a new one is pinned as
the last step, and nothing removes that pin again. SIGINT, SIGTERM and SIGHUP are looked for between requests: a load that is not
complete is undone, with all objects of the command, and the process ends by the signal; a complete one stays.
Exit status: 0 if everything was loaded, 1 if something was refused, 2 if it could not be told (bad input, wrong usage).";
pub(crate) const RUN: &str = "Examples:
  core-relo run prog.bpf.o --program count --repeat 1000 --data-in packet.bin
  core-relo run prog.bpf.o --program setup --set verbose=1 --format json

Loads the one program and runs it by BPF_PROG_TEST_RUN, which not all program types have. Without --data-in, programs
that take packets get 64 zero bytes. Nothing stays, also after SIGINT, SIGTERM or SIGHUP. Exit status: 0 if it ran (whatever it returned), 1 if it was refused, 2 if it could not be told.";

/// What is loaded, and how it is set up
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct Setup {
    /// Set a global variable before loading, in the arena or in a struct_ops table, too; may be given several times. A number, true
    /// or false, text for an array of char, an enumerator's name, numbers with commas for an array (what is left out becomes 0), or
    /// hex:0011… for anything. A member or element goes by its path, as `config.ports[2]`. An unknown name lists those there are
    /// (`inspect` says more); of two statics of one name, SECTION/NAME is one
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<Assignment>,
    /// Set how many entries a map may have; may be given several times
    #[arg(long, value_name = "MAP=N")]
    pub(crate) max_entries: Vec<Assignment>,
    /// Do not create this map: instructions that use it are poisoned, as by libbpf; may be given several times
    #[arg(long, value_name = "MAP")]
    pub(crate) without_map: Vec<String>,
    /// Configuration to use before the kernel's own: a file of CONFIG_…= lines
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kconfig: Option<PathBuf>,
    /// Take a BPF token from this bpffs [default: from /sys/fs/bpf, if it delegates]
    #[arg(long, value_name = "BPFFS", value_hint = ValueHint::DirPath)]
    pub(crate) token: Option<PathBuf>,
    /// Show the whole verifier log of refused programs, in text and in JSON, not only its last lines; twice: of accepted ones, too
    #[arg(long, action = clap::ArgAction::Count)]
    pub(crate) verifier_log: u8,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct Load {
    /// The objects
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    pub(crate) objects: Vec<PathBuf>,
    /// Load only this program; may be given several times [default: all whose section does not begin with `?`]
    #[arg(long, value_name = "NAME")]
    pub(crate) program: Vec<String>,
    /// Load each program for itself, and go on after a refusal
    #[arg(long, conflicts_with_all = ["attach", "pin", "dry_run"])]
    pub(crate) each: bool,
    /// Print what would be asked of the kernel, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Plan for this kernel instead of the running one, from one file: raw BTF, an ELF with .BTF, a vmlinuz
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, requires = "dry_run")]
    pub(crate) btf: Option<PathBuf>,
    /// Relocate against these types instead of the kernel's own (for kernels without BTF)
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, conflicts_with = "btf")]
    pub(crate) relocate_against: Option<PathBuf>,
    /// Attach every program whose section says to what, and every struct_ops table
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) attach: bool,
    /// Pin what was loaded below this folder of a bpffs, which is made if its parent is there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "dry_run")]
    pub(crate) pin: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) setup: Setup,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct Run {
    /// The object
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) object: PathBuf,
    /// The program
    #[arg(long, value_name = "NAME")]
    pub(crate) program: String,
    /// The packet, or whatever data the program takes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) data_in: Option<PathBuf>,
    /// Write the data after the run to this file; `-` is stdout, and the report goes to stderr
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) data_out: Option<PathBuf>,
    /// The context
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ctx_in: Option<PathBuf>,
    /// Write the context after the run to this file; `-` is stdout, and the report goes to stderr
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ctx_out: Option<PathBuf>,
    /// How often
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeat: u32,
    #[command(flatten)]
    pub(crate) setup: Setup,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `name=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for Assignment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok(Self { name: name.into(), value: value.into() }),
            _ => Err("expected NAME=VALUE"),
        }
    }
}
