//! The verdicts of `check`: on each object and program, with reasons, and the exit status.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;
#[path = "verdicts/warnings.rs"]
mod warnings;

use common::{Run, demo, prebuilt, run, run_in, schema, text};
use core_relo::{Endian, btf::Builder};
use core_relo_test_support::skip;
use serde_json::{Value, json};
use std::fs;

/// Checks an object of the test programs on a kernel of the demo.
fn check(object: &str, kernel: &str, more: &[&str]) -> Run {
    let kernel = demo().join(kernel);
    let args = ["check", object, "--btf", text(&kernel)];
    run_in(&prebuilt(""), args.iter().chain(more))
}

/// Checks an object as `check` does, and returns the only line.
fn line(object: &str, kernel: &str) -> (i32, Value) {
    let run = check(object, kernel, &["--format", "json"]);
    let mut lines = run.lines();
    assert_eq!(lines.len(), 1, "{}{}", run.out, run.err);
    schema().check("check", &lines[0]);
    (run.exit, lines.remove(0))
}

/// Returns the program of a name in a line.
fn program<'l>(line: &'l Value, name: &str) -> &'l Value {
    let programs = line["programs"].as_array().unwrap();
    programs.iter().find(|program| program["name"] == name).unwrap_or_else(|| panic!("no {name} in {line}"))
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// Returns a kernel whose `struct guard` has only these members. `has_enums` adds the parts of a kernel that
/// tell of program types and instructions.
fn guard_kernel(members: &[&str], has_enums: bool) -> Vec<u8> {
    let mut b = Builder::new(Endian::Little);
    let long = b.int("unsigned long", 8, 0);
    let members: Vec<_> = (0..).step_by(64).zip(members).map(|(bit, name)| (*name, long, bit)).collect();
    b.structure("guard", 8 * u32::try_from(members.len()).unwrap(), &members);
    if has_enums {
        // The members tell the program types that are compiled.
        b.structure("bpf_ctx_convert", 8, &[("BPF_PROG_TYPE_RAW_TRACEPOINT_prog", long, 0)]);
        b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_RAW_TRACEPOINT", 17)]);
        // This helper came with the 32-bit jumps.
        b.enumeration("bpf_func_id", 4, &[("BPF_FUNC_spin_lock", 93)]);
    }
    b.finish()
}

/// Checks `guard.bpf.o` on a kernel, and returns the exit status and the line.
fn check_guard(kernel: &[u8]) -> (i32, Value) {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(prebuilt("fields/guard.bpf.o"), dir.path().join("guard.bpf.o")).unwrap();
    fs::write(dir.path().join("kernel.btf"), kernel).unwrap();
    let run = run_in(dir.path(), ["check", "guard.bpf.o", "--btf", "kernel.btf", "--format", "json"]);
    let mut lines = run.lines();
    assert_eq!(lines.len(), 1, "{}{}", run.out, run.err);
    schema().check("check", &lines[0]);
    (run.exit, lines.remove(0))
}

#[test]
fn an_unguarded_missing_field_is_refused_with_reason_and_source_line() {
    let run = run(["check", "exec.bpf.o", "--btf", "linux-5.10.btf"]);
    let expected = "refused  exec.bpf.o  linux-5.10.btf  2 kept, 14 patched, 1 poisoned\n    \
                    ./exec.bpf.c:70 handle_exec: struct task_struct.__state: no member `__state`\n";
    assert_eq!((run.exit, &*run.out, &*run.err), (1, expected, ""));

    let (exit, line) = line("demo/exec.bpf.o", "linux-5.10.btf");
    assert_eq!((exit, &line["verdict"], &line["poisoned"]), (1, &json!("refused"), &json!(1)));
    let handle_exec = json!({
        "name": "handle_exec",
        "autoload": true,
        "verdict": "refused",
        "reasons": [{
            "kind": "relocation",
            "verdict": "refused",
            "text": "struct task_struct.__state: no member `__state`",
            "source": {
                "file": "./demo/exec.bpf.c",
                "line": 70,
                "column": 23,
                "text": "event->state = task->__state;",
                "is_near": false,
            },
            "evidence": {"source": "btf", "text": "vmlinux [1]: no member `__state`"},
            "fix": null, "loader": null,
            "allowed": null,
        }],
        "allowed": null,
        "reality": null,
    });
    let handle_exit = json!({
        "name": "handle_exit", "autoload": true, "verdict": "loads", "reasons": [], "allowed": null, "reality": null
    });
    assert_eq!(line["programs"], json!([handle_exec, handle_exit]));
}

