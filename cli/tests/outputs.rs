//! Output files: inputs, files, streams, links of other users, and interrupted writes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{demo, run_in};
use core_relo_test_support::skip;
use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, lchown, symlink},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

const BIN: &str = env!("CARGO_BIN_EXE_core-relo");

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(BIN);
    command.args(args).current_dir(dir).stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Creates a directory with an object and a kernel. Returns the directory and the object patched for the
/// kernel.
fn dir() -> (tempfile::TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    for (from, to) in [("exec.bpf.o", "in.o"), ("linux-6.1.btf", "kernel.btf")] {
        fs::copy(demo().join(from), dir.path().join(to)).unwrap();
    }
    assert_eq!(run_in(dir.path(), patch("patched.o")).exit, 0);
    let patched = fs::read(dir.path().join("patched.o")).unwrap();
    (dir, patched)
}

/// Returns the arguments of `patch`.
fn patch(out: &str) -> [&str; 6] {
    ["patch", "in.o", "--btf", "kernel.btf", "-o", out]
}

/// Returns the temporary files that a run left beside its output.
fn left_behind(dir: &Path) -> Vec<OsString> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().starts_with('.')).collect()
}

#[test]
fn standard_output_gets_only_the_object_and_a_log_file_is_kept() {
    let (dir, patched) = dir();
    let log = dir.path().join("log");
    let linked = {
        assert_eq!(run_in(dir.path(), ["gen", "object", "linked.o", "in.o"]).exit, 0);
        fs::read(dir.path().join("linked.o")).unwrap()
    };
    for out in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"] {
        for format in ["text", "json"] {
            let commands = [(&patch(out)[..], &patched), (&["gen", "object", out, "in.o"], &linked)];
            for (args, expected) in commands {
                let args = [args, &["--format", format]].concat();
                // Open the file as a shell does for `>>` and `>`.
                for before in [&b"before\n"[..], b""] {
                    fs::write(&log, before).unwrap();
                    let inode = fs::metadata(&log).unwrap().ino();
                    let stdout = File::options().append(!before.is_empty()).write(true).open(&log).unwrap();
                    let done = command(dir.path(), &args).stdout(stdout).output().unwrap();
                    assert!(done.status.success(), "{args:?}: {done:?}");
                    assert_eq!(fs::read(&log).unwrap(), [before, expected].concat(), "{args:?}");
                    assert_eq!(fs::metadata(&log).unwrap().ino(), inode, "{args:?}");
                    let report = String::from_utf8(done.stderr).unwrap();
                    assert_eq!(report.starts_with('{'), format == "json", "{args:?}: {report}");
                    assert_eq!(report.lines().count(), 1, "{args:?}: {report}");
                }
                let piped = command(dir.path(), &args).stdout(Stdio::piped()).output().unwrap();
                assert!(piped.status.success() && piped.stdout == *expected, "{args:?}");
            }
        }
    }
    let bad = ["patch", "in.o", "--btf", "nothing", "-o", "-", "--format", "json"];
    let done = command(dir.path(), &bad).stdout(Stdio::piped()).output().unwrap();
    assert_eq!((done.status.code(), done.stdout), (Some(2), Vec::new()), "no error text on standard output");
}

#[test]
fn pipes_and_devices_are_written_to() {
    let (dir, patched) = dir();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    // The time limit ends the test if the command does not write.
    let reader =
        Command::new("timeout").args(["60", "cat"]).arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(run_in(dir.path(), patch("pipe")).exit, 0);
    let read = reader.wait_with_output().unwrap().stdout;
    assert!(read == patched && fs::metadata(&pipe).unwrap().file_type().is_fifo());
    // Without a reader, the command waits in open(2), and a signal ends it.
    let mut child = command(dir.path(), &patch("pipe")).stdout(Stdio::null()).spawn().unwrap();
    wait_until_in_open(&child);
    signal(&child, 15);
    assert_eq!(child.wait().unwrap().signal(), Some(15));

    assert_eq!(run_in(dir.path(), patch("/dev/null")).exit, 0);
    let full = run_in(dir.path(), patch("/dev/full"));
    assert!(full.exit == 2 && full.err.contains("/dev/full: cannot be written: No space left"), "{full:?}");
    let socket = dir.path().join("socket");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let shown = run_in(dir.path(), patch("socket"));
    assert!(shown.exit == 2 && shown.err.contains("socket: cannot be written: No such device"), "{shown:?}");
    assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
}

/// Sends a signal to a child.
fn signal(child: &Child, number: i32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let signal = rustix::process::Signal::from_named_raw(number).unwrap();
    // The child may have ended already.
    let _: Result<(), _> = rustix::process::kill_process(pid, signal);
}

