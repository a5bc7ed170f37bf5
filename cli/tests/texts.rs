//! Snapshots of text output. `cargo insta review` or `INSTA_UPDATE=always cargo test` updates them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{prebuilt, run, run_in};
use insta::assert_snapshot;
use std::fs;

const KERNELS: [&str; 8] = [
    "--btf",
    "linux-5.10.btf",
    "--btf",
    "linux-6.1.btf",
    "--btf",
    "linux-6.12.btf",
    "--btf",
    "linux-7.2.btf",
];

#[test]
fn check() {
    let args = ["check", "exec.bpf.o"].iter().chain(&KERNELS);
    assert_snapshot!(run(args).whole());
}

#[test]
fn plan() {
    assert_snapshot!(run(["plan", "exec.bpf.o", "--btf", "linux-5.10.btf"]).whole());
}

#[test]
fn plan_of_one_program() {
    let args = ["plan", "exec.bpf.o", "--btf", "linux-6.1.btf", "--program", "flags_of"];
    assert_snapshot!(run(args).whole());
    // Another program has a poisoned relocation.
    let exit_of =
        |more: &[&str]| run([&["plan", "exec.bpf.o", "--btf", "linux-5.10.btf"], more].concat()).exit;
    assert_eq!([exit_of(&[]), exit_of(&["--program", "flags_of"])], [1, 0]);
}

#[test]
fn explain() {
    let args = ["explain", "exec.bpf.o"].iter().chain(&KERNELS);
    assert_snapshot!(run(args).whole());
}

#[test]
fn explain_one_that_resolves() {
    let args = ["explain", "exec.bpf.o", "--btf", "linux-6.1.btf", "--relocation"];
    assert_snapshot!(run(args.iter().chain(&["tp_btf/sched_process_exec#3"])).whole());
}

#[test]
fn inspect() {
    assert_snapshot!(run(["inspect", "exec.bpf.o"]).whole());
}

#[test]
fn inspect_globals() {
    let dir = prebuilt("live");
    assert_snapshot!(run_in(&dir, ["inspect", "arena_globals.bpf.o"]).whole());
}

#[test]
fn inspect_maps_externs_and_data() {
    let dir = prebuilt("kernel");
    assert_snapshot!(run_in(&dir, ["inspect", "config.bpf.o"]).whole());
}

#[test]
fn inspect_relocations_of_code_and_data() {
    let dir = prebuilt("live");
    assert_snapshot!(run_in(&dir, ["inspect", "struct_ops_link.bpf.o", "--relocs"]).whole());
}

#[test]
fn inspect_functions_of_any_section() {
    let dir = prebuilt("live");
    assert_snapshot!(run_in(&dir, ["inspect", "own_sections.bpf.o"]).whole());
}

#[test]
fn requires() {
    assert_snapshot!(run(["requires", "exec.bpf.o"]).whole());
}

#[test]
fn requires_of_several_objects() {
    let dir = prebuilt("live");
    let objects =
        ["kfunc", "callbacks", "freplace", "map_in_map", "struct_ops"].map(|name| format!("{name}.bpf.o"));
    let args = ["requires".to_owned()].into_iter().chain(objects);
    assert_snapshot!(run_in(&dir, args).whole());
}

#[test]
fn requires_of_externs_and_optional_programs() {
    let dir = prebuilt("kernel");
    assert_snapshot!(run_in(&dir, ["requires", "config.bpf.o", "nosuch.o"]).whole());
}

#[test]
fn ambiguous_candidates() {
    let dir = prebuilt("ambiguous");
    let args = ["explain", "duplicates.bpf.o", "--btf", "duplicates.apart.o"];
    assert_snapshot!(run_in(&dir, args).whole());
}

#[test]
fn widths_that_cannot_change() {
    let dir = prebuilt("fields");
    let args = ["explain", "resize.bpf.o", "--btf", "resize.crossed.o"];
    assert_snapshot!(run_in(&dir, args).whole());
}

#[test]
fn colours_only_where_asked_for() {
    let plain = run(["explain", "exec.bpf.o", "--btf", "linux-5.10.btf"]);
    assert!(!plain.out.contains('\x1b'));
    let coloured = run(["explain", "exec.bpf.o", "--btf", "linux-5.10.btf", "--color", "always"]);
    assert!(coloured.out.contains('\x1b'));
    let stripped = anstream::adapter::strip_str(&coloured.out).to_string();
    assert_eq!(stripped, plain.out);
}

#[test]
fn colours_do_not_spoil_columns() {
    let run = |color| run(["check", "exec.bpf.o", "--color", color].iter().chain(&KERNELS));
    let (plain, coloured) = (run("never"), run("always"));
    assert_eq!(anstream::adapter::strip_str(&coloured.out).to_string(), plain.out);
}

