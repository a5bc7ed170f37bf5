//! Tests of the commands that change maps: `map update`, `map delete`, `map push`, `map pop`, `map freeze`,
//! `map pin`, `map create`.

use super::{
    common::{self, Run, has_own_bpffs, run, schema},
    fixture::*,
    link_fd,
    links::has_own_netns,
};
use core_relo_loader::{
    Errno,
    attach::{ProgramRef, RawTracepointOptions, XdpMode},
    inventory::{LinkInfo, ProgramInfo},
    load::{Kernel as _, MapCreate, ProgLoad, RunningKernel},
    maps::{self, MapFd},
};
use core_relo_test_support::skip;
use serde_json::{Value, json};
use std::{
    fs,
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
};

const ELEMENT_CHANGES: &str = "map update, map delete, map push";
const CHANGES: &str = "prog pin, map pin, map create, map freeze, link pin, link detach, link update";

/// Runs a `map` command on a map.
fn run_on(command: &str, map: &MapFd, args: &[&str]) -> Run {
    let id = map_id(map).to_string();
    run(["map", command, &id].iter().chain(args))
}

/// Reads an element of a map from integers to `struct event`.
fn event_of(map: &MapFd, key: u32) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; map.shape().value_size()];
    map.shape().lookup(&native32(key), &mut value, 0).map(|()| value)
}

/// Creates a map without types and keys, or with keys of four bytes.
fn untyped(map_type: u32, key_size: u32) -> MapFd {
    let map = MapCreate {
        map_type,
        name: b"plain",
        key_size,
        value_size: 4,
        max_entries: 2,
        ..MapCreate::default()
    };
    MapFd::create(&map).unwrap()
}

#[test]
fn the_value_of_one_cpu_is_written_or_refused_as_a_whole() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, PERCPU_ARRAY, "one_cpu");
    let cpus = usize::try_from(maps::possible_cpus().unwrap()).unwrap();
    ok(run_on("update", &map, &["1", &event_json(4).to_string()]));
    assert_eq!(event_of(&map, 1), Ok(event(4).repeat(cpus)));
    ok(run_on("update", &map, &["1", &event_json(5).to_string(), "--cpu", "all"]));
    let written = run_on("update", &map, &["1", &event_json(6).to_string(), "--cpu", "0"]);
    let mut expected = event(5).repeat(cpus);
    if written.exit == 2 {
        // Nothing changes on a kernel without BPF_F_CPU.
        assert!(written.err.contains("Linux 7.2 does, 6.18 does not"), "{written:?}");
        skip!("{}", written.err);
    } else {
        ok(written);
        expected.splice(..event(6).len(), event(6));
    }
    assert_eq!(event_of(&map, 1), Ok(expected));
}

#[test]
fn an_element_is_written_by_its_types_and_removed() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, HASH, "written");
    let id = map_id(&map);
    let value = event_json(7).to_string();
    let updated = ok(run_on("update", &map, &["5", &value]));
    assert_eq!(updated.out, format!("updated: map {id} (written): [5]\n"));
    assert_eq!(event_of(&map, 5), Ok(event(7)));

    // Bytes, the conditions, and the name of the map.
    let bytes: Vec<String> = event(8).iter().map(|b| format!("{b:02x}")).collect();
    let words = [vec!["key", "5", "value", "hex"], bytes.iter().map(String::as_str).collect()].concat();
    let refused = run_on("update", &map, &[&words[..], &["--noexist"]].concat());
    assert_eq!(
        (refused.exit, &*refused.err),
        (1, &*format!("core-relo: map {id} (written): element [5] exists\n"))
    );
    assert_eq!(event_of(&map, 5), Ok(event(7)));
    let line =
        &ok(run_on("update", &map, &[&words[..], &["--exist", "--format", "json"]].concat())).lines()[0];
    schema().check(ELEMENT_CHANGES, line);
    assert_eq!((&line["change"], &line["value_bytes"]), (&json!("updated"), &json!(bytes.concat())));
    assert_eq!(event_of(&map, 5), Ok(event(8)));
    let missing = run_on("update", &map, &["6", &value, "--exist"]);
    assert!(missing.exit == 1 && missing.err.ends_with("no element [6]\n"), "{missing:?}");

    // The map has room for one more.
    ok(run_on("update", &map, &["6", &value]));
    let full = run_on("update", &map, &["7", &value]);
    assert!(full.exit == 2 && full.err.contains("it is full: it has at most 2 elements"), "{full:?}");

    let deleted = ok(run_on("delete", &map, &["5", "--format", "json"])).lines();
    schema().check(ELEMENT_CHANGES, &deleted[0]);
    assert_eq!(event_of(&map, 5).unwrap_err(), Errno::ENOENT);
    let again = run_on("delete", &map, &["5"]);
    assert!(again.exit == 1 && again.err.contains("no element [5]"), "{again:?}");
}

