//! `check --resume`: interrupted runs and their results file.

use super::*;
use core_relo_test_support::skip;
use files::tar;

#[test]
fn an_interrupted_run_continues_where_it_stopped() {
    let fleet = Fleet::with_kernels(9);
    fleet.write("kernels/05", "no BTF");
    let plain = fleet.check(&[]);
    let whole = fleet.check(&["--resume", "results.jsonl"]);
    assert_eq!((whole.exit, &whole.out), (2, &plain.out));
    let results = fs::read_to_string(fleet.path("results.jsonl")).unwrap();
    let header = results.find('\n').unwrap() + 1;
    assert_eq!(results[header..], plain.out);
    // A results file that is cut anywhere is completed to the same content.
    for cut in
        (0..results.len()).step_by(results.len() / 30).chain([results.len() - 1, results.len(), header])
    {
        fleet.write("results.jsonl", &results[..cut]);
        let rest = fleet.check(&["--resume", "results.jsonl", "--jobs", "2"]);
        assert_eq!(rest.exit, 2, "cut at {cut}: {}", rest.err);
        assert_eq!(fs::read_to_string(fleet.path("results.jsonl")).unwrap(), results, "cut at {cut}");
        assert!(plain.out.ends_with(&rest.out), "only new results are printed");
    }
    let again = fleet.check(&["--resume", "results.jsonl"]);
    assert_eq!((again.exit, &*again.out), (2, ""), "the exit status includes earlier results");
    assert!(
        again.err.contains("has the results of 10 kernels, which are not checked again"),
        "{}",
        again.err
    );
}

#[test]
fn only_one_run_writes_to_a_results_file() {
    let fleet = Fleet::with_kernels(2);
    let other_run = fs::File::create(fleet.path("results.jsonl")).unwrap();
    other_run.lock().unwrap();
    let run = fleet.check(&["--resume", "results.jsonl"]);
    assert_eq!((run.exit, &*run.out), (2, ""));
    assert!(run.err.contains("results.jsonl: another run is writing to it"), "{}", run.err);
    drop(other_run);
    assert_eq!(fleet.check(&["--resume", "results.jsonl"]).lines().len(), 4);
}

#[test]
fn results_of_other_objects_are_refused() {
    let fleet = Fleet::with_kernels(2);
    fleet.check(&["--resume", "results.jsonl"]);
    let before = fs::read(fleet.path("results.jsonl")).unwrap();
    let refused = |what: &str| {
        let run = fleet.check(&["--resume", "results.jsonl"]);
        assert_eq!((run.exit, &*run.out, run.err.lines().count()), (2, "", 1));
        assert!(run.err.starts_with("core-relo: results.jsonl: ") && run.err.contains(what), "{}", run.err);
    };
    let object = fs::read(fleet.path("basic.bpf.o")).unwrap();
    fs::copy(prebuilt("fields/resize.bpf.o"), fleet.path("basic.bpf.o")).unwrap();
    refused("`basic.bpf.o` differs");
    fleet.write("basic.bpf.o", object);
    assert_eq!(fs::read(fleet.path("results.jsonl")).unwrap(), before);
    for (content, what) in [
        ("{}\n".to_owned(), "line 1: not a line of"),
        ("no JSON\n".to_owned(), "line 1: not a line of"),
        (String::from_utf8(before.clone()).unwrap() + "{}\n", "line 6: not a line of"),
        (String::from_utf8(before.clone()).unwrap().lines().skip(1).collect(), ""),
    ] {
        fleet.write("results.jsonl", &content);
        if what.is_empty() {
            continue;
        }
        refused(what);
        assert_eq!(
            fs::read_to_string(fleet.path("results.jsonl")).unwrap(),
            content,
            "the file is unchanged"
        );
    }
    fs::create_dir(fleet.path("directory")).unwrap();
    assert_eq!(fleet.check(&["--resume", "directory"]).exit, 2);
}

