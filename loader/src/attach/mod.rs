//! Attaching programs, each family in its own file. What comes of it is a [`Link`], which detaches when it is dropped.
//!
//! A family's functions take a program's descriptor and what it is to be attached to.

mod archive;
mod auto;
mod binary;
mod binary_path;
mod error;
mod iter;
mod kprobe;
mod kprobe_multi;
mod link;
mod perf_event;
mod pmu;
mod section;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod testing_elf;
mod text;
mod trace;
mod tracefs;
mod tracepoint;
mod uprobe;
mod uprobe_multi;
mod usdt;

pub use auto::{Attachable, auto};
pub use error::{AttachError, Hint};
pub use iter::{CgroupOrder, CgroupRef, IterOptions, IterReader, IterTarget, TaskRef, iter};
pub use kprobe::{KprobeOptions, KsyscallOptions, kprobe, ksyscall};
pub use kprobe_multi::{KprobeMultiOptions, KprobeSet, MultiKind, kprobe_multi};
pub use link::{Attachment, Link};
pub use perf_event::{PerfCounter, PerfEventOptions, open_perf_counter, perf_event};
pub use pmu::ProbeMode;
pub use section::Auto;
pub use trace::{TraceOptions, freplace, lsm, trace};
pub use tracepoint::{RawTracepointOptions, TracepointOptions, raw_tracepoint, tracepoint};
pub use uprobe::{UprobeOptions, uprobe};
pub use uprobe_multi::{UprobeMultiOptions, UprobeSet, uprobe_multi};
pub use usdt::{UsdtManager, UsdtOptions, usdt};
