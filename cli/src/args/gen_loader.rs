//! The arguments of `gen loader`.

use crate::output::{OutputKind, OutputPath};
use crate::{
    args::{load::SetupArgs, object_name::parse_name},
    byte_count,
    format::Format,
    policy::ConfigArgs,
    settings::SETTINGS,
};
use clap::{Args, ValueHint};
use core_relo_verdict::kernel::KernelVersion;
use std::{ops::RangeInclusive, path::PathBuf};

pub(crate) const GEN_LOADER_HELP: &str = "Examples:
  core-relo gen loader prog.bpf.o -o prog.loader
  core-relo load prog.loader --attach
  core-relo gen loader prog.bpf.o -o prog.loader --kernel running --set target_pid=42
  core-relo gen loader prog.bpf.o -o prog.loader --signable
  core-relo gen loader --show prog.loader --insns
  core-relo gen loader --show prog.loader --bytes-to-sign insns insns-and-data
  core-relo gen loader prog.loader --signature insns.der insns-and-data.der -o prog.signed.loader

A loader program is a BPF program that creates the maps of an object and loads its programs from within the kernel, as the light
skeletons of `bpftool gen skeleton -L` do. It needs Linux 5.14, and 5.17 without --kernel: the kernel that executes it performs the CO-RE
relocations. With --kernel, the file has the relocations and the configuration of that kernel. --signable makes the program compare the
hash of its data with the hash in its instructions, so that a signature over the instructions covers both (Linux 6.18). --signature puts
signatures in the file that another program made, such as `openssl cms`, over the bytes of --bytes-to-sign.
Exit status: 0 if the file was written or shown, else 2.";

/// The options that have no effect with `--show` and `--signature`.
const OPTIONS_OF_GENERATION: [&str; 9] = [
    "config",
    "no_config",
    "kernel",
    "kernel_version",
    "page_size",
    "zero_extend_enums",
    "signable",
    "program",
    "kconfig",
];

/// The sizes of pages that kernels can have.
pub(crate) const PAGE_BYTES: RangeInclusive<u32> = 4096..=262_144;

/// Parses the size of a page.
fn parse_page_size(text: &str) -> Result<u32, String> {
    let bytes = u32::try_from(byte_count::parse(text)?).ok();
    let is_page = |bytes: &u32| bytes.is_power_of_two() && PAGE_BYTES.contains(bytes);
    bytes.filter(is_page).ok_or_else(|| "expected 4K, 8K, 16K, 32K, 64K, 128K or 256K".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct GenLoaderArgs {
    /// BPF object; with --show or --signature, a loader file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// File to write the loader program to; `-` is stdout
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, required_unless_present = "show", value_parser = OutputPath::parser(OutputKind::LoaderFile))]
    pub(crate) output: Option<OutputPath>,
    /// Put the CO-RE relocations and the configuration of this kernel in the file: `running`, raw BTF, an ELF
    /// with .BTF, a vmlinuz [default: the kernel that executes the program relocates]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) kernel: Option<PathBuf>,
    /// Version of that kernel, for LINUX_KERNEL_VERSION: BTF does not contain it [default: that of the
    /// running kernel, or in the kernel's image]
    #[arg(long, value_name = "X.Y.Z", requires = "kernel")]
    pub(crate) kernel_version: Option<KernelVersion>,
    /// Size of a page of the machines that execute the program, such as 64K: ring buffers have at least one
    /// page [default: that in the configuration of the kernel of --kernel, or of this machine]
    #[arg(long, value_name = "BYTES", value_parser = parse_page_size)]
    pub(crate) page_size: Option<u32>,
    /// Zero-extend the enumerators of unsigned 32-bit enums from 0x80000000 on, as cilium/ebpf and aya do, in
    /// the relocations for the kernel of --kernel. A kernel that relocates sign-extends them, as libbpf, and
    /// refuses the relocation
    #[arg(long, requires = "kernel")]
    pub(crate) zero_extend_enums: bool,
    /// Make the program check the hash of its data, so that it can be signed
    #[arg(long)]
    pub(crate) signable: bool,
    /// Put only this program in the file; may be given several times [default: all programs whose section
    /// does not begin with `?`]
    #[arg(long, value_name = "NAME", value_parser = parse_name, conflicts_with = "autoload")]
    pub(crate) program: Vec<String>,
    /// Show a loader file: maps, programs, sizes, signature
    #[arg(long, conflicts_with = "output", conflicts_with_all = OPTIONS_OF_GENERATION, conflicts_with_all = SETTINGS)]
    pub(crate) show: bool,
    /// Put these signatures in a loader file, of its instructions (verified by Linux 6.18 to 7.2), and of its
    /// instructions and data (7.3 and later): detached PKCS#7 messages in DER
    #[arg(long, num_args = 2, value_names = ["INSNS", "INSNS_AND_DATA"], value_hint = ValueHint::FilePath, conflicts_with_all = ["show", "bytes_to_sign"], conflicts_with_all = OPTIONS_OF_GENERATION, conflicts_with_all = SETTINGS)]
    pub(crate) signature: Vec<PathBuf>,
    /// Files to write the bytes to that the two signatures cover
    #[arg(long, num_args = 2, value_names = ["INSNS", "INSNS_AND_DATA"], value_hint = ValueHint::FilePath, value_parser = OutputPath::parser(OutputKind::Bytes))]
    pub(crate) bytes_to_sign: Vec<OutputPath>,
    /// Show the instructions of the loader program, too
    #[arg(long, requires = "show")]
    pub(crate) insns: bool,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: Format,
}
