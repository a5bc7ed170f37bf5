//! JSON output matches docs/json.schema.json: exactly the documented keys, in order and with the documented
//! types.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{prebuilt, run, run_in, schema};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn plan_lines_match_the_schema() {
    let schema = schema();
    let mut lines = Vec::new();
    for kernel in ["linux-5.10.btf", "linux-6.1.btf", "linux-7.2.btf"] {
        lines.extend(run(["plan", "exec.bpf.o", "--btf", kernel, "--format", "json"]).lines());
    }
    for (topic, object, target) in [
        ("ambiguous", "duplicates.bpf.o", "duplicates.apart.o"),
        ("ambiguous", "duplicates.bpf.o", "duplicates.width.o"),
        ("enums", "high.bpf.o", "high.same.o"),
        ("types", "info.bpf.o", "info.gone.o"),
    ] {
        let args = ["plan", object, "--btf", target, "--format", "json"];
        lines.extend(run_in(&prebuilt(topic), args).lines());
    }
    assert!(lines.len() > 60, "{}", lines.len());
    for line in &lines {
        schema.check("plan", line);
        assert_eq!(keys(&line["local"]), ["type_id", "spec"]);
        if !line["source"].is_null() {
            assert_eq!(keys(&line["source"]), ["file", "line", "column", "text", "is_near"]);
        }
        for candidate in line["candidates"].as_array().unwrap() {
            assert_eq!(keys(candidate), ["btf", "type_id", "spec", "verdict", "matched"]);
        }
    }
    for outcome in ["keep", "patch", "poison", "error"] {
        assert!(lines.iter().any(|line| line["outcome"] == outcome), "no line with {outcome}");
    }
    assert!(lines.iter().any(|line| !line["warning"].is_null()), "no line with a warning");
    assert!(lines.iter().any(|line| !line["target_spec"].is_null()), "no line with a target spec");
}

#[test]
fn values_are_whole_64_bit_numbers() {
    let args = ["plan", "wide.bpf.o", "--btf", "wide.same.o", "--format", "json"];
    let lines = run_in(&prebuilt("enums"), args).lines();
    assert!(lines.iter().any(|line| line["target_value"].as_u64().is_some_and(|v| v > u64::from(u32::MAX))));
}

#[test]
fn relocation_numbers_restart_in_every_section() {
    let lines = run(["plan", "exec.bpf.o", "--btf", "linux-6.1.btf", "--format", "json"]).lines();
    let mut next = BTreeMap::new();
    for line in &lines {
        let expected = next.entry(line["section"].as_str().unwrap().to_owned()).or_insert(0u64);
        assert_eq!(line["relocation"].as_u64(), Some(*expected));
        *expected += 1;
    }
    assert!(next.len() > 2);
}

