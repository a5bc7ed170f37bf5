//! The work of every command grows at most with n log n in each dimension of its input.
//!
//! valgrind counts instructions at two sizes, so that the result does not depend on the machine or its load.
#![allow(clippy::panic, reason = "a test fails by panicking")]

use core_relo_test_support::{Requirement, skip_without};
use core_relo_tests::growth::{Command, Dimension, Written, dimensions};
use std::{
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

/// The smaller count. The larger count is [`TIMES`] times as large: quadratic work of 7 instructions or more
/// for each pair of elements is then larger than [`MIN_WORK`] may grow.
const COUNT: usize = 250;
const TIMES: usize = 4;

/// The maximum exponent of growth. Linear work has 1, sorting a little more, quadratic work 2.
const MAX_EXPONENT: f64 = 1.1;

/// Instructions for the parsing of a line, which do not count. The cheapest command needs about 175,000
/// (`inspect` of a missing file).
const FIXED: u64 = 150_000;

/// The smallest work that is compared. Differences of less work are noise.
const MIN_WORK: u64 = 1_500_000;

#[test]
fn the_work_of_every_command_is_nearly_linear() {
    if let Err(why) = process::Command::new("valgrind").arg("--version").output() {
        return skip_without(Requirement::Valgrind, "growth", &format!("valgrind does not run: {why}"));
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let program = &without_debug_info(dir.path());
    let only = std::env::var("CORE_RELO_GROWTH").unwrap_or_else(|_unset| "".into());
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

/// Returns a copy of the command without lines of code, which valgrind starts faster, or the command itself
/// without `strip`.
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
        let counts = instructions(program, forms, &input, &within)?;
        fs::remove_dir_all(&within).map_err(|e| format!("{}: {e}", within.display()))?;
        Ok::<_, String>(forms.iter().copied().zip(counts).collect::<Vec<_>>())
    };
    let own = |count: u64| count.saturating_sub(FIXED).max(MIN_WORK) as f64;
    let exponent = |few: u64, many: u64| (own(many) / own(few)).log(TIMES as f64);
    let forms: Vec<_> = dimension.commands.iter().flat_map(Form::for_command).collect();
    let mut large = counted(COUNT * TIMES, &forms)?;
    // Less work has not grown too fast, however little there is for the smaller count.
    large.retain(|(_, count)| exponent(0, *count) > MAX_EXPONENT);
    let forms: Vec<_> = large.iter().map(|(form, _)| *form).collect();
    let small = if forms.is_empty() { Vec::new() } else { counted(COUNT, &forms)? };
    let report = |((form, few), (_, many)): (&(Form, u64), &(Form, u64))| {
        let exponent = exponent(*few, *many);
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

/// The function whose calls separate the commands of a batch.
const PARSE_LINE: &str = "core_relo_cli::dispatch::batch::parse_line";

/// Returns the instructions of each command, in all its threads. One process runs them all, because valgrind
/// needs a second or more to translate the code of each process.
fn instructions(program: &Path, forms: &[Form], input: &Written, dir: &Path) -> Result<Vec<u64>, String> {
    let (batch, profile) = (dir.join("commands"), dir.join("profile"));
    let error = |e: io::Error| format!("{}: {e}", dir.display());
    fs::write(&batch, lines(forms, input)?).map_err(error)?;
    let run = process::Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--dump-before={PARSE_LINE}"))
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .args(["batch", "--keep-going"])
        .arg(&batch)
        .env_remove("RUST_LOG")
        .output()
        .map_err(error)?;
    check_statuses(forms, &String::from_utf8_lossy(&run.stderr), &batch.display().to_string())?;
    // `profile.1` counts the start of the process, `profile.2` the first command, and `profile` the last one.
    let count = |number: usize| {
        let file = if number == forms.len() + 1 {
            profile.clone()
        } else {
            profile.with_extension(number.to_string())
        };
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        total.and_then(|total| total.parse().ok()).ok_or_else(|| format!("{}: no total", file.display()))
    };
    (2..forms.len() + 2).map(count).collect()
}

/// Returns the batch file of the commands.
fn lines(forms: &[Form], input: &Written) -> Result<String, String> {
    let mut lines = String::new();
    for form in forms {
        let words = form.command.args(input, form.is_json);
        let words: Option<Vec<_>> = words.iter().map(|word| word.to_str()).collect();
        let words = words.ok_or("the temporary directory has no UTF-8 name")?;
        lines.push_str(&shlex::try_join(words).map_err(|e| e.to_string())?);
        lines.push('\n');
    }
    Ok(lines)
}

/// Checks the exit statuses that the batch reports on stderr: each command must have answered.
fn check_statuses(forms: &[Form], stderr: &str, batch: &str) -> Result<(), String> {
    let mut messages = 0;
    for line in stderr.lines() {
        let failure = line.strip_prefix("core-relo: note: ").and_then(|line| line.strip_prefix(batch));
        let Some((number, status)) = failure
            .and_then(|line| line.strip_prefix(':')?.split_once(": this command failed with exit status "))
        else {
            messages += 1;
            continue;
        };
        let form = number.parse::<usize>().ok().and_then(|number| forms.get(number.checked_sub(1)?));
        let form = form.ok_or_else(|| format!("no such line: {line}"))?;
        let is_answered = match status {
            "1" => form.command.may_be_unresolved(),
            // Bad input has the same status and a message.
            "2" => form.command.may_be_unknown() && messages == 0,
            _ => false,
        };
        if !is_answered {
            return Err(format!("`{}`: {stderr}", form.name()));
        }
        messages = 0;
    }
    // An error of the batch or of valgrind follows the messages of the commands.
    if messages > 0 { Err(stderr.to_owned()) } else { Ok(()) }
}
