//! `prog stats`: the runs and the time of programs while the kernel's statistics are on.

use crate::{
    args::prog_stats::ProgStatsArgs,
    cmd::rows::Rows,
    console::{Console, ExitStatus},
    describe::{known_name, short_type_name},
    error::{BadInput, CommandResult},
    format::Format,
    kernel_objects::{
        error::hint,
        select::{select_one, selection_from_word},
    },
    output::is_stdout_closed,
    process::signals::TerminationSignals,
    text::table::{left_cell, right_cell},
};
use core_relo_loader::{
    inventory::{self, ObjectKind, ProgramInfo, full_program_name},
    object::ProgramType,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal},
};
use serde::Serialize;
use std::{
    collections::HashMap,
    io,
    os::fd::OwnedFd,
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{self, Child, Command},
    thread,
    time::{Duration, Instant},
};

/// The time of a measurement without --duration.
const DEFAULT_DURATION: Duration = Duration::from_secs(1);

/// The time between two checks for a signal.
const PAUSE: Duration = Duration::from_millis(50);

const COLUMNS: &[&str] = &["ID", "NAME", "TYPE", "RUNS", "RUNS/S", "NS/RUN", "CPU %", "MISSED"];

/// The runs of a program during a measurement, and its JSON line.
#[derive(Serialize)]
struct ProgramRuns {
    prog_id: u32,
    name: String,
    program_type: String,
    /// The time of the measurement.
    seconds: f64,
    run_cnt: u64,
    run_time_ns: u64,
    recursion_misses: u64,
}

/// The counters of a program.
#[derive(Clone, Copy, Default)]
struct Counters {
    run_cnt: u64,
    run_time_ns: u64,
    recursion_misses: u64,
}

impl From<&ProgramInfo> for Counters {
    fn from(info: &ProgramInfo) -> Self {
        Self { run_cnt: info.run_cnt, run_time_ns: info.run_time_ns, recursion_misses: info.recursion_misses }
    }
}

impl Counters {
    /// Returns the growth since earlier counters. An id whose program was replaced counts from 0.
    fn since(self, before: Self) -> Self {
        let grown = || {
            Some(Self {
                run_cnt: self.run_cnt.checked_sub(before.run_cnt)?,
                run_time_ns: self.run_time_ns.checked_sub(before.run_time_ns)?,
                recursion_misses: self.recursion_misses.checked_sub(before.recursion_misses)?,
            })
        };
        grown().unwrap_or(self)
    }
}

pub(super) fn run(console: &mut Console<'_>, args: &ProgStatsArgs) -> CommandResult {
    let opened = args.programs.iter().map(|word| select_one(ObjectKind::Program, &selection_from_word(word)));
    let selected: Vec<(u32, OwnedFd)> = opened.collect::<Result<_, _>>()?;
    // The statistics are off again when the descriptor is closed.
    let _enabled = inventory::enable_run_statistics().map_err(|e| {
        let bad = BadInput::new("running kernel", format_args!("cannot turn on run-time statistics: {e}"));
        bad.help(hint(e).unwrap_or("needs a kernel from 5.8"))
    })?;
    let mut termination = TerminationSignals::catch()?;
    loop {
        let (start, before) = (Instant::now(), counters(&selected));
        match args.command.split_first() {
            Some((program, arguments)) => {
                run_command(console, Path::new(program), arguments, &mut termination)?;
            }
            None => wait(args.duration.unwrap_or(DEFAULT_DURATION), &mut || {
                termination.has_arrived() || is_stdout_closed()
            }),
        }
        let elapsed = start.elapsed().as_secs_f64();
        let runs = program_runs(&before?, read_all(&selected)?, elapsed, !selected.is_empty());
        write(console, args.format, &runs)?;
        console.out.flush()?;
        if !args.follow || termination.has_arrived() || is_stdout_closed() {
            return Ok(());
        }
    }
}

/// Returns the counters of the selected programs, or of all programs.
fn counters(selected: &[(u32, OwnedFd)]) -> Result<HashMap<u32, Counters>, BadInput> {
    Ok(read_all(selected)?.into_iter().map(|(info, _)| (info.id, Counters::from(&info))).collect())
}

