//! Tests of the commands that inspect the running kernel, on maps and programs of the test process. Needs
//! root.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod adaptive;
mod attach_points;
mod attachments;
mod changes;
#[path = "../common/mod.rs"]
mod common;
mod completion;
mod features;
mod fixture;
mod links;
mod lookup;
mod occupants;
mod programs;
mod refusals;
mod selection;
mod services;

use common::{run, schema};
use core_relo_loader::{
    Loader,
    attach::{AttachError, Link, Placement, RawTracepointOptions, TracepointOptions, UprobeOptions, XdpMode},
    inventory::{self, BtfInfo, ProgramInfo},
    load::{MapCreate, ProgLoad},
    load_plan::AttachTarget,
    maps::{self, MapFd},
    object::{AttachType, Object},
};

use core_relo_test_support::skip;
use fixture::*;
use serde_json::{Value, json};
use std::{
    fs,
    io::{self, BufRead as _},
    os::fd::{AsFd as _, OwnedFd},
    path::PathBuf,
    process::{Command, Stdio, id},
    sync::Arc,
};

#[test]
fn maps_are_listed_shown_and_dumped_by_their_types() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, HASH, "events");
    let id = map_id(&map).to_string();
    map.shape().update(&native32(5), &event(7), 0).unwrap();

    let text = ok(run(["map", "dump", "--id", &id])).out;
    assert_eq!(text, format!("{id}  hash  events\n[5] = {EVENT}\n"));
    let typed = ok(run(["map", "dump", "--id", &id, "--types"])).out;
    assert!(
        typed.contains("[(int)5] = (struct event){\n\t.pid = (int)7,\n\t.comm = (char[8])\"bash\",\n"),
        "{typed}"
    );
    let hex = ok(run(["map", "dump", "--id", &id, "--hex"])).out;
    let bytes = |data: &[u8]| data.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>();
    assert!(
        hex.ends_with(&format!("[{}] = {}\n", bytes(&native32(5)).join(" "), bytes(&event(7)).join(" "))),
        "{hex}"
    );

    let schema = schema();
    let lines = ok(run(["map", "dump", "--id", &id, "--format", "json"])).lines();
    assert_eq!(lines.len(), 1);
    schema.check("map dump, map lookup, map peek, map pop", &lines[0]);
    assert_eq!((&lines[0]["key"], &lines[0]["value"]), (&json!(5), &event_json(7)));
    assert_eq!(lines[0]["value_bytes"], bytes(&event(7)).concat());

    let shown = ok(run(["map", "show", "--id", &id])).out;
    assert!(
        shown.contains("24 bytes, struct event\n") && shown.contains(&format!("({})", std::process::id())),
        "{shown}"
    );
    let listed = ok(run(["map", "list", "--format", "json"])).lines();
    let own = listed
        .iter()
        .find(|line| line["id"].as_u64().is_some_and(|n| n.to_string() == *id))
        .expect("the own map is listed");
    listed.iter().for_each(|line| schema.check("map list, map show", line));
    assert_eq!((&own["map_type"], &own["key_type"]), (&json!("BPF_MAP_TYPE_HASH"), &json!("int")));
    assert_eq!(own["pids"][0]["pid"], std::process::id());
    assert!(ok(run(["map", "list"])).out.contains("events"));
}

#[test]
fn per_cpu_values_are_dumped_per_cpu() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, PERCPU_ARRAY, "per_cpu");
    let cpus = usize::try_from(maps::possible_cpus().unwrap()).unwrap();
    let values: Vec<u8> = (0..cpus).flat_map(|cpu| event(u32::try_from(cpu).unwrap() + 1)).collect();
    map.shape().update(&native32(1), &values, 0).unwrap();
    let id = map_id(&map).to_string();
    let lines = ok(run(["map", "dump", "--id", &id, "--format", "json"])).lines();
    assert_eq!(lines.len(), 2);
    schema().check("map dump, map lookup, map peek, map pop", &lines[1]);
    let cpu_values = lines[1]["cpus"].as_array().unwrap();
    assert_eq!((cpu_values.len(), &lines[1]["value"]), (cpus, &Value::Null));
    assert_eq!(
        (&cpu_values[cpus - 1]["cpu"], &cpu_values[cpus - 1]["value"]),
        (&json!(cpus - 1), &event_json(u32::try_from(cpus).unwrap()))
    );
    let text = ok(run(["map", "dump", "--id", &id])).out;
    assert!(text.contains("[1] =\n\tcpu 0: {.pid = 1, "), "{text}");
}

