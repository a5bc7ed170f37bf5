//! Tests of `feature`: probes of the running kernel, beside its evidence and beside bpftool; evidence of the
//! demo kernels.

use super::common::{Run, demo, run, run_in, schema};
use core_relo_loader::{
    features::Prober,
    object::{KernelFeature, ProgramType},
};
use core_relo_test_support::skip;
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet},
    process::Command,
};

/// Runs `feature --format json` and returns the lines.
fn features(args: &[&str]) -> (Run, Vec<Value>) {
    let all = [&["feature", "--format", "json"], args].concat();
    let found = run(all);
    let lines = found.lines();
    (found, lines)
}

/// Returns whether this process may probe the kernel.
fn may_probe() -> bool {
    match Prober::new().program_type(ProgramType::SocketFilter) {
        Ok(answer) => answer.is_supported,
        Err(error) => {
            skip!(Root, "no program can be loaded here: {error}");
            false
        }
    }
}

/// Returns the answers of a kernel by section and name.
fn answers(line: &Value) -> BTreeMap<(String, String), &Value> {
    let features = line["features"].as_array().unwrap().iter();
    let text = |feature: &Value, key: &str| feature[key].as_str().unwrap().to_owned();
    features.map(|feature| ((text(feature, "section"), text(feature, "name")), feature)).collect()
}

#[test]
fn the_running_kernel_is_probed() {
    if !may_probe() {
        return;
    }
    // The words of bpftool's command line.
    let (found, lines) = features(&["probe", "kernel"]);
    assert_eq!((found.exit, lines.len()), (0, 1), "{}", found.err);
    let line = &lines[0];
    schema().check("feature", line);
    assert_eq!(line["method"], "probe");
    let schema = schema();
    line["features"]
        .as_array()
        .unwrap()
        .iter()
        .for_each(|feature| schema.check("feature of feature", feature));
    let answers = answers(line);
    for (section, name) in [
        ("program_types", "socket_filter"),
        ("map_types", "hash"),
        ("helpers", "bpf_map_lookup_elem"),
        ("btf", "btf"),
        ("verifier", "bounded_loops"),
    ] {
        assert_eq!(answers[&(section.to_owned(), name.to_owned())]["answer"], "yes", "{name}");
    }
    let lookup = &answers[&("helpers".to_owned(), "bpf_map_lookup_elem".to_owned())]["program_types"];
    assert!(lookup["yes"].as_array().unwrap().iter().any(|ty| ty == "socket_filter"), "{lookup}");
}

#[test]
fn each_probe_of_the_library_closes_what_it_opens() {
    if !may_probe() {
        return;
    }
    let kernel = Prober::new();
    let probe_all = || {
        KernelFeature::all().for_each(|feature| drop(kernel.offers(feature)));
        ProgramType::ALL.iter().for_each(|ty| drop(kernel.kfunc(*ty, b"bpf_rcu_read_lock")));
    };
    let descriptors = || {
        let entries = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let names = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        names.filter(|name| name.to_string_lossy().contains("bpf")).count()
    };
    probe_all();
    let before = descriptors();
    probe_all();
    // Tests of other threads open descriptors, too.
    assert!(descriptors() <= before + 16, "{before} before, {} after", descriptors());
}

#[test]
fn probes_agree_with_the_evidence_of_the_running_kernel() {
    if !may_probe() {
        return;
    }
    let sysfs = "/sys/kernel/btf/vmlinux";
    if !std::path::Path::new(sysfs).exists() {
        return skip!(Btf, "this kernel has no BTF");
    }
    let sections = ["--section", "program_types", "--section", "map_types", "--section", "links"];
    let (_, probed) = features(&sections);
    let (_, judged) = features(&[&sections[..], &["--btf", sysfs]].concat());
    let (probed, judged) = (answers(&probed[0]), answers(&judged[0]));
    assert_eq!(probed.len(), judged.len());
    for (name, probe) in &probed {
        let evidence = judged[name];
        let is_known = [*probe, evidence].iter().all(|answer| answer["answer"] != "unknown");
        assert!(!is_known || probe["answer"] == evidence["answer"], "{name:?}: {probe} / {evidence}");
    }
}

