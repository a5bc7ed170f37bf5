//! `--loader`: whose rules decide whether an object is opened.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{Run, demo, prebuilt, run_in, schema, text};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
    elf::RelocationType,
    write::{self, Relocation, SymbolSection},
};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// Writes an object whose only program, in a section that only cilium/ebpf and aya know, uses a map of the
/// section `maps`.
fn write_legacy_object(dir: &TempDir) {
    let mut elf = write::Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let symbol = |elf: &mut write::Object<'_>, name: &str, kind, section, size| {
        elf.add_symbol(write::Symbol {
            name: name.into(),
            value: 0,
            size,
            kind,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        })
    };
    let code = elf.add_section(Vec::new(), b"xdp/cpumap/mine".to_vec(), SectionKind::Text);
    // r1 = map ll; r0 = 2; exit
    let insns = [0x118, 0, 0x2_0000_00b7, 0x95].map(u64::to_le_bytes);
    elf.append_section_data(code, &insns.concat(), 8);
    symbol(&mut elf, "count", SymbolKind::Text, code, 32);
    let maps = elf.add_section(Vec::new(), b"maps".to_vec(), SectionKind::Data);
    let words = [1u32, 4, 8, 16, 0].map(u32::to_le_bytes);
    elf.append_section_data(maps, &words.concat(), 8);
    let events = symbol(&mut elf, "events", SymbolKind::Data, maps, 20);
    let flags = RelocationFlags::Elf { r_type: RelocationType(1) };
    elf.add_relocation(code, Relocation { offset: 0, symbol: events, addend: 0, flags }).unwrap();
    let license = elf.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
    elf.append_section_data(license, b"GPL\0", 1);
    fs::write(dir.path().join("old.bpf.o"), elf.write().unwrap()).unwrap();
}

fn object_dir() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_legacy_object(&dir);
    dir
}

fn check(dir: &TempDir, more: &[&str]) -> Run {
    let kernel = demo().join("linux-6.12.btf");
    run_in(dir.path(), ["check", "old.bpf.o", "--btf", text(&kernel)].iter().chain(more))
}

fn line(dir: &TempDir, more: &[&str]) -> (i32, Value) {
    let run = check(dir, &[&["--format", "json"], more].concat());
    let mut lines = run.lines();
    assert_eq!(lines.len(), 1, "{}{}", run.out, run.err);
    schema().check("check", &lines[0]);
    (run.exit, lines.remove(0))
}

#[test]
fn a_rule_of_the_loader_is_named_with_the_loaders_that_do_not_have_it() {
    let dir = object_dir();
    let (exit, line) = line(&dir, &[]);
    assert_eq!((exit, &line["loader"], &line["verdict"]), (1, &"libbpf".into(), &"refused".into()));
    let reasons = line["programs"][0]["reasons"].as_array().unwrap();
    let refusal = "libbpf does not open the object: map events: defined in section `maps`; core-relo, cilium/ebpf and aya accept it";
    let texts: Vec<_> = reasons.iter().map(|reason| reason["text"].as_str().unwrap()).collect();
    assert_eq!(texts, [refusal, "the section's name implies no program type, which user space must set"]);
    let loader = serde_json::json!({
        "name": "libbpf", "rule": "legacy_maps", "accepted_by": ["core-relo", "cilium", "aya"],
    });
    assert_eq!((&reasons[0]["loader"], &reasons[1]["loader"]), (&loader, &Value::Null));
    let run = check(&dir, &[]);
    assert!(
        run.out.contains(refusal) && run.out.contains("fix: define the map in SEC(\".maps\")"),
        "{}",
        run.out
    );
}

