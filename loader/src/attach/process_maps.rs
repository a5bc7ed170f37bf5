//! The parts of a binary that a process maps.

use super::{binary::Binary, elf_file::Segment, error::AttachError};
use crate::limits;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the parts of a binary that a process maps.
pub(super) fn mappings(binary: &Binary, pid: u32) -> Result<Vec<Segment>, AttachError> {
    let path = binary.range().path();
    // The maps of a process in a container show paths below the container's root.
    let inside = path.strip_prefix(format!("/proc/{pid}/root")).map(|inside| Path::new("/").join(inside));
    let path = inside.or_else(|_outside| fs::canonicalize(path)).unwrap_or_else(|_e| PathBuf::from(path));
    let maps = fs::read(format!("/proc/{pid}/maps"));
    let maps = maps.map_err(|e| binary.error(format!("/proc/{pid}/maps cannot be read: {e}")))?;
    Ok(parse_mappings(&String::from_utf8_lossy(&maps), &path.to_string_lossy()))
}

/// Returns the paths of the files whose code a process maps, as this process opens them. `of` is one of them: if its path is below the root
/// of the process, so are the others.
pub(super) fn mapped_binaries(of: &Binary, pid: u32) -> Result<Vec<PathBuf>, AttachError> {
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let is_below_root = of.range().path().starts_with(&root);
    let maps = fs::read(format!("/proc/{pid}/maps"));
    let maps = maps.map_err(|e| of.error(format!("/proc/{pid}/maps cannot be read: {e}")))?;
    let paths = code_paths(&String::from_utf8_lossy(&maps)).into_iter();
    Ok(paths
        .map(|path| match Path::new(&path).strip_prefix("/") {
            Ok(inside) if is_below_root => root.join(inside),
            _ => PathBuf::from(path),
        })
        .collect())
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