#[test]
fn answers_equal_those_of_bpftool_or_are_explained() {
    if !may_probe() {
        return;
    }
    let Ok(theirs) = Command::new("bpftool").args(["-j", "feature", "probe"]).output() else {
        return skip!("no bpftool to compare with");
    };
    let Ok(theirs) = serde_json::from_slice::<Value>(&theirs.stdout) else {
        return skip!("bpftool does not work");
    };
    let (_, lines) = features(&[]);
    let ours = answers(&lines[0]);
    for (section, suffix) in [("program_types", "_prog_type"), ("map_types", "_map_type")] {
        for (name, is_supported) in theirs[section].as_object().unwrap() {
            let name = name.trim_start_matches("have_").trim_end_matches(suffix);
            let our = ours[&(section.to_owned(), name.to_owned())];
            let expected = if *is_supported == Value::Bool(true) { "yes" } else { "no" };
            let evidence = our["evidence"].as_str().unwrap();
            // bpftool takes a lack of permission, and a lack of memory for an arena, for a missing type.
            // Newer versions of it probe struct_ops with an attribute that kernels before 6.9 refuse.
            let is_explained = our["answer"] == "unknown" && evidence.contains("EPERM")
                || name == "tracing" && evidence.contains("is not a typedef")
                || name == "struct_ops" && evidence.contains("ENOTSUPP")
                || name == "arena" && evidence.starts_with("FUNC arena_map_alloc");
            assert!(
                our["answer"] == expected || is_explained,
                "{section} {name}: {our}, bpftool: {expected}"
            );
        }
    }
    let mut unexplained = Vec::new();
    for (list, helpers) in theirs["helpers"].as_object().unwrap() {
        let ty = list.trim_end_matches("_available_helpers");
        let Some(helpers) = helpers.as_array() else { continue };
        let helpers: HashSet<_> = helpers.iter().filter_map(Value::as_str).collect();
        // bpftool 7.1 probes neither these types nor those that it takes for missing.
        if helpers.is_empty() || matches!(ty, "tracing" | "lsm" | "ext" | "struct_ops") {
            continue;
        }
        for ((section, name), our) in ours.iter().filter(|((section, _), _)| section == "helpers") {
            let is_in = |key: &str| our["program_types"][key].as_array().unwrap().iter().any(|t| t == ty);
            let is_equal = is_in("yes") == helpers.contains(&**name);
            // The message of newer verifiers; helpers that bpftool does not probe; attach types that it does
            // not try.
            let is_explained = || match is_in("yes") {
                true => is_known_gap(ty, name, &helpers),
                false => has_unknown_message(ty, name),
            };
            if !is_equal && !is_explained() {
                unexplained.push(format!("{section} {name} {ty}"));
            }
        }
    }
    assert!(unexplained.is_empty(), "{unexplained:#?}");
}

/// Returns whether the verifier refuses a helper with a message that bpftool does not know.
fn has_unknown_message(ty: &str, helper: &str) -> bool {
    let constant = format!("BPF_PROG_TYPE_{}", ty.to_uppercase());
    let ty = ProgramType::ALL.iter().find(|known| known.name() == constant).unwrap();
    let name = helper.trim_start_matches("bpf_");
    let number = (1..).find(|number| core_relo::insn::Helper(*number).name() == Some(name)).unwrap();
    let evidence = Prober::new().helper(*ty, number).unwrap().evidence;
    ["program of this type cannot use helper", "non-sleepable", "not allowed in probe"]
        .iter()
        .any(|message| evidence.contains(message))
}

/// Returns whether bpftool does not find a helper for a known reason: it leaves out helpers that print to the
/// kernel's log, and helpers newer than itself, and probes one attach type only.
fn is_known_gap(ty: &str, helper: &str, theirs: &HashSet<&str>) -> bool {
    let prints = ["bpf_trace_printk", "bpf_trace_vprintk", "bpf_probe_write_user"];
    let newest = ["bpf_cgrp_storage_get", "bpf_cgrp_storage_delete"];
    prints.contains(&helper)
        || newest.contains(&helper) && !theirs.contains(helper)
        || ty.starts_with("cgroup_")
        || ty == "kprobe" && helper.starts_with("bpf_copy_from_user")
}

#[test]
fn named_features_decide_on_the_exit_status() {
    if !may_probe() {
        return;
    }
    let yes = run(["feature", "BPF_MAP_TYPE_HASH", "bpf_map_lookup_elem", "bounded_loops"]);
    assert_eq!((yes.exit, yes.err.as_str()), (0, ""), "{}", yes.out);
    assert!(yes.out.contains("bpf_map_lookup_elem") && yes.out.contains("socket_filter"), "{}", yes.out);
    let no = run(["feature", "bpf_xdp_adjust_head", "--program-type", "kprobe"]);
    assert_eq!(no.exit, 1, "{no:?}");
    let probe = run(["feature", "probe", "hash", "--section", "map_types"]);
    assert_eq!(probe.exit, 0, "the word of bpftool's command line is ignored: {probe:?}");
}

