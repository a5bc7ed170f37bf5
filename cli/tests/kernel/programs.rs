//! Tests of `prog run`, `prog stats`, `prog tracelog` and `prog stream`, and of `batch`.

use super::{
    common::{run, run_in, schema},
    fixture::*,
};
use core_relo_loader::{
    inventory::ProgramInfo,
    load::{Kernel as _, ProgLoad, RunningKernel},
};
use core_relo_test_support::skip;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fmt, fs,
    io::{BufRead as _, BufReader},
    os::{fd::OwnedFd, unix::process::ExitStatusExt as _},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

const COMMAND: &str = env!("CARGO_BIN_EXE_core-relo");
const XDP: u32 = 6;
const SYSCALL: u32 = 31;
const NETFILTER: u32 = 32;
/// `BPF_NETFILTER`.
const ATTACH_NETFILTER: u32 = 45;
const SLEEPABLE: u32 = 1 << 4;
const XDP_HAS_FRAGS: u32 = 1 << 5;
/// `*(u64 *)(dst + off) = src`.
const STORE: u8 = 0x7b;
/// `dst = *(u64 *)(src + off)`.
const LOAD: u8 = 0x79;

fn load(prog_type: u32, prog_flags: u32, code: &[[u8; 8]]) -> OwnedFd {
    let insns = &code.concat();
    let mut log = vec![0; 4096];
    let load =
        ProgLoad { prog_type, prog_flags, insns, license: b"GPL", log_level: 1, ..ProgLoad::default() };
    let loaded = RunningKernel.prog_load(&load, &mut log);
    loaded.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&log).trim_matches('\0')))
}

/// Loads a program that adds 1 to the number in its context.
fn counter() -> OwnedFd {
    load(
        SYSCALL,
        SLEEPABLE,
        &[
            insn(LOAD, 2, 1, 0, 0),
            insn(0x07, 2, 0, 0, 1),
            insn(STORE, 1, 2, 0, 0),
            insn(0xb7, 0, 0, 0, 7),
            insn(0x95, 0, 0, 0, 0),
        ],
    )
}

/// Loads an XDP program that passes packets.
fn pass() -> OwnedFd {
    load(XDP, 0, &[insn(0xb7, 0, 0, 0, 2), insn(0x95, 0, 0, 0, 0)])
}

fn id_of(program: &OwnedFd) -> String {
    ProgramInfo::query(program).unwrap().id.to_string()
}

#[test]
fn a_program_in_the_kernel_runs_on_data_and_context() {
    if types().is_none() {
        return;
    }
    let counter = counter();
    let id = id_of(&counter);
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("in"), 41u64.to_ne_bytes()).unwrap();
    let shown =
        run_in(dir.path(), ["prog", "run", &id, "--ctx-in", "in", "--ctx-out", "out", "--format", "json"]);
    let line = &ok(shown).lines()[0];
    schema().check("run, prog run", line);
    assert_eq!(
        (&line["object"], line["prog_id"].to_string(), &line["retval"]),
        (&Value::Null, id.clone(), &json!(7))
    );
    assert_eq!(fs::read(dir.path().join("out")).unwrap(), 42u64.to_ne_bytes());
    let wrong = run(["prog", "run", &id, "--cpu", "0"]);
    assert!(wrong.exit == 2 && wrong.err.contains("cannot be run: EINVAL"), "{wrong:?}");
    // An output that cannot be written leaves the other one as it was.
    let outputs = ["--data-out", "new", "--ctx-out", "no/dir", "--ctx-in", "in"];
    let wrong = run_in(dir.path(), [&["prog", "run", &id][..], &outputs].concat());
    assert!(wrong.exit == 2 && wrong.err.contains("no/dir: cannot be written"), "{wrong:?}");
    assert!(!dir.path().join("new").exists());
    let wrong = run(["prog", "run", &id, "--ctx-in", "/no/such/file"]);
    assert!(wrong.exit == 2 && wrong.err.contains("/no/such/file: no such file"), "{wrong:?}");

    let pass = pass();
    let id = id_of(&pass);
    let text = ok(run(["prog", "run", &id, "--repeat", "10"])).out;
    assert!(text.contains(" returned 2 in ") && text.ends_with(", mean of 10 runs\n"), "{text}");
    let live = run(["prog", "run", &id, "--live-frames", "--repeat", "8", "--batch", "4"]);
    assert!(live.exit == 0 || live.err.contains("EINVAL") || live.err.contains("ENODEV"), "{live:?}");
    let many = run(["prog", "run", &id, "--live-frames", "--batch", "100000"]);
    assert!(many.exit == 2 && many.err.contains("cannot be run: "), "{many:?}");
}

