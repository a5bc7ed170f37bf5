//! Tests of `load` under faults: a load that is killed, two loads at a time, a bpffs and a cgroup that
//! refuse, a process that is suspended. Needs root, and mounts its own bpffs.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{demo, has_own_bpffs, may_load, prebuilt, text};
use core_relo_loader::{
    Errno,
    inventory::{MapInfo, ObjectKind},
    load::{Kernel as _, RunningKernel},
};
use core_relo_test_support::skip;
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::Duration,
};

const DIR: &str = "/sys/fs/bpf/all";
/// The pin of the map of `pinned.bpf.o`.
const MAP_PIN: &str = "/sys/fs/bpf/core_relo_live";
/// The system calls that change the kernel's state.
const CALLS: &str = "bpf,mkdir,mkdirat,renameat2,unlink,unlinkat,rmdir";
const ENOENT: i32 = 2;

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_core-relo"));
    command.args(args).env_remove("RUST_LOG").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(args: &[&str]) -> (Option<i32>, String, String) {
    texts(&command(args).output().unwrap())
}

fn texts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Returns the pins in a directory and below, without directories and the kernel's own files.
fn pins(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let entries = entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_none());
    entries.flat_map(|path| if path.is_dir() { pins(&path) } else { vec![path] }).collect()
}

fn all_pins() -> Vec<PathBuf> {
    pins(Path::new("/sys/fs/bpf"))
}

/// Removes all pins of the tests.
fn clear() {
    all_pins().iter().for_each(|pin| fs::remove_file(pin).unwrap());
    let _ = fs::remove_dir_all(DIR);
}

/// Returns whether strace works. Otherwise reports a skipped test.
fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    let works = traced.is_ok_and(|status| status.success());
    if !works {
        skip!("strace cannot trace here");
    }
    works
}

/// Returns the number of system calls of a load up to its first pin, and of all its calls.
fn count_calls(load: &[&str], trace: &Path) -> (usize, usize) {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", text(trace), "-e", &format!("trace={CALLS}"), env!("CARGO_BIN_EXE_core-relo")]);
    let traced = strace.args(load).output().unwrap();
    assert!(traced.status.success(), "{traced:?}");
    let calls = fs::read_to_string(trace).unwrap();
    let calls: Vec<_> = calls.lines().filter(|line| line.contains('(')).collect();
    (calls.iter().position(|call| call.contains(" mkdir")).unwrap(), calls.len())
}

/// Runs a load, and kills it when it begins its n-th system call of [`CALLS`].
fn kill_at(load: &[&str], n: usize) {
    let injected = format!("inject={CALLS}:signal=KILL:when={n}");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-e", &format!("trace={CALLS}"), "-e", &injected]);
    strace.arg(env!("CARGO_BIN_EXE_core-relo")).args(load).output().unwrap();
}

#[test]
fn the_next_load_understands_what_a_killed_load_left() {
    if !has_own_bpffs("the_next_load_understands_what_a_killed_load_left") {
        return;
    }
    if !can_trace() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for object in ["live/raw_tp.bpf.o", "live/pinned.bpf.o"] {
        let object = prebuilt(object);
        let load = ["load", text(&object), "--attach", "--pin", DIR];
        let (first_pin, calls) = count_calls(&load, &dir.path().join("trace"));
        let complete = pins(Path::new(DIR)).len();
        clear();
        let (mut partial_states, mut complete_states, mut leftovers) = (0, 0, 0);
        // The calls before only create what the kernel frees with the process.
        for n in first_pin.saturating_sub(2)..=calls {
            kill_at(&load, n);
            let left = pins(Path::new(DIR)).len();
            let private: Vec<_> = all_pins()
                .into_iter()
                .filter(|pin| text(pin).starts_with("/sys/fs/bpf/core_relo_") && pin != Path::new(MAP_PIN))
                .collect();
            if left > 0 {
                let before = all_pins();
                let (status, out, _) = output(&load);
                let expected = if left == complete {
                    complete_states += 1;
                    format!("all {complete} pins of this load exist, so it is loaded")
                } else {
                    partial_states += 1;
                    format!("{left} of the {complete} pins of this load exist")
                };
                assert_eq!(status, Some(1), "killed at call {n}: {out}");
                assert!(out.contains(&expected) && out.contains(&format!("`rm -r {DIR}`")), "{n}: {out}");
                assert_eq!(all_pins(), before, "a refused load changes nothing");
                fs::remove_dir_all(DIR).unwrap();
            }
            let (status, out, err) = output(&load);
            assert_eq!(status, Some(0), "killed at call {n}: {out}{err}");
            for pin in private {
                leftovers += 1;
                assert!(err.contains(text(&pin)) && err.contains("a load that was killed"), "{n}: {err}");
            }
            clear();
        }
        assert!(partial_states > 0 && complete_states > 0, "{partial_states} {complete_states}");
        assert_eq!(leftovers > 0, object.ends_with("pinned.bpf.o"), "a private name is visible for one call");
    }
}

