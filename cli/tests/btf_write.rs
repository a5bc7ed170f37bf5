//! Tests of the `btf` subcommands that write BTF, and of `btf ids`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{demo, prebuilt, run_in, schema, text};
use core_relo::{
    Endian,
    btf::{Btf, Builder},
};
use flate2::{Compression, write::GzEncoder};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
    write::{Object, Symbol, SymbolSection},
};
use std::{fs, io::Write as _, path::Path};

/// Runs a command that writes BTF in the directory of prebuilt objects, and returns its JSON report.
fn write(dir: &Path, args: &[&str]) -> serde_json::Value {
    let run = run_in(dir, ["btf"].iter().chain(args).chain(&["--format", "json"]));
    assert_eq!((run.exit, &*run.err), (0, ""), "{args:?}");
    let line = run.lines().remove(0);
    schema().check("btf dedup, btf merge, btf sort, btf split, btf distil, btf convert", &line);
    line
}

fn types(path: &Path, base: Option<&Path>) -> Vec<serde_json::Value> {
    let args = ["btf", "dump", text(path), "--format", "json"].map(str::to_owned);
    let base = base.iter().flat_map(|base| ["--base".to_owned(), text(base).to_owned()]);
    run_in(&demo(), args.into_iter().chain(base)).lines()
}

#[test]
fn objects_are_merged_and_deduplicated() {
    let dir = tempfile::tempdir().unwrap();
    let (all, again) = (dir.path().join("all.btf"), dir.path().join("again.btf"));
    let objects = ["calls_a.bpf.o", "calls_b.bpf.o", "calls_c.bpf.o"];
    let report = write(&prebuilt("link"), &[&["merge"], &objects[..], &["-o", text(&all)]].concat());
    let count = |key: &str| report[key].as_u64().unwrap();
    assert!(count("types") < count("types_read"), "{report}");
    assert_eq!(count("bytes"), fs::metadata(&all).unwrap().len());
    let dumped = types(&all, None);
    assert_eq!(dumped.len() as u64, count("types"));
    let ints = dumped.iter().filter(|ty| ty["kind"] == "INT" && ty["name"] == "int").count();
    assert_eq!(ints, 1, "each object has an int");
    let report = write(dir.path(), &["dedup", "all.btf", "-o", "again.btf"]);
    assert_eq!(report["types"], report["types_read"]);
    assert_eq!(fs::read(&all).unwrap(), fs::read(&again).unwrap());
}

#[test]
fn split_btf_has_the_types_that_the_base_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let (base, split) = (demo().join("linux-6.1.btf"), dir.path().join("split.btf"));
    let report = write(&demo(), &["split", "linux-6.12.btf", "--base", text(&base), "-o", text(&split)]);
    assert!(report["types"].as_u64() < report["types_read"].as_u64(), "{report}");
    let first = types(&split, Some(&base))[0]["id"].as_u64().unwrap();
    assert_eq!(first, types(&base, None).len() as u64 + 1);
    let same = dir.path().join("same.btf");
    // The kernel's BTF has equal types twice, because most of its types were left out.
    let once = dir.path().join("once.btf");
    write(&demo(), &["dedup", "linux-6.1.btf", "-o", text(&once)]);
    write(&demo(), &["split", text(&once), "--base", text(&once), "-o", text(&same)]);
    let kept = types(&same, Some(&once));
    let is_never_merged = |ty: &serde_json::Value| ty["kind"] == "VAR" || ty["kind"] == "DATASEC";
    assert!(kept.iter().all(is_never_merged), "{kept:?}");

    // A distilled base has the names of the types that the split BTF refers to. Both can be read together.
    let (small, own) = (dir.path().join("small.btf"), dir.path().join("own.btf"));
    let args =
        ["distil", text(&split), "--base", text(&base), "-o", text(&own), "--base-output", text(&small)];
    let report = write(dir.path(), &args);
    assert_eq!(report["distilled_base"]["types"], types(&small, None).len());
    assert_eq!(report["types"], types(&own, Some(&small)).len());
    assert!(fs::metadata(&small).unwrap().len() < fs::metadata(&base).unwrap().len());
}

