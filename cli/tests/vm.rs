//! `vm`: objects and commands on other kernels. Boots only where QEMU and a kernel of `cargo xtask vm` are
//! there.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{prebuilt, run, run_in, schema, text};
use core_relo_test_support::{clang, skip};
use serde_json::json;
use std::{env, fs, path::PathBuf, process::Command};

/// Returns the kernels that `cargo xtask vm` fetched, or reports a skipped test.
fn kernels() -> Vec<PathBuf> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/kernels/boot");
    let images = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path().join("vmlinux"));
    let mut images: Vec<_> = images.filter(|image| image.is_file()).collect();
    images.sort();
    let qemu = Command::new("qemu-system-x86_64").arg("--version").output();
    if !cfg!(target_arch = "x86_64") || images.is_empty() || qemu.is_err() {
        skip!(Qemu, "no QEMU, or no kernel (cargo xtask vm fetches some)");
        return Vec::new();
    }
    images.truncate(1);
    images
}

#[test]
fn a_file_that_is_no_kernel_is_refused_before_a_boot() {
    let object = prebuilt("live/cgroup_skb.bpf.o");
    let ran = run(["vm", text(&object), "--kernel", "linux-6.1.btf"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("linux-6.1.btf: not a bootable kernel image"), "{}", ran.err);
    let json = run(["vm", text(&object), "--kernel", "linux-6.1.btf", "--format", "json"]);
    assert_eq!(json.lines().len(), 1);
    assert_eq!(json.lines()[0]["error"]["file"], "vm");
}

#[test]
fn errors_of_commands_and_kernels_are_named_once() {
    let kernel = "linux-6.1.btf";
    let ran = run(["vm", "--kernel", kernel, kernel, "--command", "no-such-command"]);
    let expected = "core-relo: no-such-command: no such file or directory; expected the path of an executable, or its name in PATH\n";
    assert_eq!((ran.exit, ran.err.as_str()), (2, expected));
    let ran = run(["vm", "exec.bpf.o", "--kernel", "missing-kernel"]);
    assert_eq!((ran.exit, ran.err.as_str()), (2, "core-relo: missing-kernel: no such file or directory\n"));
}

#[test]
fn a_damaged_kernel_is_named() {
    for kernel in kernels() {
        let dir = tempfile::tempdir().unwrap();
        let damaged = dir.path().join("vmlinux-damaged");
        let image = fs::read(kernel).unwrap();
        fs::write(&damaged, &image[..image.len().min(3 << 20)]).unwrap();
        let ran = run(["vm", "exec.bpf.o", "--kernel", text(&damaged)]);
        assert_eq!(ran.exit, 2, "{ran:?}");
        let expected = format!("core-relo: {}: qemu-system-x86_64: ", damaged.display());
        assert!(ran.err.contains(&expected), "{ran:?}");
        assert_eq!(ran.err.matches("qemu-system-x86_64").count(), 1, "{ran:?}");
    }
}

#[test]
fn a_guest_has_no_colours_and_finds_commands_in_path() {
    for kernel in kernels() {
        let script = "echo $NO_COLOR-$TERM";
        let ran = run(["vm", "--kernel", text(&kernel), "--command", "sh", "-c", script]);
        assert_eq!((ran.exit, ran.out.as_str()), (0, "1-dumb\n"), "{ran:?}");
    }
}

#[test]
fn an_executable_of_another_architecture_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("Image");
    let (mut header, magic) = (vec![0; 0x300], *b"ARM\x64");
    let foreign = if cfg!(target_arch = "aarch64") { (0x202, *b"HdrS") } else { (0x38, magic) };
    header.splice(foreign.0..foreign.0 + 4, foreign.1);
    fs::write(&image, header).unwrap();
    let ran = run(["vm", "exec.bpf.o", "--kernel", text(&image)]);
    assert_eq!(ran.exit, 2, "{ran:?}");
    let target = if cfg!(target_arch = "aarch64") { "x86_64" } else { "aarch64" };
    let way_out = format!(
        "--guest-binary PATH: cargo build --release -p core-relo-cli --target {target}-unknown-linux-musl"
    );
    assert!(ran.err.contains(&way_out), "{}", ran.err);
}

#[test]
fn a_bad_object_does_not_keep_others_from_loading() {
    let none = run(["vm", "linux-6.1.btf", "--kernel", "linux-6.1.btf"]);
    assert_eq!(none.exit, 2);
    assert_eq!(none.err.lines().count(), 1, "no boot without an object: {}", none.err);
}

#[test]
fn programs_load_in_a_guest() {
    for kernel in kernels() {
        let object = prebuilt("live/cgroup_skb.bpf.o");
        let ran = run(["vm", text(&object), "--kernel", text(&kernel), "--format", "json"]);
        let lines = ran.lines();
        assert!(!lines.is_empty(), "{ran:?}");
        let keys: Vec<_> = lines[0].as_object().unwrap().keys().collect();
        let known = ["object", "kernel", "release", "program", "reality", "reason", "error"];
        assert_eq!(keys, [&known[..], &["verdict", "reasons", "agrees", "stats", "object_reality"]].concat());
        assert!(lines.iter().all(|line| line["reality"] == "loaded" && line["agrees"] == true), "{ran:?}");
        assert_eq!(ran.exit, 0);
    }
}

