//! First attempts of a new user: directories that have other files too, standard input, pipes, `| head`,
//! sizes with a suffix, ids.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{Run, demo, prebuilt, run_in, text};
use core_relo_test_support::skip;
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

const BIN: &str = env!("CARGO_BIN_EXE_core-relo");

/// Returns a directory with the demo's object and kernels.
fn dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["exec.bpf.o", "linux-5.10.btf", "linux-6.1.btf"] {
        fs::copy(demo().join(name), dir.path().join(name)).unwrap();
    }
    dir
}

/// Writes a file, and creates its directory.
fn write(dir: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// Runs a script of bash, in which `core-relo` is the command. The script ends after a minute at the latest.
fn script(dir: &Path, script: &str) -> Run {
    let path = Path::new(BIN).parent().unwrap().display().to_string();
    let mut command = Command::new("timeout");
    command.args(["60", "bash", "-c", script]).current_dir(dir).env_remove("RUST_LOG");
    let paths = std::env::var("PATH").unwrap();
    let Output { status, stdout, stderr } = command.env("PATH", format!("{path}:{paths}")).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { out: text(stdout), err: text(stderr), exit: status.code().unwrap() }
}

/// Runs the command with these bytes as standard input.
fn run_with_stdin(dir: &Path, args: &[&str], stdin: &[u8]) -> Run {
    let mut command = Command::new(BIN);
    command.args(args).current_dir(dir).env_remove("RUST_LOG");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that has ended reads no more.
    let _unread: std::io::Result<()> = child.stdin.take().unwrap().write_all(stdin);
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { out: text(stdout), err: text(stderr), exit: status.code().unwrap() }
}

#[test]
fn files_in_boot_that_are_no_kernels_are_skipped() {
    let dir = dir();
    fs::create_dir(dir.path().join("boot")).unwrap();
    fs::copy(demo().join("linux-6.1.btf"), dir.path().join("boot/vmlinuz-6.1.0-18-amd64")).unwrap();
    let others = [
        "boot/System.map-6.1.0-18-amd64",
        "boot/config-6.1.0-18-amd64",
        "boot/initrd.img-6.1.0-18-amd64",
        "boot/initramfs-6.1.0.img",
        "boot/grub/fonts/unicode.pf2",
        "boot/grub/x86_64-efi/core.efi",
        "boot/grub2/grubenv",
        "boot/grubx64.efi",
        "boot/loader/entries/6.1.conf",
    ];
    for name in others {
        write(dir.path(), name, "not a kernel");
    }
    write(dir.path(), "boot/config-6.1.0-18-amd64", "CONFIG_HZ=250\n");
    let check = |args: &[&str]| run_in(dir.path(), [&["check", "exec.bpf.o", "--btf"], args].concat());
    let run = check(&["boot"]);
    assert_eq!((run.exit, &*run.err, run.out.lines().count()), (0, "", 1), "{}", run.out);
    let logged = check(&["boot", "-v"]);
    assert!(
        logged.err.contains("boot: 9 files skipped, which are no kernels by their names"),
        "{}",
        logged.err
    );
    // A file that the user names must be a kernel.
    let named = check(&["boot/config-6.1.0-18-amd64"]);
    assert!(named.exit == 2 && named.err.contains("no BTF in it"), "{}", named.err);
}

#[test]
fn objects_and_kernels_come_from_standard_input() {
    let dir = dir();
    let object = fs::read(dir.path().join("exec.bpf.o")).unwrap();
    let kernel = fs::read(dir.path().join("linux-6.1.btf")).unwrap();
    for command in ["check", "plan", "explain", "inspect", "requires"] {
        let kernels: &[&str] =
            if matches!(command, "inspect" | "requires") { &[] } else { &["--btf", "linux-6.1.btf"] };
        let named = run_in(dir.path(), [&[command, "exec.bpf.o"], kernels].concat());
        for stdin in ["-", "/dev/stdin", "/dev/fd/0"] {
            let args = [&[command, stdin], kernels].concat();
            let run = run_with_stdin(dir.path(), &args, &object);
            // The columns of `check` depend on the length of the name.
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let expected = words(&named.out.replace("exec.bpf.o", stdin));
            assert_eq!((run.exit, &*run.err, words(&run.out)), (named.exit, "", expected), "{args:?}");
        }
    }
    let run = run_with_stdin(dir.path(), &["check", "exec.bpf.o", "--btf", "-"], &kernel);
    assert_eq!((run.exit, &*run.err, run.out.lines().count()), (0, "", 1), "{}", run.out);
    let empty = run_with_stdin(dir.path(), &["check", "-", "--btf", "linux-6.1.btf"], b"");
    assert!(empty.exit == 2 && empty.err.starts_with("core-relo: -: is empty"), "{}", empty.err);
    // A file as standard input, and a device.
    let run = script(dir.path(), "core-relo check - --btf linux-6.1.btf < exec.bpf.o");
    assert_eq!((run.exit, &*run.err), (0, ""), "{}", run.out);
    let run = script(dir.path(), "core-relo check - --btf linux-6.1.btf < /dev/zero");
    assert!(
        run.exit == 2 && run.err.contains("-: standard input is a device, expected a file or a pipe"),
        "{}",
        run.err
    );
}

#[test]
fn process_substitutions_are_read() {
    let dir = dir();
    for (command, exit) in [("check", 0), ("plan", 0), ("explain", 0)] {
        let run =
            script(dir.path(), &format!("core-relo {command} <(cat exec.bpf.o) --btf <(cat linux-6.1.btf)"));
        assert_eq!((run.exit, &*run.err), (exit, ""), "{}", run.out);
        assert!(run.out.contains("/dev/fd/"), "{}", run.out);
    }
    let run = script(dir.path(), "core-relo check exec.bpf.o --btf <(gzip -c linux-6.1.btf)");
    assert_eq!((run.exit, &*run.err), (0, ""), "{}", run.out);
    let run = script(dir.path(), "core-relo inspect <(cat exec.bpf.o)");
    assert!(run.exit == 0 && run.out.contains("Programs"), "{}", run.out);
    let both = "core-relo plan exec.bpf.o exec.bpf.o --btf <(cat linux-6.1.btf) --format json";
    assert_eq!(script(dir.path(), both).exit, 0, "a kernel is read once for all objects");
    // The texts that describe a kernel or the object's variants.
    let unknown = "line 1: optional: the object has no group, program, map or constant `nosuch`";
    for (facts, problem) in [
        ("--kconfig <(echo CONFIG_HZ=250 | gzip)", ""),
        ("--kconfig - <<< CONFIG_HZ=250", ""),
        ("--kallsyms <(echo 0 T schedule)", ""),
        ("--variants <(echo optional nosuch)", unknown),
    ] {
        let run = script(dir.path(), &format!("core-relo check exec.bpf.o --btf linux-6.1.btf {facts}"));
        assert_eq!((run.err.is_empty(), run.exit == 0), (problem.is_empty(), problem.is_empty()), "{facts}");
        assert!(run.err.contains(problem), "{facts}: {}", run.err);
    }
}

#[test]
fn streams_have_the_limits_of_files() {
    let dir = dir();
    let run = script(dir.path(), "core-relo check exec.bpf.o --max-bytes 1K --btf <(cat linux-6.1.btf)");
    assert!(run.exit == 2 && run.err.contains("has more than 1024 bytes"), "{}", run.err);
    let run = script(dir.path(), "core-relo inspect - < <(head -c 300M /dev/zero)");
    assert!(run.exit == 2 && run.err.contains("-: has more than 268435456 bytes"), "{}", run.err);
    let run = script(dir.path(), "core-relo check exec.bpf.o --kconfig <(head -c 65M /dev/zero)");
    assert!(run.exit == 2 && run.err.contains("has more than 67108864 bytes"), "{}", run.err);
    // Another run would take the next pipe of this name for the same kernel.
    let resume = "core-relo check exec.bpf.o --btf <(cat linux-6.1.btf) --resume results.jsonl";
    let run = script(dir.path(), resume);
    assert!(run.exit == 2 && run.err.contains("is standard input or a pipe"), "{}", run.err);
    assert!(!dir.path().join("results.jsonl").exists());
}

#[test]
fn a_directory_stands_for_the_objects_in_it() {
    let dir = dir();
    let object = fs::read(dir.path().join("exec.bpf.o")).unwrap();
    write(dir.path(), "build/b.bpf.o", &object);
    write(dir.path(), "build/deep/a.o", &object);
    write(dir.path(), "build/a.c", "int main(void);");
    let mut other_machine = object.clone();
    other_machine[18] = 62;
    write(dir.path(), "build/host.o", other_machine);
    let check = |args: &[&str]| run_in(dir.path(), [&["check"], args, &["--btf", "linux-6.1.btf"]].concat());
    let run = check(&["build"]);
    let objects: Vec<_> = run.out.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!((run.exit, &*run.err, objects), (0, "", vec!["build/b.bpf.o", "build/deep/a.o"]));
    // A file that the user names must be an object, and so must a damaged file in a directory.
    assert_eq!(check(&["build/host.o"]).exit, 2);
    write(dir.path(), "build/cut.o", &object[..1000]);
    let run = check(&["build"]);
    assert_eq!((run.exit, run.out.lines().count()), (2, 2), "{}", run.out);
    assert!(run.err.starts_with("core-relo: build/cut.o: "), "{}", run.err);
    fs::create_dir(dir.path().join("empty")).unwrap();
    let run = check(&["empty"]);
    assert_eq!(run.exit, 2);
    assert_eq!(
        run.err,
        "core-relo: empty: no BPF object in it; expected files named *.o, compiled with `clang --target=bpf`\n"
    );
}

#[test]
fn several_objects_are_planned_on_each_kernel() {
    let dir = dir();
    fs::copy(demo().join("exec.bpf.o"), dir.path().join("two.bpf.o")).unwrap();
    let kernels = ["--btf", "linux-5.10.btf", "--btf", "linux-6.1.btf"];
    let plan = |objects: &[&str]| run_in(dir.path(), [&["plan"], objects, &kernels].concat());
    let run = plan(&["exec.bpf.o", "two.bpf.o"]);
    let titles: Vec<_> = run.out.lines().filter(|line| line.contains(" on linux-")).collect();
    let expected = [
        "exec.bpf.o on linux-5.10",
        "two.bpf.o on linux-5.10",
        "exec.bpf.o on linux-6.1",
        "two.bpf.o on linux-6.1",
    ];
    assert_eq!(titles.len(), 4, "{titles:?}");
    assert!(titles.iter().zip(expected).all(|(title, start)| title.starts_with(start)), "{titles:?}");
    let run = plan(&["nosuch.o", "exec.bpf.o"]);
    assert!(run.exit == 2 && run.err.contains("nosuch.o: no such file"), "{}", run.err);
    assert!(run.out.contains("exec.bpf.o on linux-6.1"), "the other object is planned: {}", run.out);
}

/// Runs the command with a standard output that nobody reads.
fn run_unread(dir: &Path, args: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Command::new(BIN).args(args).current_dir(dir).stdout(writer).stderr(Stdio::piped()).output().unwrap()
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let dir = dir();
    for (args, exit) in [
        (&["check", "exec.bpf.o", "--btf", "linux-6.1.btf"][..], 0),
        (&["check", "exec.bpf.o", "--btf", "linux-5.10.btf"], 1),
        (&["plan", "exec.bpf.o", "--btf", "linux-6.1.btf"], 0),
        (&["plan", "exec.bpf.o", "--btf", "linux-5.10.btf", "--format", "json"], 1),
        (&["explain", "exec.bpf.o", "--btf", "linux-5.10.btf"], 1),
        (&["inspect", "exec.bpf.o"], 0),
        (&["requires", "exec.bpf.o"], 0),
        (&["btf", "dump", "linux-6.1.btf"], 0),
        (&["patch", "exec.bpf.o", "--btf", "linux-6.1.btf", "-o", "-"], 0),
        (&["patch", "exec.bpf.o", "--btf", "linux-6.1.btf", "-o", "/dev/stdout"], 0),
        (&["gen", "object", "-", "exec.bpf.o"], 0),
        (&["completions", "bash"], 0),
        (&["man"], 0),
        (&["demo"], 0),
        (&["--help"], 0),
        // Bad input stays an error.
        (&["check", "nosuch.o", "--btf", "linux-6.1.btf", "--format", "json"], 2),
    ] {
        let done = run_unread(dir.path(), args);
        let err = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(exit), "{args:?}: {err}");
        assert!(!err.contains("cannot be written") && !err.contains("pipe"), "{args:?}: {err}");
    }
    let run = script(dir.path(), "core-relo btf dump linux-6.1.btf | head -1; exit ${PIPESTATUS[0]}");
    assert_eq!((run.exit, &*run.err, run.out.lines().count()), (0, "", 1));
}

