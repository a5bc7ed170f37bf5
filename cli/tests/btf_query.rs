//! Tests of `btf check`, `btf find`, `btf layout` and `btf offset`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{prebuilt, run_in, text};
use core_relo::{Endian, btf::Builder};
use core_relo_test_support::skip;
use std::{fs, path::Path, process::Command};

fn run(arguments: &[&str]) -> common::Run {
    run_in(&prebuilt("live"), ["btf"].iter().chain(arguments))
}

const OBJECT: &str = "skeleton.bpf.o";

#[test]
fn a_layout_has_members_holes_and_bitfields() {
    let run_text = run(&["layout", "struct settings", "--btf", OBJECT]);
    assert_eq!((run_text.exit, &*run_text.err), (0, ""));
    for line in [
        "struct settings {",
        "       0      4  type: u32",
        "    14:0     :3  low: u8",
        "  --- cache line 1, byte 64 ---",
        "      56     16  name: char[16]",
        "128 bytes, 2 cache lines; 2 holes of 26 bits; padding of 8 bytes",
    ] {
        assert!(run_text.out.lines().any(|found| found.trim_end() == line), "{line} in {}", run_text.out);
    }
    let line = &run(&["layout", "settings", "--btf", OBJECT, "--format", "json"]).lines()[0];
    assert_eq!((line["size"].as_u64(), line["holes"].as_u64()), (Some(128), Some(2)));
    assert_eq!(line["parts"][0]["name"], "type");
    let expanded = run(&["layout", "settings", "--btf", OBJECT, "--expand"]);
    assert!(expanded.out.contains("version: u8"));
}

#[test]
fn violations_of_the_kernels_rules_are_printed() {
    let accepted = run(&["check", OBJECT]);
    assert_eq!((accepted.exit, &*accepted.out), (0, "the kernel accepts the BTF\n"), "{}", accepted.err);
    let accepted = run(&["check", OBJECT, "--kernel-version", "5.10", "--format", "json"]);
    assert_eq!((accepted.exit, &*accepted.out), (0, ""), "{}", accepted.err);

    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    b.structure("a<b>", 4, &[("x", int, 0), ("0", int, 0)]);
    b.type_tag("tag", int);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("types.btf");
    fs::write(&path, b.finish()).unwrap();
    let refused = run(&["check", text(&path)]);
    let first = "type [2] STRUCT `a<b>`: has a name with `<` at byte 1, which the kernel does not allow";
    assert_eq!((refused.exit, refused.out.lines().count()), (1, 2), "{}", refused.out);
    assert_eq!(refused.out.lines().next(), Some(first));
    let lines = run(&["check", text(&path), "--kernel-version", "5.10", "--format", "json"]).lines();
    assert_eq!(lines.len(), 3);
    assert_eq!((lines[1]["place"].as_str(), lines[1]["index"].as_u64()), (Some("member"), Some(1)));
    assert_eq!((lines[1]["type"].as_u64(), lines[1]["element"].as_str()), (Some(2), Some("0")));
    assert_eq!(lines[2]["kernel_message"], "Invalid btf_info:");

    fs::write(&path, "no BTF").unwrap();
    let bad = run(&["check", text(&path)]);
    assert_eq!((bad.exit, &*bad.out), (2, ""));
    assert!(bad.err.contains("expected a BPF object or raw BTF"), "{}", bad.err);
}

#[test]
fn violations_of_the_records_of_a_program_are_printed() {
    let mut object = fs::read(prebuilt("live").join(OBJECT)).unwrap();
    // The header of .BTF.ext: magic, version, flags, length.
    let header = [0x9f, 0xeb, 1, 0, 32, 0, 0, 0];
    let at = object.windows(header.len()).position(|bytes| bytes == header).unwrap();
    let word = |object: &[u8], at: usize| usize::try_from(Endian::Little.u32(object, at).unwrap()).unwrap();
    // The second record of the first section gets the instruction of the first. The records follow three
    // words.
    let second = at + 32 + word(&object, at + 16) + 12 + 16;
    object[second..second + 4].fill(0);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bad.bpf.o");
    fs::write(&path, object).unwrap();
    let refused = run(&["check", text(&path)]);
    let problem = "line_info record 1: the instruction is 0, expected more than 0, and less than ";
    assert_eq!((refused.exit, refused.out.lines().count()), (1, 1), "{}", refused.out);
    assert!(refused.out.starts_with("program `") && refused.out.contains(problem), "{}", refused.out);
    let line = &run(&["check", text(&path), "--format", "json"]).lines()[0];
    assert!(line["program"].is_string() && line["type"].is_null() && line["element"].is_null(), "{line}");
    assert_eq!((line["place"].as_str(), line["index"].as_u64()), (Some("line_info"), Some(1)));
    assert_eq!(line["kernel_message"], ".insn_off:");
}

#[test]
fn an_offset_follows_pointers() {
    let run_text = run(&["offset", "settings.address.halves.high", "--btf", OBJECT]);
    assert_eq!(run_text.out, "settings.address.halves.high  offset 26, 2 bytes  u16\n", "{}", run_text.err);
    let bits = &run(&["offset", "settings.negative", "--btf", OBJECT, "--format", "json"]).lines()[0];
    assert_eq!(
        (bits["bit_offset"].as_u64(), bits["bits"].as_u64(), bits["is_bitfield"].as_bool()),
        (Some(117), Some(5), Some(true))
    );
    let missing = run(&["offset", "settings.none", "--btf", OBJECT]);
    assert_eq!((missing.exit, missing.out.as_str()), (2, ""));
    assert!(missing.err.contains("`settings` has no member `none`"), "{}", missing.err);
}

