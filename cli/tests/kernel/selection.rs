//! Tests of the selection of programs and maps: all, by tag, by pin, and by bpftool's words. And of what
//! needs a pinned map: `map events` and `load --reuse-map`.

use super::{
    common::{Run, has_own_bpffs, may_load, prebuilt, run, schema, text},
    fixture::*,
};
use core_relo_loader::{
    inventory::{BtfInfo, ProgramInfo},
    load::MapCreate,
    maps::MapFd,
};
use core_relo_test_support::skip;
use serde_json::{Value, json};
use std::{fs, process::Command};

const PINS: &str = "/sys/fs/bpf/mine";

/// Loads a test object and pins it below [`PINS`].
fn load_pinned(object: &str, args: &[&str]) -> Run {
    let object = prebuilt(object);
    run([&["load", text(&object), "--pin", PINS], args].concat())
}

/// Returns the ids in lines of JSON.
fn ids(run: Run) -> Vec<Value> {
    ok(run).lines().iter().map(|line| line["id"].clone()).collect()
}

#[test]
fn without_a_selection_all_objects_are_shown() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, HASH, "of_many");
    let other = typed_map(&types, HASH, "of_many");
    let program = program(&types, &map, "of_many");
    let shown = ids(run(["map", "show", "--format", "json"]));
    assert!([&map, &other].iter().all(|map| shown.contains(&json!(map_id(map)))), "{shown:?}");
    let program = json!(ProgramInfo::query(&program).unwrap().id);
    assert!(ids(run(["prog", "show", "--format", "json"])).contains(&program));
    let btf = json!(BtfInfo::query(&types.fd).unwrap().id);
    assert!(ids(run(["btf", "show", "--format", "json"])).contains(&btf));
    // A change needs a selection.
    let frozen = run(["map", "freeze"]);
    assert!(frozen.exit == 2 && frozen.err.contains("required"), "{frozen:?}");
}

#[test]
fn words_of_bpftool_and_tags_select_programs() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, HASH, "tagged");
    let program = program(&types, &map, "tagged");
    let info = ProgramInfo::query(&program).unwrap();
    let (id, tag) = (info.id.to_string(), info.tag.map(|byte| format!("{byte:02x}")).concat());
    let json = ["--format", "json"];
    for words in [["id", &id], ["tag", &tag], ["--tag", &tag], ["name", "tagged"]] {
        let shown = ids(run([&["prog", "show"], &words[..], &json].concat()));
        assert!(shown.contains(&json!(info.id)), "{words:?}: {shown:?}");
    }
    let dumped = ok(run(["prog", "dump", &id])).out;
    assert_eq!(ok(run(["prog", "dump", "xlated", "id", &id])).out, dumped);
    for (args, what) in [
        (&["prog", "show", "tag", "0000000000000001"][..], "no program has this tag"),
        (&["prog", "show", "tag", "12"], "expected a tag of 16 hexadecimal digits"),
        (&["map", "show", "tag", &tag], &format!("unexpected argument '{tag}'")),
        (&["prog", "show", "id"], "expected an id (a number)"),
    ] {
        let wrong = run(args.iter());
        assert!(wrong.exit == 2 && wrong.err.contains(what) && wrong.out.is_empty(), "{args:?}: {wrong:?}");
    }
}

#[test]
fn the_bytes_of_instructions_are_written_to_a_file() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, HASH, "written");
    let program = program(&types, &map, "written");
    let id = ProgramInfo::query(&program).unwrap().id.to_string();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("insns.bin");
    ok(run(["prog", "dump", &id, "-o", text(&path)]));
    let written = fs::read(&path).unwrap();
    // The verifier may patch instructions in. The last one is the exit of the subprogram.
    assert!(written.len() >= 9 * 8 && written.len().is_multiple_of(8), "{written:?}");
    assert_eq!(written[written.len() - 8..], insn(0x95, 0, 0, 0, 0));
    let jited = run(["prog", "dump", "jited", "id", &id, "-o", text(&path)]);
    if jited.exit == 0 {
        assert_ne!(fs::read(&path).unwrap(), written);
    } else {
        skip!("machine code: {}", jited.err);
        assert_eq!(fs::read(&path).unwrap(), written, "unchanged");
    }
}

#[test]
fn records_of_a_pinned_map_are_printed_by_the_types_of_its_program() {
    if !may_load()
        || !has_own_bpffs("selection::records_of_a_pinned_map_are_printed_by_the_types_of_its_program")
    {
        return;
    }
    ok(load_pinned("live/skeleton.bpf.o", &["--set", "settings.type=5", "--set", "settings.name=sh"]));
    let program = format!("{PINS}/run");
    let map = format!("{PINS}/maps/events");
    let events = |args: &[&str]| run([&["map", "events", "--pinned", &map], args].concat());
    ok(run(["prog", "run", "--pinned", &program]));
    // In sandboxes, some processes are hidden, even from root.
    let succeeds = |run: Run| {
        let is_warning = run.err.is_empty() || run.err.contains("may read its records");
        assert!(run.exit == 0 && is_warning, "{run:?}");
        run
    };
    let read = succeeds(events(&["--count", "2"]));
    let expected = [
        r#"events: struct started {.kind = STARTED, .pid = 5, .name = "sh"}"#,
        "events: struct ended {.kind = ENDED, .status = -1, .duration_ns = 7}",
    ];
    assert_eq!(read.out.lines().collect::<Vec<_>>(), expected);

    // The command's words and its name in bpftool, with a type, as JSON.
    ok(run(["prog", "run", "--pinned", &program]));
    let words = ["map", "event_pipe", "pinned", &map, "--type", "struct started", "--count", "1"];
    let line = &succeeds(run([&words[..], &["--format", "json"]].concat())).lines()[0];
    schema().check("--print, map events", line);
    assert_eq!(line["value"], json!({"kind": "STARTED", "pid": 5, "name": "sh"}));

    // The other record of that run waits for the next reader. Then none arrives.
    assert_eq!(succeeds(events(&["--count", "1"])).out.trim_end(), expected[1]);
    let none = events(&["--timeout", "0.1", "--count", "3"]);
    assert_eq!((none.exit, &*none.out), (1, ""), "{none:?}");
    assert!(none.err.contains("3 events of --count did not arrive"), "{none:?}");
    let wrong = events(&["--type", "struct nosuch"]);
    assert!(wrong.exit == 2 && wrong.err.contains("no type `struct nosuch`"), "{wrong:?}");
    let hash = run(["map", "events", "--pinned", &format!("{PINS}/maps/flows")]);
    assert!(
        hash.exit == 2 && hash.err.contains("is of type hash, expected ringbuf or perf_event_array"),
        "{hash:?}"
    );
}