#[test]
fn a_program_that_cannot_be_attached_has_a_warning_and_loads() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config");
    let object = prebuilt("live/kprobe.bpf.o");
    let on = |command, line: &str, more: &[&str]| {
        fs::write(&config, format!("CONFIG_BPF_SYSCALL=y\nCONFIG_BPF_EVENTS=y\n{line}\n")).unwrap();
        let args = [command, text(&object), "--btf", "linux-6.1.btf", "--kconfig", text(&config)];
        run([&args[..], more].concat())
    };
    let warning = "warning: entry: cannot be attached: the kernel lacks kprobe events\n";
    for command in ["check", "explain"] {
        let lacking = on(command, "", &[]);
        assert!(lacking.exit == 0 && lacking.out.contains(warning), "{lacking:?}");
        assert!(lacking.out.contains("  object: SEC(\"kprobe/do_sys_openat2\")\n"), "{}", lacking.out);
        let having = on(command, "CONFIG_KPROBE_EVENTS=y", &[]);
        assert!(having.exit == 0 && !having.out.contains("warning"), "{having:?}");
    }
    let line = &on("check", "", &["--format", "json"]).lines()[0];
    assert_eq!(line["verdict"], "loads");
    schema().check("warning of check", &line["warnings"][0]);
    assert_eq!(line["warnings"][0]["kind"], "attachment");
    let lines = on("explain", "", &["--format", "json"]).lines();
    schema().check("program of explain", &lines[0]);
    assert_eq!((lines.len(), &lines[1]["warnings"]), (2, &json!([line["warnings"][1]])));
    let alone = on("explain", "", &["--program", "back"]);
    assert!(!alone.out.contains("warning: entry") && alone.out.contains("warning: back"), "{}", alone.out);
}

#[test]
fn a_missing_address_of_a_kernel_variable_has_advice_of_its_own() {
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() || cfg!(target_endian = "big") {
        return skip!(Btf, "the running kernel has no BTF");
    }
    let dir = tempfile::tempdir().unwrap();
    let symbols = dir.path().join("kallsyms");
    fs::write(&symbols, "ffffffff81000000 T schedule\n").unwrap();
    let object = prebuilt("live/ksym.bpf.o");
    let explained = run(["explain", text(&object), "--kallsyms", text(&symbols)]);
    assert!(
        explained.out.contains("the kernel lacks the address of kernel variable runqueues"),
        "{explained:?}"
    );
    for line in [
        "symbols, which have variables with CONFIG_KALLSYMS_ALL only; `__weak` does not help, because the kernel's BTF has the variable\n",
        "mark the program OPTIONAL",
        "user space turns it on (bpf_program__set_autoload()) where the kernel has the address\n",
    ] {
        assert!(explained.out.contains(line), "{line}\n{}", explained.out);
    }
}

#[test]
fn a_guarded_missing_field_loads() {
    for (members, poisoned) in [(&["__state", "state"][..], 0), (&["flags"], 2), (&["state"], 1)] {
        let (exit, line) = check_guard(&guard_kernel(members, true));
        assert_eq!(
            (exit, &line["verdict"], &line["poisoned"]),
            (0, &json!("loads"), &json!(poisoned)),
            "{line}"
        );
        let guard = json!({"name": "guard", "autoload": true, "verdict": "loads", "reasons": [], "allowed": null, "reality": null});
        assert_eq!(line["programs"], json!([guard]));
    }
}

