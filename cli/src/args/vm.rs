//! The arguments of `vm`.

#[cfg(feature = "fetch")]
use crate::input::fetched_args::FetchedKernelArgs;
use crate::{
    args::{guest::GuestArgs, loader::LoaderArgs, stats::StatsArgs},
    format::Format,
    policy::ConfigArgs,
    settings::{SETTINGS, SettingsArgs},
};
use clap::{ArgGroup, Args, ValueHint};
use std::{ffi::OsString, path::PathBuf};

pub(crate) const VM_HELP: &str = "Examples:
  core-relo vm prog.bpf.o --kernel /boot/vmlinuz-6.1.0-50-amd64     which programs load there
  core-relo vm *.bpf.o --kernel kernels/vmlinuz-* --format json    a line for each load
  core-relo vm *.bpf.o --kernel vmlinuz-* --budget budget.jsonl    more work than before?
  core-relo vm prog.bpf.o --kernels debian:12/6.1-cloud             a kernel of a distribution
  core-relo vm prog.bpf.o --kernel vmlinuz-5.10 --command ./loader --verbose prog.bpf.o
                                                                   your own loader, and libraries

Boots each kernel in QEMU, without a disk image, and loads every program by itself, as root. That takes seconds, with KVM or without. The
running system's BPF objects stay as they are, and no privileges are needed. The guest runs this executable, with its shared libraries.
If `config-6.1` is beside `vmlinuz-6.1`, the guest has the kernel's configuration. The guest of a kernel of --kernels loads the modules
whose types or functions the objects need; other guests have no modules.
The first word of a line is the outcome of the real load, the second the verdict of `check` on the program. A line below names a verdict
that is wrong. The real load is that of core-relo: what only another --loader refuses is not compared.
With --command, BINARY gets the rest of the line as arguments. It finds OBJ and --file at their paths on this system, and runs in the
same directory. Its output is passed on, and its exit status is that of this command.
Exit status: 0 if everything was loaded, 1 if a kernel refused something or a budget is exceeded, 2 for bad input, or if a result is
unknown.";

/// The options that name kernels to boot.
#[cfg(feature = "fetch")]
const KERNEL_OPTIONS: [&str; 2] = ["kernel", "kernels"];
#[cfg(not(feature = "fetch"))]
const KERNEL_OPTIONS: [&str; 1] = ["kernel"];

#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("boots").args(KERNEL_OPTIONS).multiple(true).required(true))]
#[command(group = ArgGroup::new("single_loads").args(KERNEL_OPTIONS).multiple(true))]
pub(crate) struct VmArgs {
    /// The objects
    #[arg(value_name = "OBJ", value_hint = ValueHint::FilePath, required_unless_present = "command")]
    pub(crate) objects: Vec<PathBuf>,
    /// Kernel to boot: a vmlinuz (bzImage), an ELF vmlinux, an Image of arm64 or riscv64, an s390x image, or
    /// a package with one
    #[arg(long, value_name = "VMLINUZ", num_args = 1.., value_hint = ValueHint::FilePath)]
    pub(crate) kernel: Vec<PathBuf>,
    #[cfg(feature = "fetch")]
    #[command(flatten)]
    pub(crate) fetched: FetchedKernelArgs,
    /// Run this executable instead, with the rest of the line as its arguments
    #[arg(long, value_names = ["BINARY", "ARGS"], num_args = 1.., allow_hyphen_values = true, conflicts_with_all = ["config", "no_config", "loader", "stats", "budget", "write_budget"], conflicts_with_all = SETTINGS)]
    pub(crate) command: Vec<OsString>,
    /// Further file or directory for --command; may be given several times
    #[arg(long, value_name = "PATH", requires = "command", value_hint = ValueHint::AnyPath)]
    pub(crate) file: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) loader: LoaderArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Number of kernels to boot at the same time; 0 means one for each CPU
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(crate) jobs: usize,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    #[command(flatten)]
    pub(crate) stats: StatsArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
