//! Binaries in ZIP archives, stored without compression, such as the libraries in Android packages.

use super::{binary::Binary, error::AttachError, file_range::FileRange};
use crate::convert::to_u64;
use core_relo::Endian;
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// Bytes of the "end of central directory" record without its comment.
const END_RECORD: usize = 22;
/// The maximum size of that record with its comment. The comment's length has 16 bits.
const END_RECORD_WITH_COMMENT: u64 = 22 + 0xffff;
/// Bytes of an entry of the central directory without its name.
const ENTRY: usize = 46;
/// [`ENTRY`] as a file offset.
const ENTRY_BYTES: u64 = to_u64(ENTRY);

/// Splits `archive!/member` into the path of the archive and the name of the member.
pub(super) fn split_path(path: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let bytes = path.as_os_str().as_bytes();
    let separator = bytes.windows(2).position(|w| w == b"!/")?;
    let member = bytes.get(separator.checked_add(2)?..)?;
    Some((PathBuf::from(OsStr::from_bytes(bytes.get(..separator)?)), member.to_vec()))
}

/// Opens an uncompressed member.
pub(super) fn open_member(archive: &Path, member: &[u8]) -> Result<Binary, AttachError> {
    let file = FileRange::open(archive)?;
    let directory = CentralDirectory::find(&file)?.ok_or_else(|| file.error("is not a ZIP archive"))?;
    let name = String::from_utf8_lossy(member);
    let entry = directory.find_entry(&file, member)?;
    let entry = entry.ok_or_else(|| file.error(format!("has no member `{name}`")))?;
    if entry.method != 0 {
        let problem = "is compressed: processes do not map it from the archive, so it cannot be probed";
        return Err(file.error(format!("`{name}` {problem}")));
    }
    let outside = file.error(format!("`{name}` reaches past the archive's end"));
    let Some(start) = find_data(&file, entry.header_offset)? else { return Err(outside) };
    Binary::parse(file.subrange(start, entry.size).ok_or(outside)?)
}

/// A member's entry in the central directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    method: u16,
    size: u64,
    /// The file offset of the member's local header.
    header_offset: u64,
}

/// The central directory: the table of members at the end of an archive. Entries are read one by one, because
/// a sparse file can claim a directory of any size.
#[derive(Clone, Copy, Debug)]
struct CentralDirectory {
    start: u64,
    end: u64,
    entries: u16,
}

impl CentralDirectory {
    fn find(file: &FileRange) -> Result<Option<Self>, AttachError> {
        const MAGIC: &[u8] = b"PK\x05\x06";
        let tail_bytes = file.len().min(END_RECORD_WITH_COMMENT);
        let Some(tail_offset) = file.len().checked_sub(tail_bytes) else { return Ok(None) };
        let tail = file.read("end", tail_offset, tail_bytes, tail_bytes)?;
        // The last match counts, because the directory itself could contain the same bytes.
        let Some(record) = tail.windows(END_RECORD).rfind(|window| window.starts_with(MAGIC)) else {
            return Ok(None);
        };
        let e = Endian::Little;
        let (Some(entries), Some(size), Some(start)) =
            (e.u16(record, 10), e.u32(record, 12), e.u32(record, 16))
        else {
            return Ok(None);
        };
        let start = u64::from(start);
        let end = start.checked_add(size.into()).filter(|end| *end <= file.len());
        Ok(end.map(|end| Self { start, end, entries }))
    }

    /// Returns the first entry with a name (libbpf: `zip_archive_find_entry`).
    fn find_entry(self, file: &FileRange, member: &[u8]) -> Result<Option<Entry>, AttachError> {
        let e = Endian::Little;
        let (mut offset, mut name) = (self.start, vec![0; member.len()]);
        for _ in 0..self.entries {
            let mut entry = [0; ENTRY];
            let Some(name_offset) = offset.checked_add(ENTRY_BYTES).filter(|end| *end <= self.end) else {
                return Ok(None);
            };
            file.fill("directory", offset, &mut entry)?;
            let length = |field| e.u16(&entry, field).map(u64::from);
            let (Some(name_len), Some(extra), Some(comment)) = (length(28), length(30), length(32)) else {
                return Ok(None);
            };
            let name_end = name_offset.checked_add(name_len).filter(|end| *end <= self.end);
            let Some(name_end) = name_end.filter(|_| entry.starts_with(b"PK\x01\x02")) else {
                return Ok(None);
            };
            if usize::try_from(name_len).is_ok_and(|len| len == member.len()) {
                file.fill("directory", name_offset, &mut name)?;
                if name == member {
                    let (method, size, header_offset) =
                        (e.u16(&entry, 10), e.u32(&entry, 24), e.u32(&entry, 42));
                    let (Some(method), Some(size), Some(header_offset)) = (method, size, header_offset)
                    else {
                        return Ok(None);
                    };
                    return Ok(Some(Entry {
                        method,
                        size: size.into(),
                        header_offset: header_offset.into(),
                    }));
                }
            }
            let next = name_end.checked_add(extra).and_then(|next| next.checked_add(comment));
            let Some(next) = next else { return Ok(None) };
            offset = next;
        }
        Ok(None)
    }
}

