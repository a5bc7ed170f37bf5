//! `load --adaptive`: the choice for other kernels, as text and JSON, and errors of tables.

mod common;

use common::{prebuilt, run, run_in, text};
use std::fs;

/// Runs a dry run of an object with variants on a kernel of the demo.
fn dry_run(kernel: &str, further: &[&str]) -> common::Run {
    let object = prebuilt("live/variants.bpf.o");
    let args = ["load", text(&object), "--adaptive", "--dry-run", "--btf", kernel];
    run(args.iter().chain(further))
}

#[test]
fn each_kernel_gets_its_variants_and_the_report_says_why() {
    let old = dry_run("linux-5.10.btf", &[]);
    for line in [
        "  group     sum: sum_loop chosen, alternative 2 of 2\n",
        "    sum_helper: not tried, the verdict is refused: the kernel lacks helper bpf_loop, at ./live/variants.bpf.c:",
        "  map       bloom: left out\n",
        "  constant  has_bloom = 0, loaded(map:bloom)\n",
        "  constant  state_offset keeps its value, offset_of(task_struct.__state): the kernel's types have no member `__state` in `task_struct` (near: `state`)\n",
        "  constant  has_state = 0, has_field(task_struct.__state)\n",
        "  program   absent: left out\n",
    ] {
        assert!(old.out.contains(line), "{line}\n{}", old.out);
    }
    let new = dry_run("linux-6.1.btf", &[]);
    for line in [
        "  group     sum: sum_helper chosen, alternative 1 of 2\n",
        "  constant  has_bloom = 1, loaded(map:bloom)\n",
        "  constant  loop_number = 181, enum_value(enum bpf_func_id.BPF_FUNC_loop)\n",
        "  map       perf: not created, no loaded program uses it\n",
    ] {
        assert!(new.out.contains(line), "{line}\n{}", new.out);
    }
}

#[test]
fn explain_and_check_judge_the_same_choice_and_a_plain_load_says_that_there_is_one() {
    let object = prebuilt("live/variants.bpf.o");
    let on = ["--btf", "linux-5.10.btf"];
    let explained = run([&["explain", text(&object)], &on[..]].concat());
    let checked = run([&["check", text(&object)], &on[..]].concat());
    assert_eq!((explained.exit, checked.exit), (0, 0), "{explained:?}\n{checked:?}");
    let choice = |run: &common::Run| {
        let line = run.out.lines().find(|line| line.starts_with("    variants: "));
        line.unwrap_or_else(|| panic!("{}", run.out)).to_owned()
    };
    assert_eq!(choice(&explained), choice(&checked));
    assert!(explained.out.starts_with("loads: "), "{}", explained.out);
    let refused = "refused: `sum_helper` (not among the chosen variants): the kernel lacks helper bpf_loop\n";
    assert!(explained.out.contains(refused), "{}", explained.out);
    // The text of `check` has three of the rejections.
    assert!(!explained.out.contains("more, see"), "{}", explained.out);
    let alone = run([&["explain", text(&object), "--program", "sum_helper"], &on[..]].concat());
    assert!(alone.exit == 1 && alone.out.starts_with("refused: "), "{alone:?}");

    let note =
        "the object declares variants: `load --adaptive` chooses among them, and `check` judges that choice";
    let plain = run([&["load", text(&object), "--dry-run"], &on[..]].concat());
    assert!(plain.err.contains(note), "{}", plain.err);
    assert_eq!(dry_run("linux-5.10.btf", &[]).err, "");
    let selected = run([&["load", text(&object), "--dry-run", "--program", "open_tp"], &on[..]].concat());
    assert_eq!(selected.err, "");
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.loader");
    let generated = run(["gen", "loader", text(&object), "-o", text(&out)]);
    assert_eq!(generated.exit, 0, "{generated:?}");
    assert!(generated.err.contains("the file has the default programs"), "{}", generated.err);
}