#[test]
fn an_unknown_name_has_the_nearest_ones_and_hostile_names_are_escaped() {
    let unknown = run_in(&demo(), ["feature", "rinbuf", "--section", "map_types"]);
    assert_eq!(unknown.exit, 2, "{unknown:?}");
    assert!(
        unknown.err.contains("core-relo: rinbuf: no feature has this name; the nearest: `ringbuf`"),
        "{unknown:?}"
    );
    let long = "x".repeat(100_000);
    for name in ["\x1b[31m", "no\nsuch", "", "*\x07", &long, "-", "/dev/zero", "%s%n"] {
        let bad = run_in(&demo(), ["feature", "--section", "map_types", "--", name]);
        assert_eq!((bad.exit, bad.err.lines().count()), (2, 1), "{name:?}: {bad:?}");
        assert!(!bad.err.contains(['\x1b', '\x07']) && bad.err.len() < 1000, "{bad:?}");
    }
    for args in [
        &["feature", "--section", "nothing"][..],
        &["feature", "--program-type", "xpd"],
        &["feature", "--unprivileged", "--btf", "linux-6.1.btf"],
        &["feature", "--btf", "no-such-file"],
        &["feature", "--kernel-version", "six"],
        &["feature", "--kconfig", "exec.bpf.o"],
    ] {
        let bad = run_in(&demo(), args);
        assert!(bad.exit == 2 && !bad.err.is_empty(), "{args:?}: {bad:?}");
    }
    let typed = run_in(&demo(), ["feature", "--program-type", "xpd"]);
    assert!(
        typed.err.contains("--program-type: no program type has the name `xpd`; the nearest: `xdp`"),
        "{typed:?}"
    );
}

#[test]
fn a_section_that_excludes_a_name_is_named() {
    let found = run_in(&demo(), ["feature", "ringbuf", "--section", "helpers"]);
    assert_eq!(found.exit, 2);
    assert!(
        found.err.contains("core-relo: ringbuf: is in section map_types, which --section leaves out\n"),
        "{found:?}"
    );
}

#[test]
fn without_capabilities_the_missing_one_is_named() {
    if !may_probe() {
        return;
    }
    let (found, lines) = features(&["xdp", "--unprivileged", "--section", "program_types"]);
    assert_eq!(lines[0]["unprivileged"], true);
    let xdp = &lines[0]["features"][0];
    assert_eq!((found.exit, &xdp["answer"]), (2, &Value::from("unknown")), "{xdp}");
    let evidence = xdp["evidence"].as_str().unwrap();
    assert!(evidence.contains("EPERM") && evidence.contains("CAP_BPF"), "{evidence}");
}

#[test]
fn other_kernels_are_judged_by_evidence_as_a_table() {
    let kernels = ["linux-5.10.btf", "linux-6.1.btf", "linux-6.12.btf", "linux-7.2.btf"];
    let btf: Vec<_> = kernels.iter().flat_map(|kernel| ["--btf", kernel]).collect();
    let names = ["bpf_loop", "user_ringbuf", "netfilter", "isa_v4", "BPF_MAP_TYPE_ARENA"];
    let text = run_in(&demo(), [&["feature"], &btf[..], &names].concat());
    insta::assert_snapshot!(text.out);
    let (found, lines) = features(&[&btf[..], &names].concat());
    assert_eq!((found.exit, lines.len()), (text.exit, 4), "{}", found.err);
    let schema = schema();
    for line in &lines {
        schema.check("feature", line);
        assert_eq!(line["method"], "evidence");
        line["features"].as_array().unwrap().iter().for_each(|f| schema.check("feature of feature", f));
    }
    assert_eq!(answers(&lines[0])[&("helpers".into(), "bpf_loop".into())]["answer"], "no");
    assert_eq!(answers(&lines[1])[&("helpers".into(), "bpf_loop".into())]["answer"], "yes");
    assert_eq!(answers(&lines[1])[&("helpers".into(), "bpf_loop".into())]["first_observed"], "6.1");
}

