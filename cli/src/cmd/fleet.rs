//! Many kernels at the same time, their results in order, and never more of them held than a few for each thread.

use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};
use std::{collections::VecDeque, io, num::NonZeroUsize, ops::ControlFlow, sync::mpsc, thread};

/// Units begun before the first unfinished one is through, for each thread: a slow one should not halt the others.
const AHEAD: usize = 8;

/// Results of one unit that wait for their turn. Then its thread does, too.
const WAITING: usize = 16;

/// Things that are worth a thread of their own together.
const WORTH_IT: usize = 32;

/// Threads for what is done to many things before or within a unit.
pub(crate) struct Threads(Option<ThreadPool>);

impl Threads {
    /// So many, or as many as there are processors; none but the present one for few items, or where threads are not to be had.
    pub(crate) fn new(jobs: Option<NonZeroUsize>, items: usize) -> Self {
        let jobs = count(jobs);
        let pool =
            (jobs > 1 && items >= WORTH_IT).then(|| ThreadPoolBuilder::new().num_threads(jobs).build());
        Self(pool.and_then(Result::ok))
    }

    /// The present one.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// What comes of each item, in their order.
    pub(crate) fn map<'i, I: Sync, R: Send>(
        &self,
        items: &'i [I],
        work: impl Fn(&'i I) -> R + Sync,
    ) -> Vec<R> {
        match &self.0 {
            Some(pool) if items.len() >= WORTH_IT => pool.install(|| items.par_iter().map(&work).collect()),
            _ => items.iter().map(work).collect(),
        }
    }

    /// The same of pieces, as many as there are threads.
    pub(crate) fn map_pieces<'i, I: Sync, R: Send>(
        &self,
        items: &'i [I],
        work: impl Fn(&'i [I]) -> Vec<R> + Sync,
    ) -> Vec<R> {
        match &self.0 {
            Some(pool) if items.len() >= WORTH_IT => {
                let piece = items.len().div_ceil(pool.current_num_threads().max(1));
                pool.install(|| items.par_chunks(piece).flat_map_iter(&work).collect())
            }
            _ => work(items),
        }
    }
}

fn count(jobs: Option<NonZeroUsize>) -> usize {
    jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

/// Does `work` on every unit; gives what comes of it to `emit`, in the units' order, and tells it where one ends (`None`).
///
/// An error of `emit` ends it all.
pub(crate) fn in_order<U: Sync, R: Send>(
    jobs: Option<NonZeroUsize>,
    units: &[U],
    work: impl Fn(&U, &mut dyn FnMut(R) -> ControlFlow<()>) + Sync,
    mut emit: impl FnMut(Option<R>) -> io::Result<()>,
) -> io::Result<()> {
    let jobs = count(jobs).min(units.len());
    if jobs <= 1 {
        return one_by_one(units, work, emit);
    }
    let pool = ThreadPoolBuilder::new().num_threads(jobs).build().map_err(io::Error::other)?;
    let work = &work;
    pool.in_place_scope_fifo(|scope| {
        let mut units = units.iter();
        let mut begun = VecDeque::new();
        loop {
            while begun.len() < jobs.saturating_mul(AHEAD) {
                let Some(unit) = units.next() else { break };
                let (results, to_emit) = mpsc::sync_channel(WAITING);
                // First in, first out: whoever waits for its turn waits for one that was begun.
                scope.spawn_fifo(move |_| {
                    work(unit, &mut |result| match results.send(result) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(_) => ControlFlow::Break(()),
                    });
                });
                begun.push_back(to_emit);
            }
            let Some(first) = begun.pop_front() else { return Ok(()) };
            first.into_iter().try_for_each(|result| emit(Some(result)))?;
            emit(None)?;
        }
    })
}

fn one_by_one<U, R>(
    units: &[U],
    work: impl Fn(&U, &mut dyn FnMut(R) -> ControlFlow<()>),
    mut emit: impl FnMut(Option<R>) -> io::Result<()>,
) -> io::Result<()> {
    for unit in units {
        let mut emitted = Ok(());
        work(unit, &mut |result| {
            emitted = emit(Some(result));
            if emitted.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        emitted?;
        emit(None)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
        time::Duration,
    };

    fn jobs(n: usize) -> Option<NonZeroUsize> {
        NonZeroUsize::new(n)
    }

    #[test]
    fn order_is_that_of_the_units_and_few_results_wait() {
        let units: Vec<usize> = (0..300).collect();
        for n in [1, 2, 4] {
            let (sent, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let mut got = Vec::new();
            let work = |unit: &usize, send: &mut dyn FnMut((usize, usize)) -> ControlFlow<()>| {
                if unit.is_multiple_of(50) {
                    thread::sleep(Duration::from_millis(5));
                }
                for part in 0..unit % 40 {
                    sent.fetch_add(1, Relaxed);
                    assert!(send((*unit, part)).is_continue());
                }
            };
            in_order(jobs(n), &units, work, |result| {
                if let Some(result) = result {
                    got.push(result);
                    most.fetch_max(sent.load(Relaxed) - got.len(), Relaxed);
                }
                Ok(())
            })
            .unwrap();
            let expected: Vec<_> =
                units.iter().flat_map(|u| (0..u % 40).map(move |part| (*u, part))).collect();
            assert_eq!(got, expected, "{n} jobs");
            let most = most.into_inner();
            assert!(most <= n * (AHEAD + 1) * (WAITING + 1), "{most} results waited, {n} jobs");
        }
    }

    #[test]
    fn items_keep_their_order_on_any_number_of_threads() {
        for threads in
            [Threads::none(), Threads::new(jobs(1), 99), Threads::new(jobs(3), 99), Threads::new(None, 99)]
        {
            for len in [0, 1, WORTH_IT - 1, WORTH_IT, 1000] {
                let items: Vec<usize> = (0..len).collect();
                let doubled: Vec<_> = items.iter().map(|n| 2 * n).collect();
                assert_eq!(threads.map(&items, |n| 2 * n), doubled);
                assert_eq!(threads.map_pieces(&items, |n| n.iter().map(|n| 2 * n).collect()), doubled);
            }
        }
    }

    #[test]
    fn an_error_ends_it() {
        let units: Vec<usize> = (0..10_000).collect();
        for n in [1, 4] {
            let done = AtomicUsize::new(0);
            let work = |unit: &usize, send: &mut dyn FnMut(usize) -> ControlFlow<()>| {
                done.fetch_add(1, Relaxed);
                while *unit == 7 && send(*unit).is_continue() {}
            };
            let mut left = 5;
            let ended = in_order(jobs(n), &units, work, |result| match result {
                Some(7) if left == 0 => Err(io::Error::other("full")),
                Some(_) => {
                    left -= 1;
                    Ok(())
                }
                None => Ok(()),
            });
            assert_eq!(ended.unwrap_err().to_string(), "full");
            assert!(done.into_inner() < 100);
        }
    }
}
