//! Tests of `struct_ops`, `iter` and `token`.

use super::{
    common::{has_own_bpffs, may_load, prebuilt, run, schema, text},
    completion::complete,
    fixture::*,
    link_fd,
};
use core_relo_loader::{
    attach::{Link, ProgramRef, RawTracepointOptions},
    inventory::LinkInfo,
    load::{Kernel as _, ProgLoad, RunningKernel},
};
use core_relo_test_support::skip;
use serde_json::{Value, json};
use std::{
    fs,
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    process::{Command, id},
    thread,
    time::{Duration, Instant},
};

const CONTROLS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const STRUCT_OPS: &str = "struct_ops list, struct_ops show";
const REGISTERED: &str = "struct_ops register, struct_ops unregister";

/// Writes a congestion control with a name that no other process uses. Returns the object and the name.
fn congestion_control(dir: &Path, object: &str, name: &str) -> (PathBuf, String) {
    let mut bytes = fs::read(prebuilt(&format!("live/{object}.bpf.o"))).unwrap();
    let mut own = format!("crt{}", id());
    own.extend(std::iter::repeat_n('x', name.len() - own.len()));
    let at = bytes.windows(name.len()).position(|window| window == name.as_bytes()).unwrap();
    bytes[at..][..name.len()].copy_from_slice(own.as_bytes());
    let path = dir.join(format!("{object}.bpf.o"));
    fs::write(&path, bytes).unwrap();
    (path, own)
}

fn is_available(name: &str) -> bool {
    fs::read_to_string(CONTROLS).unwrap().split_whitespace().any(|control| control == name)
}

