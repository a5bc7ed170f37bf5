//! The pins in every mounted bpffs.

use super::mounts::mounts;
use crate::sys::{self, Errno, ObjectKind};
use alloc::collections::BTreeMap;
use std::{
    fs,
    os::fd::{AsFd, AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

/// The maximum depth of directories that are searched.
const DEPTH: u32 = 16;

/// `BPF_F_RDONLY`.
const READ_ONLY: u32 = 1 << 3;

/// Returns the pins of each object, in every mounted bpffs.
pub fn all_pins() -> BTreeMap<(ObjectKind, u32), Vec<PathBuf>> {
    let mut pins = BTreeMap::new();
    let mounts = mounts("bpf").unwrap_or_else(|e| {
        log::info!("no pins are known: {e}");
        Vec::new()
    });
    let mut dirs: Vec<_> = mounts.into_iter().map(|mount| mount.dir).collect();
    dirs.sort();
    dirs.dedup();
    for dir in dirs {
        walk(&dir, DEPTH, &mut pins);
    }
    for paths in pins.values_mut() {
        paths.sort();
        paths.dedup();
    }
    pins
}

/// Pins a program, map or link in a bpffs. A BTF cannot be pinned: the kernel answers `EINVAL`.
pub fn pin(object: impl AsFd, path: &Path) -> Result<(), Errno> {
    sys::obj_pin(object, path)
}

/// Removes a pin. The object stays as long as something else holds it.
pub fn unpin(path: &Path) -> Result<(), Errno> {
    fs::remove_file(path).map_err(|e| Errno::from_io_error(&e))
}

/// Opens a pin. The kind is `None` if the descriptor is of no known kind.
pub fn open_pin(path: &Path) -> Result<(Option<ObjectKind>, OwnedFd), Errno> {
    // The pin of a map may allow only reading.
    let fd = sys::obj_get(path, 0).or_else(|e| sys::obj_get(path, READ_ONLY).map_err(|_second| e))?;
    Ok((fd_kind(&fd), fd))
}

/// Returns the kind of one of this process's descriptors.
fn fd_kind(fd: &impl AsFd) -> Option<ObjectKind> {
    let target = fs::read_link(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())).ok()?;
    ObjectKind::from_fd_link(&target)
}

fn walk(dir: &Path, depth: u32, pins: &mut BTreeMap<(ObjectKind, u32), Vec<PathBuf>>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                if let Some(depth) = depth.checked_sub(1) {
                    walk(&path, depth, pins);
                }
            }
            Ok(kind) if kind.is_file() => {
                if let Ok((Some(kind), fd)) = open_pin(&path)
                    && let Ok(id) = kind.id(&fd)
                {
                    pins.entry((kind, id)).or_default().push(path);
                }
            }
            _ => {}
        }
    }
}
