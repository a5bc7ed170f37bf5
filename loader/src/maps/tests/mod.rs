//! Maps on the running kernel.
#![cfg(test)]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers")]

mod arrays;
mod concurrent;
mod memory;
mod objects;
mod tables;

/// Handles may be shared among threads.
#[test]
fn handles_are_send_and_sync() {
    fn both<T: Send + Sync>() {}
    fn send<T: Send>() {}
    both::<super::PerCpuHashMap<u32, u64>>();
    both::<super::SockHash<u32>>();
    both::<super::MappedMap>();
    both::<super::Arena>();
    both::<crate::ring::UserRingBuffer>();
    send::<crate::ring::RingBuffer<'_>>();
    send::<crate::ring::PerfBuffer<'_>>();
}
