//! Bad input: the command prints one line that names the file, checks the other files, and exits with 2.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{Run, demo, prebuilt, run, run_in, text};
use core_relo::{Endian, TypeId, btf::Builder};
use core_relo_test_support::skip;
use std::{ffi::OsStr, fs, path::PathBuf, process::Command};

/// A temporary directory with the object of the demo and one kernel. Tests add bad files.
struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["exec.bpf.o", "linux-6.1.btf"] {
            fs::copy(demo().join(name), dir.path().join(name)).unwrap();
        }
        Self(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        run_in(self.0.path(), args)
    }

    /// Checks a bad object together with a good one, and expects an error with `text`.
    fn bad_object(&self, name: &str, text: &str) {
        let run = self.run(["check", name, "exec.bpf.o", "--btf", "linux-6.1.btf"]);
        expect(&run, name, text);
    }

    /// Checks a bad kernel together with a good one, and expects an error with `text`.
    fn bad_kernel(&self, name: &str, text: &str) {
        let run = self.run(["check", "exec.bpf.o", "--btf", name, "--btf", "linux-6.1.btf"]);
        expect(&run, name, text);
    }
}

/// Checks that a run reports the bad file in one line and accepts the good one.
fn expect(run: &Run, name: &str, text: &str) {
    assert_eq!(run.exit, 2, "{name}: {run:?}");
    assert_eq!(run.err.lines().count(), 1, "{name}: {}", run.err);
    assert!(run.err.starts_with("core-relo: ") && run.err.contains(name), "{name}: {}", run.err);
    assert!(run.err.contains(text), "{name}: {}", run.err);
    assert!(run.out.starts_with("loads ") && run.out.lines().count() == 1, "the good file: {}", run.out);
}

#[test]
fn files_that_are_no_bpf_objects_are_refused() {
    let f = Directory::new();
    f.write("text", "hello");
    f.write("empty", "");
    fs::create_dir(f.path("directory")).unwrap();
    common::pipe(&f.path("pipe"));
    let object = fs::read(f.path("exec.bpf.o")).unwrap();
    f.write("truncated.o", &object[..1000]);
    f.write("stub.o", &object[..40]);
    let mut elf32 = object.clone();
    elf32[4] = 1;
    f.write("elf32.o", &elf32);
    let mut other = object.clone();
    other[18] = 62;
    f.write("x86.o", &other);
    for (name, what) in [
        ("text", "not an ELF file"),
        ("empty", "is empty"),
        ("directory", "no BPF object in it"),
        ("truncated.o", "truncated"),
        ("stub.o", "truncated"),
        ("elf32.o", "32-bit"),
        ("x86.o", "not BPF"),
        ("nosuch.o", "no such file"),
        ("/dev/zero", "device"),
        ("/proc/version", "has no length"),
        ("pipe", "pipe"),
    ] {
        if name == "elf32.o" {
            // The headers are parsed as 32-bit, so another error may come first.
            f.bad_object(name, "");
        } else {
            f.bad_object(name, what);
        }
    }
}

/// Returns the object with a section renamed, and with all sections that share the end of its name.
fn without_section(object: &[u8], section: &[u8]) -> Vec<u8> {
    let name = [section, b"\0"].concat();
    let at = object.windows(name.len()).rposition(|w| w == name).expect("the section's name") + 1;
    let mut object = object.to_vec();
    object[at] = b'X';
    object
}

#[test]
fn objects_with_types_missing_are_refused() {
    let f = Directory::new();
    let object = fs::read(f.path("exec.bpf.o")).unwrap();
    let no_btf = without_section(&object, b".BTF");
    f.write("nobtf.o", &no_btf);
    f.bad_object("nobtf.o", "without a section `.BTF`");
    // Without both, the object has no relocations. Its map is defined by types.
    f.write("neither.o", without_section(&no_btf, b".BTF.ext"));
    let run = f.run(["check", "neither.o", "--btf", "linux-6.1.btf"]);
    assert_eq!(run.exit, 1, "{run:?}");
    assert!(run.out.contains("map `events`"), "{run:?}");
}

