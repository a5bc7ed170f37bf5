//! Tests of `patch`, which changes only the instructions of an object.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{demo, prebuilt, run, run_in, text};
use core_relo_test_support::{clang, skip};
use std::{fs, path::Path};

fn patch(object: &str, kernel: &str, out: &Path) -> common::Run {
    run(["patch", object, "--btf", kernel, "-o", text(out)])
}

/// The same with the CO-RE records.
fn patch_and_keep(object: &str, kernel: &str, out: &Path) -> common::Run {
    run(["patch", object, "--btf", kernel, "-o", text(out), "--keep-records"])
}

#[test]
fn only_instructions_change() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.o");
    let run = patch_and_keep("exec.bpf.o", "linux-6.12.btf", &out);
    assert_eq!((run.exit, &*run.err), (0, ""));
    let (old, new) = (fs::read(demo().join("exec.bpf.o")).unwrap(), fs::read(&out).unwrap());
    assert_eq!(old.len(), new.len());
    let plan = common::run(["plan", "exec.bpf.o", "--btf", "linux-6.12.btf", "--format", "json"]).lines();
    let changed = plan.iter().filter(|r| r["outcome"] == "patch").count();
    let words = old.chunks(8).zip(new.chunks(8)).filter(|(a, b)| a != b).count();
    assert_eq!(words, changed);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no other file is left");
}

/// A loader relocated the instructions of a patched object a second time: it refused most objects, and loaded
/// others with wrong values.
#[test]
fn a_patched_object_has_no_core_records() {
    let dir = tempfile::tempdir().unwrap();
    let (out, kept) = (dir.path().join("out.o"), dir.path().join("kept.o"));
    assert_eq!(patch("exec.bpf.o", "linux-6.12.btf", &out).exit, 0);
    assert_eq!(patch_and_keep("exec.bpf.o", "linux-6.12.btf", &kept).exit, 0);
    let (new, kept) = (fs::read(&out).unwrap(), fs::read(&kept).unwrap());
    let different: Vec<_> = (0..new.len()).filter(|at| new[*at] != kept[*at]).collect();
    assert!((1..=4).contains(&different.len()), "only the length of the records: {different:?}");
    // The lines and functions of .BTF.ext stay.
    let check = |kernel: &str| run(["check", text(&out), "--btf", kernel]);
    for kernel in ["linux-6.12.btf", "linux-5.10.btf"] {
        assert!(check(kernel).out.contains("no CO-RE relocations"), "{}", check(kernel).whole());
    }
    let disassembly = run(["inspect", text(&out), "--disasm"]).out;
    assert!(disassembly.contains("exec.bpf.c:"), "{disassembly}");
}

#[test]
fn a_patched_object_has_the_planned_instructions() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.o");
    assert_eq!(patch_and_keep("exec.bpf.o", "linux-5.10.btf", &out).exit, 0);
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

/// A program outside of the default load relocates against one of two structs of a name, the loaded program
/// against the other.
const OPTIONAL: &str = r#"
#define SEC(name) __attribute__((section(name), used))
struct nic { unsigned a; unsigned b; } __attribute__((preserve_access_index));
static long (*const probe_read)(void *, unsigned, const void *) = (void *)113;
char LICENSE[] SEC("license") = "GPL";
unsigned a, b;
SEC("?kprobe/foo") int both(void *ctx)
{
	struct nic *nic = ctx;
	probe_read(&a, 4, &nic->a);
	probe_read(&b, 4, &nic->b);
	return 0;
}
SEC("kprobe/foo") int only_b(void *ctx)
{
	struct nic *nic = ctx;
	probe_read(&b, 4, &nic->b);
	return 0;
}
"#;

#[test]
fn relocations_of_programs_that_are_not_loaded_eliminate_no_candidates() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("optional.bpf.c"), OPTIONAL).unwrap();
    let Some(clang) = clang() else { return skip!(Clang, "no clang") };
    let mut clang = clang.command();
    clang.args(["-O2", "-g", "-target", "bpf", "-c", "optional.bpf.c", "-o", "optional.bpf.o"]);
    assert!(clang.current_dir(dir.path()).status().unwrap().success());
    let mut b = core_relo::btf::Builder::new(core_relo::Endian::Little);
    let int = b.int("unsigned int", 4, 0);
    b.structure("nic", 8, &[("a", int, 32)]);
    b.structure("nic", 16, &[("b", int, 64)]);
    fs::write(dir.path().join("kernel.btf"), b.finish()).unwrap();
    let run = |command: &str, more: &[&str]| {
        let args = [command, "optional.bpf.o", "--btf", "kernel.btf", "--format", "json"];
        run_in(dir.path(), [&args[..], more].concat()).lines()
    };
    let reason = "eliminated by `struct nic.a` in both, which it does not match";
    let is_both = |record: &serde_json::Value| {
        record["program"] == "both" && record["reason"].as_str().unwrap().contains(reason)
    };
    let poisoned: Vec<_> = run("plan", &[]).into_iter().filter(|r| r["outcome"] == "poison").collect();
    assert!(poisoned.len() == 1 && is_both(&poisoned[0]), "{poisoned:?}");
    let patched = &run("patch", &["-o", "patched.bpf.o"])[0];
    assert_eq!((&patched["poisoned"], &patched["relocations"][0]["program"]), (&1.into(), &"both".into()));
    let checked = &run("check", &[])[0];
    assert_eq!(checked["poisoned"], 1);
    let has_relocation = |program: &serde_json::Value| {
        let reasons = program["reasons"].as_array().unwrap();
        (program["name"].clone(), reasons.iter().any(|reason| reason["kind"] == "relocation"))
    };
    let programs: Vec<_> = checked["programs"].as_array().unwrap().iter().map(has_relocation).collect();
    assert_eq!(programs, [("both".into(), true), ("only_b".into(), false)]);
    // Both programs of a load, or one of them.
    let dry_run = |programs: &[&str]| {
        let more: Vec<_> = programs.iter().flat_map(|program| ["--program", program]).collect();
        let line = run("load", &[&["--dry-run"], &more[..]].concat()).remove(0);
        let verdicts: Vec<_> = line["verdicts"].as_array().unwrap().iter().map(has_relocation).collect();
        verdicts.into_iter().map(|(_, is_refused)| is_refused).collect::<Vec<_>>()
    };
    assert_eq!(dry_run(&["both", "only_b"]), [true, true]);
    assert_eq!(dry_run(&["only_b"]), [true, false]);
    // Settings decide which programs are loaded.
    let both_loaded = &run("patch", &["-o", "both.bpf.o", "--autoload", "both"])[0];
    assert_eq!(both_loaded["poisoned"], 2, "{both_loaded}");
    let poisoned_by =
        |more: &[&str]| run("plan", more).into_iter().filter(|record| record["outcome"] == "poison").count();
    assert_eq!(poisoned_by(&["--autoload", "both"]), 2);
    assert_eq!(poisoned_by(&["--autoload", "both", "--program", "only_b"]), 0);
    let explained = run("explain", &["--autoload", "both", "--relocation", "kprobe/foo#0"]);
    assert_eq!(explained[0]["outcome"], "poison", "{explained:?}");
    let explained = run("explain", &["--program", "only_b"]);
    let of_program = explained.iter().find(|line| line["program"] == "only_b").unwrap();
    assert!(
        !of_program["reasons"].as_array().unwrap().iter().any(|r| r["kind"] == "relocation"),
        "{explained:?}"
    );
}
