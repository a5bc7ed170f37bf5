//! Hostile lines, contradictions, and lines that are no results.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::*;
use serde_json::{Value, json};

/// Returns the line of an object that a kernel refuses.
fn line() -> Value {
    let reason = json!({"kind": "helper", "verdict": "refused", "text": "helper bpf_loop is missing",
        "source": null, "evidence": null, "fix": null, "loader": null, "allowed": null});
    json!({"object": "a.o", "target": "k", "kept": 1, "patched": 0, "poisoned": 0, "failed": 0, "skipped": 0,
        "verdict": "refused", "relocations": [], "error": null, "target_id": null,
        "programs": [{"name": "main", "autoload": true, "verdict": "refused", "reasons": [reason],
            "allowed": null, "reality": null}],
        "allowed": null, "kernel_warnings": ["no version"], "warnings": [], "reasons": [], "adaptive": null,
        "object_reality": null, "loader": "libbpf", "kernel": {"version": "6.1.0", "architecture": "x86_64",
        "series": null}, "object_hash": "01", "baseline": null, "later_count": 0, "format": 1})
}

fn place(number: u64) -> LinePlace {
    LinePlace { file: "r.jsonl".into(), line: number }
}

/// Adds lines to one reader. Returns the report, or the message for the first line that is refused.
fn read(lines: &[Value], contradictions: Contradictions) -> Result<FleetReport, String> {
    let mut results = StoredResults::new(contradictions);
    for (number, line) in (1..).zip(lines) {
        results.add_line(place(number), line.to_string().as_bytes()).map_err(|e| e.to_string())?;
    }
    Ok(results.into_report())
}

fn with(key: &str, value: Value) -> Value {
    let mut line = line();
    line[key] = value;
    line
}

#[test]
fn equal_results_count_once() {
    let report = read(&[line(), line(), with("target", json!("l"))], Contradictions::Refuse).unwrap();
    let kernels: Vec<_> = report.rows.iter().map(|row| &*row.kernel).collect();
    assert_eq!(kernels, ["k", "l"]);
    assert_eq!(report.kernel_warnings.len(), 2, "a warning of a kernel is shown once");
    let row = &report.rows[0];
    assert_eq!(row.kernel_version, "6.1.0".parse().ok());
    assert_eq!(row.relocations.map(|counts| counts.kept), Some(1));
}

#[test]
fn contradictions_name_both_lines() {
    let mut later = line();
    later["verdict"] = json!("loads");
    later["programs"][0]["verdict"] = json!("loads");
    later["programs"][0]["reasons"] = json!([]);
    let lines = [line(), later];
    let expected = "r.jsonl: line 2: contradicts r.jsonl: line 1: the results of a.o on k";
    assert_eq!(read(&lines, Contradictions::Refuse).unwrap_err(), expected);
    let report = read(&lines, Contradictions::TakeLast).unwrap();
    assert_eq!(report.rows.iter().map(Row::conclusion).collect::<Vec<_>>(), [crate::Conclusion::Passes]);
    // Two builds of an object have one name.
    for contradictions in [Contradictions::Refuse, Contradictions::TakeLast] {
        let lines = [line(), with("object_hash", json!("02"))];
        let expected = "r.jsonl: line 2: is about another `a.o` than r.jsonl: line 1: their hashes differ";
        assert_eq!(read(&lines, contradictions).unwrap_err(), expected);
    }
}

#[test]
fn lines_beside_results_are_left_out() {
    let header = json!({"core_relo": "0.1.0", "objects": [{"object": "a.o", "hash": "01"}]});
    let budget = json!({"budget": "b", "kernel": "k", "object": "a.o", "program": "p", "finding": "grew"});
    let report = read(&[header, line(), budget], Contradictions::Refuse).unwrap();
    assert_eq!(report.rows.len(), 1);
}