#[test]
fn check_lines_match_the_schema() {
    let schema = schema();
    let objects = ["check", "exec.bpf.o", "linux-6.1.btf", "--format", "json"];
    let kernels = ["--btf", "linux-5.10.btf", "--btf", "linux-6.1.btf", "--btf", "exec.bpf.c"];
    let run = run(objects.iter().chain(&kernels));
    assert_eq!(run.exit, 2);
    let lines = run.lines();
    lines.iter().for_each(|line| schema.check("check", line));
    let verdicts: Vec<_> = lines.iter().map(|line| line["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["bad_input", "refused", "loads", "bad_input"]);
    let bad = &lines[1]["relocations"][0];
    assert_eq!(
        keys(bad),
        ["section", "program", "relocation", "insn", "kind", "outcome", "access", "source", "reason"]
    );
}

#[test]
fn explain_lines_match_the_schema() {
    let run = run(["explain", "exec.bpf.o", "--btf", "linux-5.10.btf", "--format", "json"]);
    let lines = run.lines();
    // Two programs, and the relocation that does not resolve.
    assert_eq!((run.exit, lines.len()), (1, 3));
    let (programs, relocations) = lines.split_at(2);
    programs.iter().for_each(|line| schema().check("program of explain", line));
    relocations.iter().for_each(|line| schema().check("explain", line));
    let reason = &programs[0]["reasons"][0];
    schema().check("reason of explain", reason);
    reason["fixes"].as_array().unwrap().iter().for_each(|fix| schema().check("fix of explain", fix));
}

#[test]
fn inspect_lines_match_the_schema() {
    let schema = schema();
    for object in ["exec.bpf.o", "config.bpf.o", "module.bpf.o"] {
        let lines = run_in(&prebuilt("kernel"), ["inspect", object, "--format", "json"]).lines();
        assert_eq!(lines.len(), 1);
        lines.iter().for_each(|line| schema.check("inspect", line));
    }
}

#[test]
fn requires_lines_match_the_schema() {
    let schema = schema();
    let objects = ["kernel/config", "live/kfunc", "live/struct_ops", "fields/guard", "live/freplace"];
    let objects = objects.map(|name| format!("{name}.bpf.o"));
    let args = ["requires", "--format", "json"].into_iter().chain(objects.iter().map(|name| &**name));
    let lines = run_in(&prebuilt(""), args).lines();
    assert_eq!(lines.len(), objects.len());
    for line in &lines {
        schema.check("requires", line);
        line["programs"].as_array().unwrap().iter().for_each(|p| schema.check("program of requires", p));
    }
    let kfuncs = &lines[1]["programs"][0]["kfuncs"];
    assert_eq!(keys(&kfuncs[0]), ["name", "count", "insn", "source"]);
    assert_eq!(kfuncs[0]["source"]["text"], "struct task_struct *task = bpf_task_from_pid(only_pid);");
    assert_eq!(
        keys(&lines[2]["maps"][0]),
        [
            "name",
            "map_type",
            "inner_map_type",
            "struct_ops",
            "key_size",
            "value_size",
            "max_entries",
            "flags",
            "inner_map",
            "needs_input"
        ]
    );
    let config = &lines[0]["programs"][0];
    let externs = config["externs"].as_array().unwrap();
    let version = externs.iter().find(|used| used["name"] == "LINUX_KERNEL_VERSION").unwrap();
    assert_eq!(keys(version), ["name", "count", "insn", "source", "kind", "weak", "comparisons"]);
    let comparison = &version["comparisons"][0];
    assert_eq!(keys(comparison), ["operator", "value", "version", "insn", "source"]);
    assert_eq!([&comparison["operator"], &comparison["version"]], [">=", "6.0.1"]);
    assert_eq!(config["attach_point"]["declarations"][0], "TYPEDEF btf_trace_sys_enter");
    assert_eq!(config["stack_bytes"], 64);
    assert_eq!(keys(&config["helpers"][0]), ["name", "count", "insn", "source", "program_types"]);
    assert_eq!(keys(&config["instruction_sets"][0]), ["name", "count", "insn", "source", "since"]);
    let checks = lines[3]["programs"][0]["checks"].as_array().unwrap();
    let accesses: Vec<_> = checks.iter().map(|check| check["access"].as_str().unwrap()).collect();
    assert_eq!(accesses, ["struct guard.__state", "struct guard___old.state"]);
    assert_eq!(lines[4]["programs"][0]["needs_input"], "attach_target");
}

#[test]
fn inspect_lists_variables_with_their_types() {
    let mut found = Vec::new();
    for object in ["globals", "arena_globals", "kconfig", "struct_ops"] {
        let object = format!("{object}.bpf.o");
        let lines = run_in(&prebuilt("live"), ["inspect", &object, "--format", "json"]).lines();
        schema().check("inspect", &lines[0]);
        for global in lines[0]["globals"].as_array().unwrap() {
            assert_eq!(keys(global), ["name", "kind", "section", "map", "offset", "size", "c_type"]);
            let text = |key: &str| global[key].as_str().unwrap().to_owned();
            found.push(["name", "kind", "section", "map", "c_type"].map(text).join(" "));
        }
    }
    for expected in [
        "weights constant .rodata .rodata const volatile u32[4]",
        "apart variable .data.apart .data.apart u64",
        "hits variable .bss .bss u64",
        "config arena .addr_space.1 arena struct config",
        "CONFIG_NET config .kconfig .kconfig const enum libbpf_tristate",
        "still struct_ops .struct_ops still struct tcp_congestion_ops",
    ] {
        assert!(found.iter().any(|f| f == expected), "{expected}: {found:#?}");
    }
}

#[test]
fn inspect_shows_the_types_of_maps() {
    let inspect =
        |object: &str, args: &[&str]| run_in(&prebuilt("live"), [&["inspect", object], args].concat());
    let lines = inspect("skeleton.bpf.o", &["--format", "json"]).lines();
    let maps = lines[0]["maps"].as_array().unwrap();
    let map = |name: &str| maps.iter().find(|map| map["name"] == name).unwrap();
    assert_eq!(
        (&map("flows")["key_type"], &map("flows")["value_type"]),
        (&json!("struct flow"), &json!("flow"))
    );
    assert_eq!(map("events")["event_types"], json!(["struct started", "struct ended"]));
    assert_eq!((&map("untyped")["key_type"], &map("untyped")["event_types"]), (&json!(null), &json!([])));
    let text = inspect("skeleton.bpf.o", &[]).out;
    for expected in ["key: struct flow, value: flow\n", "events: struct started or struct ended\n"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let nested = inspect("map_in_map.bpf.o", &["--format", "json"]).lines();
    schema().check("inspect", &nested[0]);
    let outer = nested[0]["maps"].as_array().unwrap().iter().find(|map| !map["inner"].is_null()).unwrap();
    assert_eq!(outer["inner"]["map_type"], "BPF_MAP_TYPE_ARRAY", "{outer}");
}

#[test]
fn patch_lines_match_the_schema() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.o");
    let args = ["patch", "exec.bpf.o", "--btf", "linux-5.10.btf", "--format", "json", "-o"];
    let lines = run(args.iter().map(std::ffi::OsStr::new).chain([out.as_os_str()])).lines();
    assert_eq!(lines.len(), 1);
    schema().check("patch", &lines[0]);
}

#[test]
fn gen_object_lines_match_the_schema() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.o");
    let args = ["gen", "object", common::text(&out), "extern_a.bpf.o", "extern_b.bpf.o", "--format", "json"];
    let lines = run_in(&prebuilt("link"), args).lines();
    assert_eq!(lines.len(), 1);
    schema().check("gen object", &lines[0]);
    assert_eq!(lines[0]["bytes"], std::fs::metadata(&out).unwrap().len());
}

#[test]
fn gen_loader_lines_match_the_schema() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.loader");
    let args = ["gen", "loader", "maps.bpf.o", "-o", common::text(&out), "--format", "json"];
    let lines = run_in(&prebuilt("live"), args).lines();
    assert_eq!(lines.len(), 1);
    schema().check("gen loader", &lines[0]);
    assert_eq!(lines[0]["bytes"], std::fs::metadata(&out).unwrap().len());
}

