//! `btf print`: bytes as values of types.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{run_in, schema};
use core_relo::{
    Endian,
    btf::{Builder, BuiltMember, Kind},
};
use serde_json::json;
use std::{fs, path::Path};
use tempfile::TempDir;

/// Writes the types of `endian` to `types.btf`.
fn write_types(dir: &Path, endian: Endian) {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, Builder::SIGNED);
    let char = b.int("char", 1, Builder::SIGNED);
    let state = b.enumeration("state", 4, &[("IDLE", 0), ("BUSY", 1)]);
    let comm = b.array(char, int, 4);
    let event = b.structure("event", 12, &[("pid", int, 0), ("comm", comm, 32), ("state", state, 64)]);
    b.typedef("event_t", event);
    let rest = b.array(int, int, 0);
    b.structure("packet", 4, &[("len", int, 0), ("rest", rest, 32)]);
    let field = |name, bit_offset, bitfield_bits| BuiltMember { name, ty: int, bit_offset, bitfield_bits };
    b.composite(Kind::Union, "bits", 4, &[field("all", 0, 0), field("low", 0, 3)]);
    fs::write(dir.join("types.btf"), b.finish()).unwrap();
}

fn directory() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_types(dir.path(), Endian::Little);
    dir
}

/// Runs `btf print types.btf` on bytes.
fn print(dir: &TempDir, bytes: &[u8], args: &[&str]) -> common::Run {
    fs::write(dir.path().join("data"), bytes).unwrap();
    run_in(dir.path(), ["btf", "print", "types.btf", "--data", "data"].iter().chain(args))
}

const EVENT: [u8; 12] = [7, 0, 0, 0, b's', b'h', 0, 0, 1, 0, 0, 0];

#[test]
fn a_value_is_printed_by_name_keyword_typedef_and_id() {
    let dir = directory();
    for ty in ["event", "struct event", " struct  event ", "event_t", "5"] {
        let run = print(&dir, &EVENT, &["--type", ty]);
        let expected = "{\n\t.pid = 7,\n\t.comm = \"sh\",\n\t.state = BUSY,\n}\n";
        assert_eq!((&*run.out, &*run.err, run.exit), (expected, "", 0), "{ty}");
    }
    for (ty, what) in [
        ("union event", "types.btf: no type `union event`: `event` is of the kind Struct"),
        ("nosuch", "no type `nosuch`"),
        ("", "no type ``"),
        ("99", "no type [99], expected [1] to [9]"),
        ("0", "has no values"),
    ] {
        let run = print(&dir, &EVENT, &["--type", ty]);
        assert!(run.exit == 2 && run.err.contains(what), "{ty}: {run:?}");
    }
}

#[test]
fn the_options_of_the_text() {
    let dir = directory();
    let run = |args: &[&str]| print(&dir, &EVENT, &[&["--type", "event"], args].concat()).out;
    assert_eq!(run(&["--compact"]), "{.pid = 7, .comm = \"sh\", .state = BUSY}\n");
    assert_eq!(run(&["--compact", "--skip-names"]), "{7, \"sh\", BUSY}\n");
    let types = "(struct event){.pid = (int)7, .comm = (char[4])\"sh\", .state = (enum state)BUSY}\n";
    assert_eq!(run(&["--compact", "--types"]), types);
    assert_eq!(run(&["--indent", "2"]), "{\n  .pid = 7,\n  .comm = \"sh\",\n  .state = BUSY,\n}\n");
    let idle = print(&dir, &[0; 12], &["--type", "event", "--compact", "--skip-zeroes"]);
    assert_eq!(idle.out, "{}\n");
}

#[test]
fn both_byte_orders_and_bitfields() {
    let dir = directory();
    let args = ["--type", "union bits", "--compact"];
    assert_eq!(print(&dir, &[6, 1, 0, 0], &args).out, "{.all = 262, .low = -2}\n");
    write_types(dir.path(), Endian::Big);
    assert_eq!(print(&dir, &[0xc0, 0, 0, 1], &args).out, "{.all = -1073741823, .low = -2}\n");
}

#[test]
fn data_that_is_too_short_or_too_long() {
    let dir = directory();
    let short = print(&dir, &EVENT[..6], &["--type", "event", "--compact"]);
    assert_eq!(short.out, "{.pid = 7, .comm = \"sh\"<cut off>, .state = <cut off>}\n");
    assert_eq!(short.exit, 1);
    assert!(short.err.contains("data: offset 0: the value is cut off: 6 bytes, expected 12"), "{short:?}");
    let long = print(&dir, &[0; 24], &["--type", "event", "--compact"]);
    assert_eq!(long.exit, 0);
    assert!(long.err.contains("12 bytes follow the value; --array prints them as values"), "{long:?}");
    let empty = print(&dir, &[], &["--type", "int"]);
    assert_eq!((&*empty.out, empty.exit), ("<cut off>\n", 1));
}

