//! Child processes that run one job, for peak memory and instruction counts.

use crate::{
    job::Job,
    once::{Action, Run},
    peer::Peer,
};
use std::{
    env,
    ffi::OsString,
    fs, io,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    str::FromStr,
};

/// Returns the peak memory, in KiB, of a process that runs a job and contains no other peer's code.
///
/// Linux counts the parent's peak for a child, across fork and execve. Therefore the small program `peak_of`
/// ([`report_peak`]) is the parent of the measured process, not this large one.
pub fn peak_kib(peer: Peer, run: &Run) -> Result<u64, String> {
    let cost = cost(&program_for(peer, run.job)?, &run.to_args(Action::Run))?;
    match cost.exit {
        Some(0) => Ok(cost.kib as u64),
        _ => Err(format!("{} {}: {}", peer.name(), run.job.key(), cost.error.trim())),
    }
}

/// The cost of a process.
#[derive(Clone, Debug)]
pub struct Cost {
    /// CPU time in milliseconds.
    pub ms: f64,
    /// Peak memory in KiB.
    pub kib: f64,
    /// The exit status, `None` after a signal.
    pub exit: Option<i32>,
    /// The standard error of the process.
    pub error: String,
}

/// Runs a program as a child of `peak_of` and returns its cost. [`peak_kib`] has the reason.
pub fn cost(program: &Path, args: &[OsString]) -> Result<Cost, String> {
    let mut command = Command::new(sibling_program("peak_of")?);
    let output = command.arg(program).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8_lossy(&output.stdout);
    let mut figures = text.split_whitespace().map(|word| word.parse::<f64>().ok());
    match (figures.next(), figures.next(), figures.next()) {
        (Some(Some(kib)), Some(Some(ms)), Some(exit)) => {
            Ok(Cost { ms, kib, exit: exit.map(|exit| exit as i32), error })
        }
        _ => Err(format!("{}: {}: {}", program.display(), output.status, error.trim())),
    }
}

/// Returns the shortest CPU time of a few runs in one process, in milliseconds.
pub fn shortest_ms(peer: Peer, run: &Run) -> Result<f64, String> {
    printed_number(peer, run, Command::new(program_for(peer, run.job)?).args(run.to_args(Action::Time)))
}

/// Runs a command and parses the number that it prints.
fn printed_number<N: FromStr>(peer: Peer, run: &Run, command: &mut Command) -> Result<N, String> {
    command.stdin(Stdio::null());
    let output = command.output().map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| {
        let error = String::from_utf8_lossy(&output.stderr);
        format!("{} {}: {}: {}", peer.name(), run.job.key(), output.status, error.trim())
    })
}

/// Runs a program and prints its peak memory in KiB, its CPU time in milliseconds and its exit status: the
/// work of `peak_of`.
pub fn report_peak(mut args: impl Iterator<Item = OsString>) -> Result<(), String> {
    let mut command = Command::new(args.next().ok_or("no program")?);
    let child = command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let (status, usage) = child.and_then(|child| wait(&child)).map_err(|e| e.to_string())?;
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    let exit = status.code().map_or_else(|| status.to_string(), |code| code.to_string());
    println!("{} {} {exit}", usage.ru_maxrss, ms(usage.ru_utime) + ms(usage.ru_stime));
    Ok(())
}

/// Counts the instructions of one run of a job with callgrind: those of a process that runs the job once,
/// minus those of a process without the job. The profile stays in `dir`.
pub fn instructions(peer: Peer, run: &Run, dir: &Path) -> Result<u64, String> {
    let count = |times: usize| {
        let name = format!("{}.{}.{times}.callgrind", run.job.key(), peer.name());
        callgrind(peer, &Run { times, ..run.clone() }, &dir.join(name))
    };
    let (with, without) = (count(1)?, count(0)?);
    with.checked_sub(without).ok_or_else(|| "a run without the job took more instructions".to_owned())
}

fn callgrind(peer: Peer, run: &Run, out: &Path) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(program_for(peer, run.job)?).args(run.to_args(Action::Run)).stdin(Stdio::null());
    let output = command.output().map_err(|e| format!("valgrind: {e}"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("valgrind: {}: {}", output.status, error.trim()));
    }
    let text = fs::read_to_string(out).map_err(|e| format!("{}: {e}", out.display()))?;
    let total =
        text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    total.and_then(|n| n.trim().parse().ok()).ok_or_else(|| format!("{}: no total", out.display()))
}

/// Waits for a child with wait4(2), and returns its exit status and resource usage. The standard library has
/// no such function.
fn wait(child: &Child) -> io::Result<(ExitStatus, libc::rusage)> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: all fields are numbers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for writes, and nothing else waits for this child.
    let waited = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
    if waited == pid { Ok((ExitStatus::from_raw(status), usage)) } else { Err(io::Error::last_os_error()) }
}

/// Returns the program that contains this peer's code only. core-relo has two programs, with and without the
/// loader.
fn program_for(peer: Peer, job: Job) -> Result<PathBuf, String> {
    let prefix = if (peer, job) == (Peer::Ours, Job::Load) { "load" } else { "once" };
    sibling_program(&format!("{prefix}_{}", peer.name()))
}

/// Returns the path of another program in the directory of this program, where `cargo build --bins` puts all
/// of them.
pub(crate) fn sibling_program(name: &str) -> Result<PathBuf, String> {
    let this = env::current_exe().map_err(|e| e.to_string())?;
    Ok(this.with_file_name(name).with_extension(env::consts::EXE_EXTENSION))
}
