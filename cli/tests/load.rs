//! Tests of `load` and `run`. Dry runs need no privileges, all other runs need root.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{Run, may_load, prebuilt, run, schema, text};
use core_relo::Endian;
use core_relo_loader::inventory::ObjectKind;
use core_relo_test_support::skip;
use flate2::{Compression, write::GzEncoder};
use std::{fs, io::Write as _, path::Path};

fn load(args: &[&str]) -> Run {
    run([&["load"], args].concat())
}

#[test]
fn a_dry_run_on_another_kernel_needs_no_privileges() {
    let object = prebuilt("live/globals.bpf.o");
    let shown = load(&[text(&object), "--dry-run", "--btf", "linux-6.12.btf"]);
    assert_eq!((shown.exit, shown.err.as_str()), (0, ""), "{}", shown.out);
    assert!(shown.out.contains("load plan"), "{}", shown.out);
    let json = load(&[text(&object), "--dry-run", "--btf", "linux-6.12.btf", "--format", "json"]);
    let lines = json.lines();
    schema().check("load", &lines[0]);
    assert_eq!(lines[0]["status"], "planned");
}

#[test]
fn a_dry_run_without_facts_about_the_kernel_is_unknown_and_names_the_options() {
    let object = prebuilt("live/kconfig.bpf.o");
    let plan =
        |more: &[&str]| load(&[&[text(&object), "--dry-run", "--btf", "linux-6.1.btf"], more].concat());
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config");
    let lines = "CONFIG_HZ=250\nCONFIG_BPF_SYSCALL=y\nCONFIG_NET=y\nCONFIG_DEFAULT_HOSTNAME=\"x\"\n";
    fs::write(&config, lines).unwrap();
    let kconfig = ["--kconfig", text(&config)];
    let version = ["--kernel-version", "6.1.7"];

    let neither = plan(&[]);
    assert_eq!(neither.exit, 2, "{neither:?}");
    let expected = "no load plan: unresolved externs:\n  CONFIG_BPF_SYSCALL, CONFIG_DEFAULT_HOSTNAME, CONFIG_HZ, CONFIG_NET: the kernel's \
                    configuration is unknown: give it with --kconfig FILE\n  LINUX_KERNEL_VERSION: the kernel's version is unknown: give it with \
                    --kernel-version X.Y.Z\n  verdict: unknown\n";
    assert!(neither.out.contains(expected), "{}", neither.out);

    // The program loads with every version, so the verdict is that of `check`. The plan has the version.
    let without_version = plan(&kconfig);
    assert_eq!(without_version.exit, 2, "{without_version:?}");
    let title = format!("{}: no load plan: ", text(&object));
    assert!(without_version.out.starts_with(&title), "{}", without_version.out);
    assert!(
        without_version.out.ends_with("--kernel-version X.Y.Z\n  verdict: loads\n"),
        "{}",
        without_version.out
    );
    let json = plan(&[&kconfig[..], &["--format", "json"]].concat()).lines();
    schema().check("load", &json[0]);
    assert_eq!((&json[0]["status"], &json[0]["verdict"]), (&"not_planned".into(), &"loads".into()));

    let both = plan(&[kconfig, version].concat());
    assert_eq!((both.exit, &*both.err), (0, ""), "{both:?}");
    assert!(both.out.contains("load plan\n") && both.out.ends_with("  verdict: loads\n"), "{}", both.out);
    // A running kernel has its own version.
    assert_eq!(load(&[text(&object), "--dry-run", "--kernel-version", "6.1.7"]).exit, 2);
}

#[test]
fn a_dry_run_takes_the_symbols_of_another_kernel() {
    let object = prebuilt("live/ksym.bpf.o");
    let dir = tempfile::tempdir().unwrap();
    let symbols = dir.path().join("kallsyms");
    fs::write(&symbols, "ffffffff81000000 T _stext\nffffffff81234560 T schedule\n").unwrap();
    let plan =
        |more: &[&str]| load(&[&[text(&object), "--dry-run", "--btf", "linux-6.12.btf"], more].concat()).out;
    let unknown = "  schedule: its address in that kernel is unknown: give it with --kallsyms FILE\n";
    let without = plan(&[]);
    assert!(without.contains(unknown) && without.contains("symbol schedule may be missing"), "{without}");
    // The kernel's BTF is reduced: another extern stays unresolved.
    let with = plan(&["--kallsyms", text(&symbols)]);
    assert!(with.contains("unresolved extern: runqueues: ") && !with.contains("schedule"), "{with}");
    let wrong = load(&[text(&object), "--dry-run", "--kallsyms", text(&symbols)]);
    assert!(wrong.exit == 2 && wrong.err.contains("--btf"), "{wrong:?}");
}

