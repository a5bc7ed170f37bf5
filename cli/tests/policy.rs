//! Accepted gaps: `check --allow` and `core-relo.toml`, in every format.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{Run, demo, run_in, schema};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;

/// Creates a directory with the demo's object and its oldest two kernels. The object does not load on 5.10.
fn project() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["exec.bpf.o", "linux-5.10.btf", "linux-6.1.btf"] {
        fs::copy(demo().join(name), dir.path().join(name)).unwrap();
    }
    dir
}

/// Checks the object on the oldest kernel.
fn check_old(dir: &Path, more: &[&str]) -> Run {
    let args = ["check", "exec.bpf.o", "--btf", "linux-5.10.btf"];
    run_in(dir, args.iter().chain(more))
}

#[test]
fn an_accepted_reason_does_not_count_and_stays_visible() {
    let dir = project();
    let run =
        check_old(dir.path(), &["--allow", "object=exec*,program=handle_exec,kernel=5.10.*,kind=relocation"]);
    let expected = "allowed  exec.bpf.o  linux-5.10.btf  2 kept, 14 patched, 1 poisoned\n    \
                    ./exec.bpf.c:70 handle_exec: struct task_struct.__state: no member `__state`; \
                    allowed by --allow\n";
    assert_eq!((run.exit, &*run.out, &*run.err), (0, expected, ""));
    // The summary of several kernels.
    let args = ["check", "exec.bpf.o", "--btf", ".", "--no-config", "--allow", "kernel=linux-5.10*"];
    fs::rename(dir.path().join("exec.bpf.o"), dir.path().join("exec.o.json")).unwrap();
    let args = args.map(|arg| if arg == "exec.bpf.o" { "exec.o.json" } else { arg });
    let run = run_in(dir.path(), args);
    assert_eq!((run.exit, &*run.err), (0, ""));
    assert!(run.out.ends_with("exec.o.json: loads from 6.1 on, allowed before 6.1\n"), "{}", run.out);
}

#[test]
fn json_has_the_verdict_and_what_is_left_of_it() {
    let dir = project();
    fs::write(
        dir.path().join("core-relo.toml"),
        "[[allow]]\nkind = \"relocation\"\nreason = \"only 5.10\"\n",
    )
    .unwrap();
    let run = check_old(dir.path(), &["--format", "json"]);
    let line = &run.lines()[0];
    schema().check("check", line);
    let place = "core-relo.toml:1";
    let allowed =
        json!({"verdict": "loads", "pattern": "kind=relocation", "reason": "only 5.10", "place": place});
    assert_eq!((run.exit, &line["verdict"], &line["allowed"]), (0, &json!("refused"), &allowed));
    let programs = line["programs"].as_array().unwrap();
    assert_eq!((&programs[0]["verdict"], &programs[0]["allowed"]), (&json!("refused"), &allowed));
    let reason = &programs[0]["reasons"][0];
    schema().check("reason of check", reason);
    assert_eq!(
        reason["allowed"],
        json!({"pattern": "kind=relocation", "reason": "only 5.10", "place": place})
    );
    assert_eq!((&programs[1]["verdict"], &programs[1]["allowed"]), (&json!("loads"), &Value::Null));
}