#[test]
fn lines_of_others_are_refused() {
    let foreign = "r.jsonl: line 1: is no line of `check --format json`: ";
    for (line, expected) in [
        (with("format", json!(2)), "r.jsonl: line 1: has the format 2, expected 1"),
        (json!({}), foreign),
        (json!([1]), foreign),
        (json!(7), foreign),
        (with("verdict", json!("\u{1b}[2J")), foreign),
        (with("programs", json!(7)), foreign),
        (with("error", json!({"file": "a", "what": "b", "help": null})), foreign),
        (with("verdict", json!("bad_input")), foreign),
        (with("target", Value::Null), foreign),
        (with("loader", json!("bpftool")), foreign),
        (with("allowed", json!({"verdict": "loads", "pattern": "x", "reason": null, "place": ""})), foreign),
        (with("kept", json!(-1)), foreign),
    ] {
        let error = read(&[line], Contradictions::Refuse).unwrap_err();
        assert!(error.starts_with(expected) && !error.contains('\u{1b}'), "{error}");
    }
}

/// No line makes the reader panic or recurse without a bound, however it is cut or changed.
#[test]
fn hostile_lines_are_errors() {
    let text = line().to_string();
    for cut in 0..text.len() {
        let mut results = StoredResults::default();
        let error = results.add_line(place(1), &text.as_bytes()[..cut]).unwrap_err();
        assert_eq!(*error.problem, LineProblem::Cut, "cut at {cut}");
        assert_eq!(results.into_report().rows.len(), 0);
    }
    for at in 0..text.len() {
        for byte in [0, b'"', b'{', b'[', b'9', 0xff] {
            let mut changed = text.clone().into_bytes();
            changed[at] = byte;
            let _added = StoredResults::default().add_line(place(1), &changed);
        }
    }
    let deep = "[".repeat(1_000_000);
    for key in ["error", "relocations", "adaptive", "unknown"] {
        let hostile = with(key, json!("X")).to_string().replace("\"X\"", &deep);
        let _error = StoredResults::default().add_line(place(1), hostile.as_bytes()).unwrap_err();
    }
}

/// Objects without a hash, and kernels that differ in their version only, take memory as others do.
#[test]
fn a_table_that_does_not_fit_into_memory_is_refused() {
    let mut results = StoredResults::default();
    let number = (1..=10_000u64).find(|number| {
        let (mut line, name) = (line(), format!("{number}"));
        line["object"] = json!(name);
        line["object_hash"] = Value::Null;
        line["kernel"]["version"] = json!(format!("6.1.{number}"));
        let added = results.add_line(place(*number), line.to_string().as_bytes());
        added.is_err_and(|error| *error.problem == LineProblem::TooManyCells)
    });
    assert_eq!(number, Some(4097));
}

/// The package of a kernel decides on its column, whether or not its architecture is known.
#[test]
fn packages_are_read_back() {
    let mut line = line();
    for (key, value) in [("distribution", "d"), ("distribution_release", "1"), ("package_version", "6.1-1")] {
        line[key] = json!(value);
    }
    line["kernel"]["series"] = json!("d:1 x86_64");
    let mut other = line.clone();
    other["target"] = json!("l");
    other["kernel"]["architecture"] = Value::Null;
    let report = read(&[line, other], Contradictions::Refuse).unwrap();
    let releases = report.rows.iter().map(|row| row.distribution.as_ref().map(|package| &*package.release));
    assert_eq!(releases.collect::<Vec<_>>(), [Some("1"); 2]);
    assert_eq!(report.rows[0].kernel_series.as_deref(), Some("d:1 x86_64"));
}

/// A glob of `core-relo.toml` may contain a comma.
#[test]
fn accepted_reasons_are_read_back() {
    let mut line = line();
    let entry = json!({"pattern": "object=a,b*.o,kind=helper", "reason": null, "place": "core-relo.toml:3"});
    line["programs"][0]["reasons"][0]["allowed"] = entry.clone();
    let mut allowed = entry;
    allowed["verdict"] = json!("loads");
    line["programs"][0]["allowed"] = allowed.clone();
    line["allowed"] = allowed;
    let report = read(&[line], Contradictions::Refuse).unwrap();
    let acceptance = report.rows[0].acceptance.as_ref().unwrap();
    assert_eq!(report.rows[0].conclusion(), crate::Conclusion::Passes);
    let entry = acceptance.program(0).unwrap().reason(0).unwrap();
    assert_eq!(entry.to_string(), "core-relo.toml:3: object=a,b*.o,kind=helper");
    assert_eq!(acceptance.entry(), Some(entry));
}
