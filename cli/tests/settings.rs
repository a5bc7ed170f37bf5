//! Settings of user space: the same options for every command that judges, plans or loads an object.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{Run, may_load, prebuilt, run_in, text};
use core_relo_test_support::{Requirement, clang, skip_without};
use serde_json::Value;
use std::{fs, path::Path};

/// The settings with which each program but `filter` loads.
const COMPLETE: [&str; 10] = [
    "--program-type",
    "classify=tc",
    "--attach-target",
    "hook=sys_enter",
    "--max-entries",
    "rings=4",
    "--max-entries",
    "rings.inner=4096",
    "--inner-map",
    "containers=hash:4:8:64",
];

/// Compiles the probes in a directory of its own. Returns `None`, and reports it, without clang.
fn compile(test: &str) -> Option<tempfile::TempDir> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings/probes.bpf.c");
    let dir = tempfile::tempdir().unwrap();
    let Some(clang) = clang() else {
        skip_without(Requirement::Clang, test, "no clang");
        return None;
    };
    let mut clang = clang.command();
    clang.args(["-target", "bpf", "-g", "-O2", "-c", text(&source), "-o", "probes.bpf.o"]);
    assert!(clang.current_dir(dir.path()).status().unwrap().success());
    Some(dir)
}

/// Runs a command on the probes, with the running kernel unless the arguments name another.
fn probes(dir: &Path, command: &str, args: &[&str]) -> Run {
    run_in(dir, [&[command, "probes.bpf.o"], args].concat())
}

/// Returns the verdict on each program.
fn verdicts(dir: &Path, args: &[&str]) -> Vec<(String, String)> {
    let run = probes(dir, "check", &[&["--format", "json"], args].concat());
    let lines = run.lines();
    assert!(!lines.is_empty(), "{}", run.whole());
    let programs = lines[0]["programs"].as_array().unwrap_or_else(|| panic!("{}", run.whole())).clone();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    programs.iter().map(|program| (word(&program["name"]), word(&program["verdict"]))).collect()
}

fn has_running_btf(test: &str) -> bool {
    let has_btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    if !has_btf {
        skip_without(Requirement::Btf, test, "no BTF of the running kernel");
    }
    has_btf
}

#[test]
fn check_explain_and_requires_use_the_settings() {
    let test = "check_explain_and_requires_use_the_settings";
    let Some(dir) = compile(test).filter(|_| has_running_btf(test)) else { return };
    let dir = dir.path();
    let without = verdicts(dir, &[]);
    assert!(without.iter().all(|(_, verdict)| verdict != "loads"), "{without:?}");
    let word = |program: &str, verdicts: &[(String, String)]| {
        verdicts.iter().find(|(name, _)| name == program).unwrap().1.clone()
    };
    let complete = verdicts(dir, &COMPLETE);
    for program in ["classify", "enter", "hook"] {
        assert_eq!(word(program, &complete), "loads", "{complete:?}");
    }
    // The value of a constant decides on the helper that no kernel has.
    let filter = [&COMPLETE[..], &["--program-type", "filter=socket", "--autoload", "filter"]].concat();
    assert_eq!(word("filter", &verdicts(dir, &filter)), "refused");
    let run = probes(dir, "check", &filter);
    assert_eq!(run.exit, 1, "the program is part of the load: {}", run.whole());
    let old = [&filter[..], &["--set", "is_new=0"]].concat();
    assert_eq!(word("filter", &verdicts(dir, &old)), "loads");
    assert_eq!(probes(dir, "check", &old).exit, 0);
    // A program that is not loaded does not count.
    let without = ["--autoload", "filter=no", "--autoload", "classify=no"];
    let run = probes(dir, "check", &[&COMPLETE[2..], &without].concat());
    assert_eq!(run.exit, 0, "{}", run.whole());
    assert!(run.err.contains("--autoload filter=no: changes nothing"), "{}", run.err);

    let explained = probes(dir, "explain", &[]);
    for advice in [
        "--program-type classify=tc",
        "--attach-target hook=FUNCTION",
        "--max-entries rings",
        "--max-entries rings.inner=N",
        "--inner-map containers=hash:4:8:10240",
    ] {
        assert!(explained.out.contains(advice), "{advice}\n{}", explained.out);
    }
    let run = probes(dir, "explain", &old);
    assert_eq!(run.exit, 0, "{}", run.whole());

    let required = &probes(dir, "requires", &[&["--format", "json"], &COMPLETE[..]].concat()).lines()[0];
    let named = |list: &str, name: &str| {
        required[list].as_array().unwrap().iter().find(|item| item["name"] == name).unwrap().clone()
    };
    assert_eq!(named("programs", "classify")["program_type"], "BPF_PROG_TYPE_SCHED_CLS");
    assert_eq!(named("programs", "classify")["needs_input"], Value::Null);
    assert_eq!(named("programs", "hook")["attach_target"]["name"], "btf_trace_sys_enter");
    assert_eq!(named("maps", "containers")["inner_map_type"], "BPF_MAP_TYPE_HASH");
    assert_eq!(named("maps", "rings")["inner_map"]["max_entries"], 4096);
}

