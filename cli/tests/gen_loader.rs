//! Tests of `gen loader`, and of `load` with loader files.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{demo, prebuilt, run_in, text};
use core_relo_test_support::skip;
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
        (
            "struct_ops.bpf.o",
            "cannot be put in a loader program: its value has the layout of one kernel: load the object with `core-relo load`",
        ),
        (
            "freplace.bpf.o",
            "program `instead`: cannot be put in a loader program: it replaces function `replaced` of a loaded program, which the kernel \
             does not find by name: load the object with `core-relo load --attach-target`",
        ),
    ] {
        let run = run_in(&prebuilt("live"), ["gen", "loader", object, "-o", text(&out)]);
        assert_eq!((run.exit, run.err.lines().count(), &*run.out), (2, 1, ""), "{object}: {}", run.err);
        assert!(run.err.contains(message), "{object}: {}", run.err);
        assert!(!out.exists());
    }
}

#[test]
fn an_object_of_the_other_byte_order_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.loader");
    let other = if cfg!(target_endian = "big") { "el" } else { "eb" };
    let object = prebuilt("live").join("../..").join(other).join("live/ringbuf.bpf.o");
    let run = run_in(dir.path(), ["gen", "loader", text(&object), "-o", text(&out)]);
    assert_eq!((run.exit, run.err.lines().count(), &*run.out), (2, 1, ""), "{}", run.err);
    assert!(run.err.contains("the object has the wrong byte order"), "{}", run.err);
    assert!(!out.exists());
}

#[test]
fn damaged_files_and_options_of_objects_are_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("maps.loader");
    assert_eq!(run_in(&prebuilt("live"), ["gen", "loader", "maps.bpf.o", "-o", text(&out)]).exit, 0);
    let option = run_in(dir.path(), ["load", "maps.loader", "--set", "a=1"]);
    assert!(
        option.exit == 2 && option.err.contains("--set: has no effect on the loader file"),
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

#[test]
fn options_that_a_loader_file_ignores_are_refused_with_a_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("maps.loader");
    assert_eq!(run_in(&prebuilt("live"), ["gen", "loader", "maps.bpf.o", "-o", text(&out)]).exit, 0);
    for (options, help) in [
        (&["--set", "a=1"][..], "give the option to `core-relo gen loader`"),
        (&["--kconfig", "none"], "give the option to `core-relo gen loader`"),
        (&["--token", "/sys/fs/bpf"], "load the object itself"),
        (&["--each"], "load the object itself"),
        (&["--program", "touch"], "give the option to `core-relo gen loader`"),
        (&["--verifier-log", "--verifier-log"], "give it once, for the log of a refused program"),
    ] {
        let run = run_in(dir.path(), ["load", "maps.loader"].into_iter().chain(options.iter().copied()));
        assert_eq!((run.exit, run.err.lines().count()), (2, 1), "{}", run.whole());
        let expected = "has no effect on the loader file maps.loader";
        assert!(run.err.contains(options[0]) && run.err.contains(expected), "{}", run.whole());
        assert!(run.err.contains(help), "{}", run.whole());
    }
    // `gen loader` has no options that it would ignore.
    for options in [
        &["--set", "a=1"][..],
        &["--max-entries", "a=1"],
        &["--kconfig", "none"],
        &["--page-size", "64K"],
        &["--without-map", "a"],
    ] {
        let show = ["gen", "loader", "--show", "maps.loader"];
        let run = run_in(dir.path(), show.into_iter().chain(options.iter().copied()));
        assert_eq!((run.exit, &*run.out), (2, ""), "{}", run.whole());
        assert!(run.err.contains("--show") && run.err.contains(options[0]), "{}", run.whole());
    }
    let token = ["gen", "loader", "maps.loader", "-o", "new.loader", "--token", "/sys/fs/bpf"];
    let run = run_in(dir.path(), token);
    assert!(run.exit == 2 && run.err.contains("unexpected argument '--token'"), "{}", run.whole());
}