#[test]
fn results_of_shards_can_be_concatenated() {
    let fleet = Fleet::with_kernels(12);
    let mut merged = Vec::new();
    for shard in ["1/2", "2/2"] {
        fleet.check(&["--shard", shard, "--resume", "part.jsonl"]);
        merged.extend(fs::read(fleet.path("part.jsonl")).unwrap());
        fs::remove_file(fleet.path("part.jsonl")).unwrap();
    }
    fleet.write("all.jsonl", merged);
    let run = fleet.check(&["--resume", "all.jsonl"]);
    assert_eq!((run.exit, &*run.out), (1, ""), "{}", run.err);
}

#[test]
fn a_device_is_refused_as_results_file() {
    if !Path::new("/dev/full").exists() {
        skip!("no /dev/full");
        return;
    }
    let fleet = Fleet::with_kernels(3);
    let run = fleet.check(&["--resume", "/dev/full"]);
    assert_eq!((run.exit, &*run.out), (2, ""));
    assert!(run.err.contains("/dev/full: is a device"), "{}", run.err);
}

/// As on a full disk, the header cannot be written.
#[test]
fn a_run_that_cannot_begin_leaves_no_results_file() {
    let fleet = Fleet::with_kernels(3);
    let check_with_full_disk = |results: &str| {
        let script = "ulimit -f 0; exec \"$0\" check \"$@\"";
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_core-relo"), "exec.bpf.o", "--btf", "kernels"]);
        command.args(["--resume", results]);
        let output = command.current_dir(fleet.path("")).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        let expected = format!("{results}: cannot be written: ");
        assert!(output.status.code() == Some(2) && err.contains(&expected), "{err}");
    };
    check_with_full_disk("results.jsonl");
    assert!(!fleet.path("results.jsonl").exists());
    // A link stays, and its target is removed.
    std::os::unix::fs::symlink("target.jsonl", fleet.path("link.jsonl")).unwrap();
    check_with_full_disk("link.jsonl");
    assert!(fleet.path("link.jsonl").is_symlink() && !fleet.path("target.jsonl").exists());
    // An empty file existed before.
    fs::write(fleet.path("empty.jsonl"), "").unwrap();
    check_with_full_disk("empty.jsonl");
    assert!(fleet.path("empty.jsonl").exists());
}

/// The header of a run without objects would stand in the way of the next run.
#[test]
fn a_run_without_objects_leaves_no_results_file() {
    let fleet = Fleet::with_kernels(1);
    let args = ["check", "nosuch.bpf.o", "--btf", "kernels", "--resume", "other.jsonl"];
    let run = fleet.run(args);
    assert!(run.exit == 2 && !fleet.path("other.jsonl").exists(), "{run:?}");
}

/// Runs a check. Returns the results file and the length of its header.
fn results(fleet: &Fleet) -> (Vec<u8>, usize) {
    assert_eq!(fleet.check(&["--resume", "results.jsonl"]).exit, 1);
    let results = fs::read(fleet.path("results.jsonl")).unwrap();
    let header = results.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    (results, header)
}

