//! A regular file, or a range of such a file, that is read part by part: headers, tables, sections.
//!
//! The sizes in a file's headers are untrusted, and a sparse file can be large enough for any of them. So
//! each read has a limit, and a failed allocation is an error.

use super::error::AttachError;
use crate::{
    convert::to_u64,
    sys::Errno,
    target::{TargetError, open_file},
};
use core_relo::Text;
#[cfg(feature = "stripped-binaries")]
use std::os::unix::fs::MetadataExt as _;
use std::{
    fs::{self, File},
    os::{fd::AsRawFd as _, unix::fs::FileExt as _},
    path::{Path, PathBuf},
};

/// A range of a file. Offsets are in bytes from the start of the range.
#[derive(Debug)]
pub(super) struct FileRange {
    path: PathBuf,
    contents: Contents,
    start: u64,
    len: u64,
}

#[derive(Debug)]
enum Contents {
    File(File),
    /// A file that was unpacked.
    #[cfg(feature = "stripped-binaries")]
    Bytes(Vec<u8>),
}

impl FileRange {
    /// Opens a whole file. A file that is not a regular file is an error.
    pub(super) fn open(path: &Path) -> Result<Self, AttachError> {
        let (file, meta) = open_file(path).map_err(|e| {
            if let TargetError::Io { errno, .. } = e {
                return AttachError::unreadable(path, errno.map_or(Errno(libc::EIO), Errno));
            }
            let problem = "is not a regular file: expected a program, a library or an archive";
            AttachError::target(path.display().to_string(), problem)
        })?;
        Ok(Self { path: path.to_path_buf(), contents: Contents::File(file), start: 0, len: meta.len() })
    }

    /// Returns the range of a file that was unpacked. The label is its name in errors.
    #[cfg(feature = "stripped-binaries")]
    pub(super) fn from_bytes(label: String, bytes: Vec<u8>) -> Self {
        let len = to_u64(bytes.len());
        Self { path: PathBuf::from(label), contents: Contents::Bytes(bytes), start: 0, len }
    }