/// Returns whether the kernel has a map whose name begins with a text.
fn has_map(prefix: &str) -> bool {
    let mut id = 0;
    while let Some(next) = ObjectKind::Map.next_id(id).unwrap() {
        id = next;
        // The map may be gone meanwhile.
        let info = ObjectKind::Map.open(id).and_then(|map| Ok(MapInfo::query(&map)?));
        if info.is_ok_and(|info| info.name().starts_with(prefix)) {
            return true;
        }
    }
    false
}

/// Waits some time until a condition holds.
fn holds_soon(condition: impl Fn() -> bool) -> bool {
    (0..1000).any(|_| {
        sleep(Duration::from_millis(10));
        condition()
    })
}

#[test]
fn a_load_that_is_killed_at_any_step_leaves_nothing_without_pins() {
    if !has_own_bpffs("a_load_that_is_killed_at_any_step_leaves_nothing_without_pins") || !can_trace() {
        return;
    }
    // The names of the object's data maps begin with its file name. A program or link that stays would keep
    // these maps.
    let dir = tempfile::tempdir().unwrap();
    let name = format!("k{}", std::process::id() % 1_000_000);
    let object = dir.path().join(format!("{name}.bpf.o"));
    fs::copy(prebuilt("live/raw_tp.bpf.o"), &object).unwrap();
    let pinned = ["load", text(&object), "--attach", "--pin", DIR];
    let (attached, _) = count_calls(&pinned, &dir.path().join("trace"));
    assert!(has_map(&name), "the pinned map has the name");
    clear();
    // The last calls create the map, the program and the link, and read their ids.
    for n in attached.saturating_sub(3)..=attached + 2 {
        kill_at(&["load", text(&object), "--attach"], n);
        assert!(holds_soon(|| !has_map(&name)), "killed at call {n}");
        assert!(all_pins().is_empty());
    }
}

/// Starts a load that attaches its programs, and waits until they are attached. Returns the lines of its
/// report, too.
fn start_attached(args: &[&str]) -> (Child, BufReader<std::process::ChildStderr>, String) {
    let mut child = command(args).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("Ctrl-C detaches") {
        line.clear();
        assert!(err.read_line(&mut line).unwrap() > 0, "the command did not attach");
    }
    let mut report = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    while !report.contains("  link ") {
        assert!(out.read_line(&mut report).unwrap() > 0, "{report}");
    }
    // The command may print events until it ends.
    std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
    (child, err, report)
}

#[test]
fn nothing_stays_of_attached_programs_whose_process_was_killed() {
    if !may_load() {
        return;
    }
    let object = prebuilt("live/raw_tp.bpf.o");
    let (mut child, _err, report) = start_attached(&["load", text(&object), "--attach"]);
    let program = report.lines().find(|line| line.contains("  program ")).unwrap();
    let id = program.split(" id ").nth(1).unwrap().split(',').next().unwrap();
    let id: u32 = id.trim().parse().unwrap();
    let open = || ObjectKind::Program.open(id).map(drop);
    assert_eq!(open(), Ok(()));
    child.kill().unwrap();
    child.wait().unwrap();
    // The kernel frees programs some time after their last user.
    assert!(holds_soon(|| open() == Err(Errno(ENOENT))), "program {id} stays");
}

#[test]
fn one_of_two_loads_into_one_directory_succeeds() {
    if !has_own_bpffs("one_of_two_loads_into_one_directory_succeeds") {
        return;
    }
    let (attached, pinned) = (prebuilt("live/raw_tp.bpf.o"), prebuilt("live/pinned.bpf.o"));
    for _ in 0..10 {
        let start = || command(&["load", text(&attached), "--attach", "--pin", DIR]).spawn().unwrap();
        let outputs = [start(), start()].map(|child| texts(&child.wait_with_output().unwrap()));
        let refused: Vec<_> = outputs.iter().filter(|output| output.0 != Some(0)).collect();
        assert_eq!(refused.len(), 1, "{outputs:?}");
        assert!(refused[0].1.contains("pins of this load exist"), "{refused:?}");
        assert!(outputs.iter().all(|output| output.2.is_empty()), "{outputs:?}");
        assert_eq!(all_pins().len(), 3, "{:?}", all_pins());
        clear();
        // Two loads that pin the same map by name share the map.
        let dirs = ["/sys/fs/bpf/a", "/sys/fs/bpf/b"];
        let children = dirs.map(|dir| command(&["load", text(&pinned), "--pin", dir]).spawn().unwrap());
        for child in children {
            let (status, out, err) = texts(&child.wait_with_output().unwrap());
            assert_eq!(status, Some(0), "{out}{err}");
        }
        let id = |path: &str| MapInfo::query(&RunningKernel.open_pin(Path::new(path)).unwrap()).unwrap().id;
        let in_dirs = dirs.map(|dir| id(&format!("{dir}/maps/core_relo_live")));
        assert_eq!(in_dirs, [id(MAP_PIN); 2]);
        clear();
        dirs.iter().for_each(|dir| fs::remove_dir_all(dir).unwrap());
    }
}