/// `check` and `load` agree with and without settings, program by program.
#[test]
fn loads_use_the_settings() {
    let test = "loads_use_the_settings";
    let Some(dir) = compile(test).filter(|_| has_running_btf(test)) else { return };
    let dir = dir.path();
    let plan = probes(dir, "load", &[&["--dry-run"], &COMPLETE[..]].concat());
    assert_eq!(plan.exit, 0, "{}", plan.whole());
    assert!(
        plan.out.contains("of maps (ringbuf, key 0, value 0, entries 4096)")
            && plan.out.contains("of maps (hash, key 4, value 8, entries 64)"),
        "{}",
        plan.out
    );
    let generate = [&["gen", "loader", "probes.bpf.o", "-o", "probes.loader"], &COMPLETE[..]].concat();
    let run = run_in(dir, &generate);
    assert_eq!(run.exit, 0, "{}", run.whole());
    if !may_load() {
        return;
    }
    for settings in [&COMPLETE[..], &[&COMPLETE[..], &["--autoload", "hook=no"]].concat()] {
        let run = probes(dir, "load", settings);
        assert_eq!(run.exit, 0, "{}", run.whole());
    }
    let run = run_in(dir, ["load", "probes.loader"]);
    assert_eq!(run.exit, 0, "{}", run.whole());
    let each = [&["--each", "--format", "json"], &COMPLETE[..]].concat();
    let filter = ["--program-type", "filter=socket"];
    for settings in
        [&each[..], &[&each[..], &filter].concat(), &[&each[..], &filter, &["--set", "is_new=0"]].concat()]
    {
        let loads = probes(dir, "load", settings).lines();
        let loaded: Vec<_> = loads
            .iter()
            .map(|line| (line["program"].as_str().unwrap().to_owned(), line["status"] == "loaded"))
            .collect();
        let judged: Vec<_> = verdicts(dir, &settings[3..])
            .into_iter()
            .map(|(program, verdict)| (program, verdict == "loads"))
            .collect();
        assert_eq!(loaded, judged, "{settings:?}");
    }
    let run = run_in(dir, [&["run", "probes.bpf.o", "--program", "classify"], &COMPLETE[..]].concat());
    assert_eq!(run.exit, 0, "{}", run.whole());
}

