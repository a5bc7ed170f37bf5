//! Tests of what users are told when a change is refused, or was made but cannot be reported.

use super::{
    attach_points::{CGROUP_DEVICE, Cgroup, XDP, attach, id_of, load, refused},
    common::{has_own_bpffs, prebuilt, run, text},
    fixture::*,
    links::has_own_netns,
};
use core_relo_loader::{load::MapCreate, map_flags, maps::MapFd};
use core_relo_test_support::skip;
use std::{
    fs,
    os::fd::AsFd as _,
    path::Path,
    process::{Command, Output},
};

const PERF_EVENT: u32 = 7;
const CGROUP_SOCK_ADDR: u32 = 18;
const CGROUP_INET4_CONNECT: u32 = 10;

/// Runs a command whose standard output is full.
fn run_full(args: &[&str]) -> Output {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    Command::new(env!("CARGO_BIN_EXE_core-relo")).args(args).stdout(full).output().unwrap()
}

#[test]
fn a_change_that_was_made_is_named_if_stdout_is_full() {
    if types().is_none() || !has_own_bpffs("refusals::a_change_that_was_made_is_named_if_stdout_is_full") {
        return;
    }
    let pin = "/sys/fs/bpf/unreported";
    let sizes = ["--type", "array", "--key-size", "4", "--value-size", "4", "--max-entries", "1"];
    let create = [&["map", "create", pin], &sizes[..]].concat();
    for format in ["text", "json"] {
        let created = run_full(&[&create[..], &["--format", format]].concat());
        let err = String::from_utf8(created.stderr).unwrap();
        assert_eq!(created.status.code(), Some(2), "{err}");
        assert!(err.contains("core-relo: the change was made: created: map "), "{err}");
        assert!(err.contains("core-relo: stdout: No space left on device"), "{err}");
        assert!(Path::new(pin).exists());
        if format == "text" {
            fs::remove_file(pin).unwrap();
        }
    }
    let updated = run_full(&["map", "update", "--pinned", pin, "0", "7"]);
    let err = String::from_utf8(updated.stderr).unwrap();
    assert!(err.contains("the change was made: updated: map "), "{err}");
    fs::remove_file(pin).unwrap();
    // What was not changed is not claimed.
    let refused = run_full(&["map", "update", "--pinned", pin, "0", "7"]);
    let err = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && !err.contains("the change was made"), "{err}");
}

#[test]
fn an_element_that_was_removed_is_printed_if_stdout_is_full() {
    if types().is_none() {
        return;
    }
    let queue = create_map(MapCreate { map_type: QUEUE, value_size: 4, ..MapCreate::default() });
    let id = map_id(&queue).to_string();
    for (format, element) in [("text", "\n[next] = 07 00 00 00\n"), ("json", "\"value_bytes\":\"07000000\"")]
    {
        ok(run(["map", "push", &id, "hex", "07", "00", "00", "00"]));
        let peeked = String::from_utf8(run_full(&["map", "peek", &id]).stderr).unwrap();
        assert!(!peeked.contains("07"), "the map still has the element: {peeked}");
        let popped = run_full(&["map", "pop", &id, "--format", format]);
        let err = String::from_utf8(popped.stderr).unwrap();
        assert_eq!(popped.status.code(), Some(2), "{err}");
        assert!(err.contains("the element was removed") && err.contains(element), "{err}");
        assert_eq!(run(["map", "peek", &id]).exit, 1);
    }
}

/// Creates a map of two elements.
fn create_map(map: MapCreate<'_>) -> MapFd {
    MapFd::create(&MapCreate { max_entries: 2, ..map }).unwrap()
}

#[test]
fn what_a_map_refuses_is_explained() {
    if types().is_none() {
        return;
    }
    let of_ints = MapCreate { map_type: ARRAY, key_size: 4, value_size: 4, ..MapCreate::default() };
    let inner = create_map(of_ints);
    let outer = create_map(MapCreate { map_type: ARRAY_OF_MAPS, inner: Some(inner.as_fd()), ..of_ints });
    let [inner, outer] = [&inner, &outer].map(|map| map_id(map).to_string());
    for condition in ["noexist", "--exist"] {
        let wrong = run(["map", "update", &outer, "0", &inner, condition]);
        refused(&wrong, "maps of this type take no condition: EINVAL");
    }
    ok(run(["map", "update", &outer, "0", &inner, "any"]));

    for (map_flags, programs) in [(0, "may still write"), (map_flags::RDONLY_PROG, "cannot write")] {
        let map = create_map(MapCreate { map_flags, ..of_ints });
        let id = map_id(&map).to_string();
        ok(run(["map", "freeze", &id]));
        refused(&run(["map", "update", &id, "0", "1"]), &format!("; programs {programs} to it"));
    }
}

