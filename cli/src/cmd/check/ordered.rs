//! Parallel work on many units (kernels or archives of kernels), with results in the order of the units.
//!
//! The number of results in memory depends on the number of threads, not on the number of units.

use core_relo_kernels::threads::{Threads, lock, start};
use std::{
    collections::VecDeque,
    io,
    ops::ControlFlow,
    sync::{Mutex, mpsc},
    thread,
};

/// The maximum number of started units for each thread. Threads start later units while a slow unit is not
/// finished.
const STARTED_PER_THREAD: usize = 8;

/// The maximum number of results of one unit that wait for earlier units. A thread that has more results
/// blocks.
const WAITING_RESULTS: usize = 16;

/// A broken invariant: the queue of units is open until the last thread has ended.
const QUEUE_IS_GONE: &str = "internal error: the queue of units was closed before the last unit was started";

/// Calls `work` for every unit. Passes the results to `emit` in the order of the units, and `None` at the end
/// of each unit.
///
/// An error of `emit` stops the work: from then on, `work` receives `Break` for each result.
pub(super) fn for_each_in_order<U: Sync, R: Send>(
    threads: &Threads,
    units: &[U],
    work: impl Fn(&U, &mut dyn FnMut(R) -> ControlFlow<()>) + Sync,
    mut emit: impl FnMut(Option<R>) -> io::Result<()>,
) -> io::Result<()> {
    let count = threads.count_for(units.len());
    if count <= 1 {
        return sequentially(units, work, emit);
    }
    let (sender, waiting) = mpsc::channel::<(&U, mpsc::SyncSender<Message<R>>)>();
    let waiting = Mutex::new(waiting);
    let worker = || {
        loop {
            let next = lock(&waiting).recv();
            let Ok((unit, messages)) = next else { return };
            let send = |message| match messages.send(message) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            work(unit, &mut |result| send(Message::Result(result)));
            // Nobody receives the end after an error of `emit`.
            let _is_received = send(Message::End);
        }
    };
    thread::scope(|scope| {
        let max_started = start(scope, count, &worker).saturating_mul(STARTED_PER_THREAD);
        if max_started == 0 {
            return sequentially(units, &work, emit);
        }
        // The threads end when the sender is dropped: with this closure.
        let sender = sender;
        let mut units = units.iter();
        let mut started = VecDeque::new();
        loop {
            while started.len() < max_started {
                let Some(unit) = units.next() else { break };
                let (messages, receiver) = mpsc::sync_channel(WAITING_RESULTS);
                // Units start in order, so a blocked thread waits only for units that have started.
                sender.send((unit, messages)).map_err(|_| io::Error::other(QUEUE_IS_GONE))?;
                started.push_back(receiver);
            }
            let Some(first) = started.pop_front() else { return Ok(()) };
            loop {
                match first.recv() {
                    Ok(Message::Result(result)) => emit(Some(result))?,
                    Ok(Message::End) => break,
                    // The thread of this unit has panicked. The panic continues at the end of the scope.
                    Err(_) => return Ok(()),
                }
            }
            emit(None)?;
        }
    })
}

/// A message from a thread about its unit.
enum Message<R> {
    Result(R),
    /// The unit is complete.
    End,
}

fn sequentially<U, R>(
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
        num::NonZeroUsize,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
        thread,
        time::Duration,
    };

    fn jobs(n: usize) -> Threads {
        Threads::new(NonZeroUsize::new(n))
    }

    #[test]
    fn results_keep_the_order_of_the_units_and_few_wait() {
        let units: Vec<usize> = (0..300).collect();
        for n in [1, 2, 4] {
            let (sent, max_waiting) = (AtomicUsize::new(0), AtomicUsize::new(0));
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
            for_each_in_order(&jobs(n), &units, work, |result| {
                if let Some(result) = result {
                    got.push(result);
                    max_waiting.fetch_max(sent.load(Relaxed) - got.len(), Relaxed);
                }
                Ok(())
            })
            .unwrap();
            let expected: Vec<_> =
                units.iter().flat_map(|u| (0..u % 40).map(move |part| (*u, part))).collect();
            assert_eq!(got, expected, "{n} jobs");
            let max_waiting = max_waiting.into_inner();
            assert!(
                max_waiting <= n * (STARTED_PER_THREAD + 1) * (WAITING_RESULTS + 1),
                "{max_waiting} results waited, {n} jobs"
            );
        }
    }

    #[test]
    fn an_error_stops_the_work() {
        let units: Vec<usize> = (0..10_000).collect();
        for n in [1, 4] {
            let done = AtomicUsize::new(0);
            let work = |unit: &usize, send: &mut dyn FnMut(usize) -> ControlFlow<()>| {
                done.fetch_add(1, Relaxed);
                while *unit == 7 && send(*unit).is_continue() {}
            };
            let mut left = 5;
            let ended = for_each_in_order(&jobs(n), &units, work, |result| match result {
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

    #[test]
    fn a_panic_of_the_work_reaches_the_caller() {
        let units = [0u32; 1000];
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || {
            let work = |_: &u32, _: &mut dyn FnMut(u32) -> ControlFlow<()>| panic!("in each unit");
            let run = || for_each_in_order(&jobs(2), &units, work, |_| Ok(()));
            sender.send(std::panic::catch_unwind(run).is_err()).unwrap();
        });
        // The time limit ends the test if no thread is left.
        assert_eq!(ended.recv_timeout(Duration::from_secs(60)), Ok(true));
    }
}
