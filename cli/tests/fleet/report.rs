//! `report`: the results of several checks become the report of one.

use super::*;
use core_relo_loader::object::Object;
use core_relo_verdict::{
    fleet::{self as verdict_fleet, FleetJudge, OfflineKernel},
    judge::{ObjectVerdict, Reason},
};

/// The formats on stdout, and the files.
const FORMATS: [&str; 4] = ["sarif", "junit", "markdown", "text"];
const FILES: [&str; 4] = ["r.html", "r.sarif", "r.xml", "r.md"];

/// Runs a command that writes all report files. Returns them.
fn report_files(fleet: &Fleet, args: &[&str]) -> Vec<String> {
    let options = FILES.iter().flat_map(|file| ["--report", file]);
    let run = fleet.run(args.iter().copied().chain(options));
    assert!(run.exit <= 2, "{}", run.err);
    let files = FILES.map(|file| fs::read_to_string(fleet.path(file)).unwrap());
    FILES.iter().for_each(|file| fs::remove_file(fleet.path(file)).unwrap());
    files.to_vec()
}

/// Asserts that the command makes the same output in every format of results as `check` does directly.
fn assert_same_reports(fleet: &Fleet, check: &[&str], results: &[&str]) {
    let report = [&["report"], results].concat();
    for format in FORMATS {
        let [direct, stored] = [check, &report].map(|args| fleet.run([args, &["--format", format]].concat()));
        assert_eq!(direct.out, stored.out, "{format}");
        assert_eq!(direct.exit, stored.exit, "{format}: {} {}", direct.err, stored.err);
    }
    for ((direct, stored), name) in
        report_files(fleet, check).iter().zip(report_files(fleet, &report)).zip(FILES)
    {
        assert!(*direct == stored, "{name}");
    }
}

/// Returns the paths of all prebuilt objects.
fn prebuilt_objects() -> Vec<String> {
    let topics = fs::read_dir(prebuilt("")).unwrap().map(|topic| topic.unwrap().path());
    let files = topics.flat_map(|topic| fs::read_dir(topic).into_iter().flatten());
    let paths = files.map(|file| file.unwrap().path().to_str().unwrap().to_owned());
    let mut objects: Vec<_> = paths.filter(|path| path.ends_with(".bpf.o")).collect();
    objects.sort();
    assert!(objects.len() > 40, "{objects:?}");
    objects
}

const CHECK: [&str; 5] = ["check", "exec.bpf.o", "basic.bpf.o", "--btf", "kernels"];

#[test]
fn results_of_shards_become_one_report() {
    let fleet = Fleet::with_kernels(12);
    fleet.write("kernels/05", "no BTF");
    let whole = fleet.check(&[]);
    for (shard, name) in [("1/3", "a"), ("2/3", "b"), ("3/3", "c")] {
        fleet.check(&["--shard", shard, "--resume", &format!("{name}.jsonl")]);
        fleet.write(&format!("{name}.plain"), fleet.check(&["--shard", shard]).out);
    }
    assert_same_reports(&fleet, &CHECK, &["a.jsonl", "b.jsonl", "c.jsonl"]);
    assert_same_reports(&fleet, &CHECK, &["a.plain", "b.plain", "c.plain"]);
    // Results that are given twice count once.
    assert_same_reports(&fleet, &CHECK, &["a.plain", "b.jsonl", "c.plain", "a.jsonl", "b.jsonl"]);
    let lines = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let merged = fleet.run(["report", "c.jsonl", "a.plain", "b.jsonl", "--format", "json"]);
    assert_eq!((merged.exit, lines(&merged.out)), (whole.exit, lines(&whole.out)));
}

/// Directories of `kernels export` have the package of each kernel beside it.
#[test]
fn kernels_of_distributions_stay_grouped() {
    let fleet = Fleet::with_kernels(6);
    for (number, package) in [
        "debian 12 6.1.9-1 x86_64",
        "debian 11 5.10.209-2 x86_64",
        "ubuntu 22.04 5.15.0-40.43 aarch64",
        "other 1 rolling m68k",
        "debian 12 6.1.12-1 x86_64",
    ]
    .iter()
    .enumerate()
    {
        fleet.write(&format!("kernels/{:02}/distribution-{number:03}", number / 3), package);
    }
    let json = fleet.run([&CHECK[..], &["--format", "json"]].concat());
    fleet.write("r.jsonl", &json.out);
    assert!(json.out.contains("\"distribution\":\"other\""), "{}{}", json.out, json.err);
    assert_same_reports(&fleet, &CHECK, &["r.jsonl"]);
    let markdown = fleet.run(["report", "r.jsonl", "--format", "markdown"]);
    assert!(markdown.out.contains("debian"), "{}", markdown.out);
}

