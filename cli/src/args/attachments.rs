//! The arguments of the commands that list attachments by the place where programs run: `net`, `cgroup` and
//! `perf`.

use crate::format::Format;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const NET_LIST_HELP: &str = "Examples:
  core-relo net list
  core-relo net list eth0
  nsenter --net=/run/netns/blue core-relo net list --format json | jq 'select(.type == \"tc\")'

Lists the programs of this network namespace: XDP, tc (classifiers and actions), tcx, netkit, flow_dissector and sk_lookup; and the
netfilter links of all namespaces, because the kernel does not report theirs. `core-relo cgroup list` lists the programs of cgroups.

Needs CAP_SYS_ADMIN. Exit status: 0 if everything was read, 2 if not.";
const CGROUP_LIST_HELP: &str = "Examples:
  core-relo cgroup list /sys/fs/cgroup/system.slice
  core-relo cgroup list /sys/fs/cgroup/system.slice --effective

Without a path, lists the programs of the root of the mounted cgroup2. --effective lists the programs that run for the processes of
the cgroup, in their order: those of its ancestors as well. Needs CAP_SYS_ADMIN. Exit status: 0 if everything was read, 2 if not.";
const CGROUP_TREE_HELP: &str = "Examples:
  core-relo cgroup tree
  core-relo cgroup tree /sys/fs/cgroup/system.slice --format json

Lists the programs of a cgroup and of all cgroups below it. Without a path, begins at the root of the mounted cgroup2. Needs
CAP_SYS_ADMIN. Exit status: 0 if everything was read, 2 if not.";
const PERF_LIST_HELP: &str = "Examples:
  core-relo perf list
  core-relo perf list --format json | jq 'select(.fd_type == \"kprobe\")'

Lists the descriptors of all processes that attach a program to a tracepoint, raw tracepoint, kprobe or uprobe. Attachments by links
to perf events are listed by `core-relo link list`. Needs CAP_SYS_ADMIN. Exit status: 0 if everything was read, 2 if not.";

#[derive(Debug, Subcommand)]
pub(crate) enum NetCommand {
    /// List the programs on network interfaces and in the network namespace
    #[command(visible_alias = "show", after_help = NET_LIST_HELP)]
    List(NetListArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum CgroupCommand {
    /// List the programs of a cgroup
    #[command(visible_alias = "show", after_help = CGROUP_LIST_HELP)]
    List(CgroupListArgs),
    /// List the programs of a cgroup and of the cgroups below it
    #[command(after_help = CGROUP_TREE_HELP)]
    Tree(CgroupListArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum PerfCommand {
    /// List the programs on perf events and raw tracepoints, by process
    #[command(visible_alias = "show", after_help = PERF_LIST_HELP)]
    List(PerfListArgs),
}

#[derive(Debug, Args)]
pub(crate) struct NetListArgs {
    /// Only the programs on this network interface; the word `dev` may precede the name
    #[arg(value_name = "DEVICE", num_args = 0..=2)]
    pub(crate) device: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct CgroupListArgs {
    /// The directory of the cgroup
    #[arg(value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) path: Option<PathBuf>,
    /// The programs that run for the processes of a cgroup, those of its ancestors included
    #[arg(long)]
    pub(crate) effective: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct PerfListArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