#[test]
fn bad_settings_are_one_line_and_exit_2() {
    let test = "bad_settings_are_one_line_and_exit_2";
    let Some(dir) = compile(test).filter(|_| has_running_btf(test)) else { return };
    let dir = dir.path();
    for (args, expected) in [
        (&["--max-entries", "ringz=4"][..], "probes.bpf.o: it has no map `ringz`; did you mean `rings`?"),
        (
            &["--max-entries", "jumps.inner=4"],
            "probes.bpf.o: it has no map `jumps.inner`; it has `containers.inner`, ",
        ),
        (
            &["--program-type", "classifi=tc"],
            "probes.bpf.o: it has no program `classifi`; did you mean `classify`?",
        ),
        (
            &["--program-type", "classify=tc", "--attach-target", "classify=vfs_read"],
            "--attach-target classify=vfs_read: a program of type BPF_PROG_TYPE_SCHED_CLS takes no attach target, expected \
             one in a section such as `fentry`, `tp_btf`, `lsm` or `freplace`",
        ),
        (
            &["--max-entries", ".rodata=4"],
            "--max-entries .rodata=4: map `.rodata` has no definition, so that only --value-size can be set",
        ),
        (&["--set", "is_old=1"], "probes.bpf.o: it has no global `is_old`; it has `is_new`"),
        (
            &["--program-type", "classify=clasifier"],
            "--program-type classify=clasifier: no program type: expected a section name such as `xdp`, or the kernel's name such as \
             `sched_cls`; did you mean `classifier`?",
        ),
        (
            &["--program-type", "classify=cgroup_sockopt"],
            "--program-type classify=cgroup_sockopt: BPF_PROG_TYPE_CGROUP_SOCKOPT is loaded for an attach type: expected one of \
             cgroup/getsockopt, cgroup/setsockopt",
        ),
        (
            &["--program-type", "classify=tc", "--program-type", "classify=xdp"],
            "--program-type: `--program-type classify=xdp` and `--program-type classify=tc` contradict each other; leave out one of them",
        ),
        (
            &["--program-type", "hook=fentry/vfs_read", "--attach-target", "hook=vfs_write"],
            "--attach-target: `--attach-target hook=vfs_write` and `--program-type hook=fentry/vfs_read` contradict each other",
        ),
        (
            &["--inner-map", "containers=hash:4:8:64", "--inner-map", "containers=hash:4:8:65"],
            "--inner-map: `--inner-map containers=hash:4:8:65` and `--inner-map containers=hash:4:8:64` contradict each other",
        ),
        (
            &["--inner-map", "containers=hash:4:8:64", "--max-entries", "containers.inner=65"],
            "contradict each other",
        ),
        (
            &["--inner-map", "jumps=hash:4:8:64"],
            "--inner-map jumps=hash:4:8:64: map `jumps` holds no maps: BPF_MAP_TYPE_PROG_ARRAY, expected BPF_MAP_TYPE_ARRAY_OF_MAPS or \
             BPF_MAP_TYPE_HASH_OF_MAPS",
        ),
        (
            &["--inner-map", "rings.inner=hash:4:8:64"],
            "--inner-map rings.inner=hash:4:8:64: `rings.inner` is the inner map of `rings`, which holds no maps",
        ),
        (
            &["--max-entries", "containers.inner=4"],
            "--max-entries containers.inner=4: map `containers` has no definition of its inner maps; give --inner-map \
             containers=TYPE:KEY:VALUE:ENTRIES",
        ),
        (
            &["--inner-map", "containers=containers"],
            "--inner-map containers=containers: expected TYPE:KEY:VALUE:ENTRIES[:FLAGS], such as hash:4:8:64",
        ),
        (
            &["--inner-map", "containers=array_of_maps:4:4:4"],
            "BPF_MAP_TYPE_ARRAY_OF_MAPS: an inner map holds no maps, expected another type",
        ),
        (
            &["--inner-map", "containers=hsh:4:8:64"],
            "unknown map type `hsh`, expected one such as `hash` or `lru_hash`; did you mean `hash`?",
        ),
        (
            &["--without-map", "rings.inner"],
            "--without-map rings.inner: `rings.inner` is the inner map of `rings`, which needs it",
        ),
    ] {
        for command in ["check", "explain", "requires"] {
            let run = probes(dir, command, args);
            assert_eq!(run.exit, 2, "{args:?}: {}", run.whole());
            assert_eq!(run.err.lines().count(), 1, "{args:?}: {}", run.whole());
            assert!(run.err.contains(expected), "{expected}\n{}", run.err);
            assert_eq!(run.out, "", "{args:?}");
        }
        let run = probes(dir, "load", &[&["--dry-run"], args].concat());
        assert_eq!((run.exit, run.err.lines().count()), (2, 1), "{args:?}: {}", run.whole());
        assert!(run.err.contains(expected), "{expected}\n{}", run.err);
    }
    for (option, value) in [
        ("--program-type", "classify"),
        ("--autoload", "filter=maybe"),
        ("--max-entries", "rings=0"),
        ("--without-map", ""),
        ("--ksym", "schedule"),
        ("--ksym", "schedule=+4"),
    ] {
        for command in ["check", "load"] {
            let run = probes(dir, command, &[option, value]);
            assert_eq!(run.exit, 2, "{option} {value}: {}", run.whole());
            assert!(run.err.contains(option), "{option} {value}: {}", run.err);
        }
    }
}

#[test]
fn a_setting_that_changes_nothing_is_a_warning() {
    let test = "a_setting_that_changes_nothing_is_a_warning";
    let Some(dir) = compile(test).filter(|_| has_running_btf(test)) else { return };
    for (setting, reason) in [
        (["--program-type", "enter=raw_tp"], "the program's section has this name"),
        (["--max-entries", "jumps=4"], "the map has this number"),
        (["--set", "is_new=1"], "the variable has this value"),
        (["--autoload", "enter"], "the program is loaded by default"),
    ] {
        let run = probes(dir.path(), "requires", &setting);
        let expected =
            format!("core-relo: warning: probes.bpf.o: {}: changes nothing: {reason}\n", setting.join(" "));
        assert_eq!((run.exit, run.err), (0, expected));
    }
    let run = probes(dir.path(), "requires", &["--max-entries", "jumps=4", "--without-map", "jumps"]);
    assert!(run.err.contains("changes nothing: the map is not created"), "{}", run.err);
}