#[test]
fn the_features_of_a_report_are_short_lines_of_names_that_the_command_feature_knows() {
    let report = dry_run("linux-6.1.btf", &[]).out;
    let (_, features) = report.split_once("\n  features  present by btf").expect(&report);
    assert!(
        features.starts_with("; a policy may still refuse their use\n") || features.starts_with(", "),
        "{report}"
    );
    let lines: Vec<_> = features.lines().skip(1).take_while(|line| line.starts_with("    ")).collect();
    assert!(lines.len() > 3 && lines.iter().all(|line| line.chars().count() <= 101), "{lines:#?}");
    let text = lines.join("").replace("      ", " ");
    // `feature` has the parts of the kernel that attach programs, too.
    let parts = run(["feature", "--btf", "linux-6.1.btf", "trampolines", "kprobe events"]);
    assert!(!parts.err.contains("no feature") && parts.out.contains("kprobe_events"), "{parts:?}");
    for kind in ["helpers", "map types", "program types"] {
        let (_, names) =
            text.split_once(&format!("    {kind}: ")).unwrap_or_else(|| panic!("{kind}: {text}"));
        let names = names.split("    ").next().unwrap();
        let words = names.split(", ").map(str::trim);
        let found = run(["feature", "--btf", "linux-6.1.btf"].into_iter().chain(words));
        assert!(!found.err.contains("no feature"), "{kind}: {names}\n{}", found.err);
    }
}

#[test]
fn json_has_the_plan_and_the_report() {
    let lines = dry_run("linux-5.10.btf", &["--format", "json"]).lines();
    let [line] = &*lines else { panic!("{lines:?}") };
    assert_eq!(line["status"], "planned");
    let report = &line["adaptive"];
    let schema = common::schema();
    schema.check("load", line);
    schema.check("start-up report of load", report);
    assert_eq!((&report["outcome"], &line["verdict"]), (&"planned".into(), &report["verdict"]));
    assert_eq!(report["kernel"]["btf_source"], "linux-5.10.btf");
    let groups = report["groups"].as_array().unwrap();
    let sum = groups.iter().find(|group| group["name"] == "sum").unwrap();
    assert_eq!(
        (&sum["chosen"], &sum["alternatives"][0]["rejections"][0]["stage"]),
        (&1.into(), &"verdict".into())
    );
    let planned: Vec<_> =
        line["programs"].as_array().unwrap().iter().map(|program| &program["name"]).collect();
    assert!(
        planned.iter().any(|name| **name == "sum_loop") && !planned.iter().any(|name| **name == "sum_helper")
    );
    // Other loads have no report.
    let object = prebuilt("live/ringbuf.bpf.o");
    let plain =
        run(["load", text(&object), "--dry-run", "--btf", "linux-6.1.btf", "--format", "json"]).lines();
    assert!(plain[0]["adaptive"].is_null());
}

#[test]
fn a_group_without_a_working_variant_is_refused_with_the_report() {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("variants.txt");
    fs::write(&table, "group all = test1_entry\noffset_of last_result = task_struct.tgid\n").unwrap();
    let object = prebuilt("live/fentry.bpf.o");
    let args = ["load", text(&object), "--adaptive", "--dry-run", "--btf", "linux-6.1.btf", "--variants"];
    let run_table = || run(args.iter().copied().chain([text(&table)]));
    let wrong = run_table();
    assert_eq!(wrong.exit, 2);
    assert!(wrong.err.contains("global `last_result`: it is in .bss, expected an integer"), "{}", wrong.err);
    fs::write(&table, "group all = test1_entry\noptional open_entry\noptional open_exit\n").unwrap();
    let refused = run_table();
    assert_eq!(refused.exit, 1, "{}", refused.out);
    assert!(
        refused.out.contains("group `all`: none of its 1 alternatives works on this kernel: "),
        "{}",
        refused.out
    );
    assert!(refused.out.contains("\n  group     all: none of its alternatives works\n"), "{}", refused.out);
}

#[test]
fn errors_of_tables_name_the_file_and_the_line_and_nothing_is_loaded() {
    let dir = tempfile::tempdir().unwrap();
    for (content, expected) in [
        ("group a = fast\nfoo", "table: line 2: unknown entry: `foo`, expected group, "),
        ("group open = absent", ": table: line 1: group `open`: defined twice"),
        (
            "group other = open_fentry",
            ": table: line 1: program `open_fentry`: in two groups: `open` and `other`",
        ),
        (
            "\ngroup other = absnt",
            ": table: line 2: group `other`: the object has no program `absnt` (near: `absent`)",
        ),
        (
            "group a = absent > absent",
            "table: line 1: group `a`: cycle: `absent` is named again after `absent`",
        ),
        (
            "group a = absent >",
            "table: line 1: group `a`: no program, expected at least one for each alternative",
        ),
        ("optional absent\noptional absent", "table: line 2: optional `absent`: named twice"),
        ("# nothing\n", "table: has no entry, expected at least one"),
    ] {
        fs::write(dir.path().join("table"), content).unwrap();
        let object = prebuilt("live/variants.bpf.o");
        let failed = run_in(dir.path(), ["load", text(&object), "--adaptive", "--variants", "table"]);
        assert_eq!((failed.exit, &*failed.out), (2, ""), "{content}");
        assert!(failed.err.contains(expected), "{}", failed.err);
        let lines = failed.err.lines().filter(|line| !line.starts_with("help: "));
        assert_eq!(lines.count(), 1, "{}", failed.err);
    }
    let object = prebuilt("live/ringbuf.bpf.o");
    let none = run(["load", text(&object), "--adaptive"]);
    assert_eq!(none.exit, 2);
    assert!(none.err.contains("declares no variants"), "{}", none.err);
}

