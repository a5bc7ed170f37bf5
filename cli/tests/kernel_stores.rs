//! The store of fetched kernels: killed, parallel and refused fetches.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::Run;
use core_relo_test_support::{AptRepository, skip};
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// The arguments that fetch the newest kernel.
const FETCH: [&str; 3] = ["kernels", "fetch", "debian:12@amd64"];

/// A machine with a store, and a mirror.
struct Machine {
    dir: tempfile::TempDir,
    apt: AptRepository,
}

impl Machine {
    /// Creates a machine. Returns `None` with a skip if a tool is missing.
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let image = fs::read(common::demo().join("linux-6.1.btf")).unwrap();
        let apt = AptRepository::new(dir.path(), &image, b"no module")?;
        fs::create_dir(dir.path().join("cache")).unwrap();
        Some(Self { dir, apt })
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    /// Returns the names in a directory of the store.
    fn names_in(&self, dir: &str) -> Vec<String> {
        let entries = fs::read_dir(self.cache().join("core-relo/kernels").join(dir)).into_iter().flatten();
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Sets the environment of a command, and appends the mirror.
    fn prepare<'c>(&self, command: &'c mut Command, mirror: &str) -> &'c mut Command {
        command.args(["--mirror", &format!("debian={mirror}")]).current_dir(self.dir.path());
        command.env("XDG_CACHE_HOME", self.cache()).env_remove("RUST_LOG").stdin(Stdio::null())
    }

    fn local_mirror(&self) -> String {
        format!("file://{}", self.apt.archive().display())
    }

    fn run(&self, arguments: &[&str], mirror: &str) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_core-relo"));
        finished(self.prepare(command.args(arguments), mirror))
    }

    /// Runs the command after mounts that only the command sees. Returns `None` with a skip where mounts are
    /// not allowed.
    fn run_with_mounts(&self, mounts: &str, arguments: &[&str], mirror: &str) -> Option<Run> {
        let unshare = || {
            let mut command = Command::new("unshare");
            command.args(["--user", "--map-root-user", "--mount", "sh", "-e", "-c"]);
            command
        };
        let script = format!("{mounts}\nexec \"$0\" \"$@\"");
        let cache = self.cache();
        let allowed = unshare().arg(mounts).env("XDG_CACHE_HOME", &cache).output();
        if !allowed.is_ok_and(|output| output.status.success()) {
            skip!("unshare cannot mount");
            return None;
        }
        let mut command = unshare();
        command.arg(script).arg(env!("CARGO_BIN_EXE_core-relo")).args(arguments);
        Some(finished(self.prepare(&mut command, mirror)))
    }
}

/// Runs a command up to its end.
fn finished(command: &mut Command) -> Run {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { out: text(stdout), err: text(stderr), exit: status.code().unwrap() }
}

/// Serves a directory. While `is_stalled`, packages stop after their first half.
fn serve(root: &Path, is_stalled: &Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (root, is_stalled) = (root.to_path_buf(), Arc::clone(is_stalled));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (root, is_stalled) = (root.clone(), Arc::clone(&is_stalled));
            // The client may be gone.
            thread::spawn(move || answer(&stream, &root, &is_stalled).is_ok());
        }
    });
    address
}

fn answer(mut stream: &TcpStream, root: &Path, is_stalled: &AtomicBool) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next().and_then(|line| line.split(' ').nth(1).map(str::to_owned)).unwrap();
    let _headers = lines.take_while(|line| !line.is_empty()).count();
    let Ok(content) = fs::read(root.join(path.trim_start_matches('/'))) else {
        return stream.write_all(b"HTTP/1.1 404 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let head = format!("HTTP/1.1 200 x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", content.len());
    stream.write_all(head.as_bytes())?;
    if path.ends_with(".deb") && is_stalled.load(Ordering::SeqCst) {
        stream.write_all(&content[..content.len() / 2])?;
        while is_stalled.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(20));
        }
    }
    stream.write_all(&content)
}