/// The commands say alike that a symbol is ambiguous, and take the address that `--ksym` chooses.
#[test]
fn a_dry_run_and_a_check_take_the_chosen_address_of_a_symbol() {
    let object = prebuilt("live/ksym.bpf.o");
    let dir = tempfile::tempdir().unwrap();
    let symbols = dir.path().join("kallsyms");
    fs::write(&symbols, "ffffffff81000000 T _stext\n10 t schedule\n20 t schedule\n").unwrap();
    let kernel = ["--btf", "linux-6.12.btf", "--kallsyms", text(&symbols)];
    let plan = |more: &[&str]| load(&[&[text(&object), "--dry-run"], &kernel[..], more].concat()).out;
    let check = |more: &[&str]| run([&["check", text(&object)], &kernel[..], more].concat()).out;
    let way = "choose one with --ksym schedule=ADDRESS or schedule=SYMBOL+OFFSET";
    for (out, address) in
        [(plan(&[]), "0x10"), (check(&[]), "0x10"), (check(&["--loader", "core-relo"]), "0x10")]
    {
        let ambiguous =
            format!("schedule: it is ambiguous: symbols of this name are at {address} and 0x20: {way}");
        assert!(out.contains(&ambiguous), "{out}");
    }
    assert!(check(&[]).contains(&format!("{way}, which only core-relo does")), "{}", check(&[]));
    for choice in ["schedule=0x20", "schedule=_stext+0x100"] {
        let (planned, checked) =
            (plan(&["--ksym", choice]), check(&["--ksym", choice, "--loader", "core-relo"]));
        assert!(!planned.contains("schedule") && planned.contains("runqueues"), "{planned}");
        assert!(!checked.contains("schedule") && checked.contains("runqueues"), "{checked}");
    }
    let wrong = plan(&["--ksym", "schedule=0x30"]);
    assert!(wrong.contains("schedule: the chosen address 0x30 is that of no symbol of this name"), "{wrong}");
    let near = load(&[&[text(&object), "--dry-run"], &kernel[..], &["--ksym", "scheduel=0x20"]].concat());
    assert!(near.exit == 2 && near.err.contains("did you mean `schedule`?"), "{near:?}");
}

#[test]
fn errors_as_json_name_the_object_and_the_program() {
    let object = prebuilt("live/globals.bpf.o");
    let object = text(&object);
    let dry = ["--dry-run", "--btf", "linux-6.12.btf"];
    let line = |args: &[&str]| {
        let lines = run(args.iter().chain(&["--format", "json"])).lines();
        schema().check("Bad input", &lines[0]);
        [&lines[0]["object"], &lines[0]["program"]].map(|value| value.as_str().map(str::to_owned))
    };
    let named = |object: &str, program: Option<&str>| [Some(object.to_owned()), program.map(str::to_owned)];
    let missing = "/no/such/object.bpf.o";
    assert_eq!(line(&[&["load", missing][..], &dry].concat()), named(missing, None));
    let unknown = line(&[&["load", object, "--program", "absent"][..], &dry].concat());
    assert_eq!(unknown, named(object, Some("absent")));
    let symbols = prebuilt("live/ksym.bpf.o");
    let unknown = line(&[&["load", text(&symbols), "--ksym", "scheduel=0x20"][..], &dry].concat());
    assert_eq!(unknown, named(text(&symbols), None));
    assert_eq!(line(&["run", missing, "--program", "main"]), named(missing, Some("main")));
}

#[test]
fn a_configuration_is_unpacked() {
    let object = prebuilt("live/kconfig.bpf.o");
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.gz");
    let mut gzip = GzEncoder::new(fs::File::create(&config).unwrap(), Compression::fast());
    gzip.write_all(b"CONFIG_HZ=many\n").unwrap();
    gzip.finish().unwrap();
    let planned = load(&[text(&object), "--dry-run", "--btf", "linux-6.12.btf", "--kconfig", text(&config)]);
    assert!(planned.out.contains("(the value in the configuration is many)"), "{planned:?}");
}

