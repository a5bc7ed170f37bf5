//! Tests of `gen object`, which links several objects into one.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{prebuilt, run_in, text};
use std::{fs, path::Path};

fn link(out: &Path, objects: &[&str]) -> common::Run {
    run_in(&prebuilt("link"), ["gen", "object", text(out)].iter().chain(objects))
}

#[test]
fn a_linked_object_can_be_inspected_and_linked_again() {
    let dir = tempfile::tempdir().unwrap();
    let (out, again) = (dir.path().join("out.o"), dir.path().join("again.o"));
    let run = link(&out, &["calls_a.bpf.o", "calls_b.bpf.o", "calls_c.bpf.o"]);
    assert_eq!((run.exit, &*run.err), (0, ""), "{}", run.out);
    assert!(run.out.contains("3 objects, 2 programs, 6 subprograms, 0 maps"), "{}", run.out);
    let inspected = run_in(dir.path(), ["inspect", "out.o", "--format", "json"]).lines();
    assert_eq!(inspected[0]["externs"].as_array().unwrap().len(), 0);
    assert_eq!(link(&again, &[text(&out)]).exit, 0);
    assert_eq!(fs::read(&out).unwrap().len(), fs::read(&again).unwrap().len());
}

#[test]
fn undefined_symbols_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let run = link(&dir.path().join("out.o"), &["extern_a.bpf.o"]);
    assert_eq!(run.exit, 0);
    assert!(run.err.contains("`counter`") && run.err.contains("`bump`"), "{}", run.err);
}

#[test]
fn a_failed_link_prints_one_line_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.o");
    for (group, message) in [
        ("bad_strong", "symbol `mine`: the symbol is also defined in bad_strong_a.bpf.o"),
        ("bad_type", "member 1: `z` at bit 32, expected `y` at bit 32"),
        ("bad_map", "symbol `table`: the map definition differs from bad_map_a.bpf.o: max_entries"),
        ("bad_license", "section `license`: the contents differ from earlier files"),
        ("bad_section", "symbol `CONFIG_HZ`: section `.ksyms`, expected the section in bad_section_a.bpf.o"),
    ] {
        let (a, b) = (format!("{group}_a.bpf.o"), format!("{group}_b.bpf.o"));
        let run = link(&out, &[&a, &b]);
        assert_eq!((run.exit, run.err.lines().count(), &*run.out), (2, 1, ""), "{group}: {}", run.err);
        assert!(run.err.contains(message) && run.err.contains(&b), "{group}: {}", run.err);
        assert!(!out.exists());
    }
    let run = link(&out, &["calls_a.bpf.o", "nosuch.o"]);
    assert_eq!((run.exit, run.err.lines().count()), (2, 1), "{}", run.err);
    let run = link(&out, &["../../eb/link/calls_a.bpf.o", "calls_b.bpf.o"]);
    assert!(run.exit == 2 && run.err.contains("byte order"), "{}", run.err);
}