/// Waits until a process sleeps in the kernel, for example in the open of a pipe without a reader.
fn wait_until_in_open(child: &Child) {
    let waits = || {
        let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap();
        read("wchan").contains("fifo") || read("stat").rsplit(')').next().unwrap().starts_with(" S")
    };
    for _ in 0..1000 {
        if waits() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the process does not wait");
}

/// A file that an object may replace.
const OLD: &[u8] = b"\x7fELF old";

#[test]
fn a_signal_leaves_no_temporary_file() {
    let (dir, patched) = dir();
    let out = dir.path().join("out.o");
    for (n, number) in (0..90u64).zip([1, 2, 15, 3, 10, 14].into_iter().cycle()) {
        if n % 2 == 0 {
            fs::write(&out, OLD).unwrap();
        } else {
            drop(fs::remove_file(&out));
        }
        let mut child = command(dir.path(), &patch("out.o")).stdout(Stdio::null()).spawn().unwrap();
        // Send the signal at different moments of the run.
        std::thread::sleep(std::time::Duration::from_micros(n * 331 % 20_000));
        signal(&child, number);
        let status = child.wait().unwrap();
        assert!(status.success() || status.signal() == Some(number), "{status}");
        assert_eq!(left_behind(dir.path()), [""; 0], "signal {number}");
        match fs::read(&out) {
            Ok(content) => assert!(content == patched || (n % 2 == 0 && content == OLD)),
            Err(_) => assert!(n % 2 == 1 && !status.success()),
        }
    }
}

#[test]
fn a_file_size_limit_leaves_the_old_output() {
    let (dir, _) = dir();
    fs::write(dir.path().join("out.o"), OLD).unwrap();
    for limit in ["0", "1000"] {
        let limited = Command::new("prlimit")
            .args([&format!("--fsize={limit}"), BIN])
            .args(patch("out.o"))
            .current_dir(dir.path())
            .output();
        let Ok(done) = limited else {
            skip!("no prlimit");
            return;
        };
        let err = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{err}");
        assert!(err.contains("out.o: cannot be written: File too large"), "{err}");
        assert_eq!(fs::read(dir.path().join("out.o")).unwrap(), OLD);
        assert_eq!(left_behind(dir.path()), [""; 0]);
    }
}

#[test]
fn a_process_without_descriptors_for_signals_names_them() {
    let (dir, _) = dir();
    for args in [&["load", "in.o"][..], &["run", "in.o", "--program", "main"]] {
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -n 4 && exec \"$@\"", "sh", BIN]).args(args).current_dir(dir.path());
        let done = limited.output().unwrap();
        let err = String::from_utf8(done.stderr).unwrap();
        assert_eq!((done.status.code(), err.lines().count()), (Some(2), 1), "{args:?}: {err}");
        assert!(err.starts_with("core-relo: signals: cannot be handled: "), "{args:?}: {err}");
    }
}

#[test]
fn a_link_of_another_user_in_a_shared_directory_is_not_followed() {
    let (dir, _) = dir();
    let shared = dir.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let victim = dir.path().join("victim");
    for (link, target) in [("existing", &victim), ("dangling", &dir.path().join("new"))] {
        symlink(target, shared.join(link)).unwrap();
        if lchown(shared.join(link), Some(65533), Some(65533)).is_err() {
            skip!("only root gives links to others");
            return;
        }
    }
    fs::write(&victim, OLD).unwrap();
    let check = |out| ["check", "in.o", "--btf", "kernel.btf", "--resume", out];
    for out in ["shared/existing", "shared/dangling"] {
        for args in [&patch(out)[..], &["gen", "object", out, "in.o"], &check(out)] {
            let done = run_in(dir.path(), args);
            assert_eq!((done.exit, done.err.lines().count()), (2, 1), "{args:?}: {}", done.err);
            let message =
                format!("{out}: cannot be written: belongs to user 65533, in a directory where every user");
            assert!(done.err.contains(&message), "{args:?}: {}", done.err);
        }
    }
    fs::write(shared.join("results"), "").unwrap();
    lchown(shared.join("results"), Some(65533), Some(65533)).unwrap();
    assert_eq!(
        run_in(dir.path(), check("shared/results")).exit,
        2,
        "another user may have written the results"
    );
    assert_eq!(fs::read(&victim).unwrap(), OLD);
    assert!(!dir.path().join("new").exists());
    symlink(&victim, shared.join("own")).unwrap();
    assert_eq!(run_in(dir.path(), patch("shared/own")).exit, 0, "links of the same user are followed");
    assert_ne!(fs::read(&victim).unwrap(), OLD);
    assert!(shared.join("own").is_symlink());
}