/// The error of an option that the kernel's configuration lacks says `give it with --kconfig FILE`.
#[test]
fn each_command_that_loads_an_object_takes_a_configuration() {
    let object = prebuilt("live/kconfig.bpf.o");
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config");
    fs::write(&config, "CONFIG_HZ=many\n").unwrap();
    let (object, config, pin) = (text(&object), text(&config), text(dir.path()));
    for command in [
        &["load", object, "--dry-run"][..],
        &["run", object, "--program", "look"],
        &["struct_ops", "register", object],
        &["iter", "pin", object, pin],
    ] {
        let run = run(command.iter().chain(&["--kconfig", config]));
        let text = run.out.clone() + &run.err;
        assert!(text.contains("CONFIG_HZ") && text.contains("many"), "{command:?}: {run:?}");
    }
}

#[test]
fn a_wrong_argument_is_one_line_and_status_2() {
    let object = prebuilt("live/globals.bpf.o");
    let error = |args: &[&str]| {
        let shown = load(&[&[text(&object), "--dry-run", "--btf", "linux-6.12.btf"], args].concat());
        assert_eq!((shown.exit, shown.out.as_str()), (2, ""), "{}", shown.err);
        assert_eq!(shown.err.lines().count(), 1, "{}", shown.err);
        shown.err
    };
    assert!(error(&["--set", "no_such_global=1"]).contains("has no global `no_such_global`; it has "));
    assert!(error(&["--kconfig", "/no/such/file"]).contains("/no/such/file"));
    let shown = load(&["/no/such/object.bpf.o"]);
    assert_eq!(shown.exit, 2, "{}", shown.err);
    let shown = load(&[text(&object), "--pin", "/tmp", "--dry-run"]);
    assert_eq!(shown.exit, 2, "{}", shown.err);
}

#[test]
fn a_dry_run_judges_the_targets_that_are_set() {
    let object = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf/prebuilt/el/profile.bpf.o");
    if !Path::new("/sys/kernel/btf/vmlinux").exists() || cfg!(target_endian = "big") {
        return skip!(Btf, "the running kernel has no BTF");
    }
    let max_entries = ["--dry-run", "--max-entries", "events=4", "--format", "json"];
    let targets = ["--attach-target", "on_entry=do_unlinkat", "--attach-target", "on_exit=do_unlinkat"];
    let set = load(&[&[text(&object)], &max_entries[..], &targets].concat());
    let line = &set.lines()[0];
    assert_eq!(line["status"], "planned", "{set:?}");
    // A policy of the machine may refuse the programs, which are planned all the same.
    let reasons = line["verdicts"].as_array().unwrap().iter().flat_map(|v| v["reasons"].as_array().unwrap());
    let is_policy = |reason: &serde_json::Value| reason["evidence"]["source"] == "probe";
    let others: Vec<_> = reasons.filter(|reason| !is_policy(reason)).collect();
    assert!(others.iter().all(|reason| reason["verdict"] == "unknown"), "{line}");
    assert!(!set.out.contains("attach_target"), "{set:?}");
}

#[test]
fn sizes_of_maps_and_targets_of_programs_are_set() {
    let plan = |object: &str, args: &[&str]| {
        let object = prebuilt(object);
        load(&[&[text(&object), "--dry-run", "--btf", "linux-6.12.btf"], args].concat())
    };
    let sized = plan("live/maps.bpf.o", &["--key-size", "hash=16", "--value-size", "hash=32"]);
    assert!(sized.out.contains("map hash: hash, key 16, value 32, entries 16"), "{sized:?}");
    // The verdict is that of the sizes that are set.
    let wrong = plan("live/maps.bpf.o", &["--key-size", "array=8"]);
    assert!(wrong.exit == 1 && wrong.out.contains("map array: "), "{wrong:?}");
    let data = plan("live/maps.bpf.o", &["--value-size", ".bss=4096"]);
    assert!(data.out.contains("map .bss: array, key 4, value 4096"), "{data:?}");
    for (object, args, what) in [
        ("live/maps.bpf.o", ["--value-size", "hush=8"], "it has no map `hush`"),
        ("live/maps.bpf.o", ["--key-size", "hash=0"], "expected MAP=N with a number from 1"),
        ("live/fentry.bpf.o", ["--attach-target", "open_entri=f"], "did you mean `open_entry`?"),
        ("live/fentry.bpf.o", ["--attach-target", "open_entry"], "expected PROG=FUNC or PROG=FUNC@PROGRAM"),
        (
            "live/fentry.bpf.o",
            ["--attach-target", "open_entry=f@"],
            "expected PROG=FUNC or PROG=FUNC@PROGRAM",
        ),
    ] {
        let wrong = plan(object, &args);
        assert!(wrong.exit == 2 && wrong.err.contains(what) && wrong.out.is_empty(), "{args:?}: {wrong:?}");
    }
    let missing = plan("live/fentry.bpf.o", &["--attach-target", "open_entry=no_such_function"]);
    assert!(missing.exit == 1 && missing.out.contains("`no_such_function` not found"), "{missing:?}");
}

