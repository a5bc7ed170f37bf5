//! Mini debug info: an ELF file with a symbol table, packed with xz, in the section `.gnu_debugdata` (Fedora,
//! RHEL).

use super::{
    super::{
        binary::Binary,
        elf_file::{SymbolFilter, SymbolTable},
        error::AttachError,
        file_range::FileRange,
    },
    CodeRanges,
    build_id::BuildId,
};
use crate::{
    convert::to_u64,
    limits::{MINI_DEBUG_INFO_BYTES, MINI_DEBUG_INFO_RATIO},
};
use core_relo::Escaped;
use std::io::Read as _;

/// The section with the packed file.
const SECTION: &str = ".gnu_debugdata";

/// The maximum memory of the reader, in KiB: that for the dictionary of `xz -9`, which has 64 MiB, and for
/// its own state.
const MEMORY_KIB: u32 = 65 * 1024;

/// Unpacks the mini debug info of a binary, and checks that it belongs to the binary. Returns `None` if the
/// binary has none.
pub(super) fn unpack(binary: &Binary) -> Result<Option<Binary>, AttachError> {
    let Some(section) = binary.section(SECTION.as_bytes())? else { return Ok(None) };
    let unpacked = unpack_bytes(binary, &section.data, MaxLen::of(binary))?;
    let label = format!("{} ({SECTION})", binary.range().path().display());
    let symbols = Binary::parse(FileRange::from_bytes(label, unpacked))?;
    check_build(binary, &symbols)?;
    Ok(Some(symbols))
}

/// Checks that the symbols are those of this build of the binary: by the build ids or, if an id is missing,
/// by the addresses of functions.
fn check_build(binary: &Binary, symbols: &Binary) -> Result<(), AttachError> {
    let other_build =
        |why: String| binary.error(format!("section {SECTION} belongs to another build: {why}"));
    match (BuildId::of(binary)?, BuildId::of(symbols)?) {
        (Some(own), Some(other)) if own == other => return Ok(()),
        (Some(own), Some(other)) => {
            return Err(other_build(format!("its build id is {other}, expected {own}")));
        }
        _ => {}
    }
    let code = CodeRanges::of(binary)?;
    symbols.symbols(SymbolTable::Full, SymbolFilter::Functions, &mut |symbol| {
        if code.file_offset(symbol.address).is_some() {
            return Ok(());
        }
        let name = Escaped(&*String::from_utf8_lossy(symbol.name)).to_string();
        let address = symbol.address;
        Err(other_build(format!("its function `{name}` is at {address:#x}, outside of the binary's code")))
    })
}

/// The maximum size of unpacked mini debug info.
#[derive(Clone, Copy, Debug)]
struct MaxLen {
    bytes: u64,
    /// The limit in errors.
    reason: &'static str,
}

impl MaxLen {
    fn of(binary: &Binary) -> Self {
        match binary.range().len().checked_mul(MINI_DEBUG_INFO_RATIO) {
            Some(bytes) if bytes < MINI_DEBUG_INFO_BYTES => {
                Self { bytes, reason: "4 times the size of the binary" }
            }
            _ => Self { bytes: MINI_DEBUG_INFO_BYTES, reason: "the limit for all binaries" },
        }
    }
}

fn unpack_bytes(binary: &Binary, packed: &[u8], max_len: MaxLen) -> Result<Vec<u8>, AttachError> {
    let MaxLen { bytes: max_bytes, reason } = max_len;
    let mut unpacked = Vec::new();
    let reader = lzma_rust2::XzReader::new_mem_limit(packed, false, MEMORY_KIB);
    let read = reader.take(max_bytes.saturating_add(1)).read_to_end(&mut unpacked);
    read.map_err(|e| binary.error(format!("section {SECTION} cannot be unpacked: {e}")))?;
    if to_u64(unpacked.len()) > max_bytes {
        return Err(binary.error(format!(
            "section {SECTION} is too large: expected at most {max_bytes} bytes when unpacked ({reason})"
        )));
    }
    Ok(unpacked)
}

const _: () = assert!(MINI_DEBUG_INFO_RATIO == 4, "an error states the ratio");

#[cfg(test)]
mod tests {
    use super::{
        super::super::{
            binary::EntryPoint,
            test_support::elf::{F1, TempFile, TestElf, TestSection, TestSymbol},
        },
        *,
    };
    use std::io::Write as _;