/// Compilers write 0 as the size of a section.
#[test]
fn a_section_is_as_large_as_its_variables() {
    let dir = tempfile::tempdir().unwrap();
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let variables = ["first", "last"].map(|name| b.var(name, int, 0));
    b.datasec(".bss", 0, &[(variables[0], 0, 4), (variables[1], 4, 4)]);
    fs::write(dir.path().join("types.btf"), b.finish()).unwrap();
    let run = print(&dir, &[1, 0, 0, 0, 2, 0, 0, 0], &["--type", ".bss", "--compact"]);
    assert_eq!((&*run.out, &*run.err, run.exit), ("{.first = 1, .last = 2}\n", "", 0));
    let run = print(&dir, &[1, 0, 0, 0, 2], &["--type", ".bss", "--format", "json"]);
    assert_eq!((&run.lines()[0]["missing_bytes"], run.exit), (&json!(3), 1));
}

#[test]
fn arrays_of_values_and_flexible_arrays() {
    let dir = directory();
    let two = print(&dir, &EVENT.repeat(2), &["--type", "event", "--array", "--format", "json"]);
    let value = json!({"pid": 7, "comm": "sh", "state": "BUSY"});
    let line = |offset| json!({"type_id": 5, "type": "struct event", "offset": offset, "value": value, "missing_bytes": 0});
    assert_eq!((two.lines(), two.exit), (vec![line(0), line(12)], 0));
    two.lines().iter().for_each(|line| schema().check("btf print", line));
    let cut = print(&dir, &EVENT.repeat(2)[..16], &["--type", "event", "--array", "--format", "json"]);
    assert_eq!((&cut.lines()[1]["missing_bytes"], cut.exit), (&json!(8), 1));
    assert_eq!(cut.lines()[1]["value"], json!({"pid": 7, "comm": "", "state": null}));
    let packet = print(&dir, &[2, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0], &["--type", "packet", "--compact"]);
    assert_eq!((&*packet.out, &*packet.err), ("{.len = 2, .rest = [8, 9]}\n", ""));
}

#[test]
fn a_name_of_several_types_is_an_error_that_lists_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    b.int("int", 4, Builder::SIGNED);
    let same = b.structure("same", 4, &[("a", int, 0)]);
    b.typedef("same", same);
    b.structure("other", 4, &[("a", int, 0)]);
    let long = b.array(int, int, 2);
    b.typedef("other", long);
    b.structure("twice", 4, &[("a", int, 0)]);
    b.structure("twice", 4, &[("b", int, 0)]);
    fs::write(dir.path().join("types.btf"), b.finish()).unwrap();
    let bytes = [7, 0, 0, 0];
    // A typedef of the struct with the same name, and two equal integers, leave no doubt.
    for (ty, expected) in
        [("same", "{.a = 7}\n"), ("int", "7\n"), ("struct other", "{.a = 7}\n"), ("9", "{.b = 7}\n")]
    {
        let run = print(&dir, &bytes, &["--type", ty, "--compact"]);
        assert_eq!((&*run.out, &*run.err, run.exit), (expected, "", 0), "{ty}");
    }
    for (ty, what) in [
        (
            "other",
            "`other` is the name of several types: [5] struct other of 4 bytes, [7] typedef other of 8 bytes: \
                   choose one by `struct other`, or its id",
        ),
        ("twice", "[8] struct twice of 4 bytes, [9] struct twice of 4 bytes: choose one by its id"),
        ("struct twice", "`struct twice` is the name of several types"),
    ] {
        let run = print(&dir, &bytes, &["--type", ty]);
        assert!(run.exit == 2 && run.err.contains(what) && run.out.is_empty(), "{ty}: {run:?}");
    }
}

/// BTF does not tell the format. The machine of the file, or of the kernel, does.
#[test]
fn a_long_double_is_a_number_where_the_format_is_known() {
    let dir = tempfile::tempdir().unwrap();
    // 1.5 and 0.1, as x86 has them.
    let numbers = [
        [0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x3f],
        [0xcd, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xfb, 0x3f],
    ];
    let data: Vec<u8> = numbers.iter().flat_map(|number| [&number[..], &[0; 6]].concat()).collect();
    fs::write(dir.path().join("data"), data).unwrap();
    let printed = |register: &str, format: &str| {
        let mut b = Builder::new(Endian::Little);
        let float = b.float("long double", 16);
        b.structure("pair", 32, &[("a", float, 0), ("b", float, 128)]);
        let long = b.int("unsigned long", 8, 0);
        b.structure("pt_regs", 8, &[(register, long, 0)]);
        fs::write(dir.path().join("types.btf"), b.finish()).unwrap();
        let words = [
            "btf",
            "print",
            "types.btf",
            "--data",
            "data",
            "--type",
            "pair",
            "--compact",
            "--format",
            format,
        ];
        let run = run_in(dir.path(), words);
        assert_eq!(run.exit, 0, "{run:?}");
        run.out
    };
    assert_eq!(printed("r15", "text"), "{.a = 1.5, .b = 0x1.999999999999999ap-4}\n");
    assert!(printed("r15", "json").contains(r#"{"a":1.5,"b":"0x1.999999999999999ap-4"}"#));
    for register in ["orig_x0", "nothing"] {
        assert!(printed(register, "text").contains("0x00000000000000c0ff3f000000000000"), "{register}");
    }
}
