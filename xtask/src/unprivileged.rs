//! The tests of the loader and the command as an ordinary user, who may neither load programs nor write to
//! the checkout.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

use core_relo_test_support::REQUIRE;

use crate::system::{Outcome, cargo, check, is_installed, output, report_skip, root};

/// The user and the group `nobody`.
const NOBODY: u32 = 65534;

/// The test files of the command that meet the kernel or the rights of files. The others compare texts, and
/// some take minutes.
const COMMAND_TESTS: [&str; 14] = [
    "adaptive",
    "bad_input",
    "budget",
    "events",
    "faults",
    "gen_loader",
    "input_as_output",
    "kernel",
    "load",
    "load_pins",
    "newcomer",
    "outputs",
    "signing",
    "test_runs",
];

/// Runs the tests. Root becomes `nobody` for them.
pub fn run() -> Outcome {
    if output(Command::new("id").arg("-u")).is_none_or(|id| id.trim() != "0") {
        return run_tests(&[]);
    }
    if !is_installed("setpriv") {
        return skip("no setpriv, which drops root's rights");
    }
    if !can_read_checkout() {
        return skip("other users may not read this directory");
    }
    let scratch = std::env::temp_dir().join(format!("core-relo-unprivileged-{}", std::process::id()));
    let io = |error| format!("{}: {error}", scratch.display());
    fs::create_dir(&scratch).map_err(io)?;
    let ran = chown(&scratch, Some(NOBODY), Some(NOBODY)).map_err(|error| io(error).into());
    let ran = ran.and_then(|()| run_tests(&["--config".to_owned(), runner(&scratch)]));
    fs::remove_dir_all(&scratch).map_err(io)?;
    ran
}

fn run_tests(options: &[String]) -> Outcome {
    let test = |package: &str| {
        let mut command = cargo();
        command.args(["test", "--quiet"]).args(options).args(["-p", package, "--lib"]).env_remove(REQUIRE);
        command
    };
    check(test("core-relo-loader").args(["-p", "core-relo-adaptive"]))?;
    check(test("core-relo-cli").args(COMMAND_TESTS.iter().flat_map(|test| ["--test", test])))
}

/// Returns cargo's configuration of a runner that becomes `nobody`, with a directory for the files of the
/// tests.
fn runner(scratch: &Path) -> String {
    let scratch = scratch.display();
    // Without the last variable, snapshots are found by cargo, which this user may not be able to start.
    let variables = [
        format!("HOME={scratch}"),
        format!("CARGO_TARGET_TMPDIR={scratch}"),
        format!("INSTA_WORKSPACE_ROOT={}", root().display()),
    ];
    let words: Vec<_> = as_nobody().into_iter().chain(["env".to_owned()]).chain(variables).collect();
    format!("target.'cfg(unix)'.runner={words:?}")
}

fn can_read_checkout() -> bool {
    let words = as_nobody();
    let mut command = Command::new("setpriv");
    command.args(words.iter().skip(1)).arg("cat").arg(root().join("Cargo.toml"));
    output(&mut command).is_some()
}

/// Returns the words of a command that runs another one as `nobody`.
fn as_nobody() -> Vec<String> {
    let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
    let end = ["--clear-groups".to_owned(), "--".to_owned()];
    ["setpriv".to_owned()].into_iter().chain(ids).chain(end).collect()
}

fn skip(reason: &str) -> Outcome {
    report_skip("matrix unprivileged", reason);
    Ok(())
}