    fn pack(bytes: &[u8]) -> Vec<u8> {
        let mut writer =
            lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(0)).unwrap();
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    fn with_debug_data(packed: &[u8]) -> Vec<u8> {
        TestElf::with_sections(&[], &[TestSection { name: SECTION, address: 0, bytes: packed }])
    }

    /// Returns the section of a build id, unless the note is empty.
    fn id_sections(note: &[u8]) -> Vec<TestSection<'_>> {
        let section = TestSection { name: ".note.gnu.build-id", address: 0, bytes: note };
        if note.is_empty() { Vec::new() } else { vec![section] }
    }

    fn packed_symbols() -> Vec<u8> {
        let symbol = |name, offset| TestSymbol { name, offset, info: 2, section: 1 };
        pack(&TestElf::with_symbols(&[symbol("hidden", F1)]))
    }

    #[test]
    fn a_function_of_mini_debug_info_is_found_by_name_and_by_pattern() {
        let file = TempFile::new("mini", &with_debug_data(&packed_symbols()));
        let binary = Binary::open(file.path()).unwrap();
        assert_eq!(binary.find_function("hidden", EntryPoint::Local), Ok(F1));
        assert_eq!(binary.find_functions(&["f1", "hidden"]), Ok(vec![F1, F1]));
        assert_eq!(binary.find_matching_functions(None, "hidd*"), Ok(vec![F1]));
        let missing = |name| binary.find_function(name, EntryPoint::Local).unwrap_err().to_string();
        let similar = missing("hiden");
        assert!(
            similar.ends_with("in its symbol tables, or in its section .gnu_debugdata, similar: `hidden`"),
            "{similar}"
        );
    }

    #[test]
    fn packed_data_that_is_damaged_or_too_large_is_named() {
        let file = TempFile::new("mini", &with_debug_data(b"no xz"));
        let binary = Binary::open(file.path()).unwrap();
        let error = binary.find_function("hidden", EntryPoint::Local).unwrap_err().to_string();
        assert!(error.contains("section .gnu_debugdata cannot be unpacked: "), "{error}");
        assert_eq!(binary.find_function("f1", EntryPoint::Local), Ok(F1));
        let bomb = TempFile::new("mini", &with_debug_data(&pack(&vec![0; 1 << 20])));
        let bomb = unpack(&Binary::open(bomb.path()).unwrap()).unwrap_err().to_string();
        assert!(bomb.ends_with("bytes when unpacked (4 times the size of the binary)"), "{bomb}");
        let packed = packed_symbols();
        for at in 0..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x15;
            let _result = unpack_bytes(&binary, &damaged, MaxLen { bytes: 1 << 20, reason: "" });
        }
    }

    /// Both kinds of evidence: the build ids differ, or a function lies outside of the binary's code.
    #[test]
    fn symbols_of_another_build_are_not_trusted() {
        let note = |id: u8| [&[4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0][..], b"GNU\0", &[id; 20]].concat();
        let symbol = |offset| TestSymbol { name: "hidden", offset, info: 2, section: 1 };
        let find = |offset, own: &[u8], other: &[u8]| {
            let packed = pack(&TestElf::with_sections(&[symbol(offset)], &id_sections(other)));
            let mut all = id_sections(own);
            all.push(TestSection { name: SECTION, address: 0, bytes: &packed });
            let file = TempFile::new("mini", &TestElf::with_sections(&[], &all));
            let binary = Binary::open(file.path()).unwrap();
            binary.find_function("hidden", EntryPoint::Local).map_err(|e| e.to_string())
        };
        let (one, two) = (note(1), note(2));
        for (own, other) in [(&one[..], &one[..]), (b"", &one), (&one, b""), (b"", b"")] {
            assert_eq!(find(F1, own, other), Ok(F1));
        }
        let error = find(F1, &one, &two).unwrap_err();
        let ids = format!("its build id is {}, expected {}", "02".repeat(20), "01".repeat(20));
        assert!(
            error.contains("section .gnu_debugdata belongs to another build: ") && error.ends_with(&ids),
            "{error}"
        );
        let equal_ids = find(0x20_0000, &one, &one).unwrap_err();
        assert!(!equal_ids.contains("another build"), "equal build ids are proof: {equal_ids}");
        let error = find(0x20_0000, b"", &one).unwrap_err();
        assert!(
            error.contains("its function `hidden` is at 0x")
                && error.ends_with("outside of the binary's code"),
            "{error}"
        );
    }
}
