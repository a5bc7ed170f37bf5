//! Hostile names in objects: the terminal gets escaped text.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;
#[allow(dead_code, reason = "the tests of the kernel commands use the rest")]
#[path = "kernel/fixture.rs"]
mod fixture;

use common::{demo, has_own_bpffs, prebuilt, run, text};
use core_relo_loader::inventory;
use std::{collections::BTreeSet, ffi::OsStr, fmt::Debug, fs, os::fd::AsFd as _, path::PathBuf};
use tempfile::TempDir;

/// Writes an object in which every occurrence of a name is replaced by another name of the same length.
fn renamed(dir: &TempDir, object: &str, from: &str, to: &str) -> PathBuf {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(prebuilt(object)).unwrap();
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "{object} has no `{from}`");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    let path = dir.path().join("hostile.bpf.o");
    fs::write(&path, bytes).unwrap();
    path
}

/// Returns true for control characters and invisible format characters.
fn is_hostile(c: char) -> bool {
    let format = "\u{ad}\u{61c}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{feff}\u{fff9}\u{fffa}\u{fffb}";
    c.is_control()
        || format.contains(c)
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
}

/// Runs a command with colours and checks that its output has no hostile character and no forged line.
/// Returns the output without colours.
fn check_text<S: AsRef<OsStr> + Debug>(args: &[S]) -> String {
    let color = [OsStr::new("--color"), OsStr::new("always")];
    let shown = run(color.into_iter().chain(args.iter().map(AsRef::as_ref)));
    let all = format!("{}{}", shown.out, shown.err);
    let mut parts = all.split("\x1b[");
    let mut plain = parts.next().expect("a text before the first style").to_owned();
    for part in parts {
        let (style, text) = part.split_once('m').expect("an end of the colour");
        assert!(style.chars().all(|c| c.is_ascii_digit() || c == ';'), "{args:?}: {all:?}");
        plain += text;
    }
    let bad = |c: char| is_hostile(c) && c != '\n';
    // Tabs at the start of a line belong to bpftool's format.
    let found = plain.lines().any(|line| line.trim_start_matches('\t').contains(bad));
    assert!(!found, "{args:?}: {plain:?}");
    assert!(
        !plain
            .lines()
            .any(|line| line.trim_start().starts_with("forged") || line.trim_start().starts_with('µ')),
        "{args:?}: {plain}"
    );
    plain
}

/// Runs a command and checks that its JSON lines parse and contain no raw hostile character.
fn check_json<S: AsRef<OsStr> + Debug>(args: &[S]) -> Vec<serde_json::Value> {
    let format = [OsStr::new("--format"), OsStr::new("json")];
    let shown = run(args.iter().map(AsRef::as_ref).chain(format));
    assert!(!shown.out.replace('\n', "").contains(is_hostile), "{args:?}: {:?}", shown.out);
    assert!(!shown.err.replace('\n', "").contains(is_hostile), "{args:?}: {:?}", shown.err);
    assert!(!shown.err.lines().any(|line| line.starts_with('µ')), "{args:?}: {}", shown.err);
    shown.lines()
}

/// Returns `len` bytes of hostile characters.
fn hostile(len: usize) -> String {
    let all = "\nµ\x1b[2J\u{202e}\u{9b}\r\u{200b}\x7f\t\u{2028}\u{feff}\u{e0041}\u{85}\x07\x08";
    let mut text = String::new();
    for c in all.chars().cycle().take_while(|_| len > 0) {
        match len - text.len() {
            0 => break,
            room if c.len_utf8() <= room => text.push(c),
            // A character of one byte always fits.
            _ => text.push('\x1b'),
        }
    }
    text
}

/// The runner of a CI job reads commands from the log: `::add-path::DIR` at the start of a line,
/// `##[add-path]DIR` anywhere.
#[test]
fn names_are_no_commands_of_ci_runners() {
    const RUNNERS: [&str; 4] = ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION", "CI"];
    let dir = tempfile::tempdir().unwrap();
    let is_command =
        |line: &str| line.trim_start().starts_with("::") || line.contains("##[") || line.contains("##vso[");
    for hostile in ["::mask::a##[", "##vso[task]a"] {
        let mut bytes = fs::read(demo().join("exec.bpf.o")).unwrap();
        let at = bytes.windows(13).position(|window| window == b"./exec.bpf.c\0").unwrap();
        bytes[at..at + 12].copy_from_slice(hostile.as_bytes());
        let object = dir.path().join("hostile.bpf.o");
        fs::write(&object, bytes).unwrap();
        let run = |arguments: &[&str], variable: &str| {
            let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_core-relo"));
            for name in RUNNERS {
                run.env_remove(name);
            }
            run.arg(arguments[0]).args([text(&object), "--btf", "linux-5.10.btf"]).args(&arguments[1..]);
            let done = run.env(variable, "true").current_dir(demo()).output().unwrap();
            let out = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
            (out.lines().any(is_command), out)
        };
        for command in ["check", "explain", "plan"] {
            assert!(run(&[command], "OTHER").0, "{command}");
            for variable in RUNNERS {
                let (has_command, out) = run(&[command], variable);
                assert!(!has_command && out.contains("\\u{23}#"), "{command}: {out}");
            }
        }
        for format in ["json", "sarif", "junit", "markdown"] {
            let (has_command, out) = run(&["check", "--format", format], "CI");
            assert!(!has_command, "{format}: {out}");
        }
    }
}