/// The kernel lets struct_ops programs of TCP congestion controls call `bpf_tcp_send_ack`, and no other
/// programs. BTF does not tell whether a kernel has such a struct_ops program, so the answer is no `no`.
#[test]
fn helpers_of_struct_ops_programs_are_unknown_unless_all_are_refused() {
    for kernel in ["linux-6.1.btf", "linux-7.2.btf"] {
        let feature = |args: &[&str]| {
            let (found, lines) = features(&[args, &["--btf", kernel]].concat());
            (found.exit, lines[0]["features"][0].clone())
        };
        for args in [&["bpf_tcp_send_ack"][..], &["bpf_tcp_send_ack", "--program-type", "struct_ops"]] {
            let (exit, answer) = feature(args);
            assert_eq!((exit, &answer["answer"]), (2, &"unknown".into()), "{kernel} {args:?}: {answer}");
            assert_eq!(answer["evidence"], "it depends on the target of struct_ops programs");
        }
        for ty in ["xdp", "tracing"] {
            let (exit, answer) = feature(&["bpf_tcp_send_ack", "--program-type", ty]);
            assert_eq!((exit, &answer["answer"]), (1, &"no".into()), "{kernel} {ty}: {answer}");
        }
        // Programs that may sleep call it.
        let (exit, answer) = feature(&["bpf_copy_from_user", "--program-type", "struct_ops"]);
        assert_eq!((exit, &answer["answer"]), (2, &"unknown".into()), "{kernel}: {answer}");
        let (exit, answer) = feature(&["bpf_xdp_adjust_head", "--program-type", "struct_ops"]);
        assert_eq!((exit, &answer["answer"]), (1, &"no".into()), "{kernel}: {answer}");
        assert_eq!(answer["evidence"], "only programs of type BPF_PROG_TYPE_XDP call it");
    }
}

#[test]
fn command_lines_of_bpftool_without_counterpart_are_one_line() {
    for (line, text) in [
        ("probe dev v0", "core-relo: dev v0: network devices are not probed"),
        ("list_builtins prog_types", "`core-relo feature --section program_types` here"),
        ("list_builtins link_types", "`core-relo feature --section links` here"),
    ] {
        let words: Vec<_> = ["feature"].into_iter().chain(line.split(' ')).collect();
        let bad = run(words);
        assert_eq!((bad.exit, bad.out.as_str(), bad.err.lines().count()), (2, "", 1), "{bad:?}");
        assert!(bad.err.contains(text), "{bad:?}");
    }
    let unknown = run_in(&demo(), ["feature", "fentry", "--btf", "linux-6.1.btf"]);
    assert!(unknown.exit == 2 && unknown.out.is_empty(), "no feature has the name: {unknown:?}");
    assert!(unknown.err.contains("the nearest: `trace_fentry`"), "{unknown:?}");
}

#[test]
fn names_of_bpftool_and_patterns_of_printed_names_are_found() {
    let names = |args: &[&str]| {
        let (_, lines) = features(&[&["--btf", "linux-6.1.btf"], args].concat());
        let of = |line: &Value| line["features"].as_array().unwrap().clone();
        lines.iter().flat_map(of).map(|f| f["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        names(&["have_large_insn_limit", "have_v4_isa_extension", "have_ringbuf_map_type"]),
        ["ringbuf", "large_programs", "isa_v4"]
    );
    let helpers = names(&["bpf*", "--section", "helpers"]);
    assert!(helpers.len() > 200 && helpers.iter().all(|name| name.starts_with("bpf_")), "{helpers:?}");
    assert_eq!(names(&["BPF_LO?P"]), ["bpf_loop"]);
    assert_eq!(names(&["--section", "prog_types"]), names(&["--section", "program_types"]));
}

#[test]
fn options_are_those_of_the_given_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config");
    std::fs::write(&config, "CONFIG_BPF_LSM=y\nCONFIG_HZ=250\n# CONFIG_NETKIT is not set\n").unwrap();
    let config = super::common::text(&config);
    let args =
        ["--btf", "linux-6.12.btf", "--kconfig", config, "CONFIG_BPF_LSM", "CONFIG_HZ", "CONFIG_NETKIT"];
    let (found, lines) = features(&args);
    let answers = answers(&lines[0]);
    let answer = |name: &str| answers[&("config".to_owned(), name.to_owned())];
    assert_eq!(
        (&answer("CONFIG_HZ")["answer"], &answer("CONFIG_HZ")["value"]),
        (&"yes".into(), &"250".into())
    );
    assert_eq!((found.exit, &answer("CONFIG_NETKIT")["answer"]), (1, &"no".into()));
}
