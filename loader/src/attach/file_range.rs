//! A regular file, or a range of one, that is read in pieces.
//!
//! Sizes in such a file are untrusted, because a sparse file can have any size. So each read has a limit, and a failed allocation
//! is an error.

use super::error::AttachError;
use crate::{
    convert::to_u64,
    sys::Errno,
    target::{TargetError, open_file},
};
use core_relo::Text;
use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

/// A range of a file. Offsets count from the start of the range.
#[derive(Debug)]
pub(super) struct FileRange {
    path: PathBuf,
    file: File,
    start: u64,
    len: u64,
}

impl FileRange {
    /// Opens a whole file, which has to be a regular file.
    pub(super) fn open(path: &Path) -> Result<Self, AttachError> {
        let (file, meta) = open_file(path).map_err(|e| {
            if let TargetError::Io { errno, .. } = e {
                return AttachError::unreadable(path, errno.map_or(Errno(libc::EIO), Errno));
            }
            let problem = "is not a regular file: expected a program, a library or an archive";
            AttachError::target(path.display().to_string(), problem)
        })?;
        Ok(Self { path: path.to_path_buf(), file, start: 0, len: meta.len() })
    }

    /// Returns a range inside this range.
    pub(super) fn narrowed(self, start: u64, len: u64) -> Option<Self> {
        start.checked_add(len).filter(|end| *end <= self.len)?;
        Some(Self { start: self.start.checked_add(start)?, len, ..self })
    }

    pub(super) const fn start(&self) -> u64 {
        self.start
    }

    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn error(&self, problem: impl Into<Text>) -> AttachError {
        AttachError::target(self.path.display().to_string(), problem)
    }

    /// Fills a buffer from an offset. `what` names the piece in errors.
    pub(super) fn fill(&self, what: &str, at: u64, into: &mut [u8]) -> Result<(), AttachError> {
        let len = to_u64(into.len());
        self.check_within(what, at, len)?;
        let place = self.start.checked_add(at).ok_or_else(|| self.outside(what, at, len))?;
        self.file
            .read_exact_at(into, place)
            .map_err(|e| self.error(format!("its {what} cannot be read: {}", Errno::from_io_error(&e))))
    }

    /// Checks that a piece lies within the range.
    pub(super) fn check_within(&self, what: &str, at: u64, len: u64) -> Result<(), AttachError> {
        match at.checked_add(len) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(self.outside(what, at, len)),
        }
    }

    /// Reads a piece. A piece of more than `most` bytes is an error.
    pub(super) fn read(&self, what: &str, at: u64, len: u64, most: u64) -> Result<Vec<u8>, AttachError> {
        self.check_within(what, at, len)?;
        if len > most {
            return Err(self.error(format!("its {what} is too large: {len} bytes, expected at most {most}")));
        }
        let no_room = || self.error(format!("there is too little memory for its {what}: {len} bytes"));
        let room = usize::try_from(len).map_err(|_too_large| no_room())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(room).map_err(|_no_memory| no_room())?;
        bytes.resize(room, 0);
        self.fill(what, at, &mut bytes)?;
        Ok(bytes)
    }

    fn outside(&self, what: &str, at: u64, len: u64) -> AttachError {
        let all = self.len;
        self.error(format!(
            "its {what} reaches past the end: {len} bytes at {at:#x}, expected to lie within {all}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::test_support::elf::TempFile, *};

    #[test]
    fn a_piece_is_inside_the_range_and_within_its_limit() {
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
        let part = whole.narrowed(4, 4).unwrap();
        assert_eq!(part.read("table", 1, 3, 9), Ok(b"567".to_vec()));
        assert!(part.read("table", 1, 4, 9).is_err());
        assert!(part.narrowed(2, 3).is_none());
    }

    #[test]
    fn a_claimed_size_is_not_allocated() {
        let file = TempFile::new("sparse", b"x");
        File::options().write(true).open(file.path()).unwrap().set_len(1 << 42).unwrap();
        let part = FileRange::open(file.path()).unwrap();
        assert!(part.read("table", 0, 1 << 41, 1 << 30).is_err());
        assert!(part.read("table", 0, 1 << 41, u64::MAX).is_err(), "there is no such memory");
    }

    #[test]
    fn a_file_that_is_not_regular_is_refused_without_waiting() {
        let folder = std::env::temp_dir().join(format!("core-relo-pipe-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let (pipe, socket) = (folder.join("pipe"), folder.join("socket"));
        // Nobody can open a socket: the error shows that the kind of the file is checked first.
        std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        let paths = [Path::new("/dev/null"), &folder, &socket, Path::new("/proc/version"), &pipe];
        for path in paths.iter().take(if made.is_ok_and(|s| s.success()) { 5 } else { 4 }) {
            let error = FileRange::open(path).unwrap_err().to_string();
            assert!(error.contains("is not a regular file"), "{error}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