/// Waits until the kernel has removed a congestion control, which takes a grace period of RCU.
fn is_removed(name: &str) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    while is_available(name) {
        if Instant::now() > end {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

#[test]
fn a_struct_ops_map_without_a_link_is_registered_until_it_is_unregistered() {
    if !may_load() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (object, name) = congestion_control(dir.path(), "struct_ops", "bpf_still");
    let registered = run(["struct_ops", "register", text(&object), "--format", "json"]);
    if registered.exit == 1 {
        return skip!("{}", registered.out);
    }
    let line = &ok(registered).lines()[0];
    schema().check(REGISTERED, line);
    assert_eq!((&line["kernel_struct_ops"], &line["pin"]), (&json!("tcp_congestion_ops"), &Value::Null));
    assert!(is_available(&name));
    let map = line["id"].to_string();

    // A second registration of the name changes nothing.
    let again = run(["struct_ops", "register", text(&object)]);
    assert!(again.exit == 1 && again.out.contains("registered already"), "{again:?}");
    assert!(complete(&["struct_ops", "show", ""]).contains(&map));

    let listed = ok(run(["struct_ops", "list", "--format", "json"])).lines();
    listed.iter().for_each(|line| schema().check(STRUCT_OPS, line));
    let own = listed.iter().find(|entry| entry["id"] == line["id"]).unwrap();
    assert_eq!((&own["state"], &own["link_ids"]), (&json!("inuse"), &json!([])));
    let shown = ok(run(["struct_ops", "show", &map])).out;
    assert!(shown.contains("tcp_congestion_ops") && shown.contains("inuse"), "{shown}");
    let value = &ok(run(["struct_ops", "dump", &map, "--format", "json"])).lines()[0];
    schema().check("struct_ops dump", value);
    assert_eq!(value["value"]["data"]["name"], name);
    let programs = value["programs"].as_array().unwrap();
    let ssthresh = programs.iter().find(|program| program["member"] == "ssthresh").unwrap();
    let program = &ok(run(["prog", "show", &ssthresh["id"].to_string(), "--format", "json"])).lines()[0];
    assert_eq!(program["name"], ssthresh["name"]);
    let dumped = ok(run(["struct_ops", "dump", &map])).out;
    assert!(dumped.contains(&format!("\"{name}\"")), "{dumped}");
    assert!(dumped.contains(&format!(".ssthresh: program {} (", ssthresh["id"])), "{dumped}");

    let done = ok(run(["struct_ops", "unregister", &map])).out;
    assert!(done.starts_with(&format!("unregistered: map {map} (")), "{done}");
    assert!(is_removed(&name));
    let again = run(["struct_ops", "unregister", &map]);
    assert!(
        again.exit == 2 && (again.err.contains("no such map") || again.err.contains("not registered")),
        "{again:?}"
    );
}

#[test]
fn a_struct_ops_map_with_a_link_is_registered_as_long_as_its_pin() {
    if !may_load()
        || !has_own_bpffs("services::a_struct_ops_map_with_a_link_is_registered_as_long_as_its_pin")
    {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (object, name) = congestion_control(dir.path(), "struct_ops_link", "bpf_still_link");
    let pins = Path::new("/sys/fs/bpf/still");
    let without_pin = run(["struct_ops", "register", text(&object)]);
    if without_pin.exit == 1 {
        return skip!("{}", without_pin.out);
    }
    assert!(
        without_pin.exit == 2 && without_pin.err.contains("map `still` is registered by a link"),
        "{without_pin:?}"
    );
    assert!(!is_available(&name));

    let registered = run(["struct_ops", "register", text(&object), text(pins), "--format", "json"]);
    if registered.exit == 1 && registered.out.contains("struct_ops") {
        return skip!("{}", registered.out);
    }
    let line = &ok(registered).lines()[0];
    schema().check(REGISTERED, line);
    assert_eq!(line["pin"], "/sys/fs/bpf/still/still");
    assert!(is_available(&name));
    let (map, link) = (line["id"].to_string(), line["link_id"].to_string());
    let shown = &ok(run(["struct_ops", "show", &map, "--format", "json"])).lines()[0];
    assert_eq!(shown["link_ids"].to_string(), format!("[{link}]"));
    let refused = run(["struct_ops", "unregister", &map]);
    assert!(
        refused.exit == 2 && refused.err.contains(&format!("core-relo link detach {link}")),
        "{refused:?}"
    );

    // The pin's name is taken: the second registration is undone.
    let (other, second) = congestion_control(dir.path(), "struct_ops_link", "bpf_still_link");
    let mut bytes = fs::read(&other).unwrap();
    let at = bytes.windows(second.len()).position(|window| window == second.as_bytes()).unwrap();
    bytes[at] = b'd';
    fs::write(&other, bytes).unwrap();
    let taken = run(["struct_ops", "register", text(&other), text(pins)]);
    assert!(
        taken.exit == 2 && taken.err.contains("/sys/fs/bpf/still/still: cannot pin it: EEXIST"),
        "{taken:?}"
    );
    assert!(is_removed(&format!("d{}", &second[1..])) && is_available(&name));

    let detached = run(["link", "detach", &link]);
    let pin = "/sys/fs/bpf/still/still";
    let note = format!("link {link}: still pinned at {pin}, which keeps the link: rm {pin}\n");
    assert_eq!((detached.exit, detached.err), (0, format!("core-relo: note: {note}")));
    assert!(ok(run(["link", "show", &link])).out.contains("detached"));
    assert!(is_removed(&name));
    fs::remove_file(pins.join("still")).unwrap();
}

#[test]
fn a_missing_struct_ops_map_refers_to_their_list() {
    if types().is_none() {
        return;
    }
    for command in ["show", "dump", "unregister"] {
        for selection in [["--id", "4294967295"], ["--name", "no_such_map"]] {
            let missing = run(["struct_ops", command].iter().chain(&selection));
            assert_eq!(missing.exit, 2);
            assert!(missing.err.ends_with("; `core-relo struct_ops list` lists them\n"), "{missing:?}");
        }
    }
}

#[test]
fn a_map_or_object_without_struct_ops_is_named() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, HASH, "no_ops");
    let map = map_id(&map).to_string();
    for command in ["show", "dump", "unregister"] {
        let wrong = run(["struct_ops", command, &map]);
        assert!(wrong.exit == 2 && wrong.err.contains("(no_ops): is no struct_ops map"), "{wrong:?}");
    }
    let wrong = run(["struct_ops", "register", text(&prebuilt("live/xdp.bpf.o"))]);
    assert!(wrong.exit == 2 && wrong.err.contains("it has no struct_ops map"), "{wrong:?}");
}

#[test]
fn an_iterator_is_pinned_and_read() {
    if !may_load() || !has_own_bpffs("services::an_iterator_is_pinned_and_read") {
        return;
    }
    let pin = Path::new("/sys/fs/bpf/tasks");
    let pinned = run(["iter", "pin", text(&prebuilt("live/iter_task.bpf.o")), text(pin), "--format", "json"]);
    if pinned.exit == 1 {
        return skip!("{}", pinned.out);
    }
    let line = &ok(pinned).lines()[0];
    schema().check("iter pin", line);
    let link = Link::open(pin).unwrap();
    let id_of_link = LinkInfo::query(&link.fd().unwrap()).unwrap().id;
    assert_eq!(line["id"], id_of_link);
    link.leak();
    let of_own_task = [native32(id()), native32(id())].concat();
    let has_own_task = |output: &[u8]| output.chunks(8).any(|line| line == of_own_task);
    assert!(has_own_task(&fs::read(pin).unwrap()));
    for args in [["read", "--pinned", text(pin), "--raw"], ["read", "--id", &id_of_link.to_string(), "--raw"]]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_core-relo")).arg("iter").args(args).output().unwrap();
        assert!(output.status.success() && has_own_task(&output.stdout), "{output:?}");
    }
    // Without --raw, the output is safe for a terminal.
    assert!(ok(run(["iter", "read", "--pinned", text(pin)])).out.contains("\\u{0}"));

    let taken = run(["iter", "pin", text(&prebuilt("live/iter_task.bpf.o")), text(pin)]);
    assert!(taken.exit == 2 && taken.err.contains("/sys/fs/bpf/tasks: cannot pin it: EEXIST"), "{taken:?}");
    let no_iterator = run(["iter", "pin", text(&prebuilt("live/xdp.bpf.o")), "/sys/fs/bpf/none"]);
    assert!(no_iterator.exit == 2 && no_iterator.err.contains("it has no iterator"), "{no_iterator:?}");
    assert!(!Path::new("/sys/fs/bpf/none").exists());
}