#[test]
fn a_resumed_run_reports_all_kernels() {
    let fleet = Fleet::with_kernels(9);
    let text = fleet.run(CHECK);
    let files = report_files(&fleet, &CHECK);
    fleet.check(&["--resume", "results.jsonl"]);
    let results = fs::read_to_string(fleet.path("results.jsonl")).unwrap();
    for kept in [1, 2, 7, results.lines().count()] {
        let resumed = [&CHECK[..], &["--resume", "results.jsonl"]].concat();
        let part: String = results.split_inclusive('\n').take(kept).collect();
        fleet.write("results.jsonl", &part);
        let run = fleet.run(&resumed);
        assert_eq!((run.exit, &run.out), (text.exit, &text.out), "{kept} lines: {}", run.err);
        fleet.write("results.jsonl", &part);
        assert!(report_files(&fleet, &resumed) == files, "{kept} lines");
        assert_eq!(fs::read_to_string(fleet.path("results.jsonl")).unwrap(), results, "{kept} lines");
    }
}

#[test]
fn all_objects_are_read_back() {
    let fleet = Fleet::with_kernels(4);
    // The text of objects with variants has the choice, which reports do not show.
    let objects: Vec<_> =
        prebuilt_objects().into_iter().filter(|path| !path.contains("/adaptive/")).collect();
    let objects = objects.iter().map(String::as_str);
    let check: Vec<_> = ["check", "--btf", "kernels"].into_iter().chain(objects).collect();
    let json = fleet.run([&check[..], &["--format", "json"]].concat());
    fleet.write("all.jsonl", &json.out);
    let again = fleet.run(["report", "all.jsonl", "--format", "json"]);
    assert!(again.out == json.out && again.exit == json.exit, "{}", again.err);
    for (direct, stored) in
        report_files(&fleet, &check).iter().zip(report_files(&fleet, &["report", "all.jsonl"]))
    {
        assert!(*direct == stored);
    }
}

#[test]
fn accepted_reasons_stay_accepted() {
    let fleet = Fleet::with_kernels(4);
    fleet.write(
        "core-relo.toml",
        "[[allow]]\nkind = \"relocation\"\nkernel = \"*0,*\"\n\n[[allow]]\nprogram = \"handle_exec\"\n",
    );
    let check = [&CHECK[..], &["--allow", "kernel=*3.btf"]].concat();
    fleet.write("r.jsonl", fleet.run([&check[..], &["--format", "json"]].concat()).out);
    assert_same_reports(&fleet, &check, &["r.jsonl"]);
}

#[test]
fn results_that_contradict_each_other_are_named() {
    let fleet = Fleet::with_kernels(2);
    fleet.write("monday.jsonl", fleet.check(&[]).out);
    fleet.write("kernels/00/000.btf", kernel(1));
    fleet.write("kernels/00/001.btf", kernel(0));
    fleet.write("tuesday.jsonl", fleet.check(&[]).out);
    let both = ["report", "monday.jsonl", "tuesday.jsonl"];
    let run = fleet.run(both);
    let expected = "core-relo: tuesday.jsonl: line 1: contradicts monday.jsonl: line 1: the results of exec.bpf.o on \
                    kernels/00/000.btf; give the files in the order of the runs";
    assert!(run.exit == 2 && run.out.is_empty() && run.err.starts_with(expected), "{}", run.err);
    let run = fleet.run([&both[..], &["--replace"]].concat());
    assert_eq!(run.out, fleet.run(["report", "tuesday.jsonl"]).out, "{}", run.err);
    // Another build of the object.
    fs::copy(prebuilt("fields/resize.bpf.o"), fleet.path("basic.bpf.o")).unwrap();
    fleet.write("wednesday.jsonl", fleet.check(&[]).out);
    let run = fleet.run(["report", "tuesday.jsonl", "wednesday.jsonl", "--replace"]);
    let expected =
        "core-relo: wednesday.jsonl: line 2: is about another `basic.bpf.o` than tuesday.jsonl: line 2: ";
    assert!(run.exit == 2 && run.err.starts_with(expected), "{}", run.err);
}