#[test]
fn verdicts_are_printed_beside_real_loads() {
    for kernel in kernels() {
        let [loads, refused] = ["live/cgroup_skb.bpf.o", "live/freplace.bpf.o"].map(prebuilt);
        let dir = tempfile::tempdir().unwrap();
        let budget = dir.path().join("budget.jsonl");
        let args = ["check", text(&loads), text(&refused), "--boot", text(&kernel), "--format", "json"];
        let ran = run([&args[..], &["--write-budget", text(&budget)]].concat());
        assert_eq!(ran.exit, 1, "{ran:?}");
        let lines = ran.lines();
        assert_eq!(lines.len(), 2, "{ran:?}");
        for (line, status) in lines.iter().zip(["loaded", "refused"]) {
            schema().check("check", line);
            for program in line["programs"].as_array().unwrap() {
                schema().check("reality of check", &program["reality"]);
                assert_eq!(
                    (&program["reality"]["status"], &program["reality"]["agrees"]),
                    (&json!(status), &json!(true))
                );
            }
        }
        let stats = &lines[0]["programs"][0]["reality"]["stats"];
        schema().check("verifier statistics", stats);
        assert!(stats["verified_insns"].as_u64().is_some_and(|n| n > 0), "{stats}");
        // The text of the other front end, with the budget of the first run.
        let args = ["vm", text(&loads), "--kernel", text(&kernel), "--budget", text(&budget)];
        let ran = run(args);
        assert_eq!(ran.exit, 0, "{ran:?}");
        assert!(ran.out.starts_with("loaded   loads       "), "{ran:?}");
        assert!(ran.out.contains(" agree") && ran.out.contains(" kept: "), "{ran:?}");
    }
}

#[test]
fn an_image_that_does_not_boot_still_has_verdicts() {
    let ran = run(["check", "exec.bpf.o", "--boot", "linux-6.1.btf", "--format", "json"]);
    assert_eq!(ran.exit, 2, "{ran:?}");
    assert!(ran.err.contains("linux-6.1.btf: not a bootable kernel image"), "{ran:?}");
    let line = &ran.lines()[0];
    schema().check("check", line);
    let program = &line["programs"][0];
    assert_eq!((&program["verdict"], &program["reality"]["status"]), (&json!("loads"), &json!("unknown")));
}

#[test]
fn a_command_runs_in_a_guest_and_its_exit_status_is_passed_on() {
    for kernel in kernels() {
        let script = "read a b version rest </proc/version; echo $version; echo problem >&2; [ -r exec.bpf.o ]; exit 7";
        let args = ["vm", "exec.bpf.o", "--kernel", text(&kernel), "--command", "/bin/sh", "-c", script];
        let ran = run(args);
        assert_eq!((ran.exit, ran.err.as_str()), (7, "problem\n"), "{ran:?}");
        assert!(ran.out.contains('.'), "{ran:?}");
    }
}

#[test]
fn a_program_is_profiled_by_programs_on_its_entry_and_exit() {
    const SCRIPT: &str = "load=$1; object=$2
        $load load $object --pin /sys/fs/bpf/profiled >/dev/null || exit 9
        (while :; do $load prog run --name filter --repeat 100000 >/dev/null; done) &
        $load prog profile --name filter --duration 2 task_clock page_faults --format json || exit 8
        kill $!
        $load link list --format json
        $load prog profile --name filter cycles --duration 1 && exit 7
        exit 0";
    for kernel in kernels() {
        let (command, object) = (env!("CARGO_BIN_EXE_core-relo"), prebuilt("live/socket_filter.bpf.o"));
        let object = fs::canonicalize(object).unwrap();
        let args = ["vm", "--kernel", text(&kernel), "--file", command, "--file", text(&object)];
        let ran = run([&args[..], &["--command", "sh", "-c", SCRIPT, "sh", command, text(&object)]].concat());
        assert_eq!(ran.exit, 0, "{ran:?}");
        let lines = ran.lines();
        // After the measurement, nothing is attached.
        assert_eq!(lines.len(), 2, "{ran:?}");
        lines.iter().for_each(|line| schema().check("prog profile", line));
        let [time, faults] = [0, 1].map(|at| &lines[at]);
        assert_eq!((&time["metric"], &faults["metric"]), (&json!("task_clock"), &json!("page_faults")));
        assert!(time["run_cnt"].as_u64() > Some(0) && time["value"].as_u64() > Some(0), "{time}");
        assert_eq!((&faults["value"], &faults["run_cnt"]), (&json!(0), &time["run_cnt"]));
        // Only a machine with hardware counters reaches exit 7.
        assert!(ran.err.contains("cycles: cannot open the perf counter: ENOENT"), "{ran:?}");
        assert!(ran.err.contains("`task_clock`"), "{ran:?}");
    }
}

