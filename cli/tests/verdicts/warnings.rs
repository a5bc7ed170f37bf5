//! Warnings of `check`: declarations that differ although the program loads.

use super::{
    common::{demo, run_in, schema},
    line,
};
use core_relo::{
    Endian,
    btf::{Builder, Kind},
};
use serde_json::{Value, json};
use std::fs;

/// Returns a kernel whose tracepoint `sched_process_exec` has only its first argument.
fn kernel_with_one_argument() -> Vec<u8> {
    let mut b = Builder::new(Endian::Little);
    let task = b.forward("task_struct", Kind::Struct);
    let (task, data) = (b.pointer(task), b.pointer(core_relo::TypeId(0)));
    let proto = b.func_proto(core_relo::TypeId(0), &[("__data", data), ("p", task)]);
    let pointer = b.pointer(proto);
    b.typedef("btf_trace_sched_process_exec", pointer);
    b.finish()
}

/// Returns the demo's object with raw tracepoints without types, whose load does not look up the arguments.
fn demo_of_raw_tracepoints() -> Vec<u8> {
    let mut bytes = fs::read(demo().join("exec.bpf.o")).unwrap();
    let (typed, raw) = (b"tp_btf/", b"raw_tp/");
    for at in 0..bytes.len() - typed.len() {
        if bytes[at..].starts_with(typed) {
            bytes[at..at + raw.len()].copy_from_slice(raw);
        }
    }
    bytes
}

#[test]
fn silent_mismatches_are_warnings() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("exec.bpf.o"), demo_of_raw_tracepoints()).unwrap();
    fs::write(dir.path().join("kernel.btf"), kernel_with_one_argument()).unwrap();
    let args = ["check", "exec.bpf.o", "--btf", "kernel.btf"];
    let json = run_in(dir.path(), args.iter().chain(&["--format", "json"]));
    let line = &json.lines()[0];
    schema().check("check", line);
    let warning = &line["warnings"][0];
    schema().check("warning of check", warning);
    assert_eq!((&warning["kind"], &warning["program"]), (&json!("prototype"), &json!("handle_exec")));
    assert_eq!(warning["target"], "void btf_trace_sched_process_exec(struct task_struct *p)");

    let text = run_in(dir.path(), args);
    let expected = "handle_exec: argument 3 of btf_trace_sched_process_exec does not exist: the kernel's declaration has 1 argument\n      \
                    object: argument 3 of btf_trace_sched_process_exec\n      \
                    kernel: void btf_trace_sched_process_exec(struct task_struct *p)\n";
    assert!(text.out.contains("    warning: ") && text.out.contains(expected), "{}", text.out);
    let allowed = run_in(dir.path(), args.iter().chain(&["--allow", "program=handle_exec"]));
    assert!(allowed.out.contains(expected), "an accepted gap hides no warning: {}", allowed.out);

    let sarif = run_in(dir.path(), args.iter().chain(&["--format", "sarif"]));
    let log: Value = serde_json::from_str(&sarif.out).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let mismatch = results.iter().find(|result| result["ruleId"] == "mismatch").unwrap();
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let rule = &rules[usize::try_from(mismatch["ruleIndex"].as_u64().unwrap()).unwrap()];
    assert_eq!((&mismatch["level"], &rule["id"]), (&json!("warning"), &json!("mismatch")));
}

#[test]
fn the_demo_has_no_warnings() {
    for kernel in ["linux-5.10.btf", "linux-6.1.btf", "linux-6.12.btf", "linux-7.2.btf"] {
        let (_, line) = line("demo/exec.bpf.o", kernel);
        assert_eq!(line["warnings"], json!([]), "{kernel}");
    }
}
