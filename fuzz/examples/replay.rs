//! Runs a fuzz target without a fuzzer, on any toolchain: `replay TARGET SECONDS FILE|DIR...`
//!
//! The inputs are all given files, then mutations of them and, for generators, random bytes, until the time
//! is up. An input that panics or exceeds the limits of time or memory is a failure, as in libFuzzer, and is
//! saved in `artifacts/TARGET`. `SEED=n` repeats a run.

use core_relo_fuzz::{FuzzTarget, Input, TARGETS, random::Random};
use cpu_time::ProcessTime;
use peak_alloc::PeakAlloc;
use std::{
    env, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    panic,
    path::{Path, PathBuf},
    process::{self, ExitCode},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime},
};

/// The limit of CPU time per input. CPU time does not depend on other processes.
const CPU_TIME: Duration = Duration::from_secs(10);

/// The limit of wall-clock time per input, for inputs that block without CPU time.
const WALL_TIME: Duration = Duration::from_secs(120);

/// The limit of allocated bytes per input.
const MEMORY: usize = 1 << 30;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// A run of a target on one input.
struct Run {
    target: &'static str,
    input: Vec<u8>,
    begin: Instant,
    cpu_begin: ProcessTime,
}

static CURRENT: Mutex<Option<Run>> = Mutex::new(None);

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let target = args.next().and_then(|name| FuzzTarget::find(&name));
    let seconds = args.next().and_then(|seconds| seconds.parse().ok());
    let (Some(target), Some(seconds)) = (target, seconds) else {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("usage: replay TARGET SECONDS FILE|DIR...   (TARGET: {})", names.join(", "));
        return ExitCode::from(2);
    };
    let mut files = Vec::new();
    args.for_each(|path| gather(Path::new(&path), &mut files));
    if files.is_empty() && target.input == Input::File {
        eprintln!("replay: no file to begin with");
        return ExitCode::from(2);
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |d| d.as_secs());
    let seed = env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(now);
    println!("replay {}: {} files, {seconds} s, SEED={seed}", target.name, files.len());
    let print_panic = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        print_panic(info);
        if let Some(run) = current().as_ref() {
            fail(run, "panicked");
        }
    }));
    thread::spawn(watch);
    let mut slowest = Duration::ZERO;
    for file in &files {
        slowest = slowest.max(run(target, file.clone()));
    }
    let (until, mut random, mut runs) =
        (Instant::now() + Duration::from_secs(seconds), Random::new(seed), 0u64);
    while Instant::now() < until {
        let is_random = target.input == Input::Decisions && (runs.is_multiple_of(2) || files.is_empty());
        let input = if is_random { random.decisions() } else { random.mutate(&files) };
        slowest = slowest.max(run(target, input));
        runs += 1;
    }
    let name = target.name;
    println!(
        "replay {name}: {runs} inputs besides the files, no failure; the slowest took {slowest:.0?} of CPU time"
    );
    ExitCode::SUCCESS
}

fn current() -> MutexGuard<'static, Option<Run>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a target on one input and checks its memory. Returns its CPU time.
fn run(target: FuzzTarget, input: Vec<u8>) -> Duration {
    let run = Run {
        target: target.name,
        input: input.clone(),
        begin: Instant::now(),
        cpu_begin: ProcessTime::now(),
    };
    *current() = Some(run);
    ALLOCATOR.reset_peak_usage();
    (target.run)(&input);
    let peak = ALLOCATOR.peak_usage();
    let run = current().take().expect("only this thread ends a run");
    if peak > MEMORY {
        fail(&run, &format!("took {peak} bytes of memory, {MEMORY} allowed"));
    }
    run.cpu_begin.elapsed()
}

/// Ends the process once an input takes too long.
fn watch() {
    loop {
        thread::sleep(Duration::from_millis(500));
        if let Some(run) = current().as_ref() {
            let (cpu, wall) = (run.cpu_begin.elapsed(), run.begin.elapsed());
            if cpu > CPU_TIME || wall > WALL_TIME {
                fail(run, &format!("did not end in {cpu:.0?} of CPU time, {wall:.0?} in all"));
            }
        }
    }
}

/// Saves the input and ends the process.
fn fail(run: &Run, problem: &str) -> ! {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(run.target);
    let mut hasher = DefaultHasher::new();
    run.input.hash(&mut hasher);
    let file = dir.join(format!("failure-{:016x}", hasher.finish()));
    let saved = fs::create_dir_all(&dir).and_then(|()| fs::write(&file, &run.input));
    eprintln!("replay {}: {}: {problem}", run.target, file.display());
    if let Err(error) = saved {
        eprintln!("replay {}: the input cannot be saved: {error}", run.target);
    }
    process::exit(1)
}

/// Reads a file, or all files below a directory.
fn gather(path: &Path, files: &mut Vec<Vec<u8>>) {
    if path.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| gather(entry, files));
    } else if let Ok(bytes) = fs::read(path) {
        files.push(bytes);
    }
}
