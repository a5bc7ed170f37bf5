//! The guest's file system: a cpio archive (newc).

use crate::error::VmError;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The guest's files, by path (without the first `/`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Initramfs {
    dirs: BTreeSet<PathBuf>,
    files: BTreeSet<PathBuf>,
    archive: Vec<u8>,
    inodes: usize,
}

const DIR: usize = 0o040_755;
const PROGRAM: usize = 0o100_755;
const DEVICE: usize = 0o020_600;

impl Initramfs {
    /// Creates a file system with the directories of mount points and the devices `console` and `null`.
    pub fn new() -> Self {
        let mut new = Self::default();
        for dir in ["dev", "proc", "sys", "tmp", "run", "root", "bin"] {
            new.add_dir(Path::new(dir));
        }
        new.add_device("dev/console", 5, 1);
        new.add_device("dev/null", 1, 3);
        new
    }

    /// Adds a file and its parent directories. All files are executable. A second file of the same path is
    /// ignored.
    pub fn add_file(&mut self, path: &str, data: &[u8]) {
        let path = path.trim_start_matches('/');
        if self.files.insert(PathBuf::from(path)) {
            self.add_dir(Path::new(path).parent().unwrap_or(Path::new("")));
            self.add_entry(path, PROGRAM, data, (0, 0));
        }
    }

    /// Returns whether there is a file of this path.
    pub fn contains(&self, path: &str) -> bool {
        self.files.contains(Path::new(path.trim_start_matches('/')))
    }

    /// Adds a file of the host, or all files below a directory. Returns the number of bytes added.
    pub fn copy(&mut self, from: &Path, to: &str) -> Result<usize, VmError> {
        let mut bytes = 0;
        for file in files_below(from)? {
            let data = std::fs::read(&file).map_err(|error| VmError::file(&file, &error))?;
            let inner = file.strip_prefix(from).unwrap_or(Path::new(""));
            self.add_file(Path::new(to).join(inner).to_string_lossy().trim_end_matches('/'), &data);
            bytes += data.len();
        }
        Ok(bytes)
    }

    /// Adds a directory and its parents.
    pub fn add_dir(&mut self, path: &Path) {
        let path = path.strip_prefix("/").unwrap_or(path);
        if path.as_os_str().is_empty() || self.dirs.contains(path) {
            return;
        }
        if let Some(parent) = path.parent() {
            self.add_dir(parent);
        }
        self.dirs.insert(path.to_path_buf());
        self.add_entry(&path.to_string_lossy(), DIR, b"", (0, 0));
    }

    /// Returns the finished archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.add_entry("TRAILER!!!", 0, b"", (0, 0));
        self.archive
    }

    fn add_device(&mut self, path: &str, major: usize, minor: usize) {
        self.add_entry(path, DEVICE, b"", (major, minor));
    }

    /// Appends one record: a header of hexadecimal fields, the name and the data, each padded to four bytes.
    fn add_entry(&mut self, path: &str, mode: usize, data: &[u8], (major, minor): (usize, usize)) {
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

/// Returns the file itself, or every file below the directory, sorted. Symbolic links below the directory are
/// not followed.
fn files_below(path: &Path) -> Result<Vec<PathBuf>, VmError> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let (mut files, mut dirs) = (Vec::new(), vec![path.to_path_buf()]);
    while let Some(dir) = dirs.pop() {
        let entries = std::fs::read_dir(&dir).map_err(|error| VmError::file(&dir, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| VmError::file(&dir, &error))?;
            let kind = entry.file_type().map_err(|error| VmError::file(&entry.path(), &error))?;
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_padded_and_directories_come_first() {
        let mut files = Initramfs::default();
        files.add_file("a/b/c", b"xyz");
        let archive = files.finish();
        assert_eq!(archive.len() % 4, 0);
        let text = String::from_utf8_lossy(&archive);
        let at = |name: &str| text.find(name).unwrap();
        assert!(at("a\0") < at("a/b\0") && at("a/b\0") < at("a/b/c\0") && at("a/b/c\0") < at("TRAILER!!!\0"));
        assert!(text.starts_with("07070100000001000041ED"));
        assert_eq!(at("xyz") % 4, 0);
    }

    #[test]
    fn directories_and_files_are_added_once() {
        let mut files = Initramfs::default();
        files.add_file("a/b", b"");
        files.add_file("/a/c", b"");
        files.add_file("a/c", b"another");
        assert!(files.contains("/a/b") && !files.contains("a/d"));
        assert_eq!(String::from_utf8_lossy(&files.finish()).matches("070701").count(), 4);
    }
}
