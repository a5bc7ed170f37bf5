//! Mini debug info: an ELF file with a symbol table, packed with xz, in the section `.gnu_debugdata` (Fedora, RHEL).

use super::super::{binary::Binary, error::AttachError, file_range::FileRange};
use crate::{convert::to_u64, limits::MINI_DEBUG_INFO_BYTES};
use std::io::Read as _;

/// The section with the packed file.
const SECTION: &str = ".gnu_debugdata";

/// The maximum memory of the reader, in KiB: that for the dictionary of `xz -9`, which has 64 MiB, and for its own state.
const MEMORY_KIB: u32 = 65 * 1024;

/// Unpacks the mini debug info of a binary. Returns `None` if the binary has none.
pub(super) fn unpack(binary: &Binary) -> Result<Option<Binary>, AttachError> {
    let Some(section) = binary.section(SECTION.as_bytes())? else { return Ok(None) };
    let unpacked = unpack_bytes(binary, &section.data, MINI_DEBUG_INFO_BYTES)?;
    let label = format!("{} ({SECTION})", binary.range().path().display());
    Binary::parse(FileRange::from_bytes(label, unpacked)).map(Some)
}

fn unpack_bytes(binary: &Binary, packed: &[u8], max_len: u64) -> Result<Vec<u8>, AttachError> {
    let mut unpacked = Vec::new();
    let reader = lzma_rust2::XzReader::new_mem_limit(packed, false, MEMORY_KIB);
    let read = reader.take(max_len.saturating_add(1)).read_to_end(&mut unpacked);
    read.map_err(|e| binary.error(format!("section {SECTION} cannot be unpacked: {e}")))?;
    if to_u64(unpacked.len()) > max_len {
        return Err(binary.error(format!(
            "section {SECTION} is too large: expected at most {max_len} bytes when unpacked"
        )));
    }
    Ok(unpacked)
}

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

    fn packed_symbols() -> Vec<u8> {
        let symbol = |name, offset| TestSymbol { name, offset, info: 2, section: 1 };
        pack(&TestElf::with_symbols(&[symbol("hidden", F1), symbol("hidden_outside", 0x20_0000)]))
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
        assert!(missing("hidden_outside").contains("has no function"), "outside of the segments of code");
    }

    #[test]
    fn packed_data_that_is_damaged_or_too_large_is_named() {
        let file = TempFile::new("mini", &with_debug_data(b"no xz"));
        let binary = Binary::open(file.path()).unwrap();
        let error = binary.find_function("hidden", EntryPoint::Local).unwrap_err().to_string();
        assert!(error.contains("section .gnu_debugdata cannot be unpacked: "), "{error}");
        assert_eq!(binary.find_function("f1", EntryPoint::Local), Ok(F1));
        let bomb = unpack_bytes(&binary, &pack(&vec![0; 1 << 20]), (1 << 20) - 1).unwrap_err().to_string();
        assert!(bomb.ends_with("is too large: expected at most 1048575 bytes when unpacked"), "{bomb}");
        let packed = packed_symbols();
        for at in 0..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x15;
            let _result = unpack_bytes(&binary, &damaged, 1 << 20);
        }
    }
}