#[test]
fn types_are_found_by_name_kind_member_size_and_user() {
    let names = |arguments: &[&str]| {
        let run = run(&[&["find", OBJECT, "--format", "json"], arguments].concat());
        let names: Vec<_> =
            run.lines().iter().map(|line| line["name"].as_str().unwrap().to_owned()).collect();
        (run.exit, names)
    };
    assert_eq!(names(&["--name", "flow"]).1, ["flow", "flow"]);
    assert_eq!(names(&["--kind", "enum", "--size", "1"]), (0, vec!["tiny".into()]));
    assert_eq!(names(&["--member", "low_word"]), (0, vec!["settings".into()]), "in an anonymous member");
    assert_eq!(names(&["--users", "struct header"]), (0, vec!["settings".into()]));
    assert_eq!(names(&["--name", "none*"]), (1, vec![]));
    let hint = run(&["layout", "setings", "--btf", OBJECT]);
    assert!(hint.exit == 2 && hint.err.contains("there is `settings`"), "{}", hint.err);
}

#[test]
fn files_that_are_no_btf_are_named_and_the_others_searched() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bad.btf"), b"no btf").unwrap();
    fs::copy(prebuilt("live").join(OBJECT), dir.path().join("good.o")).unwrap();
    let run =
        run_in(Path::new("/"), ["btf", "find", text(dir.path()), "--name", "settings", "--kind", "struct"]);
    assert_eq!(run.exit, 2);
    assert!(
        run.err.contains("bad.btf") && run.out.contains("STRUCT settings, 128 bytes"),
        "{} {}",
        run.out,
        run.err
    );
}

/// The argument of `btf layout` is a type, that of `btf find` a path.
#[test]
fn the_error_of_a_type_in_place_of_a_path_names_the_option() {
    let help = "`btf find --name PATTERN` finds types by their names";
    let run_find = |path| run(&["find", path]);
    let named = run_find("list_hea");
    assert_eq!(
        (named.exit, &*named.err),
        (2, &*format!("core-relo: list_hea: no such file or directory; {help}\n"))
    );
    for path in ["/nosuch/list_hea", "../gen.rs/x"] {
        let run = run_find(path);
        assert!(run.exit == 2 && !run.err.contains(help), "{}", run.err);
    }
}

/// pahole prints `/* size: 128, cachelines: 2, members: 22 */` and so on for each struct.
#[test]
fn sizes_and_holes_are_those_of_pahole() {
    let kernel = Path::new("/sys/kernel/btf/vmlinux");
    if !kernel.exists() || Command::new("pahole").arg("--version").output().is_err() {
        return skip!("pahole, or the running kernel's BTF, is missing");
    }
    for ty in ["task_struct", "sk_buff", "list_head", "net_device", "inode", "sock", "page", "file"] {
        let output = Command::new("pahole").args(["-C", ty]).arg(kernel).output().unwrap();
        let pahole = String::from_utf8_lossy(&output.stdout).into_owned();
        let Some(at) = pahole.rfind("/* size: ") else { continue };
        let number = |label: &str| -> u64 {
            let rest = pahole[at..].split(label).nth(1);
            rest.map_or(0, |rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap())
        };
        let run = run_in(Path::new("/"), ["btf", "layout", ty, "--format", "json"]);
        let line = &run.lines()[0];
        assert_eq!(line["size"].as_u64(), Some(number("/* size: ")), "{ty}: {pahole}");
        assert_eq!(line["cache_lines"].as_u64(), Some(number("cachelines: ")), "{ty}");
        let holes: u64 = line["parts"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|part| {
                part["part"] == "hole" && part["depth"] == 0 && part["bits"].as_u64().unwrap() % 8 == 0
            })
            .map(|part| part["bits"].as_u64().unwrap() / 8)
            .sum();
        // pahole counts the bytes of holes after bitfields in its own way.
        if !pahole[at..].contains("bit holes: ") {
            assert_eq!(holes, number("sum holes: "), "{ty}: {pahole}");
        }
    }
}

#[test]
fn unknown_names_get_the_nearest_ones() {
    for (args, exit, what) in [
        (&["offset", "settings.adress", "--btf", OBJECT][..], 2, "there is `address`"),
        // A member of an anonymous struct in an anonymous union.
        (&["offset", "settings.low_wrd", "--btf", OBJECT], 2, "there is `low_word`"),
        (&["offset", "settings.poniter", "--btf", OBJECT], 2, "there is `pointer`"),
        (&["offset", "setings.address", "--btf", OBJECT], 2, "no type `setings`; there is `settings`"),
        (
            &["find", OBJECT, "--users", "struct setings"],
            1,
            "no file has a type `struct setings`; there is `settings`",
        ),
        (&["find", OBJECT, "--name", "setings"], 1, ""),
        (&["dump", OBJECT, "--type-name", "setings"], 2, "no type `setings`; there is `settings`"),
    ] {
        let run = run(args);
        assert!(run.exit == exit && run.err.contains(what), "{args:?}: {run:?}");
    }
}
