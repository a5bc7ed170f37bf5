//! What BPF programs send, and what is sent to them: ring buffers, user ring buffers, perf buffers.
//!
//! * [`RingBuffer`] reads maps of type `RINGBUF`: records in the order of all processors, without a copy.
//! * [`PerfBuffer`] reads a `PERF_EVENT_ARRAY`, which older kernels have: a ring for each processor, and counts of what was lost.
//! * [`UserRingBuffer`] writes a `USER_RINGBUF`.
//!
//! ```no_run
//! use core::time::Duration;
//! use core_relo_loader::{maps::MapFd, ring::RingBuffer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let map = MapFd::open_pinned("/sys/fs/bpf/events")?;
//! let mut events = RingBuffer::new(&map, |record: &[u8]| println!("{} bytes", record.len()))?;
//! loop {
//!     events.poll(Some(Duration::from_millis(100)))?;
//! }
//! # }
//! ```
//!
//! # In a loop of your own
//!
//! Each buffer is [`AsFd`](std::os::fd::AsFd): its descriptor becomes readable once there are records. Put it into poll(2), epoll
//! or a reactor and call [`consume`](RingBuffer::consume), which does not wait. With an edge-triggered reactor such as tokio's, `consume`
//! reads until nothing is left, so no wakeup is missed (`AsyncFd` takes anything that is `AsRawFd`, for which `as_fd().as_raw_fd()`
//! of the buffer serves):
//!
//! ```ignore
//! struct Fd(std::os::fd::RawFd); // impl AsRawFd for Fd
//! let ready = AsyncFd::with_interest(Fd(events.as_fd().as_raw_fd()), Interest::READABLE)?;
//! loop {
//!     let mut guard = ready.readable().await?;
//!     events.consume()?; // callbacks run here, on this task
//!     guard.clear_ready();
//! }
//! ```
//!
//! A callback that stops early leaves records behind: do not clear the readiness then.
//!
//! # What callbacks may do
//!
//! Anything: no lock is held while they run. The record is theirs until they return; the kernel writes there only afterwards. Should
//! one panic and be caught, its record counts as read. They return `()` or [`ControlFlow<()>`]: `Break` ends the
//! call that runs them, its record counted as read.

mod error;
mod perf;
mod ring_buffer;
#[cfg(test)]
mod tests;
mod user;

pub use crate::sys::RingFault;
pub use error::RingError;
pub use perf::{PerfBuffer, PerfBufferOptions, Wakeup};
pub use ring_buffer::RingBuffer;
pub use user::{Sample, UserRingBuffer};

use core::ops::ControlFlow;

/// What a callback returns: nothing, or whether to go on.
pub trait Flow {
    /// Whether to go on.
    fn flow(self) -> ControlFlow<()>;
}

impl Flow for () {
    fn flow(self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Flow for ControlFlow<()> {
    fn flow(self) -> Self {
        self
    }
}

/// What a call that ran callbacks came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consumed {
    /// Records given to callbacks.
    pub records: usize,
    /// Whether a callback said to stop.
    pub stopped: bool,
}

impl Consumed {
    fn add(&mut self, other: Self) {
        self.records = self.records.saturating_add(other.records);
        self.stopped |= other.stopped;
    }
}
