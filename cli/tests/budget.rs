//! The verifier's statistics and budgets of `load --each`, on the running kernel. They need root, except for
//! wrong usage.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{Run, may_load, prebuilt, run, schema, text};
use serde_json::Value;
use std::{fs, path::Path};

fn load(args: &[&str]) -> Run {
    run([&["load", "--each"], args].concat())
}

/// Returns the entries of a budget file, without its first line.
fn entries(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("{\"core_relo_budget\":1}"));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Replaces the entries of a budget file.
fn write_entries(path: &Path, entries: &[Value]) {
    let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
    fs::write(path, format!("{{\"core_relo_budget\":1}}\n{lines}")).unwrap();
}

#[test]
fn statistics_are_printed_for_each_program() {
    if !may_load() {
        return;
    }
    let object = prebuilt("live/globals.bpf.o");
    let lines = load(&[text(&object), "--stats", "--format", "json"]).lines();
    schema().check("load", &lines[0]);
    schema().check("verifier statistics", &lines[0]["stats"]);
    assert!(lines[0]["stats"]["verified_insns"].as_u64().unwrap() > 0, "{}", lines[0]);
    assert!(lines[0]["stats"]["stack_depth"].is_u64(), "{}", lines[0]);
    assert_eq!(lines[0]["programs"][0]["verifier_log"], Value::Null, "no log without --verifier-log");
    let shown = load(&[text(&object), "--stats"]);
    assert!(shown.out.contains(" instructions verified, "), "{}", shown.out);
    let without = load(&[text(&object), "--format", "json"]).lines();
    assert_eq!(without[0]["stats"], Value::Null);
}

#[test]
fn growth_and_missing_programs_exceed_a_budget() {
    if !may_load() {
        return;
    }
    let object = prebuilt("live/globals.bpf.o");
    let dir = tempfile::tempdir().unwrap();
    let budget = dir.path().join("budget.jsonl");
    let args = |more: &[&'static str]| [&[text(&object), "--budget", text(&budget)][..], more].concat();
    let missing = load(&args(&[]));
    assert_eq!((missing.exit, missing.out.as_str()), (2, ""), "{}", missing.err);
    assert!(missing.err.contains("budget.jsonl: no such file or directory"), "{}", missing.err);

    let written = load(&[text(&object), "--write-budget", text(&budget)]);
    assert_eq!(written.exit, 0, "{}{}", written.out, written.err);
    let original = entries(&budget);
    assert!(!original.is_empty());
    let same = load(&args(&[]));
    assert_eq!(same.exit, 0, "{}{}", same.out, same.err);
    assert!(same.out.contains(" kept: "), "{}", same.out);

    let mut lower = original.clone();
    let insns = lower[0]["verified_insns"].as_u64().unwrap();
    lower[0]["verified_insns"] = (insns - 1).into();
    write_entries(&budget, &lower);
    let grew = load(&args(&[]));
    assert_eq!(grew.exit, 1, "{}{}", grew.out, grew.err);
    let expected = format!("verified instructions: {insns}, expected at most {} (+", insns - 1);
    assert!(grew.out.contains(&expected) && grew.out.contains("help: --write-budget "), "{}", grew.out);
    let json = load(&args(&["--format", "json"])).lines();
    let finding = json.last().unwrap();
    schema().check("budget", finding);
    assert_eq!((&finding["finding"], &finding["metric"]), (&"grew".into(), &"verified_insns".into()));
    assert_eq!(load(&args(&["--budget-tolerance", "10000"])).exit, 0);

    let mut others = original.clone();
    others[0]["program"] = "gone".into();
    others.push(original[0].clone());
    others.last_mut().unwrap()["kernel"] = "2.6.32".into();
    write_entries(&budget, &others);
    let json = load(&args(&["--format", "json"]));
    assert_eq!(json.exit, 1, "{}", json.err);
    assert!(json.err.contains("1 entries of other kernels, objects or programs"), "{}", json.err);
    let lines = json.lines();
    let mut findings: Vec<_> = lines.iter().filter_map(|line| line["finding"].as_str()).collect();
    findings.sort_unstable();
    assert_eq!(findings, ["not_in_budget", "not_loaded"]);
}

#[test]
fn a_run_without_all_results_writes_no_budget() {
    if !may_load() {
        return;
    }
    let object = prebuilt("live/globals.bpf.o");
    let dir = tempfile::tempdir().unwrap();
    let budget = dir.path().join("budget.jsonl");
    let run = load(&[text(&object), "/no/such.bpf.o", "--write-budget", text(&budget)]);
    assert_eq!(run.exit, 2, "{}", run.err);
    assert!(run.err.contains("was not written: /no/such.bpf.o"), "{}", run.err);
    assert!(!budget.exists());
}

#[test]
fn a_broken_budget_is_refused_with_line_and_column() {
    let object = prebuilt("live/globals.bpf.o");
    let dir = tempfile::tempdir().unwrap();
    let budget = dir.path().join("budget.jsonl");
    fs::write(&budget, "{\"core_relo_budget\":1}\n{\"kernel\":6}\n").unwrap();
    let run = load(&[text(&object), "--budget", text(&budget)]);
    assert_eq!((run.exit, run.out.as_str(), run.err.lines().count()), (2, "", 1), "{}", run.err);
    let place = "budget.jsonl: line 2, column 11: invalid type: integer `6`, expected a string; expected {";
    assert!(run.err.contains(place), "{}", run.err);
}

#[test]
fn statistics_need_programs_that_load_by_themselves() {
    let object = prebuilt("live/globals.bpf.o");
    for args in [
        &["load", text(&object), "--stats"][..],
        &["load", text(&object), "--write-budget", "/tmp/x"],
        &["check", text(&object), "--stats"],
        &["check", text(&object), "--timeout", "3"],
        &["load", text(&object), "--each", "--budget-tolerance", "3"],
        &["vm", text(&object), "--kernel", "k", "--stats", "--command", "/bin/sh"],
    ] {
        let run = run(args);
        assert_eq!((run.exit, run.out.as_str()), (2, ""), "{args:?}: {}", run.err);
    }
}