#[test]
fn variables_of_every_kind_are_set_by_name_and_path() {
    let set_global = |object: &str, set: &str| {
        let object = prebuilt(object);
        let shown = load(&[text(&object), "--dry-run", "--btf", "linux-6.12.btf", "--set", set]);
        (shown.exit, shown.err)
    };
    for (object, set) in [
        ("live/globals.bpf.o", "weights=1,2,3,5"),
        ("live/globals.bpf.o", "weights[2]=7"),
        ("live/globals.bpf.o", ".rodata/factor=0x10"),
        ("live/arena_globals.bpf.o", "step=3"),
        ("live/arena_globals.bpf.o", "config.ports[1].high=77"),
        ("live/struct_ops_link.bpf.o", "still.name=bpf_other"),
    ] {
        // The demo kernel has few types, so the verdict may be another. A wrong argument is an error on
        // stderr.
        let (_, err) = set_global(object, set);
        assert_eq!(err, "", "{set}");
    }
    for (object, set, message) in [
        ("live/globals.bpf.o", "weights[4]=7", "`weights` has 4 elements"),
        ("live/globals.bpf.o", "sum.x=7", "`sum` is `u64`, which has no members"),
        ("live/arena_globals.bpf.o", "config=7", "it is `struct config`: set a member (NAME.MEMBER=VALUE)"),
        ("live/arena_globals.bpf.o", "config.ports[1].high=0x10000", "expected 0 to 65535 for 2 bytes"),
        ("live/kconfig.bpf.o", "CONFIG_HZ=100", "give the loader a line of configuration for it"),
        (
            "live/struct_ops_link.bpf.o",
            "still.init=0",
            "the loader fills pointers in struct_ops maps: set programs",
        ),
    ] {
        let (exit, err) = set_global(object, set);
        assert_eq!((exit, err.lines().count()), (2, 1), "{set}: {err}");
        assert!(err.contains(message), "{set}: {err}");
    }
}

#[test]
fn an_unknown_program_is_bad_input_and_the_known_ones_are_listed() {
    let object = prebuilt("live/globals.bpf.o");
    let shown = load(&[text(&object), "--dry-run", "--btf", "linux-6.12.btf", "--program", "nope"]);
    assert_eq!(shown.exit, 2, "{}", shown.out);
    assert!(shown.err.contains("it has no program `nope`; it has "), "{}", shown.err);
    let shown = load(&[text(&object), "--each", "--program", "nope"]);
    assert_eq!(shown.exit, 2, "{}", shown.out);
}

#[test]
fn a_loaded_object_is_removed_when_the_command_ends() {
    if !may_load() {
        return;
    }
    let object = prebuilt("live/globals.bpf.o");
    let shown = load(&[text(&object)]);
    assert_eq!((shown.exit, shown.err.as_str()), (0, ""), "{}", shown.out);
    assert!(shown.out.starts_with("loaded   "), "{}", shown.out);
    let json = load(&[text(&object), "--format", "json"]).lines();
    schema().check("load", &json[0]);
    let id = json[0]["programs"][0]["id"].as_u64().unwrap();
    assert!(
        ObjectKind::Program.open(u32::try_from(id).unwrap()).is_err(),
        "the program is unloaded when the command ends"
    );
    let each = load(&[text(&object), "--each", "--format", "json"]).lines();
    schema().check("load", &each[0]);
    assert_eq!(each[0]["status"], "loaded");
}

