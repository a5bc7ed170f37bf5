//! The arguments of the commands that relocate: `check`, `plan`, `explain`, `patch`.

use crate::{
    args::{
        format::CheckFormat, guest::GuestArgs, loader::LoaderArgs, object_name::parse_name,
        report::BaselineArgs, stats::StatsArgs,
    },
    format::Format,
    input::shard::Shard,
    policy::ConfigArgs,
    settings::SettingsArgs,
};
use crate::{
    input::kernel_args::KernelArgs,
    output::{OutputKind, OutputPath},
};
use clap::{Args, ValueHint};
use core_relo::plan::Options;
use core_relo_report::policy::AllowEntry;
use core_relo_verdict::{fleet::relocation_options, kernel::KernelVersion, loaders::LoaderKind};
use std::{path::PathBuf, str::FromStr};

pub(super) const CHECK_HELP: &str = "Examples:
  core-relo check prog.bpf.o                        against the running kernel
  core-relo check *.bpf.o --btf kernels/            every object against every BTF in a directory
  core-relo check build/ --btf /boot                a directory against the installed kernels
  clang --target=bpf -g -O2 -c prog.bpf.c -o - | core-relo check -
  core-relo check *.bpf.o --btf kernels/ --shard 2/8 --resume results-2.jsonl
  core-relo check prog.bpf.o --btf /boot/vmlinuz-6.1.0-18-amd64 --format json
  core-relo check *.bpf.o --btf kernels/ --report matrix.html --format markdown
  core-relo check *.bpf.o --btf kernels/ --allow 'object=exec*,kernel=5.10.*,kind=helper'
  core-relo check *.bpf.o --btf kernels/ --baseline main.jsonl    only what is new since main fails
  core-relo check prog.bpf.o --btf kernels/ --variants prog.variants  # choices
  core-relo check prog.bpf.o --btf kernels/ --loader cilium    an object that cilium/ebpf loads
  core-relo check *.bpf.o --boot /boot/vmlinuz-*    every program is loaded on the kernels, in QEMU
  core-relo check *.bpf.o --kernels debian:12 --boot

Verdicts: `loads`, `refused` (the kernel refuses a program, or the loader the object), `needs input` (user space must set something, such as the size of a map:
--max-entries MAP=N) and `unknown` (no evidence answers a question about the kernel). The verdict on an object is the worst verdict on
the programs of its default load. The verifier may still refuse a program for other reasons, such as its complexity.
A warning is a declaration of the object that differs from the kernel's although the program loads, or a program that loads and cannot be
attached. It does not change the verdict.
Exit status: 0 everything loads or is allowed, 1 something is refused or needs input, 2 something is unknown or cannot be read. With --boot, the
real loads decide. With --baseline, only what is new counts.";
pub(super) const PLAN_HELP: &str = "Examples:
  core-relo plan prog.bpf.o
  core-relo plan prog.bpf.o --btf vmlinux-6.1.btf --program handle_exec
  core-relo plan one.bpf.o two.bpf.o --btf <(zcat vmlinux-6.1.btf.gz)
  core-relo plan prog.bpf.o --btf vmlinux --format json | jq 'select(.outcome == \"poison\")'

The relocations are those of a load with the settings: a program that is not loaded eliminates no candidates.";
pub(super) const EXPLAIN_HELP: &str = "Examples:
  core-relo explain prog.bpf.o --btf vmlinux-5.10.btf
  core-relo explain prog.bpf.o --btf kernels/           also names the first kernel that fits
  core-relo explain prog.bpf.o --relocation tp_btf/sched_switch#3
  core-relo explain prog.bpf.o --program handle_exec --format json
  core-relo explain prog.bpf.o --btf kernels/ --variants prog.variants