/// An object or a kernel's BTF that is replaced by the result is lost.
#[test]
fn inputs_are_no_outputs() {
    let dir = tempfile::tempdir().unwrap();
    let files = ["exec.bpf.o", "linux-7.2.btf"];
    for file in files {
        fs::copy(common::demo().join(file), dir.path().join(file)).unwrap();
    }
    symlink("linux-7.2.btf", dir.path().join("link")).unwrap();
    let contents = || files.map(|file| fs::read(dir.path().join(file)).unwrap());
    let before = contents();
    let cases: [(&[&str], &[&str]); 4] = [
        (&["btf", "min", "exec.bpf.o", "--btf", "linux-7.2.btf"], &["exec.bpf.o", "./linux-7.2.btf", "link"]),
        (&["btf", "min", "exec.bpf.o", "--btf", "."], &["linux-7.2.btf"]),
        (&["gen", "vmlinux", "exec.bpf.o", "--btf", "linux-7.2.btf"], &["exec.bpf.o", "linux-7.2.btf"]),
        (&["gen", "rust", "exec.bpf.o"], &["exec.bpf.o"]),
    ];
    for (args, outputs) in cases {
        for output in outputs {
            let run = run_in(dir.path(), args.iter().chain(&["-o", output]));
            let expected = format!("{output}: is an input and the output, expected another output");
            assert!(
                run.exit == 2 && run.out.is_empty() && run.err.contains(&expected),
                "{args:?}: {}",
                run.err
            );
        }
    }
    assert!(contents() == before);
}

/// Rust's runtime opens `/dev/null` in place of a closed stdout, where the output would be lost without an
/// error.
#[test]
fn a_closed_stdout_is_an_error_of_every_command_that_writes_there() {
    let demo = common::demo();
    for words in [
        "gen rust exec.bpf.o",
        "gen header",
        "gen vmlinux exec.bpf.o --btf linux-6.1.btf",
        "gen loader exec.bpf.o -o -",
        "patch exec.bpf.o --btf linux-6.12.btf -o -",
        "btf dump linux-6.1.btf",
        "btf sort linux-6.1.btf -o -",
        "check exec.bpf.o --btf linux-6.12.btf --format json",
        "check exec.bpf.o --btf linux-6.12.btf --format sarif",
        "inspect exec.bpf.o --disasm",
        "man check",
        "completions bash",
        "demo",
        "--version",
        "check --help",
    ] {
        let script = format!("exec \"$0\" {words} >&-");
        let done = Command::new("sh").args(["-c", &script, BIN]).current_dir(&demo).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        let (exit, lines) =
            (done.status.code(), err.lines().filter(|line| line.contains("Bad file descriptor")).count());
        assert!(exit == Some(2) && lines == 1, "{words}: {exit:?} {err}");
    }
    // What writes to a file needs no stdout until the report.
    let dir = tempfile::tempdir().unwrap();
    let null = Command::new("sh")
        .args(["-c", "exec \"$0\" gen header -o \"$1\" 1<>/dev/null", BIN])
        .arg(dir.path().join("core_relo.h"))
        .output();
    assert!(null.unwrap().status.success(), "/dev/null is not closed");
}

/// A path to a closed stream leads to the file that Rust's runtime has opened in its place.
#[test]
fn a_path_to_a_closed_stream_is_an_error() {
    let (dir, _) = dir();
    let run = |out: &str, redirection: &str| {
        let script = format!("exec \"$0\" patch in.o --btf kernel.btf -o {out} {redirection}");
        Command::new("sh").args(["-c", &script, BIN]).current_dir(dir.path()).output().unwrap()
    };
    let is_refused = |done: std::process::Output, out: &str| {
        let err = String::from_utf8_lossy(&done.stderr);
        let message = format!("core-relo: {out}: cannot be written: Bad file descriptor (os error 9)\n");
        assert!(done.status.code() == Some(2) && done.stdout.is_empty() && err == message, "{out}: {done:?}");
    };
    symlink("/dev/stdout", dir.path().join("link")).unwrap();
    for out in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", "link"] {
        is_refused(run(out, ">&-"), out);
    }
    is_refused(run("/dev/stdin", "<&-"), "/dev/stdin");
    assert_eq!(run("/dev/stderr", "2>&-").status.code(), Some(2), "nobody reads the message");
    for (out, redirection) in [("/dev/null", ">&-"), ("/dev/fd/5", "5>/dev/null >&-"), ("/dev/stdout", "<&-")]
    {
        let done = run(out, redirection);
        assert!(done.status.success(), "{out} {redirection}: {done:?}");
    }
}

#[test]
fn help_and_version_on_a_full_device_are_an_error() {
    for words in [&["--version"][..], &["--help"], &["check", "--help"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(Path::new("."), words).stdout(full).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && err.contains("stdout: No space left"), "{words:?}: {err}");
    }
}
