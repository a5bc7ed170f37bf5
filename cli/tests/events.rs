//! Tests of `--print`: the records of ring buffers and perf event arrays. Needs root, except for wrong usage.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{Run, may_load, prebuilt, run, schema, text};
use core_relo_test_support::skip;
use serde_json::json;
use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Runs a program of a test object.
fn run_program(object: &str, program: &str, args: &[&str]) -> Run {
    let object = prebuilt(object);
    run([&["run", text(&object), "--program", program], args].concat())
}

/// Returns the lines of events, without the report of the run.
fn events(run: &Run) -> Vec<&str> {
    run.out.lines().filter(|line| !line.contains(" returned ")).collect()
}

#[test]
fn declared_events_are_printed_by_their_kinds() {
    if !may_load() {
        return;
    }
    let args =
        ["--set", "settings.type=5", "--set", "settings.name=sh", "--print", "events", "--print", "messages"];
    let text = run_program("live/skeleton.bpf.o", "run", &args);
    assert_eq!((text.exit, &*text.err), (0, ""), "{text:?}");
    let expected = [
        r#"events: struct started {.kind = STARTED, .pid = 5, .name = "sh"}"#,
        "events: struct ended {.kind = ENDED, .status = -1, .duration_ns = 7}",
        "messages: {.length = 2, .text = [104, 105, 0, 0]}",
    ];
    assert_eq!(events(&text), expected);

    let json = run_program("live/skeleton.bpf.o", "run", &[&args[..], &["--format", "json"]].concat());
    let lines = json.lines();
    assert_eq!((lines.len(), json.exit), (4, 0), "{json:?}");
    lines[..3].iter().for_each(|line| schema().check("--print, map events", line));
    schema().check("run, prog run", &lines[3]);
    let ended = json!({"kind": "ENDED", "status": -1, "duration_ns": 7});
    assert_eq!(
        (&lines[1]["map"], &lines[1]["type"], &lines[1]["value"]),
        (&json!("events"), &json!("struct ended"), &ended)
    );
    assert_eq!((&lines[1]["cpu"], &lines[1]["missing_bytes"]), (&json!(null), &json!(0)));
}

#[test]
fn records_of_no_declared_kind_are_bytes() {
    if !may_load() {
        return;
    }
    let short = run_program("live/skeleton.bpf.o", "send_short", &["--print", "events"]);
    assert_eq!((events(&short), short.exit), (vec!["events: unknown kind: 00"], 0), "{short:?}");
    let wrong = run_program(
        "live/skeleton.bpf.o",
        "send_short",
        &["--print", "events=struct started", "--format", "json"],
    );
    let line = &wrong.lines()[0];
    assert_eq!(
        (&line["missing_bytes"], &line["bytes"], &line["value"]["pid"]),
        (&json!(23), &json!("00"), &json!(null))
    );
}

#[test]
fn events_without_a_declaration_are_bytes_unless_the_user_names_the_type() {
    if !may_load() {
        return;
    }
    let bytes = run_program("live/ringbuf.bpf.o", "reserve", &["--print", "events", "--set", "tag=7"]);
    let little = "events: 00 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00";
    assert_eq!(bytes.exit, 0, "{bytes:?}");
    if cfg!(target_endian = "little") {
        assert_eq!(events(&bytes), [little]);
    }
    assert!(
        bytes.err.contains(
            "map events: no type of its records is declared: they are printed as bytes; --print events="
        ),
        "{bytes:?}"
    );
    let typed = run_program("live/ringbuf.bpf.o", "reserve", &["--print", "events=u64", "--set", "hits=7"]);
    assert_eq!((events(&typed), &*typed.err), (vec!["events: 7 and 8 more bytes"], ""), "{typed:?}");
    let named = ["--print", "events=struct ended"];
    let named =
        run_program("live/skeleton.bpf.o", "run", &[&named[..], &["--set", "settings.type=5"]].concat());
    let expected = [
        "events: {.kind = STARTED, .status = 5, .duration_ns = 0} and 8 more bytes",
        "events: {.kind = ENDED, .status = -1, .duration_ns = 7}",
    ];
    assert_eq!((events(&named), &*named.err), (expected.to_vec(), ""), "{named:?}");
}

#[test]
fn all_records_of_many_runs_are_printed_up_to_the_count() {
    if !may_load() {
        return;
    }
    let print = |args: &[&str]| {
        let args = [&["--print", "events=u64", "--repeat", "2000", "--format", "json"], args].concat();
        run_program("live/ringbuf.bpf.o", "reserve", &args)
    };
    let all = print(&[]);
    let lines = all.lines();
    assert_eq!((lines.len(), all.exit), (2001, 0), "{}", all.err);
    assert!((0..2000).all(|n| lines[n]["value"] == json!(n)), "in order");
    let some = print(&["--count", "5"]);
    assert_eq!((some.lines().len(), some.exit, &*some.err), (6, 0, ""));
    let too_few = print(&["--count", "2003"]);
    assert_eq!((too_few.lines().len(), too_few.exit), (2001, 1));
    assert!(too_few.err.contains("3 events of --count did not arrive"), "{}", too_few.err);
}

