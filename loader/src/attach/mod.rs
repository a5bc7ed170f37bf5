//! Attaching programs, one module per kind of hook. Every attach call returns a [`Link`], which detaches when
//! it is dropped.
//!
//! A [`ProgramRef`] has a method for each kind of target. [`ProgramRef::attach`] reads the target from the
//! program's section name.
//!
//! ```no_run
//! use core_relo_loader::{attach::{AttachError, UprobeOptions}, load::Loaded};
//!
//! # fn example(loaded: &Loaded) -> Result<(), AttachError> {
//! let options = UprobeOptions { function: Some("malloc"), retprobe: true, ..UprobeOptions::default() };
//! let link = loaded.program_ref("on_malloc")?.attach_uprobe("libc.so.6", &options)?;
//! // The program runs now, in every process.
//! link.detach()?;
//! # Ok(())
//! # }
//! ```
//!
//! Some kinds of attachments have no kernel link, or none on older kernels. Their [`Link`] remembers what it
//! attached and detaches exactly that. Such an attachment cannot be pinned. Most of them outlive a process
//! that ends without dropping the link ([`Link::outlives_process`]). Attachments to perf events end with the
//! process.
//!
//! Some programs are not attached by this module: devmap and cpumap programs are stored in their map,
//! `sk_reuseport` programs and socket filters are set on a socket.

#[cfg(feature = "uprobe")]
mod archive;
mod auto;
#[cfg(feature = "uprobe")]
#[cfg_attr(not(feature = "usdt"), expect(dead_code, reason = "USDT reads more of a binary than uprobes"))]
mod binary;
#[cfg(feature = "uprobe")]
#[cfg_attr(not(feature = "usdt"), expect(dead_code, reason = "USDT finds more functions than uprobes"))]
mod binary_functions;
#[cfg(feature = "uprobe")]
mod binary_path;
mod cgroup;
#[cfg(feature = "netlink")]
mod classifier;
#[cfg(feature = "uprobe")]
mod elf_code;
#[cfg(feature = "uprobe")]
mod elf_file;
mod error;
#[cfg(feature = "uprobe")]
mod file_range;
mod function_list;
#[cfg(feature = "uprobe")]
mod function_search;
#[cfg(feature = "usdt")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "uprobe")]
mod import_slots;
#[cfg(feature = "uprobe")]
mod indirect_function;
#[cfg(feature = "netlink")]
mod interface;
#[cfg(feature = "netlink")]
mod interface_query;
#[cfg(feature = "netlink")]
mod interfaces;
mod iter;
pub(crate) mod kprobe;
mod kprobe_multi;
mod link;
mod lirc;
#[cfg(feature = "netlink")]
mod lwt;
mod methods;
#[cfg(feature = "uprobe")]
mod missing_function;
mod names;
mod netfilter;
#[cfg(feature = "netlink")]
mod netlink;
mod netns;
#[cfg(feature = "uprobe")]
mod pattern_search;
mod perf_event;
mod placement;
mod pmu;
#[cfg(feature = "uprobe")]
mod process_files;
#[cfg(feature = "uprobe")]
mod process_maps;
mod prog_attach;
mod program;
mod program_type;
mod query;
#[cfg(feature = "netlink")]
mod rtnetlink;
mod sockmap;
#[cfg(feature = "uprobe")]
mod soname;
#[cfg(feature = "uprobe")]
#[cfg_attr(not(feature = "stripped-binaries"), path = "stripped_disabled.rs")]
mod stripped;
mod struct_ops;
mod target;
#[cfg(feature = "netlink")]
mod tc;
#[cfg(feature = "netlink")]
mod tcx;
#[cfg(test)]
pub(crate) mod test_support;
mod trace;
mod trace_multi;
mod traced_functions;
mod tracefs;
mod tracepoint;
#[cfg(feature = "uprobe")]
mod uprobe;
#[cfg(feature = "uprobe")]
mod uprobe_multi;
#[cfg_attr(not(feature = "usdt"), path = "usdt_disabled.rs")]
mod usdt;
#[cfg(feature = "netlink")]
mod xdp;

pub use crate::sys::{PerfSample, ProgAttach};
pub(crate) use auto::{is_automatic, not_automatic};
pub use cgroup::{CgroupOptions, CgroupSharing};
#[cfg(feature = "netlink")]
pub use classifier::PacketDirection;
pub use core_relo_object::object::{MultiKind, SectionTarget, SectionTargetError};
pub use error::AttachError;
#[cfg(feature = "netlink")]
pub use interface::InterfaceRef;
#[cfg(feature = "netlink")]
pub use interface_query::{InterfacePrograms, query_interface, query_interface_links};
#[cfg(feature = "netlink")]
pub use interfaces::{NetworkInterface, network_interfaces};
pub use iter::{CgroupOrder, CgroupRef, IterOptions, IterReader, IterTarget, TaskRef};
pub use kprobe::{KprobeOptions, KsyscallOptions};
pub use kprobe_multi::{KprobeMultiOptions, KprobeSet};
pub use link::{Attachment, Link};
#[cfg(feature = "attach-points")]
pub(crate) use lwt::seg6local;
#[cfg(feature = "netlink")]
pub use lwt::{LwtPrograms, LwtRoute, lwt};
pub use netfilter::NetfilterHook;
pub use perf_event::{PerfCounter, PerfCounterOptions, PerfEventOptions, open_perf_counter};
pub use placement::{Anchor, Order, Placement};
pub use pmu::ProbeMode;
pub use program::{ProgramRef, UsdtOwner};
pub use query::{AttachedPrograms, QueryTarget, query};
#[cfg(feature = "netlink")]
pub use rtnetlink::interface_index;
pub use struct_ops::{struct_ops, struct_ops_update};
pub use target::FileRef;
#[cfg(feature = "netlink")]
pub use tc::{Qdisc, TcAttachPoint, TcFilter, TcHook, TcOptions, TcProgram, tc_programs};
pub use trace::{FreplaceTarget, TraceOptions};
pub use trace_multi::{TraceMultiOptions, TraceSet};
pub use tracepoint::{RawTracepointOptions, TracepointOptions};
#[cfg(feature = "uprobe")]
pub use uprobe::UprobeOptions;
#[cfg(feature = "uprobe")]
pub use uprobe_multi::{UprobeMultiOptions, UprobeSet};
pub use usdt::UsdtManager;
#[cfg(feature = "usdt")]
pub use usdt::UsdtOptions;
#[cfg(feature = "netlink")]
pub use xdp::{XdpMode, XdpPrograms, XdpReplace, xdp_detach, xdp_query};