#[test]
fn an_iterator_of_a_map_needs_the_map() {
    let Some(types) = types() else { return };
    if !has_own_bpffs("services::an_iterator_of_a_map_needs_the_map") {
        return;
    }
    let map = typed_map(&types, HASH, "no_u64");
    let object = prebuilt("live/iter_map_elem.bpf.o");
    let pin = "/sys/fs/bpf/elements";
    let without = run(["iter", "pin", text(&object), pin]);
    if without.out.contains("EPERM") {
        skip!("a policy refuses iterators of map elements");
        return;
    }
    let what = "(this iterator needs a map as its target); name the map with --map\n";
    assert!(without.exit == 2 && without.err.ends_with(what), "{without:?}");
    let missing = run(["iter", "pin", text(&object), pin, "--map", "no_such_map"]);
    assert!(missing.exit == 2 && missing.err.contains("no map of this name"), "{missing:?}");
    let id = map_id(&map).to_string();
    // The option before the object, and bpftool's words.
    let pinned = run(["iter", "pin", "--map", &id, text(&object), "/sys/fs/bpf/new/elements"]);
    ok(pinned);
    ok(run(["iter", "pin", text(&object), pin, "map", "id", &id]));
    let link = &ok(run(["link", "show", "--pinned", pin, "--format", "json"])).lines()[0];
    assert_eq!(link["target"]["map_id"], map_id(&map));
    ok(run(["iter", "read", "pinned", pin]));
}