#[test]
fn damaged_btf_is_refused() {
    let f = Directory::new();
    let mut btf = fs::read(f.path("linux-6.1.btf")).unwrap();
    f.write("short.btf", &btf[..btf.len() / 2]);
    f.bad_kernel("short.btf", "truncated: its header says ");
    f.write("header.btf", &btf[..10]);
    f.bad_kernel("header.btf", "");
    // Overwrite a word of the first type.
    btf[24 + 4..24 + 8].copy_from_slice(&[0xff; 4]);
    f.write("damaged.btf", &btf);
    f.bad_kernel("damaged.btf", "type [1]");
    // Damaged types are reported even if no relocation reads them.
    let mut b = Builder::new(Endian::Little);
    b.structure("unrelated", 4, &[("member", TypeId(99), 0)]);
    f.write("member.btf", b.finish());
    f.bad_kernel("member.btf", "type [1] STRUCT refers to type [99]");
    f.write("vmlinuz", [&[0x1f, 0x8b, 8][..], &[0; 64]].concat());
    f.bad_kernel("vmlinuz", "gzip stream");
    f.write("noise", [7; 4096]);
    f.bad_kernel("noise", "no BTF in it");
    f.write("empty", "");
    f.bad_kernel("empty", "is empty");
}

#[test]
fn an_unsupported_btf_header_is_refused() {
    let f = Directory::new();
    let mut bytes = vec![0; 224];
    bytes[..4].copy_from_slice(&[0x9f, 0xeb, 1, 0]);
    for (name, version, len) in [("none.btf", 1, 0), ("four.btf", 1, 4), ("version.btf", 2, 0)] {
        (bytes[2], bytes[4]) = (version, len);
        f.write(name, &bytes);
        let version = format!("BTF version {version} is not supported");
        let len = format!("BTF header length {len} is not supported");
        f.bad_kernel(name, if name == "version.btf" { &version } else { &len });
    }
}

#[test]
fn a_decompression_bomb_is_refused() {
    use std::io::Write as _;
    let f = Directory::new();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&vec![0; 80 << 20]).unwrap();
    f.write("bomb.gz", packed.finish().unwrap());
    f.bad_kernel("bomb.gz", "unpacks to more than");
}

#[test]
fn huge_files_are_not_read() {
    let f = Directory::new();
    fs::File::create(f.path("huge")).unwrap().set_len(1 << 40).unwrap();
    f.bad_object("huge", "at most");
    f.bad_kernel("huge", "at most");
}

#[test]
fn directories_are_searched_for_kernels() {
    let f = Directory::new();
    fs::create_dir(f.path("nothing")).unwrap();
    f.bad_kernel("nothing", "contains no kernel");
    f.write("nothing/README.md", "not BTF, and not meant to be");
    f.bad_kernel("nothing", "contains no kernel");
    fs::create_dir_all(f.path("kernels/old")).unwrap();
    fs::copy(f.path("linux-6.1.btf"), f.path("kernels/b.btf")).unwrap();
    fs::copy(f.path("linux-6.1.btf"), f.path("kernels/old/a.btf")).unwrap();
    f.write("kernels/manifest.json", "{}");
    let run = f.run(["check", "exec.bpf.o", "--btf", "kernels"]);
    let places: Vec<_> = run.rows().iter().filter_map(|row| row.split_whitespace().nth(2)).collect();
    assert_eq!((run.exit, places), (0, vec!["kernels/b.btf", "kernels/old/a.btf"]));
    f.write("kernels/noise", "no BTF");
    let run = f.run(["check", "exec.bpf.o", "--btf", "kernels"]);
    assert_eq!((run.exit, run.rows().len(), run.err.lines().count()), (2, 2, 1));
    std::os::unix::fs::symlink(f.path("kernels"), f.path("kernels/old/loop")).unwrap();
    assert_eq!(f.run(["check", "exec.bpf.o", "--btf", "kernels"]).rows().len(), 2);
}

