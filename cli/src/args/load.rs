//! The arguments of `load` and `run`.

use crate::{
    args::{
        attach_word::attach_word, events::EventArgs, object_name::parse_name, relocate::RelocationArgs,
        stats::StatsArgs, test_run::TestRunArgs,
    },
    attach_point::parse_attach_point,
    format::Format,
    settings::SettingsArgs,
};
use clap::{ArgGroup, Args, ValueHint};
use core_relo_loader::{attach_point::AttachPoint, load::Keyring};
use core_relo_verdict::kernel::KernelVersion;
use std::{path::PathBuf, str::FromStr};

pub(crate) const LOAD_HELP: &str = "Examples:
  core-relo load prog.bpf.o                           load, report the result, and unload
  core-relo load prog.bpf.o --dry-run                 the load plan, and the verdict of `check`
  core-relo load prog.bpf.o --dry-run --btf vmlinux   the same for another kernel
  core-relo load prog.bpf.o --each                    each program by itself: which ones load
  core-relo load *.bpf.o --each --budget budget.jsonl the same, and is it more work than before
  core-relo load prog.bpf.o --adaptive --attach       the variants that work here, and why
  core-relo load prog.bpf.o --adaptive --variants prog.variants --dry-run --btf vmlinux
  core-relo load prog.bpf.o --attach --set target_pid=42
  core-relo load prog.bpf.o --attach --pin /sys/fs/bpf/mine
  core-relo load prog.bpf.o --attach-to drop_packets=dev:eth0 --pin /sys/fs/bpf/mine
  core-relo load prog.bpf.o --attach-to check=cgroup:/sys/fs/cgroup/mine --attach-to sample=pid:42
  core-relo load prog.bpf.o --attach-target on_enter=do_unlinkat --attach
  core-relo load prog.bpf.o --attach --reuse-map counts=/sys/fs/bpf/mine/maps/counts
  core-relo load prog.bpf.o --attach --print events='struct event' --count 10
  core-relo load prog.bpf.o --attach --print events --format json | jq .value.pid
  core-relo load prog.loader --attach --pin /sys/fs/bpf/mine    a loader program from `gen loader`
  core-relo load prog.loader --keyring session    only if signed by a key of the session

An attach point is KIND:PLACE, and for some kinds a comma and the attach type:
  dev:NAME[,HOOK]             a network interface: xdp, xdpgeneric, xdpdrv, xdpoffload, ingress,
                              egress, tc_ingress, tc_egress, primary or peer
  cgroup:PATH[,TYPE]          a cgroup: TYPE as connect4 or cgroup_inet_egress
  netns:NAME or netns:PATH    a network namespace: socket lookup, flow dissector
  map:NAME[,TYPE]             a sockmap, or the map of an iterator; `prog attach`: or its id or pin
  netfilter:ipv4,input,0[,defrag]   family, hook and priority
  pid:N                       a process: perf_event programs (99 samples a second), uprobes and
                              USDT probes, iterators of tasks
  route:NETWORK,DEV[,GATEWAY] a new route, such as 10.88.0.0/24,eth0: lwt_in, lwt_out, lwt_xmit,
                              lwt_seg6local
  cpu:N or cpu:all            processors: perf_event programs (99 samples a second)
  lirc:/dev/lirc0             an infrared receiver
  kprobe:FUNCTION, kretprobe:FUNCTION, ksyscall:NAME, kprobe.multi:PATTERN, uprobe:BINARY:FUNCTION,
  usdt:BINARY:PROVIDER:NAME, tp:CATEGORY/NAME, raw_tp:NAME     as in section names;
                              kprobe:0xADDRESS for one of several functions of a name

Loading needs root or CAP_BPF, with CAP_PERFMON for tracing and CAP_NET_ADMIN for networking. With --attach, programs stay attached
until Ctrl-C. With --print, the records of a map are printed as they arrive, one line or block each, until Ctrl-C, --count or
--timeout. With --pin, programs are pinned in DIR, maps in DIR/maps and links in DIR/links, and stay after the command.
If the object pins a map by name (LIBBPF_PIN_BY_NAME) and the pin exists, the pinned map is reused. With --pin, the command also pins
new maps of this kind by name, as its last step; it never removes these pins. If a signal arrives before everything is loaded (SIGINT,
SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2 or SIGXCPU), the command unloads everything that it loaded,
and the signal ends the process. A complete load stays.
Exit status: 0 if everything was loaded, 1 if the kernel refused something, a budget is exceeded, fewer than --count events arrived, or
--attach or --attach-to attached nothing and no --pin keeps the programs, 2 for bad input or wrong usage. With
--dry-run as for `check`: 0 if everything will load, 1 if something is refused or needs input, 2 if something is unknown, or the plan needs
the version, the configuration or the symbols of a kernel of which they are unknown (--kernel-version, --kconfig, --kallsyms).";
pub(crate) const RUN_HELP: &str = "Examples:
  core-relo run prog.bpf.o --program count --repeat 1000 --data-in packet.bin
  core-relo run prog.bpf.o --program setup --set verbose=1 --format json
  core-relo run prog.bpf.o --program handle --print events='struct event'

Loads one program and runs it with BPF_PROG_TEST_RUN, which some program types do not support. Without --data-in, programs
that take packets get 64 zero bytes. --print prints the records that the run sent; with --timeout, also those that arrive later. Nothing stays loaded, even after SIGINT, SIGTERM or SIGHUP.
Exit status: 0 if the program ran (whatever it returned), 1 if the kernel refused it or fewer than --count events arrived, 2 for bad input or wrong usage.";

