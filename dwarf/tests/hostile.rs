//! Damaged and hostile debug information: errors that name the unit and the entry, within bounded time.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::little_endian_bytes,
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    reason = "tests fail by panicking; the files are little-endian"
)]

mod common;

use common::{Unit, Value};
use core_relo::btf::{Btf, Kind, Type};
use core_relo_dwarf::{
    AttributeName, DwarfOffset, EncodeError, EncodeSettings, EntryProblem, SectionProblem, TagName, encode,
    limits,
};
use gimli::{DwAt, DwTag, constants::*};
use object::{CompressionFormat, Object as _, ObjectSection as _};
use std::{fs, path::Path, time::Instant};

fn convert(file: &[u8]) -> Result<Vec<u8>, EncodeError> {
    encode(file, &EncodeSettings::default()).map(|encoded| encoded.bytes)
}

/// Returns the error of an entry at an offset of the first unit.
fn at(offset: u32, problem: EntryProblem) -> EncodeError {
    EncodeError::Entry { unit: DwarfOffset::info(0), entry: DwarfOffset::info(offset.into()), problem }
}

#[test]
fn cycles_without_a_struct() {
    for tag in [DW_TAG_typedef, DW_TAG_pointer_type, DW_TAG_const_type, DW_TAG_array_type] {
        let mut unit = Unit::new();
        let own = unit.next();
        unit.die(tag, false, &[(DW_AT_name, Value::Text("t")), (DW_AT_type, Value::Ref(own))]);
        assert_eq!(convert(&unit.elf()), Err(at(own, EntryProblem::Cycle)), "{tag}");
    }
    // An entry that BTF does not have, and one behind it.
    let mut unit = Unit::new();
    let own = unit.next();
    unit.die(DW_TAG_atomic_type, false, &[(DW_AT_type, Value::Ref(own))]);
    assert_eq!(convert(&unit.elf()), Err(at(own, EntryProblem::Cycle)));
}

#[test]
fn a_struct_that_contains_itself() {
    let mut unit = Unit::new();
    let own = unit.next();
    unit.die(
        DW_TAG_structure_type,
        true,
        &[(DW_AT_name, Value::Text("s")), (DW_AT_byte_size, Value::Number(8))],
    );
    unit.die(DW_TAG_member, false, &[(DW_AT_name, Value::Text("m")), (DW_AT_type, Value::Ref(own))]);
    unit.end();
    assert_eq!(convert(&unit.elf()), Err(at(own, EntryProblem::ContainsItself)));
}

#[test]
fn a_struct_without_a_name_that_points_to_itself_is_converted() {
    let mut unit = Unit::new();
    let own = unit.next();
    unit.die(DW_TAG_structure_type, true, &[(DW_AT_byte_size, Value::Number(8))]);
    let pointer = unit.after_member();
    unit.die(DW_TAG_member, false, &[(DW_AT_name, Value::Text("m")), (DW_AT_type, Value::Ref(pointer))]);
    unit.end();
    assert_eq!(unit.next(), pointer);
    unit.die(DW_TAG_pointer_type, false, &[(DW_AT_type, Value::Ref(own))]);
    let bytes = convert(&unit.elf()).unwrap();
    let btf = Btf::parse(bytes).unwrap();
    assert_eq!(btf.types().map(Type::kind).collect::<Vec<_>>(), [Kind::Struct, Kind::Ptr]);
}

#[test]
fn references_to_nothing() {
    // Past the unit, and to an entry that is no type.
    let mut unit = Unit::new();
    let own = unit.next();
    unit.die(DW_TAG_typedef, false, &[(DW_AT_name, Value::Text("t")), (DW_AT_type, Value::Ref(0x7000_0000))]);
    let target = DwarfOffset::info(0x7000_0000);
    assert_eq!(convert(&unit.elf()), Err(at(own, EntryProblem::NoEntry { target })));
    let mut unit = Unit::new();
    let variable = unit.next();
    unit.die(DW_TAG_variable, false, &[(DW_AT_name, Value::Text("v"))]);
    let own = unit.next();
    unit.die(DW_TAG_pointer_type, false, &[(DW_AT_type, Value::Ref(variable))]);
    let target = DwarfOffset::info(variable.into());
    assert_eq!(convert(&unit.elf()), Err(at(own, EntryProblem::NoType { target })));
    // A type unit that does not exist.
    let mut unit = Unit::new();
    let own = unit.next();
    unit.die(DW_TAG_pointer_type, false, &[(DW_AT_type, Value::Signature(7))]);
    assert_eq!(convert(&unit.elf()), Err(at(own, EntryProblem::NoTypeUnit { signature: 7 })));
}

