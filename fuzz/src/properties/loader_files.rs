//! Properties of loader files: a file that is read is written as it was, with and without signatures, and
//! reports are printable.

use crate::scratch::Scratch;
use core_relo::insn::Slots;
use core_relo_cli::fuzzing;
use core_relo_loader::loader_program::{LoaderFile, LoaderFileError, LoaderSignatures, LoaderStep, context};

/// The fewest bytes that a map and a program take in a file.
const MAP_BYTES: usize = 45;
const PROGRAM_BYTES: usize = 21;

/// Reads a loader file.
pub fn check(bytes: &[u8]) {
    let read = LoaderFile::read(bytes);
    match &read {
        Ok(file) => check_file(bytes, file),
        Err(error) => {
            assert!(is_printable(&error.to_string()), "{error}");
            assert_eq!(*error == LoaderFileError::Magic, !LoaderFile::is_loader_file(bytes));
        }
    }
    check_reports(bytes, read.is_ok());
}

fn check_file(bytes: &[u8], file: &LoaderFile) {
    assert!(file.write().unwrap() == bytes, "what is written differs from what was read");
    check_signatures(bytes, file.clone());
    let described = file.maps().len() * MAP_BYTES + file.programs().len() * PROGRAM_BYTES;
    assert!(described <= bytes.len(), "{described} bytes of maps and programs in {}", bytes.len());
    check_context(file.maps().len(), file.programs().len());
    assert!(file.maps().iter().all(|map| !map.name.is_empty()));
    assert!(file.programs().iter().all(|program| !program.name.is_empty()));
    // The data of a program that never ran is as hostile as that of a program that failed.
    let step = LoaderStep::read(file.endian(), file.data());
    assert!(step.is_none_or(|step| is_printable(&step.to_string())));
    let _compares = file.compares_data_hash();
    check_instructions(file);
}

/// Signs a file, and removes its signatures. Neither changes the rest.
fn check_signatures(bytes: &[u8], mut file: LoaderFile) {
    let was_signed = file.signatures().is_some();
    assert!(!was_signed || file.checks_data(), "a signature covers data that nothing checks");
    file.remove_signatures();
    let unsigned = file.write().unwrap();
    assert!(bytes.starts_with(&unsigned) && was_signed == (unsigned.len() < bytes.len()));
    assert_eq!(LoaderFile::read(&unsigned).as_ref(), Ok(&file));
    let signatures = LoaderSignatures {
        instructions: file.instructions_hash()[..7].to_vec(),
        instructions_and_data: file.instructions_and_data().into_iter().take(9).collect(),
    };
    match file.set_signatures(signatures.clone()) {
        Ok(()) => {
            let signed = file.write().unwrap();
            assert!(signed.starts_with(&unsigned) && file.signatures() == Some(&signatures));
            assert_eq!(LoaderFile::read(&signed), Ok(file));
        }
        Err(error) => assert_eq!((error, file.checks_data()), (LoaderFileError::UncheckedData, false)),
    }
}

/// Checks that the context has a place for each descriptor.
fn check_context(maps: usize, programs: usize) {
    let bytes = context::context_bytes(maps, programs).unwrap();
    assert!(bytes <= usize::from(u16::MAX), "the kernel takes no context of {bytes} bytes");
    if let Some(last) = maps.checked_sub(1) {
        assert!(context::initial_value_offset(last).unwrap() + 8 <= bytes);
    }
    if let Some(last) = programs.checked_sub(1) {
        assert_eq!(context::program_fd_offset(maps, last).unwrap() + 4, bytes);
    }
}

/// Prints all instructions.
fn check_instructions(file: &LoaderFile) {
    let mut slots = Slots::new(file.endian(), file.instructions());
    for (_, slot) in slots.by_ref() {
        assert!(is_printable(&slot.to_string()), "{slot}");
    }
    let rest = slots.rest();
    assert!(rest.is_empty(), "{} bytes after the last instruction", rest.len());
}

/// Shows the file as the command does: lines of text, one line of JSON, or an error of one line.
fn check_reports(bytes: &[u8], is_read: bool) {
    let file = Scratch::new("fuzz.loader", bytes);
    for is_json in [false, true] {
        let shown = fuzzing::show_loader_file(file.path(), is_json).expect("the output is UTF-8 in memory");
        assert_eq!(shown.is_ok(), is_read, "{shown:?}");
        let is_one_line = is_json || shown.is_err();
        let text = shown.unwrap_or_else(|error| error);
        assert!(text.ends_with('\n') && text.lines().all(is_printable), "{text:?}");
        assert!(!is_one_line || text.lines().count() == 1, "{text:?}");
    }
}

/// Returns whether a text has no control characters besides the line break before a remedy.
fn is_printable(text: &str) -> bool {
    !text.is_empty() && !text.replacen("\nhelp: ", "", 1).contains(char::is_control)
}
