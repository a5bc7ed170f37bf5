//! The arguments of `btf check`.

use crate::format::Format;
use clap::{Args, ValueHint};
use core_relo_verdict::kernel::KernelVersion;
use std::path::PathBuf;

pub(crate) const HELP: &str = "Examples:
  core-relo btf check prog.bpf.o
  core-relo btf check prog.bpf.o --kernel-version 5.10
  core-relo btf check types.btf --format json

The BTF of an object is checked as libbpf sends it to a kernel of the release: with the sizes of its sections, and without kinds
of types that the kernel lacks. Then follow the func_info and line_info that libbpf sends with each program. A file with raw BTF is
checked as it is. The kernel reports only the first line that is printed for the BTF, and for each program.
Exit status 0 if the kernel accepts the BTF and the records of each program, 1 if not, 2 for bad input.";

/// The BTF to check, and the kernel.
#[derive(Debug, Args)]
pub(crate) struct BtfCheckArgs {
    /// BPF object, or file with raw BTF; a compressed file is unpacked
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) path: PathBuf,
    /// Release of the kernel whose rules count [default: the newest known rules]
    #[arg(long, value_name = "X.Y.Z")]
    pub(crate) kernel_version: Option<KernelVersion>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