#[test]
fn attributes_of_wrong_forms() {
    let cases: [(DwTag, DwAt, Value); 5] = [
        (DW_TAG_pointer_type, DW_AT_type, Value::Text("text")),
        (DW_TAG_typedef, DW_AT_name, Value::Number(3)),
        (DW_TAG_structure_type, DW_AT_byte_size, Value::Text("8")),
        (DW_TAG_enumeration_type, DW_AT_byte_size, Value::Flag),
        (DW_TAG_base_type, DW_AT_encoding, Value::Text("float")),
    ];
    for (tag, attribute, value) in cases {
        let mut unit = Unit::new();
        let own = unit.next();
        unit.die(tag, false, &[(attribute, value)]);
        assert_eq!(
            convert(&unit.elf()),
            Err(at(own, EntryProblem::Form { attribute: AttributeName::new(attribute.0) })),
            "{tag}"
        );
    }
    let mut unit = Unit::new();
    let own = unit.next();
    unit.die(DW_TAG_base_type, false, &[]);
    let missing = EntryProblem::Missing {
        tag: TagName::new(DW_TAG_base_type.0),
        attribute: AttributeName::new(DW_AT_encoding.0),
    };
    assert_eq!(convert(&unit.elf()), Err(at(own, missing)));
}

#[test]
fn numbers_that_btf_does_not_have() {
    let mut unit = Unit::new();
    let own = unit.next();
    let size = Value::Number(1 << 40);
    unit.die(DW_TAG_structure_type, false, &[(DW_AT_name, Value::Text("s")), (DW_AT_byte_size, size)]);
    let limit = limits::MAX_SIZE;
    let problem = EntryProblem::TooLarge { what: "size of a struct", value: 1 << 40, limit };
    assert_eq!(convert(&unit.elf()), Err(at(own, problem)));
    // 65,536 members.
    let mut unit = Unit::new();
    let own = unit.next();
    unit.die(DW_TAG_structure_type, true, &[(DW_AT_name, Value::Text("s"))]);
    let code = unit.abbreviation(DW_TAG_member, false, &[(DW_AT_name, Value::Text(""))]);
    for _ in 0..0x1_0000 {
        unit.bytes(&[code, b'm', 0]);
    }
    unit.end();
    let problem = EntryProblem::TooLarge { what: "number of members", value: 0x1_0000, limit: 0xffff };
    assert_eq!(convert(&unit.elf()), Err(at(own, problem)));
}

#[test]
fn deep_nesting() {
    let mut unit = Unit::new();
    let code = unit.abbreviation(DW_TAG_lexical_block, true, &[]);
    for _ in 0..100_000 {
        unit.bytes(&[code]);
    }
    let error = convert(&unit.elf()).unwrap_err();
    assert!(matches!(error, EncodeError::Entry { problem: EntryProblem::TooDeep, .. }), "{error}");
    // A long chain of pointers is no deep nesting.
    let mut unit = Unit::new();
    let code = unit.abbreviation(DW_TAG_pointer_type, false, &[(DW_AT_type, Value::Ref(0))]);
    for _ in 0..100_000 {
        let next = unit.next() + 5;
        unit.bytes(&[code]);
        unit.bytes(&next.to_le_bytes());
    }
    unit.die(DW_TAG_unspecified_type, false, &[]);
    assert!(convert(&unit.elf()).is_ok());
}

#[test]
fn missing_abbreviations() {
    let mut unit = Unit::new();
    let own = unit.next();
    unit.bytes(&[0x7f]);
    let error = convert(&unit.elf()).err().unwrap();
    assert!(matches!(error, EncodeError::Entry { problem: EntryProblem::Dwarf(_), .. }), "{error:?}");
    assert!(error.to_string().contains("127"), "{error}");
    assert_eq!(
        error.to_string().split(": ").next(),
        Some(&*format!("unit .debug_info+0x0, entry {}", DwarfOffset::info(own.into())))
    );
}

/// The parser's error has the address in memory at which the data ends.
#[test]
fn errors_about_a_copy_of_the_file_are_equal() {
    let mut unit = Unit::new();
    let code = unit.abbreviation(DW_TAG_typedef, false, &[(DW_AT_type, Value::Ref(0))]);
    // A reference has four bytes.
    unit.bytes(&[code, 1]);
    let elf = unit.elf();
    let [error, other] = [elf.clone(), elf].each_ref().map(|elf| convert(elf).err());
    assert!(matches!(error, Some(EncodeError::Entry { problem: EntryProblem::Dwarf(_), .. })), "{error:?}");
    assert_eq!(error, other);
}

#[test]
fn names_without_an_end_and_overlapping_names() {
    let mut unit = Unit::new();
    let own = unit.next();
    unit.die(DW_TAG_typedef, false, &[(DW_AT_name, Value::Str(0))]);
    unit.str = vec![b'x'; limits::NAME_BYTES * 2];
    assert_eq!(
        convert(&unit.elf()),
        Err(at(own, EntryProblem::Name { attribute: AttributeName::new(DW_AT_name.0) }))
    );
    // Each offset into a long string is a name.
    let mut unit = Unit::new();
    let code = unit.abbreviation(DW_TAG_typedef, false, &[(DW_AT_name, Value::Str(0))]);
    for entry in 0..60_000u32 {
        unit.bytes(&[code]);
        // No name begins at the end of a string.
        unit.bytes(&(entry + entry / 4000).to_le_bytes());
    }
    unit.str = [&[b'x'; 4000][..], &[0]].concat().repeat(15);
    let error = convert(&unit.elf()).err();
    assert!(
        matches!(error, Some(EncodeError::Entry { problem: EntryProblem::OverlappingNames, .. })),
        "{error:?}"
    );
}

