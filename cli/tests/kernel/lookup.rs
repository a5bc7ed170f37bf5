//! Tests of `map lookup`, and of the maps that `map dump` cannot list.

use super::{
    common::{run, schema},
    fixture::*,
};
use core_relo_loader::{
    load::{Kernel as _, MapCreate, RunningKernel},
    maps::{self, MapFd},
};
use serde_json::{Value, json};
use std::os::fd::AsFd as _;

/// Creates a map without types.
fn untyped(map_type: u32, key_size: u32, value_size: u32) -> MapFd {
    let name = b"untyped";
    let map = MapCreate { map_type, name, key_size, value_size, max_entries: 3, ..MapCreate::default() };
    MapFd::create(&map).unwrap()
}

/// Runs `map lookup` on a map.
fn look_up(map: &MapFd, args: &[&str]) -> super::common::Run {
    let id = map_id(map).to_string();
    run(["map", "lookup", &id].iter().chain(args))
}

#[test]
fn an_element_is_looked_up_by_the_text_of_its_key() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, HASH, "looked_up");
    map.shape().update(&native32(5), &event(7), 0).unwrap();
    map.shape().update(&native32(-3i32 as u32), &event(8), 0).unwrap();

    let bytes: Vec<String> = native32(5).iter().map(|b| format!("{b:02x}")).collect();
    let hex = [vec!["hex"], bytes.iter().map(String::as_str).collect()].concat();
    for key in [vec!["5"], vec!["0x5"], hex.clone()] {
        assert_eq!(ok(look_up(&map, &key)).out, format!("[5] = {EVENT}\n"), "{key:?}");
    }
    let negative = ok(look_up(&map, &["-3"])).out;
    assert!(negative.starts_with("[-3] = {.pid = 8, "), "{negative}");
    let typed = ok(look_up(&map, &["5", "--types"])).out;
    assert!(typed.contains("[(int)5] = (struct event){\n\t.pid = (int)7,\n"), "{typed}");
    let raw = ok(look_up(&map, &["5", "--hex"])).out;
    assert!(raw.starts_with(&format!("[{}] = ", bytes.join(" "))), "{raw}");

    let id = map_id(&map).to_string();
    let line = &ok(run(["map", "lookup", "--id", &id, "5", "--format", "json"])).lines()[0];
    schema().check("map dump, map lookup, map peek, map pop", line);
    assert_eq!((&line["key"], &line["value"]), (&json!(5), &event_json(7)));
}

#[test]
fn a_missing_element_and_a_wrong_key_say_so() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, HASH, "looked_up");
    let id = map_id(&map);
    let missing = look_up(&map, &["6"]);
    assert_eq!((missing.exit, &*missing.out), (1, ""));
    assert_eq!(missing.err, format!("core-relo: map {id} (looked_up): no element [6]\n"));
    let missing = look_up(&map, &["6", "--format", "json"]);
    let line = &missing.lines()[0];
    schema().check("map dump, map lookup, map peek, map pop", line);
    assert_eq!((missing.exit, &line["key"], &line["value_bytes"]), (1, &json!(6), &Value::Null));

    let array = typed_map(&types, ARRAY, "indexed");
    let beyond = look_up(&array, &["2"]);
    assert!(
        beyond.exit == 1 && beyond.err.contains("no element [2], or it is empty: it has [0] to [1]"),
        "{beyond:?}"
    );

    for (args, what) in [
        (&["hex", "01", "02"][..], "key: the key has 2 bytes, expected 4"),
        (&["five"], "key: five: no `int`: expected a number"),
        (&["1", "2"], "key: several words are bytes: the key has 2 bytes, expected 4"),
        (&[], "key: no key, expected a value of `int`"),
    ] {
        let wrong = look_up(&map, args);
        assert!(wrong.exit == 2 && wrong.err.contains(what) && wrong.out.is_empty(), "{args:?}: {wrong:?}");
    }
    for args in [&["map", "lookup"][..], &["map", "lookup", "counts", "7"]] {
        assert_eq!(run(args).exit, 2, "{args:?}");
    }
}

#[test]
fn per_cpu_values_of_one_element() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, PERCPU_ARRAY, "per_cpu");
    let cpus = usize::try_from(maps::possible_cpus().unwrap()).unwrap();
    map.shape().update(&native32(1), &event(4).repeat(cpus), 0).unwrap();
    let text = ok(look_up(&map, &["1"])).out;
    assert!(text.starts_with("[1] =\n\tcpu 0: {.pid = 4, ") && text.lines().count() == cpus + 1, "{text}");
    let line = &ok(look_up(&map, &["1", "--format", "json"])).lines()[0];
    assert_eq!(line["cpus"].as_array().map(Vec::len), Some(cpus));
    let one = ok(look_up(&map, &["1", "--cpu", "0"])).out;
    assert!(one.starts_with("[1] =\n\tcpu 0: {.pid = 4, ") && one.lines().count() == 2, "{one}");
    assert_eq!(ok(look_up(&map, &["1", "--cpu", "all"])).out, text);
    let refused = look_up(&map, &["1", "--cpu", "99999"]);
    assert!(
        refused.exit == 2 && refused.err.contains("no such CPU: 99999, expected one from 0 to"),
        "{refused:?}"
    );
    let shared = look_up(&untyped(ARRAY, 4, 4), &["1", "--cpu", "0"]);
    assert!(shared.exit == 2 && shared.err.contains("has one value for all CPUs"), "{shared:?}");
    let missing = &look_up(&map, &["9", "--format", "json"]).lines()[0];
    assert_eq!((&missing["cpus"], &missing["value"]), (&Value::Null, &Value::Null));
}

#[test]
fn queues_show_their_next_element_and_keep_it() {
    if types().is_none() {
        return;
    }
    let queue = untyped(QUEUE, 0, 4);
    let empty = look_up(&queue, &[]);
    assert!(empty.exit == 1 && empty.err.contains("(untyped): is empty"), "{empty:?}");
    queue.shape().update(&[], &[9; 4], 0).unwrap();
    for _ in 0..2 {
        assert_eq!(ok(look_up(&queue, &[])).out, "[next] = 09 09 09 09\n");
    }
}

#[test]
fn maps_that_cannot_be_read_say_why() {
    if types().is_none() {
        return;
    }
    let ring = MapCreate { map_type: RINGBUF, name: b"ring", max_entries: 4096, ..MapCreate::default() };
    let ring = MapFd::create(&ring).unwrap();
    let refused = look_up(&ring, &["1"]);
    assert!(refused.exit == 2 && refused.err.contains("`core-relo map events` prints"), "{refused:?}");

    let frozen = untyped(HASH, 4, 4);
    frozen.shape().update(&[1; 4], &[2; 4], 0).unwrap();
    RunningKernel.map_freeze(frozen.as_fd()).unwrap();
    assert_eq!(ok(look_up(&frozen, &["0x01010101"])).out, "[01 01 01 01] = 02 02 02 02\n");
}
