//! The arguments of `feature`.

use crate::{
    args::{loader::LoaderArgs, relocate::EvidenceArgs},
    format::Format,
    input::kernel_args::KernelArgs,
};
use clap::{Args, ValueEnum, ValueHint};
use core_relo_verdict::kernel::KernelVersion;
use std::path::PathBuf;

pub(super) const FEATURE_HELP: &str = "Examples:
  core-relo feature                                 all features of the running kernel
  core-relo feature ringbuf bpf_loop isa_v4         three features; exit status 1 if one is missing
  core-relo feature bpf_loop --program-type xdp     may XDP programs call the helper?
  core-relo feature 'bpf_skb_*' --section helpers   helpers by a pattern
  core-relo feature --btf kernels/ --section map_types
                                                    a table of map types and kernels
  core-relo feature --btf vmlinuz-6.1 CONFIG_BPF_LSM --format json

The running kernel is probed: programs of a single instruction or call are loaded, maps are created, and all are closed. Nothing is
attached, and nothing stays. A process in a user namespace probes with a BPF token if a bpffs delegates one: what the token does not
delegate is unknown. Other kernels are judged by evidence: their BTF, configuration, symbols and version, as by `check`.
Names are those of bpftool (`ringbuf`, `have_ringbuf_map_type`), of the kernel (`BPF_MAP_TYPE_RINGBUF`, `BPF_FUNC_loop`) or of functions
(`bpf_loop`, kfuncs), in any case, or patterns with `*` and `?`. A name that several sections have stands for all of them: --section
selects one.
Answers: yes, no, or unknown with what is missing, such as a capability or a file.
Exit status with names: 0 if the kernels have all of them, 1 if one is missing, 2 if one is unknown or no feature has the name. Without names: 0, or 2 if
a kernel cannot be read.";

#[derive(Debug, Args)]
pub(crate) struct FeatureArgs {
    /// Features to answer [default: all]; a first `probe` is ignored, as bpftool writes it
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Answer only the features of this section; may be given several times
    #[arg(long, value_enum, value_name = "SECTION")]
    pub(crate) section: Vec<Section>,
    /// For helpers and kfuncs: answer whether programs of this type may call them
    #[arg(long, value_name = "TYPE")]
    pub(crate) program_type: Option<String>,
    /// Probe without capabilities, as a process of a user. The running kernel only
    #[arg(long, conflicts_with = "btf")]
    pub(crate) unprivileged: bool,
    /// Probe with a BPF token from this bpffs, as `load --token`. The running kernel only [default: as of
    /// `load`]
    #[arg(long, value_name = "BPFFS", value_hint = ValueHint::DirPath, conflicts_with_all = ["btf", "unprivileged"])]
    pub(crate) token: Option<PathBuf>,
    /// Version of the kernels, for what their BTF does not tell
    #[arg(long, value_name = "X.Y.Z")]
    kernel_version: Option<KernelVersion>,
    /// Configuration of the kernels, as in /boot/config-*; a .gz is unpacked [default: that of the running
    /// kernel, in the kernel's image, or in `config-R` beside `vmlinuz-R`, `vmlinux-R` or `R.btf`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    kconfig: Option<PathBuf>,
    /// Symbols of the kernels: a copy of /proc/kallsyms [default: the symbols of a vmlinux, or `System.map-R`
    /// beside `vmlinuz-R`, `vmlinux-R` or `R.btf`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    kallsyms: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

impl FeatureArgs {
    /// Returns the names, without the words `probe` and `probe kernel` of bpftool's command line.
    pub(crate) fn names(&self) -> &[String] {
        match &*self.names {
            [first, second, rest @ ..] if first == "probe" && second == "kernel" => rest,
            [first, rest @ ..] if first == "probe" => rest,
            names => names,
        }
    }

    /// Returns what the user says about the kernels.
    pub(crate) fn evidence(&self) -> EvidenceArgs {
        EvidenceArgs {
            kernel_version: self.kernel_version,
            kconfig: self.kconfig.clone(),
            kallsyms: self.kallsyms.clone(),
            loader: LoaderArgs::default(),
        }
    }
}

/// A section of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Section {
    /// Program types
    #[value(alias = "prog_types")]
    ProgramTypes,
    /// Map types
    MapTypes,
    /// Helpers, with the program types that may call them
    Helpers,
    /// Attach types
    AttachTypes,
    /// Link types
    #[value(alias = "link_types")]
    Links,
    /// Kernel functions that programs call
    Kfuncs,
    /// BTF that can be loaded
    Btf,
    /// Limits of the verifier, and instruction sets
    #[value(alias = "limits")]
    Verifier,
    /// What loads depend on besides
    Loading,
    /// Options of the kernel's configuration
    Config,
    /// JIT compiler and settings of the system
    System,
    /// BPF tokens
    Token,
}

impl Section {
    /// Returns the name in arguments and JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ProgramTypes => "program_types",
            Self::MapTypes => "map_types",
            Self::Helpers => "helpers",
            Self::AttachTypes => "attach_types",
            Self::Links => "links",
            Self::Kfuncs => "kfuncs",
            Self::Btf => "btf",
            Self::Verifier => "verifier",
            Self::Loading => "loading",
            Self::Config => "config",
            Self::System => "system",
            Self::Token => "token",
        }
    }
}