#[test]
fn reports_mark_what_is_accepted() {
    let dir = project();
    let config = "[[allow]]\nkernel = \"5.10.*\"\nreason = \"<b>only</b> 5.10 | `x`\"\n";
    fs::write(dir.path().join("core-relo.toml"), config).unwrap();
    let run = check_old(dir.path(), &["--format", "sarif"]);
    let log: Value = serde_json::from_str(&run.out).unwrap();
    let result = &log["runs"][0]["results"][0];
    let suppression =
        json!([{"kind": "external", "status": "accepted", "justification": "<b>only</b> 5.10 | `x`"}]);
    assert_eq!((run.exit, &result["level"], &result["suppressions"]), (0, &json!("error"), &suppression));
    let run = check_old(dir.path(), &["--format", "junit"]);
    assert!(run.out.contains(" failures=\"0\" errors=\"0\" skipped=\"1\""), "{}", run.out);
    assert!(
        run.out.contains("<skipped message=\"allowed: &lt;b&gt;only&lt;/b&gt; 5.10 | `x`: refused: "),
        "{}",
        run.out
    );
    let run = check_old(dir.path(), &["--format", "markdown"]);
    assert!(run.out.contains("| `exec.bpf.o` | ☑️ allowed | allowed on `linux-5.10.btf` |"), "{}", run.out);
    assert!(run.out.contains("* **refused** (<code>allowed&#58; &#60;b&#62;only"), "{}", run.out);
    let run = check_old(dir.path(), &["--report", "report.html"]);
    assert_eq!(run.exit, 0, "{}", run.err);
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert!(page.contains("<b class=\"a\">~ allowed</b> 1:"), "the legend counts");
    assert!(
        page.contains("<dt>verdict</dt><dd>refused; allowed: &lt;b&gt;only&lt;/b&gt; 5.10"),
        "the details have the reason"
    );
}

#[test]
fn what_is_not_accepted_counts() {
    let dir = project();
    let exit = |pattern| check_old(dir.path(), &["--allow", pattern]).exit;
    assert_eq!(exit("program=handle_exec"), 0);
    for other in ["program=handle_exit", "kind=helper", "kernel=6.1.*", "object=exit*"] {
        let run = check_old(dir.path(), &["--allow", other]);
        assert_eq!(run.exit, 1, "{other}");
        assert!(run.out.starts_with("refused  exec.bpf.o  "), "{}", run.out);
        let expected = format!(
            "core-relo: warning: --allow: {other}: the entry accepts nothing; help: remove it if the gap is closed\n"
        );
        assert_eq!(run.err, expected);
    }
    // Bad input is never accepted.
    let run = run_in(dir.path(), ["check", "nosuch.o", "--btf", "linux-6.1.btf", "--allow", "object=*"]);
    assert_eq!(run.exit, 2);
}

#[test]
fn the_reasons_of_an_object_without_programs_have_kinds() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(common::prebuilt("link/calls_b.bpf.o"), dir.path().join("lib.bpf.o")).unwrap();
    fs::copy(demo().join("linux-6.1.btf"), dir.path().join("kernel.btf")).unwrap();
    let check = |more: &[&str]| {
        let args = ["check", "lib.bpf.o", "--btf", "kernel.btf", "--no-config", "--format", "json"];
        run_in(dir.path(), args.iter().chain(more))
    };
    let refused = check(&[]);
    let kind = refused.lines()[0]["reasons"][0]["kind"].as_str().unwrap().to_owned();
    assert_eq!(refused.exit, 1);
    let accepted = check(&["--allow", &format!("object=lib*,kind={kind}")]);
    assert_eq!((accepted.exit, &*accepted.err), (0, ""));
    for pattern in ["kind=helper", &format!("kind={kind},program=main")] {
        assert_eq!(check(&["--allow", pattern]).exit, 1, "{pattern}");
    }
}

#[test]
fn unused_entries_are_named_by_their_line() {
    let dir = project();
    let config = "[[allow]]\nkind = \"relocation\"\n\n[[allow]]\nobject = \"gone.o\"\n";
    fs::write(dir.path().join("core-relo.toml"), config).unwrap();
    let run = check_old(dir.path(), &[]);
    let expected = "core-relo: warning: core-relo.toml:4: object=gone.o: the entry accepts nothing; help: remove it if the gap is \
                    closed\n";
    assert_eq!((run.exit, &*run.err), (0, expected));
    // The kernel that the entry is for may be in another part.
    let parts = ["1/2", "2/2"].map(|part| check_old(dir.path(), &["--shard", part]));
    assert!(parts.iter().all(|run| run.err.is_empty()), "{parts:?}");
}