/// A program array that belongs to the type of its first program, and an array that holds a program.
const SHARED: &str = r#"
#define SEC(name) __attribute__((section(name), used))
struct array { int (*type)[3]; int (*max_entries)[2]; int (*key_size)[4]; int (*value_size)[4]; };
static long (*const tail_call)(void *, void *, unsigned) = (void *)12;
char LICENSE[] SEC("license") = "GPL";
struct array jumps SEC(".maps");
SEC("xdp") int first(void *ctx) { tail_call(ctx, &jumps, 0); return 2; }
SEC("tc") int second(void *ctx) { tail_call(ctx, &jumps, 1); return 0; }
"#;

#[test]
fn an_object_is_loaded_as_a_whole_beside_its_programs() {
    let kernels = kernels();
    let dir = tempfile::tempdir().unwrap();
    let (source, object) = (dir.path().join("shared.bpf.c"), dir.path().join("shared.bpf.o"));
    fs::write(&source, SHARED).unwrap();
    let Some(clang) = clang() else { return skip!(Clang, "no clang") };
    let mut clang = clang.command();
    clang.args(["-O2", "-g", "-target", "bpf", "-c"]).arg(&source);
    assert!(clang.arg("-o").arg(&object).status().unwrap().success());
    for kernel in kernels {
        let ran = run(["vm", text(&object), "--kernel", text(&kernel)]);
        assert_eq!(ran.exit, 1, "{ran:?}");
        let together = ran.out.lines().find(|line| line.contains(": all programs together: ")).unwrap();
        assert!(together.starts_with("refused  refused "), "{ran:?}");
        assert!(together.contains("map `jumps`: it belongs to its first program, `first`: "), "{ran:?}");
        assert!(ran.out.contains(": 3 verdicts agree with the real loads"), "{ran:?}");
        let ran = run(["vm", text(&object), "--kernel", text(&kernel), "--format", "json"]);
        let lines = ran.lines();
        assert_eq!((ran.exit, lines.len()), (1, 2), "{ran:?}");
        for line in &lines {
            schema().check("reality of check", &line["object_reality"]);
            let outcomes =
                (&line["reality"], &line["object_reality"]["status"], &line["object_reality"]["agrees"]);
            assert_eq!(outcomes, (&json!("loaded"), &json!("refused"), &json!(true)));
        }
        let ran = run(["check", text(&object), "--boot", text(&kernel), "--format", "json"]);
        let line = &ran.lines()[0];
        schema().check("check", line);
        let outcomes =
            (&line["verdict"], &line["object_reality"]["status"], &line["object_reality"]["agrees"]);
        assert_eq!((ran.exit, outcomes), (1, (&json!("refused"), &json!("refused"), &json!(true))));
        let ran = run(["check", text(&object), "--boot", text(&kernel)]);
        assert!(ran.out.contains("all programs together: refused"), "{ran:?}");
    }
}

/// A program whose map has no size, so that no kernel loads it without settings.
const UNSIZED: &str = r#"
#define SEC(name) __attribute__((section(name), used))
struct array { int (*type)[2]; int *key; long *value; };
static void *(*const lookup)(void *, void *) = (void *)1;
char LICENSE[] SEC("license") = "GPL";
struct array counts SEC(".maps");
SEC("xdp") int count(void *ctx) { int key = 0; return lookup(&counts, &key) ? 2 : 1; }
"#;

/// The verdict and the guest have the settings of the file.
#[test]
fn a_guest_loads_with_the_settings_of_the_project() {
    let kernels = kernels();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("counts.bpf.c"), UNSIZED).unwrap();
    let args = ["-O2", "-g", "-target", "bpf", "-c", "counts.bpf.c", "-o", "counts.bpf.o"];
    let Some(clang) = clang() else { return skip!(Clang, "no clang") };
    assert!(clang.command().args(args).current_dir(dir.path()).status().unwrap().success());
    let config = "[[settings]]\nobject = \"counts*.o\"\nmax-entries = { counts = 4 }\n";
    fs::write(dir.path().join("core-relo.toml"), config).unwrap();
    for kernel in kernels {
        let load = |args: &[&str]| {
            let vm = ["vm", "counts.bpf.o", "--kernel", text(&kernel), "--format", "json"];
            let ran = run_in(dir.path(), [&vm[..], args].concat());
            let line = ran.lines().first().unwrap_or_else(|| panic!("{ran:?}")).clone();
            (ran.exit, line["verdict"].clone(), line["reality"].clone())
        };
        assert_eq!(load(&[]), (0, json!("loads"), json!("loaded")));
        assert_eq!(load(&["--no-config"]), (1, json!("needs_input"), json!("refused")));
        let option = ["--no-config", "--max-entries", "counts=4"];
        assert_eq!(load(&option), (0, json!("loads"), json!("loaded")));
        // An option counts beside the file.
        assert_eq!(load(&["--key-size", "counts=8"]), (1, json!("refused"), json!("refused")));
    }
}
