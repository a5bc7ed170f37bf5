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
    /// The shortest run, by the wall clock.
    pub shortest: f64,
    pub rounds: usize,
}

/// Runs each `ready` so often; the result is in their order.
pub fn in_turns(ready: &[(Peer, Ready)], rounds: Option<usize>) -> Result<Vec<Times>, String> {
    let first = ready.iter().map(|(_, job)| once(job)).collect::<Result<Vec<_>, _>>()?;
    let one_round: Duration = first.iter().map(|(wall, _)| *wall).sum();
    let affordable = BUDGET.as_nanos() / one_round.as_nanos().max(1);
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
        let (_, cpu) = once(ready)?;
        shortest = shortest.min(cpu.as_secs_f64() * 1e3);
        runs += 1;
    }
    Ok(shortest)
}

impl Times {
    fn of(samples: &[(Duration, Duration)]) -> Self {
        let wall: Vec<f64> = samples.iter().map(|(wall, _)| wall.as_secs_f64() * 1e3).collect();
        let cpu: Vec<f64> = samples.iter().map(|(_, cpu)| cpu.as_secs_f64() * 1e3).collect();
        let shortest = wall.iter().copied().fold(f64::INFINITY, f64::min);
        Self { wall: median(wall), cpu: median(cpu), shortest, rounds: samples.len() }
    }

    /// Whether others had the processor while it was measured.
    pub fn was_disturbed(&self) -> bool {
        self.wall > self.cpu * 1.1 + 0.05
    }
}

fn once(job: &Ready) -> Result<(Duration, Duration), String> {
    let (wall, cpu) = (Instant::now(), cpu_time());
    job.run()?;
    Ok((wall.elapsed(), cpu_time().saturating_sub(cpu)))
}

fn median(mut values: Vec<f64>) -> f64 {
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
