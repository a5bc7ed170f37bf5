//! Tests of `btf encode`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{run_in, schema, text};
use std::{
    fs,
    path::{Path, PathBuf},
};

fn objects() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dwarf/tests/objects")
}

#[test]
fn debug_information_becomes_btf() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("types.btf");
    let run = run_in(&objects(), ["btf", "encode", "two-units.so", "-o", text(&out), "--format", "json"]);
    assert_eq!((run.exit, &*run.err), (0, ""));
    let report = &run.lines()[0];
    schema().check("btf encode", report);
    assert_eq!((report["units"].as_u64(), report["skipped_units"].as_u64()), (Some(2), Some(0)));
    assert_eq!(report["inconsistent_functions"][0], "helper");
    assert_eq!(report["bytes"].as_u64(), Some(fs::metadata(&out).unwrap().len()));
    let dump = run_in(&objects(), ["btf", "dump", text(&out), "--type-name", "forward"]);
    assert!(dump.out.contains("STRUCT 'forward' size=24 vlen=2"), "{}", dump.out);
    let layout = run_in(&objects(), ["btf", "offset", "bits.d", "--btf", text(&out)]);
    assert!(layout.out.contains("u64"), "{}", layout.out);

    let run = run_in(&objects(), ["btf", "encode", "two-units.so", "-j", "3", "-o", text(&out)]);
    assert_eq!((run.exit, &*run.err), (0, ""));
    assert!(run.out.contains("left out: 1 functions with different definitions: helper\n"), "{}", run.out);
}

#[test]
fn a_module_has_the_types_that_its_base_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let (base, split) = (dir.path().join("base.btf"), dir.path().join("split.btf"));
    let run = run_in(&objects(), ["btf", "encode", "gcc-dwarf5.o", "-o", text(&base)]);
    assert_eq!((run.exit, &*run.err), (0, ""));
    let arguments = ["btf", "encode", "two-units.so", "--base", text(&base), "-o", text(&split)];
    let run = run_in(&objects(), arguments.iter().chain(&["--format", "json"]));
    assert_eq!((run.exit, &*run.err), (0, ""));
    assert!(run.lines()[0]["types"].as_u64().unwrap() < 20, "{}", run.out);
    let dump =
        run_in(&objects(), ["btf", "dump", text(&split), "--base", text(&base), "--type-name", "forward"]);
    assert!(dump.out.contains("STRUCT 'forward'"), "{}{}", dump.out, dump.err);
}

#[test]
fn files_that_cannot_be_converted() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.btf");
    let path = dir.path().join("copy.o");
    fs::copy(objects().join("gcc-dwarf5.o"), &path).unwrap();
    let same = run_in(dir.path(), ["btf", "encode", "copy.o", "-o", "copy.o"]);
    assert_eq!(same.exit, 2);
    assert!(same.err.contains("is an input and the output"), "{}", same.err);
    assert_eq!(fs::read(&path).unwrap(), fs::read(objects().join("gcc-dwarf5.o")).unwrap());

    let run = run_in(dir.path(), ["btf", "encode", "missing.o", "-o", text(&out)]);
    assert_eq!((run.exit, run.out.as_str()), (2, ""), "{}", run.err);
    let run = run_in(&objects(), ["btf", "encode", "build.sh", "-o", text(&out)]);
    assert_eq!(run.exit, 2);
    assert!(run.err.contains("build.sh: not an ELF file"), "{}", run.err);
    let object = common::demo().join("exec.bpf.o");
    let run = run_in(dir.path(), ["btf", "encode", text(&object), "-o", text(&out)]);
    assert_eq!(run.exit, 2);
    assert!(
        run.err.contains("no debug information")
            && run.err.contains("; name the file with debug information"),
        "{}",
        run.err
    );
    let other = run_in(&objects(), ["btf", "encode", "s390x.o", "-o", text(&out)]);
    assert_eq!(other.exit, 0, "{}", other.err);
    let run = run_in(&objects(), ["btf", "encode", "arm.o", "--base", text(&out), "-o", "-"]);
    assert_eq!(run.exit, 2);
    assert!(run.err.contains("expected the same byte order"), "{}", run.err);
}
