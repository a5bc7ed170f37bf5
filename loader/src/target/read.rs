//! Files read whole or in part, to addresses that the kernel copies to quickly.

use crate::{limits, sys::prefer_huge_pages};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use core_relo::Data;
use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt as _,
};

/// What a byte's address and its place in the file differ by is a multiple of this.
///
/// The kernel copies from the pages of its cache with `rep movsb`, which on Zen 3 takes six to nine times as long if it writes a
/// few bytes further into a page than it reads, and 16 bytes into a page is where glibc's malloc puts all that is large.
const ALIGN: usize = 64;

/// Bytes behind as many unused ones as put them where they should lie.
#[derive(Debug)]
struct Placed {
    bytes: Vec<u8>,
    start: usize,
}

impl AsRef<[u8]> for Placed {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

/// All that there is, which should be `expected` bytes; none if it is more than `most`.
///
/// `from` begins at the start of a file. The bytes lie where the kernel copies them quickly if they are as many as expected: a
/// vector of the file's length is where it is slow on some machines. For the first large file of a process the kernel is asked for
/// huge pages (`MADV_HUGEPAGE`).
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
pub fn read_all(from: impl Read, expected: u64, most: u64) -> io::Result<Option<Data<'static>>> {
    // More than there are even behind the padding, so that their end is found without asking for more room.
    let room = usize::try_from(expected.min(most)).unwrap_or(usize::MAX).saturating_add(ALIGN);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(room).map_err(io::Error::from)?;
    prefer_huge_pages_once(&mut bytes);
    let start = padding(bytes.as_ptr(), 0);
    bytes.resize(start, 0);
    let read = from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    let fits = u64::try_from(read).is_ok_and(|read| read <= most);
    Ok(fits.then(|| Data::shared(Placed { bytes, start })))
}

/// The `len` bytes at `at`; an error if the file has no such part, or it is more than [`limits::FILE_BYTES`].
pub fn read_part(file: &File, at: u64, len: u64) -> io::Result<Data<'static>> {
    let end = at.checked_add(len).filter(|_| len <= limits::FILE_BYTES).ok_or(io::ErrorKind::FileTooLarge)?;
    if end > file.metadata()?.len() {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
    }
    let len = usize::try_from(len).map_err(io::Error::other)?;
    let room = len.saturating_add(ALIGN);
    // Whether there is room is asked where the answer is an error.
    Vec::<u8>::new().try_reserve_exact(room).map_err(io::Error::from)?;
    // Untouched zeros cost nothing; a vector filled with them would be written twice.
    let mut bytes = vec![0; room];
    prefer_huge_pages_once(&mut bytes);
    let start = padding(bytes.as_ptr(), at);
    bytes.truncate(start.saturating_add(len));
    file.read_exact_at(bytes.get_mut(start..).unwrap_or_default(), at)?;
    Ok(Data::shared(Placed { bytes, start }))
}

/// Asks for huge pages for the first large file of the process.
///
/// The kernel gives memory page by page as it is written first, which takes longer than what is written there. Later files lie where
/// malloc had others before; huge pages would only make their remains larger.
fn prefer_huge_pages_once(bytes: &mut Vec<u8>) {
    // In as many bytes one of 2 MiB always fits.
    const HUGE_FROM: usize = 4 << 20;
    static ASKED: AtomicBool = AtomicBool::new(false);
    if bytes.capacity() >= HUGE_FROM && !ASKED.swap(true, Ordering::Relaxed) {
        prefer_huge_pages(bytes);
    }
}

/// How many bytes, fewer than [`ALIGN`], are in front of what is read from `at` of a file.
fn padding(room: *const u8, at: u64) -> usize {
    // Of the offset only the low bits count.
    let at = usize::try_from(at & u64::from(u32::MAX)).unwrap_or_default();
    at.wrapping_sub(room.addr()) & (ALIGN - 1)
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
    fn all_of_it_is_read_to_where_copies_are_quick() {
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
    fn a_part_lies_as_it_does_in_the_file() {
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
    fn a_part_that_is_not_there_is_not_read() {
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
    fn what_is_too_long_is_not_cut() {
        assert_eq!(read_all(&b"abc"[..], 9, 3).unwrap().as_deref(), Some(&b"abc"[..]));
        assert!(read_all(&b"abcd"[..], 0, 3).unwrap().is_none());
        assert!(read_all(&b"abcd"[..], u64::MAX, 3).unwrap().is_none());
        assert!(read_all(io::repeat(0), 0, 100_000).unwrap().is_none());
        assert!(read_all(io::repeat(0), u64::MAX, u64::MAX).is_err(), "no room for so much");
    }

    #[test]
    fn a_wrong_length_changes_nothing() {
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
    fn a_file_that_grows_or_shrinks_meanwhile_is_read_as_it_became() {
        /// A file that has another length once half of it was read.
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
