//! Processes of their own: for peak memory, and for counting instructions.

use crate::{
    job::Job,
    once::{Run, What},
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

/// Peak memory of a process that does this and has no other peer's code, in KiB.
///
/// A new process begins with the peak of the one that makes it (Linux keeps it across execve), so a third one stands between,
/// which is as small as can be: [`report_peak`] is what it does.
pub fn peak_kib(peer: Peer, run: &Run) -> Result<u64, String> {
    let cost = cost(&program_of(peer, run.job)?, &run.to_args(What::Run))?;
    match cost.exit {
        Some(0) => Ok(cost.kib as u64),
        _ => Err(format!("{} {}: {}", peer.name(), run.job.key(), cost.error.trim())),
    }
}

/// What a process took.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The processor's time in milliseconds.
    pub ms: f64,
    /// Peak memory in KiB.
    pub kib: f64,
    /// The exit status, none after a signal.
    pub exit: Option<i32>,
    /// The process's standard error.
    pub error: String,
}

/// Runs a program through the small one that [`peak_kib`] describes.
pub fn cost(program: &Path, words: &[OsString]) -> Result<Cost, String> {
    let mut command = Command::new(beside("peak_of")?);
    let done = command.arg(program).args(words).stdin(Stdio::null()).output();
    let done = done.map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))?;
    let error = String::from_utf8_lossy(&done.stderr).into_owned();
    let text = String::from_utf8_lossy(&done.stdout);
    let mut figures = text.split_whitespace().map(|word| word.parse::<f64>().ok());
    match (figures.next(), figures.next(), figures.next()) {
        (Some(Some(kib)), Some(Some(ms)), Some(exit)) => {
            Ok(Cost { ms, kib, exit: exit.map(|exit| exit as i32), error })
        }
        _ => Err(format!("{}: {}: {}", program.display(), done.status, error.trim())),
    }
}

/// The shortest of a few runs in a process of its own, in milliseconds of the processor's time.
pub fn shortest_ms(peer: Peer, run: &Run) -> Result<f64, String> {
    number_said(peer, run, Command::new(program_of(peer, run.job)?).args(run.to_args(What::Time)))
}

fn number_said<N: FromStr>(peer: Peer, run: &Run, command: &mut Command) -> Result<N, String> {
    command.stdin(Stdio::null());
    let done = command.output().map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))?;
    let said = String::from_utf8_lossy(&done.stdout);
    said.trim().parse().map_err(|_| {
        let error = String::from_utf8_lossy(&done.stderr);
        format!("{} {}: {}: {}", peer.name(), run.job.key(), done.status, error.trim())
    })
}

/// Runs a program and prints its peak memory in KiB, its time in milliseconds and its exit status.
pub fn report_peak(mut words: impl Iterator<Item = OsString>) -> Result<(), String> {
    let mut command = Command::new(words.next().ok_or("no program")?);
    let child = command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let (status, usage) = child.and_then(|child| wait(&child)).map_err(|e| e.to_string())?;
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    let exit = status.code().map_or_else(|| status.to_string(), |code| code.to_string());
    println!("{} {} {exit}", usage.ru_maxrss, ms(usage.ru_utime) + ms(usage.ru_stime));
    Ok(())
}

/// Instructions of one run of the job, by callgrind: those of a process that does it once, less those of one that does all
/// else. The profile is left in `folder`.
pub fn instructions(peer: Peer, run: &Run, folder: &Path) -> Result<u64, String> {
    let counted = |times: usize| {
        let name = format!("{}.{}.{times}.callgrind", run.job.key(), peer.name());
        callgrind(peer, &Run { times, ..run.clone() }, &folder.join(name))
    };
    let (with, without) = (counted(1)?, counted(0)?);
    with.checked_sub(without).ok_or_else(|| "a run without the job took more".to_owned())
}

fn callgrind(peer: Peer, run: &Run, out: &Path) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(program_of(peer, run.job)?).args(run.to_args(What::Run)).stdin(Stdio::null());
    let done = command.output().map_err(|e| format!("valgrind: {e}"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(format!("valgrind: {}: {}", done.status, said.trim()));
    }
    let text = fs::read_to_string(out).map_err(|e| format!("{}: {e}", out.display()))?;
    let total =
        text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    total.and_then(|n| n.trim().parse().ok()).ok_or_else(|| format!("{}: no total", out.display()))
}

/// wait4(2): the standard library throws the usage away.
fn wait(child: &Child) -> io::Result<(ExitStatus, libc::rusage)> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: a record of numbers, for which zeroes are good.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both are written where they lie; the child is ours and nobody else waits for it.
    let waited = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
    match waited == pid {
        true => Ok((ExitStatus::from_raw(status), usage)),
        false => Err(io::Error::last_os_error()),
    }
}

/// The small program that has this peer's code alone, and of ours what the job needs: libbpf comes in one piece.
fn program_of(peer: Peer, job: Job) -> Result<PathBuf, String> {
    let what = if (peer, job) == (Peer::Ours, Job::Load) { "load" } else { "once" };
    beside(&format!("{what}_{}", peer.name()))
}

/// Another program of this package: `cargo build --bins` puts them side by side.
pub(crate) fn beside(name: &str) -> Result<PathBuf, String> {
    let this = env::current_exe().map_err(|e| e.to_string())?;
    Ok(this.with_file_name(name).with_extension(env::consts::EXE_EXTENSION))
}