#[test]
fn a_kernel_without_evidence_gives_an_unknown_verdict_with_the_question() {
    let (exit, line) = check_guard(&guard_kernel(&["state"], false));
    assert_eq!((exit, &line["verdict"], &line["error"]), (2, &json!("unknown"), &Value::Null));
    let guard = program(&line, "guard");
    assert_eq!(guard["verdict"], "unknown");
    let reason = guard["reasons"].as_array().unwrap().iter().find(|reason| reason["kind"] == "program_type");
    let reason = reason.expect("a reason about the program type");
    assert_eq!((&reason["verdict"], &reason["evidence"]), (&json!("unknown"), &Value::Null));
    assert!(
        reason["text"].as_str().unwrap().contains("the kernel's BTF has no enum bpf_prog_type"),
        "{reason}"
    );
}

#[test]
fn guarded_and_unguarded_programs_of_an_object_are_told_apart() {
    // The kernel lacks `__state`.
    let (exit, line) = line("kernel/exec.bpf.o", "linux-5.10.btf");
    assert_eq!((exit, &line["verdict"]), (1, &json!("refused")));
    let verdicts: Vec<_> = line["programs"].as_array().unwrap().iter().map(|p| &p["verdict"]).collect();
    assert!(verdicts.contains(&&json!("loads")) && verdicts.contains(&&json!("refused")), "{line}");
    let unguarded = program(&line, "unguarded");
    assert_eq!(
        (&unguarded["verdict"], &unguarded["reasons"][0]["source"]["line"]),
        (&json!("refused"), &json!(100))
    );
    let poisoned = line["relocations"].as_array().unwrap();
    let is_guarded = |record: &&Value| record["outcome"] == "poison" && record["program"] != "unguarded";
    assert!(poisoned.iter().any(|record| is_guarded(&record)), "no guarded record is poisoned: {line}");
    // The other kernels have `__state`.
    for kernel in ["linux-6.1.btf", "linux-6.12.btf", "linux-7.2.btf"] {
        let run = check("kernel/exec.bpf.o", kernel, &[]);
        assert_eq!((run.exit, run.out.lines().count()), (0, 1), "{}", run.out);
        assert!(
            run.out.starts_with("loads  kernel/exec.bpf.o  ") && run.out.contains(" poisoned"),
            "{}",
            run.out
        );
    }
}

#[test]
fn programs_outside_the_default_load_do_not_count_for_the_object() {
    let (exit, line) = line("kernel/config.bpf.o", "linux-6.1.btf");
    assert_eq!((exit, &line["verdict"]), (0, &json!("loads")));
    let locked = program(&line, "locked");
    assert_eq!((&locked["autoload"], &locked["verdict"]), (&json!(false), &json!("unknown")));
    assert!(line["programs"].as_array().unwrap().iter().any(|p| p["autoload"] == json!(true)), "{line}");
}

#[test]
fn missing_parts_of_a_kernel_are_reasons_with_evidence() {
    for (object, kernel, kind, text, evidence) in [
        (
            "live/netfilter.bpf.o",
            "linux-6.1.btf",
            "program_type",
            "the kernel lacks program type BPF_PROG_TYPE_NETFILTER",
            "enum bpf_prog_type has no BPF_PROG_TYPE_NETFILTER: it ends with BPF_PROG_TYPE_SYSCALL",
        ),
        (
            "live/arena.bpf.o",
            "linux-6.1.btf",
            "map_type",
            "map arena: the kernel lacks map type BPF_MAP_TYPE_ARENA",
            "enum bpf_map_type has no BPF_MAP_TYPE_ARENA: it ends with BPF_MAP_TYPE_USER_RINGBUF",
        ),
        (
            "live/callbacks.bpf.o",
            "linux-5.10.btf",
            "helper",
            "the kernel lacks helper bpf_for_each_map_elem",
            "enum bpf_func_id has no BPF_FUNC_for_each_map_elem: it ends with BPF_FUNC_redirect_peer",
        ),
    ] {
        let (exit, line) = line(object, kernel);
        assert_eq!((exit, &line["verdict"]), (1, &json!("refused")), "{line}");
        let reasons = line["programs"][0]["reasons"].as_array().unwrap();
        let reason = reasons.iter().find(|reason| reason["kind"] == kind);
        let reason = reason.unwrap_or_else(|| panic!("no reason about the {kind}: {line}"));
        assert_eq!((&reason["verdict"], &reason["evidence"]["source"]), (&json!("refused"), &json!("btf")));
        assert!(reason["text"].as_str().unwrap().contains(text), "{reason}");
        assert!(reason["evidence"]["text"].as_str().unwrap().contains(evidence), "{reason}");
    }
}

