//! Rings of records that the kernel and a process share. Each function returns only memory that the other
//! side does not write.

mod consumer;
mod perf;
mod producer;
mod shared;

pub(crate) use consumer::KernelRing;
pub(crate) use perf::{PERF_MAP, PERF_OPEN, PerfRecord, PerfRing};
pub(crate) use producer::{Reservation, ReservedSample, UserRing};
pub use shared::RingFault;
pub(crate) use shared::{Claim, OpenFault};