#[test]
fn maps_without_btf_and_maps_of_ids_are_dumped() {
    if types().is_none() {
        return;
    }
    let make = |map_type, key_size, value_size, max_entries, inner: Option<&MapFd>| {
        let inner = inner.map(|inner| inner.as_fd());
        let name = b"untyped";
        let map =
            MapCreate { map_type, name, key_size, value_size, max_entries, inner, ..MapCreate::default() };
        MapFd::create(&map).unwrap()
    };
    let dump = |map: &MapFd| run(["map", "dump", "--id", &map_id(map).to_string()]);

    let plain = make(ARRAY, 4, 40, 1, None);
    plain.shape().update(&native32(0), &[0xab; 40], 0).unwrap();
    let text = ok(dump(&plain)).out;
    let sixteen = ["ab"; 16].join(" ");
    assert!(
        text.ends_with(&format!("\n\t0000  {sixteen}\n\t0010  {sixteen}\n\t0020  ab ab ab ab ab ab ab ab\n")),
        "{text}"
    );
    let line = &ok(run(["map", "dump", "--id", &map_id(&plain).to_string(), "--format", "json"])).lines()[0];
    assert_eq!(
        (&line["key"], &line["value"], &line["value_bytes"]),
        (&Value::Null, &Value::Null, &json!("ab".repeat(40)))
    );

    let outer = make(ARRAY_OF_MAPS, 4, 4, 3, Some(&plain));
    let inner_fd = std::os::fd::AsRawFd::as_raw_fd(&plain.as_fd()).cast_unsigned();
    outer.shape().update(&native32(1), &native32(inner_fd), 0).unwrap();
    let text = ok(dump(&outer)).out;
    assert!(text.ends_with(&format!("[{}] = map {} (untyped)\n", hex_key(1), map_id(&plain))), "{text}");
    assert_eq!(text.lines().count(), 2, "empty elements are omitted: {text}");

    let empty = make(PROG_ARRAY, 4, 4, 2, None);
    assert_eq!(ok(dump(&empty)).out.lines().count(), 1);

    let queue = make(QUEUE, 0, 4, 2, None);
    assert_eq!(ok(dump(&queue)).out.lines().count(), 1);
    queue.shape().update(&[], &[9, 9, 9, 9], 0).unwrap();
    let next = dump(&queue);
    assert!(next.exit == 0 && next.out.ends_with("[next] = 09 09 09 09\n"), "{next:?}");
    assert!(next.err.contains("only its next element is shown"), "{next:?}");

    let sockets = make(SOCKMAP, 4, 4, 1, None);
    let refused = dump(&sockets);
    assert_eq!((refused.exit, refused.err.lines().count()), (2, 1));
    assert!(refused.err.contains("(untyped): the kernel does not show elements"), "{}", refused.err);

    let ring = make(RINGBUF, 0, 0, 4096, None);
    let refused = dump(&ring);
    assert_eq!((refused.exit, refused.err.lines().count()), (2, 1));
    assert!(refused.err.contains("(untyped): a ring buffer has no elements"), "{}", refused.err);
}

