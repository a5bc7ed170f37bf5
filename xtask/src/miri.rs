//! `cargo xtask miri`: unit tests under Miri, an interpreter that reports undefined behaviour.
//!
//! Miri checks bounds, alignment, aliasing, data races and leaks, in the project's code and in the crates it
//! uses. A test that Miri cannot run within seconds carries `#[cfg_attr(miri, ignore = "reason")]`.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::counts::Counts;
use crate::system::{Failure, Outcome, check, output, report_skip, root};

/// The tests of a package that run under Miri.
struct Selection {
    package: &'static str,
    /// The modules whose tests run, in this order; all tests if empty.
    modules: &'static [&'static str],
}

const SELECTIONS: [Selection; 3] = [
    // The unsafe code. Tests of the loader's other modules need a kernel.
    Selection { package: "core-relo-loader", modules: &["sys"] },
    // The other packages forbid unsafe code, but the crates `object` and `hashbrown` contain some.
    Selection { package: "core-relo-object", modules: &["object", "target"] },
    Selection { package: "core-relo", modules: &["relocs", "resolve", "ext", "insn"] },
];

/// The minutes after which a package's remaining tests are skipped, unless `--minutes` gives another number.
const MINUTES: u64 = 20;

/// The arguments for `cargo xtask ci`: the package with unsafe code, for a few minutes.
pub const CI_ARGUMENTS: [&str; 3] = ["--minutes", "4", "core-relo-loader"];

/// The time after which a build of the tests, and of the standard library for Miri, is given up.
const BUILD_TIME: Duration = Duration::from_secs(15 * 60);

/// Tests read the committed objects and the clock.
const FLAGS: &str = "-Zmiri-disable-isolation";

pub fn run(args: &[String]) -> Outcome {
    let (mut minutes, mut packages) = (MINUTES, Vec::new());
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--minutes" => {
                let number = words.next().and_then(|number| number.parse().ok());
                minutes = number.ok_or_else(|| Failure::Usage("--minutes needs a number".to_owned()))?;
            }
            name if SELECTIONS.iter().any(|selection| selection.package == name) => packages.push(name),
            other => {
                let names = SELECTIONS.each_ref().map(|selection| selection.package).join(", ");
                return Err(Failure::Usage(format!("unknown argument `{other}`, expected one of {names}")));
            }
        }
    }
    if !is_installed() {
        report_skip("miri", "not installed (rustup component add --toolchain nightly miri rust-src)");
        return Ok(());
    }
    let is_requested = |selection: &&Selection| packages.is_empty() || packages.contains(&selection.package);
    SELECTIONS.iter().filter(is_requested).try_for_each(|selection| test(selection, minutes))
}

/// Returns whether the nightly toolchain has Miri. The task does not install it: other projects may share the
/// toolchain.
fn is_installed() -> bool {
    output(Command::new("cargo").args(["+nightly", "miri", "--version"])).is_some()
}

/// Runs the tests of a selection. Those that have not run after some minutes are skipped.
fn test(selection: &Selection, minutes: u64) -> Outcome {
    let package = selection.package;
    let mut listed = Vec::new();
    let list = cargo_miri(package, ["--list"]);
    let built_until = Instant::now() + BUILD_TIME;
    let add_test = |line: &str| listed.extend(line.strip_suffix(": test").map(str::to_owned));
    match run_until(list, built_until, add_test)? {
        Some(status) if status.success() => {}
        Some(status) => return Err(format!("miri: {package}: {status}").into()),
        None => {
            return Err(format!("miri: {package}: not built within {} s", BUILD_TIME.as_secs()).into());
        }
    }
    let start = Instant::now();
    let deadline = start + Duration::from_secs(minutes * 60);
    let selected = select(&listed, selection.modules)
        .map_err(|module| format!("xtask/src/miri.rs: {package} has no tests in the module `{module}`"))?;

    let mut counts = Counts::default();
    let mut finished = 0;
    let tests = cargo_miri(package, ["--exact"].into_iter().chain(selected.iter().copied()));
    let status = run_until(tests, deadline, |line| {
        counts.add_line(line);
        let is_result = line.starts_with("test ") && line.contains(" ... ");
        finished += usize::from(is_result);
        if !is_result || line.ends_with("FAILED") {
            println!("{line}");
        }
    })?;
    let seconds = start.elapsed().as_secs();
    match status {
        None => {
            let all = selected.len();
            let why = format!("only {finished} of {all} tests ran within {minutes} minutes");
            if finished == 0 {
                return Err(format!("miri: {package}: {why}").into());
            }
            report_skip(&format!("miri: {package}"), &why);
            Ok(())
        }
        Some(status) if status.success() => {
            let Counts { passed, ignored, .. } = counts;
            println!("miri: {package}: {passed} tests passed, {ignored} ignored, {seconds} s");
            Ok(())
        }
        Some(status) => Err(format!("miri: {package}: {status}").into()),
    }
}

/// Returns the names of the tests in some modules, or the first module that has none.
fn select<'t, 'm>(tests: &'t [String], modules: &[&'m str]) -> Result<Vec<&'t str>, &'m str> {
    if modules.is_empty() {
        return Ok(tests.iter().map(String::as_str).collect());
    }
    let mut selected = Vec::new();
    for module in modules {
        let before = selected.len();
        let is_inside = |test: &&str| test.strip_prefix(module).is_some_and(|rest| rest.starts_with("::"));
        selected.extend(tests.iter().map(String::as_str).filter(is_inside));
        if selected.len() == before {
            return Err(module);
        }
    }
    Ok(selected)
}

/// The command that gives these arguments to a package's unit tests.
fn cargo_miri<'a>(package: &str, args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root()).env("MIRIFLAGS", FLAGS);
    command.args(["+nightly", "miri", "test", "--lib", "--package", package, "--"]).args(args);
    command
}

/// Runs a command and passes each line of its standard output on. Kills it at the deadline and then returns
/// `None`.
fn run_until(
    mut command: Command,
    deadline: Instant,
    mut on_line: impl FnMut(&str),
) -> Outcome<Option<ExitStatus>> {
    let cannot_run = |error: std::io::Error| Failure::CannotRun(format!("cargo miri: {error}"));
    // A process group of its own: the interpreter is a grandchild, and ends with cargo.
    let mut child = command.process_group(0).stdout(Stdio::piped()).spawn().map_err(cannot_run)?;
    let (sender, lines) = mpsc::channel();
    let stdout = child.stdout.take();
    let reader = thread::spawn(move || {
        let lines =
            stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).split(b'\n')).map_while(Result::ok);
        lines.map(|line| String::from_utf8_lossy(&line).into_owned()).try_for_each(|line| sender.send(line))
    });
    let is_late = loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => on_line(&line),
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => break true,
        }
    };
    if is_late {
        check(Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]))?;
    }
    drop(lines);
    let status = child.wait().map_err(cannot_run)?;
    // The reader ends at the end of the output, or when nobody receives its lines: neither is an error.
    let _ = reader.join();
    Ok((!is_late).then_some(status))
}

#[cfg(test)]
mod tests {
    use super::select;

    #[test]
    fn a_module_selects_the_tests_below_it() {
        let tests = ["link::tests::a", "attach::link::tests::b", "links::tests::c"].map(str::to_owned);
        assert_eq!(select(&tests, &["link"]), Ok(vec!["link::tests::a"]));
        assert_eq!(select(&tests, &[]).unwrap().len(), 3);
        assert_eq!(select(&tests, &["link", "maps"]), Err("maps"));
    }
}