#[test]
fn wrong_keys_and_values_change_nothing() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, HASH, "untouched");
    for (args, what) in [
        (&["5"][..], "expected a key and a value"),
        (&["5", "{}", "7"], "expected the word `value` between key and value"),
        (&["five", "{}"], "key: five: no `int`: expected a number"),
        (&["5", "7"], "value: 7: expected a value of `struct event` as `{.NAME = VALUE}`"),
        (&["5", r#"{"pid": 1, "nosuch": 2}"#], "value: `struct event` has no member `nosuch`"),
        (&["5", "value", "hex", "01"], "value: the value has 1 bytes, expected 24"),
        (&["5", "7", "noexist", "--exist"], "the condition is given twice"),
    ] {
        let wrong = run_on("update", &map, args);
        assert!(wrong.exit == 2 && wrong.err.contains(what) && wrong.out.is_empty(), "{args:?}: {wrong:?}");
    }
    assert_eq!(event_of(&map, 5).unwrap_err(), Errno::ENOENT);

    // A name that several maps have selects none of them.
    let name = unique("two");
    let (_first, second) = (typed_map(&types, HASH, &name), typed_map(&types, HASH, &name));
    let several = run(["map", "update", "--name", &name, "5", "{}"]);
    assert!(
        several.exit == 2 && several.err.contains("2 maps have this name, expected one: ids "),
        "{several:?}"
    );
    assert_eq!(event_of(&second, 5).unwrap_err(), Errno::ENOENT);
}

#[test]
fn all_cpus_get_a_value() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, PERCPU_ARRAY, "per_cpu");
    ok(run_on("update", &map, &["1", &event_json(7).to_string()]));
    let cpus = usize::try_from(maps::possible_cpus().unwrap()).unwrap();
    assert_eq!(event_of(&map, 1), Ok(event(7).repeat(cpus)));
}

#[test]
fn arrays_have_no_elements_to_remove_or_add() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, ARRAY, "indexed");
    let beyond = run_on("update", &map, &["2", "{}"]);
    assert!(
        beyond.exit == 2 && beyond.err.contains("the index is too large: it has 2 elements"),
        "{beyond:?}"
    );
    let removed = run_on("delete", &map, &["0"]);
    assert!(
        removed.exit == 2 && removed.err.contains("elements of an array cannot be removed"),
        "{removed:?}"
    );
}

#[test]
fn the_next_key_follows_a_key() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, ARRAY, "indexed");
    assert_eq!(ok(run_on("getnext", &map, &[])).out, "[0]\n");
    assert_eq!(ok(run_on("getnext", &map, &["0"])).out, "[1]\n");
    let line = &ok(run_on("getnext", &map, &["0", "--format", "json"])).lines()[0];
    schema().check("map getnext", line);
    assert_eq!(line["next_key"], json!(1));
    let last = run_on("getnext", &map, &["1", "--format", "json"]);
    schema().check("map getnext", &last.lines()[0]);
    assert!(last.exit == 1 && last.err.ends_with("no key after [1]\n"), "{last:?}");
    let empty = run_on("getnext", &typed_map(&types, HASH, "empty"), &[]);
    assert!(empty.exit == 1 && empty.err.ends_with("is empty\n"), "{empty:?}");
}

