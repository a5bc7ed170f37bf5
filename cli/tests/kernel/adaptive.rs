//! Tests of `load --adaptive` with `--attach-to`, on the running kernel.

use super::{
    attach_points::{XDP, attach, id_of},
    common::{Run, has_own_bpffs, prebuilt, run, schema, text},
    fixture::*,
    links::has_own_netns,
};
use core_relo_test_support::skip;
use serde_json::json;
use std::fs;

fn load(object: &str, more: &[&str]) -> Run {
    run([&["load", "--adaptive", text(&prebuilt(object))], more].concat())
}

#[test]
fn a_program_that_is_not_chosen_is_reported_as_not_attached() {
    let test = "adaptive::a_program_that_is_not_chosen_is_reported_as_not_attached";
    if types().is_none() || !has_own_bpffs(test) {
        return;
    }
    let pin = "/sys/fs/bpf/adaptive";
    let load = |format| {
        load(
            "live/variants.bpf.o",
            &["--attach-to", "send_perf=raw_tp:sys_exit", "--pin", pin, "--format", format],
        )
    };
    let loaded = load("text");
    if loaded.exit == 1 && !loaded.out.contains("send_ring chosen") {
        return skip!("no ring buffer: {}", loaded.out);
    }
    let why = "raw_tp:sys_exit: it is not among the chosen variants";
    assert_eq!(loaded.exit, 0, "{loaded:?}");
    let line = loaded.out.lines().find(|line| line.contains("not attached")).unwrap_or("");
    assert!(line.contains("send_perf ") && line.ends_with(&format!("not attached: {why}")), "{loaded:?}");
    fs::remove_dir_all(pin).unwrap();

    let line = &load("json").lines()[0];
    schema().check("load", line);
    assert_eq!(
        (&line["not_attached"], &line["links"]),
        (&json!([{"name": "send_perf", "why": why}]), &json!([]))
    );
    fs::remove_dir_all(pin).unwrap();
}

#[test]
fn the_start_up_report_has_the_name_of_a_link_in_the_output() {
    let test = "adaptive::the_start_up_report_has_the_name_of_a_link_in_the_output";
    if types().is_none() || !has_own_bpffs(test) {
        return;
    }
    let pin = "/sys/fs/bpf/adaptive";
    let loaded = load(
        "live/variants.bpf.o",
        &["--attach-to", "send_ring=raw_tp:sys_exit", "--pin", pin, "--format", "json"],
    );
    let line = &loaded.lines()[0];
    if line["not_attached"] != json!([]) {
        return skip!("no ring buffer: {line}");
    }
    let name = json!("raw_tp:sys_exit");
    assert_eq!((&line["links"][0]["what"], &line["adaptive"]["links"][0]["label"]), (&name, &name), "{line}");
    fs::remove_dir_all(pin).unwrap();
}

#[test]
fn attach_points_that_no_variant_can_have_are_refused_before_anything_is_loaded() {
    if types().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("table");
    fs::write(&table, "optional anywhere\n").unwrap();
    for (object, more, what) in [
        (
            "live/variants.bpf.o",
            &["--attach-to", "send_prf=raw_tp:sys_exit"][..],
            "it has no program `send_prf`",
        ),
        (
            "live/variants.bpf.o",
            &["--attach-to", "sum_loop=raw_tp:sys_exit"],
            "program `sum_loop`: `raw_tp:sys_exit` does not fit a program of type sched_cls",
        ),
        (
            "live/skeleton.bpf.o",
            &["--variants", text(&table), "--attach-to", "on_getppid=tp:syscalls/sys_enter_getppid"],
            "program `on_getppid`: no choice of variants loads it, so it cannot be attached",
        ),
    ] {
        let refused = load(object, more);
        assert!(refused.exit == 2 && refused.out.is_empty() && refused.err.contains(what), "{refused:?}");
    }
}

#[test]
fn a_constant_that_the_variants_decide_is_not_set_by_the_caller() {
    if types().is_none() {
        return;
    }
    for name in ["has_ring", "tgid_offset"] {
        let refused = load("live/variants.bpf.o", &["--set", &format!("{name}=0")]);
        let what = format!("--set {name}: the variants decide the value of this constant");
        assert!(refused.exit == 2 && refused.err.contains(&what), "{refused:?}");
    }
    // An optional constant keeps the value if the kernel has no other.
    let loaded = load("live/variants.bpf.o", &["--set", "state_offset=7"]);
    assert!(!loaded.err.contains("--set"), "{loaded:?}");
}

#[test]
fn a_taken_place_leads_to_the_next_alternative_although_the_pin_exists() {
    let test = "adaptive::a_taken_place_leads_to_the_next_alternative_although_the_pin_exists";
    if types().is_none() || !has_own_netns(test) || !has_own_bpffs(test) {
        return;
    }
    let (object, dir) = (prebuilt("live/xdp.bpf.o"), "/sys/fs/bpf/next");
    let other = super::attach_points::load(XDP, 0, 2).unwrap();
    ok(attach(&id_of(&other), "dev:own_lo", &[]));
    ok(run(["load", text(&object), "--pin", dir]));
    let tables = tempfile::tempdir().unwrap();
    let table = tables.path().join("table");
    fs::write(&table, "optional count\n").unwrap();
    let args = ["load", "--adaptive", "--variants", text(&table), text(&object)];
    let adaptive = run([&args[..], &["--attach-to", "count=dev:own_lo", "--pin", dir]].concat());
    assert!(
        adaptive.out.contains("count: left out") && adaptive.out.contains("cannot be attached"),
        "{adaptive:?}"
    );
}