#[test]
fn zero_jobs_are_one_for_each_processor() {
    let dir = dir();
    let check = |args: &[&str]| run_in(dir.path(), [&["check", "exec.bpf.o", "--btf", "."], args].concat());
    let all = check(&["-j", "0"]);
    assert_eq!((all.exit, &all.out), (check(&["-j", "1"]).exit, &check(&[]).out), "{}", all.err);
}

#[test]
fn sizes_have_suffixes() {
    let dir = dir();
    let check =
        |bytes| run_in(dir.path(), ["check", "exec.bpf.o", "--btf", "linux-6.1.btf", "--max-bytes", bytes]);
    for enough in ["1G", "64M", "512K", "512k", "1048576", "1GiB"] {
        assert_eq!(check(enough).exit, 0, "{enough}");
    }
    assert!(check("1K").err.contains("at most 1024 are read"), "{}", check("1K").err);
    let bad = check("much");
    assert!(bad.exit == 2 && bad.err.contains("512K, 64M or 1G"), "{}", bad.err);
}

#[test]
fn an_id_needs_no_option() {
    for kind in ["prog", "map", "link", "btf"] {
        let show = |args: &[&str]| run_in(&demo(), [&[kind, "show"], args].concat());
        let missing = "4294967295";
        let (positional, option) = (show(&[missing]), show(&["--id", missing]));
        assert_eq!((positional.exit, positional.err), (option.exit, option.err), "{kind}");
        let both = show(&[missing, "--id", missing]);
        assert!(both.exit == 2 && both.err.contains("cannot be used with"), "{kind}: {}", both.err);
        let name = show(&["handle_exec"]);
        assert!(name.exit == 2 && name.err.contains("use --name for a name"), "{kind}: {}", name.err);
    }
    for kind in ["prog", "map"] {
        let dump = |args: &[&str]| run_in(&demo(), [&[kind, "dump"], args].concat());
        assert_eq!(dump(&["4294967295"]).err, dump(&["--id", "4294967295"]).err, "{kind}");
        assert_eq!(dump(&[]).exit, 2, "{kind}");
    }
    let file = run_in(&demo(), ["btf", "dump", "4294967295"]);
    assert!(file.exit == 2 && file.err.contains("--kernel-id 4294967295"), "{}", file.err);
}

