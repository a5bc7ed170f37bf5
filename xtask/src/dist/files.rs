//! The files of an archive or package, sorted by path.

use std::collections::{BTreeMap, BTreeSet};

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFile {
    pub data: Vec<u8>,
    pub is_executable: bool,
}

impl PackedFile {
    /// Returns the permissions.
    pub fn permissions(&self) -> u32 {
        if self.is_executable { 0o755 } else { 0o644 }
    }
}

/// Files by their paths, which are relative to the root of the archive.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Files(BTreeMap<String, PackedFile>);

/// The permissions of directories.
pub const DIRECTORY_PERMISSIONS: u32 = 0o755;

impl Files {
    pub fn add(&mut self, path: impl Into<String>, data: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), PackedFile { data: data.into(), is_executable: false });
    }

    pub fn add_executable(&mut self, path: impl Into<String>, data: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), PackedFile { data: data.into(), is_executable: true });
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &PackedFile)> {
        self.0.iter().map(|(path, file)| (&**path, file))
    }

    /// Returns the directories of all files, each after its parent.
    pub fn directories(&self) -> BTreeSet<&str> {
        let parents = |path: &'_ str| path.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
        self.0.keys().flat_map(|path| parents(path).into_iter().filter_map(|at| path.get(..at))).collect()
    }

    /// Returns the size of all files in bytes.
    pub fn bytes(&self) -> usize {
        self.0.values().map(|file| file.data.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directory_is_named_once_after_its_parent() {
        let mut files = Files::default();
        files.add("usr/share/doc/a", "1");
        files.add("usr/share/doc/b", "22");
        files.add_executable("usr/bin/c", "3");
        let directories: Vec<_> = files.directories().into_iter().collect();
        assert_eq!(directories, ["usr", "usr/bin", "usr/share", "usr/share/doc"]);
        assert_eq!(files.bytes(), 4);
    }
}