#[test]
fn a_kernel_of_the_other_byte_order_is_refused() {
    let f = Directory::new();
    let big = prebuilt("../eb/fields/basic.bpf.o");
    let object = prebuilt("fields/basic.bpf.o");
    let args = [OsStr::new("check"), object.as_os_str(), OsStr::new("--btf"), big.as_os_str()];
    let run = f.run(args);
    assert_eq!((run.exit, run.out.len()), (2, 0));
    assert!(run.err.contains("the kernel is big-endian, the object little-endian"), "{}", run.err);
}

#[test]
fn an_unreadable_file_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let f = Directory::new();
    f.write("secret.o", "");
    fs::set_permissions(f.path("secret.o"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(f.path("secret.o")).is_ok() {
        skip!("root may read everything");
        return;
    }
    f.bad_object("secret.o", "permission denied");
}

#[test]
fn control_characters_in_names_are_escaped() {
    let f = Directory::new();
    let run = f.run(["check", "new\nline\x1b[31m"]);
    assert_eq!((run.exit, run.err.lines().count()), (2, 1));
    assert!(!run.err.contains('\x1b'));
}

#[test]
fn missing_programs_relocations_and_types_are_named() {
    let f = Directory::new();
    let target = ["--btf", "linux-6.1.btf"];
    for (args, what) in [
        (&["plan", "exec.bpf.o", "--program", "nosuch"][..], "no program `nosuch`; it has flags_of"),
        (&["explain", "exec.bpf.o", "--relocation", "99"], "no relocation 99"),
        (&["explain", "exec.bpf.o", "--relocation", "xdp#0"], "in section `xdp`"),
        (&["check", "exec.bpf.o", "--module", "a.ko"], "a.ko: no such file"),
    ] {
        let run = f.run(args.iter().chain(&target));
        assert_eq!((run.exit, run.err.lines().count()), (2, 1), "{run:?}");
        assert!(run.err.contains(what), "{}", run.err);
    }
    let run = f.run(["btf", "dump", "linux-6.1.btf", "--type-name", "nosuch"]);
    assert!(run.exit == 2 && run.err.contains("no type `nosuch`"), "{run:?}");
    let run = f.run(["btf", "dump", "linux-6.1.btf", "--type-id", "99999"]);
    assert!(run.exit == 2 && run.err.contains("no type [99999], expected [1] to "), "{run:?}");
}

#[test]
fn every_truncated_object_and_kernel_is_refused() {
    let f = Directory::new();
    for name in ["exec.bpf.o", "linux-6.1.btf"] {
        let whole = fs::read(f.path(name)).unwrap();
        for len in (0..whole.len()).step_by(whole.len() / 40) {
            f.write("prefix", &whole[..len]);
            let run = match name {
                "exec.bpf.o" => f.run(["plan", "prefix", "--btf", "linux-6.1.btf"]),
                _ => f.run(["plan", "exec.bpf.o", "--btf", "prefix"]),
            };
            assert_eq!((run.exit, run.err.lines().count()), (2, 1), "{name} cut at {len}: {run:?}");
        }
    }
}

#[test]
fn a_closed_standard_output_ends_the_command_quietly() {
    use std::process::{Command, Stdio};
    for args in [&["btf", "dump", "linux-6.1.btf", "--format", "json"][..], &["demo"]] {
        // The pipe has no reader from the start. A reader that closes later might read everything.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let out = Command::new(env!("CARGO_BIN_EXE_core-relo"))
            .args(args)
            .current_dir(demo())
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stderr), "");
        assert_eq!(out.status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn a_wrong_standard_input_is_named() {
    use std::process::{Command, Stdio};
    let check = |args: &[&str], stdin: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_core-relo"));
        let out = command.arg("check").args(args).current_dir(demo()).stdin(stdin).output().unwrap();
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (exit, err) = check(&["-"], Stdio::null());
    assert_eq!(exit, Some(2), "{err}");
    assert!(err.contains("-: standard input is a device, expected a file or a pipe; redirect it"), "{err}");
    let object = || fs::File::open(demo().join("exec.bpf.o")).unwrap().into();
    let (exit, err) = check(&["-", "--btf", "-"], object());
    assert_eq!(exit, Some(2), "{err}");
    assert!(err.contains("-: standard input is used twice"), "{err}");
    let (exit, err) = check(&["-", "--btf", "linux-6.1.btf"], object());
    assert_eq!((exit, &*err), (Some(0), ""));
}

#[test]
fn a_number_of_entries_is_a_number() {
    let object = prebuilt("exec.bpf.o");
    for value in ["events", "events=", "events=abc", "events=0", "events=-1", "events=99999999999", "=5"] {
        for command in ["check", "explain", "load"] {
            let run = run([command, text(&object), "--max-entries", value]);
            assert_eq!(run.exit, 2, "{command} {value}: {}", run.out);
            assert!(run.err.contains("expected MAP=N"), "{}", run.err);
        }
    }
}

#[test]
fn a_text_that_is_no_evidence_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("text"), "root:x:0:0:root:/root:/bin/bash\n").unwrap();
    let (object, kernel) = (prebuilt("exec.bpf.o"), demo().join("linux-6.1.btf"));
    for (option, what) in [("--kconfig", "no kernel configuration"), ("--kallsyms", "no list of symbols")] {
        for command in ["check", "explain"] {
            let args = [command, text(&object), "--btf", text(&kernel), option, "text"];
            let run = run_in(dir.path(), args);
            assert_eq!((run.exit, &*run.out), (2, ""), "{command} {option}");
            assert!(run.err.contains(what) && run.err.contains("give a copy of /"), "{}", run.err);
        }
    }
}

