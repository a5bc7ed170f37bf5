//! `inspect --disasm` prints what llvm-objdump prints, and shows damaged code with the reason.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{demo, run, run_guarded, schema};
use core_relo_test_support::skip;
use core_relo_tests::artifacts;
use insta::assert_snapshot;
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
    write::{self, SymbolSection},
};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path, process::Command};

/// An instruction: opcode, destination, source, offset, immediate.
type Fields = (u8, u8, u8, i16, i32);

fn encode((code, dst, src, off, imm): Fields) -> [u8; 8] {
    let ([o0, o1], [i0, i1, i2, i3]) = (off.to_le_bytes(), imm.to_le_bytes());
    [code, dst | (src << 4), o0, o1, i0, i1, i2, i3]
}

/// Writes an object with a section of code and functions: name, first instruction, number of instructions.
fn write_object(path: &Path, code: &[Fields], functions: &[(&str, u64, u64)]) {
    let mut elf = write::Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let section = elf.add_section(Vec::new(), b"xdp".to_vec(), SectionKind::Text);
    let bytes: Vec<u8> = code.iter().copied().flat_map(encode).collect();
    elf.append_section_data(section, &bytes, 8);
    for (name, start, len) in functions {
        elf.add_symbol(write::Symbol {
            name: name.as_bytes().to_vec(),
            value: start * 8,
            size: len * 8,
            kind: SymbolKind::Text,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    fs::write(path, elf.write().unwrap()).unwrap();
}

/// Returns llvm-objdump of LLVM 19 or later, which knows the instructions of `--mcpu=v4`.
fn llvm_objdump() -> Option<&'static str> {
    const NAMES: [&str; 5] =
        ["llvm-objdump-22", "llvm-objdump-21", "llvm-objdump-20", "llvm-objdump-19", "llvm-objdump"];
    NAMES.into_iter().find(|name| {
        let Ok(output) = Command::new(name).arg("--version").output() else { return false };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.split("version ").nth(1).and_then(|rest| rest.split('.').next()?.parse().ok());
        version.is_some_and(|version: u32| version >= 19)
    })
}

/// Returns the text of llvm-objdump for each instruction of each section.
fn objdump(program: &str, object: &Path) -> BTreeMap<(String, u64), String> {
    let output =
        Command::new(program).args(["-d", "--mcpu=v4", "--no-show-raw-insn"]).arg(object).output().unwrap();
    let mut instructions = BTreeMap::new();
    let mut section = String::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        if let Some(name) = line.strip_prefix("Disassembly of section ") {
            name.trim_end_matches(':').clone_into(&mut section);
        }
        let Some((index, text)) = line.split_once(':') else { continue };
        let Ok(index) = index.trim().parse::<u64>() else { continue };
        // Jumps and calls end with the place of their target: `goto +0x1 <f+0x10>`.
        let text = text.trim().replace('\t', " ");
        let text = match text.rsplit_once(" <") {
            Some((instruction, label)) if label.ends_with('>') => instruction.to_owned(),
            _ => text,
        };
        // Bytes after a cut off instruction have lines of their own.
        instructions.entry((section.clone(), index)).or_insert(text);
    }
    instructions
}

/// Returns the JSON lines of `inspect --disasm` for an object.
fn disassemble(object: &Path) -> Vec<Value> {
    let run = run(["inspect", "--disasm", "--format", "json", common::text(object)]);
    assert_eq!(run.exit, 0, "{}: {}", object.display(), run.err);
    run.lines()
}

fn place(line: &Value) -> (String, u64) {
    (line["section"].as_str().unwrap().to_owned(), line["insn"].as_u64().unwrap())
}

#[test]
fn the_text_of_all_objects_is_that_of_llvm_objdump() {
    let Some(llvm) = llvm_objdump() else {
        return skip(
            "the_text_of_all_objects_is_that_of_llvm_objdump",
            "no llvm-objdump of LLVM 19 or later",
        );
    };
    let objects = artifacts::files(&artifacts::root().join("bpf-progs/prebuilt"), ".bpf.o");
    let mut count = 0;
    for object in &objects {
        let theirs = objdump(llvm, object);
        let lines = disassemble(object);
        assert_eq!(lines.len(), theirs.len(), "{}", object.display());
        for line in &lines {
            let place = place(line);
            assert_eq!(line["text"], theirs[&place], "{} {place:?}: {line}", object.display());
            count += 1;
        }
    }
    assert!(objects.len() > 100 && count > 5000, "{} objects, {count} instructions", objects.len());
    println!("{count} instructions of {} objects equal those of {llvm}", objects.len());
}

#[test]
fn the_text_of_all_encodings_is_that_of_llvm_objdump() {
    let Some(llvm) = llvm_objdump() else {
        return skip(
            "the_text_of_all_encodings_is_that_of_llvm_objdump",
            "no llvm-objdump of LLVM 19 or later",
        );
    };
    let offsets = [0, 1, 8, 16, 32, -1, -8, i16::MIN, i16::MAX];
    let immediates = [
        0,
        1,
        -1,
        16,
        32,
        64,
        0x40,
        0x41,
        0x50,
        0x51,
        0xa0,
        0xa1,
        0xe1,
        0xf1,
        0x100,
        0x110,
        i32::MIN,
        i32::MAX,
    ];
    let mut code = Vec::new();
    for opcode in (0..=u8::MAX).filter(|opcode| *opcode != 0x18) {
        for (dst, src) in [(1, 2), (10, 0), (0, 1), (12, 0), (3, 14)] {
            for off in offsets {
                code.extend(immediates.map(|imm| (opcode, dst, src, off, imm)));
            }
        }
    }
    for src in 0..8 {
        for (low, high) in [(0, 0), (5, 1), (-1, -1), (0, i32::MIN), (i32::MIN, 0)] {
            code.extend([(0x18, 1, src, 0, low), (0, 0, 0, 0, high)]);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("encodings.o");
    write_object(&path, &code, &[]);
    let theirs = objdump(llvm, &path);
    let lines = disassemble(&path);
    let (mut differences, mut known) = (Vec::new(), 0);
    for line in &lines {
        let fields = code[usize::try_from(line["insn"].as_u64().unwrap()).unwrap()];
        let (ours, theirs) = (line["text"].as_str().unwrap(), theirs[&place(line)].as_str());
        assert_eq!(ours == "<unknown>", !line["defect"].is_null(), "{line}");
        if ours != theirs && !is_unknown_to_llvm_19(fields) {
            differences.push(format!("{fields:x?}: {ours} / {theirs}"));
        }
        known += u32::from(ours != "<unknown>");
    }
    assert!(
        differences.is_empty(),
        "{} differ: {:#?}",
        differences.len(),
        &differences[..differences.len().min(60)]
    );
    assert!(known > 20_000, "{known}");
}

/// Returns whether an instruction is newer than LLVM 19, or one that only the kernel writes, or one whose
/// fields LLVM ignores.
fn is_unknown_to_llvm_19((code, dst, src, off, imm): Fields) -> bool {
    let newer = matches!((code, off, imm), (0x0d | 0xc2, ..) | (0xbf, 32 | -1, _))
        || matches!((code, imm), (0xc3 | 0xcb | 0xd3 | 0xdb, 0x100 | 0x110));
    // LLVM ignores the high bits of an atomic operation's number, and decodes no registers where an
    // instruction has none.
    let is_atomic = matches!(code, 0xc3 | 0xdb);
    newer || (is_atomic && imm == i32::MIN) || dst > 11 || src > 11
}

/// A program with each kind of damage.
fn damaged() -> Vec<Fields> {
    vec![
        (0x05, 0, 0, 100, 0),      // 0: jump behind the function
        (0x05, 0, 0, -100, 0),     // 1: jump before the section
        (0x15, 1, 0, 1, 0),        // 2: jump into the load
        (0x18, 1, 0, 0, 1),        // 3: load
        (0x00, 0, 0, 0, 2),        // 4
        (0xff, 1, 0, 0, 0),        // 5: no opcode
        (0xb7, 13, 0, 0, 0),       // 6: no register
        (0x06, 0, 0, 0, i32::MAX), // 7: a long jump out of the function
        (0x85, 0, 1, 0, -100),     // 8: call of no function
        (0x85, 0, 0, 0, 9999),     // 9: no helper
        (0x85, 0, 1, 0, -11),      // 10: recursion
        (0x18, 1, 0, 0, 1),        // 11: a load that the next function cuts off
        (0x95, 0, 0, 0, 0),        // 12
        (0x18, 1, 0, 0, 1),        // 13: a load that the section cuts off
    ]
}

#[test]
fn damaged_code_is_shown_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("damaged.o");
    write_object(&path, &damaged(), &[("first", 0, 12), ("second", 12, 2), ("again", 12, 2)]);
    let path = common::text(&path);
    let text = run_guarded(&demo(), ["inspect", "--disasm", path]);
    assert_snapshot!(text.whole());
    let graph = run_guarded(&demo(), ["inspect", "--disasm", "--graph", path]);
    assert_eq!(graph.exit, 0, "{}", graph.err);
    assert!(graph.out.contains("outside of the function"), "{}", graph.out);
}

#[test]
fn many_functions_of_the_same_code_print_it_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shared.o");
    let names: Vec<_> = (0..2000).map(|n| format!("f{n}")).collect();
    let functions: Vec<_> = names.iter().map(|name| (name.as_str(), 0, 2000)).collect();
    write_object(&path, &[(0xb7, 0, 0, 0, 0); 2000], &functions);
    let run = run_guarded(&demo(), ["inspect", "--disasm", common::text(&path)]);
    assert_eq!(run.exit, 0, "{}", run.err);
    assert!(run.out.len() < 500_000, "{} bytes", run.out.len());
}

#[test]
fn instructions_have_lines_relocations_and_names() {
    let text = run(["inspect", "exec.bpf.o", "--disasm"]);
    assert_snapshot!(text.whole());
    let unknown = run(["inspect", "exec.bpf.o", "--disasm", "--program", "nothing"]);
    assert_eq!(unknown.exit, 2);
    assert!(unknown.err.contains("no program `nothing`"), "{}", unknown.err);
}

#[test]
fn json_lines_match_the_schema() {
    let schema = schema();
    let mut kinds = BTreeMap::new();
    for path in artifacts::files(&artifacts::root().join("bpf-progs/prebuilt/el"), ".bpf.o") {
        for line in disassemble(&path) {
            schema.check("inspect --disasm", &line);
            if let Some(kind) = line["reference"]["kind"].as_str() {
                *kinds.entry(kind.to_owned()).or_insert(0) += 1;
            }
        }
    }
    for kind in ["helper", "function", "kfunc", "map", "variable", "kconfig", "ksym"] {
        assert!(kinds.contains_key(kind), "no {kind} in {kinds:?}");
    }
    let relocations = run(["inspect", "exec.bpf.o", "--relocs", "--format", "json"]).lines();
    relocations.iter().for_each(|line| schema.check("inspect --relocs", line));
    assert!(relocations.len() > 2, "{} relocations", relocations.len());
    let blocks = run(["inspect", "exec.bpf.o", "--disasm", "--graph", "--format", "json"]).lines();
    blocks.iter().for_each(|line| schema.check("inspect --disasm --graph", line));
    assert!(blocks.iter().any(|line| line["edges"].as_array().unwrap().len() == 2));
}