#[test]
fn sorted_and_converted_btf_has_the_same_types() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let kernel = demo().join("linux-6.1.btf");
    write(dir.path(), &["sort", text(&kernel), "-o", "sorted.btf"]);
    let names = |types: Vec<serde_json::Value>| {
        types.iter().map(|ty| ty["name"].as_str().unwrap().replace("(anon)", "")).collect::<Vec<_>>()
    };
    let (sorted, mut expected) = (names(types(&path("sorted.btf"), None)), names(types(&kernel, None)));
    expected.sort();
    assert_eq!(sorted, expected);

    write(dir.path(), &["convert", text(&kernel), "--endian", "big", "--layout", "add", "-o", "big.btf"]);
    assert_eq!(&fs::read(path("big.btf")).unwrap()[..2], [0xeb, 0x9f]);
    assert_eq!(types(&path("big.btf"), None), types(&kernel, None));
    write(dir.path(), &["convert", "big.btf", "--endian", "little", "--layout", "remove", "-o", "back.btf"]);
    assert_eq!(fs::read(path("back.btf")).unwrap(), fs::read(&kernel).unwrap());
}

#[test]
fn bad_input_is_one_line_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = demo().join("linux-6.1.btf");
    fs::copy(&kernel, dir.path().join("kernel.btf")).unwrap();
    fs::write(dir.path().join("cut.btf"), &fs::read(&kernel).unwrap()[..1000]).unwrap();
    let base = Btf::parse(fs::read(&kernel).unwrap()).unwrap();
    let mut split = Builder::split(&base);
    let pointer = split.pointer(core_relo::TypeId(1));
    split.typedef("own", pointer);
    fs::write(dir.path().join("module.btf"), split.finish()).unwrap();
    let convert = ["btf", "convert", "kernel.btf", "--endian", "big", "-o", "big.btf"];
    assert_eq!(run_in(dir.path(), convert).exit, 0);
    fs::create_dir(dir.path().join("beside")).unwrap();
    fs::copy(&kernel, dir.path().join("beside/vmlinux")).unwrap();
    fs::copy(dir.path().join("module.btf"), dir.path().join("beside/module.btf")).unwrap();
    let cases: [(&[&str], &str); 18] = [
        (
            &["sort", "beside/module.btf", "-o", "beside/vmlinux"],
            "beside/vmlinux: is an input and the output",
        ),
        (
            &["sort", "module.btf", "--base", "kernel.btf", "-o", "kernel.btf"],
            "kernel.btf: is an input and the output",
        ),
        (
            &["dedup", "module.btf", "--base", "kernel.btf", "-o", "kernel.btf"],
            "kernel.btf: is an input and the output",
        ),
        (
            &["convert", "module.btf", "--base", "kernel.btf", "--endian", "big", "-o", "kernel.btf"],
            "kernel.btf: is an input and the output",
        ),
        (
            &["merge", "module.btf", "--base", "kernel.btf", "-o", "kernel.btf"],
            "kernel.btf: is an input and the output",
        ),
        (
            &["split", "kernel.btf", "--base", "beside/vmlinux", "-o", "beside/vmlinux"],
            "beside/vmlinux: is an input and the output",
        ),
        (
            &["distil", "module.btf", "--base", "kernel.btf", "-o", "out", "--base-output", "kernel.btf"],
            "kernel.btf: is an input and the output",
        ),
        (
            &["distil", "module.btf", "--base", "kernel.btf", "-o", "out", "--base-output", "nosuch/base"],
            "nosuch/base: cannot be written: no such directory",
        ),
        (
            &["distil", "module.btf", "--base", "kernel.btf", "-o", "out", "--base-output", "beside/../out"],
            "out: is the path of two outputs",
        ),
        (&["dedup", "nosuch", "-o", "out"], "nosuch: no such file"),
        (&["sort", "cut.btf", "-o", "out"], "cut.btf: truncated"),
        (&["convert", "cut.btf", "--endian", "big", "-o", "out"], "cut.btf: truncated"),
        (&["sort", "kernel.btf", "-o", "./kernel.btf"], "./kernel.btf: is an input and the output"),
        (&["merge", "kernel.btf", "module.btf", "-o", "out"], "module.btf: is BTF of a module"),
        (
            &["split", "big.btf", "--base", "kernel.btf", "-o", "out"],
            "big.btf: has another byte order than the base",
        ),
        (&["distil", "kernel.btf", "-o", "out", "--base-output", "base"], "kernel.btf: the BTF has no base"),
        (
            &["distil", "module.btf", "--base", "kernel.btf", "-o", "out", "--base-output", "out"],
            "out: is the path of two outputs",
        ),
        (&["sort", "kernel.btf", "-o", "nosuch/out"], "nosuch/out: cannot be written: no such directory"),
    ];
    let files = || fs::read_dir(dir.path()).unwrap().count();
    let kernels = || ["kernel.btf", "beside/vmlinux"].map(|name| fs::read(dir.path().join(name)).unwrap());
    let before = (files(), kernels());
    for (args, expected) in cases {
        let run = run_in(dir.path(), ["btf"].iter().chain(args));
        assert_eq!((run.exit, run.err.lines().count(), &*run.out), (2, 1, ""), "{args:?}: {}", run.err);
        assert!(run.err.starts_with(&format!("core-relo: {expected}")), "{args:?}: {}", run.err);
    }
    assert_eq!((files(), kernels()), before);
}

