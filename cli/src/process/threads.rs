//! Worker threads: as many as requested, or as many as the system can create.

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder, prelude::*};
use std::{
    io,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

/// The minimum number of items that [`Threads::map`] spreads over threads.
const MIN_PARALLEL_ITEMS: usize = 32;

/// A thread pool that starts with the first work and grows with the number of items, up to a limit.
#[derive(Debug)]
pub(crate) struct Threads {
    count: usize,
    running: Mutex<RunningThreads>,
}

/// The running threads.
#[derive(Debug)]
struct RunningThreads {
    pool: Option<Arc<ThreadPool>>,
    /// Whether the system refused to create more threads.
    is_limited: bool,
}

impl RunningThreads {
    const NONE: Self = Self { pool: None, is_limited: false };

    /// Replaces the pool if it has fewer than `wanted` threads.
    ///
    /// The new pool has at least twice as many threads as the old one, up to `max`. Callers with one item more each time then start
    /// few pools.
    fn grow(&mut self, wanted: usize, max: usize) {
        let current = self.pool.as_ref().map_or(0, |pool| pool.current_num_threads());
        if current >= wanted || self.is_limited {
            return;
        }
        let wanted = wanted.max(current.saturating_mul(2)).min(max);
        let pool = start(wanted, spawn);
        let granted = pool.as_ref().map_or(0, ThreadPool::current_num_threads);
        self.is_limited = granted < wanted;
        if granted > current {
            self.pool = pool.map(Arc::new);
        }
    }
}

impl Threads {
    /// Sets the limit to `jobs` threads, or to one thread for each CPU. With one job, the calling thread does the work.
    pub(crate) fn new(jobs: Option<NonZeroUsize>) -> Self {
        let count = jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        Self { count, running: Mutex::new(RunningThreads::NONE) }
    }

    /// Creates a pool that starts no thread. The calling thread does the work.
    pub(crate) const fn none() -> Self {
        Self { count: 1, running: Mutex::new(RunningThreads::NONE) }
    }

    /// Returns the pool for `items` items, or `None` if the calling thread does the work.
    pub(crate) fn pool(&self, items: usize) -> Option<Arc<ThreadPool>> {
        if self.count <= 1 || items <= 1 {
            return None;
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.grow(self.count.min(items), self.count);
        running.pool.clone()
    }

    /// Maps each item. The results have the order of the items.
    pub(crate) fn map<'i, I: Sync, R: Send>(
        &self,
        items: &'i [I],
        work: impl Fn(&'i I) -> R + Sync,
    ) -> Vec<R> {
        match self.pool_for_map(items.len()) {
            Some(pool) => pool.install(|| items.par_iter().map(&work).collect()),
            None => items.iter().map(work).collect(),
        }
    }

    /// Maps chunks of the items, one chunk for each thread. The results have the order of the items.
    pub(crate) fn map_chunks<'i, I: Sync, R: Send>(
        &self,
        items: &'i [I],
        work: impl Fn(&'i [I]) -> Vec<R> + Sync,
    ) -> Vec<R> {
        match self.pool_for_map(items.len()) {
            Some(pool) => {
                let chunk_len = items.len().div_ceil(pool.current_num_threads().max(1));
                pool.install(|| items.par_chunks(chunk_len).flat_map_iter(&work).collect())
            }
            None => work(items),
        }
    }

    fn pool_for_map(&self, items: usize) -> Option<Arc<ThreadPool>> {
        if items < MIN_PARALLEL_ITEMS { None } else { self.pool(items) }
    }
}

/// The main function of a thread: waits for its [`ThreadBuilder`], and runs it as a worker of the pool.
type Worker = Box<dyn FnOnce() + Send>;

fn spawn(worker: Worker) -> io::Result<()> {
    thread::Builder::new().name("worker".to_owned()).spawn(worker).map(drop)
}

/// Starts a pool of at most `count` threads: fewer if the system cannot create more, `None` if it cannot create any.
///
/// The threads start before the pool, because rayon creates a pool of a fixed size or fails.
fn start(count: usize, mut spawn: impl FnMut(Worker) -> io::Result<()>) -> Option<ThreadPool> {
    let (builders, receiver) = mpsc::channel::<ThreadBuilder>();
    let receiver = Arc::new(Mutex::new(receiver));
    let mut started = 0usize;
    for _ in 0..count {
        let receiver = Arc::clone(&receiver);
        let worker = Box::new(move || {
            let builder = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            if let Ok(builder) = builder {
                builder.run();
            }
        });
        if let Err(e) = spawn(worker) {
            log::info!("{started} threads of {count}: no more can be created: {e}");
            break;
        }
        started = started.saturating_add(1);
    }
    if started == 0 {
        return None;
    }
    let send = move |builder| builders.send(builder).map_err(|_| io::Error::other("the thread has ended"));
    let pool = ThreadPoolBuilder::new().num_threads(started).spawn_handler(send).build();
    pool.inspect_err(|e| log::info!("no threads: {e}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order_on_any_number_of_threads() {
        let jobs = |n| Threads::new(NonZeroUsize::new(n));
        for threads in [Threads::none(), jobs(1), jobs(3), Threads::new(None)] {
            for len in [0, 1, MIN_PARALLEL_ITEMS - 1, MIN_PARALLEL_ITEMS, 1000] {
                let items: Vec<usize> = (0..len).collect();
                let doubled: Vec<_> = items.iter().map(|n| 2 * n).collect();
                assert_eq!(threads.map(&items, |n| 2 * n), doubled);
                assert_eq!(threads.map_chunks(&items, |n| n.iter().map(|n| 2 * n).collect()), doubled);
            }
        }
    }

    #[test]
    fn one_job_starts_no_thread() {
        let threads = Threads::new(NonZeroUsize::new(1));
        assert!(threads.pool(1000).is_none() && Threads::none().pool(1000).is_none());
        let threads = Threads::new(Some(NonZeroUsize::MAX));
        assert!(threads.pool(1).is_none(), "one item needs no thread");
        let threads = Threads::new(NonZeroUsize::new(10));
        // More items start more threads, up to the number that was requested.
        for (items, expected) in [(3, 3), (2, 3), (4, 6), (6, 6), (7, 10), (1000, 10)] {
            let pool = threads.pool(items);
            assert_eq!(pool.map(|pool| pool.current_num_threads()), Some(expected), "{items} items");
        }
    }

    #[test]
    fn the_pool_has_as_many_threads_as_can_be_created() {
        for granted in 0..5 {
            let mut left = granted;
            let pool = start(4, |worker| {
                left = usize::checked_sub(left, 1).ok_or(io::ErrorKind::WouldBlock)?;
                spawn(worker)
            });
            let expected = (granted > 0).then_some(granted.min(4));
            assert_eq!(pool.as_ref().map(ThreadPool::current_num_threads), expected);
            let sum = |pool: ThreadPool| pool.install(|| (0..100u32).into_par_iter().sum::<u32>());
            assert_eq!(pool.map(sum), expected.map(|_| 4950));
        }
    }
}