#[test]
fn maps_of_data_sections_are_found_by_the_section() {
    if !common::has_own_bpffs("maps_of_data_sections_are_found_by_the_section") {
        return;
    }
    let object = prebuilt("live").join("globals.bpf.o");
    let pins = "/sys/fs/bpf/newcomer";
    let loaded = run_in(&demo(), ["load", text(&object), "--pin", pins, "--format", "json"]);
    if loaded.exit != 0 {
        skip!("{}{}", loaded.out, loaded.err);
        return;
    }
    let maps: Vec<_> =
        fs::read_dir(format!("{pins}/maps")).unwrap().map(|pin| pin.unwrap().file_name()).collect();
    let section =
        maps.iter().find_map(|pin| pin.to_str()?.strip_prefix('_')).expect("a data section is pinned");
    let dump = |args: &[&str]| run_in(&demo(), [&["map", "dump"], args].concat());
    let by_pin = dump(&["--pinned", &format!("{pins}/maps/_{section}")]);
    assert_eq!((by_pin.exit, &*by_pin.err), (0, ""));
    let value = by_pin.out.lines().nth(1).unwrap();
    assert!(!value.starts_with('['), "a data section has no keys: {}", by_pin.out);
    let by_section = dump(&["--pinned", &format!("{pins}/maps/.{section}")]);
    assert_eq!((by_section.exit, by_section.out), (0, by_pin.out.clone()), "{}", by_section.err);
    // Other objects may have the same section.
    let by_name = dump(&["--name", &format!(".{section}")]);
    assert!(by_name.exit == 0 && by_name.out.contains(&by_pin.out), "{}{}", by_name.out, by_name.err);
    let missing = dump(&["--pinned", &format!("{pins}/maps/.nosuch")]);
    assert!(
        missing.exit == 2 && missing.err.contains("loaders pin `.rodata` as `_rodata`"),
        "{}",
        missing.err
    );
    fs::remove_dir_all(pins).unwrap();
}