#[test]
fn a_refusal_names_program_line_and_reason() {
    if !may_load() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let object = dir.path().join("bad.bpf.o");
    // The instruction before each `exit` becomes `r0 = r9`. No instruction sets r9.
    let mut bytes = fs::read(prebuilt("live/globals.bpf.o")).unwrap();
    let exit = [0x95u8, 0, 0, 0, 0, 0, 0, 0];
    let places: Vec<_> = (8..bytes.len() - 8).step_by(8).filter(|at| bytes[*at..at + 8] == exit).collect();
    assert!(!places.is_empty(), "a program ends with `exit`");
    for at in places {
        bytes[at - 8..at].copy_from_slice(&[0xbf, 0x90, 0, 0, 0, 0, 0, 0]);
    }
    fs::write(&object, &bytes).unwrap();
    let shown = load(&[text(&object), "--format", "json"]);
    assert_eq!(shown.exit, 1, "{}", shown.out);
    let line = &shown.lines()[0];
    schema().check("error of load", &line["error"]);
    assert_eq!((&line["status"], &line["error"]["stage"]), (&"refused".into(), &"program".into()));
    assert!(line["error"]["verifier_log"].as_str().is_some_and(|log| log.contains("R9 !read_ok")), "{line}");
    let whole = &load(&[text(&object), "--format", "json", "--verifier-log"]).lines()[0]["error"];
    let lines = whole["verifier_log"].as_str().unwrap().lines().count();
    assert_eq!(line["error"]["verifier_log_lines"].as_u64(), u64::try_from(lines).ok(), "{line} {whole}");
    let last = line["error"]["verifier_log"].as_str().unwrap();
    assert!(lines > 20 && last.lines().count() == 20, "of {lines} lines there are {last}");
    // A log of the statistics alone has no instructions. The refused program is loaded again.
    let stats = &load(&[text(&object), "--each", "--stats", "--format", "json"]).lines()[0];
    assert_eq!(stats["error"]["insn"], line["error"]["insn"], "{stats}");
    assert!(stats["error"]["insn"].is_u64() && stats["stats"]["verified_insns"].is_u64(), "{stats}");
}

#[test]
fn a_program_is_run_on_data() {
    if !may_load() {
        return;
    }
    let object = prebuilt("live/xdp.bpf.o");
    let names = run(["load", text(&object), "--dry-run", "--format", "json"]).lines();
    let name = names[0]["programs"][0]["name"].as_str().unwrap().to_owned();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("packet.out");
    let args = ["run", text(&object), "--program", &name, "--data-out", text(&out), "--format", "json"];
    let shown = run(args);
    assert_eq!((shown.exit, shown.err.as_str()), (0, ""), "{}", shown.out);
    schema().check("run, prog run", &shown.lines()[0]);
    assert_eq!(fs::read(&out).unwrap().len(), 64);
    // The packet of an earlier run is replaced, also if it is text.
    let packet = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n".repeat(2);
    let request = dir.path().join("packet.in");
    fs::write(&request, &packet).unwrap();
    for _ in 0..2 {
        let shown = run([&args[..], &["--data-in", text(&request)]].concat());
        assert_eq!((shown.exit, shown.err.as_str()), (0, ""), "{}", shown.out);
        assert_eq!(fs::read_to_string(&out).unwrap(), packet);
    }
    let shown = run(["run", text(&object), "--program", "nope"]);
    assert_eq!(shown.exit, 2, "{}{}", shown.out, shown.err);
    assert!(shown.err.contains("it has no program `nope`; it has count"), "{}", shown.err);
}

#[test]
fn run_returns_the_written_context() {
    if !may_load() {
        return;
    }
    let object = prebuilt("live/syscall.bpf.o");
    let dir = tempfile::tempdir().unwrap();
    let (before, after) = (dir.path().join("before"), dir.path().join("after"));
    let numbers = |n: [u64; 3]| n.map(|n| Endian::native().u64_bytes(n)).concat();
    fs::write(&before, numbers([2, 3, 0])).unwrap();
    let args =
        ["run", text(&object), "--program", "add", "--ctx-in", text(&before), "--ctx-out", text(&after)];
    let shown = run(args);
    if format!("{}{}", shown.out, shown.err).contains("EINVAL") {
        return skip!("this kernel has no programs of type syscall");
    }
    assert_eq!((shown.exit, shown.err.as_str()), (0, ""), "{}", shown.out);
    assert_eq!(fs::read(&after).unwrap(), numbers([2, 3, 5]));
}

#[test]
fn pins_are_all_or_none() {
    if !may_load() {
        return;
    }
    let object = prebuilt("live/globals.bpf.o");
    let dir = tempfile::tempdir().unwrap();
    let shown = load(&[text(&object), "--pin", text(&dir.path().join("pins"))]);
    assert_eq!(shown.exit, 1, "{}", shown.err);
    assert!(shown.out.contains("bpffs"), "{}", shown.out);
    assert!(!Path::new(&dir.path().join("pins")).exists(), "a failed pin leaves nothing");
    let pins = dir.path().join("pins");
    let args = [text(&object), "--pin", text(&pins), "--format", "json"];
    let error = error_of(&load(&args));
    assert_eq!((&error["stage"], &error["program"]), (&"pin".into(), &serde_json::Value::Null));
    assert!(error["errno"].is_number() && error["errno_name"].is_string(), "{error}");
}

