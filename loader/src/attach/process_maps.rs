//! The parts of a binary that a process maps.

use super::{binary::Binary, elf_file::Segment, error::AttachError};
use crate::limits;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The memory mappings of a process.
pub(super) struct ProcessMaps {
    pid: u32,
    /// The text of `/proc/PID/maps`. A process may have 65,530 mappings.
    text: String,
    /// The root directory of the process in the paths of the maps.
    root: PathBuf,
}

impl ProcessMaps {
    /// Reads the mappings of a process. `of` is the binary that an error names.
    pub(super) fn read(of: &Binary, pid: u32) -> Result<Self, AttachError> {
        Self::open(pid).map_err(|e| of.error(format!("/proc/{pid}/maps cannot be read: {e}")))
    }

    /// Reads the mappings of a process.
    pub(super) fn open(pid: u32) -> io::Result<Self> {
        let maps = fs::read(format!("/proc/{pid}/maps"))?;
        let root = fs::read_link(format!("/proc/{pid}/root"))?;
        Ok(Self { pid, text: String::from_utf8_lossy(&maps).into_owned(), root })
    }

    /// Returns the parts of a binary that the process maps.
    pub(super) fn of_binary(&self, binary: &Binary) -> Vec<Segment> {
        let range = binary.range();
        let path = range.kernel_path().unwrap_or_else(|| range.path().to_path_buf());
        parse_mappings(&self.text, &path.to_string_lossy())
    }

    /// Returns the paths of the files whose code the process maps, as this process opens them.
    pub(super) fn binaries(&self) -> impl Iterator<Item = PathBuf> {
        self.code_files()
            .into_iter()
            .take(limits::MAPPED_BINARIES)
            .map(|file| self.path_of(&file, Path::exists))
    }

    /// Returns the root directory of the process as the kernel shows it to this process, as the beginning of
    /// the paths in the maps.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the files with executable mappings, each once.
    pub(super) fn code_files(&self) -> Vec<MappedFile> {
        let mut files: Vec<_> = self.text.lines().filter_map(MappedFile::parse_code).collect();
        // The ranges of a file are in different places.
        files.sort_unstable();
        files.dedup_by(|one, other| (&one.path, &one.file) == (&other.path, &other.file));
        files
    }

    /// Returns the path by which this process opens a mapped file: that in the root directory of the process,
    /// if that path leads to the file, or that of the mapping.
    pub(super) fn path_of(&self, file: &MappedFile, leads_to_file: impl Fn(&Path) -> bool) -> PathBuf {
        let inside = Path::new(&file.path).strip_prefix(&self.root).ok();
        let inside = inside.map(|inside| PathBuf::from(format!("/proc/{}/root", self.pid)).join(inside));
        inside.filter(|path| leads_to_file(path)).unwrap_or_else(|| file.descriptor_path(self.pid))
    }

    /// Returns whether the process maps the code of a deleted file of this path, and not that of the present
    /// file.
    pub(super) fn maps_deleted_file(&self, path: &Path) -> bool {
        let has_code = |wanted: &str| self.code_files().iter().any(|file| file.path == wanted);
        path.to_str().is_some_and(|path| has_code(&format!("{path}{DELETED}")) && !has_code(path))
    }
}

/// The end of the path of a mapped file that was deleted or replaced.
const DELETED: &str = " (deleted)";

/// A file with an executable mapping.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MappedFile {
    /// The path as the kernel shows it to this process.
    path: String,
    /// The device and the inode in the maps.
    file: String,
    start: u64,
    end: u64,
}

impl MappedFile {
    /// Parses a line of maps. Returns `None` for a line that is none of code in a file.
    fn parse_code(line: &str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let (mode, device) = (fields.next()?, fields.nth(1)?);
        let (inode, path) = (fields.next()?, fields.next()?.trim_start());
        let is_code = mode.as_bytes().get(2) == Some(&b'x') && path.starts_with('/');
        is_code.then_some(Self {
            path: path.to_owned(),
            file: format!("{device} {inode}"),
            start: parse_hex(start)?,
            end: parse_hex(end)?,
        })
    }

    pub(super) fn shown_path(&self) -> &str {
        &self.path
    }

    /// Returns whether the file has a name, or had the name before it was deleted.
    pub(super) fn has_name(&self, name: &Path) -> bool {
        let path = self.path.strip_suffix(DELETED).unwrap_or(&self.path);
        Path::new(path).file_name() == Some(name.as_os_str())
    }