#[test]
fn an_empty_name_selects_nothing_and_the_error_says_what_was_expected() {
    let object = prebuilt("live/ringbuf.bpf.o");
    let object = text(&object);
    for args in [
        &["load", object, "--program", ""][..],
        &["load", object, "--without-map", ""],
        &["gen", "loader", object, "--program", "", "-o", "/nowhere"],
        &["map", "show", "--name", ""],
        &["map", "lookup", "--name", "", "1"],
        &["prog", "show", "name", ""],
        &["link", "detach", "--name", ""],
        &["btf", "show", "--name", ""],
    ] {
        let run = run(args);
        assert_eq!((run.exit, run.out.as_str()), (2, ""), "{args:?}: {run:?}");
        assert!(run.err.contains("expected a name"), "{args:?}: {}", run.err);
    }
    let run = run(["iter", "pin", object, "/nowhere", "--map", ""]);
    assert!(run.exit == 2 && run.err.contains("the name is empty, expected an id"), "{run:?}");
}

#[test]
fn only_programs_are_selected_by_a_tag_in_help_and_arguments() {
    const TAG: &str = "0011223344556677";
    let commands = |noun: &str| -> Vec<String> {
        let help = run([noun, "--help"]).out;
        let list = help.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap().to_owned();
        let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        names.filter(|name| !matches!(*name, "" | "help")).map(str::to_owned).collect()
    };
    for noun in ["map", "link", "struct_ops", "iter"] {
        let commands = commands(noun);
        assert!(commands.len() > 1, "{commands:?}");
        for command in commands {
            let help = run([noun, &command, "--help"]).out;
            assert!(!help.contains("--tag"), "{noun} {command}: {help}");
            let refused = run([noun, &command, "--tag", TAG]);
            assert!(refused.exit == 2 && refused.err.contains("unexpected argument '--tag'"), "{refused:?}");
        }
    }
    for command in ["show", "dump", "pin", "attach", "detach", "run", "profile", "stream"] {
        let help = run(["prog", command, "--help"]).out;
        assert!(help.contains("--tag <TAG>"), "{command}: {help}");
    }
    for (command, expected) in
        [("prog", "an id, --name, --tag or --pinned"), ("map", "an id, --name or --pinned")]
    {
        let none = run([command, "pin"]);
        let what = format!("nothing is selected, expected {expected}\n");
        assert!(none.exit == 2 && none.err.contains(&what), "{none:?}");
    }
    let one = run(["prog", "show", "--tag", TAG, "--id", "1"]);
    assert!(one.exit == 2 && one.err.contains("cannot be used with"), "{one:?}");
}

