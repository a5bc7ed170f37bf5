//! Tests of `patch`, which changes only the instructions of an object.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{demo, prebuilt, run, run_in, text};
use std::{fs, path::Path};

fn patch(object: &str, kernel: &str, out: &Path) -> common::Run {
    run(["patch", object, "--btf", kernel, "-o", text(out)])
}

#[test]
fn only_instructions_change() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.o");
    let run = patch("exec.bpf.o", "linux-6.12.btf", &out);
    assert_eq!((run.exit, &*run.err), (0, ""));
    let (old, new) = (fs::read(demo().join("exec.bpf.o")).unwrap(), fs::read(&out).unwrap());
    assert_eq!(old.len(), new.len());
    let plan = common::run(["plan", "exec.bpf.o", "--btf", "linux-6.12.btf", "--format", "json"]).lines();
    let changed = plan.iter().filter(|r| r["outcome"] == "patch").count();
    let words = old.chunks(8).zip(new.chunks(8)).filter(|(a, b)| a != b).count();
    assert_eq!(words, changed);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no other file is left");
}

#[test]
fn a_patched_object_has_the_planned_instructions() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.o");
    assert_eq!(patch("exec.bpf.o", "linux-5.10.btf", &out).exit, 0);
    let plan =
        |object: &str| common::run(["plan", object, "--btf", "linux-5.10.btf", "--format", "json"]).lines();
    let (before, after) = (plan("exec.bpf.o"), plan(text(&out)));
    for (a, b) in before.iter().zip(&after) {
        assert_eq!(a["after"], b["before"], "{a}");
    }
}

#[test]
fn poison_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.o");
    let run = patch("exec.bpf.o", "linux-5.10.btf", &out);
    assert!(run.err.starts_with("poison: ./exec.bpf.c:70 handle_exec"), "{}", run.err);
    assert!(run.out.contains("1 poisoned"), "{}", run.out);
    assert!(out.is_file());
}

#[test]
fn nothing_is_written_if_a_relocation_fails() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.o");
    let args = ["patch", "duplicates.bpf.o", "--btf", "duplicates.apart.o", "-o", text(&out)];
    let run = run_in(&prebuilt("ambiguous"), args);
    assert_eq!((run.exit, &*run.out), (1, ""));
    assert!(run.err.contains("nothing written"), "{}", run.err);
    assert!(!out.exists());
}

#[test]
fn an_object_may_replace_itself_but_no_directory() {
    let dir = tempfile::tempdir().unwrap();
    let object = dir.path().join("exec.bpf.o");
    fs::copy(demo().join("exec.bpf.o"), &object).unwrap();
    let run = patch(text(&object), "linux-6.1.btf", &object);
    assert_eq!(run.exit, 0, "{}", run.err);
    assert_ne!(fs::read(&object).unwrap(), fs::read(demo().join("exec.bpf.o")).unwrap());
    for (out, what) in
        [(dir.path(), "is a directory"), (&dir.path().join("nosuch/out.o"), "no such directory")]
    {
        let run = patch("exec.bpf.o", "linux-6.1.btf", out);
        assert_eq!((run.exit, run.err.lines().count()), (2, 1), "{run:?}");
        assert!(run.err.contains(what), "{}", run.err);
    }
}