#[test]
fn a_load_whose_report_is_not_delivered_is_undone() {
    if !common::has_own_bpffs("a_load_whose_report_is_not_delivered_is_undone") {
        return;
    }
    let object = prebuilt("live").join("globals.bpf.o");
    let pins = "/sys/fs/bpf/unread";
    let done = run_unread(&demo(), &["load", text(&object), "--pin", pins]);
    assert_eq!((done.status.code(), Path::new(pins).exists()), (Some(2), false), "{done:?}");
}

#[test]
fn other_commands_read_standard_input_too() {
    let dir = dir();
    let object = fs::read(dir.path().join("exec.bpf.o")).unwrap();
    let load = |object| ["load", object, "--dry-run", "--btf", "linux-6.1.btf"];
    let named = run_in(dir.path(), load("exec.bpf.o"));
    let run = run_with_stdin(dir.path(), &load("-"), &object);
    assert_eq!((run.exit, run.err, run.out), (named.exit, named.err, named.out.replace("exec.bpf.o", "-")));
    let patch = ["patch", "-", "--btf", "linux-6.1.btf", "-o", "out.o"];
    assert_eq!(run_with_stdin(dir.path(), &patch, &object).exit, 0);
    assert_eq!(run_with_stdin(dir.path(), &["gen", "object", "linked.o", "-"], &object).exit, 0);
    assert!(dir.path().join("out.o").exists() && dir.path().join("linked.o").exists());
}
