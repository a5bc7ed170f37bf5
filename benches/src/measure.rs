//! Time measurement in turns: every peer runs a job once before the next round, so that disturbances affect
//! all peers.

use crate::{job::Ready, peer::Peer};
use std::time::{Duration, Instant};

/// The time for all rounds of a job.
const BUDGET: Duration = Duration::from_secs(10);
/// The smallest and the largest number of rounds.
const ROUNDS: [usize; 2] = [5, 301];

/// The times of one peer, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Median of the wall clock.
    pub wall: f64,
    /// Median of the CPU time of all threads.
    pub cpu: f64,
    /// Mean of the CPU time outside the kernel, from getrusage(2). Most kernels sample it at each timer tick,
    /// for example every 4 ms, so that only a sum of many runs is meaningful.
    pub user: f64,
    /// The shortest run by the wall clock.
    pub shortest: f64,
    pub rounds: usize,
}

/// Runs each job `rounds` times, or as often as [`BUDGET`] allows. Returns the times in the order of `ready`.
pub fn in_turns(ready: &[(Peer, Ready)], rounds: Option<usize>) -> Result<Vec<Times>, String> {
    in_turns_within(BUDGET, ready, rounds)
}

/// Runs each job with another budget.
pub fn in_turns_within(
    budget: Duration,
    ready: &[(Peer, Ready)],
    rounds: Option<usize>,
) -> Result<Vec<Times>, String> {
    let first = ready.iter().map(|(_, job)| measure_once(|| job.run())).collect::<Result<Vec<_>, _>>()?;
    let one_round = first.iter().map(|sample| sample.wall).sum();
    let rounds = rounds.unwrap_or_else(|| affordable_rounds(budget, one_round));
    let mut samples = vec![Vec::new(); ready.len()];
    for round in 0..rounds {
        for turn in 0..ready.len() {
            // The first peer changes each round, so that no peer always profits from the same caches.
            let at = (turn + round) % ready.len();
            samples[at].push(measure_once(|| ready[at].1.run())?);
        }
    }
    Ok(samples.iter().map(|samples| Times::from_samples(samples)).collect())
}

/// Repeats a job of core-relo alone `rounds` times, or as often as a part of [`BUDGET`] allows.
pub fn repeat(rounds: Option<usize>, mut run: impl FnMut() -> Result<(), String>) -> Result<Times, String> {
    let first = measure_once(&mut run)?;
    let rounds = rounds.unwrap_or_else(|| affordable_rounds(BUDGET / 5, first.wall));
    let samples = (0..rounds).map(|_| measure_once(&mut run)).collect::<Result<Vec<_>, _>>()?;
    Ok(Times::from_samples(&samples))
}

fn affordable_rounds(budget: Duration, one_round: Duration) -> usize {
    let affordable = budget.as_nanos() / one_round.as_nanos().max(1);
    (affordable as usize).clamp(ROUNDS[0], ROUNDS[1])
}

/// Returns the shortest CPU time of several runs in milliseconds. It runs the job for half a second and at
/// least three times, or once if a run takes long.
///
/// Each run allocates its memory anew, as in a process that runs the job once. Otherwise glibc would keep
/// blocks of up to 32 MiB, and larger blocks would seem more expensive.
pub fn shortest(ready: &Ready) -> Result<f64, String> {
    #[cfg(target_env = "gnu")]
    // SAFETY: the setting of the allocator changes before other threads start.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
    }
    let begin = Instant::now();
    let (mut shortest, mut runs) = (f64::INFINITY, 0);
    while begin.elapsed() < Duration::from_millis(500)
        || (runs < 3 && begin.elapsed() < Duration::from_secs(4))
    {
        shortest = shortest.min(ms(measure_once(|| ready.run())?.cpu));
        runs += 1;
    }
    Ok(shortest)
}

impl Times {
    fn from_samples(samples: &[Sample]) -> Self {
        let all = |field: fn(&Sample) -> Duration| {
            samples.iter().map(|sample| ms(field(sample))).collect::<Vec<_>>()
        };
        let (wall, cpu, user) = (all(|s| s.wall), all(|s| s.cpu), all(|s| s.user));
        let shortest = wall.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (user, rounds) = (mean(&user), samples.len());
        Self { wall: median(wall), cpu: median(cpu), user, shortest, rounds }
    }

    /// Returns true if other processes used the CPU during the measurement.
    pub fn was_disturbed(&self) -> bool {
        self.wall > self.cpu * 1.1 + 0.05
    }
}

/// The times of one run.
#[derive(Clone, Copy, Debug)]
struct Sample {
    wall: Duration,
    cpu: Duration,
    user: Duration,
}

/// Measures one run.
fn measure_once(run: impl FnOnce() -> Result<(), String>) -> Result<Sample, String> {
    let (wall, cpu, user) = (Instant::now(), cpu_time(), user_time());
    run()?;
    Ok(Sample {
        wall: wall.elapsed(),
        cpu: cpu_time().saturating_sub(cpu),
        user: user_time().saturating_sub(user),
    })
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the median, NaN of no values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 if middle > 0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values.get(middle).copied().unwrap_or(f64::NAN),
    }
}

/// Returns the CPU time of this process.
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the CPU time of this process outside the kernel.
fn user_time() -> Duration {
    // SAFETY: all fields are numbers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for writes.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    Duration::new(usage.ru_utime.tv_sec as u64, usage.ru_utime.tv_usec as u32 * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value_or_the_mean_of_two() {
        assert_eq!(median(vec![3.0, 1.0, 9.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 3.0, 9.0]), 3.5);
        assert!(median(Vec::new()).is_nan());
    }
}