#[test]
fn a_map_that_another_process_holds_is_read_only_by_force() {
    let Some(_types) = types() else { return };
    let map = MapCreate {
        map_type: RINGBUF,
        name: b"held",
        max_entries: u32::try_from(rustix::param::page_size()).unwrap(),
        ..MapCreate::default()
    };
    let map = MapFd::create(&map).unwrap();
    let id = map_id(&map).to_string();
    let held = run(["map", "events", &id, "--timeout", "0.1"]);
    assert_eq!((held.exit, &*held.out), (2, ""), "{held:?}");
    assert!(
        held.err.contains(&format!("({}) may read its records; --force", std::process::id())),
        "{held:?}"
    );
    // Nobody knows who holds the map if the processes are not visible.
    let script = "mount -t tmpfs none /proc || exit 42; exec \"$0\" map events \"$1\" --timeout 0.1";
    let hidden = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_core-relo"), &id])
        .output()
        .unwrap();
    if hidden.status.code() == Some(42) {
        skip!("no tmpfs can be mounted over /proc here");
    } else {
        let text = String::from_utf8_lossy(&hidden.stderr);
        assert!(
            hidden.status.code() == Some(2) && text.contains("/proc cannot be read; --force"),
            "{hidden:?}"
        );
    }
    let forced = run(["map", "events", &id, "--timeout", "0.1", "--force"]);
    assert_eq!((forced.exit, &*forced.out), (0, ""), "{forced:?}");
}

#[test]
fn a_load_reuses_the_map_that_the_user_names() {
    if !may_load() || !has_own_bpffs("selection::a_load_reuses_the_map_that_the_user_names") {
        return;
    }
    let object = prebuilt("live/pinned.bpf.o");
    // The first load pins the map by name. The user's choice is stronger than that pin.
    ok(load_pinned("live/pinned.bpf.o", &[]));
    let sizes = ["--key-size", "4", "--value-size", "8", "--max-entries", "1"];
    let create = ["map", "create", "/sys/fs/bpf/users", "--type", "array", "--format", "json"];
    let created = ok(run([&create[..], &sizes].concat()));
    let users = &created.lines()[0]["id"];
    let pinned = &ids(run(["map", "show", "--pinned", "/sys/fs/bpf/core_relo_live", "--format", "json"]))[0];
    for reused in ["/sys/fs/bpf/users".to_owned(), users.to_string()] {
        let reuse = format!("core_relo_live={reused}");
        let line = &ok(run(["load", text(&object), "--reuse-map", &reuse, "--format", "json"])).lines()[0];
        let maps = line["maps"].as_array().unwrap();
        let map = maps.iter().find(|map| map["name"] == "core_relo_live").unwrap();
        assert_eq!(&map["id"], users);
    }
    assert_ne!(users, pinned);
    for (reuse, status, what) in [
        ("nosuch=/sys/fs/bpf/users", 2, "it has no map `nosuch`"),
        ("core_relo_live=nosuch", 2, "no map of this name"),
        ("core_relo_live=/sys/fs/bpf/mine/count", 2, "count"),
        ("core_relo_live", 2, "expected MAP=ID"),
    ] {
        let wrong = run(["load", text(&object), "--reuse-map", reuse]);
        assert!(wrong.exit == status && wrong.err.contains(what), "{reuse}: {wrong:?}");
    }
    let ring = ["map", "create", "/sys/fs/bpf/events", "--type", "ringbuf", "--max-entries", "4096"];
    ok(run(ring));
    let wrong = run(["load", text(&object), "--reuse-map", "core_relo_live=/sys/fs/bpf/events"]);
    let what = "is a BPF_MAP_TYPE_RINGBUF with keys of 0 and values of 0 bytes, expected BPF_MAP_TYPE_ARRAY";
    assert!(wrong.exit == 1 && wrong.out.contains(what), "{wrong:?}");
    let reuse = "core_relo_live=/sys/fs/bpf/users";
    for (further, what) in [
        (["--reuse-map", reuse], "map `core_relo_live` is given twice"),
        (["--max-entries", "core_relo_live=9"], "map `core_relo_live` is reused as it is"),
        (["--without-map", "core_relo_live"], "map `core_relo_live` is reused as it is"),
    ] {
        let wrong = run([&["load", text(&object), "--reuse-map", reuse], &further[..]].concat());
        assert!(wrong.exit == 2 && wrong.err.contains(what), "{further:?}: {wrong:?}");
    }
}