#[test]
fn the_file_is_that_of_the_project() {
    let dir = project();
    fs::write(dir.path().join("core-relo.toml"), "[[allow]]\nkind = \"relocation\"\n").unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    let check = |more: &[&str]| {
        let args = ["check", "../exec.bpf.o", "--btf", "../linux-5.10.btf"];
        run_in(&dir.path().join("sub"), args.iter().chain(more)).exit
    };
    assert_eq!(check(&[]), 1, "outside of a repository, the parents do not count");
    assert_eq!(check(&["--config", "../core-relo.toml"]), 0);
    fs::create_dir(dir.path().join(".git")).unwrap();
    assert_eq!((check(&[]), check(&["--no-config"])), (0, 1));
    assert_eq!((check(&["--config", "nosuch.toml"]), check(&["--config", ".", "--no-config"])), (2, 2));
}

#[test]
fn errors_in_the_file_have_line_and_column() {
    let dir = project();
    for (config, expected) in [
        (
            "[[allow]]\nprogam = \"x\"\n",
            "core-relo.toml:2:1: unknown key `progam`, expected `object`, `program`, `kernel`, `kind` or `reason`; did you mean `program`?",
        ),
        ("[[allow]]\nkind = helper\n", "core-relo.toml:2:8: "),
        ("[check]\nstrict = 1\n", "core-relo.toml:2:10: `strict` is an integer, expected `true` or `false`"),
        ("[[allow]]\n\u{1b}", "core-relo.toml:2:"),
    ] {
        fs::write(dir.path().join("core-relo.toml"), config).unwrap();
        let run = check_old(dir.path(), &[]);
        assert_eq!((run.exit, &*run.out), (2, ""), "{config}");
        assert!(run.err.starts_with(&format!("core-relo: {expected}")), "{}", run.err);
        assert!(!run.err.contains('\u{1b}') && run.err.lines().count() == 1, "{:?}", run.err);
    }
    fs::write(dir.path().join("core-relo.toml"), vec![b'\n'; (1 << 20) + 1]).unwrap();
    assert!(check_old(dir.path(), &[]).err.contains("has 1048577 bytes, at most 1048576 are read"));
    fs::write(dir.path().join("core-relo.toml"), b"# \xff").unwrap();
    assert!(check_old(dir.path(), &[]).err.contains("core-relo.toml: is no UTF-8 from byte 2 on"));
}

#[test]
fn settings_are_those_of_the_options() {
    let dir = project();
    fs::copy(common::prebuilt("live/kconfig.bpf.o"), dir.path().join("kconfig.o")).unwrap();
    let check = |more: &[&str]| {
        run_in(dir.path(), ["check", "kconfig.o", "--btf", "linux-6.1.btf"].iter().chain(more)).exit
    };
    assert_eq!((check(&[]), check(&["--strict"])), (2, 1));
    let resume = ["--strict", "--resume", "results.jsonl"];
    assert_eq!((check(&resume), check(&resume)), (1, 1), "earlier results count as strictly");
    fs::write(dir.path().join("core-relo.toml"), "[check]\nstrict = true\n").unwrap();
    assert_eq!((check(&[]), check(&["--no-config"]), check(&["--allow", "kind=kconfig"])), (1, 2, 0));
}

#[test]
fn resumed_results_keep_their_exit_status() {
    let dir = project();
    let resume = ["--resume", "results.jsonl", "--allow", "kind=relocation"];
    let first = check_old(dir.path(), &resume);
    let again = check_old(dir.path(), &resume);
    assert_eq!((first.exit, again.exit, &*again.out), (0, 0, &*first.out));
    let other = check_old(dir.path(), &["--resume", "results.jsonl"]);
    assert_eq!(other.exit, 2);
    assert!(other.err.contains("its results were accepted with another allow list"), "{}", other.err);
}
