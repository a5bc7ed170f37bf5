//! A kernel object by its id, and the list of all objects of a kind.

use crate::{
    error::BadInput,
    kernel_objects::{error::refused, kind::Kind},
};
use core_relo_loader::sys::Errno;
use std::os::fd::OwnedFd;

/// A kernel object that is opened only when its facts are read: a process may not have all of them open at once.
#[derive(Debug)]
pub(crate) struct KernelObject {
    pub(crate) kind: Kind,
    pub(crate) id: u32,
    /// The descriptor, if the object is open already.
    fd: Option<OwnedFd>,
}

impl KernelObject {
    pub(crate) const fn new(kind: Kind, id: u32) -> Self {
        Self { kind, id, fd: None }
    }

    pub(crate) const fn from_fd(kind: Kind, id: u32, fd: OwnedFd) -> Self {
        Self { kind, id, fd: Some(fd) }
    }

    /// Returns a descriptor of the object, or `None` if the object no longer exists, or not yet.
    pub(crate) fn open(self) -> Result<Option<OwnedFd>, BadInput> {
        match self.fd.map_or_else(|| self.kind.open(self.id), Ok) {
            Ok(fd) => Ok(Some(fd)),
            Err(errno) if is_absent(self.kind, errno) => Ok(None),
            Err(errno) => Err(refused(self.kind, &format!("open id {} of", self.id), errno)),
        }
    }
}

/// Returns whether an error of opening an id means that the object was removed or is still being created.
///
/// A link has an id before its creation is complete. The kernel then answers `EAGAIN` (`bpf_link_by_id`).
fn is_absent(kind: Kind, errno: Errno) -> bool {
    match errno {
        Errno::ENOENT => true,
        Errno::EAGAIN => kind == Kind::Link,
        _ => false,
    }
}

/// Returns all objects of a kind, in the order of their ids.
pub(crate) fn list(kind: Kind) -> Result<Vec<KernelObject>, BadInput> {
    let mut objects = Vec::new();
    let mut last = 0;
    while let Some(id) = kind.next_id(last).map_err(|e| refused(kind, "list", e))? {
        objects.push(KernelObject::new(kind, id));
        last = id;
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The errno numbers are those of Linux on all architectures: ENOENT, EAGAIN, EPERM.
    #[test]
    fn an_incomplete_link_is_absent_and_other_errors_are_reported() {
        let (enoent, eagain, eperm) = (Errno(2), Errno(11), Errno(1));
        assert_eq!(eagain, Errno::EAGAIN);
        assert!(is_absent(Kind::Map, enoent) && is_absent(Kind::Link, enoent));
        assert!(is_absent(Kind::Link, eagain) && !is_absent(Kind::Map, eagain));
        assert!(!is_absent(Kind::Link, eperm));
    }
}
