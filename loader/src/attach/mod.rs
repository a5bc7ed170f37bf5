//! Attaching programs, each family in its own file. What comes of it is a [`Link`], which detaches when it is dropped.
//!
//! A family's functions take a program's descriptor and what it is to be attached to; [`auto`](auto()) does what the section's
//! name says.
//!
//! ```no_run
//! use core_relo_loader::attach::{self, UprobeOptions};
//!
//! # fn example(program: std::os::fd::BorrowedFd<'_>) -> Result<(), attach::AttachError> {
//! let options = UprobeOptions { function: Some("malloc"), retprobe: true, ..UprobeOptions::default() };
//! let link = attach::uprobe(program, "libc.so.6", &options)?;
//! // The program runs now, in every process.
//! link.detach()?;
//! # Ok(())
//! # }
//! ```
//!
//! Where the kernel has no link for a family, or is too old for it, the [`Link`] undoes what it did itself, and nothing that
//! others did meanwhile. Such an attachment cannot be pinned, and most outlive a process that ends without dropping it
//! ([`Link::outlives_process`]); those of perf events end with the process.
//!
//! Not here: programs of devmaps and cpumaps go into the map, `sk_reuseport` and socket filters onto a socket.

mod archive;
mod auto;
mod binary;
mod binary_path;
mod by_program;
mod cgroup;
mod elf_file;
mod error;
mod file_part;
#[doc(hidden)]
pub mod fuzzing;
mod iter;
mod kprobe;
mod kprobe_multi;
mod link;
mod lirc;
mod lwt;
mod netfilter;
mod netlink;
mod netns;
mod order;
mod perf_event;
mod pmu;
mod query;
mod route;
mod sockmap;
mod struct_ops;
mod tc;
mod tcx;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod testing_elf;
#[cfg(test)]
mod testing_trace;
mod text;
mod trace;
mod tracefs;
mod tracepoint;
mod uprobe;
mod uprobe_multi;
mod usdt;
mod xdp;

pub use crate::object::{MultiKind, SectionTarget, SectionTargetError};
pub use auto::{Attachable, auto};
pub(crate) use auto::{is_automatic, not_automatic};
pub use cgroup::{CgroupOptions, CgroupSharing, cgroup, cgroup_attach};
pub use error::{AttachError, Hint};
pub use iter::{CgroupOrder, CgroupRef, IterOptions, IterReader, IterTarget, TaskRef, iter};
pub(crate) use kprobe::has_syscall_wrappers;
pub use kprobe::{KprobeOptions, KsyscallOptions, kprobe, ksyscall};
pub use kprobe_multi::{KprobeMultiOptions, KprobeSet, kprobe_multi};
pub use link::{Attachment, Link};
pub use lirc::lirc;
pub use lwt::{LwtPrograms, LwtRoute, lwt, seg6local};
pub use netfilter::{NetfilterHook, netfilter};
pub use netns::netns;
pub use order::{Neighbour, Order, Placement};
pub use perf_event::{PerfCounter, PerfEventOptions, open_perf_counter, perf_event};
pub use pmu::ProbeMode;
pub use query::{Attached, OnInterface, Target, query, query_interface};
pub use route::interface;
pub use sockmap::{sockmap, sockmap_attach};
pub use struct_ops::{struct_ops, struct_ops_update};
pub use tc::{Qdisc, TcFilter, TcHook, TcOptions, TcPoint};
pub use tcx::{netkit, tcx};
pub use trace::{TraceOptions, freplace, freplace_function, lsm, trace};
pub use tracepoint::{RawTracepointOptions, TracepointOptions, raw_tracepoint, tracepoint};
pub use uprobe::{UprobeOptions, uprobe};
pub use uprobe_multi::{UprobeMultiOptions, UprobeSet, uprobe_multi};
pub use usdt::{UsdtManager, UsdtOptions, usdt};
pub use xdp::{Xdp, XdpMode, XdpOver, xdp, xdp_detach, xdp_netlink, xdp_query};