/// The kernel would take the number of the map's descriptor for the id of a thread.
#[test]
fn an_iterator_of_other_objects_takes_no_map() {
    let Some(types) = types() else { return };
    if !has_own_bpffs("services::an_iterator_of_other_objects_takes_no_map") {
        return;
    }
    let map = typed_map(&types, HASH, "target");
    let id = map_id(&map).to_string();
    let dir = Path::new("/sys/fs/bpf/new");
    let pin = dir.join("link");
    let tasks = prebuilt("live/iter_task.bpf.o");
    for (object, iterator) in [(&tasks, "iter/task"), (&prebuilt("live/iter_map.bpf.o"), "iter/bpf_map")] {
        let wrong = run(["iter", "pin", text(object), text(&pin), "--map", &id]);
        let what =
            format!("core-relo: --map: {iterator}: does not take this target: expected iter/bpf_map_elem, ");
        assert!(wrong.exit == 2 && wrong.err.starts_with(&what), "{wrong:?}");
    }
    let wrong = run(["load", text(&tasks), "--attach-to", "dump=map:.bss", "--pin", text(dir)]);
    assert!(wrong.exit == 1 && wrong.out.contains("iter/task: does not take this target"), "{wrong:?}");
    assert!(!dir.exists());
    ok(run(["load", text(&tasks), "--pin", text(dir)]));
    let (program, to) = (dir.join("dump"), format!("map:{id}"));
    let wrong = run(["prog", "attach", "--pinned", text(&program), "--to", &to, "--pin", text(&pin)]);
    assert!(wrong.exit == 2 && wrong.err.contains("iter/task: does not take this target"), "{wrong:?}");
    assert!(!pin.exists());
}

#[test]
fn only_links_of_iterators_are_read() {
    let Some(types) = types() else { return };
    drop(types);
    let code = [insn(0xb7, 0, 0, 0, 0), insn(0x95, 0, 0, 0, 0)].concat();
    let load = ProgLoad { prog_type: 17, insns: &code, license: b"GPL", ..ProgLoad::default() };
    let prog = RunningKernel.prog_load(&load, &mut []).unwrap();
    let attached = ProgramRef::from_fd(prog.as_fd())
        .attach_raw_tracepoint("sched_process_exit", &RawTracepointOptions::default());
    let Ok(link) = link_fd(attached) else {
        return skip!("no raw tracepoint");
    };
    let Ok(info) = LinkInfo::query(&link) else { return skip!("no links of raw tracepoints") };
    let wrong = run(["iter", "read", &info.id.to_string()]);
    assert!(wrong.exit == 2 && wrong.err.contains("is no link of an iterator"), "{wrong:?}");
}

#[test]
fn delegated_rights_of_a_bpffs_are_listed() {
    if !has_own_bpffs("services::delegated_rights_of_a_bpffs_are_listed") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let options = "delegate_cmds=prog_load:map_create,delegate_progs=any";
    let mounted = Command::new("mount").args(["-t", "bpf", "-o", options, "bpf"]).arg(dir.path()).output();
    match mounted {
        Ok(mounted) if mounted.status.success() => {}
        other => return skip!("no rights are delegated here: {other:?}"),
    }
    let lines = ok(run(["token", "list", text(dir.path()), "--format", "json"])).lines();
    schema().check("token list", &lines[0]);
    let mut commands: Vec<&str> =
        lines[0]["allowed_cmds"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    commands.sort_unstable();
    assert_eq!((commands, &lines[0]["allowed_progs"]), (vec!["map_create", "prog_load"], &json!(["any"])));
    let all = ok(run(["token", "show"])).out;
    assert!(all.contains(text(dir.path())) && all.contains("program types  any"), "{all}");
    let nothing = run(["token", "list", "/sys/fs/bpf"]);
    assert!(nothing.exit == 2 && nothing.err.contains("this bpffs delegates nothing"), "{nothing:?}");
    let nowhere = run(["token", "list", "/nowhere"]);
    assert!(nowhere.exit == 2 && nowhere.err.contains("no bpffs is mounted here"), "{nowhere:?}");
    assert!(Command::new("umount").arg(dir.path()).status().unwrap().success());
}
