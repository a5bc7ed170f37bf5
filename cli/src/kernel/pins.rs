//! What is pinned where: every mounted bpffs, walked through.

use super::Kind;
use core_relo_loader::sys::{self, Errno};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::{
        fd::{AsFd, AsRawFd as _, OwnedFd},
        unix::ffi::OsStringExt as _,
    },
    path::{Path, PathBuf},
};

/// Folders within each other that are looked into; more are no pins of anybody's.
const DEPTH: u32 = 16;

/// `BPF_F_RDONLY`.
const READ_ONLY: u32 = 1 << 3;

/// Everything pinned, by kind and id.
pub(crate) fn all() -> BTreeMap<(Kind, u32), Vec<PathBuf>> {
    let mut found = BTreeMap::new();
    let mounts = fs::read("/proc/self/mounts").unwrap_or_default();
    let mut folders: Vec<_> = mounts.split(|b| *b == b'\n').filter_map(bpffs).collect();
    folders.sort();
    folders.dedup();
    for folder in folders {
        walk(&folder, DEPTH, &mut found);
    }
    found.values_mut().for_each(|paths| {
        paths.sort();
        paths.dedup();
    });
    found
}

/// Opens a pin and says what it is.
pub(crate) fn open(path: &Path) -> Result<(Option<Kind>, OwnedFd), Errno> {
    // A map may be pinned for reading only.
    let fd = sys::obj_get(path, 0).or_else(|e| sys::obj_get(path, READ_ONLY).map_err(|_second| e))?;
    Ok((kind_of(&fd), fd))
}

/// What an own descriptor is of.
fn kind_of(fd: &impl AsFd) -> Option<Kind> {
    let target = fs::read_link(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())).ok()?;
    Kind::of_link_text(target.to_str()?)
}

/// The id of what a descriptor of this kind is of.
pub(crate) fn id_of(kind: Kind, fd: &impl AsFd) -> Result<u32, Errno> {
    match kind {
        Kind::Prog => sys::prog_info(fd).map(|info| info.id),
        Kind::Map => sys::map_info(fd).map(|info| info.id),
        Kind::Link => sys::link_info(fd).map(|info| info.id),
        Kind::Btf => sys::btf_info(fd).map(|info| info.id),
    }
}

fn walk(folder: &Path, depth: u32, found: &mut BTreeMap<(Kind, u32), Vec<PathBuf>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => walk(&path, depth - 1, found),
            Ok(kind) if kind.is_file() => {
                if let Ok((Some(kind), fd)) = open(&path)
                    && let Ok(id) = id_of(kind, &fd)
                {
                    found.entry((kind, id)).or_default().push(path);
                }
            }
            _ => {}
        }
    }
}

/// The folder of a line of `/proc/self/mounts`, if it is a bpffs.
fn bpffs(line: &[u8]) -> Option<PathBuf> {
    let mut words = line.split(|b| *b == b' ').skip(1);
    let (folder, kind) = (words.next()?, words.next()?);
    (kind == b"bpf").then(|| PathBuf::from(OsString::from_vec(unescaped(folder))))
}

/// Blanks and backslashes are written as three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        let digits = after.get(..3).and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(octal) if *byte == b'\\' => {
                out.push(octal);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts() {
        let folder = |line: &str| bpffs(line.as_bytes());
        assert_eq!(folder("none /sys/fs/bpf bpf rw,mode=700 0 0"), Some("/sys/fs/bpf".into()));
        assert_eq!(folder("bpf /tmp/a\\040b bpf rw 0 0"), Some("/tmp/a b".into()));
        assert_eq!(folder("bpf /bpf tmpfs rw 0 0"), None);
        assert_eq!(folder(""), None);
        assert_eq!(unescaped(b"a\\134\\04"), b"a\\\\04");
    }
}