#[test]
fn queues_take_and_give_values() {
    if types().is_none() {
        return;
    }
    let queue = untyped(QUEUE, 0);
    let empty = run_on("peek", &queue, &["--format", "json"]);
    assert!(empty.exit == 1 && empty.err.ends_with("is empty\n"), "{empty:?}");
    schema().check("map dump, map lookup, map peek, map pop", &empty.lines()[0]);
    for value in ["0x01010101", "0x02020202"] {
        ok(run_on("push", &queue, &[value]));
    }
    let twice = run_on("push", &queue, &["3", "exist", "--exist"]);
    assert!(twice.exit == 2 && twice.err.contains("the condition is given twice"), "{twice:?}");
    let full = run_on("push", &queue, &["value", "3", "0", "0", "0", "any"]);
    assert!(full.exit == 2 && full.err.contains("it is full"), "{full:?}");
    let line = &ok(run_on("push", &queue, &["0x03030303", "--exist", "--format", "json"])).lines()[0];
    schema().check(ELEMENT_CHANGES, line);
    // The oldest value had to go.
    assert_eq!(ok(run_on("peek", &queue, &[])).out, "[next] = 02 02 02 02\n");
    assert_eq!(ok(run_on("pop", &queue, &[])).out, "[next] = 02 02 02 02\n");
    assert_eq!(ok(run_on("pop", &queue, &[])).out, "[next] = 03 03 03 03\n");
    assert_eq!(run_on("pop", &queue, &[]).exit, 1);

    let no_keys = run_on("delete", &queue, &["1"]);
    assert!(no_keys.exit == 2 && no_keys.err.contains("has no keys; `core-relo map push`"), "{no_keys:?}");
    let hash = untyped(HASH, 4);
    for command in ["peek", "pop"] {
        let wrong = run_on(command, &hash, &[]);
        assert!(wrong.exit == 2 && wrong.err.contains("is no queue or stack"), "{wrong:?}");
    }
}

#[test]
fn programs_and_maps_become_values() {
    let Some(types) = types() else { return };
    let inner = typed_map(&types, ARRAY, &unique("inner"));
    let outer = MapCreate {
        map_type: ARRAY_OF_MAPS,
        name: b"outer",
        key_size: 4,
        value_size: 4,
        max_entries: 2,
        inner: Some(inner.as_fd()),
        ..MapCreate::default()
    };
    let outer = MapFd::create(&outer).unwrap();
    let id = map_id(&inner);
    let line = &ok(run_on("update", &outer, &["0", &id.to_string(), "--format", "json"])).lines()[0];
    schema().check(ELEMENT_CHANGES, line);
    assert_eq!(line["value_bytes"], Value::Null, "the number of a descriptor means nothing");
    ok(run_on("update", &outer, &["1", &unique("inner")]));
    for key in [0, 1] {
        assert_eq!(event_of(&outer, key), Ok(native32(id).to_vec()));
    }
    let unlike = run_on("update", &outer, &["0", &map_id(&untyped(HASH, 4)).to_string()]);
    assert!(unlike.exit == 2 && unlike.err.contains("is it like the inner map"), "{unlike:?}");
    let none = run_on("update", &outer, &["0", "inner"]);
    assert!(none.exit == 2 && none.err.contains("inner: no map of this name"), "{none:?}");

    let jumps = untyped(PROG_ARRAY, 4);
    let program = program(&types, &inner, "tail");
    let id = ProgramInfo::query(&program).unwrap().id;
    ok(run_on("update", &jumps, &["1", "value", "id", &id.to_string()]));
    assert_eq!(event_of(&jumps, 1), Ok(native32(id).to_vec()));
}

/// Opening a FIFO for reading waits for a writer, who may never come.
#[test]
fn a_fifo_is_no_cgroup() {
    const CGROUP_ARRAY: u32 = 8;
    let Some(_types) = types() else { return };
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let map = untyped(CGROUP_ARRAY, 4);
    let wrong = run_on("update", &map, &["0", common::text(&fifo)]);
    assert_eq!(wrong.exit, 2);
    assert!(wrong.err.contains("cannot open it: Not a directory"), "{}", wrong.err);
}

