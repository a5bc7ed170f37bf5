//! Reads files whole or in part, into buffers aligned for fast copies.

use crate::{limits, sys::prefer_huge_pages};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use core_relo::Data;
use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt as _,
};

/// The alignment of buffers: a byte's address and its offset in the file are equal modulo this number.
///
/// The kernel copies from the page cache with `rep movsb`. On Zen 3 the copy takes six to nine times as long
/// if the target lies a few bytes further into its page than the source. glibc's malloc places large blocks
/// 16 bytes into a page.
const ALIGN: usize = 64;

/// A buffer whose content begins after some bytes of padding.
#[derive(Debug)]
struct PaddedBytes {
    bytes: Vec<u8>,
    /// The number of padding bytes, which `bytes` contains.
    start: usize,
}

impl PaddedBytes {
    fn new(bytes: Vec<u8>, start: usize) -> io::Result<Self> {
        match bytes.len().checked_sub(start) {
            Some(_content_bytes) => Ok(Self { bytes, start }),
            None => Err(io::Error::other("broken invariant: a buffer contains its padding")),
        }
    }
}

impl AsRef<[u8]> for PaddedBytes {
    #[expect(clippy::indexing_slicing, reason = "`new` checks that the content starts within the buffer")]
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// Reads a file from its start to its end. Returns `None` if the file has more than `limit` bytes.
///
/// `expected` is the likely number of bytes; another number costs time, not correctness. The first large file
/// of a process is read into huge pages (`MADV_HUGEPAGE`).
///
/// ```
/// use core_relo_loader::target::read_all;
///
/// # fn main() -> std::io::Result<()> {
/// assert_eq!(read_all(&b"bytes"[..], 5, 1 << 20)?.as_deref(), Some(&b"bytes"[..]));
/// assert!(read_all(&b"bytes"[..], 5, 4)?.is_none());
/// # Ok(())
/// # }
/// ```
pub fn read_all(mut source: impl Read, expected: u64, limit: u64) -> io::Result<Option<Data<'static>>> {
    read_source(&mut source, expected, limit)
}

fn read_source(source: &mut dyn Read, expected: u64, limit: u64) -> io::Result<Option<Data<'static>>> {
    // The padding is shorter than ALIGN, so at least one byte is free for the read that finds the end of the
    // file.
    let room = usize::try_from(expected.min(limit)).ok().and_then(|len| len.checked_add(ALIGN));
    let room = room.ok_or(io::ErrorKind::OutOfMemory)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(room).map_err(io::Error::from)?;
    prefer_huge_pages_once(&mut bytes);
    let start = padding(bytes.as_ptr(), 0);
    bytes.resize(start, 0);
    // A limit at the end of all numbers is no limit.
    read_to_end(source.take(limit.saturating_add(1)), &mut bytes)?;
    let bytes = PaddedBytes::new(bytes, start)?;
    let fits = u64::try_from(bytes.as_ref().len()).is_ok_and(|count| count <= limit);
    Ok(fits.then(|| Data::shared(bytes)))
}

/// Copies bytes. Too little memory is an error; with `to_vec` it would end the process.
pub fn copy_bytes(bytes: &[u8]) -> io::Result<Data<'static>> {
    let mut copied = Vec::new();
    copied.try_reserve_exact(bytes.len()).map_err(io::Error::from)?;
    copied.extend_from_slice(bytes);
    Ok(Data::from(copied))
}

/// Appends the rest of a source. Too little memory is an error; with [`Read::read_to_end`] it may end the
/// process.
fn read_to_end(mut source: impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    const STEP_BYTES: usize = 1 << 20;
    loop {
        if bytes.len() == bytes.capacity() {
            // The first request doubles the buffer.
            let doubled = bytes.try_reserve(STEP_BYTES);
            doubled.or_else(|_no_memory| bytes.try_reserve_exact(STEP_BYTES)).map_err(io::Error::from)?;
        }
        let spare = bytes.spare_capacity_mut().len();
        // The limit keeps `Read::read_to_end` from growing the buffer.
        let limit = u64::try_from(spare).map_err(io::Error::other)?;
        if source.by_ref().take(limit).read_to_end(bytes)? < spare {
            return Ok(());
        }
    }
}