/// The log has names of files, programs and maps.
#[test]
fn names_in_warnings_are_no_commands_of_ci_runners() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("kernels")).unwrap();
    fs::copy(demo().join("linux-5.10.btf"), dir.path().join("kernels/5.10.btf")).unwrap();
    // A socket is skipped with a warning.
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("kernels/##vso[task]a")).unwrap();
    let mut check = std::process::Command::new(env!("CARGO_BIN_EXE_core-relo"));
    check.args(["check", text(&demo().join("exec.bpf.o")), "--btf", "kernels"]).current_dir(&dir);
    let done = check.env("CI", "true").output().unwrap();
    let warning = String::from_utf8(done.stderr).unwrap();
    assert!(warning.contains("skipped") && warning.contains("\\u{23}#vso["), "{warning}");
    assert!(!warning.contains("##vso["), "{warning}");
}

/// clap quotes the arguments: a job passes the names of files in a repository.
#[test]
fn arguments_in_errors_are_no_commands_of_ci_runners() {
    let hostile = ["##[add-path]/tmp", "a\n::add-path::/tmp", "##vso[task]a", "::add-path::/tmp"];
    for hostile in hostile {
        for words in
            [&["check", "a.o", "--max-entries"][..], &["--color"], &["prog"], &[], &["check", "--btf"]]
        {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_core-relo"));
            let done = command.args(words).arg(hostile).env("CI", "true").output().unwrap();
            let error = String::from_utf8(done.stderr).unwrap();
            let is_command = |line: &str| line.trim_start().starts_with("::") || line.contains("##");
            assert!(done.status.code() == Some(2) && !error.lines().any(is_command), "{words:?}: {error}");
        }
    }
}

/// Returns the strings of an object's string tables: symbols, sections and BTF.
fn strings(bytes: &[u8]) -> BTreeSet<Vec<u8>> {
    let is_name = |name: &&[u8]| name.len() >= 2 && name.iter().all(|b| b.is_ascii_graphic() || *b == b' ');
    let strings: BTreeSet<_> = bytes.split(|b| *b == 0).filter(is_name).map(<[u8]>::to_vec).collect();
    strings
}

#[test]
fn each_string_of_an_object_is_escaped_wherever_it_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hostile.bpf.o");
    let path = text(&path);
    let mut escaped = 0;
    for object in ["live/maps.bpf.o", "live/core.bpf.o"] {
        let bytes = fs::read(prebuilt(object)).unwrap();
        for name in strings(&bytes) {
            let to = hostile(name.len());
            let mut changed = bytes.clone();
            let pattern = [&[0], &*name, &[0]].concat();
            for at in (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&pattern)) {
                changed[at + 1..at + 1 + to.len()].copy_from_slice(to.as_bytes());
            }
            fs::write(path, changed).unwrap();
            let kernel = ["--btf", "linux-6.12.btf"];
            let shown = check_text(&["inspect", path]);
            escaped += usize::from(shown.contains("\\n"));
            check_text(&[&["load", "--dry-run", path], &kernel[..]].concat());
            check_text(&[&["plan", path], &kernel[..]].concat());
            check_text(&[&["explain", path], &kernel[..]].concat());
            check_text(&["btf", "dump", path]);
            check_json(&["inspect", path]);
            check_text(&["inspect", "--relocs", path]);
            check_json(&["inspect", "--relocs", path]);
            check_text(&["requires", path]);
            check_json(&["requires", path]);
            check_json(&["btf", "dump", path]);
            check_json(&[&["load", "--dry-run", path], &kernel[..]].concat());
            check_json(&[&["check", path], &kernel[..]].concat());
        }
    }
    assert!(escaped > 20, "only {escaped} names were shown");
}