#[test]
fn maps_that_user_space_cannot_write_say_why() {
    if types().is_none() {
        return;
    }
    let map = untyped(HASH, 4);
    ok(run_on("update", &map, &["1", "2"]));
    assert_eq!(ok(run_on("freeze", &map, &[])).out, format!("frozen: map {} (plain)\n", map_id(&map)));
    for (command, args) in [("update", &["1", "3"][..]), ("delete", &["1"]), ("freeze", &[])] {
        let frozen = run_on(command, &map, args);
        assert!(
            frozen.exit == 2 && frozen.err.contains("it is frozen: user space cannot write to it"),
            "{frozen:?}"
        );
    }
    let ring = MapCreate { map_type: RINGBUF, name: b"ring", max_entries: 4096, ..MapCreate::default() };
    let ring = MapFd::create(&ring).unwrap();
    let refused = run_on("update", &ring, &["1", "2"]);
    assert!(
        refused.exit == 2 && refused.err.contains("a ring buffer has no elements to write"),
        "{refused:?}"
    );
    let sockets = run_on("update", &untyped(SOCKMAP, 4), &["0", "2"]);
    assert!(
        sockets.exit == 2 && sockets.err.contains("its values are descriptors of sockets"),
        "{sockets:?}"
    );
}

#[test]
fn maps_are_created_and_pinned() {
    if types().is_none() || !has_own_bpffs("changes::maps_are_created_and_pinned") {
        return;
    }
    let dir = Path::new("/sys/fs/bpf");
    let pin = dir.join("counts");
    let sizes = ["--type", "hash", "--key-size", "4", "--value-size", "8", "--max-entries", "16"];
    let create = |pin: &Path, more: &[&str]| {
        run(["map", "create", common::text(pin)].iter().chain(&sizes).chain(more))
    };
    let line = &ok(create(&pin, &["--name", "counts", "--flags", "0x1", "--format", "json"])).lines()[0];
    schema().check(CHANGES, line);
    assert_eq!((&line["change"], &line["pin"]), (&json!("created"), &json!(pin)));
    let shown = ok(run(["map", "show", "--pinned", common::text(&pin), "--format", "json"]));
    let shown = &shown.lines()[0];
    let facts = ["name", "key_size", "value_size", "max_entries", "flags"].map(|key| shown[key].clone());
    assert_eq!(facts, [json!("counts"), json!(4), json!(8), json!(16), json!(1)]);

    let second = dir.join("second");
    let pinned = run(["map", "pin", "--pinned", common::text(&pin), common::text(&second)]);
    assert!(ok(pinned).out.ends_with(": /sys/fs/bpf/second\n"));
    let id = |pin: &Path| {
        ok(run(["map", "show", "--pinned", common::text(pin), "--format", "json"])).lines()[0]["id"].clone()
    };
    assert_eq!(id(&second), id(&pin));

    // A pin that fails leaves no map.
    let name = unique("gone");
    let maps = || run(["map", "show", "--name", &name]).exit;
    for (pin, what) in [
        (&pin, "another object is pinned there: rm removes the pin"),
        (&dir.join("a.b"), "names on a bpffs have no dots"),
        (&dir.join("no/such/dir"), "create the others first: mkdir -p"),
        (&dir.join("no/a.b"), "names on a bpffs have no dots"),
        (&std::env::temp_dir().join("counts"), "is it on a mounted bpffs"),
    ] {
        let refused = create(pin, &["--name", &name]);
        assert!(refused.exit == 2 && refused.err.contains(what) && refused.out.is_empty(), "{refused:?}");
        assert_eq!(maps(), 2, "no map is left");
    }
    let refused = create(&dir.join("none"), &["--name", &name, "--flags", "0x40000000"]);
    assert!(refused.exit == 2 && refused.err.contains("the kernel refuses this hash: EINVAL"), "{refused:?}");
    let refused = create(&dir.join("none"), &["--name", "a/b"]);
    assert!(refused.exit == 2 && refused.err.contains("--name: `/` is not allowed"), "{refused:?}");
    assert!(!fs::exists(dir.join("none")).unwrap() && !fs::exists(dir.join("no")).unwrap());
}