#[test]
fn bad_input_lines_match_the_schema() {
    let schema = schema();
    for command in ["plan", "explain", "inspect", "requires"] {
        let run = run([command, "nosuch.o", "--format", "json"]);
        assert_eq!((run.exit, run.err.lines().count()), (2, 1));
        run.lines().iter().for_each(|line| schema.check("Bad input", line));
        assert_eq!(keys(&run.lines()[0]["error"]), ["file", "what", "help"]);
        assert!(run.lines()[0]["batch_line"].is_null());
    }
}

#[test]
fn btf_dump_lines_have_the_documented_keys() {
    let run = run(["btf", "dump", "linux-6.1.btf", "--type-name", "linux_binprm", "--format", "json"]);
    let lines = run.lines();
    assert_eq!(lines[0]["kind"], "STRUCT");
    assert_eq!(keys(&lines[0]), ["id", "kind", "name", "size", "vlen", "members"]);
    assert_eq!(keys(&lines[0]["members"][0]), ["name", "type_id", "bits_offset"]);
}

#[test]
fn btf_diff_lines_match_the_schema() {
    let diff = |old, new| run(["btf", "diff", old, new, "--format", "json"]);
    let changed = diff("linux-5.10.btf", "linux-7.2.btf");
    let (lines, schema) = (changed.lines(), schema());
    lines.iter().for_each(|line| schema.check("btf diff", line));
    assert_eq!((changed.exit, lines.is_empty()), (1, false));
    let equal = diff("linux-5.10.btf", "linux-5.10.btf");
    assert_eq!((equal.exit, &*equal.out, &*equal.err), (0, "", ""));
    let bad = diff("linux-5.10.btf", "missing.btf");
    assert_eq!(bad.exit, 2);
}