#[test]
fn other_loaders_open_the_object_and_know_the_type_of_the_program() {
    let dir = object_dir();
    for (loader, verdict) in [("cilium", "loads"), ("aya", "loads"), ("core-relo", "needs_input")] {
        let (_, line) = line(&dir, &["--loader", loader]);
        assert_eq!((&line["loader"], &line["verdict"]), (&loader.into(), &verdict.into()), "{line}");
    }
    fs::write(dir.path().join("core-relo.toml"), "[check]\nloader = 'cilium'\n").unwrap();
    assert_eq!(line(&dir, &[]).1["loader"], "cilium");
    assert_eq!(line(&dir, &["--loader", "aya"]).1["loader"], "aya");
    let run = check(&dir, &["--loader", "bpftool"]);
    assert!(
        run.exit == 2 && run.err.contains("[possible values: libbpf, core-relo, cilium, aya]"),
        "{}",
        run.err
    );
}

#[test]
fn explain_and_requires_have_the_rules_of_the_loader() {
    let dir = object_dir();
    let kernel = demo().join("linux-6.12.btf");
    let explain = |more: &[&str]| {
        run_in(dir.path(), ["explain", "old.bpf.o", "--btf", text(&kernel)].iter().chain(more))
    };
    let run = explain(&[]);
    assert!(run.exit == 1 && run.out.contains("define the map in SEC(\".maps\")"), "{}", run.out);
    assert_eq!(explain(&["--loader", "cilium"]).exit, 0);
    let requires = |more: &[&str]| {
        let run = run_in(dir.path(), ["requires", "old.bpf.o", "--format", "json"].iter().chain(more));
        let line = run.lines().remove(0);
        schema().check("requires", &line);
        line
    };
    assert_eq!(requires(&[])["loader_reasons"].as_array().unwrap().len(), 1);
    let cilium = requires(&["--loader", "cilium"]);
    assert_eq!((&cilium["loader"], &cilium["loader_reasons"]), (&"cilium".into(), &serde_json::json!([])));
}

#[test]
fn without_objects_no_kernel_is_read() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("kernels")).unwrap();
    fs::write(dir.path().join("kernels/damaged.btf"), "no BTF").unwrap();
    let run = run_in(dir.path(), ["check", "missing.o", "--btf", "kernels"]);
    assert!(run.exit == 2 && run.err.contains("missing.o") && !run.err.contains("damaged"), "{}", run.err);
}

#[test]
fn empty_btf_of_a_module_in_a_directory_is_skipped_with_a_note() {
    let dir = object_dir();
    fs::create_dir(dir.path().join("kernels")).unwrap();
    fs::copy(demo().join("linux-6.12.btf"), dir.path().join("kernels/vmlinux")).unwrap();
    fs::write(
        dir.path().join("kernels/empty_mod"),
        b"\x9f\xeb\x01\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    )
    .unwrap();
    let args = ["check", "old.bpf.o", "--btf", "kernels", "--loader", "cilium"];
    let run = run_in(dir.path(), args);
    let note = "note: kernels: 1 BTF file without types skipped, as of modules without own types (kernels/empty_mod)";
    assert!(run.exit == 0 && run.err.contains(note), "{}{}", run.out, run.err);
}

/// The loader of `core-relo.toml` decides how `explain --relocation` and `plan` relocate, too: cilium/ebpf
/// zero-extends enumerators.
#[test]
fn relocations_are_those_of_the_loader_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("core-relo.toml"), "[check]\nloader = 'cilium'\n").unwrap();
    let (object, types) = (prebuilt("enums/high.bpf.o"), prebuilt("enums/high.same.o"));
    let run = |args: &[&str], more: &[&str]| {
        let args = [args, &[text(&object), "--btf", text(&types)], more].concat();
        run_in(dir.path(), args).out
    };
    let sign_extends = "libbpf sign-extends";
    for args in [&["plan"][..], &["explain", "--relocation", "0"]] {
        assert!(!run(args, &[]).contains(sign_extends), "{args:?}");
        assert!(run(args, &["--no-config"]).contains(sign_extends), "{args:?}");
    }
    let explain = |loader| run(&["explain", "--relocation", "0"], &["--loader", loader]);
    assert!(explain("libbpf").contains(sign_extends) && !explain("aya").contains(sign_extends));
}
