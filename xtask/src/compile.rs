//! Compiles `bpf-progs/` with every compiler, for both byte orders.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use crate::cases::{self, Case, Source};
use crate::compilers::{Compiler, Order, host_cc};
use crate::system::{Outcome, files_below};

/// One compilation: the complete command, its output and its source.
struct Job {
    command: Command,
    object: PathBuf,
    source: PathBuf,
}

/// Builds the objects below `out` that are out of date. Returns a line for each group that could not be
/// built, with the reason.
pub fn build(compilers: &[Compiler], out: &Path) -> Outcome<Vec<String>> {
    let cases = cases::read_all()?;
    let newest_header = newest(&files_below(&cases::dir().join("include")));
    let mut jobs = Vec::new();
    let mut skips = Skips::new();
    for compiler in compilers {
        for order in Order::BOTH {
            list_jobs(compiler, order, &cases, out, &mut jobs, &mut skips);
        }
    }
    for compiler in compilers {
        remove_stale(&out.join(compiler.name()), &jobs);
    }
    let total = jobs.len();
    jobs.retain(|job| !is_up_to_date(job, newest_header));
    let names: Vec<_> = compilers.iter().map(Compiler::name).collect();
    eprintln!(
        "bpf-progs: {total} objects by {}, {} to build, in {}",
        names.join(", "),
        jobs.len(),
        out.display()
    );
    compile(jobs)?;
    Ok(skips.iter().map(describe_skip).collect())
}

/// The files that are not built, by reason.
type Skips = BTreeMap<String, BTreeSet<String>>;

/// Returns a line with the reason and the first files.
fn describe_skip((reason, names): (&String, &BTreeSet<String>)) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<_> = names.iter().take(SHOWN).map(String::as_str).collect();
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    format!("bpf-progs {reason}: {}{more}", shown.join(", "))
}

/// Adds the compilations for one compiler and one byte order to `jobs`, and the files that cannot be compiled
/// to `skips`.
fn list_jobs(
    compiler: &Compiler,
    order: Order,
    cases: &[Case],
    out: &Path,
    jobs: &mut Vec<Job>,
    skips: &mut Skips,
) {
    let dir = cases::dir();
    let out = out.join(compiler.name()).join(order.dir());
    for case in cases {
        if let Some(reason) = case.program.unmet_requirement(compiler) {
            skips.entry(format!("with {}: {reason}", compiler.name())).or_default().insert(case.name());
            continue;
        }
        for source in std::iter::once(&case.program).chain(case.targets.values()) {
            match command(source, compiler, order, &dir) {
                Ok(Some(mut command)) => {
                    let object = out.join(source.object());
                    command.args(&source.cflags).arg(&source.path).arg("-o").arg(&object);
                    jobs.push(Job { command, object, source: dir.join(&source.path) });
                }
                Ok(None) => {}
                Err(reason) => {
                    skips.entry(reason).or_default().insert(source.path.display().to_string());
                }
            }
        }
    }
}

/// Returns the command for one file, or `None` if the file is not built for that byte order.
fn command(
    source: &Source,
    compiler: &Compiler,
    order: Order,
    dir: &Path,
) -> Result<Option<Command>, String> {
    let Some(flags) = &source.host_cc else {
        // The default requirements are those of programs. Any compiler can build target types without a
        // `requires:` directive.
        return match source.unmet_requirement(compiler) {
            Some(reason) if !source.is_default() => Err(format!("with {}: {reason}", compiler.name())),
            _ => Ok(Some(compiler.command(order, dir))),
        };
    };
    let native = if cfg!(target_endian = "little") { Order::Little } else { Order::Big };
    if order != native {
        return Ok(None);
    }
    host_cc(flags, dir)
        .map(Some)
        .ok_or_else(|| format!("no host C compiler accepts `{} -gbtf`", flags.join(" ")))
}

/// Removes the objects of an earlier build that no job builds any more.
fn remove_stale(dir: &Path, jobs: &[Job]) {
    let outputs: HashSet<&Path> = jobs.iter().map(|job| job.object.as_path()).collect();
    for file in files_below(dir) {
        if file.extension().is_some_and(|ext| ext == "o") && !outputs.contains(file.as_path()) {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Runs the jobs on all processors.
fn compile(jobs: Vec<Job>) -> Outcome {
    for dir in jobs.iter().filter_map(|job| job.object.parent()) {
        std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    let jobs: Vec<_> = jobs.into_iter().map(Mutex::new).collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = job
                        .lock()
                        .map_or(Err("a compiler thread panicked".to_owned()), |mut job| run_job(&mut job));
                    if let (Err(error), Ok(mut failures)) = (result, failures.lock()) {
                        failures.push(error);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// Runs one compilation. The error contains the first lines of the compiler's errors.
fn run_job(job: &mut Job) -> Result<(), String> {
    let output = job.command.output().map_err(|error| format!("{:?}: {error}", job.command))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<_> = errors.lines().filter(|line| line.contains("error")).take(8).collect();
    Err(format!(
        "{} -> {}: {}\n{}",
        job.source.display(),
        job.object.display(),
        output.status,
        errors.join("\n")
    ))
}

/// Returns whether the object is newer than its source and all headers.
fn is_up_to_date(job: &Job, newest_header: Option<SystemTime>) -> bool {
    let built = newest(std::slice::from_ref(&job.object));
    built.is_some() && built > newest(std::slice::from_ref(&job.source)) && built > newest_header
}

/// Returns the latest modification time of the files that exist.
fn newest(files: &[PathBuf]) -> Option<SystemTime> {
    files.iter().filter_map(|file| file.metadata().ok()?.modified().ok()).max()
}