/// Loads a program that returns a number.
fn returns(prog_type: u32, number: i32) -> Result<OwnedFd, Errno> {
    let code = [insn(0xb7, 0, 0, 0, number), insn(0x95, 0, 0, 0, 0)].concat();
    RunningKernel
        .prog_load(&ProgLoad { prog_type, insns: &code, license: b"GPL", ..ProgLoad::default() }, &mut [])
}

fn id_of_program(program: &OwnedFd) -> u32 {
    ProgramInfo::query(program).unwrap().id
}

#[test]
fn a_link_gets_another_program_and_is_detached() {
    const XDP: u32 = 6;
    if !has_own_netns("changes::a_link_gets_another_program_and_is_detached") {
        return;
    }
    let attached = returns(XDP, 2)
        .map_err(|e| e.to_string())
        .and_then(|prog| link_fd(ProgramRef::from_fd(prog.as_fd()).attach_xdp(1, XdpMode::Any)));
    let link = match attached {
        Ok(link) => link,
        Err(e) => return skip!("no XDP link: {e}"),
    };
    let info = || LinkInfo::query(&link).unwrap();
    let id = info().id.to_string();
    let new = returns(XDP, 1).unwrap();
    let new_id = id_of_program(&new);
    let line = &ok(run(["link", "update", &id, &new_id.to_string(), "--format", "json"])).lines()[0];
    schema().check(CHANGES, line);
    assert_eq!((&line["change"], &line["prog_id"]), (&json!("updated"), &json!(new_id)));
    assert_eq!(info().prog_id, new_id);

    let other_type = id_of_program(&returns(1, 0).unwrap());
    for (args, what) in [
        (&[&*id][..], "expected the id, the name or the pin of a program"),
        (&[&id, "id", "new"], "`new`: expected the id of a program"),
        (&[&id, "nosuch"], "nosuch: no program of this name"),
        (&[&id, &other_type.to_string()], "no such program"),
    ] {
        let wrong = run(["link", "update"].iter().chain(args));
        assert!(wrong.exit == 2 && wrong.err.contains(what), "{wrong:?}");
    }
    let filter = returns(1, 0).unwrap();
    let wrong = run(["link", "update", &id, "id", &id_of_program(&filter).to_string()]);
    assert!(wrong.exit == 2 && wrong.err.contains("is it of the same type?"), "{wrong:?}");
    assert_eq!(info().prog_id, new_id);

    let line = &ok(run(["link", "detach", &id, "--format", "json"])).lines()[0];
    schema().check(CHANGES, line);
    let shown = &ok(run(["link", "show", &id, "--format", "json"])).lines()[0];
    assert_eq!((&line["change"], &shown["target"]["ifindex"]), (&json!("detached"), &json!(0)));
    let text = ok(run(["link", "show", &id])).out;
    assert!(text.contains("detached") && !text.contains("null") && !text.contains("ifindex"), "{text}");
    let again = run(["link", "detach", &id]);
    let again = (again.exit, &*again.out, &*again.err);
    assert_eq!(again, (2, "", &*format!("core-relo: link {id}: it is detached already\n")));
    let updated = run(["link", "update", &id, &new_id.to_string()]);
    assert!(updated.exit == 2 && updated.err.contains("it is detached already"), "{updated:?}");
}

#[test]
fn a_detached_link_names_its_pins() {
    let test = "changes::a_detached_link_names_its_pins";
    if types().is_none() || !has_own_netns(test) || !has_own_bpffs(test) {
        return;
    }
    let program = returns(6, 2).unwrap();
    let (first, second) = ("/sys/fs/bpf/a_link", "/sys/fs/bpf/b link");
    let id = id_of_program(&program).to_string();
    let to = "dev:own_lo,xdpgeneric";
    let attached = run(["prog", "attach", &id, "--to", to, "--pin", first, "--format", "json"]);
    if attached.exit != 0 {
        return skip!("no XDP link: {}", attached.err);
    }
    let id = attached.lines()[0]["link_id"].to_string();
    ok(run(["link", "pin", &id, second]));
    let detached = run(["link", "detach", "--pinned", first]);
    assert_eq!((detached.exit, detached.out), (0, format!("detached: link {id}\n")));
    let pins = format!(
        "still pinned at {first} and {second}, which keeps the program loaded: rm {first} '{second}'\n"
    );
    assert_eq!(detached.err, format!("core-relo: note: link {id}: {pins}"));
    let again = run(["link", "detach", &id]);
    assert_eq!((again.exit, again.err), (2, format!("core-relo: link {id}: it is detached already; {pins}")));
    [first, second].iter().for_each(|pin| fs::remove_file(pin).unwrap());
}

