//! The pins in every mounted bpffs.

use super::{
    error::InventoryError,
    mounts::mounts,
    unreadable::{HoldersByObject, Unreadable},
};
use crate::sys::{self, Errno, ObjectKind};
use std::{
    fs,
    os::fd::{AsFd, AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

/// The maximum depth of directories that are searched.
const DEPTH: u32 = 16;

/// `BPF_F_RDONLY`.
const READ_ONLY: u32 = 1 << 3;

/// An opened pin.
#[derive(Debug)]
#[non_exhaustive]
pub struct OpenedPin {
    /// The kind of the object. `None` if the descriptor is of no known kind.
    pub kind: Option<ObjectKind>,
    /// The object.
    pub fd: OwnedFd,
}

/// Returns the pins of each object, in every mounted bpffs.
pub(super) fn find_pins(unreadable: &mut Unreadable) -> HoldersByObject<PathBuf> {
    let mut pins = HoldersByObject::new();
    let mounts = mounts("bpf").inspect_err(|e| unreadable.add(Path::new("/proc/self/mounts"), e));
    let mut dirs: Vec<_> = mounts.into_iter().flatten().map(|mount| mount.dir).collect();
    dirs.sort();
    dirs.dedup();
    for dir in dirs {
        walk(&dir, DEPTH, &mut pins, unreadable);
    }
    for paths in pins.values_mut() {
        paths.sort();
        paths.dedup();
    }
    pins
}

/// Pins a program, map or link in a bpffs. A BTF cannot be pinned: the kernel answers `EINVAL`.
pub fn pin(object: impl AsFd, path: &Path) -> Result<(), InventoryError> {
    sys::obj_pin(object, path).map_err(|errno| InventoryError::CreatePin { path: path.into(), errno })
}

/// Removes a pin. The object stays as long as something else holds it.
pub fn unpin(path: &Path) -> Result<(), InventoryError> {
    fs::remove_file(path)
        .map_err(|e| InventoryError::RemovePin { path: path.into(), errno: Errno::from_io_error(&e) })
}

/// Opens a pin.
pub fn open_pin(path: &Path) -> Result<OpenedPin, InventoryError> {
    // The pin of a map may allow only reading.
    let fd = sys::obj_get(path, 0).or_else(|e| sys::obj_get(path, READ_ONLY).map_err(|_second| e));
    let fd = fd.map_err(|errno| InventoryError::Pin { path: path.into(), errno })?;
    Ok(OpenedPin { kind: fd_kind(&fd), fd })
}

/// Returns the kind of one of this process's descriptors.
fn fd_kind(fd: &impl AsFd) -> Option<ObjectKind> {
    let target = fs::read_link(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())).ok()?;
    ObjectKind::from_fd_link(&target)
}

fn walk(dir: &Path, depth: u32, pins: &mut HoldersByObject<PathBuf>, unreadable: &mut Unreadable) {
    for entry in unreadable.note(dir, fs::read_dir(dir)).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                if let Some(depth) = depth.checked_sub(1) {
                    walk(&path, depth, pins, unreadable);
                }
            }
            Ok(kind) if kind.is_file() => match open_pin(&path) {
                Ok(OpenedPin { kind: Some(kind), fd }) => {
                    if let Ok(id) = kind.id(&fd) {
                        pins.entry((kind, id)).or_default().push(path);
                    }
                }
                Ok(_) | Err(InventoryError::Pin { errno: Errno::ENOENT, .. }) => {}
                Err(e) => unreadable.add(&path, &e),
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_that_cannot_be_opened_is_listed() {
        let dir = std::env::temp_dir().join(format!("core-relo-pins-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        // A file of another file system: the kernel opens no such file as a pin.
        let path = dir.join("no_pin");
        fs::write(&path, "").unwrap();
        let (mut pins, mut unreadable) = (HoldersByObject::new(), Unreadable::default());
        walk(&dir, DEPTH, &mut pins, &mut unreadable);
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!((pins.len(), unreadable.0), (0, vec![path]));
    }
}