/// A relocation that is skipped would be a wrong name.
#[test]
fn relocations_of_unknown_kind_and_of_missing_symbols() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects/gcc-dwarf5.o");
    let file = fs::read(path).unwrap();
    let elf = object::File::parse(&*file).unwrap();
    let table = elf.section_by_name(".rela.debug_info").unwrap();
    let (start, _) = table.file_range().unwrap();
    // `struct Elf64_Rela`: offset, kind and symbol, addend.
    let info = usize::try_from(start).unwrap() + 8;
    let offset = u64::from_le_bytes(file[info - 8..info].try_into().unwrap());
    let with = |kind: u32, symbol: u32| {
        let mut file = file.clone();
        file[info..info + 4].copy_from_slice(&kind.to_le_bytes());
        file[info + 4..info + 8].copy_from_slice(&symbol.to_le_bytes());
        convert(&file).err()
    };
    let bad = |problem| Some(EncodeError::Section { section: ".debug_info", problem });
    assert_eq!(with(200, 1), bad(SectionProblem::RelocationKind { offset, kind: 200 }));
    assert_eq!(with(10, 0x7000_0000), bad(SectionProblem::RelocationTarget { offset }));
    // A table that is cut off: the size in the section header is no multiple of an entry's.
    let size = usize::try_from(start).unwrap();
    let headers = usize::try_from(u64::from_le_bytes(file[40..48].try_into().unwrap())).unwrap();
    let header = (headers..file.len()).step_by(64).find(|at| file[at + 24..at + 32] == size.to_le_bytes());
    let mut cut = file.clone();
    cut[header.unwrap() + 32] += 1;
    assert_eq!(convert(&cut).err(), bad(SectionProblem::RelocationTable));
}

#[test]
fn files_without_debug_information() {
    assert!(matches!(convert(b"\x7fELF\x02\x01\x01"), Err(EncodeError::NotElf)));
    assert!(matches!(convert(b"\x7fELF\x02\x01\x01 cut off after the start"), Err(EncodeError::Elf(_))));
    assert!(matches!(convert(b""), Err(EncodeError::NotElf)));
    let mut unit = Unit::new();
    unit.without_info = true;
    assert_eq!(convert(&unit.elf()), Err(EncodeError::NoDebugInfo));
    let mut unit = Unit::new();
    unit.language = DW_LANG_Rust;
    assert_eq!(convert(&unit.elf()), Err(EncodeError::NoUnits { skipped: 1 }));
}

#[test]
fn a_unit_whose_types_are_in_another_file() {
    for attribute in [DW_AT_dwo_name, DW_AT_GNU_dwo_name] {
        let unit = Unit::with_root(&[(attribute, Value::Text("a.dwo"))]);
        assert_eq!(
            convert(&unit.elf()),
            Err(EncodeError::SplitUnit { unit: DwarfOffset::info(0) }),
            "{attribute}"
        );
    }
}

#[test]
fn a_compressed_section_that_claims_a_large_size() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects/gcc-zlib.o");
    let mut file = fs::read(path).unwrap();
    let elf = object::File::parse(&*file).unwrap();
    let section = elf.section_by_name(".debug_info").unwrap();
    let compressed = section.compressed_file_range().unwrap();
    assert_ne!(compressed.format, CompressionFormat::None);
    // The data follows `struct Elf64_Chdr`: type, reserved, size, alignment.
    let size = usize::try_from(compressed.offset).unwrap() - 16;
    file[size..size + 8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let error = convert(&file).unwrap_err();
    assert!(
        matches!(error, EncodeError::Section { problem: SectionProblem::TooLarge { .. }, .. }),
        "{error}"
    );
}

/// Changes bytes of all test objects: no panic, and no long run.
#[test]
fn damaged_objects() {
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % u64::try_from(below).unwrap()).unwrap()
    };
    let objects = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects");
    let (mut converted, mut failed) = (0, 0);
    let start = Instant::now();
    for entry in fs::read_dir(objects).unwrap() {
        let path = entry.unwrap().path();
        if !path.extension().is_some_and(|ext| ext == "o" || ext == "so") {
            continue;
        }
        let file = fs::read(&path).unwrap();
        for round in 0..150 {
            let mut file = file.clone();
            for _ in 0..=round % 4 {
                let at = random(file.len());
                file[at] = [0, 1, 0x7f, 0x80, 0xff, u8::try_from(random(256)).unwrap()][random(6)];
            }
            if round % 10 == 9 {
                file.truncate(random(file.len()));
            }
            match convert(&file) {
                Ok(bytes) => {
                    Btf::parse(bytes).unwrap();
                    converted += 1;
                }
                Err(e) => {
                    assert!(!e.to_string().is_empty());
                    failed += 1;
                }
            }
        }
    }
    assert!(converted > 100 && failed > 100, "{converted} converted, {failed} failed");
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
}