Prints the verdict of `check` on each program, every reason, and fixes as code: for the line that is named, for file scope, or for the
loader. `guarded` is what a guard skips; it needs no change. The code is a suggestion: read it before you use it.
Exit status: as for `check`.";
pub(super) const PATCH_HELP: &str = "Examples:
  core-relo patch prog.bpf.o --btf vmlinux-6.1.btf -o prog-6.1.bpf.o
  core-relo patch prog.bpf.o --btf vmlinux-6.1.btf -o - | sha256sum

If a relocation fails, nothing is written and the exit status is 1. An access that does not exist in the kernel poisons its
instruction, as in libbpf. Poisoned instructions are reported on stderr and written, because a guard such as
bpf_core_field_exists() may skip them. The exit status is then 0.
The CO-RE records are left out, so that a loader does not relocate the instructions a second time.

OUT is replaced atomically: if the command is interrupted, the old file stays. The new file has the owner and mode of the old one;
other hard links to the old file keep the old content. If OUT is a device, a pipe or an open file (/dev/stdout), the object is
appended, as by `cat >>`. Symbolic links are followed, except for links of other users in a shared directory like /tmp. If OUT is `-`
or stdout, the report goes to stderr.";

/// What verdicts need besides the kernels' BTF
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EvidenceArgs {
    /// Version of the kernels, for what their BTF does not tell, such as LINUX_KERNEL_VERSION [default: that
    /// of the running kernel, or in the kernel's image]
    #[arg(long, value_name = "X.Y.Z")]
    pub(crate) kernel_version: Option<KernelVersion>,
    /// Configuration of the kernels, as in /boot/config-*; a .gz is unpacked [default: that of the running
    /// kernel, in the kernel's image, or in `config-R` beside `vmlinuz-R`, `vmlinux-R` or `R.btf`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kconfig: Option<PathBuf>,
    /// Symbols of the kernels: a copy of /proc/kallsyms [default: the symbols of a vmlinux, or `System.map-R`
    /// beside `vmlinuz-R`, `vmlinux-R` or `R.btf`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kallsyms: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) loader: LoaderArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// BPF objects, and directories of them (`*.o`); `-` is stdin
    #[arg(required = true, value_name = "OBJ", value_hint = ValueHint::AnyPath)]
    pub(crate) objects: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Number of kernels, or of objects, to check at the same time; 1 starts no thread, 0 means one for each
    /// CPU
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(crate) jobs: usize,
    /// Check only the I-th of N parts of the kernels; a kernel's path below the --btf directory decides on
    /// its part
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Also write the results to FILE, as JSON lines, and skip the kernels that FILE has results for. Only
    /// one run at a time may write to FILE. A FILE that is not from such a run on the same objects, with the
    /// same options for evidence, is refused and stays as it is. So is FILE if a kernel changed later
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["module", "base"], value_parser = OutputPath::parser(OutputKind::Results))]
    pub(crate) resume: Option<OutputPath>,
    #[command(flatten)]
    pub(crate) evidence: EvidenceArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Accept known gaps: KEY=PATTERN with the keys `object`, `program`, `kernel` (globs with `*` and `?`)
    /// and `kind` (a kind of reason, such as `helper`), several of them separated by commas. Accepted reasons
    /// do not count for the exit status; may be given several times
    #[arg(long, value_name = "KEY=PATTERN,...")]
    pub(crate) allow: Vec<AllowEntry>,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
    /// Exit with 1 instead of 2 if a verdict is unknown
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print a line for every object and kernel. By default, the text groups more than 1,000 lines
    #[arg(long)]
    pub(crate) all: bool,
    /// Table of variants of the object, in addition to those that the object declares. Of an object with
    /// variants, those are judged that `load --adaptive` would choose on each kernel
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) variants: Option<PathBuf>,
    /// Also write a report to FILE: .html (a page that needs no other file), .sarif, .xml (JUnit) or .md; may
    /// be given several times
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser(OutputKind::Report))]
    pub(crate) report: Vec<OutputPath>,
    /// Kernel image to judge as --btf does, and to boot in QEMU, where every program is loaded. Prints the
    /// real outcome beside the verdict. A vmlinuz (bzImage), an ELF vmlinux, an Image of arm64 or riscv64, an
    /// s390x image [default: the images of the kernels of --kernels]
    #[arg(long, value_name = "VMLINUZ", num_args = 0.., groups = ["boots", "single_loads"], value_hint = ValueHint::FilePath, conflicts_with_all = ["module", "base", "shard", "resume"])]
    pub(crate) boot: Option<Vec<PathBuf>>,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    #[command(flatten)]
    pub(crate) stats: StatsArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: CheckFormat,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// BPF objects, and directories of them (`*.o`); `-` is stdin
    #[arg(required = true, value_name = "OBJ", value_hint = ValueHint::AnyPath)]
    pub(crate) objects: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Show only the relocations of this program, in a load of this program alone
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) program: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) relocation: RelocationArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Relocation that differs from libbpf's
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct RelocationArgs {
    /// Zero-extend the enumerators of unsigned 32-bit enums from 0x80000000 on, as cilium/ebpf and aya do.
    /// libbpf sign-extends them, and refuses the relocation
    #[arg(long)]
    pub(crate) zero_extend_enums: bool,
}