    /// Returns the link to the file, which also leads to a deleted file, and out of the root directory of the
    /// process.
    pub(super) fn descriptor_path(&self, pid: u32) -> PathBuf {
        PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", self.start, self.end))
    }
}

fn parse_hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

fn parse_mappings(maps: &str, path: &str) -> Vec<Segment> {
    let parse_line = |line: &str| {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let (mode, offset) = (fields.next()?, fields.next()?);
        let mapped = fields.nth(2)?.trim_start();
        let is_code = mode.as_bytes().get(2) == Some(&b'x');
        (mapped == path).then_some(Segment {
            start: parse_hex(start)?,
            end: parse_hex(end)?,
            offset: parse_hex(offset)?,
            is_code,
        })
    };
    maps.lines().filter_map(parse_line).collect()
}

/// Returns the address at which a process maps a file offset.
#[cfg(any(test, feature = "usdt"))]
pub(super) fn find_address(offset: u64, mappings: &[Segment]) -> Option<u64> {
    mappings.iter().find_map(|mapping| {
        let address = offset.checked_sub(mapping.offset)?.checked_add(mapping.start)?;
        (address < mapping.end).then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The maps show a path without links, and a process with another root maps the same file.
    #[test]
    fn a_binary_is_found_whichever_path_leads_to_it() {
        let exe = std::env::current_exe().unwrap();
        let link = std::env::temp_dir().join(format!("attach-link-{}", std::process::id()));
        std::os::unix::fs::symlink(&exe, &link).unwrap();
        let pid = std::process::id();
        for path in [exe, link.clone(), PathBuf::from(format!("/proc/{pid}/root{}", link.display()))] {
            let binary = Binary::open(&path).unwrap();
            let maps = ProcessMaps::read(&binary, pid).unwrap();
            let found = maps.of_binary(&binary);
            assert!(found.iter().any(|mapping| mapping.is_code), "{}", path.display());
            let binaries: Vec<_> = maps.binaries().collect();
            assert!(binaries.iter().all(|path| path.exists()), "{binaries:?}");
        }
        fs::remove_file(link).unwrap();
    }

    #[test]
    fn the_files_with_code_are_listed_once() {
        let maps = "7f0000001000-7f0000003000 r-xp 00001000 08:04 21238613      /usr/lib/my lib.so\n\
            7f0000003000-7f0000004000 rw-p 00003000 08:04 21238613      /usr/lib/data.so\n\
            7f0000005000-7f0000006000 r-xp 00000000 00:00 0\n\
            7f0000006000-7f0000007000 r-xp 00000000 00:00 0             [vdso]\n\
            7f0000008000-7f0000009000 r-xp 00008000 08:04 21238613      /usr/lib/my lib.so\n";
        let maps = ProcessMaps { pid: 7, text: maps.to_owned(), root: PathBuf::from("/") };
        let files = maps.code_files();
        assert_eq!(files.iter().map(MappedFile::shown_path).collect::<Vec<_>>(), ["/usr/lib/my lib.so"]);
        assert_eq!(files[0].descriptor_path(7), Path::new("/proc/7/map_files/7f0000001000-7f0000003000"));
    }

    #[test]
    fn the_mappings_of_a_library_are_found() {
        let maps = "7f0000001000-7f0000003000 r-xp 00001000 08:04 21238613      /usr/lib/my lib.so\n\
            7f0000003000-7f0000004000 rw-p 00003000 08:04 21238613      /usr/lib/my lib.so\n\
            7f0000008000-7f0000009000 rw-p 00000000 00:00 0\n\
            7f000000a000-7f000000b000 r-xp 00000000 08:04 1 /usr/lib/other.so\n";
        let found = parse_mappings(maps, "/usr/lib/my lib.so");
        let code: Vec<bool> = found.iter().map(|mapping| mapping.is_code).collect();
        assert_eq!(code, [true, false]);
        let found: Vec<_> = found.into_iter().filter(|mapping| mapping.is_code).collect();
        assert_eq!(find_address(0x1234, &found), Some(0x7f00_0000_1234));
        assert_eq!(find_address(0x3000, &found), None);
        assert_eq!(find_address(0x10, &found), None);
    }
}