#[test]
fn sizes_beyond_the_kernels_limits_are_named() {
    if types().is_none() {
        return;
    }
    let create = |map_type, value_size| {
        let sizes = ["--key-size", "4", "--max-entries", "4294967295", "--value-size", value_size];
        run([&["map", "create", "/sys/fs/bpf/none", "--type", map_type], &sizes[..]].concat())
    };
    refused(
        &create("hash", "2147483647"),
        "E2BIG: Argument list too long; keys, values or --max-entries are",
    );
    let too_large = create("array", "1024");
    refused(&too_large, "ENOMEM: Cannot allocate memory; the ");
    assert!(
        too_large.err.contains("too little memory") || too_large.err.contains("memory limit"),
        "{too_large:?}"
    );
}

#[test]
fn a_link_without_replacement_or_with_a_map_is_explained() {
    let test = "refusals::a_link_without_replacement_or_with_a_map_is_explained";
    if types().is_none() || !has_own_netns(test) || !has_own_bpffs(test) {
        return;
    }
    let dir = "/sys/fs/bpf/ops";
    let registered = run(["struct_ops", "register", text(&prebuilt("live/struct_ops_link.bpf.o")), dir]);
    if registered.exit == 0 {
        let of_ints = MapCreate { map_type: ARRAY, key_size: 4, value_size: 4, ..MapCreate::default() };
        let map = create_map(of_ints);
        let wrong = run(["link", "update", "--pinned", "/sys/fs/bpf/ops/still", &map_id(&map).to_string()]);
        refused(&wrong, "does not replace the map of a BPF_LINK_TYPE_STRUCT_OPS link by this one");
        fs::remove_dir_all(dir).unwrap();
    } else {
        skip!("no link of struct_ops: {}", registered.out);
    }
    let pin = "/sys/fs/bpf/filter";
    let object = prebuilt("live/netfilter.bpf.o");
    let loaded = run(["load", text(&object), "--attach-to", "hook=netfilter:ipv4,input,5", "--pin", pin]);
    if loaded.exit != 0 {
        return skip!("no link of netfilter: {}", loaded.out);
    }
    let link = fs::read_dir(Path::new(pin).join("links")).unwrap().next().unwrap().unwrap().path();
    let wrong = run(["link", "update", "--pinned", text(&link), "/sys/fs/bpf/filter/hook"]);
    refused(&wrong, "EOPNOTSUPP: Operation not supported; the kernel does not replace programs of ");
    fs::remove_dir_all(pin).unwrap();
}

#[test]
fn a_pin_creates_its_directory_and_a_failed_one_leaves_none() {
    if types().is_none()
        || !has_own_bpffs("refusals::a_pin_creates_its_directory_and_a_failed_one_leaves_none")
    {
        return;
    }
    let Ok(program) = load(XDP, 0, 2) else { return skip!("no XDP programs") };
    let id = id_of(&program);
    for (pin, what) in [
        ("/sys/fs/bpf/new/a.b", "names on a bpffs have no dots"),
        ("/sys/fs/bpf/new/dir/pin", "create the others first: mkdir -p"),
    ] {
        refused(&run(["prog", "pin", &id, pin]), what);
        assert!(!Path::new("/sys/fs/bpf/new").exists());
    }
    let pin = "/sys/fs/bpf/new/pin";
    assert_eq!(ok(run(["prog", "pin", &id, pin])).out, format!("pinned: program {id}: {pin}\n"));
    fs::remove_dir_all("/sys/fs/bpf/new").unwrap();
}

