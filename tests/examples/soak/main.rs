//! An agent that loads, attaches, pins and reads events at full rate, and starts anew each second, to find what grows.
//!
//! `soak [--seconds N]`, as root. `cargo xtask soak` builds and runs it with a bpffs of its own.

mod agent;
mod kernel_ids;
mod process_state;

use agent::{Agent, Period};
use kernel_ids::KernelIds;
use process_state::ProcessState;
use std::{
    env,
    error::Error,
    path::PathBuf,
    process,
    time::{Duration, Instant},
};

/// The periods before the first comparison: the allocator and the caches of the loader reach their size.
const WARM_UP: u32 = 5;
/// The time between two lines of progress.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = parse_seconds(&env::args().skip(1).collect::<Vec<_>>())?;
    if let Err(e) = core_relo_loader::features::running().check_permission() {
        println!("SKIP: programs cannot be loaded here: {e}");
        return Ok(());
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let dir = PathBuf::from(format!("/sys/fs/bpf/core_relo_soak_{}", process::id()));
    let (mut total, mut periods, mut baseline) = (Period::default(), 0, None);
    let mut last_report = Instant::now();
    let mut ids = KernelIds::default();
    while Instant::now() < end || periods <= WARM_UP {
        let mut agent = Agent::start(&dir)?;
        ids.add(&agent)?;
        let period = agent.read_for(Duration::from_secs(1))?;
        agent.stop()?;
        total.add(&period);
        periods += 1;
        ids.wait_until_gone()?;
        if dir.exists() {
            return Err(format!("{}: pins stay after period {periods}", dir.display()).into());
        }
        let now = ProcessState::read()?;
        if periods >= WARM_UP {
            now.compare(baseline.get_or_insert(now)).map_err(|what| format!("period {periods}: {what}"))?;
        }
        if last_report.elapsed() >= REPORT_INTERVAL {
            last_report = Instant::now();
            println!("{periods} periods: {total}; {now}");
        }
    }
    let (first, last) = (baseline.ok_or("no period after the warm-up")?, ProcessState::read()?);
    println!("after period {WARM_UP}: {first}\nafter period {periods}: {last}");
    println!("{} kernel objects were created, all are gone; no pins stay", ids.count());
    println!("{total}");
    Ok(())
}

fn parse_seconds(args: &[String]) -> Result<u64, Box<dyn Error>> {
    match args {
        [] => Ok(60),
        [option, seconds] if option == "--seconds" => {
            seconds.parse().map_err(|_| format!("--seconds: `{seconds}`, expected a number").into())
        }
        _ => Err("usage: soak [--seconds N]".into()),
    }
}