/// The kernel does not tell the attach type and the flags of a program, on which the sizes depend.
#[test]
fn a_refused_run_names_the_sizes_for_programs_of_the_type() {
    if types().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let refused = |program: &OwnedFd, option: &str, bytes: usize| {
        fs::write(dir.path().join("in"), vec![0; bytes]).unwrap();
        let shown = run_in(dir.path(), ["prog", "run", &id_of(program), option, "in"]);
        assert_eq!(shown.exit, 2, "{shown:?}");
        shown.err
    };
    for flags in [0, XDP_HAS_FRAGS] {
        let xdp = load(XDP, flags, &[insn(0xb7, 0, 0, 0, 2), insn(0x95, 0, 0, 0, 0)]);
        let short = refused(&xdp, "--data-in", 5);
        assert!(short.contains("--data-in has 5 bytes, expected 14 to "), "{short}");
        // More than a page and 17 fragments.
        let bytes = 20 * rustix::param::page_size();
        let long = refused(&xdp, "--data-in", bytes);
        assert!(long.contains(&format!("--data-in has {bytes} bytes, expected 14 to ")), "{long}");
    }
    let context = refused(&counter(), "--ctx-in", 200_000);
    assert!(context.contains("--ctx-in has 200000 bytes") && context.contains("at most 65535"), "{context}");
    let accept = [insn(0xb7, 0, 0, 0, 1), insn(0x95, 0, 0, 0, 0)].concat();
    let netfilter = ProgLoad {
        prog_type: NETFILTER,
        expected_attach_type: ATTACH_NETFILTER,
        insns: &accept,
        license: b"GPL",
        ..ProgLoad::default()
    };
    match RunningKernel.prog_load(&netfilter, &mut []) {
        Ok(netfilter) => {
            let short = refused(&netfilter, "--data-in", 5);
            assert!(short.contains("--data-in has 5 bytes, expected "), "{short}");
        }
        Err(e) => skip!("no netfilter programs: {e}"),
    }
}

/// The kernel's `E2BIG` names neither the limit nor the size of the context that it knows.
#[test]
fn a_context_that_is_too_long_is_named_with_the_limits() {
    if types().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let pass = pass();
    // Above a page of every machine.
    for (bytes, last, expected) in [
        (70_000, 0, "--ctx-in has 70000 bytes, expected at most "),
        (200, 1, "--ctx-in has 200 bytes, expected zeros after the first "),
    ] {
        let mut context = vec![0; bytes];
        *context.last_mut().unwrap() = last;
        fs::write(dir.path().join("in"), context).unwrap();
        let refused = run_in(dir.path(), ["prog", "run", &id_of(&pass), "--ctx-in", "in"]);
        assert!(refused.exit == 2 && refused.err.contains(expected), "{refused:?}");
        // The kernel checks the context first, also if it would refuse the data.
        fs::write(dir.path().join("data"), [0; 5]).unwrap();
        let both = ["prog", "run", &id_of(&pass), "--ctx-in", "in", "--data-in", "data"];
        let refused = run_in(dir.path(), both);
        assert!(refused.exit == 2 && refused.err.contains(expected), "{refused:?}");
    }
}

/// The kernel does not tell whether a program has frags. Data that fits only with them is not blamed for a
/// context.
#[test]
fn data_that_fits_with_frags_is_not_blamed_for_a_context() {
    if types().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let xdp = load(XDP, XDP_HAS_FRAGS, &[insn(0xb7, 0, 0, 0, 2), insn(0x95, 0, 0, 0, 0)]);
    fs::write(dir.path().join("data"), vec![0; 3 * rustix::param::page_size()]).unwrap();
    // The kernel refuses a context with `data_meta`.
    fs::write(dir.path().join("context"), [1; 24]).unwrap();
    let id = id_of(&xdp);
    let run =
        |context: &[&str]| run_in(dir.path(), [&["prog", "run", &id, "--data-in", "data"], context].concat());
    let accepted = run(&[]);
    if accepted.exit != 0 {
        return skip!("no frags: {accepted:?}");
    }
    let refused = run(&["--ctx-in", "context"]);
    assert!(refused.exit == 2 && !refused.err.contains("--data-in has"), "{refused:?}");
}

