//! The guest's initramfs: a cpio archive (newc) with busybox, the modules, the tests and the script that starts them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::system::{Outcome, files_below};

/// The guest's files, by path (without the first `/`).
#[derive(Debug, Default)]
pub struct Initramfs {
    dirs: BTreeSet<PathBuf>,
    archive: Vec<u8>,
    inodes: usize,
}

const DIR: usize = 0o040_755;
const PROGRAM: usize = 0o100_755;
const DEVICE: usize = 0o020_600;

impl Initramfs {
    pub fn new() -> Self {
        let mut new = Self::default();
        for dir in ["dev", "proc", "sys", "tmp", "run", "root", "bin", "t"] {
            new.dir(Path::new(dir));
        }
        new.device("dev/console", 5, 1);
        new.device("dev/null", 1, 3);
        new
    }

    /// Adds a file. All files are executable.
    pub fn file(&mut self, path: &str, data: &[u8]) {
        self.dir(Path::new(path).parent().unwrap_or(Path::new("")));
        self.entry(path, PROGRAM, data, (0, 0));
    }

    /// Adds a file of the host, or all files below a directory. Returns the number of bytes added.
    pub fn copy(&mut self, from: &Path, to: &str) -> Outcome<usize> {
        let files = if from.is_dir() { files_below(from) } else { vec![from.to_path_buf()] };
        let mut bytes = 0;
        for file in files {
            let data = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            let inner = file.strip_prefix(from).unwrap_or(Path::new(""));
            self.file(Path::new(to).join(inner).to_string_lossy().trim_end_matches('/'), &data);
            bytes += data.len();
        }
        Ok(bytes)
    }

    /// Returns the finished archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, b"", (0, 0));
        self.archive
    }

    fn dir(&mut self, path: &Path) {
        if path.as_os_str().is_empty() || self.dirs.contains(path) {
            return;
        }
        if let Some(parent) = path.parent() {
            self.dir(parent);
        }
        self.dirs.insert(path.to_path_buf());
        self.entry(&path.to_string_lossy(), DIR, b"", (0, 0));
    }

    fn device(&mut self, path: &str, major: usize, minor: usize) {
        self.entry(path, DEVICE, b"", (major, minor));
    }

    /// Appends one record: a header of hexadecimal fields, the name and the data, each padded to four bytes.
    fn entry(&mut self, path: &str, mode: usize, data: &[u8], (major, minor): (usize, usize)) {
        self.inodes += 1;
        let links = 1;
        let fields = [self.inodes, mode, 0, 0, links, 0, data.len(), 0, 0, major, minor, path.len() + 1, 0];
        self.archive.extend_from_slice(b"070701");
        for field in fields {
            self.archive.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.archive.extend_from_slice(path.as_bytes());
        self.archive.push(0);
        self.pad();
        self.archive.extend_from_slice(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.archive.resize(self.archive.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_padded_and_directories_come_first() {
        let mut files = Initramfs::default();
        files.file("a/b/c", b"xyz");
        let archive = files.finish();
        assert_eq!(archive.len() % 4, 0);
        let text = String::from_utf8_lossy(&archive);
        let at = |name: &str| text.find(name).unwrap();
        assert!(at("a\0") < at("a/b\0") && at("a/b\0") < at("a/b/c\0") && at("a/b/c\0") < at("TRAILER!!!\0"));
        assert!(text.starts_with("07070100000001000041ED"));
        assert_eq!(at("xyz") % 4, 0);
    }

    #[test]
    fn a_directory_is_made_once() {
        let mut files = Initramfs::default();
        files.file("a/b", b"");
        files.file("a/c", b"");
        assert_eq!(String::from_utf8_lossy(&files.finish()).matches("070701").count(), 4);
    }
}