/// Settings that apply before an object is loaded
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SetupArgs {
    /// File of CONFIG_…= lines that take precedence over the kernel's configuration; a .gz is unpacked
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kconfig: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// Settings of the load itself
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LoadingArgs {
    /// Use a map of the running kernel instead of creating this one: its id, name or pin. The kernel verifies
    /// the programs with the sizes of that map. A pin of the object for this map is ignored. May be given
    /// several times
    #[arg(long, value_name = "MAP=ID")]
    pub(crate) reuse_map: Vec<ReusedMap>,
    /// Create the BPF token from this bpffs [default: from the one in LIBBPF_BPF_TOKEN_PATH, which turns
    /// tokens off if it is empty; without the variable from /sys/fs/bpf, if that is mounted with delegation]
    #[arg(long, value_name = "BPFFS", value_hint = ValueHint::DirPath)]
    pub(crate) token: Option<PathBuf>,
    /// Print the whole verifier log of refused programs, in text and in JSON. Give it twice for accepted
    /// programs as well
    #[arg(long, action = clap::ArgAction::Count)]
    pub(crate) verifier_log: u8,
}

#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("events").arg("print").multiple(true).requires("attaching").conflicts_with("pin"))]
#[command(group = ArgGroup::new("attaching").args(["attach", "attach_to"]).multiple(true))]
pub(crate) struct LoadArgs {
    /// The objects, or loader files from `gen loader`
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    pub(crate) objects: Vec<PathBuf>,
    /// Load loader files with their signatures, which the kernel checks with the keys of this keyring:
    /// `session`, `user`, `builtin`, `secondary`, `platform` or a serial number
    #[arg(long, value_name = "KEYRING")]
    pub(crate) keyring: Option<Keyring>,
    /// Load only this program; may be given several times [default: all programs whose section does not begin
    /// with `?`]
    #[arg(long, value_name = "NAME", value_parser = parse_name, conflicts_with = "autoload")]
    pub(crate) program: Vec<String>,
    /// Load each program by itself, and continue after a refusal
    #[arg(long, conflicts_with_all = ["attach", "attach_to", "pin", "dry_run"], group = "single_loads")]
    pub(crate) each: bool,
    #[command(flatten)]
    pub(crate) stats: StatsArgs,
    /// Load, of each group of variants, the first alternative that works on the kernel, and report which and
    /// why. The object declares its variants with the macros of core_relo.h
    #[arg(long, conflicts_with_all = ["each", "program"])]
    pub(crate) adaptive: bool,
    /// Table of variants, in addition to those that the object declares
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "adaptive")]
    pub(crate) variants: Option<PathBuf>,
    /// Print the load plan and the verdict, and load nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Plan for this kernel instead of the running one: raw BTF, an ELF with .BTF, a vmlinuz or a package
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, requires = "dry_run")]
    pub(crate) btf: Option<PathBuf>,
    /// Version of the kernel of --btf, for LINUX_KERNEL_VERSION and what BTF does not tell [default: that in
    /// the kernel's image]
    #[arg(long, value_name = "X.Y.Z", requires = "btf")]
    pub(crate) kernel_version: Option<KernelVersion>,
    /// Symbols of the kernel of --btf: a copy of its /proc/kallsyms, which has the addresses that the plan
    /// needs
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "btf")]
    pub(crate) kallsyms: Option<PathBuf>,
    /// Relocate against the BTF in this file instead of the kernel's own, for kernels without BTF
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, conflicts_with = "btf")]
    pub(crate) relocate_against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) relocation: RelocationArgs,
    /// Attach every program whose section name contains the attach target, and every struct_ops map
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) attach: bool,
    /// Attach a program to this attach point, see below; may be given several times
    #[arg(long, value_name = "PROG=KIND:PLACE", value_parser = attach_word(|text| text.parse::<AttachRequest>()), conflicts_with = "dry_run")]
    pub(crate) attach_to: Vec<AttachRequest>,
    /// Pin everything in DIR on a bpffs, which is created. Several objects are pinned in DIR/NAME each
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "dry_run")]
    pub(crate) pin: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) events: EventArgs,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    #[command(flatten)]
    pub(crate) loading: LoadingArgs,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RunArgs {
    /// The object
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) object: PathBuf,
    /// The program
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) program: String,
    /// Relocate against the BTF in this file instead of the kernel's own, for kernels without BTF
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) relocate_against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) relocation: RelocationArgs,
    #[command(flatten)]
    pub(crate) test: TestRunArgs,
    #[command(flatten)]
    pub(crate) events: EventArgs,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    #[command(flatten)]
    pub(crate) loading: LoadingArgs,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl LoadArgs {
    /// Returns whether programs are attached.
    pub(crate) fn attaches(&self) -> bool {
        self.attach || !self.attach_to.is_empty()
    }
}

/// A map of the object and the kernel's map in its place: `counts=7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReusedMap {
    pub(crate) map: String,
    /// The id, name or pin of the kernel's map.
    pub(crate) reused: String,
}

impl FromStr for ReusedMap {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words = text.split_once('=').filter(|(map, reused)| !map.is_empty() && !reused.is_empty());
        let (map, reused) = words.ok_or("expected MAP=ID, MAP=NAME or MAP=PIN")?;
        Ok(Self { map: map.into(), reused: reused.into() })
    }
}

/// A program and its attach point: `program=dev:eth0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttachRequest {
    pub(crate) program: String,
    pub(crate) point: AttachPoint,
}

impl FromStr for AttachRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (program, point) = text
            .split_once('=')
            .filter(|(program, _)| !program.is_empty())
            .ok_or("expected PROG=KIND:PLACE")?;
        Ok(Self { program: program.into(), point: parse_attach_point(point)? })
    }
}
