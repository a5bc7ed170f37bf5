//! Maps on the running kernel.
#![cfg(test)]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers")]

mod arrays;
mod concurrent;
mod memory;
mod objects;
mod tables;

/// Threads can share handles.
#[test]
fn handles_are_send_and_sync() {
    fn send_and_sync<T: Send + Sync>() {}
    fn send<T: Send>() {}
    send_and_sync::<super::PerCpuHashMap<u32, u64>>();
    send_and_sync::<super::SockHash<u32>>();
    send_and_sync::<super::MappedMap>();
    send_and_sync::<super::Arena>();
    send_and_sync::<crate::ring::UserRingBuffer>();
    send::<crate::ring::RingBuffer<'_>>();
    send::<crate::ring::PerfBuffer<'_>>();
}
