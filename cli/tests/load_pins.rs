//! Tests of `load` and `run` with pins: concurrent loads of one pinned map, and signals. Needs root and mounts its own bpffs.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{prebuilt, text};
use core_relo_loader::sys;
use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread::sleep,
    time::Duration,
};

const BPFFS: &str = "/sys/fs/bpf";
/// The pin of the map of `pinned.bpf.o`.
const MAP_PIN: &str = "/sys/fs/bpf/core_relo_live";
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Returns true if this process has its own bpffs. Otherwise runs the test again in a process with one.
fn has_own_bpffs(test: &str) -> bool {
    const VARIABLE: &str = "CORE_RELO_TEST_OWN_BPFFS";
    if env::var_os(VARIABLE).is_some() {
        return true;
    }
    let script = "mount -t bpf bpf /sys/fs/bpf || exit 42; exec \"$@\"";
    let again = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(VARIABLE, "1")
        .status();
    match again {
        Ok(status) if status.success() => {}
        Ok(status) if status.code() == Some(42) || status.code() == Some(1) => {
            println!("SKIP: no bpffs can be mounted here");
        }
        other => panic!("{test}: {other:?}"),
    }
    false
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_core-relo"));
    command
        .args(args)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Starts a command and waits until it has attached its programs.
fn start_attached(args: &[&str]) -> Child {
    let mut child = command(args).spawn().unwrap();
    let mut line = String::new();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    while !line.contains("Ctrl-C detaches") {
        line.clear();
        assert!(err.read_line(&mut line).unwrap() > 0, "the command did not attach");
    }
    child
}

fn kill(child: &Child, signal: i32) {
    let status = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
    assert!(status.unwrap().success());
}

/// Returns the id of the pinned map.
fn pinned_map() -> u32 {
    sys::map_info(&sys::obj_get(Path::new(MAP_PIN), 0).unwrap()).unwrap().id
}

/// Returns all pins in the bpffs, without the kernel's own files.
fn pins() -> Vec<PathBuf> {
    fn pins_below(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().flatten().filter(|e| e.path().extension().is_none()) {
            if entry.path().is_dir() {
                pins_below(&entry.path(), all);
            }
            all.push(entry.path());
        }
    }
    let mut all = Vec::new();
    pins_below(Path::new(BPFFS), &mut all);
    all
}

#[test]
fn a_load_that_ends_removes_no_pin_that_another_load_uses() {
    if !has_own_bpffs("a_load_that_ends_removes_no_pin_that_another_load_uses") {
        return;
    }
    let (pinned, attached) = (prebuilt("live/pinned.bpf.o"), prebuilt("live/raw_tp.bpf.o"));
    let mut first = start_attached(&["load", text(&pinned), text(&attached), "--attach"]);
    assert_eq!(pins(), [""; 0].map(PathBuf::from), "a load that ends with the command pins nothing");
    let second = command(&["load", text(&pinned), "--pin", "/sys/fs/bpf/b"]).output().unwrap();
    assert!(second.status.success(), "{second:?}");
    let id = pinned_map();
    kill(&first, SIGINT);
    assert!(first.wait().unwrap().success());
    assert_eq!(pinned_map(), id);
    // A load that finds the pin uses the map and keeps the pin.
    for words in [&["load"][..], &["load", "--each"], &["run", "--program", "count"]] {
        let shown = command(&[words, &[text(&pinned)]].concat()).output().unwrap();
        assert!(shown.status.success(), "{shown:?}");
        assert_eq!(pinned_map(), id);
    }
}

#[test]
fn a_load_that_cannot_be_reported_or_pinned_leaves_nothing() {
    if !has_own_bpffs("a_load_that_cannot_be_reported_or_pinned_leaves_nothing") {
        return;
    }
    let pinned = prebuilt("live/pinned.bpf.o");
    // The parent folder does not exist.
    let shown = command(&["load", text(&pinned), "--pin", "/sys/fs/bpf/a/b"]).output().unwrap();
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
    assert!(pins().is_empty(), "{:?}", pins());
    let globals = prebuilt("live/globals.bpf.o");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = command(&["load", text(&globals), "--pin", "/sys/fs/bpf/a"]).stdout(full).status().unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(pins().is_empty(), "{:?}", pins());
}

/// Runs a command, sends a signal after some time, and returns the exit status.
fn run_and_signal(args: &[&str], signal: i32, after: Duration) -> ExitStatus {
    let child = command(args).spawn().unwrap();
    sleep(after);
    kill(&child, signal);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!err.contains("stays") && !err.contains("panicked"), "{err}");
    output.status
}

#[test]
fn a_signal_leaves_all_pins_or_none() {
    if !has_own_bpffs("a_signal_leaves_all_pins_or_none") {
        return;
    }
    let (pinned, attached) = (prebuilt("live/pinned.bpf.o"), prebuilt("live/raw_tp.bpf.o"));
    for args in [&[text(&pinned)][..], &[text(&attached), "--attach"]] {
        let load = [&["load", "--pin", "/sys/fs/bpf/all"], args].concat();
        assert!(command(&load).output().unwrap().status.success());
        let complete = pins().len();
        assert!(complete > 3);
        clear();
        let (mut interrupted, mut finished) = (0, 0);
        for (n, signal) in (0..40).zip([SIGINT, SIGTERM].into_iter().cycle()) {
            let status = run_and_signal(&load, signal, Duration::from_micros(n * 700));
            let left = pins();
            if status.success() {
                finished += 1;
                assert_eq!(left.len(), complete, "{left:?}");
            } else {
                interrupted += 1;
                assert_eq!(status.signal(), Some(signal), "{status:?}");
                assert!(left.is_empty(), "{left:?}");
            }
            clear();
        }
        println!("{interrupted} loads interrupted, {finished} finished");
    }
}

/// Removes all pins of the tests.
fn clear() {
    let _ = fs::remove_dir_all("/sys/fs/bpf/all");
    let _ = fs::remove_file(MAP_PIN);
}
