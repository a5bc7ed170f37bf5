//! Tests of `gen rust`: the skeletons in the repository, the options, and errors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{prebuilt, run_in, text};
use std::{fs, path::Path};

/// The committed skeletons, the files of their objects below `prebuilt/el` and `prebuilt/eb`, and the options
/// that generate them. The live tests compile the traits of bytemuck and zerocopy.
const COMMITTED: [(&str, &str, &str, &[&str]); 6] = [
    ("loader/examples/skeletons/exec_monitor.skel.rs", "loader/examples/prebuilt", "exec_monitor.bpf.o", &[]),
    ("loader/examples/skeletons/xdp_counter.skel.rs", "loader/examples/prebuilt", "xdp_counter.bpf.o", &[]),
    (
        "tests/tests/live/skeletons/skeleton.skel.rs",
        "bpf-progs/prebuilt",
        "live/skeleton.bpf.o",
        &["--bytemuck"],
    ),
    (
        "tests/tests/live/skeletons/arena_globals.skel.rs",
        "bpf-progs/prebuilt",
        "live/arena_globals.bpf.o",
        &["--zerocopy"],
    ),
    (
        "tests/tests/live/skeletons/congestion.skel.rs",
        "bpf-progs/prebuilt",
        "live/struct_ops.bpf.o",
        &["--name", "congestion"],
    ),
    ("tests/tests/live/skeletons/variants.skel.rs", "bpf-progs/prebuilt", "live/variants.bpf.o", &[]),
];

/// Returns the lines without those that contain the paths of objects.
fn without_paths(skeleton: &str) -> Vec<&str> {
    skeleton.lines().filter(|line| !line.contains("include_bytes!")).collect()
}

#[test]
fn the_committed_skeletons_are_those_of_the_committed_objects() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (skeleton, directory, object, options) in COMMITTED {
        let [little, big] = ["el", "eb"].map(|order| root.join(directory).join(order).join(object));
        let run = run_in(&root, ["gen", "rust", text(&little), text(&big)].iter().chain(options));
        assert_eq!((run.exit, &*run.err), (0, ""), "{skeleton}");
        let committed = fs::read_to_string(root.join(skeleton)).unwrap();
        let pairs = without_paths(&run.out).into_iter().zip(without_paths(&committed));
        let different: Vec<_> = pairs.filter(|(new, old)| new != old).take(3).collect();
        assert!(different.is_empty(), "{skeleton}: generate it again by gen rust: {different:?}");
        assert_eq!(without_paths(&run.out).len(), without_paths(&committed).len(), "{skeleton}");
    }
}

#[test]
fn a_skeleton_finds_its_object_from_its_own_directory() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("src")).unwrap();
    fs::create_dir_all(dir.path().join("bpf")).unwrap();
    fs::copy(prebuilt("live/ringbuf.bpf.o"), dir.path().join("bpf/ring.bpf.o")).unwrap();
    let run = run_in(dir.path(), ["gen", "rust", "bpf/ring.bpf.o", "-o", "src/ring.skel.rs"]);
    assert_eq!((run.exit, &*run.err), (0, ""));
    assert!(run.out.starts_with("written: src/ring.skel.rs: "), "{}", run.out);
    let skeleton = fs::read_to_string(dir.path().join("src/ring.skel.rs")).unwrap();
    assert!(
        skeleton.contains("pub mod ring {") && skeleton.contains(r#"include_bytes!("../bpf/ring.bpf.o")"#)
    );
    assert!(skeleton.contains("RingBufferMap<Vec<u8>>"), "events without a type are bytes");
}

#[test]
fn options_choose_names_events_types_and_traits() {
    let object = prebuilt("live/skeleton.bpf.o");
    let options = [
        "--name",
        "agent",
        "--event",
        "spare=struct header",
        "--type",
        "enum tiny",
        "--optional-map",
        "untyped",
        "--bytemuck",
    ];
    let run = run_in(Path::new("/"), ["gen", "rust", text(&object)].iter().chain(&options));
    assert_eq!((run.exit, &*run.err), (0, ""));
    for part in [
        "pub mod agent {",
        "pub spare: skeleton::RingBufferMap<Header>,",
        "pub untyped: Option<maps::HashMap<[u8; 4], [u8; 8]>>,",
        "unsafe impl ::bytemuck::Pod for Settings {}",
    ] {
        assert!(run.out.contains(part), "{part}");
    }
}

#[test]
fn errors_name_the_object_and_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let object = prebuilt("live/skeleton.bpf.o");
    let object = text(&object);
    let cases: [(&[&str], &str); 7] = [
        (&[object, "--name", "core"], "would be called `core`, as a crate that programs use"),
        (&[object, "--event", "none=struct header"], "map `none`: the object has no such ring buffer"),
        (&[object, "--event", "spare=struct none"], "the object's BTF has no type `struct none`"),
        (&[object, "--event", "spare"], "expected MAP=TYPE"),
        (&[object, object], "both have the same byte order"),
        (&["/dev/null"], "/dev/null"),
        (&[object, "-o", "missing/out.rs"], "missing/out.rs: cannot be written: no such directory"),
    ];
    for (arguments, message) in cases {
        let run = run_in(dir.path(), ["gen", "rust"].iter().chain(arguments));
        assert_eq!((run.exit, &*run.out), (2, ""), "{arguments:?}");
        assert!(run.err.contains(message), "{arguments:?}: {}", run.err);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is written");
}
