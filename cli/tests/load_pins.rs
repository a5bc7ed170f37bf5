//! Tests of `load` and `run` with pins: concurrent loads of one pinned map, and signals. Needs root and
//! mounts its own bpffs.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{has_own_bpffs, pipe, prebuilt, text};
use core_relo_loader::{
    inventory::MapInfo,
    load::{Kernel as _, RunningKernel},
};
use core_relo_test_support::skip;
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::{fs::OpenOptionsExt as _, process::ExitStatusExt as _},
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
/// Some of the signals that end a process by default: SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGALRM, SIGXCPU.
const ENDING_SIGNALS: [i32; 6] = [SIGINT, SIGTERM, 3, 10, 14, 24];

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
    MapInfo::query(&RunningKernel.open_pin(Path::new(MAP_PIN)).unwrap()).unwrap().id
}

/// Returns all pins in the bpffs, without the kernel's own files.
fn pins() -> Vec<PathBuf> {
    fn pins_below(dir: &Path, all: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap().flatten().filter(|e| e.path().extension().is_none()) {
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
    // SIGTERM, because a shell starts a job in the background with SIGINT ignored, and the command respects
    // that.
    kill(&first, SIGTERM);
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
    // The new directory `a` is removed, too: a bpffs takes no names with dots.
    let shown = command(&["load", text(&pinned), "--pin", "/sys/fs/bpf/a/b.c"]).output().unwrap();
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
    assert!(pins().is_empty() && !Path::new("/sys/fs/bpf/a").exists(), "{:?}", pins());
    let globals = prebuilt("live/globals.bpf.o");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = command(&["load", text(&globals), "--pin", "/sys/fs/bpf/a"]).stdout(full).status().unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(pins().is_empty(), "{:?}", pins());
}

#[test]
fn a_pin_that_stays_after_a_load_without_a_report_is_named() {
    if !has_own_bpffs("a_pin_that_stays_after_a_load_without_a_report_is_named") {
        return;
    }
    let pinned = prebuilt("live/pinned.bpf.o");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let shown = command(&["load", text(&pinned), "--pin", "/sys/fs/bpf/a"]).stdout(full).output().unwrap();
    let err = String::from_utf8(shown.stderr).unwrap();
    assert_eq!((shown.status.code(), pins()), (Some(2), vec![PathBuf::from(MAP_PIN)]), "{err}");
    assert!(err.contains(&format!("the pin {MAP_PIN} stays: other processes may use it")), "{err}");
    // A pin of another load is no news.
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let shown = command(&["load", text(&pinned), "--pin", "/sys/fs/bpf/a"]).stdout(full).output().unwrap();
    let err = String::from_utf8(shown.stderr).unwrap();
    assert!(!err.contains("stays"), "{err}");
    clear();
}

#[test]
fn a_link_under_the_name_of_a_pin_is_named() {
    if !has_own_bpffs("a_link_under_the_name_of_a_pin_is_named") {
        return;
    }
    let pinned = prebuilt("live/pinned.bpf.o");
    std::os::unix::fs::symlink("/sys/fs/bpf/nowhere", MAP_PIN).unwrap();
    let shown = command(&["load", text(&pinned), "--pin", "/sys/fs/bpf/all"]).output().unwrap();
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
    let out = String::from_utf8(shown.stdout).unwrap();
    assert!(out.contains("core_relo_live: EEXIST: File exists (it is a symbolic link to a file"), "{out}");
    assert_eq!(pins(), [PathBuf::from(MAP_PIN)], "nothing else is left");
    fs::remove_file(MAP_PIN).unwrap();
}

/// Runs a command, sends a signal after some time, and returns how it ended.
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
        for (n, signal) in (0..40).zip(ENDING_SIGNALS.into_iter().cycle()) {
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

/// A pipe that nobody reads and that takes no more bytes.
fn full_pipe(dir: &Path) -> fs::File {
    const O_NONBLOCK: i32 = 0o4000;
    let path = dir.join("pipe");
    pipe(&path);
    let open = |flags| fs::File::options().read(true).write(true).custom_flags(flags).open(&path).unwrap();
    let mut filling = open(O_NONBLOCK);
    while filling.write(b" ").is_ok() {}
    open(0)
}

/// Waits until a process waits for room in a pipe.
fn wait_until_it_writes(child: &Child) {
    let waits = || {
        let function = fs::read_to_string(format!("/proc/{}/wchan", child.id())).unwrap();
        ["pipe", "poll"].iter().any(|part| function.contains(part))
    };
    // Where the kernel does not show the function, the signal arrives at any moment.
    (0..200).take_while(|_| !waits()).for_each(|_| sleep(Duration::from_millis(10)));
}

/// Returns the signal that ended a process, or ends the process if none does.
fn end(child: &mut Child) -> Option<i32> {
    for _ in 0..1000 {
        if let Some(status) = child.try_wait().unwrap() {
            return status.signal();
        }
        sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

#[test]
fn a_signal_ends_a_command_whose_output_nobody_reads() {
    if !has_own_bpffs("a_signal_ends_a_command_whose_output_nobody_reads") {
        return;
    }
    let (pinned, globals, attached) =
        (prebuilt("live/pinned.bpf.o"), prebuilt("live/globals.bpf.o"), prebuilt("live/raw_tp.bpf.o"));
    let (pinned, globals, attached) = (text(&pinned), text(&globals), text(&attached));
    let dir = tempfile::tempdir().unwrap();
    let full = full_pipe(dir.path());
    for args in [
        &["load", globals][..],
        &["load", "--format", "json", globals],
        &["load", "--pin", "/sys/fs/bpf/all", globals, attached],
        &["load", "--attach", attached],
        &["load", "--each", attached],
        &["load", "/no/such/object"],
        &["run", "--program", "count", pinned],
        &["run", "--program", "count", "--token", "/nowhere", pinned],
    ] {
        for errors_too in [false, true] {
            let mut command = command(args);
            command.stdout(full.try_clone().unwrap()).stderr(Stdio::null());
            if errors_too {
                command.stderr(full.try_clone().unwrap());
            }
            // That error goes to stderr alone.
            if args == ["load", "/no/such/object"] && !errors_too {
                continue;
            }
            let mut child = command.spawn().unwrap();
            wait_until_it_writes(&child);
            kill(&child, SIGTERM);
            assert_eq!(end(&mut child), Some(SIGTERM), "{args:?}, errors too: {errors_too}");
            assert_eq!(pins(), [""; 0].map(PathBuf::from), "{args:?}");
        }
    }
}

/// `ip netns exec` mounts a new sysfs, in which `/sys/fs/bpf` is an empty directory.
#[test]
fn a_hidden_bpffs_is_named_with_the_way_around_it() {
    if !common::may_load() {
        return;
    }
    let object = prebuilt("live/raw_tp.bpf.o");
    let pinned_map = prebuilt("live/pinned.bpf.o");
    let script = "mount -t sysfs sysfs /sys && mount -t bpf bpf /mnt || exit 42; exec \"$@\"";
    let pin = "/sys/fs/bpf/core_relo_hidden";
    let below = format!("{pin}/below");
    let sizes = ["--key-size=4", "--value-size=4", "--max-entries=1"];
    for args in [
        &["load", text(&object), "--attach", "--pin", &below][..],
        &["load", text(&object), "--attach", "--pin", pin],
        &[&["map", "create", pin, "--type=array"][..], &sizes].concat(),
        &["prog", "show", "--pinned", pin],
        // The object names the path of the map's pin.
        &["load", text(&pinned_map), "--pin", "/mnt/elsewhere"],
    ] {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--net", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_core-relo")])
            .args(args);
        let output = command.output().unwrap();
        if matches!(output.status.code(), Some(42)) {
            return skip!("no sysfs can be mounted");
        }
        let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        let hint = "no bpffs is mounted at /sys/fs/bpf; `ip netns exec` hides it, \
                    `nsenter --net=/run/netns/NAME` does not";
        assert!(matches!(output.status.code(), Some(1 | 2)), "{out}{err}");
        assert!(format!("{out}{err}").contains(hint), "{args:?}: {out}{err}");
        assert!(!format!("{out}{err}").contains("create"), "{args:?}: {out}{err}");
    }
}
