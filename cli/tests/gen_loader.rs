//! Tests of `gen loader`, and of `load` with loader files.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{prebuilt, run_in, text};
use std::fs;

#[test]
fn a_written_loader_file_is_shown_and_has_the_maps_and_programs_of_the_object() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("maps.loader");
    let run = run_in(&prebuilt("live"), ["gen", "loader", "maps.bpf.o", "--signable", "-o", text(&out)]);
    assert_eq!((run.exit, &*run.err), (0, ""), "{}", run.out);
    assert!(run.out.contains("9 maps, 1 programs"), "{}", run.out);
    let shown = run_in(dir.path(), ["gen", "loader", "--show", "maps.loader", "--insns"]);
    assert!(shown.out.contains("unsigned; checks the hash of its data"), "{}", shown.out);
    assert!(shown.out.contains("0: r6 = r1"), "{}", shown.out);
    let line = &run_in(dir.path(), ["gen", "loader", "--show", "maps.loader", "--format", "json"]).lines()[0];
    assert_eq!((line["object"].as_str(), line["checks_data"].as_bool()), (Some("maps"), Some(true)));
    assert_eq!(line["programs"][0]["name"], "touch");
    assert_eq!(line["bytes"], fs::metadata(&out).unwrap().len());
}

#[test]
fn an_object_that_needs_one_kernel_is_refused_in_one_line_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.loader");
    for (object, message) in [
        ("arena.bpf.o", "map `arena`: cannot be put in a loader program: an arena has to be mapped"),
        (
            "pinned.bpf.o",
            "map `core_relo_live`: cannot be put in a loader program: a loader program cannot open",
        ),
        ("kconfig.bpf.o", "name the kernel with --kernel"),
        ("freplace.bpf.o", "program `instead`: it replaces function `replaced` of another program"),
    ] {
        let run = run_in(&prebuilt("live"), ["gen", "loader", object, "-o", text(&out)]);
        assert_eq!((run.exit, run.err.lines().count(), &*run.out), (2, 1, ""), "{object}: {}", run.err);
        assert!(run.err.contains(message), "{object}: {}", run.err);
        assert!(!out.exists());
    }
}

#[test]
fn damaged_files_and_options_of_objects_are_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("maps.loader");
    assert_eq!(run_in(&prebuilt("live"), ["gen", "loader", "maps.bpf.o", "-o", text(&out)]).exit, 0);
    let option = run_in(dir.path(), ["load", "maps.loader", "--set", "a=1"]);
    assert!(
        option.exit == 2 && option.err.contains("--set: cannot change the loader file"),
        "{}",
        option.err
    );
    let bytes = fs::read(&out).unwrap();
    fs::write(&out, &bytes[..300]).unwrap();
    for command in [&["load", "maps.loader"][..], &["gen", "loader", "--show", "maps.loader"]] {
        let run = run_in(dir.path(), command);
        assert_eq!((run.exit, run.err.lines().count()), (2, 1), "{}", run.err);
        assert!(run.err.contains("the file ends in a section: 276 bytes, expected"), "{}", run.err);
    }
}
