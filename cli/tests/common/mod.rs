//! Running the command as a user does.
#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// What a run printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) exit: i32,
}

/// Runs `core-relo` in the folder of the demo's files.
pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Run {
    run_in(&demo(), args)
}

pub(crate) fn run_in<S: AsRef<std::ffi::OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_core-relo"));
    command.args(args).current_dir(folder).env_remove("RUST_LOG").env_remove("CLICOLOR_FORCE");
    let Output { status, stdout, stderr } = command.output().expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run { out: text(stdout), err: text(stderr), exit: status.code().expect("an exit status") }
}

impl Run {
    /// The JSON lines on stdout.
    pub(crate) fn lines(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// All of it, for a snapshot.
    pub(crate) fn whole(&self) -> String {
        format!("{}----- stderr, exit {}\n{}", self.out, self.exit, self.err)
    }
}

pub(crate) fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("demo")
}

/// A committed object of the test programs, little-endian.
pub(crate) fn prebuilt(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf-progs/prebuilt/el").join(name)
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