#[test]
fn a_hostile_global_name_is_escaped_in_text_and_exact_in_json() {
    let dir = tempfile::tempdir().unwrap();
    let path = renamed(&dir, "live/globals.bpf.o", "only_pid", "\x1b\u{9b}\u{202e}\x7f_");
    let path = text(&path);
    let shown = check_text(&["inspect", path]);
    let lines = check_json(&["inspect", path]);
    let names: Vec<_> = lines[0]["globals"].as_array().unwrap().iter().map(|g| g["name"].as_str()).collect();
    assert!(shown.contains(r"\u{1b}\u{9b}\u{202e}\u{7f}"), "{shown}");
    assert!(names.contains(&Some("\x1b\u{9b}\u{202e}\x7f_")), "{names:?}");
}

#[test]
fn paths_and_arguments_are_escaped() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("{}.bpf.o", hostile(40));
    let object = dir.path().join(&name);
    fs::copy(prebuilt("live/core.bpf.o"), &object).unwrap();
    let kernels = dir.path().join(hostile(20));
    fs::create_dir(&kernels).unwrap();
    fs::copy(demo().join("linux-6.12.btf"), kernels.join(hostile(30))).unwrap();
    fs::write(kernels.join("broken"), "no BTF").unwrap();
    let (object, kernels) = (text(&object), text(&kernels));
    let patched = dir.path().join(format!("{}.o", hostile(25)));
    let results = dir.path().join(hostile(35));
    let evil = hostile(30);
    for args in [
        &["inspect", object][..],
        &["requires", object],
        &["check", object, "--btf", kernels],
        &["check", object, "--btf", kernels, "--resume", text(&results)],
        &["plan", object, "--btf", kernels],
        &["explain", object, "--btf", kernels, "--program", &evil],
        &["patch", object, "--btf", "linux-6.12.btf", "-o", text(&patched)],
        &["gen", "object", text(&patched), object, object],
        &["load", object, "--dry-run", "--btf", "linux-6.12.btf", "--set", &format!("{evil}=1")],
        &["load", object, "--each", "--program", &evil],
        &["run", object, "--program", &evil],
        &["prog", "show", "--name", &evil],
        &["map", "dump", "--pinned", &evil],
    ] {
        check_text(args);
        check_json(args);
    }
    for args in
        [&[&*evil][..], &["inspect", &format!("--{evil}")], &["check", "--jobs", &evil], &["man", &evil]]
    {
        check_text(args);
    }
    let kept = fs::read_to_string(&results).unwrap();
    assert!(kept.lines().count() > 1 && !kept.replace('\n', "").contains(is_hostile), "{kept:?}");
}

#[test]
fn names_of_an_object_are_escaped_by_every_command_that_shows_them() {
    let dir = tempfile::tempdir().unwrap();
    for (object, from, to) in [
        ("live/kprobe.bpf.o", "do_sys_openat2", "\u{7}\x1b[2J\nforged__"),
        ("live/maps.bpf.o", "queue", "\u{7}\x1b\nµ"),
        ("live/core.bpf.o", "Dual MIT/GPL", "Du\u{7}\x1b\nforged_"),
    ] {
        let path = renamed(&dir, object, from, to);
        let path = text(&path);
        let kernel = ["--btf", "linux-6.12.btf"];
        let without_kernel = |args: &[&str]| check_text(&[args, &[path]].concat());
        let with_kernel = |args: &[&str]| check_text(&[args, &[path], &kernel[..]].concat());
        let planned = with_kernel(&["load", "--dry-run"]);
        assert!(object.contains("core") || planned.contains("\\u{7}"), "{planned}");
        for command in ["plan", "explain", "check", "inspect", "requires"] {
            if matches!(command, "inspect" | "requires") {
                without_kernel(&[command])
            } else {
                with_kernel(&[command])
            };
        }
        check_text(&["explain", path, "--program", "\u{7}\nforged", "--btf", "linux-6.12.btf"]);
        check_text(&["load", path, "--dry-run", "--set", "\u{7}\nforged=1"]);
        // Messages of the kernel and of the loader. None of these commands stays attached.
        without_kernel(&["load"]);
        without_kernel(&["load", "--each", "--verifier-log"]);
        without_kernel(&["-vvv", "load", "--pin", "/nowhere/at/all", "--attach"]);
        check_text(&["run", path, "--program", "touch", "--verifier-log"]);
    }
}