#[test]
fn missing_input_and_its_fix_are_named() {
    let run = check("live/freplace.bpf.o", "linux-6.1.btf", &[]);
    assert_eq!(run.exit, 1, "{}", run.out);
    assert!(run.out.starts_with("needs input  live/freplace.bpf.o  "), "{}", run.out);
    let fix = "=FUNCTION@PROGRAM, or bpf_program__set_attach_target() before the load";
    assert!(run.out.contains("; fix: --attach-target ") && run.out.contains(fix), "{}", run.out);
    let (exit, line) = line("live/freplace.bpf.o", "linux-6.1.btf");
    assert_eq!((exit, &line["verdict"]), (1, &json!("needs_input")));
    let reason = &line["programs"][0]["reasons"][0];
    assert_eq!((&reason["kind"], &reason["verdict"]), (&json!("attach_target"), &json!("needs_input")));
    assert_eq!((&reason["evidence"]["source"], &reason["source"]), (&json!("object"), &Value::Null));
    assert!(reason["fix"].as_str().unwrap().ends_with(fix), "{reason}");
}

#[test]
fn programs_have_the_documented_keys() {
    let mut kinds = std::collections::BTreeSet::new();
    for object in ["kernel/exec.bpf.o", "kernel/config.bpf.o", "live/arena.bpf.o", "live/kconfig.bpf.o"] {
        let (_, line) = line(object, "linux-5.10.btf");
        for program in line["programs"].as_array().unwrap() {
            assert_eq!(keys(program), ["name", "autoload", "verdict", "reasons", "allowed", "reality"]);
            assert!(program["name"].is_string() && program["autoload"].is_boolean(), "{program}");
            let reasons = program["reasons"].as_array().unwrap();
            assert_eq!(reasons.is_empty(), program["verdict"] == "loads", "{program}");
            // The worst reason is first.
            assert!(reasons.first().is_none_or(|first| first["verdict"] == program["verdict"]), "{program}");
            for reason in reasons {
                schema().check("reason of check", reason);
                if !reason["source"].is_null() {
                    assert_eq!(keys(&reason["source"]), ["file", "line", "column", "text", "is_near"]);
                }
                if !reason["evidence"].is_null() {
                    assert_eq!(keys(&reason["evidence"]), ["source", "text"]);
                }
                kinds.insert(reason["kind"].as_str().unwrap().to_owned());
            }
        }
    }
    for kind in ["relocation", "map_type", "kfunc", "kconfig", "instruction"] {
        assert!(kinds.contains(kind), "no {kind} in {kinds:?}");
    }
}

#[test]
fn the_exit_status_is_that_of_the_worst_line() {
    let kernel = ["--btf".to_owned(), text(&demo().join("linux-6.1.btf")).to_owned()];
    let exit = |objects: &[&str]| {
        let args = ["check"].iter().chain(objects).map(|arg| (*arg).to_owned());
        run_in(&prebuilt(""), args.chain(kernel.clone())).exit
    };
    let [loads, refused, input, unknown, bad] =
        ["demo/exec.bpf.o", "fields/basic.bpf.o", "live/freplace.bpf.o", "live/kconfig.bpf.o", "nosuch.o"];
    for (objects, expected) in [
        (&[loads][..], 0),
        (&[refused], 1),
        (&[input], 1),
        (&[unknown], 2),
        (&[bad], 2),
        (&[loads, refused], 1),
        (&[input, loads], 1),
        (&[refused, unknown], 2),
        (&[unknown, loads, input], 2),
        (&[bad, loads], 2),
    ] {
        assert_eq!(exit(objects), expected, "{objects:?}");
    }
}

