//! The parts of a binary that a process maps.

use super::{binary::Binary, elf_file::Segment, error::AttachError};
use crate::limits;
use std::{fs, io, path::PathBuf};

/// The memory mappings of a process.
pub(super) struct ProcessMaps {
    pid: u32,
    /// The text of `/proc/PID/maps`. A process may have 65,530 mappings.
    text: String,
}

impl ProcessMaps {
    /// Reads the mappings of a process. `of` is the binary that an error names.
    pub(super) fn read(of: &Binary, pid: u32) -> Result<Self, AttachError> {
        Self::open(pid).map_err(|e| of.error(format!("/proc/{pid}/maps cannot be read: {e}")))
    }

    /// Reads the mappings of a process.
    pub(super) fn open(pid: u32) -> io::Result<Self> {
        let maps = fs::read(format!("/proc/{pid}/maps"))?;
        Ok(Self { pid, text: String::from_utf8_lossy(&maps).into_owned() })
    }

    /// Returns the parts of a binary that the process maps.
    pub(super) fn of_binary(&self, binary: &Binary) -> Vec<Segment> {
        let range = binary.range();
        let path = range.kernel_path().unwrap_or_else(|| range.path().to_path_buf());
        parse_mappings(&self.text, &path.to_string_lossy())
    }

    /// Returns the paths of the files whose code the process maps, as this process opens them.
    pub(super) fn binaries(&self) -> impl Iterator<Item = PathBuf> {
        let root = PathBuf::from(format!("/proc/{}/root", self.pid));
        // Paths in another mount namespace begin at the root of the process, others at the root of this process.
        code_paths(&self.text).into_iter().map(PathBuf::from).map(move |path| {
            match path.strip_prefix("/").map(|inside| root.join(inside)) {
                Ok(inside) if inside.exists() => inside,
                _ => path,
            }
        })
    }
}

/// Returns the paths of files with executable mappings, each once.
fn code_paths(maps: &str) -> Vec<String> {
    let parse_line = |line: &str| {
        let mut fields = line.splitn(6, ' ');
        let mode = fields.nth(1)?;
        let path = fields.nth(3)?.trim_start();
        (mode.as_bytes().get(2) == Some(&b'x') && path.starts_with('/')).then(|| path.to_owned())
    };
    let mut paths: Vec<_> = maps.lines().filter_map(parse_line).take(limits::MAPPED_BINARIES).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

fn parse_mappings(maps: &str, path: &str) -> Vec<Segment> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let parse_line = |line: &str| {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let (mode, offset) = (fields.next()?, fields.next()?);
        let mapped = fields.nth(2)?.trim_start();
        let is_code = mode.as_bytes().get(2) == Some(&b'x');
        (mapped == path).then_some(Segment {
            start: hex(start)?,
            end: hex(end)?,
            offset: hex(offset)?,
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
        assert_eq!(code_paths(maps), ["/usr/lib/my lib.so"]);
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
