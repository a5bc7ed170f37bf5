//! `cargo xtask test`: builds the test programs, fetches kernels' BTF, runs the tests, and lists the skipped
//! tests with reasons.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use core_relo_test_support::REQUIRE;

use crate::aya;
use crate::compile;
use crate::counts::Counts;
use crate::install;
use crate::kernels;
use crate::progs;
use crate::requirements;
use crate::site;
use crate::static_binary::Build;
use crate::system::{Failure, Outcome, cargo, is_installed, kernels_dir, progs_dir, root};
use crate::template;
use crate::vm;

/// The test in `cli/tests/growth.rs` that counts the work of each command at two sizes of each kind of input.
/// It takes as long as all other tests.
const GROWTH_TEST: &str = "the_work_of_every_command_is_nearly_linear";

pub fn run(args: &[String]) -> Outcome {
    let (task_args, test_args) = match args.iter().position(|arg| arg == "--") {
        Some(at) => (&args[..at], &args[at + 1..]),
        None => (args, &[][..]),
    };
    let flag = |name: &str| task_args.iter().any(|arg| arg == name);
    if let Some(other) = task_args.iter().find(|arg| {
        !["--growth", "--no-kernels", "--no-install", "--require", "--vm"].contains(&arg.as_str())
    }) {
        return Err(Failure::Usage(format!("unknown argument `{other}`")));
    }
    let may_install = !flag("--no-install");
    let mut skips = BTreeSet::new();
    let compilers = progs::compilers_or_install(may_install);
    if compilers.is_empty() {
        skips.insert(
            "bpf-progs: clang 14 or later is neither installed nor can be installed; the committed objects are tested"
                .to_owned(),
        );
    } else {
        skips.extend(compile::build(&compilers, &progs_dir())?);
    }
    let missing_kernels = match flag("--no-kernels") {
        true => vec!["kernel BTF: --no-kernels".to_owned()],
        false => kernels::fetch(&[]),
    };
    let has_kernels = missing_kernels.is_empty();
    skips.extend(missing_kernels);
    let (mut command, missing) = workspace_test_command(may_install);
    let has_libbpf = missing.is_none();
    if let Some(missing) = missing {
        skips.insert(format!("tests that compare with libbpf: libbpf cannot be built without {missing}"));
    }
    // Without valgrind the tests that count instructions print SKIP.
    if may_install && !is_installed("valgrind") {
        install::valgrind();
    }
    // Without a browser the tests of the page print SKIP.
    if is_installed("chromedriver")
        && let Err(error) = site::build(&Build::of_checkout())
    {
        skips.insert(format!("the page of `core-relo site`: {error}"));
    }
    command.args(["--no-fail-fast", "--", "--show-output"]).args(test_args);
    if !flag("--growth") {
        command.args(["--skip", GROWTH_TEST]);
        skips.insert("growth of each command's work, three minutes: `cargo xtask test --growth`".to_owned());
    }
    let notes = root().join("target/skipped-tests.txt");
    let _ = std::fs::create_dir_all(root().join("target"));
    let _ = std::fs::remove_file(&notes);
    environment(&mut command).env("CORE_RELO_SKIPS", &notes);
    let required = flag("--require").then(|| requirements::names(has_kernels, has_libbpf));
    if let Some(names) = &required {
        println!("skips of tests that need these are failures: {names}");
        command.env(REQUIRE, names);
    }
    let (mut is_ok, mut counts, printed_skips) = run_tests(command)?;
    skips.extend(printed_skips);
    match aya::test_command(may_install) {
        Ok(mut command) => {
            command.args(["--", "--show-output"]).args(test_args).env("CORE_RELO_SKIPS", &notes);
            command.envs(required.iter().map(|names| (REQUIRE, names)));
            let (is_aya_ok, aya_counts, printed_skips) = run_tests(command)?;
            is_ok &= is_aya_ok;
            counts.add_counts(aya_counts);
            skips.extend(printed_skips);
        }
        Err(reason) => {
            skips.insert(format!("the rules of aya: {reason}"));
        }
    }
    let noted_skips = std::fs::read_to_string(&notes).unwrap_or_default();
    skips.extend(
        noted_skips
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| line.trim_start_matches("SKIP ").to_owned()),
    );
    let examples = template::check_examples(may_install);
    if matches!(examples, Ok(false)) {
        skips.insert("the agent template: clang 14 or later is not installed".to_owned());
    }
    let mut on_kernels = Ok(());
    if flag("--vm") {
        let report = vm::oldest_and_newest(may_install);
        counts.add_counts(report.counts);
        skips.extend(report.skips.iter().cloned());
        on_kernels = report.result();
    }
    println!();
    for skip in &skips {
        println!("SKIP {skip}");
    }
    // A test that skips returns early, and its harness counts it as passed.
    let skipped = skipped_tests(&noted_skips);
    let ignored = counts.ignored + skipped;
    println!("{} passed, {} failed, {ignored} ignored", counts.passed.saturating_sub(skipped), counts.failed);
    on_kernels?;
    examples?;
    if is_ok { Ok(()) } else { Err("tests failed".into()) }
}