#[test]
fn what_is_no_result_is_refused_with_its_place() {
    let fleet = Fleet::with_kernels(2);
    let good = fleet.check(&[]).out;
    let refused = |content: &[u8], expected: &str| {
        fleet.write("r.jsonl", content);
        let run = fleet.run(["report", "r.jsonl", "--report", "r.html"]);
        let expected = format!("core-relo: r.jsonl: {expected}");
        assert!(run.exit == 2 && run.err.starts_with(&expected), "{}", run.err);
        assert!(run.out.is_empty() && !fleet.path("r.html").exists());
    };
    refused(&good.as_bytes()[..good.len() - 9], "line 4: is cut; the run was interrupted: ");
    refused(good.replace("\"format\":1", "\"format\":7").as_bytes(), "line 1: has the format 7, expected 1");
    refused(&[good.as_bytes(), b"{\"a\":1}\n"].concat(), "line 5: is no line of `check --format json`: ");
    refused(b"\x7fELF", "line 1: ");
    refused(b"", "has no results");
    refused(b"{\"core_relo\":\"0.1.0\",\"objects\":[]}\n", "has no results");
    let run = fleet.run(["report", "none.jsonl"]);
    assert!(run.exit == 2 && run.err.contains("none.jsonl"), "{}", run.err);
}

/// Clears what the JSON of a reason does not have.
fn clear_internals(reasons: &mut [Reason]) {
    for reason in reasons {
        (reason.insn, reason.requirement, reason.map, reason.is_repaired) = (None, None, None, false);
    }
}

#[test]
fn verdicts_of_the_library_are_read_back() {
    let mut count = 0;
    for path in prebuilt_objects() {
        let bytes = fs::read(&path).unwrap();
        let Ok(object) = Object::parse(&bytes) else { continue };
        let mut judged = verdict_fleet::Fleet::default();
        if judged.add(&object, ()).is_err() {
            continue;
        }
        let judge = FleetJudge::new(&judged);
        for number in 0..KERNELS.len() {
            let kernel = OfflineKernel::from_btf(kernel(number)).unwrap();
            for mut verdict in judge.verdicts(&kernel).into_iter().filter_map(|(_, verdict)| verdict.ok()) {
                let json = serde_json::to_string(&verdict).unwrap();
                let read: ObjectVerdict = serde_json::from_str(&json).unwrap();
                clear_internals(&mut verdict.reasons);
                for program in &mut verdict.programs {
                    let lists = [&mut program.reasons, &mut program.guarded, &mut program.later];
                    lists.into_iter().for_each(|reasons| clear_internals(reasons));
                }
                assert_eq!(read, verdict, "{path}");
                assert_eq!(serde_json::to_string(&read).unwrap(), json, "{path}");
                count += 1;
            }
        }
    }
    assert!(count > 200, "{count}");
}

