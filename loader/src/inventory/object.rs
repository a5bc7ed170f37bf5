//! [`KernelObject`]: an object by its id, and the list of all objects of a kind.

use super::error::InventoryError;
use crate::sys::{Errno, InfoError, LinkInfo, ObjectKind};
use std::os::fd::OwnedFd;

/// An object of the kernel that is opened only when it is read: a process may not have all objects open at
/// once.
#[derive(Debug)]
pub struct KernelObject {
    kind: ObjectKind,
    id: u32,
    /// The descriptor, if the object is open already.
    fd: Option<OwnedFd>,
}

impl KernelObject {
    /// Creates the object with an id.
    pub const fn new(kind: ObjectKind, id: u32) -> Self {
        Self { kind, id, fd: None }
    }

    /// Creates the object of a descriptor.
    pub fn from_fd(kind: ObjectKind, fd: OwnedFd) -> Result<Self, InfoError> {
        Ok(Self { kind, id: kind.id(&fd)?, fd: Some(fd) })
    }

    /// Returns the kind of the object.
    pub const fn kind(&self) -> ObjectKind {
        self.kind
    }

    /// Returns the id of the object.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Returns a descriptor of the object, or `None` if the object no longer exists, or not yet.
    pub fn open(self) -> Result<Option<OwnedFd>, InventoryError> {
        let Self { kind, id, fd } = self;
        match fd.map_or_else(|| kind.open(id), Ok) {
            Ok(fd) => Ok(Some(fd)),
            Err(errno) if is_absent(kind, errno) => Ok(None),
            Err(errno) => Err(InventoryError::Open { kind, id, errno }),
        }
    }
}

/// Returns whether an error of opening an id means that the object was removed or is still being created.
///
/// A link has an id before its creation is complete. The kernel then answers `EAGAIN` (`bpf_link_by_id`).
fn is_absent(kind: ObjectKind, errno: Errno) -> bool {
    match errno {
        Errno::ENOENT => true,
        Errno::EAGAIN => kind == ObjectKind::Link,
        _ => false,
    }
}

/// Returns all objects of a kind, in the order of their ids.
pub fn list(kind: ObjectKind) -> Result<Vec<KernelObject>, InventoryError> {
    let mut objects = Vec::new();
    let mut last = 0;
    while let Some(id) = kind.next_id(last).map_err(|errno| InventoryError::List { kind, errno })? {
        objects.push(KernelObject::new(kind, id));
        last = id;
    }
    Ok(objects)
}

/// Returns the properties of all links, in the order of their ids. Kernels before 5.8 have no links to list.
pub fn link_infos() -> Result<Vec<LinkInfo>, InventoryError> {
    let kind = ObjectKind::Link;
    let links = match list(kind) {
        Err(InventoryError::List { errno: Errno::EINVAL, .. }) => Vec::new(),
        links => links?,
    };
    let mut infos = Vec::new();
    for link in links {
        let id = link.id();
        if let Some(fd) = link.open()? {
            infos.push(LinkInfo::query(&fd).map_err(|error| InventoryError::Info { kind, id, error })?);
        }
    }
    Ok(infos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_link_is_absent_and_other_errors_are_reported() {
        assert!(is_absent(ObjectKind::Map, Errno::ENOENT) && is_absent(ObjectKind::Link, Errno::ENOENT));
        assert!(is_absent(ObjectKind::Link, Errno::EAGAIN) && !is_absent(ObjectKind::Map, Errno::EAGAIN));
        assert!(!is_absent(ObjectKind::Link, Errno::EPERM));
    }
}