#[test]
fn check_judges_the_variants_of_each_kernel() {
    let object = prebuilt("live/variants.bpf.o");
    let run_check =
        |kernel: &str, further: &[&str]| run(["check", text(&object), "--btf", kernel].iter().chain(further));
    let old = run_check("linux-5.10.btf", &[]);
    for line in
        ["sum = sum_loop (2 of 2)", "program absent left out", "map bloom left out", "  not ingress_tcx: "]
    {
        assert!(old.out.contains(line), "{line}\n{}", old.out);
    }
    assert!(!old.out.contains("not in the default load"), "{}", old.out);
    let new = run_check("linux-6.1.btf", &[]);
    let choice = "variants: ingress = ingress_tc (2 of 2), open = open_kprobe (2 of 3), the first alternative of 3 other groups, \
                  program absent";
    assert!(new.out.contains(choice), "{}", new.out);
    let schema = common::schema();
    for (kernel, chosen) in [("linux-5.10.btf", 1), ("linux-6.1.btf", 0)] {
        let lines = run_check(kernel, &["--format", "json"]).lines();
        let [line] = &*lines else { panic!("{lines:?}") };
        schema.check("check", line);
        let report = &line["adaptive"];
        schema.check("start-up report of load", report);
        assert_eq!((&report["kernel"]["btf_source"], &line["verdict"]), (&kernel.into(), &report["verdict"]));
        let groups = report["groups"].as_array().unwrap();
        assert_eq!(groups.iter().find(|group| group["name"] == "sum").unwrap()["chosen"], chosen);
        let features = report["features"].as_array().unwrap();
        let helper = features.iter().find(|feature| feature["name"] == "helper bpf_loop").unwrap();
        assert_eq!(
            (&helper["present"], &helper["evidence"]["source"]),
            (&(chosen == 0).into(), &"btf".into())
        );
        // The choice is that of a dry run.
        let planned = dry_run(kernel, &["--format", "json"]).lines();
        assert_eq!(planned[0]["adaptive"]["groups"], report["groups"]);
        assert_eq!(planned[0]["adaptive"]["features"], report["features"]);
    }
    // Other objects have no choice.
    let object = prebuilt("live/ringbuf.bpf.o");
    let plain = run(["check", text(&object), "--btf", "linux-6.1.btf", "--format", "json"]).lines();
    assert!(plain[0]["adaptive"].is_null());
}

#[test]
fn check_refuses_an_object_only_without_a_working_alternative() {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("variants");
    let object = prebuilt("live/tracepoint.bpf.o");
    let other = prebuilt("live/fentry.bpf.o");
    let run_check = |content: &str, objects: &[&str]| {
        fs::write(&table, content).unwrap();
        let args = ["check", "--btf", "linux-6.1.btf", "--variants", text(&table)];
        run(args.iter().chain(objects))
    };
    let optional = run_check(
        "group all = test1_entry\noptional all\noptional open_entry\noptional open_exit",
        &[text(&other)],
    );
    assert!(optional.out.contains("variants: all left out, program open_entry left out"), "{}", optional.out);
    let refused =
        run_check("group all = test1_entry\noptional open_entry\noptional open_exit", &[text(&other)]);
    assert_eq!(refused.exit, 1, "{}", refused.out);
    assert!(refused.out.contains("all has no working alternative"), "{}", refused.out);
    assert!(
        refused.out.contains("group `all`: none of its 1 alternatives works on this kernel: "),
        "{}",
        refused.out
    );
    let unknown = run_check("group all = test1_entri", &[text(&other)]);
    assert_eq!((unknown.exit, &*unknown.out), (2, ""));
    assert!(unknown.err.contains("variants: line 1: group `all`: "), "{}", unknown.err);
    assert!(
        unknown.err.contains("the object has no program `test1_entri` (near: `test1_entry`)"),
        "{}",
        unknown.err
    );
    let empty = run_check("# nothing\n", &[text(&other)]);
    assert_eq!((empty.exit, &*empty.out), (2, ""));
    assert!(empty.err.contains("variants: has no entry, expected at least one"), "{}", empty.err);
    let several = run_check("group all = test1_entry", &[text(&object), text(&other)]);
    assert_eq!((several.exit, &*several.out), (2, ""));
    assert!(several.err.contains("--variants: 2 objects, expected one"), "{}", several.err);
}