    /// Returns a range inside this range. Returns `None` if it would reach past the end.
    pub(super) fn subrange(self, start: u64, len: u64) -> Option<Self> {
        start.checked_add(len).filter(|end| *end <= self.len)?;
        Some(Self { start: self.start.checked_add(start)?, len, ..self })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the open file as the kernel shows it to this process, without links. That is also
    /// the path in the maps of processes, whichever root they have. Returns `None` for an unpacked file.
    pub(super) fn kernel_path(&self) -> Option<PathBuf> {
        match &self.contents {
            Contents::File(file) => fs::read_link(format!("/proc/thread-self/fd/{}", file.as_raw_fd())).ok(),
            #[cfg(feature = "stripped-binaries")]
            Contents::Bytes(_) => None,
        }
    }

    /// Returns the offset of the range in the file.
    pub(super) const fn start(&self) -> u64 {
        self.start
    }

    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether both ranges lie in one file, whatever its paths are.
    #[cfg(feature = "stripped-binaries")]
    pub(super) fn is_same_file(&self, other: &Self) -> Result<bool, AttachError> {
        let (Contents::File(one), Contents::File(two)) = (&self.contents, &other.contents) else {
            return Ok(false);
        };
        let metadata = |file: &File, range: &Self| {
            file.metadata().map_err(|e| AttachError::unreadable(&range.path, Errno::from_io_error(&e)))
        };
        let (one, two) = (metadata(one, self)?, metadata(two, other)?);
        Ok((one.dev(), one.ino()) == (two.dev(), two.ino()))
    }

    /// Creates an error that names the file.
    pub(super) fn error(&self, problem: impl Into<Text>) -> AttachError {
        AttachError::target(self.path.display().to_string(), problem)
    }

    /// Fills a buffer from an offset. `part` names the part in errors, such as `symbol table`.
    pub(super) fn fill(&self, part: &str, offset: u64, buffer: &mut [u8]) -> Result<(), AttachError> {
        let len = to_u64(buffer.len());
        self.check_within(part, offset, len)?;
        let file_offset = self.start.checked_add(offset).ok_or_else(|| self.outside(part, offset, len))?;
        match &self.contents {
            Contents::File(file) => file
                .read_exact_at(buffer, file_offset)
                .map_err(|e| self.error(format!("its {part} cannot be read: {}", Errno::from_io_error(&e)))),
            #[cfg(feature = "stripped-binaries")]
            Contents::Bytes(bytes) => {
                let from = usize::try_from(file_offset).ok().and_then(|from| bytes.get(from..));
                let source = from.and_then(|rest| rest.get(..buffer.len()));
                buffer.copy_from_slice(source.ok_or_else(|| self.outside(part, offset, len))?);
                Ok(())
            }
        }
    }

    /// Checks that a part lies within the range.
    pub(super) fn check_within(&self, part: &str, offset: u64, len: u64) -> Result<(), AttachError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(self.outside(part, offset, len)),
        }
    }

    /// Reads a part. A part of more than `max_len` bytes is an error.
    pub(super) fn read(
        &self,
        part: &str,
        offset: u64,
        len: u64,
        max_len: u64,
    ) -> Result<Vec<u8>, AttachError> {
        self.check_within(part, offset, len)?;
        if len > max_len {
            return Err(
                self.error(format!("its {part} is too large: {len} bytes, expected at most {max_len}"))
            );
        }
        let out_of_memory = || self.error(format!("too little memory for its {part}: {len} bytes"));
        let size = usize::try_from(len).map_err(|_too_large| out_of_memory())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_no_memory| out_of_memory())?;
        bytes.resize(size, 0);
        self.fill(part, offset, &mut bytes)?;
        Ok(bytes)
    }

    fn outside(&self, part: &str, offset: u64, len: u64) -> AttachError {
        let available = self.len;
        self.error(format!(
            "its {part} reaches past the end: {len} bytes at {offset:#x}, expected to lie within {available}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::test_support::elf::TempFile, *};

    #[test]
    fn a_part_outside_the_range_or_above_the_limit_is_an_error() {
        let file = TempFile::new("part", b"0123456789");
        let whole = FileRange::open(file.path()).unwrap();
        assert_eq!(whole.read("table", 2, 3, 3), Ok(b"234".to_vec()));
        let text = |e: AttachError| e.to_string();
        let long = text(whole.read("table", 2, 4, 3).unwrap_err());
        assert!(long.ends_with("its table is too large: 4 bytes, expected at most 3"), "{long}");
        for (at, len) in [(8, 3), (11, 0), (u64::MAX, 2), (2, u64::MAX)] {
            let outside = text(whole.read("table", at, len, u64::MAX).unwrap_err());
            assert!(outside.contains("its table reaches past the end"), "{outside}");
        }
        let part = whole.subrange(4, 4).unwrap();
        assert_eq!(part.read("table", 1, 3, 9), Ok(b"567".to_vec()));
        assert!(part.read("table", 1, 4, 9).is_err());
        assert!(part.subrange(2, 3).is_none());
    }

    #[test]
    fn a_size_that_cannot_be_allocated_is_an_error() {
        let file = TempFile::new("sparse", b"x");
        File::options().write(true).open(file.path()).unwrap().set_len(1 << 42).unwrap();
        let part = FileRange::open(file.path()).unwrap();
        assert!(part.read("table", 0, 1 << 41, 1 << 30).is_err());
        assert!(part.read("table", 0, 1 << 41, u64::MAX).is_err(), "no machine has that much memory");
    }

    #[test]
    fn a_file_that_is_not_regular_is_refused_without_blocking() {
        let dir = std::env::temp_dir().join(format!("core-relo-pipe-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let (pipe, socket) = (dir.join("pipe"), dir.join("socket"));
        // A socket cannot be opened, so this error shows that the file type is checked before opening.
        std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let mkfifo = std::process::Command::new("mkfifo").arg(&pipe).status();
        let paths = [Path::new("/dev/null"), &dir, &socket, Path::new("/proc/version"), &pipe];
        for path in paths.iter().take(if mkfifo.is_ok_and(|s| s.success()) { 5 } else { 4 }) {
            let error = FileRange::open(path).unwrap_err().to_string();
            assert!(error.contains("is not a regular file"), "{error}");
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}
