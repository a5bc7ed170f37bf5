//! Ring buffers, perf buffers and user ring buffers.
//!
//! * [`RingBuffer`] reads maps of type `RINGBUF`: records of all CPUs in order, without copies.
//! * [`PerfBuffer`] reads a `PERF_EVENT_ARRAY`, which older kernels have too: one ring per CPU, and the
//!   number of lost samples.
//! * [`UserRingBuffer`] writes a `USER_RINGBUF`, which BPF programs read.
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
//! # Event loops
//!
//! Each buffer is [`AsFd`](std::os::fd::AsFd). The descriptor becomes readable when there are records. Add it
//! to poll(2), epoll or a reactor, and call [`consume`](RingBuffer::consume), which does not wait. `consume`
//! reads until the ring is empty, so an edge-triggered reactor such as tokio's misses no wakeup. `AsyncFd`
//! takes any `AsRawFd`, such as a wrapper of `as_fd().as_raw_fd()`:
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
//! Records that a program sends without a wakeup (`BPF_RB_NO_WAKEUP`) do not make the descriptor readable:
//! call `consume` at intervals, as [`poll`](RingBuffer::poll) does by itself.
//!
//! A callback that stops early leaves records behind. Do not clear the readiness then.
//!
//! # Callbacks
//!
//! Callbacks may do anything, since no lock is held while they run. The record does not change until the
//! callback returns. If a callback panics and the caller catches the panic, the record counts as read.
//! Callbacks return `()` or [`ControlFlow<()>`](core::ops::ControlFlow). `Break` ends the call that runs
//! them, and the record counts as read.

mod error;
mod flow;
mod perf;
mod ring_buffer;
#[cfg(test)]
mod tests;
mod user;
mod wait;

pub use crate::sys::RingFault;
pub use error::RingError;
pub use flow::{CallbackResult, Consumed};
pub use perf::{PerfBuffer, PerfBufferOptions, Wakeup};
pub use ring_buffer::RingBuffer;
pub use user::{Sample, UserRingBuffer};