/// Returns the error of a refused load from its JSON line.
fn error_of(shown: &Run) -> serde_json::Value {
    assert_eq!(shown.exit, 1, "{}{}", shown.out, shown.err);
    let line = &shown.lines()[0];
    schema().check("load", line);
    schema().check("error of load", &line["error"]);
    // The line has the object already.
    let stem = Path::new(line["object"].as_str().unwrap()).file_name().unwrap().to_str().unwrap();
    let name = format!("{}: ", stem.split('.').next().unwrap());
    assert!(line["error"]["text"].as_str().is_some_and(|text| !text.starts_with(&name)), "{line}");
    line["error"].clone()
}

#[test]
fn a_failed_attach_names_the_program_and_the_errno() {
    if !may_load() {
        return;
    }
    // The tracepoint `sys_entry` does not exist.
    let mut bytes = fs::read(prebuilt("live/raw_tp.bpf.o")).unwrap();
    let (from, to) = (b"raw_tp/sys_enter", b"raw_tp/sys_entry");
    while let Some(at) = bytes.windows(from.len()).position(|w| w == from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    let dir = tempfile::tempdir().unwrap();
    let object = dir.path().join("no_such.bpf.o");
    fs::write(&object, &bytes).unwrap();
    let error = error_of(&load(&[text(&object), "--attach", "--format", "json"]));
    assert_eq!((&error["stage"], &error["errno_name"]), (&"attach".into(), &"ENOENT".into()));
    let program = error["program"].as_str().unwrap();
    let message = format!("program `{program}`: raw_tp/sys_entry: cannot attach: ENOENT");
    assert!(error["text"].as_str().unwrap().starts_with(&message), "{error}");
}

#[test]
fn programs_without_auto_attach_are_named_and_not_waited_for() {
    if !may_load() {
        return;
    }
    let object = prebuilt("live/xdp.bpf.o");
    let shown = load(&[text(&object), "--attach"]);
    // A supervisor would take 0 for a program that runs.
    assert_eq!(shown.exit, 1, "{}{}", shown.out, shown.err);
    assert!(shown.out.contains("not attached: "), "{}", shown.out);
    let note = "core-relo: note: nothing was attached; name a place: --attach-to count=dev:NAME\n";
    assert_eq!(shown.err, note);
    let json = load(&[text(&object), "--attach", "--format", "json"]);
    assert_eq!((json.exit, &*json.err), (1, note));
    let lines = json.lines();
    schema().check("load", &lines[0]);
    assert!(!lines[0]["not_attached"].as_array().unwrap().is_empty());
}

#[test]
fn the_loads_of_a_batch_need_no_more_descriptors_than_one() {
    if !may_load() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let lines = dir.path().join("lines");
    std::fs::write(&lines, format!("load {}\n", text(&prebuilt("live/ringbuf.bpf.o"))).repeat(40)).unwrap();
    let script = "ulimit -n 40; exec \"$0\" batch \"$1\"";
    let run = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_core-relo"), text(&lines)])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn a_loader_file_without_descriptors_left_names_the_limit_at_each_step() {
    if !may_load() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ringbuf.loader");
    let made = run(["gen", "loader", text(&prebuilt("live/ringbuf.bpf.o")), "-o", text(&file)]);
    assert_eq!(made.exit, 0, "{}", made.err);
    let mut refusals = Vec::new();
    for limit in 4..64 {
        let script = format!("ulimit -n {limit}; exec \"$0\" load \"$1\"");
        let mut command = std::process::Command::new("sh");
        let output = command.args(["-c", &script, env!("CARGO_BIN_EXE_core-relo"), text(&file)]).output();
        let output = output.unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        if output.status.success() {
            assert!(out.starts_with("loaded"), "{out}");
            break;
        }
        // With fewer descriptors, the process does not start, or cannot read the file.
        if out.starts_with("refused") {
            assert!(out.contains("RLIMIT_NOFILE"), "limit {limit}: {out}");
            refusals.push(out);
        }
    }
    for step in ["program `__loader.prog`", "program `output`", "sockets", "receiving"] {
        assert!(refusals.iter().any(|refusal| refusal.contains(step)), "{step}: {refusals:?}");
    }
}
