//! The arguments of the `kernels` subcommands.

use crate::{
    format::Format,
    input::fetched_args::{FetchModeArgs, MirrorArgs},
    policy::ConfigArgs,
};
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const SPEC_HELP: &str = "SPEC is DISTRIBUTION:RELEASE[/WORD]...[@ARCHITECTURE]. Words:
  newest                  the newest kernel of the release (the default)
  newest-of-each-series   the newest of 6.1, of 6.12 and so on
  all, since-5.10         all versions, or those from 5.10 on
  6.1, 6.1.192-cloud      versions that begin so, also of a flavour
  cloud, all-flavours     a flavour, or all; without one, the kernels without a flavour
  6.1.0-43-cloud-amd64    the kernel with this release (uname -r)
  backports               kernels of later releases, built for this one
  hwe                     kernels of later series that the release maintains
Distributions: debian (11 to 14, sid, experimental), ubuntu (20.04, 22.04, 24.04), also by code
  names; rocky, alma, centos-stream (8 to 10), rhel (stands for rocky), fedora (41 to 45, rawhide),
  amazon (2, 2023), opensuse (15.6, 16.0, tumbleweed), azurelinux (3), mariner (2), oracle (8 to 10,
  with the flavour uek), alpine (3.18 to 3.23, edge), arch.";

const LIST_EXAMPLES: &str = "Examples:
  core-relo kernels list debian:12
  core-relo kernels list debian:12/all/all-flavours
  core-relo kernels list ubuntu:22.04 ubuntu:22.04/hwe alpine:3.22/virt arch/zen
  core-relo kernels list rhel:9 fedora:43 oracle:9/uek amazon:2023
  core-relo kernels list debian:13/newest-of-each-series@arm64 --format json";

const FETCH_EXAMPLES: &str = "Examples:
  core-relo kernels fetch debian:12 debian:13/6.12-cloud
  core-relo kernels fetch                           the list [kernels] in core-relo.toml
  core-relo kernels fetch debian:12 --modules nf_conntrack,xfs
  core-relo kernels fetch debian:12 --mirror debian=file:///srv/debian
  core-relo kernels fetch debian:12 --mirror debian=file:///srv/kernels    from another store
  core-relo kernels fetch amazon:2/4.14 --from-debuginfo

Debian's mirror is the one in the machine's apt configuration, unless --mirror or [mirrors] in core-relo.toml gives one.
The index is verified with the distribution's keyring where the machine has it and gpgv or sqv; `kernels show` says so.";

const SHOW_EXAMPLES: &str = "Examples:
  core-relo kernels show                            all fetched kernels
  core-relo kernels show debian:12/cloud            those of a release and a flavour
  core-relo kernels show debian:12 --format json    with packages, hashes, and what protects them";

const REMOVE_EXAMPLES: &str = "Examples:
  core-relo kernels remove debian:12/6.1.0-50-amd64
  core-relo kernels remove debian:11                all fetched kernels of the release
  core-relo kernels remove --all";

const EXPORT_EXAMPLES: &str = "Examples:
  core-relo kernels export kernels/ debian:12
  core-relo check prog.bpf.o --btf kernels/";

const UPDATE_EXAMPLES: &str = "Examples:
  core-relo kernels update                          the list [kernels] in core-relo.toml
  core-relo kernels update debian:12 debian:13

Writes core-relo.lock: the packages of each specification, with their hashes. `kernels fetch` and --kernels of other commands
then use these kernels, until the next update.";

/// Returns the help after the options of a command: its examples, and the words of specifications.
fn help_with_words(examples: &str) -> String {
    format!("{examples}\n\n{SPEC_HELP}")
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelsCommand {
    /// List the kernels that specifications select on the mirrors
    #[command(after_help = help_with_words(LIST_EXAMPLES))]
    List(KernelsListArgs),
    /// Download kernels: BTF, also that of modules, configuration, version and image
    #[command(after_help = help_with_words(FETCH_EXAMPLES))]
    Fetch(KernelsFetchArgs),
    /// Show the kernels that have been fetched, and where they are from
    #[command(after_help = SHOW_EXAMPLES)]
    Show(KernelsShowArgs),
    /// Remove fetched kernels
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove(KernelsRemoveArgs),
    /// Copy fetched kernels into a directory that --btf takes
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(KernelsExportArgs),
    /// Write the newest kernels of specifications to core-relo.lock, and print what changed
    #[command(after_help = help_with_words(UPDATE_EXAMPLES))]
    Update(KernelsUpdateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KernelsListArgs {
    /// Specifications of kernels [default: those in core-relo.toml]
    #[arg(value_name = "SPEC")]
    pub(crate) specs: Vec<String>,
    #[command(flatten)]
    pub(crate) mirrors: MirrorArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct KernelsFetchArgs {
    /// Specifications of kernels [default: those in core-relo.toml]
    #[arg(value_name = "SPEC")]
    pub(crate) specs: Vec<String>,
    #[command(flatten)]
    pub(crate) mirrors: MirrorArgs,
    #[command(flatten)]
    pub(crate) mode: FetchModeArgs,
    /// Make the BTF of kernels without BTF from the debug information in another package
    #[arg(long)]
    pub(crate) from_debuginfo: bool,
    /// Also keep the files of these modules and of those that they depend on, for `vm` and `check --boot`
    /// without network; the packages are downloaded a second time
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) modules: Vec<String>,
    /// The largest number of kernels that are downloaded
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_KERNELS)]
    pub(crate) max_kernels: usize,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The largest number of kernels that are downloaded without a word of the user.
pub(crate) const DEFAULT_MAX_KERNELS: usize = 40;

#[derive(Debug, Args)]
pub(crate) struct KernelsShowArgs {
    /// Specifications of kernels [default: all that have been fetched]
    #[arg(value_name = "SPEC")]
    pub(crate) specs: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct KernelsRemoveArgs {
    /// Specifications of kernels, among those that have been fetched
    #[arg(value_name = "SPEC", required_unless_present = "all")]
    pub(crate) specs: Vec<String>,
    /// Remove all fetched kernels
    #[arg(long, conflicts_with = "specs")]
    pub(crate) all: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct KernelsExportArgs {
    /// The directory; files of kernels in it are replaced
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Specifications of kernels, among those that have been fetched [default: all]
    #[arg(value_name = "SPEC")]
    pub(crate) specs: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct KernelsUpdateArgs {
    /// Specifications of kernels [default: those in core-relo.toml, or else those in core-relo.lock]
    #[arg(value_name = "SPEC")]
    pub(crate) specs: Vec<String>,
    #[command(flatten)]
    pub(crate) mirrors: MirrorArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

impl KernelsCommand {
    /// Returns the output format.
    pub(crate) const fn format(&self) -> Format {
        match self {
            Self::List(args) => args.format,
            Self::Fetch(args) => args.format,
            Self::Show(args) => args.format,
            Self::Remove(args) => args.format,
            Self::Export(args) => args.format,
            Self::Update(args) => args.format,
        }
    }
}