fn hex_key(key: u32) -> String {
    native32(key).iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn programs_are_shown_and_disassembled() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, ARRAY, "looked_into");
    let prog = program(&types, &map, "count_things_of_a_long_name");
    let info = ProgramInfo::query(&prog).unwrap();
    let (id, schema) = (info.id.to_string(), schema());

    let listed = ok(run(["prog", "list", "--format", "json"])).lines();
    listed.iter().for_each(|line| schema.check("prog list, prog show", line));
    let own = listed
        .iter()
        .find(|line| line["id"].as_u64().is_some_and(|n| n.to_string() == *id))
        .expect("the own program is listed");
    assert_eq!(own["name"], "count_things_of_a_long_name", "the whole name is in the BTF");
    assert_eq!(own["map_ids"], json!([map_id(&map)]));
    assert_eq!(own["program_type"], "BPF_PROG_TYPE_SOCKET_FILTER");
    let shown = ok(run(["prog", "show", "--id", &id])).out;
    assert!(shown.starts_with(&format!("{id}  socket_filter  count_things_of_a_long_name\n")), "{shown}");
    assert!(shown.contains("GPL-compatible") && shown.contains(" UTC by uid "), "{shown}");
    assert!(ok(run(["prog", "list"])).out.contains("count_things_of_a_long_name"));

    let lines = ok(run(["prog", "dump", "--id", &id, "--format", "json"])).lines();
    lines.iter().for_each(|line| schema.check("prog dump", line));
    assert_eq!(
        lines.len(),
        usize::try_from(info.xlated_prog_len / 8).unwrap() - 1,
        "one instruction has two slots"
    );
    let map_ref = json!({"id": map_id(&map), "name": "looked_into", "offset": null});
    assert_eq!(lines[0]["map"], map_ref);
    assert_eq!(lines[0]["source"]["text"], "return add_up(ctx);");
    assert_eq!((&lines[0]["source"]["line"], &lines[0]["source"]["column"]), (&json!(12), &json!(5)));
    let calls: Vec<_> =
        lines.iter().filter(|line| !line["call"].is_null()).map(|line| &line["call"]).collect();
    assert_eq!((calls.len(), &calls[0]["kind"]), (2, &json!("helper")));
    let hidden = calls[0]["name"].is_null();
    if hidden {
        skip!("/proc/kallsyms shows no addresses: helpers have no names here");
    } else {
        assert_eq!(calls[0]["name"], "bpf_ktime_get_ns");
    }
    assert_eq!(calls[1], &json!({"kind": "function", "name": "add_up"}));
    assert!(lines.iter().filter(|line| line["function"] == "add_up").count() >= 4);

    let text = ok(run(["prog", "dump", "--id", &id])).out;
    let expected = [
        "int count_things_of_a_long_name(void *ctx):\n; return add_up(ctx);  dir/count.bpf.c:12\n".to_owned(),
        format!("    0: r6 = map {} (looked_into)\n", map_id(&map)),
        "call add_up\n".to_owned(),
        "\nint add_up(void *ctx):\n; static int add_up(void *ctx)  dir/count.bpf.c:3\n".to_owned(),
    ];
    expected.iter().for_each(|part| assert!(text.contains(part), "no {part} in\n{text}"));
    assert!(text.contains("if r0 == 0x0 goto +1 <") || text.contains("if r0 == 0 goto +1 <"), "{text}");

    let raw = ok(run(["prog", "dump", "--id", &id, "--raw"])).out;
    assert!(!raw.contains("add_up") && raw.contains("r0 += 1"), "{raw}");
    compare_with_bpftool(&id, &raw);

    let opcodes = ok(run(["prog", "dump", "--id", &id, "--opcodes", "--linum"])).out;
    assert!(opcodes.contains("dir/count.bpf.c:12:5\n") && opcodes.contains("9500000000000000"), "{opcodes}");
    let graph = ok(run(["prog", "dump", "--id", &id, "--graph"])).out;
    assert!(
        graph.starts_with("digraph") && graph.contains("label=\"add_up\"") && graph.ends_with("}\n"),
        "{graph}"
    );
    let blocks = ok(run(["prog", "dump", "--id", &id, "--graph", "--format", "json"])).lines();
    blocks.iter().for_each(|line| schema.check("inspect --disasm --graph", line));
    assert!(blocks.iter().any(|line| line["edges"].as_array().unwrap().len() == 2), "{blocks:?}");
    machine_code_is_disassembled(&id, &info);
}

