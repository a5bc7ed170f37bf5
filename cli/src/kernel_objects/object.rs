//! A kernel object by its id, and the list of all objects of a kind.

use crate::{
    error::BadInput,
    kernel_objects::{error::refused, kind::Kind},
};
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

    /// Returns a descriptor of the object, or `None` if the object no longer exists.
    pub(crate) fn open(self) -> Result<Option<OwnedFd>, BadInput> {
        match self.fd.map_or_else(|| self.kind.open(self.id), Ok) {
            Ok(fd) => Ok(Some(fd)),
            Err(e) if e.name() == Some("ENOENT") => Ok(None),
            Err(e) => Err(refused(self.kind, &format!("open id {} of", self.id), e)),
        }
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
