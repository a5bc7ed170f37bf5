//! Worker threads: as many as requested, or as many as the system can create.

use core_relo_verdict::fleet::Workers;
use std::{
    num::NonZeroUsize,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, Scope},
};

/// The minimum number of items that [`Threads::map`] spreads over threads.
const MIN_PARALLEL_ITEMS: usize = 32;

/// The number of chunks of [`Threads::map`] for each thread. Threads that are done early take more of them.
const CHUNKS_PER_THREAD: usize = 8;

/// A limit on the number of threads. Threads start with each call, and end with it.
#[derive(Debug)]
pub struct Threads {
    count: usize,
}

impl Threads {
    /// Sets the limit to `jobs` threads, or to one thread for each CPU. With one job, the calling thread does
    /// the work.
    pub fn new(jobs: Option<NonZeroUsize>) -> Self {
        let count = jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        Self { count }
    }

    /// Sets the limit to the calling thread.
    pub const fn none() -> Self {
        Self { count: 1 }
    }

    /// Returns the number of threads that share `items` items.
    pub fn count_for(&self, items: usize) -> usize {
        self.count.min(items)
    }

    /// Maps each item. The results have the order of the items.
    pub fn map<'i, I: Sync, R: Send>(&self, items: &'i [I], work: impl Fn(&'i I) -> R + Sync) -> Vec<R> {
        self.map_in_chunks(items, CHUNKS_PER_THREAD, |chunk| chunk.iter().map(&work).collect())
    }

    fn map_in_chunks<'i, I: Sync, R: Send>(
        &self,
        items: &'i [I],
        chunks_per_thread: usize,
        work: impl Fn(&'i [I]) -> Vec<R> + Sync,
    ) -> Vec<R> {
        let count = self.count_for(items.len());
        if count <= 1 || items.len() < MIN_PARALLEL_ITEMS {
            return work(items);
        }
        let chunk_len = items.len().div_ceil(count.saturating_mul(chunks_per_thread));
        let waiting = Mutex::new(items.chunks(chunk_len).enumerate());
        let done = Mutex::new(Vec::new());
        let worker = || {
            while let Some((index, chunk)) = take_next(&waiting) {
                let results = work(chunk);
                lock(&done).push((index, results));
            }
        };
        // A panic of a worker continues here when the other threads are done.
        thread::scope(|scope| {
            start(scope, count.saturating_sub(1), &worker);
            worker();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(index, _)| *index);
        done.into_iter().flat_map(|(_, results)| results).collect()
    }
}

impl Workers for Threads {
    fn map_chunks<'i, I: Sync, R: Send>(
        &self,
        items: &'i [I],
        work: impl Fn(&'i [I]) -> Vec<R> + Sync,
    ) -> Vec<R> {
        self.map_in_chunks(items, 1, work)
    }
}

/// Takes the next item, and unlocks the iterator.
fn take_next<I: Iterator>(items: &Mutex<I>) -> Option<I::Item> {
    lock(items).next()
}

/// Locks a value. No work runs while it is locked, so a panic leaves it whole.
pub fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts `count` threads that do the work, or as many as the system can create, and returns their number.
pub fn start<'s>(scope: &'s Scope<'s, '_>, count: usize, work: &'s (impl Fn() + Sync)) -> usize {
    for started in 0..count {
        let thread = thread::Builder::new().name("worker".to_owned());
        if let Err(e) = thread.spawn_scoped(scope, work) {
            log::info!("{started} threads of {count}: no more can be created: {e}");
            return started;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        collections::HashSet,
        panic::{AssertUnwindSafe, catch_unwind},
        sync::atomic::{AtomicBool, Ordering::Relaxed},
        time::{Duration, Instant},
    };

    fn jobs(n: usize) -> Threads {
        Threads::new(NonZeroUsize::new(n))
    }

    #[test]
    fn items_keep_their_order_on_any_number_of_threads() {
        for threads in [Threads::none(), jobs(1), jobs(3), jobs(100), Threads::new(None)] {
            for len in [0, 1, MIN_PARALLEL_ITEMS - 1, MIN_PARALLEL_ITEMS, 1000] {
                let items: Vec<usize> = (0..len).collect();
                let doubled: Vec<_> = items.iter().map(|n| 2 * n).collect();
                assert_eq!(threads.map(&items, |n| 2 * n), doubled);
                assert_eq!(threads.map_chunks(&items, |n| n.iter().map(|n| 2 * n).collect()), doubled);
            }
        }
    }

    #[test]
    fn there_are_no_more_threads_than_jobs_and_items() {
        for (jobs, items, expected) in [(1, 1000, 1), (10, 1, 1), (10, 3, 3), (10, 1000, 10)] {
            assert_eq!(Threads::new(NonZeroUsize::new(jobs)).count_for(items), expected, "{items} items");
        }
        assert_eq!(Threads::none().count_for(1000), 1);
        let items: Vec<u32> = (0..1000).collect();
        let threads: HashSet<_> = jobs(3).map(&items, |_| thread::current().id()).into_iter().collect();
        assert!(threads.len() <= 3, "{threads:?}");
        // There are as many chunks as threads; the calling thread takes chunks, too.
        assert_eq!(jobs(3).map_chunks(&items, |chunk| vec![chunk.len()]), [334, 334, 332]);
    }

    #[test]
    fn a_panic_of_a_thread_reaches_the_caller() {
        let (items, caller) = ([0u32; 1000], thread::current().id());
        let has_run = AtomicBool::new(false);
        let work = |_: &u32| {
            if thread::current().id() != caller {
                has_run.store(true, Relaxed);
                panic!("expected by a test: in a worker");
            }
            // The calling thread leaves items to the worker.
            let start = Instant::now();
            while !has_run.load(Relaxed) && start.elapsed() < Duration::from_secs(60) {
                thread::yield_now();
            }
        };
        catch_unwind(AssertUnwindSafe(|| jobs(2).map(&items, work))).unwrap_err();
        assert!(has_run.load(Relaxed));
    }
}