#[test]
fn samples_of_a_perf_event_array_have_their_cpu() {
    if !may_load() {
        return;
    }
    let text = run_program("live/perf_array.bpf.o", "output", &["--print", "events=u64", "--set", "tag=7"]);
    assert_eq!((text.exit, &*text.err), (0, ""), "{text:?}");
    let line = events(&text)[0];
    assert!(line.starts_with("events (CPU ") && line.contains("): 0 and "), "{line}");
    let args = ["--print", "events=u64", "--repeat", "5", "--format", "json"];
    let lines = run_program("live/perf_array.bpf.o", "output", &args).lines();
    assert_eq!(lines.len(), 6);
    schema().check("--print, map events", &lines[4]);
    assert!(lines[4]["cpu"].is_u64());
}

#[test]
fn lost_samples_are_counted_on_stderr() {
    if !may_load() {
        return;
    }
    // 8 pages have no room for 5000 samples of 32 bytes. The kernel reports the loss with a sample that fits
    // again.
    let args = ["--print", "events=u64", "--repeat", "5000", "--format", "json"];
    let run = run_program("live/perf_array.bpf.o", "output", &args);
    assert!(run.exit == 0 && run.lines().len() < 5000, "{}", run.out.lines().count());
}

#[test]
fn wrong_maps_types_and_options_are_bad_input() {
    let ring = prebuilt("live/ringbuf.bpf.o");
    let maps = prebuilt("live/maps.bpf.o");
    let load = |args: &[&str]| run([&["load", text(&ring), "--attach"], args].concat());
    for (args, what) in [
        (&["--print", "nosuch"][..], "--print: no map `nosuch`; it has events"),
        (&["--print", "events=nosuch"], "--print: map `events`: no type `nosuch`"),
        (&["--print", "events", "--print", "events=u64"], "--print: map `events` is given twice"),
        (&["--print", "=u64"], "expected MAP or MAP=TYPE"),
        (&["--print", "events", "--pin", "/sys/fs/bpf/nosuch"], "cannot be used with"),
        (&["--count", "1"], "required"),
        (&["--print", "events", "--timeout=-1"], "expected a number of seconds"),
        (&["--print", "events", text(&maps)], "--print: 2 objects, expected one"),
    ] {
        let shown = load(args);
        assert!(shown.exit == 2 && shown.err.contains(what), "{args:?}: {shown:?}");
    }
    let without_attach = run(["load", text(&ring), "--print", "events"]);
    assert!(without_attach.exit == 2 && without_attach.err.contains("--attach"), "{without_attach:?}");
    let hash = run(["run", text(&prebuilt("live/skeleton.bpf.o")), "--program", "run", "--print", "flows"]);
    assert!(
        hash.err.contains("map `flows` is of type hash, expected ringbuf or perf_event_array"),
        "{hash:?}"
    );
}

/// Starts `load --attach --print` on a program that sends an event for each new program in the system.
fn start(args: &[&str]) -> Child {
    let object = common::demo().join("exec.bpf.o");
    Command::new(env!("CARGO_BIN_EXE_core-relo"))
        .args(["load", text(&object), "--attach", "--print", "events=int"])
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until a process ends, while programs are started in the system.
fn end_of(mut child: Child) -> (i32, String) {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        if child.try_wait().unwrap().is_some() {
            let mut err = String::new();
            std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut err).unwrap();
            return (child.wait().unwrap().code().unwrap(), err);
        }
        Command::new("true").status().unwrap();
    }
    child.kill().unwrap();
    panic!("the command does not end");
}

#[test]
fn events_of_attached_programs_end_at_a_signal_a_limit_or_a_closed_pipe() {
    let object = common::demo().join("exec.bpf.o");
    if !may_load() {
        return;
    }
    let probe = run(["load", text(&object), "--program", "handle_exec"]);
    if probe.exit != 0 {
        skip!("the example object does not load here: {}", probe.out);
        return;
    }
    let only = ["--program", "handle_exec"];

    let mut child = start(&only);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut first_lines = lines.by_ref().take_while(|line| !line.contains("link "));
    assert!(first_lines.any(|line| line.starts_with("loaded ")));
    // The program is attached.
    Command::new("true").status().unwrap();
    let event = lines.by_ref().find(|line| line.starts_with("events: ")).unwrap();
    assert!(event.ends_with(" and 92 more bytes"), "{event}");
    // A command in the background of a script ignores SIGINT.
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    // The reader stays until the command ends.
    let (exit, err) = end_of(child);
    assert_eq!((exit, &*err), (0, "core-relo: note: attached; Ctrl-C detaches\n"));
    drop(lines);

    let mut child = start(&only);
    drop(child.stdout.take());
    let (exit, err) = end_of(child);
    assert!(!err.contains("pipe"), "{exit} {err}");

    let mut child = start(&[&only[..], &["--count", "2", "--format", "json"]].concat());
    let out = child.stdout.take().unwrap();
    let (exit, _) = end_of(child);
    let lines: Vec<_> = BufReader::new(out).lines().map(Result::unwrap).collect();
    assert_eq!((exit, lines.len()), (0, 3), "a line of the load and two events: {lines:?}");
    let event: serde_json::Value = serde_json::from_str(&lines[2]).unwrap();
    schema().check("--print, map events", &event);
    assert_eq!(event["type"], "int");

    let child = start(&[&only[..], &["--count", "1000000", "--timeout", "0.3"]].concat());
    let (exit, err) = end_of(child);
    assert!(exit == 1 && err.contains("events of --count did not arrive"), "{exit} {err}");
}