#[test]
fn a_bpffs_that_takes_no_pins_is_named() {
    if !has_own_bpffs("a_bpffs_that_takes_no_pins_is_named") {
        return;
    }
    let object = prebuilt("live/pinned.bpf.o");
    let read_only = Command::new("mount").args(["-o", "remount,bind,ro", "/sys/fs/bpf"]).status().unwrap();
    if !read_only.success() {
        return skip!("the bpffs cannot be mounted read-only");
    }
    let (status, out, err) = output(&["load", text(&object), "--pin", DIR]);
    assert_eq!(status, Some(1), "{out}{err}");
    assert!(out.contains("EROFS") && out.contains("is mounted read-only"), "{out}");
    let (status, ..) = output(&["load", text(&object)]);
    assert_eq!(status, Some(0), "a load without pins needs no bpffs");
    assert!(all_pins().is_empty(), "{:?}", all_pins());
}

/// A cgroup with a memory limit.
struct LimitedCgroup(PathBuf);

impl LimitedCgroup {
    /// Creates the cgroup, or reports why the test is skipped.
    fn new(bytes: u64) -> Option<Self> {
        let v1 = Path::new("/sys/fs/cgroup/memory");
        let (root, limit) = if v1.join("memory.limit_in_bytes").exists() {
            (v1, "memory.limit_in_bytes")
        } else {
            (Path::new("/sys/fs/cgroup"), "memory.max")
        };
        let group = Self(root.join(format!("core_relo_faults_{}", std::process::id())));
        let created = fs::create_dir(&group.0);
        if created.and_then(|()| fs::write(group.0.join(limit), bytes.to_string())).is_err() {
            skip!("no cgroup with a memory limit can be created here");
            return None;
        }
        Some(group)
    }
}

impl Drop for LimitedCgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn the_memory_limit_that_a_load_exceeds_is_named() {
    if !has_own_bpffs("the_memory_limit_that_a_load_exceeds_is_named") {
        return;
    }
    let Some(group) = LimitedCgroup::new(24 << 20) else { return };
    let object = prebuilt("live/pinned.bpf.o");
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", text(&group.0));
    let run = |entries: &str| {
        let words = ["-c", &script, "sh", env!("CARGO_BIN_EXE_core-relo"), "load", text(&object)];
        let entries = format!("core_relo_live={entries}");
        let output = Command::new("sh").args(words).args(["--max-entries", &entries, "--pin", DIR]).output();
        texts(&output.unwrap())
    };
    // 10 million elements of 8 bytes.
    let (status, out, err) = run("10000000");
    assert_eq!(status, Some(1), "{out}{err}");
    assert!(out.contains("map `core_relo_live`: creating it: ENOMEM"), "{out}");
    assert!(out.contains("memory limit of this cgroup") && out.contains(text(&group.0)), "{out}");
    assert!(out.contains(&format!("{} bytes", 24 << 20)), "{out}");
    assert!(all_pins().is_empty(), "{:?}", all_pins());
    let (status, out, err) = run("1000");
    assert_eq!(status, Some(0), "{out}{err}");
    clear();
}

fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_suspended_reader_reports_that_its_buffer_was_full() {
    if !may_load() {
        return;
    }
    let object = demo().join("exec.bpf.o");
    let args =
        ["--program", "handle_exec", "--attach", "--print", "events=int", "--max-entries", "events=4096"];
    let probe = output(&["load", text(&object), "--program", "handle_exec"]);
    if probe.0 != Some(0) {
        return skip!("the example object does not load here: {}", probe.1);
    }
    let (child, mut err, _) = start_attached(&[&["load", text(&object)][..], &args].concat());
    signal(&child, "-STOP");
    // Each program sends a record of about 100 bytes.
    (0..100).for_each(|_| assert!(Command::new("true").status().unwrap().success()));
    signal(&child, "-CONT");
    sleep(Duration::from_millis(500));
    signal(&child, "-TERM");
    let mut text = String::new();
    err.read_to_string(&mut text).unwrap();
    let mut child = child;
    assert_eq!(child.wait().unwrap().code(), Some(0), "{text}");
    assert!(text.contains("map events: events may be lost: the buffer was full"), "{text}");
}

#[test]
fn a_full_buffer_of_a_run_is_reported() {
    if !may_load() {
        return;
    }
    let object = prebuilt("live/ringbuf.bpf.o");
    let run = |repeat| {
        output(&["run", text(&object), "--program", "reserve", "--print", "events=u64", "--repeat", repeat])
    };
    let (status, out, err) = run("5000");
    assert_eq!(status, Some(0), "{err}");
    assert!(out.lines().count() < 5000 && err.contains("map events: events may be lost"), "{err}");
    let (status, _, err) = run("2000");
    assert_eq!((status, &*err), (Some(0), ""));
}