/// Checks the machine code of the program with the subprogram `add_up`, if the kernel shows it.
fn machine_code_is_disassembled(id: &str, info: &ProgramInfo) {
    let text = run(["prog", "dump", "--id", id, "--jited", "--opcodes"]);
    if text.exit == 2 {
        assert!(text.err.contains("help") || text.err.contains("; "), "the reason: {}", text.err);
        return skip!("{}", text.err);
    }
    assert!(text.out.contains("int add_up(void *ctx):"), "{}", text.out);
    assert!(text.out.contains("; return add_up(ctx);  dir/count.bpf.c:12\n"), "{}", text.out);
    assert!(text.out.contains("<add_up>\n"), "the call has the name of its target: {}", text.out);
    let lines = ok(run(["prog", "dump", "--id", id, "--jited", "--format", "json"])).lines();
    lines.iter().for_each(|line| schema().check("prog dump --jited", line));
    let bytes =
        |lines: &[Value]| -> String { lines.iter().map(|line| line["bytes"].as_str().unwrap()).collect() };
    let raw = ok(run(["prog", "dump", "--id", id, "--jited", "--raw", "--format", "json"])).lines();
    assert_eq!(bytes(&lines), bytes(&raw), "the instructions cover all bytes");
    assert_eq!(bytes(&raw).len(), usize::try_from(info.jited_prog_len).unwrap() * 2);
    assert!(lines.iter().all(|line| line["text"] != "(bad)"), "{lines:?}");
    compare_with_objdump(&lines);
}