/// Returns cargo's command for the tests of the workspace, and the missing tools without which it leaves out
/// the comparison with libbpf. All uses share what it builds.
pub fn workspace_test_command(may_install: bool) -> (Command, Option<String>) {
    let mut command = cargo();
    command.args(["test", "--workspace"]);
    let missing = install::libbpf_build_tools(may_install);
    if missing.is_none() {
        command.args(["--features", "core-relo-tests/libbpf"]);
    }
    (command, missing)
}

/// Rewrites the golden files (`cargo xtask bless`).
pub fn bless(args: &[String]) -> Outcome {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("unknown argument `{other}`")));
    }
    let mut command = cargo();
    command.args(["test", "--package", "core-relo-tests", "--package", "core-relo-cli"]).env("BLESS", "1");
    crate::system::check(environment(&mut command))
}

/// Passes the directories of built objects and kernels to the tests. Without them the tests use the committed
/// objects.
fn environment(command: &mut Command) -> &mut Command {
    for (variable, dir) in [("CORE_RELO_PROGS", progs_dir()), ("CORE_RELO_KERNELS", kernels_dir())] {
        if dir.is_dir() {
            command.env(variable, dir);
        }
    }
    command
}

/// Runs the tests, prints their output without passed tests, and counts results and skips.
fn run_tests(mut command: Command) -> Outcome<(bool, Counts, BTreeSet<String>)> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cargo: {error}"))?;
    let mut counts = Counts::default();
    let mut skips = BTreeSet::new();
    for line in
        child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).split(b'\n')).map_while(Result::ok)
    {
        let line = String::from_utf8_lossy(&line).into_owned();
        if let Some(skip) = line.trim().strip_prefix("SKIP ") {
            skips.insert(skip.to_owned());
        } else if !line.ends_with("... ok") && !is_frame(&line) {
            println!("{line}");
        }
        counts.add_line(&line);
    }
    let status = child.wait().map_err(|error| format!("cargo: {error}"))?;
    Ok((status.success(), counts, skips))
}

/// Returns the number of tests in the notes of skips. A test may skip several parts.
fn skipped_tests(notes: &str) -> u64 {
    let names = notes.lines().filter_map(|line| line.strip_prefix("SKIP ")?.split_once(": "));
    names.map(|(name, _)| name).collect::<BTreeSet<_>>().len() as u64
}

/// Returns whether the test harness printed a line around the output of passed tests.
fn is_frame(line: &str) -> bool {
    line.is_empty()
        || line == "successes:"
        || line.starts_with("running ")
        || (line.starts_with("    ") && !line.trim().contains(' '))
}

#[cfg(test)]
mod tests {
    use super::skipped_tests;

    #[test]
    fn tests_that_skip_several_parts_count_once() {
        let notes = "SKIP a::b: no clang\nSKIP a::b: no kernel: none\nSKIP c: no tcx\n";
        assert_eq!(skipped_tests(notes), 2);
    }
}