/// Reads `len` bytes at `offset`. A part beyond the end of the file or of more than [`limits::FILE_BYTES`] is
/// an error.
pub fn read_part(file: &File, offset: u64, len: u64) -> io::Result<Data<'static>> {
    let end = offset.checked_add(len).filter(|_| len <= limits::FILE_BYTES);
    let end = end.ok_or(io::ErrorKind::FileTooLarge)?;
    if end > file.metadata()?.len() {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
    }
    let len = usize::try_from(len).map_err(io::Error::other)?;
    let room = len.checked_add(ALIGN).ok_or(io::ErrorKind::FileTooLarge)?;
    // A failed reservation is an error, a failed `vec!` would end the process.
    Vec::<u8>::new().try_reserve_exact(room).map_err(io::Error::from)?;
    // `vec![0; …]` gets zeroed pages from the kernel, `resize` would write the zeros.
    let mut bytes = vec![0; room];
    prefer_huge_pages_once(&mut bytes);
    let start = padding(bytes.as_ptr(), offset);
    let part = start.checked_add(len).and_then(|end| {
        bytes.truncate(end);
        bytes.get_mut(start..)
    });
    let part =
        part.ok_or_else(|| io::Error::other("broken invariant: the padding is shorter than the alignment"))?;
    file.read_exact_at(part, offset)?;
    Ok(Data::shared(PaddedBytes::new(bytes, start)?))
}

/// Requests huge pages for the first large file of the process.
///
/// The page faults of fresh memory take longer than the copy. Later files reuse memory of malloc, where huge
/// pages would only increase the memory that stays resident.
fn prefer_huge_pages_once(bytes: &mut Vec<u8>) {
    // A huge page has 2 MiB, so twice that always contains an aligned one.
    const HUGE_FROM: usize = 4 << 20;
    static IS_REQUESTED: AtomicBool = AtomicBool::new(false);
    if bytes.capacity() >= HUGE_FROM && !IS_REQUESTED.swap(true, Ordering::Relaxed) {
        prefer_huge_pages(bytes);
    }
}