/// A reason of several programs is one line. Its fix names one of them, and the line all.
#[test]
fn the_fix_of_several_programs_names_each() {
    let test = "the_fix_of_several_programs_names_each";
    let Some(dir) = compile(test).filter(|_| has_running_btf(test)) else { return };
    let source = "__attribute__((section(\"x\"), used)) int one(void *ctx) { return 0; }\n\
                  __attribute__((section(\"x\"), used)) int two(void *ctx) { return 1; }\n";
    fs::write(dir.path().join("two.bpf.c"), source).unwrap();
    let arguments = ["-target", "bpf", "-g", "-O2", "-c", "two.bpf.c", "-o", "two.bpf.o"];
    assert!(clang().unwrap().command().args(arguments).current_dir(dir.path()).status().unwrap().success());
    let run = run_in(dir.path(), ["check", "two.bpf.o"]);
    let lines: Vec<_> = run.out.lines().filter(|line| line.contains("--program-type")).collect();
    let [line] = *lines else { panic!("{}", run.out) };
    assert!(
        line.contains("fix: --program-type one=TYPE") && line.ends_with("; likewise for each of: one, two"),
        "{line}"
    );
    let run = run_in(dir.path(), ["check", "two.bpf.o", "--program-type", "one=tc"]);
    assert!(run.out.contains("--program-type two=TYPE") && !run.out.contains("likewise"), "{}", run.out);
}

/// The program array holds `next`, and `start` uses the array. The struct_ops map uses `init`.
#[test]
fn a_program_that_the_load_needs_is_not_left_out_without_a_word() {
    let warned_for = |loader: &str, object: &str, left_out: &[&str]| {
        let options: Vec<_> = left_out.iter().map(|program| format!("--autoload={program}=no")).collect();
        let args = ["requires", object, "--loader", loader].into_iter();
        let run = run_in(&prebuilt("live"), args.chain(options.iter().map(String::as_str)));
        run.err.contains("changes nothing: a program array or a struct_ops map of the load holds the program")
    };
    let warned = |object: &str, left_out: &[&str]| warned_for("core-relo", object, left_out);
    assert!(warned("tail_call.bpf.o", &["next"]) && warned_for("cilium", "tail_call.bpf.o", &["next"]));
    // The load of libbpf fails, and so does any load of aya.
    assert!(!warned_for("libbpf", "tail_call.bpf.o", &["next"]));
    assert!(!warned_for("aya", "tail_call.bpf.o", &["next"]));
    assert!(warned_for("libbpf", "struct_ops.bpf.o", &["init"]));
    // cilium/ebpf loads programs whose sections begin with `?`.
    let loaded = |loader| {
        let args = ["requires", "tail_call.bpf.o", "--loader", loader, "--autoload", "other"];
        run_in(&prebuilt("live"), args).err.contains("changes nothing: the program is loaded by default")
    };
    assert!(loaded("cilium") && !loaded("libbpf"));
    assert!(!warned("tail_call.bpf.o", &["next", "start"]) && !warned("tail_call.bpf.o", &["start"]));
    assert!(warned("struct_ops.bpf.o", &["init"]));
}

#[test]
fn settings_apply_to_the_objects_that_have_their_names() {
    let test = "settings_apply_to_the_objects_that_have_their_names";
    let Some(dir) = compile(test).filter(|_| has_running_btf(test)) else { return };
    let dir = dir.path();
    let demo = common::demo().join("exec.bpf.o");
    fs::copy(demo, dir.join("exec.bpf.o")).unwrap();
    let both = ["check", "exec.bpf.o", "probes.bpf.o", "--format", "json"];
    let run = run_in(dir, [&both[..], &COMPLETE].concat());
    assert_eq!(run.err, "");
    let lines = run.lines();
    assert!(lines.iter().all(|line| line["verdict"] == "loads"), "{}", run.whole());
    let run = run_in(dir, [&both[..], &["--max-entries", "evnts=4"]].concat());
    assert_eq!(run.exit, 2, "{}", run.whole());
    let expected = "core-relo: --max-entries evnts=4: no object has a map `evnts`; did you mean `events`?\n";
    assert_eq!(run.err, expected);
    for command in ["requires", "load"] {
        let args = [command, "exec.bpf.o", "probes.bpf.o", "--max-entries", "evnts=4"];
        assert_eq!(run_in(dir, args).err, expected, "{command}");
    }
}

