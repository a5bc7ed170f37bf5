//! An agent that loads, attaches, pins and reads events at full rate, and starts anew each second, to find
//! what grows.
//!
//! `soak [--seconds N] [--alone]`, as root. `cargo xtask soak` builds and runs it with a bpffs of its own, or
//! as the first process of a virtual machine. With `--alone`, the memory of the whole system must not grow
//! either, and the kernel's log must not have errors.

mod agent;
mod events;
mod kernel_ids;
mod kernel_log;
mod kernel_memory;
mod process_state;
mod source;

use agent::Agent;
use events::Counts;
use kernel_ids::KernelIds;
use kernel_log::KernelLog;
use kernel_memory::{KernelMemory, MemoryCgroup};
use process_state::ProcessState;
use source::Source;
use std::{
    env,
    error::Error,
    fmt,
    path::PathBuf,
    process::{self, ExitCode},
    thread,
    time::{Duration, Instant},
};

/// The periods before the first comparison: the allocator and the caches of the loader and the kernel reach
/// their size.
const WARM_UP: u32 = 9;
/// The time between two lines of progress.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// The time after a period in which memory may be above its limit: the kernel frees some of it later.
const SETTLING: Duration = Duration::from_secs(10);
const SETTLING_INTERVAL: Duration = Duration::from_millis(100);

struct Options {
    duration: Duration,
    /// Whether nothing else runs on the system.
    is_alone: bool,
}

/// The resources that the agent uses at one time.
#[derive(Clone, Copy)]
struct Usage {
    process: ProcessState,
    kernel: KernelMemory,
}

fn main() -> ExitCode {
    core_relo_vm::run_as_init();
    match parse(&env::args().skip(1).collect::<Vec<_>>()).and_then(|options| soak(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn soak(options: &Options) -> Result<(), Box<dyn Error>> {
    if let Err(e) = core_relo_loader::features::running().check_permission() {
        println!("SKIP: programs cannot be loaded here: {e}");
        return Ok(());
    }
    let cgroup = MemoryCgroup::enter();
    if cgroup.is_none() {
        println!("SKIP: the kernel's memory for this process: no memory cgroup");
    }
    let mut log = if options.is_alone { Some(KernelLog::open()?) } else { None };
    let usage = || -> Result<Usage, Box<dyn Error>> {
        Ok(Usage { process: ProcessState::read()?, kernel: KernelMemory::read(cgroup.as_ref())? })
    };
    let sources = Source::supported();
    let dir = PathBuf::from(format!("/sys/fs/bpf/core_relo_soak_{}", process::id()));
    let (start, mut last_report) = (Instant::now(), Instant::now());
    let mut totals: Vec<(Source, Counts)> =
        sources.iter().map(|source| (*source, Counts::default())).collect();
    let (mut ids, mut periods, mut baseline) = (KernelIds::default(), 0, None);
    while start.elapsed() < options.duration || periods <= WARM_UP {
        for (source, total) in &mut totals {
            let mut agent = Agent::start(*source, &dir)?;
            ids.add(&agent)?;
            let counts = agent.read_for(Duration::from_secs(1))?;
            agent.stop()?;
            total.add(&counts);
            periods += 1;
            ids.wait_until_gone()?;
            if dir.exists() {
                return Err(format!("{}: pins stay after period {periods}", dir.display()).into());
            }
            if periods >= WARM_UP {
                let baseline = match baseline {
                    Some(usage) => usage,
                    None => {
                        let usage = *baseline.insert(usage()?);
                        println!("after period {periods}: {usage}");
                        usage
                    }
                };
                settle(&usage, &baseline, options.is_alone).map_err(|e| format!("period {periods}: {e}"))?;
            }
        }
        if let Some(log) = &mut log {
            log.check()?;
        }
        if last_report.elapsed() >= REPORT_INTERVAL {
            last_report = Instant::now();
            println!("{} s, {periods} periods: {}", start.elapsed().as_secs(), usage()?);
            print_totals(&totals);
        }
    }
    println!("after period {periods}: {}", usage()?);
    println!("{} kernel objects were created, all are gone; no pins stay", ids.count());
    print_totals(&totals);
    Ok(())
}

fn print_totals(totals: &[(Source, Counts)]) {
    for (source, total) in totals {
        println!("{source:?}: {total}");
    }
}

/// Waits until the agent uses no more than before, for a limited time.
fn settle(
    usage: &dyn Fn() -> Result<Usage, Box<dyn Error>>,
    baseline: &Usage,
    is_alone: bool,
) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    loop {
        match usage()?.compare(baseline, is_alone) {
            Err(what) if start.elapsed() > SETTLING => return Err(what.into()),
            Err(_) => thread::sleep(SETTLING_INTERVAL),
            Ok(()) => return Ok(()),
        }
    }
}

impl Usage {
    fn compare(&self, earlier: &Self, is_alone: bool) -> Result<(), String> {
        self.process.compare(&earlier.process)?;
        self.kernel.compare(&earlier.kernel, is_alone)
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.process, self.kernel)
    }
}

fn parse(args: &[String]) -> Result<Options, Box<dyn Error>> {
    let mut options = Options { duration: Duration::from_secs(60), is_alone: false };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.as_slice()) {
            ("--alone", _) => options.is_alone = true,
            ("--seconds", [seconds, ..]) => {
                let seconds =
                    seconds.parse().map_err(|_| format!("--seconds: `{seconds}`, expected a number"))?;
                options.duration = Duration::from_secs(seconds);
                words.next();
            }
            _ => return Err("usage: soak [--seconds N] [--alone]".into()),
        }
    }
    Ok(options)
}