#[test]
fn another_mode_or_place_changes_nothing() {
    let test = "changes::another_mode_or_place_changes_nothing";
    if types().is_none() || !has_own_netns(test) {
        return;
    }
    let (xdp, classifier) = (returns(6, 2).unwrap(), returns(3, 0).unwrap());
    let [xdp, classifier] = [&xdp, &classifier].map(|program| id_of_program(program).to_string());
    let attached = run(["prog", "attach", &xdp, "--to", "dev:own_lo,xdpgeneric"]);
    if attached.exit != 0 {
        return skip!("no XDP: {}", attached.err);
    }
    let wrong = run(["prog", "detach", &xdp, "--from", "dev:own_lo,xdpdrv"]);
    assert!(wrong.exit == 2 && wrong.err.contains("not attached"), "{wrong:?}");
    ok(run(["prog", "detach", &xdp, "--from", "dev:own_lo,xdpgeneric"]));
    let wrong = run(["prog", "attach", &classifier, "--to", "dev:own_lo,tc_ingress", "--replace"]);
    assert!(wrong.exit == 2 && wrong.err.contains("this place may have several programs"), "{wrong:?}");
}

#[test]
fn programs_and_links_are_pinned() {
    const RAW_TRACEPOINT: u32 = 17;
    if types().is_none() || !has_own_bpffs("changes::programs_and_links_are_pinned") {
        return;
    }
    let program = returns(RAW_TRACEPOINT, 0).unwrap();
    let (id, pin) = (id_of_program(&program).to_string(), "/sys/fs/bpf/program");
    assert_eq!(ok(run(["prog", "pin", &id, pin])).out, format!("pinned: program {id}: {pin}\n"));
    let shown = &ok(run(["prog", "show", "--pinned", pin, "--format", "json"])).lines()[0];
    assert_eq!(shown["id"].to_string(), id);

    let options = RawTracepointOptions::default();
    let link =
        match ProgramRef::from_fd(program.as_fd()).attach_raw_tracepoint("sched_process_exec", &options) {
            Ok(link) => link,
            Err(e) => return skip!("no raw tracepoint: {e}"),
        };
    let (id, pin) = (LinkInfo::query(&link.fd().unwrap()).unwrap().id.to_string(), "/sys/fs/bpf/link");
    let line = &ok(run(["link", "pin", &id, pin, "--format", "json"])).lines()[0];
    schema().check(CHANGES, line);
    assert_eq!((&line["kind"], &line["pin"]), (&json!("link"), &json!(pin)));
    for args in [&["link", "pin", &id][..], &["link", "pin", &id, "a", "b"]] {
        let wrong = run(args);
        assert!(wrong.exit == 2 && wrong.err.contains("expected one path for the pin"), "{wrong:?}");
    }
    let kept = run(["link", "detach", &id]);
    let what = "the kernel does not detach links of this type (BPF_LINK_TYPE_RAW_TRACEPOINT)";
    assert!(kept.exit == 2 && kept.err.contains(what), "{kept:?}");
    let kept = run(["link", "update", &id, &id_of_program(&program).to_string()]);
    assert!(kept.exit == 2 && kept.err.contains("attach the new program, and end this link"), "{kept:?}");
    // The pin keeps the program attached after its holder.
    drop(link);
    assert_eq!(
        ok(run(["link", "show", "--pinned", pin, "--format", "json"])).lines()[0]["id"].to_string(),
        id
    );
    fs::remove_file(pin).unwrap();
    assert_eq!(run(["link", "show", &id]).exit, 2);
}