/// Returns the file offset of a member's data, which follow the local header with its name and extra field.
fn find_data(file: &FileRange, header_offset: u64) -> Result<Option<u64>, AttachError> {
    let mut bytes = [0; 30];
    file.fill("member's header", header_offset, &mut bytes)?;
    let e = Endian::Little;
    let length = |field| e.u16(&bytes, field).map(u64::from);
    let (Some(name), Some(extra)) = (length(26), length(28)) else { return Ok(None) };
    if !bytes.starts_with(b"PK\x03\x04") {
        return Ok(None);
    }
    Ok(header_offset.checked_add(30).and_then(|at| at.checked_add(name)).and_then(|at| at.checked_add(extra)))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            test_support::elf::{F1, TempFile, TestElf},
            uprobe::{UprobeOptions, place_in_file},
        },
        *,
    };

    fn zip(name: &[u8], method: u16, data: &[u8]) -> Vec<u8> {
        let e = Endian::Little;
        let mut out = b"PK\x03\x04".to_vec();
        let common = |out: &mut Vec<u8>| {
            for v in [20, 0, method, 0, 0] {
                e.put_u16(out, v);
            }
            for v in [0, data.len().try_into().unwrap(), data.len().try_into().unwrap()] {
                e.put_u32(out, v);
            }
            e.put_u16(out, name.len().try_into().unwrap());
        };
        common(&mut out);
        e.put_u16(&mut out, 3);
        out.extend(name);
        out.extend(b"abc");
        out.extend(data);
        let from: u32 = out.len().try_into().unwrap();
        out.extend(b"PK\x01\x02\0\0");
        common(&mut out);
        out.extend([0; 12]);
        e.put_u32(&mut out, 0);
        out.extend(name);
        let size = u32::try_from(out.len()).unwrap().checked_sub(from).unwrap();
        out.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
        e.put_u32(&mut out, size);
        e.put_u32(&mut out, from);
        out.extend([0, 0]);
        out
    }

    #[test]
    fn an_uncompressed_member_is_read_in_place() {
        let elf = TestElf::bytes();
        let file = TempFile::new("zip", &zip(b"lib/x.so", 0, &elf));
        let binary = open_member(file.path(), b"lib/x.so").unwrap();
        assert_eq!(binary.find_function("f1", crate::attach::binary::EntryPoint::Local), Ok(F1 + 30 + 8 + 3));
        let text = |member: &[u8]| open_member(file.path(), member).unwrap_err().to_string();
        assert!(text(b"lib/y.so").ends_with("has no member `lib/y.so`"));
        let file = TempFile::new("zip", &zip(b"x", 8, &elf));
        assert!(open_member(file.path(), b"x").unwrap_err().to_string().contains("is compressed"));
        let file = TempFile::new("zip", b"PK\x05\x06");
        assert!(open_member(file.path(), b"x").unwrap_err().to_string().ends_with("is not a ZIP archive"));
    }

    /// A process maps the archive, so that offsets in the maps are those of the archive.
    #[test]
    fn offsets_count_from_the_start_of_the_archive() {
        let file = TempFile::new("zip", &zip(b"lib/x.so", 0, &TestElf::bytes()));
        let binary = open_member(file.path(), b"lib/x.so").unwrap();
        let member = 30 + 8 + 3;
        let place = |offset| {
            let options = UprobeOptions { offset, ..UprobeOptions::default() };
            place_in_file(Some(&binary), &options, "x").map_err(|e| e.to_string())
        };
        assert_eq!(place(member + F1), Ok(member + F1));
        assert!(
            place(F1).unwrap_err().contains("in no section"),
            "the start of the member is no start of offsets"
        );
        assert!(place(4).unwrap_err().contains("offset 0x4 is outside of the archive's member"));
    }

    #[test]
    fn no_truncated_archive_is_read_past_its_end() {
        let whole = zip(b"m", 0, b"data that is no ELF");
        for cut in 0..whole.len() {
            let file = TempFile::new("zip", &whole[..cut]);
            assert!(open_member(file.path(), b"m").is_err(), "{cut}");
            let file = TempFile::new("zip", &whole[cut..]);
            assert!(open_member(file.path(), b"m").is_err(), "{cut}");
        }
    }

    #[test]
    fn a_directory_that_claims_gigabytes_of_a_sparse_file_is_read_entry_by_entry() {
        let e = Endian::Little;
        let file = TempFile::new("zip", b"");
        let sparse = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
        let mut end = b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff".to_vec();
        e.put_u32(&mut end, 0xffff_0000);
        e.put_u32(&mut end, 0);
        end.extend([0, 0]);
        std::os::unix::fs::FileExt::write_all_at(&sparse, &end, 1 << 32).unwrap();
        let text = open_member(file.path(), b"x").unwrap_err().to_string();
        assert!(text.ends_with("has no member `x`"), "{text}");
    }

    #[test]
    fn an_archives_path_ends_at_the_exclamation_mark() {
        assert_eq!(
            split_path(Path::new("/a.apk!/lib/b.so")),
            Some((PathBuf::from("/a.apk"), b"lib/b.so".to_vec()))
        );
        assert_eq!(split_path(Path::new("/a!b/c")), None);
    }
}