#[test]
fn names_of_archive_members_are_escaped() {
    let dir = tempfile::tempdir().unwrap();
    let (archive, results) = (dir.path().join("kernels.tar"), dir.path().join("results"));
    let good = fs::read(demo().join("linux-6.12.btf")).unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in [(hostile(30), &*good), (format!("{}/{}", hostile(20), hostile(50)), b"no BTF")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len().try_into().unwrap());
        builder.append_data(&mut header, name, bytes).unwrap();
    }
    fs::write(&archive, builder.into_inner().unwrap()).unwrap();
    let object = prebuilt("live/core.bpf.o");
    let (object, archive) = (text(&object), text(&archive));
    for args in [
        &["check", object, "--btf", archive][..],
        &["check", object, "--btf", archive, "--resume", text(&results)],
        &["-vvv", "check", object, "--btf", archive],
        &["plan", object, "--btf", archive],
        &["explain", object, "--btf", archive],
    ] {
        assert!(check_text(args).contains(r"kernels.tar//\nµ\u{1b}[2J"), "{args:?}");
        check_json(args);
    }
    let kept = fs::read_to_string(&results).unwrap();
    assert!(kept.lines().count() > 1 && !kept.replace('\n', "").contains(is_hostile), "{kept:?}");
}

#[test]
fn values_of_a_configuration_are_escaped() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join(".config");
    let object = prebuilt("live/kconfig.bpf.o");
    // A line ends with the value.
    let value = hostile(40).replace('\n', "");
    for option in ["HZ", "BPF_SYSCALL", "NET", "DEFAULT_HOSTNAME"] {
        for value in [value.clone(), format!("\"{value}\""), format!("\"{value}"), format!("7{value}")] {
            fs::write(&config, format!("CONFIG_{option}={value}\n")).unwrap();
            let args =
                ["load", "--dry-run", "--btf", "linux-6.12.btf", text(&object), "--kconfig", text(&config)];
            let shown = check_text(&args);
            let is_shown = shown.contains(r"µ\u{1b}[2J");
            assert!(is_shown || option == "DEFAULT_HOSTNAME", "{option}={value:?}: {shown}");
            check_json(&args);
        }
    }
}

#[test]
fn texts_in_maps_are_escaped() {
    let Some(types) = fixture::types() else { return };
    let map = fixture::typed_map(&types, fixture::HASH, "events");
    let id = fixture::map_id(&map).to_string();
    for comm in [*b"\x1b[2J\n\xc2\xb5\0", *b"\xe2\x80\xae\x07\x08\x7f\xc2\x9b", *b"\xff\xfe\r\n\t\x85\0\x1b"]
    {
        let mut value = fixture::event(7);
        value[4..12].copy_from_slice(&comm);
        map.shape().update(&fixture::native32(5), &value, 0).unwrap();
        for form in [&[][..], &["--types"], &["--hex"]] {
            let args = [&["map", "dump", "--id", &id], form].concat();
            assert!(check_text(&args).contains("[05 00") == form.contains(&"--hex"));
        }
        check_json(&["map", "dump", "--id", &id]);
    }
}

#[test]
fn names_of_pins_are_escaped() {
    if !has_own_bpffs("names_of_pins_are_escaped") {
        return;
    }
    let Some(types) = fixture::types() else { return };
    let map = fixture::typed_map(&types, fixture::HASH, "events");
    let program = fixture::program(&types, &map, "hostile_pin");
    let dir = PathBuf::from("/sys/fs/bpf").join(hostile(20));
    fs::create_dir(&dir).unwrap();
    let (map_pin, program_pin) = (dir.join(hostile(40)), dir.join(hostile(41)));
    inventory::pin(map.as_fd(), &map_pin).unwrap();
    inventory::pin(&program, &program_pin).unwrap();
    let object = prebuilt("live/pinned.bpf.o");
    let (missing, other) = (dir.join(hostile(42)), dir.join(hostile(43)));
    for args in [
        &["map", "list"][..],
        &["map", "show", "--pinned", text(&map_pin)],
        &["map", "show", "--name", "events"],
        &["map", "dump", "--pinned", text(&map_pin)],
        &["prog", "list"],
        &["prog", "show", "--pinned", text(&program_pin)],
        &["link", "list"],
        // The pin is of another kind, or does not exist.
        &["map", "show", "--pinned", text(&program_pin)],
        &["map", "show", "--pinned", text(&missing)],
        &["load", text(&object), "--pin", text(&map_pin)],
        &["load", text(&object), "--pin", text(&other)],
    ] {
        let shown = check_text(args);
        let is_shown = args[0] != "link" && args[1] != "dump" && args.last() != Some(&text(&other));
        assert!(!is_shown || shown.contains(r"\u{1b}[2J"), "{args:?}: {shown}");
        if args[0] == "load" {
            drop(fs::remove_dir_all(&other));
            drop(fs::remove_file("/sys/fs/bpf/core_relo_live"));
        }
        check_json(args);
        drop(fs::remove_dir_all(&other));
        drop(fs::remove_file("/sys/fs/bpf/core_relo_live"));
    }
}
