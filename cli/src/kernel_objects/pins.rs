//! The pins in every mounted bpffs.

use crate::kernel_objects::kind::Kind;
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

/// The maximum depth of directories that are searched.
const DEPTH: u32 = 16;

/// `BPF_F_RDONLY`.
const READ_ONLY: u32 = 1 << 3;

/// Returns the pins of each object.
pub(crate) fn find_all() -> BTreeMap<(Kind, u32), Vec<PathBuf>> {
    let mut pins = BTreeMap::new();
    let mounts = fs::read("/proc/self/mounts").unwrap_or_default();
    let mut dirs: Vec<_> = mounts.split(|b| *b == b'\n').filter_map(bpffs_dir).collect();
    dirs.sort();
    dirs.dedup();
    for dir in dirs {
        walk(&dir, DEPTH, &mut pins);
    }
    pins.values_mut().for_each(|paths| {
        paths.sort();
        paths.dedup();
    });
    pins
}

/// Opens a pin. The kind is `None` if the descriptor is of no known kind.
pub(crate) fn open(path: &Path) -> Result<(Option<Kind>, OwnedFd), Errno> {
    // The pin of a map may allow only reading.
    let fd = sys::obj_get(path, 0).or_else(|e| sys::obj_get(path, READ_ONLY).map_err(|_second| e))?;
    Ok((fd_kind(&fd), fd))
}

/// Returns the kind of one of this process's descriptors.
fn fd_kind(fd: &impl AsFd) -> Option<Kind> {
    let target = fs::read_link(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())).ok()?;
    Kind::from_fd_link(target.to_str()?)
}

fn walk(dir: &Path, depth: u32, pins: &mut BTreeMap<(Kind, u32), Vec<PathBuf>>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => walk(&path, depth - 1, pins),
            Ok(kind) if kind.is_file() => {
                if let Ok((Some(kind), fd)) = open(&path)
                    && let Ok(id) = kind.id(&fd)
                {
                    pins.entry((kind, id)).or_default().push(path);
                }
            }
            _ => {}
        }
    }
}

/// Returns the mount point in a line of `/proc/self/mounts` if a bpffs is mounted there.
fn bpffs_dir(line: &[u8]) -> Option<PathBuf> {
    let mut words = line.split(|b| *b == b' ').skip(1);
    let (dir, kind) = (words.next()?, words.next()?);
    (kind == b"bpf").then(|| PathBuf::from(OsString::from_vec(unescape(dir))))
}

/// Decodes `\040`: the kernel writes blanks and backslashes as three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
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
        let dir = |line: &str| bpffs_dir(line.as_bytes());
        assert_eq!(dir("none /sys/fs/bpf bpf rw,mode=700 0 0"), Some("/sys/fs/bpf".into()));
        assert_eq!(dir("bpf /tmp/a\\040b bpf rw 0 0"), Some("/tmp/a b".into()));
        assert_eq!(dir("bpf /bpf tmpfs rw 0 0"), None);
        assert_eq!(dir(""), None);
        assert_eq!(unescape(b"a\\134\\04"), b"a\\\\04");
    }
}
