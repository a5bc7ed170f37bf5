//! Time, in turns: every peer does a job once before the first does it again, so that what disturbs one disturbs all.

use crate::{job::Ready, peer::Peer};
use std::time::{Duration, Instant};

/// Time that a job's rounds may take together, and how many they are at least and at most.
const BUDGET: Duration = Duration::from_secs(10);
const ROUNDS: [usize; 2] = [5, 301];

/// What one peer's runs took, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Median of the wall clock.
    pub wall: f64,
    /// Median of the processor's time, all threads together.
    pub cpu: f64,
    /// Mean of the processor's time outside of the kernel, as getrusage(2) has it. Most kernels tell the two apart at each tick
    /// of their clock (every 4 ms, say), so that only a sum of many runs means something.
    pub user: f64,
    /// The shortest run, by the wall clock.
    pub shortest: f64,
    pub rounds: usize,
}

/// Runs each `ready` so often; the result is in their order.
pub fn in_turns(ready: &[(Peer, Ready)], rounds: Option<usize>) -> Result<Vec<Times>, String> {
    in_turns_within(BUDGET, ready, rounds)
}

/// The same, in another time than [`BUDGET`].
pub fn in_turns_within(
    budget: Duration,
    ready: &[(Peer, Ready)],
    rounds: Option<usize>,
) -> Result<Vec<Times>, String> {
    let first = ready.iter().map(|(_, job)| once(job)).collect::<Result<Vec<_>, _>>()?;
    let one_round: Duration = first.iter().map(|spent| spent.wall).sum();
    let affordable = budget.as_nanos() / one_round.as_nanos().max(1);
    let rounds = rounds.unwrap_or_else(|| (affordable as usize).clamp(ROUNDS[0], ROUNDS[1]));
    let mut samples = vec![Vec::new(); ready.len()];
    for round in 0..rounds {
        for turn in 0..ready.len() {
            // Who comes first changes, so that nobody always finds another's leavings in the caches.
            let at = (turn + round) % ready.len();
            samples[at].push(once(&ready[at].1)?);
        }
    }
    Ok(samples.iter().map(|samples| Times::of(samples)).collect())
}

/// The shortest of as many runs as half a second allows, three at least (one if that takes long), in milliseconds of the
/// processor's time.
///
/// Memory is given back and asked for anew each time, as by a process that does the job once: otherwise glibc comes to keep
/// blocks of up to 32 MiB, and what is larger looks as if it cost more.
pub fn shortest(ready: &Ready) -> Result<f64, String> {
    #[cfg(target_env = "gnu")]
    // SAFETY: a setting of the allocator, made before other threads are.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
    }
    let begin = Instant::now();
    let (mut shortest, mut runs) = (f64::INFINITY, 0);
    while begin.elapsed() < Duration::from_millis(500)
        || (runs < 3 && begin.elapsed() < Duration::from_secs(4))
    {
        shortest = shortest.min(ms(once(ready)?.cpu));
        runs += 1;
    }
    Ok(shortest)
}

impl Times {
    fn of(samples: &[Spent]) -> Self {
        let all = |of: fn(&Spent) -> Duration| samples.iter().map(|spent| ms(of(spent))).collect::<Vec<_>>();
        let (wall, cpu, user) = (all(|s| s.wall), all(|s| s.cpu), all(|s| s.user));
        let shortest = wall.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (user, rounds) = (mean(&user), samples.len());
        Self { wall: median(wall), cpu: median(cpu), user, shortest, rounds }
    }

    /// Whether others had the processor while it was measured.
    pub fn was_disturbed(&self) -> bool {
        self.wall > self.cpu * 1.1 + 0.05
    }
}

/// What one run took.
#[derive(Clone, Copy, Debug)]
struct Spent {
    wall: Duration,
    cpu: Duration,
    user: Duration,
}

fn once(job: &Ready) -> Result<Spent, String> {
    let (wall, cpu, user) = (Instant::now(), cpu_time(), user_time());
    job.run()?;
    Ok(Spent {
        wall: wall.elapsed(),
        cpu: cpu_time().saturating_sub(cpu),
        user: user_time().saturating_sub(user),
    })
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 if middle > 0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values.get(middle).copied().unwrap_or(f64::NAN),
    }
}

/// What this process has had of the processors so far.
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it is written where `time` lies.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What of it was not spent in the kernel.
fn user_time() -> Duration {
    // SAFETY: a record of numbers, for which zeroes are good.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it is written where `usage` lies.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    Duration::new(usage.ru_utime.tv_sec as u64, usage.ru_utime.tv_usec as u32 * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_one_in_the_middle_or_between_two() {
        assert_eq!(median(vec![3.0, 1.0, 9.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 3.0, 9.0]), 3.5);
        assert!(median(Vec::new()).is_nan());
    }
}
