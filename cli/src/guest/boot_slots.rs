//! The number of guests that run at the same time: no more than fit into the free memory.

use core_relo_kernels::threads::lock;
use std::{
    fs,
    num::NonZeroUsize,
    sync::{Condvar, Mutex, PoisonError},
};

/// The memory of a guest in MiB, with that of QEMU: the translated code of an emulated kernel takes 256 MiB.
const GUEST_MIB: u64 = 1536;

/// The number of guests that may start. A guest that starts takes a slot, and returns it when it ends.
#[derive(Debug)]
pub(crate) struct BootSlots {
    free: Mutex<usize>,
    is_freed: Condvar,
}

/// A slot that is taken until the value is dropped.
pub(crate) struct BootSlot<'s> {
    slots: &'s BootSlots,
}

impl BootSlots {
    /// Creates as many slots as the user asks for with `--jobs`, or as many as fit into the free memory, and
    /// at least one. The number of processors limits the threads that take slots.
    pub(crate) fn new(jobs: usize) -> Self {
        let count = match NonZeroUsize::new(jobs) {
            Some(jobs) => jobs.get(),
            None => free_mib().map_or(usize::MAX, guests_within),
        };
        log::debug!("at most {count} guests at the same time");
        Self { free: Mutex::new(count), is_freed: Condvar::new() }
    }

    /// Waits for a free slot, and takes it.
    pub(crate) fn take(&self) -> BootSlot<'_> {
        let is_full = |free: &mut usize| *free == 0;
        let free = self.is_freed.wait_while(lock(&self.free), is_full);
        let mut free = free.unwrap_or_else(PoisonError::into_inner);
        *free = free.saturating_sub(1);
        BootSlot { slots: self }
    }
}

impl Drop for BootSlot<'_> {
    fn drop(&mut self) {
        let mut free = lock(&self.slots.free);
        *free = free.saturating_add(1);
        self.slots.is_freed.notify_one();
    }
}

/// Returns the number of guests that fit into free memory.
fn guests_within(mib: u64) -> usize {
    usize::try_from(mib / GUEST_MIB).unwrap_or(usize::MAX).max(1)
}

/// Returns the free memory of the system in MiB, if it is known.
fn free_mib() -> Option<u64> {
    parse_free_mib(&fs::read_to_string("/proc/meminfo").ok()?)
}

/// Returns the value of `MemAvailable` in `/proc/meminfo`, in MiB.
fn parse_free_mib(meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib >> 10)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use std::{
        sync::atomic::{AtomicUsize, Ordering::SeqCst},
        thread,
        time::Duration,
    };

    #[test]
    fn guests_fit_into_free_memory() {
        let meminfo = "MemTotal:       16000000 kB\nMemAvailable:    6389760 kB\n";
        assert_eq!(parse_free_mib(meminfo), Some(6240));
        assert_eq!([guests_within(6240), guests_within(100)], [4, 1]);
        assert_eq!(parse_free_mib("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn no_more_guests_run_than_there_are_slots() {
        let slots = BootSlots::new(2);
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _slot = slots.take();
                    most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                    thread::sleep(Duration::from_millis(5));
                    running.fetch_sub(1, SeqCst);
                });
            }
        });
        assert_eq!(most.into_inner(), 2);
    }
}