#[test]
fn demo_needs_nothing() {
    let demo = run(["demo"]);
    assert_eq!(demo.exit, 0, "{}", demo.err);
    for part in ["linux-5.10", "linux-7.2", "no member `__state`", "struct task_struct.futex.robust_list"] {
        assert!(demo.out.contains(part), "no {part} in {}", demo.out);
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    let commands = "check,plan,explain,patch,inspect,requires,btf dump,btf print,btf diff,btf list,btf show,prog,prog list,\
                    prog show,prog dump,map,map list,map show,map dump,map lookup,map getnext,map update,\
                    map delete,map peek,map push,map pop,map freeze,map pin,map create,prog pin,link pin,link detach,link update,link,link list,link show,gen,gen object,gen loader,gen header,man,prog sign";
    for command in commands.split(',') {
        let help = run(command.split(' ').chain(["--help"]));
        assert!(help.exit == 0 && help.out.contains("Example"), "{command:?}: {}", help.out);
    }
    assert_eq!(run(["nonsense"]).exit, 2);
}

#[test]
fn completions_and_man_pages() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(["completions", shell]).out.contains("CORE_RELO_COMPLETE"), "{shell}");
    }
    assert!(run(["man"]).out.contains(".TH core-relo 1"));
    assert!(run(["man", "check"]).out.contains(r"core\-relo check"));
    assert!(run(["man", "prog", "attach"]).out.contains(".TH core-relo-prog-attach 1"));
    let unknown = run(["man", "prog", "nonsense"]);
    assert!(unknown.exit == 2 && unknown.err.contains("the commands of `prog` are list"), "{}", unknown.err);
}

#[test]
fn the_command_has_the_header_of_the_macros() {
    let header = include_str!("../../build/include/core_relo.h");
    assert_eq!(run(["gen", "header"]).out, header);
    let dir = tempfile::tempdir().unwrap();
    let written = run_in(dir.path(), ["gen", "header", "-o", "core_relo.h"]);
    assert_eq!((written.exit, &*written.out), (0, "written: core_relo.h\n"), "{}", written.err);
    assert_eq!(fs::read_to_string(dir.path().join("core_relo.h")).unwrap(), header);
    let refused = run_in(dir.path(), ["gen", "header", "-o", "nosuch/core_relo.h"]);
    assert!(refused.exit == 2 && refused.err.contains("no such directory"), "{}", refused.err);
}

#[test]
fn words_of_bpftool_are_understood_or_explained() {
    assert_eq!(run(["version"]).out, run(["--version"]).out);
    let json = run(["inspect", "exec.bpf.o", "--format", "json"]);
    assert!(json.exit == 0 && json.out.starts_with('{'), "{}", json.err);
    for line in [["-j", "inspect", "exec.bpf.o"], ["inspect", "exec.bpf.o", "--pretty"]] {
        let run = run(line);
        assert_eq!((run.exit, &run.out), (0, &json.out), "{line:?}: {}", run.err);
    }
    let attach = run("net attach xdp id 7 dev lo".split(' '));
    assert_eq!(attach.exit, 2);
    let tip = "tip: bpftool's `net attach xdp id 7 dev eth0` is `core-relo prog attach 7 --to dev:eth0` here";
    assert!(attach.err.contains(tip), "{}", attach.err);
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("commands"), "net attach xdp id 7 dev lo\n").unwrap();
    let batch = run_in(dir.path(), ["batch", "commands"]);
    assert!(batch.exit == 2 && batch.err.contains(tip), "{}", batch.err);
}

#[test]
fn one_object_is_checked_as_planned() {
    let check = run(["check", "exec.bpf.o", "--btf", "linux-7.2.btf", "--format", "json"]);
    let plan = run(["plan", "exec.bpf.o", "--btf", "linux-7.2.btf", "--format", "json"]);
    let outcomes: Vec<_> = plan.lines().iter().map(|r| r["outcome"].as_str().unwrap().to_owned()).collect();
    let count = |outcome| outcomes.iter().filter(|o| *o == outcome).count();
    let line = &check.lines()[0];
    assert_eq!(line["kept"], count("keep"));
    assert_eq!(line["patched"], count("patch"));
    assert_eq!(line["poisoned"], count("poison"));
    assert_eq!((check.exit, plan.exit), (1, 1));
}

#[test]
fn btf_diff_of_what_an_object_uses() {
    let kernels = ["btf", "diff", "linux-5.10.btf", "linux-7.2.btf"];
    assert_snapshot!(run(kernels.iter().chain(&["--for", "exec.bpf.o"])).whole());
}

#[test]
fn btf_diff_of_some_names() {
    let kernels = ["btf", "diff", "linux-6.12.btf", "linux-7.2.btf"];
    let filter = ["--name", "bpf_*_type", "--name", "linux_*", "--kind", "struct,enum"];
    assert_snapshot!(run(kernels.iter().chain(&filter)).whole());
}