/// Returns the number of padding bytes, less than [`ALIGN`], before the content at `offset` of a file.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "only the low bits count")]
fn padding(buffer: *const u8, offset: u64) -> usize {
    (offset as usize).wrapping_sub(buffer.addr()) & (ALIGN - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, io::Cursor};

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|n| u8::try_from((n ^ (n >> 8)) & 0xff).unwrap()).collect()
    }

    /// A file that is gone when the test is over.
    fn file(bytes: &[u8]) -> File {
        use core::sync::atomic::AtomicU32;
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("core-relo-read-{}-{number}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        file
    }

    fn within(bytes: &[u8]) -> usize {
        bytes.as_ptr().addr() % ALIGN
    }

    #[test]
    fn whole_files_are_read_to_aligned_addresses() {
        let around = [1, 64, 4096, 8192, 16384, 1 << 17, 5 << 20].into_iter();
        for len in around.flat_map(|at| [at - 1, at, at + 1, at + 31, at + 32, at + 33]) {
            let expected = pattern(len);
            let len = u64::try_from(len).unwrap();
            let sources: [&mut dyn Read; 2] = [&mut Cursor::new(&expected), &mut file(&expected)];
            for source in sources {
                let read = read_all(source, len, len).unwrap().unwrap();
                assert!(*read == *expected, "{len} bytes");
                assert_eq!(within(&read), 0, "{len} bytes");
            }
        }
    }

    #[test]
    fn a_part_has_the_alignment_of_its_offset() {
        let all = pattern(3 << 16);
        let file = file(&all);
        for at in [0, 1, 63, 64, 100, 4095, 4096, 70_001] {
            for len in [0, 1, 63, 4096, 100_003] {
                let part = read_part(&file, u64::try_from(at).unwrap(), u64::try_from(len).unwrap()).unwrap();
                assert!(*part == all[at..at + len], "{len} bytes at {at}");
                assert!(len == 0 || within(&part) == at % ALIGN, "{len} bytes at {at}");
            }
        }
    }

    #[test]
    fn a_part_beyond_the_end_is_an_error() {
        let file = file(b"abcdef");
        let kind = |at, len| read_part(&file, at, len).unwrap_err().kind();
        assert_eq!(*read_part(&file, 4, 2).unwrap(), *b"ef");
        assert_eq!(kind(4, 3), io::ErrorKind::UnexpectedEof);
        assert_eq!(kind(7, 0), io::ErrorKind::UnexpectedEof);
        assert_eq!(kind(0, limits::FILE_BYTES), io::ErrorKind::UnexpectedEof);
        assert_eq!(kind(0, limits::FILE_BYTES + 1), io::ErrorKind::FileTooLarge);
        assert_eq!(kind(2, u64::MAX), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_source_longer_than_expected_grows_the_buffer() {
        let all = pattern((3 << 20) + 5);
        for expected in [0, 1, 1 << 20, (3 << 20) + 4] {
            let mut bytes = Vec::with_capacity(expected);
            read_to_end(&*all, &mut bytes).unwrap();
            assert!(bytes == all, "{expected} expected");
        }
        let mut bytes = b"ab".to_vec();
        read_to_end(&b"cd"[..], &mut bytes).unwrap();
        assert_eq!(bytes, b"abcd");
    }

    #[test]
    fn a_file_above_the_limit_is_not_cut() {
        assert_eq!(read_all(&b"abc"[..], 9, 3).unwrap().as_deref(), Some(&b"abc"[..]));
        assert!(read_all(&b"abcd"[..], 0, 3).unwrap().is_none());
        assert!(read_all(&b"abcd"[..], u64::MAX, 3).unwrap().is_none());
        assert!(read_all(io::repeat(0), 0, 100_000).unwrap().is_none());
        assert!(read_all(io::repeat(0), u64::MAX, u64::MAX).is_err(), "no room for so much");
    }

    #[test]
    fn a_wrong_expected_length_does_not_change_the_content() {
        let all = pattern(300_000);
        for expected in [0, 1, 299_999, 300_001, 1 << 30] {
            let read = read_all(&*all, expected, 1 << 30).unwrap().unwrap();
            assert!(*read == *all, "{expected} expected");
        }
        let version = read_all(File::open("/proc/version").unwrap(), 0, 1 << 20).unwrap().unwrap();
        assert_eq!(*version, *fs::read("/proc/version").unwrap());
        assert!(!version.is_empty());
    }

    #[test]
    fn a_file_that_changes_its_length_during_the_read_is_read_to_its_new_end() {
        /// A file that gets another length after half of the content was read.
        struct Changing<'f> {
            file: &'f File,
            left: usize,
            becomes: u64,
        }
        impl Read for Changing<'_> {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                let most = if self.left == 0 { to.len() } else { to.len().min(self.left) };
                let read = self.file.read(&mut to[..most])?;
                self.left = self.left.saturating_sub(read);
                if self.left == 0 {
                    self.file.set_len(self.becomes)?;
                }
                Ok(read)
            }
        }
        let mut all = pattern(100_000);
        all.resize(200_000, 0);
        for (becomes, most) in [(60_000, 100_000), (100_001, 200_000), (200_000, 200_000), (200_000, 199_999)]
        {
            let file = file(&all[..100_000]);
            let changing = Changing { file: &file, left: 50_000, becomes };
            let read = read_all(changing, 100_000, most).unwrap();
            let becomes = usize::try_from(becomes).unwrap();
            let expected = all.get(..becomes).filter(|_| most != 199_999);
            assert!(read.as_deref() == expected, "{becomes} bytes, at most {most}");
        }
    }
}
