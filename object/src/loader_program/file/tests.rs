//! Files are written and read back; damaged files are errors.

use super::*;
use crate::{
    load_plan::{MapAttributes, MapRole},
    object::ProgramType,
};

fn file(endian: Endian) -> LoaderFile {
    LoaderFile {
        endian,
        name: "exec".into(),
        relocated_for: String::new(),
        checks_data: true,
        maps: vec![LoaderMap {
            name: "events".into(),
            role: MapRole::Defined,
            attributes: MapAttributes { map_type: 27, max_entries: 4096, ..MapAttributes::default() },
            entry_per_cpu: false,
        }],
        programs: vec![LoaderProgram {
            name: "trace".into(),
            section: "fentry/vfs_read".into(),
            program_type: ProgramType::Tracing,
            attach_type: 24,
            autoattach: true,
        }],
        instructions: vec![0x95, 0, 0, 0, 0, 0, 0, 0],
        data: vec![7; 16],
        signatures: None,
    }
}

fn signatures(instructions: &[u8], instructions_and_data: &[u8]) -> LoaderSignatures {
    LoaderSignatures {
        instructions: instructions.to_vec(),
        instructions_and_data: instructions_and_data.to_vec(),
    }
}

#[test]
fn a_written_file_is_read_back_in_both_byte_orders() {
    for endian in [Endian::Little, Endian::Big] {
        let mut file = file(endian);
        let unsigned = file.write().unwrap();
        assert_eq!(LoaderFile::read(&unsigned).unwrap(), file);
        file.set_signatures(signatures(&[1, 2, 3], &[4])).unwrap();
        let signed = file.write().unwrap();
        assert!(signed.starts_with(&unsigned));
        assert_eq!(LoaderFile::read(&signed).unwrap(), file);
        assert_eq!(LoaderFile::read(&signed).unwrap().signatures(), Some(&signatures(&[1, 2, 3], &[4])));
    }
}

#[test]
fn a_signature_needs_a_program_that_checks_its_data() {
    let mut file = file(Endian::Little);
    for empty in [signatures(&[], &[1]), signatures(&[1], &[])] {
        assert_eq!(file.set_signatures(empty), Err(LoaderFileError::SignatureSize { found: 0 }));
    }
    file.checks_data = false;
    assert_eq!(file.set_signatures(signatures(&[1], &[1])), Err(LoaderFileError::UncheckedData));
}

#[test]
fn each_truncation_is_an_error() {
    let mut file = file(Endian::Little);
    let unsigned = file.write().unwrap().len();
    file.set_signatures(signatures(&[1; 5], &[2; 3])).unwrap();
    let bytes = file.write().unwrap();
    for len in (0..bytes.len()).filter(|len| *len != unsigned) {
        LoaderFile::read(&bytes[..len]).unwrap_err();
    }
    LoaderFile::read(&[&bytes[..], &[0]].concat()).unwrap_err();
}

/// Each byte of a file is changed in turn. What is still a file is written back as it was.
#[test]
fn no_changed_byte_makes_the_reader_panic_or_forget_what_it_read() {
    let mut file = file(Endian::Little);
    file.set_signatures(signatures(&[1; 5], &[2; 3])).unwrap();
    let bytes = file.write().unwrap();
    for at in 0..bytes.len() {
        for value in [0, 1, 2, 0x7f, 0x80, 0xff, bytes[at] ^ 1] {
            let mut changed = bytes.clone();
            changed[at] = value;
            if let Ok(file) = LoaderFile::read(&changed) {
                assert_eq!(file.write().unwrap(), changed, "byte {at} = {value:#x}");
            }
        }
    }
}

#[test]
fn errors_name_the_place_and_what_is_expected() {
    let bytes = file(Endian::Little).write().unwrap();
    let error = |bytes: &[u8]| LoaderFile::read(bytes).unwrap_err().to_string();
    let with = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        bytes
    };
    assert!(error(b"\x7fELF").contains("no loader file"));
    assert!(error(&with(8, 3)).contains("unknown byte order: 3, expected 1"));
    assert!(error(&with(9, 2)).contains("unsupported version of the loader file: 2, expected 1"));
    assert!(error(&with(10, 1)).contains("not zero"));
    assert!(error(&with(16, 9)).contains("unexpected section kind: 9, expected 1 (description)"));
    assert!(error(&bytes[..20]).contains("the head of a section"));
    let half = [0x18, 1, 0, 0, 0, 0, 0, 0].to_vec();
    let truncated = LoaderFile { instructions: half, ..file(Endian::Little) }.write().unwrap_err();
    assert_eq!(truncated, LoaderFileError::TruncatedInstruction { found: 8 });
}