/// Builds an ELF file with a set of kfuncs whose ids are not resolved.
fn unresolved_module() -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let section = object.add_section(Vec::new(), b".BTF_ids".to_vec(), SectionKind::ReadOnlyData);
    let words = [0u32, 1, 0, 7, 0, 8];
    let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    object.append_section_data(section, &data, 4);
    let symbols = [
        ("__BTF_ID__set8__kfuncs", 0, 24),
        ("__BTF_ID__func__zeta__1", 8, 4),
        ("__BTF_ID__func__alpha__2", 16, 4),
    ];
    for (name, value, size) in symbols {
        object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value,
            size,
            kind: SymbolKind::Data,
            scope: SymbolScope::Compilation,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    object.write().unwrap()
}

#[test]
fn ids_are_resolved_shown_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    let btf = |functions: &[&str]| {
        let mut b = Builder::new(Endian::Little);
        let proto = b.func_proto(core_relo::TypeId(0), &[]);
        for function in functions {
            b.func(function, proto, 0);
        }
        b.finish()
    };
    fs::write(dir.path().join("module.o"), unresolved_module()).unwrap();
    fs::write(dir.path().join("kernel.btf"), btf(&["alpha", "zeta"])).unwrap();
    fs::write(dir.path().join("other.btf"), btf(&["zeta"])).unwrap();
    let run = |args: &[&str]| run_in(dir.path(), ["btf", "ids"].iter().chain(args));

    let shown = run(&["module.o"]);
    let expected = "set8 kfuncs: 2 ids, flags 0x1\n  [0] FUNC zeta, flags 0x7\n  [0] FUNC alpha, flags 0x8\n";
    assert_eq!((shown.exit, &*shown.out), (0, expected));

    let file = fs::File::create(dir.path().join("module.ko.gz")).unwrap();
    let mut gzip = GzEncoder::new(file, Compression::fast());
    gzip.write_all(&unresolved_module()).unwrap();
    gzip.finish().unwrap();
    assert_eq!(run(&["module.ko.gz"]).out, expected);
    let cut = fs::read(dir.path().join("module.ko.gz")).unwrap();
    fs::write(dir.path().join("cut.ko.gz"), &cut[..cut.len() / 2]).unwrap();
    let cut = run(&["cut.ko.gz"]);
    assert!(cut.exit == 2 && cut.err.starts_with("core-relo: cut.ko.gz: gzip stream: "), "{}", cut.err);

    let missing = run(&["module.o", "--resolve", "--btf", "other.btf", "-o", "out.o"]);
    assert_eq!((missing.exit, &*missing.out), (1, ""));
    assert!(missing.err.starts_with("missing: module.o: no FUNC alpha in the BTF\n"), "{}", missing.err);
    assert!(!dir.path().join("out.o").exists());
    let args =
        ["module.o", "--resolve", "--btf", "other.btf", "-o", "out.o", "--allow-missing", "--format", "json"];
    let line = run(&args).lines().remove(0);
    schema().check("btf ids --resolve", &line);
    assert_eq!((&line["resolved"], &line["missing"][0]), (&1.into(), &"FUNC alpha".into()));

    let written = run(&["module.o", "--resolve", "--btf", "kernel.btf", "-o", "module.o"]);
    assert_eq!((written.exit, &*written.out), (0, "written: module.o: 2 ids resolved, 0 missing\n"));
    let shown = run(&["module.o", "--btf", "kernel.btf"]);
    let expected = "set8 kfuncs: 2 ids, flags 0x1\n  [2] FUNC alpha, flags 0x8\n  [3] FUNC zeta, flags 0x7\n";
    assert_eq!((shown.exit, &*shown.out), (0, expected));
    let again = run(&["module.o", "--resolve", "--btf", "kernel.btf", "-o", "out.o"]);
    assert_eq!((again.exit, &*again.err), (2, "core-relo: module.o: set `kfuncs` contains ids already\n"));

    let wrong = run(&["module.o", "--btf", "other.btf", "--format", "json"]);
    let line = wrong.lines().remove(0);
    schema().check("btf ids", &line);
    assert_eq!(wrong.exit, 1);
    assert_eq!(line["problems"][0], "no FUNC `alpha` in the BTF");
    let none = run(&["kernel.btf"]);
    assert_eq!((none.exit, none.err.lines().count()), (2, 1), "{}", none.err);
}