#[test]
fn the_configuration_file_has_settings_by_object() {
    let test = "the_configuration_file_has_settings_by_object";
    let Some(dir) = compile(test).filter(|_| has_running_btf(test)) else { return };
    let dir = dir.path();
    let config = "[[settings]]\nobject = \"probes*.o\"\nprogram-type = { classify = \"tc\" }\nattach-target = { hook = \"sys_enter\" }\n\
                  max-entries = { rings = 4, \"rings.inner\" = 4096 }\ninner-map = { containers = \"hash:4:8:64\" }\n\
                  set = { is_new = 0 }\nautoload = { filter = false }\nwithout-map = []\n";
    fs::write(dir.join("core-relo.toml"), config).unwrap();
    let run = probes(dir, "check", &["--config", "core-relo.toml"]);
    assert_eq!(run.exit, 0, "{}", run.whole());
    // `explain` explains the verdicts of `check`.
    assert_eq!(probes(dir, "explain", &[]).exit, 0);
    assert_eq!(probes(dir, "explain", &["--no-config"]).exit, 1);
    // So do the other commands that judge or plan; a generated loader file says so.
    let requires =
        |args: &[&str]| probes(dir, "requires", &[&["--format", "json"], args].concat()).lines().remove(0);
    assert_ne!(requires(&[]), requires(&["--no-config"]));
    let gen_loader = |args: &[&str]| {
        run_in(dir, [&["gen", "loader", "probes.bpf.o", "-o", "probes.loader"], args].concat())
    };
    let run = gen_loader(&["--kernel", "running"]);
    assert!(
        run.exit == 0 && run.err.contains("note: probes.bpf.o: settings of core-relo.toml:"),
        "{}",
        run.whole()
    );
    assert_eq!(gen_loader(&["--kernel", "running", "--no-config"]).exit, 2);
    // A load does not: the directory may be somebody else's, and the user root.
    let run = run_in(dir, ["load", "probes.bpf.o", "--dry-run"]);
    assert_ne!(run.exit, 0, "{}", run.whole());
    // An option takes the place of a setting in the file.
    let args = ["--config", "core-relo.toml", "--attach-target", "hook=no_such_tracepoint"];
    assert_eq!(probes(dir, "check", &args).exit, 1);
    fs::write(dir.join("core-relo.toml"), config.replace("rings = 4,", "ringz = 4,")).unwrap();
    let run = probes(dir, "check", &["--config", "core-relo.toml"]);
    assert_eq!(run.exit, 2, "{}", run.whole());
    let expected = "core-relo: core-relo.toml:1: no object has a map `ringz`; did you mean `rings`?\n";
    assert_eq!(run.err, expected);
    // Another object of the project may have the name: `explain` has only one of them. Its own options have
    // to fit.
    let run = probes(dir, "explain", &[]);
    assert!(run.exit == 1 && !run.err.contains("ringz"), "{}", run.whole());
    assert_eq!(probes(dir, "explain", &["--max-entries", "ringz=4"]).exit, 2);
    fs::write(dir.join("core-relo.toml"), config.replace("hash:4", "hsh:4")).unwrap();
    let run = probes(dir, "check", &["--config", "core-relo.toml"]);
    assert!(run.err.starts_with("core-relo: core-relo.toml:6:"), "{}", run.err);
    // What only the object shows to be wrong has a place, too.
    for (right, wrong, expected) in [
        ("\"tc\"", "\"no_type\"", "core-relo: core-relo.toml:3:29: --program-type classify=no_type: "),
        ("is_new = 0", "is_new = \"x\"", "core-relo: core-relo.toml:7:18: probes.bpf.o: global `is_new`: "),
        (
            "filter = false",
            "enter = true",
            "core-relo: warning: core-relo.toml:8:22: probes.bpf.o: --autoload enter=true: ",
        ),
    ] {
        fs::write(dir.join("core-relo.toml"), config.replace(right, wrong)).unwrap();
        for command in ["check", "requires"] {
            let run = probes(dir, command, &[]);
            assert!(run.err.starts_with(expected), "{}", run.err);
        }
    }
}
