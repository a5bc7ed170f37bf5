//! The objects that a [`ObjectSelection`] fits: by id, by name, by tag, by pin.

use super::{
    error::InventoryError,
    names::has_name,
    object::{KernelObject, list},
    pins::{OpenedPin, open_pin},
    selection::ObjectSelection,
};
use crate::sys::{Errno, ObjectKind, ProgramInfo};
use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

/// Returns the objects of a kind that a selection fits, at least one. Several objects may have the same name
/// or tag.
pub fn find(kind: ObjectKind, selection: &ObjectSelection) -> Result<Vec<KernelObject>, InventoryError> {
    let not_found = || InventoryError::NotFound { kind, selection: selection.clone() };
    let objects = match selection {
        ObjectSelection::Id(id) => match kind.open(*id) {
            Ok(fd) => vec![KernelObject::from_fd(kind, fd).map_err(|error| InventoryError::Info {
                kind,
                id: *id,
                error,
            })?],
            Err(Errno::ENOENT) => Vec::new(),
            Err(errno) => return Err(InventoryError::Open { kind, id: *id, errno }),
        },
        ObjectSelection::Pin(path) => vec![find_pin(kind, path)?],
        ObjectSelection::Tag(tag) if kind != ObjectKind::Program => {
            return Err(InventoryError::NoTag { kind, tag: *tag });
        }
        ObjectSelection::Tag(tag) => filter(kind, |id, program| {
            let info = ProgramInfo::query(program);
            Ok(info.map_err(|error| InventoryError::Info { kind, id, error })?.tag == *tag)
        })?,
        ObjectSelection::Name(name) if name.is_empty() => Vec::new(),
        ObjectSelection::Name(name) => filter(kind, |_, fd| Ok(has_name(kind, fd, name)))?,
    };
    if objects.is_empty() { Err(not_found()) } else { Ok(objects) }
}

/// Returns the object that a selection fits. Several objects are an error.
pub fn find_one(kind: ObjectKind, selection: &ObjectSelection) -> Result<KernelObject, InventoryError> {
    let mut objects = find(kind, selection)?;
    let ids = objects.iter().map(KernelObject::id).collect();
    let object = objects.pop().filter(|_| objects.is_empty());
    object.ok_or_else(|| InventoryError::Several { kind, selection: selection.clone(), ids })
}

/// Returns the objects of a kind that a predicate accepts.
fn filter(
    kind: ObjectKind,
    is_wanted: impl Fn(u32, &OwnedFd) -> Result<bool, InventoryError>,
) -> Result<Vec<KernelObject>, InventoryError> {
    let mut objects = Vec::new();
    for object in list(kind)? {
        let id = object.id();
        // The descriptor is closed at once, because the predicate may accept many objects.
        if let Some(fd) = object.open()?
            && is_wanted(id, &fd)?
        {
            objects.push(KernelObject::new(kind, id));
        }
    }
    Ok(objects)
}

/// Returns the object of a kind with this pin.
fn find_pin(kind: ObjectKind, path: &Path) -> Result<KernelObject, InventoryError> {
    let opened = open_with_loader_name(path)?;
    match opened.kind {
        Some(found) if found != kind => {
            Err(InventoryError::PinKind { path: path.into(), found, expected: kind })
        }
        _ => KernelObject::from_fd(kind, opened.fd)
            .map_err(|error| InventoryError::Pin { path: path.into(), errno: error.errno() }),
    }
}

/// Opens a pin. If the name has dots, which a bpffs refuses, opens the pin under the name that loaders give
/// it.
fn open_with_loader_name(path: &Path) -> Result<OpenedPin, InventoryError> {
    open_pin(path).or_else(|error| {
        let Some(pin) = loader_pin(path) else { return Err(error) };
        let opened = open_pin(&pin).map_err(|_no_such_pin| error)?;
        log::info!("{}: opened as {}", path.display(), pin.display());
        Ok(opened)
    })
}

/// Returns the path at which loaders pin a map whose name has dots: with `_` for each dot, as
/// `sanitize_pin_path` of libbpf does. Returns `None` if the name has no dots.
fn loader_pin(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    name.contains('.').then(|| path.with_file_name(name.replace('.', "_")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_have_no_dots() {
        let pin = |path: &str| loader_pin(Path::new(path)).map(|pin| pin.display().to_string());
        assert_eq!(pin("/sys/fs/bpf/v1.0/.rodata.a"), Some("/sys/fs/bpf/v1.0/_rodata_a".into()));
        assert_eq!(pin("/sys/fs/bpf/v1.0/counts"), None);
    }
}
