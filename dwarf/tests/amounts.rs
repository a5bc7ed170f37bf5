//! Small files that could take much memory or time: they end with an error.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::little_endian_bytes,
    reason = "tests fail by panicking; the files are little-endian"
)]

mod common;

use common::{Unit, Value};
use core_relo_dwarf::{
    DwarfOffset, EncodeError, EncodeSettings, EntryProblem, SectionProblem, encode, limits,
};
use gimli::{DwAt, DwTag, constants::*};
use object::{
    Architecture, BinaryFormat, Endianness, SectionFlags, SectionKind,
    elf::{SHF_COMPRESSED, SHT_PROGBITS},
    write::Object,
};

fn convert(file: &[u8]) -> Result<Vec<u8>, EncodeError> {
    encode(file, &EncodeSettings::default()).map(|encoded| encoded.bytes)
}

fn problem(file: &[u8]) -> EntryProblem {
    match convert(file) {
        Err(EncodeError::Entry { problem, .. }) => problem,
        other => panic!("{:?}", other.map(|bytes| bytes.len())),
    }
}

/// Flags take no bytes in an entry: entries of one byte could have any number of attributes.
#[test]
fn abbreviations_have_a_limited_number_of_attributes() {
    for tag in [DW_TAG_pointer_type, DW_TAG_lexical_block] {
        for (count, is_valid) in [(limits::ATTRIBUTES, true), (limits::ATTRIBUTES + 1, false)] {
            let mut unit = Unit::new();
            let own = unit.next();
            unit.die(tag, false, &vec![(DW_AT_external, Value::Flag); count]);
            let problem = EntryProblem::Attributes { count };
            let error = EncodeError::Entry {
                unit: DwarfOffset::info(0),
                entry: DwarfOffset::info(own.into()),
                problem,
            };
            assert_eq!(convert(&unit.elf()).err(), (!is_valid).then_some(error), "{tag}");
        }
    }
}

#[test]
fn units_have_a_limited_number_of_entries() {
    let count = usize::try_from(limits::UNIT_ENTRIES).unwrap();
    for tag in [DW_TAG_pointer_type, DW_TAG_member, DW_TAG_formal_parameter] {
        let mut unit = Unit::new();
        let parent = if tag == DW_TAG_member { DW_TAG_structure_type } else { DW_TAG_subroutine_type };
        if tag != DW_TAG_pointer_type {
            unit.die(parent, true, &[]);
        }
        let code = unit.abbreviation(tag, false, &[]);
        unit.bytes(&vec![code; count + 1]);
        assert_eq!(problem(&unit.elf()), EntryProblem::UnitEntries, "{tag}");
    }
}

/// All pointers share one chain of annotations, which becomes records of each pointer.
#[test]
fn units_have_a_limited_number_of_records() {
    let (tag, next) = (DwTag(0x6001), DwAt(0x2139));
    let text = [(DW_AT_name, Value::Text("btf_type_tag")), (DW_AT_const_value, Value::Text("t"))];
    let mut unit = Unit::new();
    let mut last = unit.die(tag, false, &text);
    let chain = 200;
    let code = unit.abbreviation(tag, false, &[text[0], text[1], (next, Value::Ref(0))]);
    for _ in 1..chain {
        let own = unit.next();
        unit.bytes(&[code]);
        unit.bytes(b"btf_type_tag\0t\0");
        unit.bytes(&last.to_le_bytes());
        last = own;
    }
    let code = unit.abbreviation(DW_TAG_pointer_type, false, &[(next, Value::Ref(0))]);
    for _ in 0..=limits::UNIT_RECORDS / chain {
        unit.bytes(&[code]);
        unit.bytes(&last.to_le_bytes());
    }
    assert_eq!(problem(&unit.elf()), EntryProblem::UnitRecords);
}

/// Each `const` refers to the one before it, and all share one chain of annotations: no record equals
/// another.
#[test]
fn files_have_a_limited_number_of_records() {
    let (tag, next) = (DwTag(0x6001), DwAt(0x2139));
    let text = [(DW_AT_name, Value::Text("btf_type_tag")), (DW_AT_const_value, Value::Text("t"))];
    let mut unit = Unit::new();
    let mut annotation = unit.die(tag, false, &text);
    let chain: u64 = 200;
    let code = unit.abbreviation(tag, false, &[text[0], text[1], (next, Value::Ref(0))]);
    for _ in 1..chain {
        let own = unit.next();
        unit.bytes(&[code]);
        unit.bytes(b"btf_type_tag\0t\0");
        unit.bytes(&annotation.to_le_bytes());
        annotation = own;
    }
    let mut last = unit.die(DW_TAG_unspecified_type, false, &[]);
    let code =
        unit.abbreviation(DW_TAG_const_type, false, &[(DW_AT_type, Value::Ref(0)), (next, Value::Ref(0))]);
    // Fewer than a unit may have.
    for _ in 0..limits::FILE_RECORDS * 2 / chain {
        let own = unit.next();
        unit.bytes(&[code]);
        unit.bytes(&last.to_le_bytes());
        unit.bytes(&annotation.to_le_bytes());
        last = own;
    }
    assert_eq!(problem(&unit.elf()), EntryProblem::FileRecords);
}

/// Each unit refers to a struct of the first unit, with many entries that are no members.
#[test]
fn entries_of_other_units_that_are_skipped_count() {
    let mut unit = Unit::new();
    let target = unit.die(DW_TAG_structure_type, true, &[]);
    let block = unit.abbreviation(DW_TAG_lexical_block, false, &[]);
    unit.bytes(&vec![block; 100_000]);
    unit.end();
    unit.end();
    let pointer = unit.abbreviation(DW_TAG_pointer_type, false, &[(DW_AT_type, Value::Address(0))]);
    for _ in 0..100 {
        // The header, a root entry in C, and a pointer.
        unit.next_units.extend([14, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1, 0x1d, pointer]);
        unit.next_units.extend(target.to_le_bytes());
    }
    assert_eq!(problem(&unit.elf()), EntryProblem::ForeignEntries);
}

#[test]
fn decompressed_sections_are_in_proportion_to_the_file() {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let section = object.add_section(Vec::new(), b".debug_info".to_vec(), SectionKind::Debug);
    // `struct Elf64_Chdr`: type, reserved, size, alignment. The data is not read.
    let bytes: u64 = 128 << 20;
    let mut data: Vec<u8> = [1, bytes, 1].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    data.extend(vec![0; 1 << 18]);
    object.append_section_data(section, &data, 1);
    object.section_mut(section).flags = SectionFlags::Elf { sh_type: SHT_PROGBITS, sh_flags: SHF_COMPRESSED };
    let file = object.write().unwrap();
    let file_bytes = u64::try_from(file.len()).unwrap();
    let limit = file_bytes * limits::FILE_EXPANSION + limits::FILE_SLACK_BYTES;
    let problem = SectionProblem::TooLarge { bytes, limit };
    assert_eq!(convert(&file).err(), Some(EncodeError::Section { section: ".debug_info", problem }));
}
