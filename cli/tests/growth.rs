//! The work of every command grows at most with n log n in each dimension of its input.
//!
//! valgrind counts instructions at two sizes, so that the result does not depend on the machine or its load.
#![allow(clippy::panic, reason = "a test fails by panicking")]

use core_relo_tests::{
    growth::{Command, Dimension, dimensions},
    skip::skip,
};
use std::{
    ffi::OsString,
    fs, io,
    num::NonZero,
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

/// The smaller count. It is large enough for quadratic work to exceed linear work. The larger count is [`TIMES`] times as large.
const COUNT: usize = 400;
const TIMES: usize = 4;

/// The maximum exponent of growth. Linear work has 1, sorting a little more, quadratic work 2.
const MAX_EXPONENT: f64 = 1.1;

/// Instructions for the start of the process, which do not count. The cheapest command needs about 6 million (`inspect` of one line).
const FIXED: u64 = 5_000_000;

/// The smallest work that is compared. Differences of less work are noise.
const MIN_WORK: u64 = 1_500_000;

#[test]
fn the_work_of_every_command_is_nearly_linear() {
    if let Err(why) = process::Command::new("valgrind").arg("--version").output() {
        return skip("growth", &format!("valgrind does not run: {why}"));
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let program = &without_debug_info(dir.path());
    let only = std::env::var("CORE_RELO_GROWTH").unwrap_or_default();
    let dimensions: Vec<_> = dimensions().into_iter().filter(|d| d.name.contains(&*only)).collect();
    assert!(!dimensions.is_empty(), "no dimension has `{only}` in its name");
    let failed = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(dimension) = dimensions.get(next.fetch_add(1, Relaxed)) {
            let within = dir.path().join(dimension.name.replace(' ', "-"));
            match find_superlinear(program, dimension, &within) {
                Ok(found) => failed.lock().expect("no panic").extend(found),
                Err(why) => failed.lock().expect("no panic").push(format!("{}: {why}", dimension.name)),
            }
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let failed = failed.into_inner().expect("no panic");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Returns a stripped copy of the command, which valgrind starts faster, or the command itself without `strip`.
fn without_debug_info(dir: &Path) -> PathBuf {
    let (command, copy) = (PathBuf::from(env!("CARGO_BIN_EXE_core-relo")), dir.join("core-relo"));
    let strip = process::Command::new("strip").arg("-g").arg("-o").arg(&copy).arg(&command).status();
    if strip.is_ok_and(|status| status.success()) { copy } else { command }
}

/// A command and the form of its output.
#[derive(Clone, Copy)]
struct Form {
    command: Command,
    is_json: bool,
}

impl Form {
    /// Returns the forms of a command whose work is counted.
    fn for_command(command: &Command) -> impl Iterator<Item = Self> + use<> {
        let command = *command;
        let forms = [false, true].into_iter().filter(move |is_json| !is_json || command.has_own_json());
        forms.map(move |is_json| Self { command, is_json })
    }

    fn name(self) -> String {
        format!("{}{}", self.command.name(), if self.is_json { " --format json" } else { "" })
    }
}

/// Returns a report for each command whose work grows too fast with a dimension.
fn find_superlinear(program: &Path, dimension: &Dimension, dir: &Path) -> Result<Vec<String>, String> {
    let counted = |n: usize, forms: &[Form]| {
        let within = dir.join(n.to_string());
        let input = (dimension.build)(n).write(&within).map_err(|e| format!("{}: {e}", within.display()))?;
        let count = |form: &Form| {
            let counted = instructions(program, *form, &form.command.args(&input, form.is_json), &within);
            Ok((*form, counted.map_err(|why| format!("`{}`: {why}", form.name()))?))
        };
        let counts = forms.iter().map(count).collect::<Result<Vec<_>, String>>()?;
        fs::remove_dir_all(&within).map_err(|e| format!("{}: {e}", within.display()))?;
        Ok::<_, String>(counts)
    };
    // Smaller numbers cannot contain one instruction for each pair of elements.
    let square = (COUNT * TIMES).pow(2) as u64 / 2;
    let forms: Vec<_> = dimension.commands.iter().flat_map(Form::for_command).collect();
    let mut large = counted(COUNT * TIMES, &forms)?;
    large.retain(|(_, count)| count.saturating_sub(FIXED) > square);
    let forms: Vec<_> = large.iter().map(|(form, _)| *form).collect();
    let small = if forms.is_empty() { Vec::new() } else { counted(COUNT, &forms)? };
    let report = |((form, few), (_, many)): (&(Form, u64), &(Form, u64))| {
        let own = |count: u64| count.saturating_sub(FIXED).max(MIN_WORK) as f64;
        let exponent = (own(*many) / own(*few)).log(TIMES as f64);
        println!("{exponent:5.2} {few:>12} {many:>12}  `{}`: {}", form.name(), dimension.name);
        let line = || {
            format!(
                "`{}` with many {}: {few} instructions for {COUNT}, {many} for {}: they grow with the power {exponent:.2} of the \
                 count, expected {MAX_EXPONENT} at most",
                form.name(),
                dimension.name,
                COUNT * TIMES,
            )
        };
        (exponent > MAX_EXPONENT).then(line)
    };
    Ok(small.iter().zip(&large).filter_map(report).collect())
}

/// Returns the instructions of a run in all its threads.
fn instructions(program: &Path, form: Form, words: &[OsString], dir: &Path) -> Result<u64, String> {
    let (log, error) = (dir.join("valgrind.log"), |e: io::Error| e.to_string());
    let run = process::Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(format!("--log-file={}", log.display()))
        .arg(program)
        .args(words)
        .env_remove("RUST_LOG")
        .output()
        .map_err(error)?;
    let is_answered = match run.status.code() {
        Some(0) => true,
        Some(1) => form.command.may_be_unresolved(),
        // Bad input has the same status and a message.
        Some(2) => form.command.may_be_unknown() && run.stderr.is_empty(),
        _ => false,
    };
    if !is_answered {
        return Err(format!("{}: {}", run.status, String::from_utf8_lossy(&run.stderr)));
    }
    let text = fs::read_to_string(&log).map_err(error)?;
    let count = text.lines().find_map(|line| line.split_once("I   refs:"));
    let count = count.map(|(_, count)| count.trim().replace(',', ""));
    count.and_then(|count| count.parse().ok()).ok_or_else(|| format!("valgrind counted nothing: {text}"))
}