#[test]
fn a_foreign_file_is_not_changed() {
    let fleet = Fleet::with_kernels(2);
    let (results, header_len) = results(&fleet);
    let header = &results[..header_len];
    let first_line = results[header_len..].split_inclusive(|byte| *byte == b'\n').next().unwrap();
    let after = |rest: &[u8]| [&results, rest].concat();
    let foreign: [Vec<u8>; 26] = [
        b"{".into(),
        br#"{"core_relo":"#.into(),
        br#"{"precious":1}"#.into(),
        b"x".into(),
        b"\n".into(),
        b"\0".into(),
        vec![0; 100_000],
        br#"{"c0"#.into(),
        b"precious\n".into(),
        br#"{"core_relo":"0.1.0","objects":[{"object":"other.o","ha"#.into(),
        [header, b"x"].concat(),
        [header, b"\0\0\0"].concat(),
        [&header[..header.len() - 1], b" \n"].concat(),
        [b"\xef\xbb\xbf", &*results].concat(),
        after(b"garbage"),
        after(b" "),
        after(b"\n"),
        after(b"\0\0\0\0"),
        after(br#"{"precious":1}"#),
        after(br#"{"object":"other.o""#),
        after(br#"{"object":"exec.bpf.o","target":7"#),
        after(br#"{"object":"exec.bpf.o","target":"k","kept":1,"patched":[1"#),
        after(b"{\"object\":\"exec.bpf.o\",\"target\":\"k\",\"kept\":1,\"else\":"),
        after(&[&header[..20], b"X"].concat()),
        // Incomplete results of a kernel, after its first line.
        after(&[first_line, br#"{"object":"basic.bpf.o","target":"another.btf","#].concat()),
        after(&[first_line, br#"{"object":null"#].concat()),
    ];
    for content in foreign {
        let shown = String::from_utf8_lossy(&content[content.len().saturating_sub(70)..]).into_owned();
        fleet.write("results.jsonl", &content);
        let run = fleet.check(&["--resume", "results.jsonl"]);
        assert_eq!((run.exit, &*run.out, run.err.lines().count()), (2, "", 1), "{shown:?}: {}", run.err);
        assert!(run.err.contains("not a line of `check --resume`"), "{shown:?}: {}", run.err);
        assert!(fs::read(fleet.path("results.jsonl")).unwrap() == content, "{shown:?}");
    }
    let other = String::from_utf8(results).unwrap().replace("\"core_relo\":\"", "\"core_relo\":\"9.");
    fleet.write("results.jsonl", &other);
    let run = fleet.check(&["--resume", "results.jsonl"]);
    assert!(run.exit == 2 && run.err.contains("are those of core-relo 9."), "{}", run.err);
    assert_eq!(fs::read_to_string(fleet.path("results.jsonl")).unwrap(), other);
}

#[test]
fn a_truncated_header_is_completed() {
    let fleet = Fleet::with_kernels(1);
    let whole = fleet.check(&["--resume", "results.jsonl"]);
    let results = fs::read(fleet.path("results.jsonl")).unwrap();
    let header = results.iter().position(|byte| *byte == b'\n').unwrap();
    for cut in 0..=header {
        for before in
            [&[][..], &results].into_iter().filter(|before| cut == 0 || cut > 13 || !before.is_empty())
        {
            fleet.write("results.jsonl", [before, &results[..cut]].concat());
            let run = fleet.check(&["--resume", "results.jsonl"]);
            assert_eq!(run.exit, whole.exit, "cut at {cut}: {}", run.err);
            assert!(fs::read(fleet.path("results.jsonl")).unwrap() == results, "cut at {cut}");
        }
    }
}

#[test]
fn a_huge_foreign_file_is_refused_by_its_first_bytes() {
    let fleet = Fleet::with_kernels(2);
    let (results, header) = results(&fleet);
    for begin in [&b""[..], &results[..header]] {
        fleet.write("sparse", begin);
        fs::OpenOptions::new().write(true).open(fleet.path("sparse")).unwrap().set_len(1 << 40).unwrap();
        let run = fleet.check(&["--resume", "sparse"]);
        assert!(run.exit == 2 && run.err.contains("not a line of"), "{}", run.err);
        assert_eq!(fs::metadata(fleet.path("sparse")).unwrap().len(), 1 << 40);
    }
}

#[test]
fn only_a_regular_file_stores_results() {
    let fleet = Fleet::with_kernels(1);
    let pipe = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, fleet.path("pipe"), pipe, mode, 0).unwrap();
    fs::copy(fleet.path("exec.bpf.o"), fleet.path("other.bpf.o")).unwrap();
    let input = fleet.check(&["--resume", "exec.bpf.o"]);
    assert!(input.exit == 2 && input.err.contains("exec.bpf.o: is an input and the output"), "{}", input.err);
    for (path, what) in [
        ("pipe", "is a device, pipe or socket"),
        ("/dev/null", "is a device, pipe or socket"),
        ("/dev/stdout", "is standard output"),
        ("/proc/self/fd/2", "is a device, pipe or socket"),
        ("kernels", "is a directory"),
        ("new/", "is a directory"),
        ("no/where", "no such directory"),
        ("other.bpf.o", "line 1: not a line of"),
    ] {
        let run = fleet.check(&["--resume", path]);
        assert_eq!((run.exit, &*run.out), (2, ""), "{path}: {}", run.err);
        assert!(run.err.starts_with(&format!("core-relo: {path}: ")), "{path}: {}", run.err);
        assert!(run.err.contains(what), "{path}: {}", run.err);
    }
    // A symbolic or hard link refers to the same results file.
    fs::write(fleet.path("file"), "").unwrap();
    std::os::unix::fs::symlink("file", fleet.path("link")).unwrap();
    fs::hard_link(fleet.path("file"), fleet.path("hard")).unwrap();
    assert_eq!(fleet.check(&["--resume", "link"]).lines().len(), 2);
    assert_eq!(fleet.check(&["--resume", "hard"]).lines().len(), 0);
}

/// Resumes a run after each line of its results. Exit status and results must equal those of an uninterrupted
/// run.
fn resume_after_each_line(fleet: &Fleet, targets: &[&str]) -> Vec<serde_json::Value> {
    let args = [&["check", "exec.bpf.o", "--format", "json", "--resume", "results.jsonl"], targets].concat();
    let whole = fleet.run(&args);
    let results = fs::read_to_string(fleet.path("results.jsonl")).unwrap();
    let lines: Vec<_> = results.split_inclusive('\n').collect();
    for n in 1..=lines.len() {
        fleet.write("results.jsonl", lines[..n].concat());
        let rest = fleet.run(&args);
        assert_eq!(rest.exit, whole.exit, "{n} lines");
        assert_eq!(fs::read_to_string(fleet.path("results.jsonl")).unwrap(), results, "{n} lines");
        assert_eq!(rest.out, lines[n..].concat(), "{n} lines");
    }
    fs::remove_file(fleet.path("results.jsonl")).unwrap();
    whole.lines()
}

#[test]
fn kernels_whose_names_print_alike_are_distinguished() {
    use std::os::unix::ffi::OsStrExt as _;
    let fleet = Fleet::new();
    let names: [&[u8]; 6] = [b"v\xe4.btf", b"v\xf6.btf", "v\u{fffd}.btf".as_bytes(), b"a\nb", b"a\\nb", b"c"];
    for (n, name) in names.iter().enumerate() {
        // The object resolves on the first kernel only.
        fs::write(fleet.path("kernels").join(OsStr::from_bytes(name)), kernel(usize::from(n == 0))).unwrap();
    }
    let lines = resume_after_each_line(&fleet, &["--btf", "kernels"]);
    let schema = schema();
    lines.iter().for_each(|line| schema.check("check", line));
    let id = |n: usize| lines[n]["target_id"].as_str();
    assert_eq!([id(0), id(1), id(2)], [Some("file:kernels/a%0Ab"), None, None]);
    assert_eq!([id(3), id(4), id(5)], [Some("file:kernels/v%E4.btf"), None, Some("file:kernels/v%F6.btf")]);
    // A directory that is named like an archive, in two spellings.
    fleet.write("a.tar/b", kernel(1));
    fleet.write("a.tar/c", kernel(0));
    resume_after_each_line(&fleet, &["--btf", "a.tar//b", "--btf", "a.tar/b", "--btf", "a.tar/c"]);
}

#[test]
fn archive_members_of_one_name_are_distinguished() {
    let fleet = Fleet::new();
    let archive = tar(&[("m", kernel(1)), ("m", kernel(0)), ("bad", b"no BTF".to_vec()), ("m", kernel(1))]);
    fleet.write("kernels/a.tar", &archive);
    fleet.write("kernels/b.tar", &archive[..archive.len() / 2]);
    fleet.write("kernels/c.tar", &archive);
    let lines = resume_after_each_line(&fleet, &["--btf", "kernels"]);
    let ids: Vec<_> = lines.iter().take(4).map(|line| line["target_id"].as_str().unwrap()).collect();
    assert_eq!(ids, [0, 1, 2, 3].map(|n| format!("member:{n}:kernels/a.tar")));
}

#[test]
fn the_running_kernel_is_recognized_on_resume() {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        skip!(Btf, "no BTF of the running kernel");
        return;
    }
    let lines = resume_after_each_line(&Fleet::new(), &[]);
    assert!(lines[0]["target_id"].as_str().unwrap().starts_with("running:"), "{}", lines[0]);
}

#[test]
fn an_archive_is_incomplete_even_if_another_kernel_follows() {
    for second in [&["--btf", "b.btf"][..], &["--btf", "b.btf", "--btf", "a.tar"]] {
        let fleet = Fleet::new();
        fleet.write("a.tar", tar(&[("1", kernel(1)), ("2", kernel(0))]));
        fleet.write("b.btf", kernel(1));
        let check = |targets: &[&str]| {
            fleet.run([&["check", "exec.bpf.o", "--format", "json", "--resume", "r"], targets].concat())
        };
        assert_eq!(check(&["--btf", "a.tar"]).exit, 1);
        let keep = |lines: usize| {
            let results = fs::read_to_string(fleet.path("r")).unwrap();
            fleet.write("r", results.split_inclusive('\n').take(lines).collect::<String>());
        };
        // Interrupt the run within the archive, check other kernels first, and interrupt it again.
        keep(2);
        check(second);
        keep(4);
        let rest = check(&["--btf", "a.tar", "--btf", "b.btf"]);
        assert_eq!((rest.exit, rest.lines().len()), (1, 1), "{}", rest.err);
    }
}

#[test]
fn a_kernel_that_changed_after_its_results_is_an_error() {
    let fleet = Fleet::new();
    fleet.write("a.btf", kernel(1));
    let check = || fleet.run(["check", "exec.bpf.o", "--btf", "a.btf", "--resume", "r"]);
    let first = check();
    let results = fs::read_to_string(fleet.path("r")).unwrap();
    assert_eq!(check().exit, first.exit, "the same kernel is left out");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::options().write(true).open(fleet.path("a.btf")).unwrap().set_modified(later).unwrap();
    let again = check();
    assert_eq!((again.exit, &*again.out), (2, ""));
    assert!(again.err.contains("a.btf: changed after its results were written to r"), "{}", again.err);
    assert_eq!(fs::read_to_string(fleet.path("r")).unwrap(), results, "the file stays as it is");
}

#[test]
fn directories_whose_names_print_alike_are_both_reported() {
    use std::os::unix::ffi::OsStrExt as _;
    let fleet = Fleet::new();
    let dirs = [OsStr::from_bytes(b"x\xe4"), OsStr::from_bytes(b"x\xf6")];
    dirs.iter().for_each(|dir| fs::create_dir(fleet.path("").join(dir)).unwrap());
    let args = |n: usize| {
        let args = ["check", "exec.bpf.o", "--format=json", "--resume=r", "--btf"].map(OsStr::new);
        [&args[..], &[dirs[n]]].concat()
    };
    assert_eq!([0, 1, 0, 1].map(|n| fleet.run(args(n)).lines().len()), [1, 1, 0, 0]);
}

#[test]
fn incomplete_results_of_a_kernel_do_not_count() {
    let fleet = Fleet::new();
    fleet.write("kernels/6.1.btf", kernel(1));
    let check = ["check", "exec.bpf.o", "basic.bpf.o", "--btf", "kernels", "--resume", "results.jsonl"];
    let whole = fleet.run(check);
    assert_eq!(whole.exit, 1, "{}", whole.err);
    let results = fs::read_to_string(fleet.path("results.jsonl")).unwrap();
    let lines: Vec<_> = results.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 3, "{results}");
    let good = "\"verdict\":\"loads\",\"relocations\"";
    assert!(lines[1].contains(good), "{}", lines[1]);
    // The first object has a bad verdict, and the results of the second object are missing, so the kernel is
    // checked again.
    for verdict in ["refused", "needs_input", "unknown", "bad_input"] {
        let worse = lines[1].replace(good, &format!("\"verdict\":\"{verdict}\",\"relocations\""));
        fleet.write("results.jsonl", [lines[0], &worse].concat());
        let rest = fleet.run(check);
        assert_eq!(rest.exit, whole.exit, "{verdict}: {}", rest.err);
        assert_eq!(fs::read_to_string(fleet.path("results.jsonl")).unwrap(), results, "{verdict}");
    }
}

#[test]
fn the_exit_status_of_earlier_results_follows_from_their_verdicts() {
    let fleet = Fleet::new();
    fleet.write("kernels/6.1.btf", kernel(1));
    let check = ["check", "exec.bpf.o", "--btf", "kernels", "--resume", "results.jsonl"];
    assert_eq!(fleet.run(check).exit, 0);
    let results = fs::read_to_string(fleet.path("results.jsonl")).unwrap();
    let good = "\"verdict\":\"loads\",\"relocations\"";
    for (verdict, exit) in
        [("loads", 0), ("refused", 1), ("needs_input", 1), ("unknown", 2), ("bad_input", 2)]
    {
        let earlier = results.replace(good, &format!("\"verdict\":\"{verdict}\",\"relocations\""));
        assert!(earlier.contains(verdict), "{earlier}");
        fleet.write("results.jsonl", &earlier);
        let again = fleet.run(check);
        assert_eq!(again.exit, exit, "{verdict}: {}", again.err);
        let json = fleet.run(check.iter().chain(&["--format", "json"]));
        assert_eq!((json.exit, &*json.out), (exit, ""), "{verdict}: {}", json.err);
    }
    for old in ["ok", "poisoned", "failed"] {
        let earlier = results.replace(good, &format!("\"verdict\":\"{old}\",\"relocations\""));
        fleet.write("results.jsonl", &earlier);
        let again = fleet.run(check);
        assert!(again.exit == 2 && again.err.contains("not a line of"), "{old}: {}", again.err);
        assert_eq!(fs::read_to_string(fleet.path("results.jsonl")).unwrap(), earlier, "{old}");
    }
}

#[test]
fn a_results_file_in_a_directory_of_kernels_is_not_a_kernel() {
    let fleet = Fleet::with_kernels(2);
    std::os::unix::fs::symlink("results.jsonl", fleet.path("kernels/link")).unwrap();
    let check = || fleet.check(&["--resume", "kernels/results.jsonl"]);
    let first = check();
    let second = check();
    assert_eq!((first.lines().len(), second.lines().len()), (4, 0), "{} {}", first.err, second.err);
    assert_eq!(first.exit, second.exit, "{}", second.err);
    let targets: Vec<_> = first.lines().iter().map(|line| line["target"].to_string()).collect();
    assert!(targets.iter().all(|target| target.contains(".btf")), "{targets:?}");
}

#[test]
fn results_of_other_options_are_refused() {
    let fleet = Fleet::with_kernels(2);
    let first = fleet.check(&["--resume", "results.jsonl", "--kernel-version", "5.10"]);
    assert_eq!(first.lines().len(), 4, "{}", first.err);
    for other in [&["--kernel-version", "5.15"][..], &["--kernel-version", "5.10", "--strict"], &[]] {
        let run = fleet.check(&[&["--resume", "results.jsonl"], other].concat());
        assert_eq!((run.exit, &*run.out), (2, ""));
        let expected = "its results are those of other options: --kernel-version=5.10, now ";
        assert!(run.err.contains(expected), "{other:?}: {}", run.err);
    }
    let again = fleet.check(&["--resume", "results.jsonl", "--kernel-version", "5.10"]);
    assert_eq!((again.exit, &*again.out), (first.exit, ""), "{}", again.err);
}