#[test]
fn runs_are_counted_while_a_command_runs() {
    if types().is_none() {
        return;
    }
    let pass = pass();
    let id = id_of(&pass);
    let measured =
        run(["prog", "stats", &id, "--format", "json", "--", COMMAND, "prog", "run", &id, "--repeat", "100"]);
    if measured.err.contains("cannot turn on run-time statistics") {
        return skip!("{}", measured.err);
    }
    let measured = ok(measured);
    let line: Value = measured.out.lines().filter_map(|line| serde_json::from_str(line).ok()).next().unwrap();
    schema().check("prog stats", &line);
    assert_eq!((line["prog_id"].to_string(), &line["run_cnt"]), (id.clone(), &json!(100)), "{line}");
    assert!(line["run_time_ns"].as_u64().unwrap() > 0, "{line}");

    // A program that did not run is shown if it is selected. The exit status is that of the command.
    let idle = run(["prog", "stats", &id, "--", "sh", "-c", "exit 3"]);
    assert!(idle.exit == 3 && idle.out.lines().count() == 2, "{idle:?}");
    let short = ok(run(["prog", "stats", &id, "--duration", "0", "--format", "json"])).lines();
    assert_eq!(short[0]["run_cnt"], 0);
    let wrong = run(["prog", "stats", "no_such_program"]);
    assert!(wrong.exit == 2 && wrong.err.contains("no program of this name"), "{wrong:?}");
    let wrong = run(["prog", "stats", &id, "--", "/no/such/command"]);
    assert!(
        wrong.exit == 2 && wrong.err.contains("/no/such/command: the command cannot be run"),
        "{wrong:?}"
    );

    // SIGTERM ends the command too: `systemctl stop` and `kill` do not wait for it.
    let arguments = ["prog", "stats", &id, "--", "sh", "-c", "echo started; exec sleep 20"];
    let mut child = Command::new(COMMAND).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "started");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(lines.filter(|line| line.as_ref().unwrap().contains(&id)).count(), 1, "the measurement");
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15), "the exit status of the command");
}