#[test]
fn a_dry_run_has_the_verdict_and_the_exit_status_of_check() {
    for object in ["kernel/exec.bpf.o", "kernel/config.bpf.o", "live/arena.bpf.o", "live/freplace.bpf.o"] {
        for kernel in ["linux-5.10.btf", "linux-7.2.btf"] {
            let (exit, checked) = line(object, kernel);
            let path = demo().join(kernel);
            let args = ["load", object, "--dry-run", "--btf", text(&path)];
            let dry = run_in(&prebuilt(""), args.iter().chain(&["--format", "json"]));
            let planned = &dry.lines()[0];
            schema().check("load", planned);
            assert_eq!(planned["verdict"], checked["verdict"], "{object} {kernel}");
            assert_eq!(planned["verdicts"], checked["programs"], "{object} {kernel}");
            let shown = run_in(&prebuilt(""), args);
            if planned["status"] == "planned" {
                assert_eq!((dry.exit, shown.exit), (exit, exit), "{object} {kernel}");
            }
            let verdict = checked["verdict"].as_str().unwrap().replace('_', " ");
            assert!(shown.out.contains(&format!("  verdict: {verdict}\n")), "{}", shown.out);
        }
    }
}

#[test]
fn the_settings_of_a_dry_run_count_for_its_verdict() {
    let path = demo().join("linux-5.10.btf");
    let dry = |object: &str, more: &[&str]| {
        let args = ["load", object, "--dry-run", "--btf", text(&path), "--format", "json"];
        let run = run_in(&prebuilt(""), args.iter().chain(more));
        (run.exit, run.lines().remove(0))
    };
    // `unguarded` is refused, `guarded` loads.
    let (exit, line) = dry("kernel/exec.bpf.o", &["--program", "guarded"]);
    assert_eq!((exit, &line["verdict"]), (0, &json!("loads")), "{line}");
    let (exit, line) = dry("kernel/exec.bpf.o", &["--program", "unguarded"]);
    assert_eq!((exit, &line["verdict"]), (1, &json!("refused")), "{line}");
    // A program that uses a map which is not created is refused, if the instruction is reached.
    let (exit, line) = dry("kernel/exec.bpf.o", &["--program", "guarded", "--without-map", "events"]);
    assert_eq!((exit, &line["verdict"]), (1, &json!("refused")), "{line}");
    let reason = &program_of(&line, "guarded")["reasons"][0];
    assert_eq!(reason["text"], "map events: the loader does not create it");
}

/// Returns the verdict on a program in a line of `load`.
fn program_of<'l>(line: &'l Value, name: &str) -> &'l Value {
    let programs = line["verdicts"].as_array().unwrap();
    programs.iter().find(|program| program["name"] == name).unwrap()
}