#[test]
fn a_second_load_says_that_it_is_loaded_although_the_place_is_taken() {
    let test = "refusals::a_second_load_says_that_it_is_loaded_although_the_place_is_taken";
    if types().is_none() || !has_own_netns(test) || !has_own_bpffs(test) {
        return;
    }
    let (object, pin) = (prebuilt("live/xdp.bpf.o"), "/sys/fs/bpf/twice");
    let load = || run(["load", text(&object), "--attach-to", "count=dev:own_lo", "--pin", pin]);
    ok(load());
    let second = load();
    assert!(
        second.exit == 1 && second.out.contains("pins of this load exist, so it is loaded"),
        "{second:?}"
    );
    assert!(second.out.contains(&format!("`rm -r {pin}`")), "{second:?}");
    fs::remove_dir_all(pin).unwrap();
    // Another program at the place is named.
    let other = super::attach_points::load(XDP, 0, 2).unwrap();
    ok(attach(&id_of(&other), "dev:own_lo", &[]));
    let taken = load();
    assert!(taken.exit == 1 && taken.out.contains("attached there: program "), "{taken:?}");
    assert!(!Path::new(pin).exists());
}

#[test]
fn several_objects_are_pinned_in_directories_of_their_own() {
    if types().is_none() || !has_own_bpffs("refusals::several_objects_are_pinned_in_directories_of_their_own")
    {
        return;
    }
    let (first, second) = (prebuilt("live/xdp.bpf.o"), prebuilt("live/globals.bpf.o"));
    // The missing directories above are created, too.
    let dir = "/sys/fs/bpf/new/both";
    ok(run(["load", text(&first), text(&second), "--pin", dir]));
    let is_pinned = |name: &str| Path::new(dir).join(name).exists();
    assert!(is_pinned("xdp/count") && is_pinned("xdp/maps/_bss") && is_pinned("globals/maps/_bss"));
    fs::remove_dir_all("/sys/fs/bpf/new").unwrap();
    // Objects with the same name are refused before anything is loaded.
    let dirs = tempfile::tempdir().unwrap();
    let copy = dirs.path().join("xdp.v2.bpf.o");
    fs::copy(&first, &copy).unwrap();
    let clash = run(["load", text(&first), text(&copy), "--pin", dir]);
    let is_named = clash.err.contains("would be pinned in /sys/fs/bpf/new/both/xdp, as ");
    assert!(
        clash.exit == 2 && clash.out.is_empty() && is_named && !Path::new("/sys/fs/bpf/new").exists(),
        "{clash:?}"
    );
    // A load that cannot pin removes what it created.
    let refused = run(["load", text(&first), "--pin", "/sys/fs/bpf/new/a.b/c"]);
    assert!(refused.exit == 1 && !Path::new("/sys/fs/bpf/new").exists(), "{refused:?}");
}

#[test]
fn places_that_do_not_exist_are_named() {
    if types().is_none() || !has_own_bpffs("refusals::places_that_do_not_exist_are_named") {
        return;
    }
    let Ok(program) = load(PERF_EVENT, 0, 0) else { return skip!("no programs of perf events") };
    let (id, pin) = (id_of(&program), "/sys/fs/bpf/event");
    refused(&attach(&id, "cpu:99999", &["--pin", pin]), "cpu:99999: no such CPU: expected one from 0 to ");
    let ended = attach(&id, "pid:4194304", &["--pin", pin]);
    refused(&ended, "pid:4194304: no such process");
    let no_pin = run(["prog", "show", "--pinned", "/etc/passwd"]);
    refused(&no_pin, "is it a pin, below a mounted bpffs");
}

#[test]
fn what_a_cgroup_refuses_is_explained() {
    if types().is_none() || !has_own_bpffs("refusals::what_a_cgroup_refuses_is_explained") {
        return;
    }
    let Some(group) = Cgroup::new("core_relo_refusals") else { return };
    let connect = load(CGROUP_SOCK_ADDR, CGROUP_INET4_CONNECT, 1).unwrap();
    let id = id_of(&connect);
    refused(&attach(&id, &group.point(",bind4"), &[]), "was the program loaded for this attach type");
    refused(&attach(&id, &group.point(",conect4"), &[]), "unknown attach type `conect4`");
    let at = group.point(",connect4");
    ok(attach(&id, &at, &[]));
    refused(&attach(&id, &at, &[]), &format!("attached there: this program ({id})"));
    ok(run(["prog", "detach", &id, "--from", &at]));
    let xdp = load(XDP, 0, 2).unwrap();
    refused(&attach(&id_of(&xdp), "dev:lo", &["--sharing", "multi"]), "--sharing is for cgroups only");
    // A directory may have a comma in its name.
    let comma = group.0.join("a,b");
    fs::create_dir(&comma).unwrap();
    let device = load(CGROUP_DEVICE, 6, 1).unwrap();
    ok(attach(&id_of(&device), &format!("cgroup:{}", comma.display()), &[]));
    // So may one that does not exist.
    let missing = format!("cgroup:{}/c", comma.display());
    let at_missing = attach(&id_of(&device), &missing, &[]);
    assert!(at_missing.exit == 2 && !at_missing.err.contains("attach type"), "{at_missing:?}");
    fs::remove_dir(comma).unwrap();
}