#[test]
fn each_image_that_does_not_boot_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let images: Vec<_> = (0..12).map(|number| dir.path().join(format!("image-{number:02}"))).collect();
    images.iter().for_each(|image| fs::write(image, "no kernel image\n").unwrap());
    let run =
        common::run(["check", "exec.bpf.o", "--boot"].into_iter().chain(images.iter().map(|i| text(i))));
    let unnamed: Vec<_> = images.iter().filter(|image| !run.err.contains(text(image))).collect();
    assert!(run.exit == 2 && unnamed.is_empty() && !run.err.contains("more:"), "{run:?}");
}

#[test]
fn many_files_without_btf_are_counted_after_ten() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..23 {
        fs::write(dir.path().join(format!("file-{number:02}")), "root:x:0:0:root:/root:/bin/bash\n").unwrap();
    }
    fs::write(dir.path().join("empty"), "").unwrap();
    let args = ["check", "exec.bpf.o", "--btf", text(dir.path())];
    let run = common::run(args);
    assert_eq!(run.exit, 2, "{run:?}");
    let count = |what: &str| run.err.lines().filter(|line| line.contains(what)).count();
    assert_eq!((count(": no BTF in it; "), count("empty: is empty")), (10, 1), "{}", run.err);
    assert!(run.err.ends_with("core-relo: … and 13 more: no BTF in it, see --format json\n"), "{}", run.err);
    // JSON has each of them.
    let json = common::run(args.into_iter().chain(["--format", "json"]));
    assert_eq!(json.lines().len(), 24);
    assert!(json.err.ends_with("core-relo: … and 13 more: no BTF in it\n"), "{}", json.err);
}

#[test]
fn every_report_names_an_object_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("broken.bpf.o"), b"\x7fELF and no more").unwrap();
    fs::copy(prebuilt("kernel/exec.bpf.o"), dir.path().join("exec.bpf.o")).unwrap();
    let kernel = demo().join("linux-6.1.btf");
    for objects in [&["broken.bpf.o"][..], &["exec.bpf.o", "broken.bpf.o", "missing.bpf.o"]] {
        for (format, expected) in [
            ("sarif", "\"executionSuccessful\":false"),
            ("xml", "testsuite name=\"input files\""),
            ("md", "Files that could not be judged"),
            ("html", "Files that could not be judged"),
        ] {
            let report = dir.path().join(format!("report.{format}"));
            let more = ["--btf", text(&kernel), "--report", text(&report)];
            let run = run_in(dir.path(), [&["check"], objects, &more].concat());
            assert_eq!(run.exit, 2, "{run:?}");
            let text = fs::read_to_string(report).unwrap();
            assert!(text.contains(expected), "{format}: {text}");
            let bad = objects.iter().filter(|object| **object != "exec.bpf.o");
            bad.for_each(|object| assert!(text.contains(object), "{format}: {object}: {text}"));
        }
    }
}

#[test]
fn a_bpffs_of_the_environment_is_named_by_its_variable() {
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_core-relo"));
        let out = command.args(args).env("LIBBPF_BPF_TOKEN_PATH", "/no/such/bpffs").output().unwrap();
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (exit, err) = run(&["feature", "ringbuf"]);
    let expected = "LIBBPF_BPF_TOKEN_PATH: BPF token from /no/such/bpffs: ENOENT";
    assert!(exit == Some(2) && err.contains(expected), "{err}");
    let (_, err) = run(&["feature", "ringbuf", "--token", "/no/such/other"]);
    assert!(err.contains("--token: BPF token from /no/such/other: ENOENT"), "{err}");
}
