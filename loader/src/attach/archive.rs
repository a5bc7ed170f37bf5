//! Binaries within ZIP archives, stored there uncompressed, as Android keeps libraries in its packages.

use super::{binary::Binary, error::AttachError};
use crate::sys::Errno;
use core_relo::Endian;
use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::unix::{ffi::OsStrExt as _, fs::FileExt as _},
    path::{Path, PathBuf},
};

/// Bytes of the record at an archive's end, without its comment.
const END: usize = 22;
/// Bytes of the longest comment.
const COMMENT: u64 = 0xffff;
/// Bytes of a record of the central directory, without its name.
const ENTRY: usize = 46;

/// The two halves of `archive!/member`.
pub(super) fn split(path: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let bytes = path.as_os_str().as_bytes();
    let at = bytes.windows(2).position(|w| w == b"!/")?;
    let member = bytes.get(at.checked_add(2)?..)?;
    Some((PathBuf::from(OsStr::from_bytes(bytes.get(..at)?)), member.to_vec()))
}

/// Opens a member that is not compressed.
pub(super) fn open_member(archive: &Path, member: &[u8]) -> Result<Binary, AttachError> {
    let error = |problem: String| AttachError::target(archive.display().to_string(), problem);
    let io_error = |e: io::Error| AttachError::unreadable(archive, Errno::of(&e));
    let file = File::open(archive).map_err(io_error)?;
    let len = file.metadata().map_err(io_error)?.len();
    let directory = directory(&file, len).map_err(io_error)?;
    let directory = directory.ok_or_else(|| error("is not a ZIP archive".to_owned()))?;
    let name = String::from_utf8_lossy(member);
    let Some(entry) = find(&directory, member) else { return Err(error(format!("has no member `{name}`"))) };
    if entry.method != 0 {
        return Err(error(format!(
            "`{name}` is compressed, so that it is not mapped from there and cannot be probed"
        )));
    }
    let start = data_at(&file, entry.header).map_err(io_error)?;
    let within = start.filter(|start| start.checked_add(entry.size).is_some_and(|end| end <= len));
    let start = within.ok_or_else(|| error(format!("`{name}` reaches past the archive's end")))?;
    Binary::open_range(archive, start, Some(entry.size))
}

/// A member, by the central directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    method: u16,
    size: u64,
    /// Where its own header is.
    header: u64,
}

/// The bytes of the central directory.
fn directory(file: &File, len: u64) -> io::Result<Option<Vec<u8>>> {
    const MAGIC: &[u8] = b"PK\x05\x06";
    let room = len.min(COMMENT.saturating_add(22));
    let tail = read(file, len.saturating_sub(room), room)?;
    // The last one counts: the directory itself could hold the same bytes.
    let Some(at) = tail.windows(END).rposition(|w| w.starts_with(MAGIC)) else { return Ok(None) };
    let record = tail.get(at..).unwrap_or_default();
    let e = Endian::Little;
    let number = |field| e.u32(record, field).map(u64::from);
    let (Some(size), Some(from)) = (number(12), number(16)) else { return Ok(None) };
    match from.checked_add(size) {
        Some(end) if end <= len => read(file, from, size).map(Some),
        _ => Ok(None),
    }
}

fn find(directory: &[u8], member: &[u8]) -> Option<Entry> {
    let e = Endian::Little;
    let mut rest = directory;
    while rest.starts_with(b"PK\x01\x02") {
        let length = |field| e.u16(rest, field).map(usize::from);
        let (name_len, extra, comment) = (length(28)?, length(30)?, length(32)?);
        let (name, behind) = rest.get(ENTRY..)?.split_at_checked(name_len)?;
        if name == member {
            let (size, header) = (e.u32(rest, 24)?.into(), e.u32(rest, 42)?.into());
            return Some(Entry { method: e.u16(rest, 10)?, size, header });
        }
        rest = behind.get(extra.checked_add(comment)?..)?;
    }
    None
}

/// Where a member's bytes begin: behind its own header, name and extra field.
fn data_at(file: &File, header: u64) -> io::Result<Option<u64>> {
    let bytes = read(file, header, 30)?;
    let e = Endian::Little;
    let length = |field| e.u16(&bytes, field).map(u64::from);
    let (Some(name), Some(extra)) = (length(26), length(28)) else { return Ok(None) };
    if !bytes.starts_with(b"PK\x03\x04") {
        return Ok(None);
    }
    Ok(header.checked_add(30).and_then(|at| at.checked_add(name)).and_then(|at| at.checked_add(extra)))
}

fn read(file: &File, at: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing_elf::{F1, TempFile, TestElf},
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
    fn a_member_that_is_stored_is_read_where_it_lies() {
        let elf = TestElf::bytes();
        let file = TempFile::new("zip", &zip(b"lib/x.so", 0, &elf));
        let binary = open_member(file.path(), b"lib/x.so").unwrap();
        assert_eq!(binary.function("f1"), Ok(F1 + 30 + 8 + 3));
        let text = |member: &[u8]| open_member(file.path(), member).unwrap_err().to_string();
        assert!(text(b"lib/y.so").ends_with("has no member `lib/y.so`"));
        let file = TempFile::new("zip", &zip(b"x", 8, &elf));
        assert!(open_member(file.path(), b"x").unwrap_err().to_string().contains("is compressed"));
        let file = TempFile::new("zip", b"PK\x05\x06");
        assert!(open_member(file.path(), b"x").unwrap_err().to_string().ends_with("is not a ZIP archive"));
    }

    #[test]
    fn no_cut_of_an_archive_is_read_past_its_end() {
        let whole = zip(b"m", 0, b"data that is no ELF");
        for cut in 0..whole.len() {
            let file = TempFile::new("zip", &whole[..cut]);
            assert!(open_member(file.path(), b"m").is_err(), "{cut}");
            let file = TempFile::new("zip", &whole[cut..]);
            assert!(open_member(file.path(), b"m").is_err(), "{cut}");
        }
    }

    #[test]
    fn an_archives_path_ends_at_its_mark() {
        assert_eq!(
            split(Path::new("/a.apk!/lib/b.so")),
            Some((PathBuf::from("/a.apk"), b"lib/b.so".to_vec()))
        );
        assert_eq!(split(Path::new("/a!b/c")), None);
    }
}