#[test]
fn variables_of_a_data_section_are_updated_one_by_one() {
    if types().is_none() || !has_own_bpffs("refusals::variables_of_a_data_section_are_updated_one_by_one") {
        return;
    }
    let (object, pin) = (prebuilt("live/globals.bpf.o"), "/sys/fs/bpf/globals");
    ok(run(["load", text(&object), "--pin", pin]));
    let data = "/sys/fs/bpf/globals/maps/_data";
    let dump = || ok(run(["map", "dump", "--pinned", data, "--format", "json"])).lines()[0]["value"].clone();
    let before = dump();
    let (name, _) = before.as_object().unwrap().iter().find(|(_, value)| value.is_number()).unwrap();
    let mut expected = before.clone();
    expected[name] = 7.into();
    let value = format!("{{\"{name}\":7}}");
    ok(run(["map", "update", "--pinned", data, "0", &value]));
    assert_eq!(dump(), expected);
    // What a dump prints is a value.
    ok(run(["map", "update", "--pinned", data, "0", &before.to_string()]));
    assert_eq!(dump(), before);
    let wrong = run(["map", "update", "--pinned", data, "0", "{\"nosuch\":1}"]);
    refused(&wrong, "`.data` has no variable `nosuch`");
    refused(&run(["map", "update", "--pinned", data, "0", "7"]), "expected a value of");
    fs::remove_dir_all(pin).unwrap();
}

#[test]
fn a_map_of_maps_is_created_with_the_name_or_pin_of_its_inner_map() {
    if types().is_none()
        || !has_own_bpffs("refusals::a_map_of_maps_is_created_with_the_name_or_pin_of_its_inner_map")
    {
        return;
    }
    let name = unique("inner");
    let map = MapCreate {
        map_type: 2,
        name: name.as_bytes(),
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        ..MapCreate::default()
    };
    let inner = MapFd::create(&map).unwrap();
    ok(run(["map", "pin", &map_id(&inner).to_string(), "/sys/fs/bpf/inner"]));
    let sizes = ["--type", "array_of_maps", "--key-size", "4", "--value-size", "4", "--max-entries", "1"];
    let create = |word: &str| {
        let created =
            run([&["map", "create", "/sys/fs/bpf/outer"], &sizes[..], &["--inner-map", word]].concat());
        let _ = fs::remove_file("/sys/fs/bpf/outer");
        created
    };
    for word in ["/sys/fs/bpf/inner", &name, &map_id(&inner).to_string()] {
        ok(create(word));
    }
    refused(&create("nosuch"), "nosuch: no map of this name");
    fs::remove_file("/sys/fs/bpf/inner").unwrap();
}

#[test]
fn a_dry_run_compares_reused_maps() {
    if types().is_none() {
        return;
    }
    let map = |map_type, max_entries, sizes: (u32, u32)| {
        let (key_size, value_size) = sizes;
        let map = MapCreate { map_type, key_size, value_size, max_entries, ..MapCreate::default() };
        MapFd::create(&map).unwrap()
    };
    let object = prebuilt("live/ringbuf.bpf.o");
    let load = |map: &MapFd, more: &[&str]| {
        let reuse = format!("events={}", map_id(map));
        run([&["load", text(&object), "--reuse-map", &reuse], more].concat())
    };
    let (ring, hash) = (map(27, 4096, (0, 0)), map(1, 1, (4, 4)));
    let refusal = load(&hash, &[]);
    assert!(refusal.exit == 1 && refusal.out.contains("map `events`: the reused map"), "{refusal:?}");
    let judged = load(&hash, &["--dry-run"]);
    assert!(judged.exit == 1 && judged.out.contains("map `events`: the reused map"), "{judged:?}");
    assert!(!judged.out.contains("verdict: loads"), "{judged:?}");
    let judged = load(&ring, &["--dry-run"]);
    let plan = judged.out.contains("load plan") && !judged.out.contains("the reused map");
    assert!(plan, "{judged:?}");
}