#[test]
fn messages_are_printed_until_a_signal() {
    if types().is_none() || !has_tracefs("programs::messages_are_printed_until_a_signal") {
        return;
    }
    let first = run(["prog", "tracelog", "--timeout", "0", "--count", "1"]);
    if first.exit == 2 {
        return skip!("{}", first.err);
    }
    let number = i32::try_from(std::process::id() % 10_000).unwrap();
    let text = u32::from_ne_bytes(*b"%d\n\0");
    let printer = load(
        SYSCALL,
        SLEEPABLE,
        &[
            insn(0x62, 10, 0, -4, text.cast_signed()), // *(u32 *)(r10 - 4) = "%d\n"
            insn(0xbf, 1, 10, 0, 0),
            insn(0x07, 1, 0, 0, -4),
            insn(0xb7, 2, 0, 0, 4),
            insn(0xb7, 3, 0, 0, number),
            insn(0x85, 0, 0, 0, 6), // bpf_trace_printk
            insn(0xb7, 0, 0, 0, 0),
            insn(0x95, 0, 0, 0, 0),
        ],
    );
    let id = id_of(&printer);
    let mut tracelog = Command::new(COMMAND)
        .args(["prog", "tracelog", "--format", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(tracelog.stdout.take().unwrap());
    let message = number.to_string();
    let reader = thread::spawn(move || {
        let lines = stdout.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let mut found = Vec::new();
        // The line break of a message is no message.
        for line in lines {
            assert_ne!(line["message"], "");
            found.extend((line["message"] == *message).then_some(line));
            if found.len() == 2 {
                break;
            }
        }
        found.pop()
    });
    while !reader.is_finished() {
        ok(run(["prog", "run", &id]));
        thread::sleep(Duration::from_millis(20));
    }
    let line = reader.join().unwrap().expect("the message");
    schema().check("prog tracelog", &line);
    assert_eq!(line["function"], "bpf_trace_printk");
    // The kernel keeps the names of some processes only.
    assert!(["core-relo", "<...>"].contains(&line["task"].as_str().unwrap()), "{line}");
    // Nobody reads the output any more, or a signal arrives.
    let pid = Pid::from_raw(i32::try_from(tracelog.id()).unwrap()).unwrap();
    let _it_has_ended_already = kill_process(pid, Signal::INT);
    assert_eq!(tracelog.wait().unwrap().code(), Some(0));
}

/// Whether this process has a tracefs. Where it has none yet, the test runs once more in a process that has.
fn has_tracefs(test: &str) -> bool {
    const VARIABLE: &str = "CORE_RELO_TEST_OWN_TRACEFS";
    if std::env::var_os(VARIABLE).is_some() {
        return true;
    }
    let script = "mount -t tracefs tracefs /sys/kernel/tracing || exit 42; exec \"$@\"";
    let mut again = Command::new("unshare");
    again.args(["--mount", "sh", "-c", script, "sh"]).arg(std::env::current_exe().unwrap());
    match again.args(["--exact", test, "--nocapture"]).env(VARIABLE, "1").status() {
        Ok(status) if status.success() => {}
        Ok(status) if matches!(status.code(), Some(1 | 42)) => {
            skip!("no tracefs can be mounted here")
        }
        other => panic!("{test}: {other:?}"),
    }
    false
}

#[test]
fn the_stream_of_a_program_is_read_to_its_end() {
    if types().is_none() {
        return;
    }
    let pass = pass();
    let id = id_of(&pass);
    let read = run(["prog", "stream", &id]);
    if read.err.contains("streams need a kernel from 6.17") {
        return skip!("{}", read.err);
    }
    assert_eq!(ok(read).out, "");
    ok(run(["prog", "stream", &id, "--stderr", "--follow", "--timeout", "0"]));
    let none = run(["prog", "stream", &id, "--count", "2"]);
    assert!(none.exit == 1 && none.err.contains("2 lines of --count did not arrive"), "{none:?}");
}

/// The commands of later lines must not change anything that nobody can read about.
#[test]
fn a_batch_ends_when_nobody_reads_its_output() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let dir = tempfile::tempdir().unwrap();
    let lines = "inspect /no/such/file --format json\n".repeat(3);
    fs::write(dir.path().join("lines"), lines).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_core-relo"));
    let output =
        command.args(["batch", "lines", "--keep-going"]).current_dir(dir.path()).stdout(writer).output();
    let output = output.unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("lines:1: the reader of the output is gone, which ends the batch"), "{err}");
}

/// Returns whether a set of signals in the status of a process has a signal.
fn has_signal(pid: impl fmt::Display, set: &str, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let signals = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(':')).unwrap().trim();
    u64::from_str_radix(signals, 16).unwrap() & 1 << (signal.as_raw() - 1) != 0
}

/// Returns the signals that end a command. A shell starts programs in the background without SIGINT.
fn terminating_signals() -> impl Iterator<Item = Signal> {
    let is_ignored = |signal: &Signal| {
        let is_ignored = has_signal("self", "SigIgn", *signal);
        if is_ignored {
            skip!("this process ignores signal {}, and so do the commands that it starts", signal.as_raw());
        }
        is_ignored
    };
    [Signal::TERM, Signal::INT].into_iter().filter(move |signal| !is_ignored(signal))
}

/// Waits until a process catches SIGTERM.
fn wait_until_it_catches(child: &Child) {
    let catches = || has_signal(child.id(), "SigCgt", Signal::TERM);
    (0..1000).take_while(|_| !catches()).for_each(|_| thread::sleep(Duration::from_millis(10)));
}