/// Compares machine instructions with those of binutils' objdump, if it is available.
fn compare_with_objdump(lines: &[Value]) {
    if std::env::consts::ARCH != "x86_64" {
        return skip!("the notation of objdump is compared on x86-64 only");
    }
    let bytes: Vec<u8> = lines
        .iter()
        .flat_map(|line| {
            let hex = line["bytes"].as_str().unwrap();
            (0..hex.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
                .collect::<Vec<_>>()
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("code");
    fs::write(&path, bytes).unwrap();
    let args = ["-D", "-b", "binary", "-m", "i386:x86-64", "--no-show-raw-insn", common::text(&path)];
    let Ok(output) = Command::new("objdump").args(args).output() else {
        return skip!("no objdump to compare with");
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let theirs: Vec<_> = text.lines().filter_map(|line| line.trim_start().split_once(":\t")).collect();
    assert_eq!(theirs.len(), lines.len(), "{text}");
    for ((_, theirs), ours) in theirs.iter().zip(lines) {
        // The mnemonics and registers: the notations of numbers and jumps differ.
        let words = |text: &str| -> Vec<String> {
            let mnemonic = text.split(' ').next().unwrap().to_owned();
            let registers = text.split(['%', ',', '(', ')', ' ']).filter(|word| word.starts_with('r'));
            [mnemonic].into_iter().chain(registers.map(str::to_owned)).collect()
        };
        let ours = ours["text"].as_str().unwrap();
        if !ours.starts_with("nop") && !theirs.contains("nop") && !theirs.starts_with("xchg") {
            assert_eq!(words(ours), words(theirs), "{ours} / {theirs}");
        }
    }
}

/// Compares a disassembly with that of bpftool, if bpftool is available.
fn compare_with_bpftool(id: &str, raw: &str) {
    let Ok(theirs) =
        Command::new("bpftool").args(["-j", "prog", "dump", "xlated", "id", id, "opcodes"]).output()
    else {
        return skip!("no bpftool to compare with");
    };
    let Ok(theirs) = serde_json::from_slice::<Value>(&theirs.stdout) else {
        return skip!("bpftool does not work");
    };
    let theirs: Vec<_> =
        theirs.as_array().unwrap().iter().map(|insn| insn["disasm"].as_str().unwrap()).collect();
    assert_eq!(raw.lines().skip(1).count(), theirs.len(), "{raw}\n{theirs:#?}");
    for (ours, theirs) in raw.lines().skip(1).zip(theirs) {
        if !theirs.contains("call") && !theirs.contains("map") {
            let theirs = theirs.split_once(") ").unwrap().1.replace("goto pc", "goto ").replace("0x0 ", "0 ");
            assert!(ours.ends_with(&theirs), "{ours} / {theirs}");
        }
    }
}

/// A pin. The drop removes it.
struct Pin(PathBuf);

impl Drop for Pin {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// Returns the mount point of a bpffs.
fn bpffs() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let dir = words.next()?;
        (words.next()? == "bpf").then(|| PathBuf::from(dir))
    })
}

/// Runs a test again in a mount namespace with a bpffs.
fn rerun_with_bpffs(test: &str) {
    let dir = tempfile::tempdir().unwrap();
    let own = std::env::current_exe().unwrap();
    let script = r#"mount -t bpf bpf "$1" || exit 99; exec "$2" --exact "$3""#;
    let arguments = ["-m", "--propagation", "private", "sh", "-c", script, "sh"];
    let mut command = Command::new("unshare");
    command.args(arguments).arg(dir.path()).arg(own).arg(test);
    match command.env("CORE_RELO_AGAIN", "1").output() {
        Ok(output) if output.status.code() == Some(99) => skip!("no bpffs can be mounted"),
        Err(e) => skip!("no mount namespace for a bpffs: {e}"),
        Ok(output) => {
            let out = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{out}{}", String::from_utf8_lossy(&output.stderr));
            assert!(out.contains("1 passed"), "{out}");
        }
    }
}

#[test]
fn objects_are_found_by_name_and_by_pin() {
    let Some(types) = types() else { return };
    let name = format!("find{}", id());
    let map = typed_map(&types, ARRAY, &name);
    let id = map_id(&map);
    let lines = ok(run(["map", "show", "--name", &name, "--format", "json"])).lines();
    assert_eq!((lines.len(), &lines[0]["id"]), (1, &json!(id)));

    let unknown = run(["map", "show", "--name", &format!("x{name}")]);
    assert!(unknown.err.contains("no map of this name; did you mean `find"), "{unknown:?}");

    let prog = program(&types, &map, "count_things_of_a_long_name");
    for name in ["count_things_of_a_long_name", "count_things_of"] {
        let lines = ok(run(["prog", "show", "--name", name, "--format", "json"])).lines();
        assert!(lines.iter().any(|line| line["id"] == ProgramInfo::query(&prog).unwrap().id), "{name}");
    }
    assert_eq!(run(["prog", "show", "--name", "count_things_of_another_name"]).exit, 2);

    let Some(dir) = bpffs() else {
        if std::env::var_os("CORE_RELO_AGAIN").is_none() {
            rerun_with_bpffs("objects_are_found_by_name_and_by_pin");
        }
        return;
    };
    let pin = Pin(dir.join(unique("prog")));
    inventory::pin(&prog, &pin.0).unwrap();
    let path = common::text(&pin.0);
    let lines = ok(run(["prog", "show", "--pinned", path, "--format", "json"])).lines();
    assert_eq!(lines[0]["pinned"], json!([path]));
    let listed = ok(run(["prog", "list"])).out;
    assert!(listed.contains(path), "{listed}");
    let wrong = run(["map", "show", "--pinned", path]);
    assert_eq!(wrong.exit, 2);
    assert!(wrong.err.contains("is a pin of a program, expected a map"), "{}", wrong.err);
}

/// Runs a command with a limit on open files.
fn run_with_files(limit: u32, args: &[&str]) -> common::Run {
    let script = format!("ulimit -n {limit}; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_core-relo")]).args(args);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    common::Run { out: text(output.stdout), err: text(output.stderr), exit: output.status.code().unwrap() }
}

#[test]
fn lists_are_not_limited_by_open_files() {
    let Some(types) = types() else { return };
    let maps: Vec<_> = (0..24).map(|_| typed_map(&types, ARRAY, "one_of_many")).collect();
    let programs: Vec<_> = maps.iter().map(|map| program(&types, map, "one_of_many")).collect();
    let numbers = |ids: &mut dyn Iterator<Item = u32>| ids.map(|id| json!(id)).collect::<Vec<_>>();
    let map_ids = numbers(&mut maps.iter().map(map_id));
    let prog_ids = numbers(&mut programs.iter().map(|p| ProgramInfo::query(p).unwrap().id));
    let has_all =
        |lines: &[Value], ids: &[Value]| ids.iter().all(|id| lines.iter().any(|line| line["id"] == *id));
    let listed = ok(run_with_files(16, &["map", "list", "--format", "json"])).lines();
    assert!(has_all(&listed, &map_ids));
    let listed = ok(run_with_files(16, &["prog", "list", "--format", "json"])).lines();
    assert!(has_all(&listed, &prog_ids));
    let named =
        ok(run_with_files(16, &["prog", "show", "--name", "one_of_many", "--format", "json"])).lines();
    assert!(has_all(&named, &prog_ids));
    ok(run_with_files(16, &["link", "list"]));
    let listed = ok(run_with_files(16, &["btf", "list", "--format", "json"])).lines();
    let btf = BtfInfo::query(&types.fd).unwrap().id;
    let own = listed.iter().find(|line| line["id"] == btf).expect("the own BTF is listed");
    assert_eq!((&own["map_ids"], &own["prog_ids"]), (&json!(map_ids), &json!(prog_ids)));
    // If no object can be opened, the command fails instead of printing an empty list.
    let none = run_with_files(3, &["prog", "list"]);
    assert_ne!((none.exit, none.err.as_str()), (0, ""), "{}", none.out);
}

