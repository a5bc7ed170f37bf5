//! The arguments of `prog attach` and `prog detach`.

use crate::{
    args::{
        attach_word::attach_word,
        object_selector::{ProgramSelector, one_program_name, one_tag},
    },
    attach_point::{CgroupSharing, parse_attach_point},
    format::Format,
};
use clap::{Args, ValueHint};
use core_relo_loader::attach_point::AttachPoint;
use std::path::PathBuf;

pub(super) const ATTACH_HELP: &str = "Examples:
  core-relo prog attach 7 --to dev:eth0
  core-relo prog attach --name drop_packets --to dev:eth0,xdpgeneric --replace
  core-relo prog attach 8 --to dev:eth0,ingress
  core-relo prog attach 9 --to cgroup:/sys/fs/cgroup/system.slice,connect4
  core-relo prog attach 10 --to map:/sys/fs/bpf/socks,sk_skb_stream_verdict
  core-relo prog attach 11 --to netns:blue --pin /sys/fs/bpf/lookup_link
  core-relo prog attach 12 --to kprobe:do_unlinkat --pin /sys/fs/bpf/unlink_link

An attach point is KIND:PLACE, and for some kinds a comma and the attach type; `core-relo load --help` lists them. The kernel does not
report the attach type of a loaded program: where the program type has several, name it. Without --pin, the program is attached without
a link, and stays until `core-relo prog detach`, or until the place is gone. With --pin, a pinned link keeps it: `rm PATH` detaches.
Exit status: 0 if the program is attached, 2 if not.";
pub(super) const DETACH_HELP: &str = "Examples:
  core-relo prog detach 7 --from dev:eth0
  core-relo prog detach 9 --from cgroup:/sys/fs/cgroup/system.slice
  core-relo prog detach 9 --from cgroup:/sys/fs/cgroup/system.slice,connect4

The attach type is needed only if the cgroup has the program with several. Detaches what `core-relo prog attach` without --pin, bpftool,
ip or tc attached. Links are detached by `core-relo link detach`. Another program, or a program that a link attaches, stays as it is.
Exit status: 0 if the program is detached, 2 if not.";

#[derive(Debug, Args)]
#[command(mut_arg("name", one_program_name), mut_arg("tag", one_tag))]
pub(crate) struct ProgAttachArgs {
    #[command(flatten)]
    pub(crate) selector: ProgramSelector,
    /// The attach point
    #[arg(long, value_name = "KIND:PLACE", value_parser = attach_word(parse_attach_point), required = true)]
    pub(crate) to: AttachPoint,
    /// Attach by a link, and pin the link at this path; the directory is created if its parent exists
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) pin: Option<PathBuf>,
    /// Replace an XDP program, a flow dissector, or the program of a sockmap
    #[arg(long, conflicts_with = "pin")]
    pub(crate) replace: bool,
    /// How the program shares its cgroup with others [default: multi]
    #[arg(long, value_enum, value_name = "WAY", conflicts_with = "pin")]
    pub(crate) sharing: Option<CgroupSharing>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(mut_arg("name", one_program_name), mut_arg("tag", one_tag))]
pub(crate) struct ProgDetachArgs {
    #[command(flatten)]
    pub(crate) selector: ProgramSelector,
    /// The attach point
    #[arg(long, value_name = "KIND:PLACE", value_parser = attach_word(parse_attach_point), required = true)]
    pub(crate) from: AttachPoint,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