/// Returns the numbers of failures and of skipped tests of a JUnit report.
fn junit_counts(report: &str) -> (usize, usize) {
    let count = |name: &str| {
        let (_, rest) = report.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    (count("failures"), count("skipped"))
}

#[test]
fn only_what_is_new_since_the_baseline_counts() {
    let fleet = Fleet::with_kernels(4);
    let check = ["check", "exec.bpf.o", "--btf", "kernels"];
    let run = |more: &[&str]| fleet.run([&check[..], more].concat());
    fleet.write("main.jsonl", run(&["--format", "json"]).out);
    // Two of the four demo kernels refuse the object.
    let unchanged = run(&["--baseline", "main.jsonl"]);
    assert_eq!(unchanged.exit, 0, "{}", unchanged.err);
    assert!(unchanged.out.contains("    nothing new since the baseline\n"), "{}", unchanged.out);
    assert!(unchanged.out.ends_with("\nnothing is new since the baseline\n"), "{}", unchanged.out);
    assert_eq!(junit_counts(&run(&["--format", "junit"]).out), (2, 0));
    assert_eq!(junit_counts(&run(&["--format", "junit", "--baseline", "main.jsonl"]).out), (0, 2));
    // A third kernel refuses it.
    fleet.write("kernels/00/001.btf", kernel(0));
    let new = run(&["--baseline", "main.jsonl"]);
    assert_eq!(new.exit, 1, "{}", new.err);
    let line = "    new: handle_exec: struct task_struct.__state: no member `__state`\n";
    assert_eq!(new.out.matches(line).count(), 1, "{}", new.out);
    let end = "\nnew since the baseline: 1 reason of 1 object on 1 kernel\n";
    assert!(new.out.ends_with(end), "{}", new.out);
    let junit = run(&["--format", "junit", "--baseline", "main.jsonl"]).out;
    assert_eq!(junit_counts(&junit), (1, 2));
    assert!(junit.contains("<skipped message=\"not new since the baseline: refused: "), "{junit}");
    let log: serde_json::Value =
        serde_json::from_str(&run(&["--format", "sarif", "--baseline", "main.jsonl"]).out).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let mut states: Vec<_> = results.iter().map(|result| result["baselineState"].as_str().unwrap()).collect();
    states.sort_unstable();
    assert_eq!(states, ["new", "unchanged", "unchanged"]);
    let markdown = run(&["--format", "markdown", "--baseline", "main.jsonl"]).out;
    assert!(markdown.contains("\nnew since the baseline: 1 reason of 1 object on 1 kernel.\n"), "{markdown}");
    assert_eq!(markdown.matches("* **new** **refused** ").count(), 1, "{markdown}");
    let page = &report_files(&fleet, &[&check[..], &["--baseline", "main.jsonl"]].concat())[0];
    assert_eq!(page.matches("<sup>new</sup>").count(), 1);
    assert!(page.contains("<option value=\"new\">new since the baseline</option>"));
    let json = run(&["--format", "json", "--baseline", "main.jsonl"]);
    let schema = schema();
    json.lines().iter().for_each(|line| schema.check("check", line));
    let left: Vec<_> = json.lines().iter().map(|line| line["baseline"]["verdict"].clone()).collect();
    assert_eq!(left, ["loads", "refused", "loads", "loads"]);
    assert_eq!(json.lines()[1]["baseline"]["new"][0]["program"], "handle_exec");
    // Stored results are compared like those of a check, and lines keep their comparison.
    let compared = [&check[..], &["--baseline", "main.jsonl"]].concat();
    fleet.write("compared.jsonl", &json.out);
    assert_same_reports(&fleet, &compared, &["compared.jsonl"]);
    fleet.write("plain.jsonl", run(&["--format", "json"]).out);
    assert_same_reports(&fleet, &compared, &["plain.jsonl", "--baseline", "main.jsonl"]);
    let stored = fleet.run(["report", "plain.jsonl", "--baseline", "main.jsonl", "--format", "json"]);
    assert_eq!((stored.exit, stored.out), (json.exit, json.out));
    // Of a resumed run, too.
    let resumed = [&compared[..], &["--resume", "results.jsonl"]].concat();
    let exits = [fleet.run(&resumed), fleet.run(&resumed)].map(|run| (run.exit, run.out));
    assert_eq!(exits[0], (1, new.out.clone()));
    assert_eq!(exits[1], exits[0]);
}

#[test]
fn the_text_of_a_large_fleet_is_bounded() {
    const KERNELS: usize = 1200;
    let fleet = Fleet::with_kernels(4);
    for number in 4..KERNELS {
        let kernel = fleet.path(&format!("kernels/{:02}/{:03}.btf", number % 4 / 3, number % 4));
        fs::hard_link(kernel, fleet.path(&format!("kernels/{number:04}.btf"))).unwrap();
    }
    let grouped = fleet.run(CHECK);
    assert_eq!(grouped.exit, 1, "{}", grouped.err);
    assert!(grouped.out.lines().count() < 12, "{}", grouped.out);
    let reason = "    ./exec.bpf.c:70 handle_exec: refused: struct task_struct.__state: no member `__state`; on 300 \
                  kernels: kernels/00/000.btf, kernels/0004.btf, kernels/0008.btf, …\n";
    assert!(grouped.out.contains(reason), "{}", grouped.out);
    assert!(
        grouped.err.contains("2400 results are grouped; --all prints a line for each"),
        "{}",
        grouped.err
    );
    let all = fleet.run([&CHECK[..], &["--all"]].concat());
    let rows = all.out.lines().filter(|line| line.contains("  kernels/")).count();
    assert_eq!((rows, all.exit), (2 * KERNELS, 1));
    let json = fleet.check(&[]);
    assert_eq!(json.out.lines().count(), 2 * KERNELS);
    fleet.write("r.jsonl", &json.out);
    assert_eq!(fleet.run(["report", "r.jsonl"]).out, grouped.out);
    assert_eq!(fleet.run(["report", "r.jsonl", "--all"]).out, all.out);
}
