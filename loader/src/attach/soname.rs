//! The name by which the dynamic linker knows a library, whatever the name of its file is.

use super::{binary::Binary, error::AttachError};
use crate::convert::to_usize;
use core_relo_object::string_at;

const DT_NULL: u64 = 0;
const DT_SONAME: u64 = 14;

/// Returns the soname of a library, such as `libz.so.1` for the file `libz.so.1.2.11`.
pub(super) fn soname(binary: &Binary) -> Result<Option<Vec<u8>>, AttachError> {
    let (Some(dynamic), Some(strings)) = (binary.section(b".dynamic")?, binary.section(b".dynstr")?) else {
        return Ok(None);
    };
    let kind = binary.kind();
    let word_bytes = if kind.is_64 { 8 } else { 4 };
    let word = |word: &[u8]| {
        if kind.is_64 { kind.endian.u64(word, 0) } else { kind.endian.u32(word, 0).map(u64::from) }
    };
    let mut words = dynamic.data.chunks_exact(to_usize(word_bytes)).map(word);
    while let (Some(Some(tag)), Some(Some(value))) = (words.next(), words.next()) {
        match tag {
            DT_NULL => break,
            DT_SONAME => {
                let name = u32::try_from(value).ok().and_then(|at| string_at(&strings.data, at));
                return Ok(name.map(<[u8]>::to_vec));
            }
            _ => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_support::elf::{TempFile, TestElf, TestSection},
        *,
    };
    use core_relo::Endian;

    #[test]
    fn the_soname_is_in_the_dynamic_section() {
        let name_of = |words: &[u64]| {
            let dynamic: Vec<u8> = words.iter().flat_map(|word| Endian::Little.u64_bytes(*word)).collect();
            let section = |name, bytes| TestSection { name, address: 0, bytes };
            let sections =
                [section(".dynamic", &dynamic), section(".dynstr", &b"\0libm.so.6\0libx.so.1\0"[..])];
            let file = TempFile::new("soname", &TestElf::with_sections(&[], &sections));
            soname(&Binary::open(file.path()).unwrap()).unwrap()
        };
        assert_eq!(name_of(&[1, 1, DT_SONAME, 11, DT_NULL, 0]).as_deref(), Some(&b"libx.so.1"[..]));
        assert_eq!(name_of(&[1, 1, DT_NULL, 0, DT_SONAME, 11]), None, "the table has ended");
        assert_eq!(name_of(&[DT_SONAME, u64::MAX]), None);
        assert_eq!(name_of(&[DT_SONAME]), None);
    }
}