#[test]
fn a_signal_ends_a_batch_and_leaves_the_status_of_the_last_line() {
    if types().is_none() {
        return;
    }
    let pass = pass();
    let id = id_of(&pass);
    if run(["prog", "stats", &id, "--duration", "0"]).exit != 0 {
        return skip!("no run-time statistics");
    }
    let dir = tempfile::tempdir().unwrap();
    let end = |lines: String, signal| {
        fs::write(dir.path().join("lines"), lines).unwrap();
        let mut command = Command::new(COMMAND);
        command.args(["batch", "lines", "--keep-going"]).current_dir(dir.path());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until_it_catches(&child);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status, out, err)
    };
    for signal in terminating_signals() {
        let (status, out, err) =
            end(format!("prog stats {id} --duration 60\nmap list --hex\nprog stats {id}\n"), signal);
        assert_eq!((status.signal(), status.code()), (Some(signal.as_raw()), None), "{err}");
        assert!(out.contains(&id) && out.lines().count() == 2, "only the first line: {out}");
        assert!(err.contains("lines:1: a signal arrived during this command, which ends the batch"), "{err}");

        let (status, out, err) = end(format!("prog stats {id} --duration 60\n\n# the end\n"), signal);
        assert_eq!((status.code(), err.as_str()), (Some(0), ""), "{status:?}");
        assert!(out.contains(&id), "{out}");
    }
}

#[test]
fn a_signal_ends_a_profile_which_prints_what_it_counted() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, ARRAY, "profiled");
    let program = program(&types, &map, "profiled");
    let id = id_of(&program);
    let probe = run(["prog", "profile", &id, "cpu_clock", "--duration", "0"]);
    if probe.exit == 2 {
        return skip!("{}", probe.err);
    }
    for signal in terminating_signals() {
        let mut command = Command::new(COMMAND);
        command.args(["prog", "profile", &id, "cpu_clock", "--format", "json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until_it_catches(&child);
        // The run is counted as soon as both programs are attached.
        let mut run_count = 0;
        while run_count < 200 && child.try_wait().unwrap().is_none() {
            ok(run(["prog", "run", &id, "--repeat", "10"]));
            run_count += 10;
            thread::sleep(Duration::from_millis(10));
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!((output.status.code(), err.as_str()), (Some(0), ""), "{:?}", output.status);
        let line: Value = serde_json::from_str(out.trim()).unwrap();
        schema().check("prog profile", &line);
        let counted = line["run_cnt"].as_u64().unwrap();
        assert!((1..=run_count).contains(&counted), "{line}");
    }
}

#[test]
fn a_batch_stops_at_the_first_line_that_fails() {
    if types().is_none() {
        return;
    }
    let pass = pass();
    let id = id_of(&pass);
    let dir = tempfile::tempdir().unwrap();
    let commands = format!(
        "# a comment\n\nprog run {id} # another\nprog show --pinned \"/no such pin\"\nmop list\nprog run '{id}'\n"
    );
    fs::write(dir.path().join("commands"), commands).unwrap();
    let stopped = run_in(dir.path(), ["batch", "commands"]);
    assert_eq!((stopped.exit, stopped.out.lines().count()), (2, 1), "{stopped:?}");
    assert!(
        stopped.err.contains("/no such pin: no such pin")
            && stopped.err.contains("commands:4: this command failed"),
        "{stopped:?}"
    );
    let all = run_in(dir.path(), ["batch", "commands", "--keep-going", "--format", "json"]);
    let lines = all.lines();
    assert_eq!((all.exit, lines.len()), (2, 4), "{all:?}");
    assert_eq!((&lines[0]["retval"], &lines[3]["retval"]), (&json!(2), &json!(2)));
    assert_eq!(lines[1]["error"]["file"], "/no such pin");
    assert_eq!(lines[2]["error"]["file"], "commands:5");
    lines[1..3].iter().for_each(|line| schema().check("Bad input", line));
    assert_eq!((&lines[1]["batch_line"], &lines[2]["batch_line"]), (&json!(4), &json!(5)));
    for (file, what) in [("none", "none: no such file"), ("commands/", "commands")] {
        let wrong = run_in(dir.path(), ["batch", file]);
        assert!(wrong.exit == 2 && wrong.err.contains(what), "{wrong:?}");
    }
    fs::write(dir.path().join("bytes"), b"map list\n\xff\n").unwrap();
    let wrong = run_in(dir.path(), ["batch", "bytes"]);
    assert!(
        wrong.exit == 2 && wrong.err.contains("bytes:2: the line is no UTF-8 text") && wrong.out.is_empty(),
        "{wrong:?}"
    );
}