/// Of the only group, no alternative works on 5.10. The other program loads.
const EXHAUSTED: &str = "group exec = handle_exec\n";

const NO_ALTERNATIVE: &str = "group `exec`: none of its 1 alternatives works on this kernel: ";

#[test]
fn explain_has_the_fixes_of_each_program_where_no_alternative_works() {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("variants");
    fs::write(&table, EXHAUSTED).unwrap();
    let on = ["exec.bpf.o", "--btf", "linux-5.10.btf", "--variants", text(&table)];
    let explained = run(["explain"].iter().chain(&on));
    assert_eq!(explained.exit, 1, "{explained:?}");
    let alone = run(["explain", "exec.bpf.o", "--btf", "linux-5.10.btf"]);
    // The explanation of the object without variants, and that of the group.
    let reason = |run: &common::Run| run.out.split_once("\nrefused: `handle_exec`: ").unwrap().1.to_owned();
    assert_eq!(reason(&explained), reason(&alone));
    assert!(reason(&explained).contains(" fix "), "{}", explained.out);
    assert!(explained.out.contains("2 programs: 1 refused, 1 loads; "), "{}", explained.out);
    let of_group = format!("\nrefused: the object: {NO_ALTERNATIVE}");
    assert!(explained.out.contains(&of_group), "{}", explained.out);

    let lines = run(["explain", "--format", "json"].iter().chain(&on)).lines();
    let programs: Vec<_> = lines.iter().filter(|line| line["relocation"].is_null()).collect();
    programs.iter().for_each(|line| common::schema().check("program of explain", line));
    let [exec, exit, object] = &*programs else { panic!("{programs:#?}") };
    let parts = |line: &serde_json::Value| {
        let reasons = line["reasons"].as_array().unwrap();
        (line["program"].clone(), line["autoload"].clone(), line["verdict"].clone(), reasons.len())
    };
    assert_eq!(parts(exec), ("handle_exec".into(), true.into(), "refused".into(), 1));
    assert!(!exec["reasons"][0]["fixes"].as_array().unwrap().is_empty(), "{exec}");
    assert_eq!(parts(exit), ("handle_exit".into(), true.into(), "loads".into(), 0));
    assert_eq!(parts(object), (serde_json::Value::Null, true.into(), "refused".into(), 1));
    let of_group = object["reasons"][0]["text"].as_str().unwrap();
    assert!(of_group.starts_with(NO_ALTERNATIVE), "{of_group}");
}

#[test]
fn no_reason_of_a_program_accepts_that_no_alternative_works() {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("variants");
    fs::write(&table, EXHAUSTED).unwrap();
    let report = dir.path().join("report.xml");
    let check = |further: &[&str]| {
        let args = ["check", "exec.bpf.o", "--btf", "linux-5.10.btf", "--variants", text(&table)];
        run(args.iter().chain(further))
    };
    let checked = check(&["--allow", "kind=relocation", "--report", text(&report)]);
    assert_eq!(checked.exit, 1, "{checked:?}");
    assert!(checked.out.contains(NO_ALTERNATIVE), "{}", checked.out);
    let report = fs::read_to_string(&report).unwrap();
    assert!(report.contains("group `exec`: none of its 1 alternatives works"), "{report}");
    assert_eq!(check(&["--allow", "kind=relocation", "--allow", "kind=object"]).exit, 0);
    let lines = check(&["--format", "json"]).lines();
    common::schema().check("check", &lines[0]);
    assert_eq!(lines[0]["verdict"], "refused");
    assert_eq!(lines[0]["programs"][1]["verdict"], "loads");
    assert!(lines[0]["reasons"][0]["text"].as_str().unwrap().starts_with(NO_ALTERNATIVE), "{}", lines[0]);
}