#[test]
fn explain_has_the_verdicts_of_check_and_names_guarded_accesses_and_other_kernels() {
    let kernels = ["linux-5.10.btf", "linux-6.1.btf", "linux-7.2.btf"].map(|name| demo().join(name));
    let mut args = vec!["explain", "demo/exec.bpf.o", "--format", "json"];
    args.extend(kernels.iter().flat_map(|kernel| ["--btf", text(kernel)]));
    let run = run_in(&prebuilt(""), args);
    let lines = run.lines();
    let verdict = |program: &str, kernel: &str| {
        let mut found = lines.iter().filter(|line| line["program"] == program && line["reasons"].is_array());
        found.find(|line| line["target"].as_str().unwrap().ends_with(kernel)).unwrap()
    };
    let missing = &verdict("handle_exec", "linux-5.10.btf")["reasons"][0];
    assert!(missing["first_kernel"].as_str().unwrap().ends_with("linux-6.1.btf"), "{missing}");
    assert_eq!(missing["last_kernel"], Value::Null);
    let removed = &verdict("handle_exit", "linux-7.2.btf")["reasons"][0];
    assert!(removed["last_kernel"].as_str().unwrap().ends_with("linux-6.1.btf"), "{removed}");
    assert_eq!(removed["first_kernel"], Value::Null);
    assert_eq!(verdict("handle_exec", "linux-6.1.btf")["verdict"], "loads");

    let run = run_in(&prebuilt(""), ["explain", "kernel/exec.bpf.o", "--btf", text(&kernels[0])]);
    let guarded = "guarded: `guarded`: struct task_struct.__state: no member `__state`: a guard skips it, no \
                   change needed";
    assert!(run.out.contains(guarded), "{}", run.out);
}

#[test]
fn reasons_behind_the_first_ones_are_listed() {
    let args = ["resize.bpf.o", "--btf", "resize.crossed.o"];
    let explain = [&["explain"][..], &args, &["--format", "json"]].concat();
    let lines = run_in(&prebuilt("fields"), explain).lines();
    let load = lines.iter().find(|line| line["program"] == "load").unwrap();
    schema().check("program of explain", load);
    let texts = |key: &str| -> Vec<_> {
        let reasons = load[key].as_array().unwrap().iter();
        reasons.map(|reason| reason["text"].as_str().unwrap().split(':').next().unwrap()).collect()
    };
    let members = ["struct resize.w", "struct resize.dw", "struct resize.state"];
    assert_eq!(texts("later"), members);
    assert!(
        load["guarded"] == json!([]) && !texts("reasons").iter().any(|text| members.contains(text)),
        "{load}"
    );
    for reason in load["later"].as_array().unwrap() {
        schema().check("reason of explain", reason);
        assert!(!reason["fixes"].as_array().unwrap().is_empty(), "{reason}");
    }
    let check = run_in(&prebuilt("fields"), [&["check"][..], &args].concat());
    assert!(check.out.contains("more behind these, see core-relo explain"), "{}", check.out);
}

#[test]
fn a_setting_of_a_map_that_the_object_does_not_have_is_an_error() {
    let kernel = demo().join("linux-6.1.btf");
    let run = run_in(&demo(), ["check", "exec.bpf.o", "--btf", text(&kernel), "--max-entries", "evnets=5"]);
    assert_eq!((run.exit, &*run.out), (2, ""), "{}", run.err);
    assert_eq!(run.err, "core-relo: exec.bpf.o: it has no map `evnets`; did you mean `events`?\n");
}

#[test]
fn an_object_without_programs_has_a_reason() {
    let object = "link/calls_b.bpf.o";
    let (_, json) = line(object, "linux-6.1.btf");
    let reason = json["reasons"][0]["text"].as_str().unwrap();
    assert!(reason.starts_with("undefined: `deepest`"), "{json}");
    let text = check(object, "linux-6.1.btf", &[]);
    assert!(text.out.starts_with("refused  link/calls_b.bpf.o") && text.out.contains(reason), "{}", text.out);
    let kernel = demo().join("linux-6.1.btf");
    let explained = run_in(&prebuilt(""), ["explain", object, "--btf", common::text(&kernel)]);
    assert!(explained.out.contains(reason), "{}", explained.out);
    let explained =
        run_in(&prebuilt(""), ["explain", object, "--btf", common::text(&kernel), "--format", "json"]);
    let line = &explained.lines()[0];
    schema().check("program of explain", line);
    assert_eq!((&line["program"], &line["verdict"]), (&Value::Null, &json!("refused")));
    assert_eq!(line["reasons"][0]["text"], reason);
    for format in ["sarif", "junit", "markdown"] {
        let report = check(object, "linux-6.1.btf", &["--format", format]);
        assert!(report.out.contains("neither defined in the object"), "{format}: {}", report.out);
    }
}