#[test]
fn ring_buffers_have_the_size_of_the_given_pages() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("ring.loader");
    for (page, bytes) in [("4K", 65_536), ("128K", 131_072)] {
        let args =
            ["gen", "loader", "ringbuf.bpf.o", "--page-size", page, "--format", "json", "-o", text(&out)];
        let run = run_in(&prebuilt("live"), args);
        let lines = run.lines();
        let maps = lines[0]["maps"].as_array().unwrap();
        let ring = maps.iter().find(|map| map["name"] == "events").unwrap();
        assert_eq!(ring["max_entries"], bytes, "{}", run.whole());
    }
    for page in ["3K", "6000", "1M"] {
        let args = ["gen", "loader", "ringbuf.bpf.o", "--page-size", page, "-o", text(&out)];
        let run = run_in(&prebuilt("live"), args);
        assert!(run.exit == 2 && run.err.contains("expected 4K, 8K, 16K"), "{}", run.whole());
    }
}

#[test]
fn externs_of_an_unknown_configuration_are_refused_with_the_option_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.loader");
    let btf = demo().join("linux-6.1.btf");
    let generate = |options: &[&str]| {
        let args = ["gen", "loader", "kconfig.bpf.o", "-o", text(&out)];
        run_in(&prebuilt("live"), args.into_iter().chain(options.iter().copied()))
    };
    // BTF has neither version nor configuration.
    let of_btf = generate(&["--kernel", text(&btf)]);
    let help = "unresolved externs: CONFIG_BPF_SYSCALL, CONFIG_DEFAULT_HOSTNAME, CONFIG_HZ, CONFIG_NET: the kernel's configuration is \
                unknown; LINUX_KERNEL_VERSION: the kernel's version is unknown; give the version with --kernel-version X.Y.Z, or name a \
                kernel image with --kernel; give the configuration with --kconfig FILE\n";
    assert!(of_btf.exit == 2 && of_btf.err.ends_with(help), "{}", of_btf.whole());
    let config = dir.path().join("config");
    fs::write(&config, "CONFIG_HZ=250\nCONFIG_BPF_SYSCALL=y\nCONFIG_NET=y\nCONFIG_DEFAULT_HOSTNAME=\"x\"\n")
        .unwrap();
    let of_every_kernel = generate(&["--kconfig", text(&config)]);
    assert!(
        of_every_kernel.exit == 2 && of_every_kernel.err.contains("name the kernel with --kernel"),
        "{}",
        of_every_kernel.whole()
    );
    assert!(!out.exists());
    let given = generate(&["--kernel", text(&btf), "--kernel-version", "6.1.7", "--kconfig", text(&config)]);
    assert!(given.exit == 0 && out.exists(), "{}", given.whole());
    // 6.1.7 as `KERNEL_VERSION`, in the initial value of `.kconfig`.
    let version = 0x0006_0107_u32.to_le_bytes();
    assert!(fs::read(&out).unwrap().windows(4).any(|bytes| bytes == version));
}

#[test]
fn a_version_needs_a_kernel_and_may_not_contradict_it() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.loader");
    let generate = |options: &[&str]| {
        let args = ["gen", "loader", "maps.bpf.o", "-o", text(&out), "--kernel-version", "3.1.4"];
        run_in(&prebuilt("live"), args.into_iter().chain(options.iter().copied()))
    };
    assert_eq!(generate(&[]).exit, 2);
    let running = generate(&["--kernel", "running"]);
    if running.exit != 0 {
        return skip!(Btf, "the running kernel has no BTF: {}", running.err);
    }
    assert!(
        running.err.contains("the given version is 3.1.4, but that of the kernel is "),
        "{}",
        running.err
    );
}

#[test]
fn the_running_kernel_is_named_by_its_release() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("maps.loader");
    let args = ["gen", "loader", "maps.bpf.o", "--kernel", "running", "-o", text(&out)];
    let run = run_in(&prebuilt("live"), args);
    if run.err.contains("BTF") {
        skip!(Btf, "the running kernel has no BTF: {}", run.err);
        return;
    }
    assert_eq!(run.exit, 0, "{}", run.whole());
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let shown = run_in(dir.path(), ["gen", "loader", "--show", "maps.loader"]);
    assert!(shown.out.contains(&format!("relocated  for {}\n", release.trim())), "{}", shown.whole());
}