#[test]
fn explain_adds_a_table_as_check_does() {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("variants");
    fs::write(&table, "group task = handle_exec > handle_exit\n").unwrap();
    let on = ["--btf", "linux-5.10.btf", "--variants", text(&table)];
    let [explained, checked] =
        ["explain", "check"].map(|command| run([&[command, "exec.bpf.o"], &on[..]].concat()));
    for run in [&explained, &checked] {
        assert_eq!(run.exit, 0, "{run:?}");
        assert!(run.out.contains("variants: task = handle_exit (2 of 2)"), "{}", run.out);
    }
    let refused = "refused: `handle_exec` (not among the chosen variants): ";
    assert!(explained.out.contains(refused), "{}", explained.out);
    // Both commands know the same errors.
    fs::write(&table, "group task = handle_exe\n").unwrap();
    let [explained, checked] =
        ["explain", "check"].map(|command| run([&[command, "exec.bpf.o"], &on[..]].concat()));
    assert_eq!((explained.exit, &*explained.out, &explained.err), (2, "", &checked.err));
    fs::write(&table, EXHAUSTED).unwrap();
    for name in ["one.bpf.o", "two.bpf.o"] {
        fs::copy(prebuilt("live/tracepoint.bpf.o"), dir.path().join(name)).unwrap();
    }
    let several = run([&["explain", text(dir.path())], &on[..]].concat());
    assert_eq!((several.exit, &*several.out), (2, ""));
    assert!(several.err.contains("--variants: 2 objects, expected one"), "{}", several.err);
    let alone = run([&["explain", "exec.bpf.o", "--program", "handle_exit"], &on[..]].concat());
    assert!(alone.exit == 2 && alone.err.contains("cannot be used with"), "{alone:?}");
}

#[test]
fn a_malformed_declaration_is_reported_once_and_noted_where_nothing_chooses() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = fs::read(prebuilt("live/variants.bpf.o")).unwrap();
    let (tag, bad) = (b"core_relo:variant:sum:1\0", b"core_relo:variant:sum:x\0");
    let at = bytes.windows(tag.len()).position(|window| window == tag).unwrap();
    let object = dir.path().join("bad.bpf.o");
    fs::write(&object, [&bytes[..at], bad, &bytes[at + tag.len()..]].concat()).unwrap();
    let reason = "the rank is no number, expected 0 to 4294967295, the best alternative first";
    let on = ["--btf", "linux-5.10.btf", "--btf", "linux-6.1.btf"];
    for command in ["check", "explain"] {
        let refused = run([&[command, text(&object)], &on[..]].concat());
        assert_eq!((refused.exit, refused.err.matches(reason).count()), (2, 1), "{command}: {refused:?}");
        let lines = run([&[command, text(&object), "--format", "json"], &on[..]].concat()).lines();
        let errors = lines.iter().filter(|line| line["error"]["what"].to_string().contains(reason));
        assert_eq!(errors.count(), 1, "{command}: {lines:#?}");
    }
    let loader_file = dir.path().join("out.loader");
    let loaded = run(["load", text(&object), "--dry-run", "--btf", "linux-6.1.btf"]);
    let generated = run(["gen", "loader", text(&object), "-o", text(&loader_file)]);
    assert_eq!(generated.exit, 0, "{generated:?}");
    for run in [loaded, generated] {
        assert_eq!(run.err.matches(reason).count(), 1, "{}", run.err);
        assert!(run.err.contains("the declarations of variants have no effect here"), "{}", run.err);
    }
}

#[test]
fn a_dry_run_without_facts_exits_with_the_verdict_on_the_choice() {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("variants");
    fs::write(&table, "optional guarded\n").unwrap();
    let object = prebuilt("kernel/guards.bpf.o");
    let plain = ["load", text(&object), "--dry-run", "--btf", "linux-5.10.btf", "--format", "json"];
    let adaptive = [&plain[..], &["--adaptive", "--variants", text(&table)]].concat();
    for args in [&plain[..], &adaptive] {
        let run = run(args);
        let lines = run.lines();
        assert_eq!((&lines[0]["status"], &lines[0]["verdict"]), (&"not_planned".into(), &"refused".into()));
        assert_eq!(run.exit, 1, "{run:?}");
    }
}
