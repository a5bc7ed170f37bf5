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

/// Builds the objects below `out` that are out of date. Returns a line for each group that could not be built, with the reason.
pub fn build(compilers: &[Compiler], out: &Path) -> Outcome<Vec<String>> {
    let cases = cases::read_all()?;
    let newest_header = newest(&files_below(&cases::dir().join("include")));
    let mut jobs = Vec::new();
    let mut skips = Skips::new();
    for compiler in compilers {
        for order in Order::BOTH {
            plan(compiler, order, &cases, out, &mut jobs, &mut skips);
        }
    }
    for compiler in compilers {
        prune(&out.join(compiler.name()), &jobs);
    }
    let total = jobs.len();
    jobs.retain(|job| !up_to_date(job, newest_header));
    let names: Vec<_> = compilers.iter().map(Compiler::name).collect();
    eprintln!(
        "bpf-progs: {total} objects by {}, {} to build, in {}",
        names.join(", "),
        jobs.len(),
        out.display()
    );
    run_all(jobs)?;
    Ok(skips.iter().map(describe).collect())
}

/// Files that are not built, by reason.
type Skips = BTreeMap<String, BTreeSet<String>>;

fn describe((why, names): (&String, &BTreeSet<String>)) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<_> = names.iter().take(SHOWN).map(String::as_str).collect();
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    format!("bpf-progs {why}: {}{more}", shown.join(", "))
}

/// Lists the compilations for one compiler and one byte order.
fn plan(
    compiler: &Compiler,
    order: Order,
    cases: &[Case],
    out: &Path,
    jobs: &mut Vec<Job>,
    skips: &mut Skips,
) {
    let folder = cases::dir();
    let out = out.join(compiler.name()).join(order.folder());
    for case in cases {
        if let Some(why) = case.program.refuses(compiler) {
            skips.entry(format!("with {}: {why}", compiler.name())).or_default().insert(case.name());
            continue;
        }
        for source in std::iter::once(&case.program).chain(case.targets.values()) {
            match command(source, compiler, order, &folder) {
                Ok(Some(mut command)) => {
                    let object = out.join(source.object());
                    command.args(&source.cflags).arg(&source.path).arg("-o").arg(&object);
                    jobs.push(Job { command, object, source: folder.join(&source.path) });
                }
                Ok(None) => {}
                Err(why) => {
                    skips.entry(why).or_default().insert(source.path.display().to_string());
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
    folder: &Path,
) -> Result<Option<Command>, String> {
    let Some(flags) = &source.host_cc else {
        // A file of target types needs no BPF features: any compiler can build it, unless it has a `requires:` directive.
        return match source.refuses(compiler) {
            Some(why) if !source.is_default() => Err(format!("with {}: {why}", compiler.name())),
            _ => Ok(Some(compiler.command(order, folder))),
        };
    };
    let native = if cfg!(target_endian = "little") { Order::Little } else { Order::Big };
    if order != native {
        return Ok(None);
    }
    host_cc(flags, folder)
        .map(Some)
        .ok_or_else(|| format!("no host C compiler takes `{} -gbtf`", flags.join(" ")))
}

/// Removes objects of earlier builds whose sources are gone.
fn prune(folder: &Path, jobs: &[Job]) {
    let made: HashSet<&Path> = jobs.iter().map(|job| job.object.as_path()).collect();
    for file in files_below(folder) {
        if file.extension().is_some_and(|ext| ext == "o") && !made.contains(file.as_path()) {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn run_all(jobs: Vec<Job>) -> Outcome {
    for folder in jobs.iter().filter_map(|job| job.object.parent()) {
        std::fs::create_dir_all(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
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
                        .map_or(Err("a compiler thread panicked".to_owned()), |mut job| make(&mut job));
                    if let (Err(why), Ok(mut failures)) = (result, failures.lock()) {
                        failures.push(why);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn make(job: &mut Job) -> Result<(), String> {
    let out = job.command.output().map_err(|why| format!("{:?}: {why}", job.command))?;
    if out.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&out.stderr);
    let errors: Vec<_> = errors.lines().filter(|line| line.contains("error")).take(8).collect();
    Err(format!(
        "{} -> {}: {}\n{}",
        job.source.display(),
        job.object.display(),
        out.status,
        errors.join("\n")
    ))
}

fn up_to_date(job: &Job, newest_header: Option<SystemTime>) -> bool {
    let made = newest(std::slice::from_ref(&job.object));
    made.is_some() && made > newest(std::slice::from_ref(&job.source)) && made > newest_header
}

fn newest(files: &[PathBuf]) -> Option<SystemTime> {
    files.iter().filter_map(|file| file.metadata().ok()?.modified().ok()).max()
}