#[test]
fn a_killed_fetch_leaves_nothing_visible() {
    let Some(machine) = Machine::new() else { return };
    let is_stalled = Arc::new(AtomicBool::new(true));
    let mirror = format!("{}/debian", serve(machine.dir.path(), &is_stalled));
    let mut command = Command::new(env!("CARGO_BIN_EXE_core-relo"));
    command.args(FETCH).arg("--allow-unsigned").stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = machine.prepare(&mut command, &mirror).spawn().unwrap();
    // The directory of the kernel that is written, after those of the indexes.
    let is_writing = || {
        machine.names_in("locks").iter().any(|name| name != "users") && !machine.names_in("tmp").is_empty()
    };
    let mut rest = 3000;
    while !(is_writing() && machine.names_in("indexes").iter().any(|name| name.contains(".kernels"))) {
        rest -= 1;
        assert!(rest > 0 && child.try_wait().unwrap().is_none(), "the fetch does not begin");
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(200));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(machine.names_in("kernels"), [""; 0]);
    assert_eq!(machine.names_in("tmp").len(), 1, "the killed fetch was writing");
    is_stalled.store(false, Ordering::SeqCst);
    let again = machine.run(&[&FETCH[..], &["--allow-unsigned"]].concat(), &mirror);
    assert_eq!(again.exit, 0, "{}", again.err);
    assert_eq!((machine.names_in("kernels").len(), machine.names_in("tmp").len()), (1, 0));
}

#[test]
fn processes_that_fetch_at_once_share_a_store() {
    let Some(machine) = Machine::new() else { return };
    let mirror = machine.local_mirror();
    thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| machine.run(&FETCH, &mirror))).collect();
        for run in runs {
            let run = run.join().unwrap();
            assert_eq!(run.exit, 0, "{}", run.err);
        }
    });
    assert_eq!((machine.names_in("kernels").len(), machine.names_in("tmp").len()), (1, 0));
}

#[test]
fn a_full_disk_is_an_error_that_names_a_file() {
    let Some(machine) = Machine::new() else { return };
    let mount = "mount -t tmpfs -o size=64k none \"$XDG_CACHE_HOME\"";
    let Some(run) = machine.run_with_mounts(mount, &FETCH, &machine.local_mirror()) else { return };
    assert_eq!((run.exit, &*run.out), (2, ""), "{}", run.err);
    assert!(run.err.contains("cache/core-relo/kernels/tmp/"), "{}", run.err);
    assert!(run.err.contains(": No space left on device"), "{}", run.err);
    assert!(run.err.contains("free some space; XDG_CACHE_HOME moves the store"), "{}", run.err);
}

#[test]
fn a_store_that_cannot_be_written_works_offline() {
    let Some(machine) = Machine::new() else { return };
    let mirror = machine.local_mirror();
    assert_eq!(machine.run(&FETCH, &mirror).exit, 0);
    let read_only =
        "mount --bind \"$XDG_CACHE_HOME\" \"$XDG_CACHE_HOME\"\nmount -o remount,bind,ro \"$XDG_CACHE_HOME\"";
    let Some(online) = machine.run_with_mounts(read_only, &FETCH, &mirror) else { return };
    assert_eq!((online.exit, &*online.out), (2, ""), "{}", online.err);
    assert!(
        online.err.contains("the store of kernels cannot be written: Read-only file system"),
        "{}",
        online.err
    );
    assert!(online.err.contains("--offline uses the kernels in it"), "{}", online.err);
    let object = common::demo().join("exec.bpf.o").display().to_string();
    let check = ["check", &object, "--kernels", "debian:12@amd64", "--offline"];
    let offline = machine.run_with_mounts(read_only, &check, &mirror).unwrap();
    assert_eq!((offline.exit, &*offline.err), (0, ""), "{}", offline.out);
    let shown =
        machine.run_with_mounts(read_only, &["kernels", "fetch", "debian:12@amd64", "--offline"], &mirror);
    assert_eq!(shown.unwrap().exit, 0);
}