#[test]
fn btf_of_the_kernel_is_listed_and_dumped() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, ARRAY, "typed");
    let (btf, schema) = (BtfInfo::query(&types.fd).unwrap().id, schema());
    let listed = ok(run(["btf", "list", "--format", "json"])).lines();
    listed.iter().for_each(|line| schema.check("btf list, btf show", line));
    let own = listed.iter().find(|line| line["id"] == btf).expect("the own BTF is listed");
    assert_eq!((&own["map_ids"], &own["kernel"]), (&json!([map_id(&map)]), &json!(false)));
    let id = btf.to_string();
    assert!(ok(run(["btf", "show", "--id", &id])).out.contains("maps"));
    assert!(ok(run(["btf", "list"])).out.contains("BYTES"));
    let dumped = ok(run(["btf", "dump", "--kernel-id", &id, "--type-name", "event"])).out;
    assert!(dumped.contains("STRUCT 'event' size=24"), "{dumped}");
    if listed.iter().any(|line| line["name"] == "vmlinux") {
        let shown = ok(run(["btf", "show", "--name", "vmlinux", "--format", "json"])).lines();
        assert_eq!((&shown[0]["kernel"], shown.len()), (&json!(true), 1));
    }
}

#[test]
fn a_missing_kernel_object_is_one_line_and_status_2() {
    if types().is_none() {
        return;
    }
    for (command, help) in [
        ("prog", "`core-relo prog list`"),
        ("map", "`core-relo map list`"),
        ("link", "`core-relo link list`"),
    ] {
        for selector in [["--id", "4294967295"], ["--name", "no such name"]] {
            let run = run([command, "show", selector[0], selector[1]]);
            assert_eq!((run.exit, run.out.as_str(), run.err.lines().count()), (2, "", 1), "{}", run.err);
            assert!(run.err.contains(help), "{}", run.err);
        }
        let pinned = run([command, "show", "--pinned", "/nowhere/at/all", "--format", "json"]);
        assert_eq!((pinned.exit, pinned.err.lines().count()), (2, 1));
        schema().check("Bad input", &pinned.lines()[0]);
    }
    assert_eq!(run(["btf", "show", "--id", "4294967295"]).exit, 2);
    assert_eq!(run(["btf", "dump", "--kernel-id", "4294967295"]).exit, 2);
}

#[test]
fn without_privileges_the_missing_capability_is_named() {
    // The user `nobody` runs a copy, because it may have no access to the target directory.
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("core-relo");
    fs::copy(env!("CARGO_BIN_EXE_core-relo"), &copy).unwrap();
    use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let nobody = Command::new(&copy).args(["prog", "list"]).uid(65534).gid(65534).output();
    let output = match nobody {
        Ok(output) => output,
        Err(e) => return skip!("cannot run as another user: {e}"),
    };
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), err.lines().count()), (Some(2), 1), "{err}");
    assert!(err.contains("CAP_SYS_ADMIN"), "{err}");
}

/// Returns a descriptor of an attachment's kernel link, which keeps the program attached.
fn link_fd(attached: Result<Link, AttachError>) -> Result<OwnedFd, String> {
    let link = attached.map_err(|e| e.to_string())?;
    let fd = link.fd().ok_or("an attachment without a kernel link")?;
    fd.try_clone_to_owned().map_err(|e| e.to_string())
}