/// Reads the properties and names of the selected programs, or of all programs. Programs that are removed
/// meanwhile are left out.
fn read_all(selected: &[(u32, OwnedFd)]) -> Result<Vec<(ProgramInfo, String)>, BadInput> {
    let read = |fd: &OwnedFd| ProgramInfo::query(fd).ok().map(|info| (full_program_name(fd, &info), info));
    let named = |(name, info)| (info, name);
    if !selected.is_empty() {
        return Ok(selected.iter().filter_map(|(_, fd)| read(fd)).map(named).collect());
    }
    let mut all = Vec::new();
    for program in inventory::list(ObjectKind::Program)? {
        // The descriptor is closed at once, so that programs end as they would without the measurement.
        all.extend(program.open()?.as_ref().and_then(read).map(named));
    }
    Ok(all)
}

/// Returns the runs of each program since `before`, the most time first. Programs that did not run are left
/// out unless they are selected.
fn program_runs(
    before: &HashMap<u32, Counters>,
    after: Vec<(ProgramInfo, String)>,
    seconds: f64,
    is_selected: bool,
) -> Vec<ProgramRuns> {
    let runs = |(info, name): (ProgramInfo, String)| {
        let now = Counters::from(&info);
        let Counters { run_cnt, run_time_ns, recursion_misses } =
            before.get(&info.id).map_or(now, |earlier| now.since(*earlier));
        let program_type = ProgramType::from_number(info.prog_type).map(ProgramType::name);
        let program_type = known_name(program_type, info.prog_type);
        ProgramRuns { prog_id: info.id, name, program_type, seconds, run_cnt, run_time_ns, recursion_misses }
    };
    let mut all: Vec<_> = after.into_iter().map(runs).collect();
    all.retain(|runs| is_selected || runs.run_cnt > 0 || runs.recursion_misses > 0);
    all.sort_by_key(|runs| (u64::MAX - runs.run_time_ns, runs.prog_id));
    all
}

fn write(console: &mut Console<'_>, format: Format, all: &[ProgramRuns]) -> io::Result<()> {
    let cells = |runs: &ProgramRuns| {
        let (count, nanoseconds) = (to_f64(runs.run_cnt), to_f64(runs.run_time_ns));
        let per_run = if runs.run_cnt == 0 { String::new() } else { format!("{:.0}", nanoseconds / count) };
        vec![
            right_cell(runs.prog_id),
            left_cell(&runs.name),
            left_cell(short_type_name(&runs.program_type)),
            right_cell(runs.run_cnt),
            right_cell(format_args!("{:.0}", count / runs.seconds)),
            right_cell(per_run),
            right_cell(format_args!("{:.3}", nanoseconds / runs.seconds / 1e7)),
            right_cell(runs.recursion_misses),
        ]
    };
    Rows { columns: COLUMNS, rows: all, placeholder: "no program ran" }.write(console, format, cells)
}

/// Converts a counter for a quotient, whose last digits do not matter.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "the quotient is printed with few digits"
)]
pub(super) fn to_f64(count: u64) -> f64 {
    count as f64
}

/// Waits, or until `is_stopped`.
pub(super) fn wait(duration: Duration, is_stopped: &mut dyn FnMut() -> bool) {
    let start = Instant::now();
    while !is_stopped() {
        let Some(left) = duration.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) else { return };
        thread::sleep(left.min(PAUSE));
    }
}

/// Waits until a command ends. A signal that ends this process, such as SIGTERM, ends the command first.
fn wait_for_command(
    mut child: Child,
    termination: &mut TerminationSignals,
) -> io::Result<process::ExitStatus> {
    let process = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let pause = Timespec::try_from(PAUSE).map_err(io::Error::other)?;
    let mut is_terminated = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if !is_terminated && termination.has_termination_arrived() {
            is_terminated = true;
            match rustix::process::pidfd_send_signal(&process, Signal::TERM) {
                // The command has ended meanwhile.
                Ok(()) | Err(Errno::SRCH) => {}
                Err(e) => return Err(e.into()),
            }
        }
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&pause)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Runs the user's command. Its exit status becomes that of this process, if it is not 0.
fn run_command(
    console: &mut Console<'_>,
    program: &Path,
    arguments: &[std::ffi::OsString],
    termination: &mut TerminationSignals,
) -> Result<(), BadInput> {
    let child = Command::new(program).args(arguments).spawn();
    let status = child.and_then(|child| wait_for_command(child, termination));
    let status =
        status.map_err(|e| BadInput::for_path(program, format_args!("the command cannot be run: {e}")))?;
    // As shells count: a signal is 128 and its number.
    let code = status.code().or_else(|| status.signal().and_then(|signal| signal.checked_add(128)));
    match code.and_then(|code| u8::try_from(code).ok()) {
        Some(0) => {}
        Some(code) => console.raise_exit(ExitStatus::Command(code)),
        None => return Err(BadInput::for_path(program, format_args!("unknown end: {status}"))),
    }
    Ok(())
}