impl RelocationArgs {
    /// Returns the options of plans for a loader.
    pub(crate) fn options_for(self, loader: LoaderKind) -> Options {
        let options = relocation_options(loader);
        if self.zero_extend_enums { options.zero_extend_unsigned_enums(true) } else { options }
    }

    /// Returns the options of plans.
    pub(crate) fn options(self) -> Options {
        Options::default().zero_extend_unsigned_enums(self.zero_extend_enums)
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// BPF object, or a directory of them (`*.o`); `-` is stdin
    #[arg(value_name = "OBJ", value_hint = ValueHint::AnyPath)]
    pub(crate) object: PathBuf,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    #[command(flatten)]
    pub(crate) evidence: EvidenceArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Explain only this program
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) program: Option<String>,
    /// Explain this relocation, even if it resolves: its number in its section, or SECTION#N
    #[arg(long, value_name = "N|SECTION#N")]
    pub(crate) relocation: Option<RelocationRef>,
    /// Table of variants of the object, in addition to those that the object declares. Of an object with
    /// variants, those are judged that `load --adaptive` would choose on each kernel
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["program", "relocation"])]
    pub(crate) variants: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct PatchArgs {
    /// BPF object; `-` is stdin
    #[arg(value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) object: PathBuf,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// File to write the object to; may be OBJ; `-` is stdout
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser_in_place_of("object", OutputKind::BpfObject))]
    pub(crate) output: OutputPath,
    /// Keep the CO-RE records, for commands that show them; a loader would relocate the instructions a second
    /// time
    #[arg(long)]
    pub(crate) keep_records: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) relocation: RelocationArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// A reference to a relocation: `3`, or `tp_btf/sched_switch#3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RelocationRef {
    pub(crate) section: Option<String>,
    pub(crate) index_in_section: u32,
}

impl FromStr for RelocationRef {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let (section, number) = match s.rsplit_once('#') {
            Some(("", number)) => (None, number),
            Some((section, number)) => (Some(section.to_owned()), number),
            None => (None, s),
        };
        let expected = |_| "expected a number, or SECTION#NUMBER as `plan` shows it".to_owned();
        Ok(Self { section, index_in_section: number.parse().map_err(expected)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relocations_are_named_by_number_or_section() {
        let parsed = |s: &str| s.parse::<RelocationRef>().map(|r| (r.section, r.index_in_section));
        assert_eq!(parsed("3"), Ok((None, 3)));
        assert_eq!(parsed("#3"), Ok((None, 3)));
        assert_eq!(parsed("xdp#0"), Ok((Some("xdp".into()), 0)));
        assert!(parsed("xdp").is_err());
    }
}
