//! Attaching programs, each family in its own file. What comes of it is a [`Link`], which detaches when it is dropped.
//!
//! A family's functions take a program's descriptor and what it is to be attached to.

mod error;
mod link;
mod perf_event;
#[cfg(test)]
mod testing;
mod text;
mod tracefs;
mod tracepoint;

pub use error::{AttachError, Hint};
pub use link::{Attachment, Link};
pub use perf_event::{PerfCounter, PerfEventOptions, open_perf_counter, perf_event};
pub use tracepoint::{RawTracepointOptions, TracepointOptions, raw_tracepoint, tracepoint};
