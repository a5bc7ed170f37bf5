//! Reading facts of kernel objects: their info structs, pins, and the processes that have them open.

use crate::{
    console::Console,
    error::BadInput,
    kernel_objects::{error::unreadable, object::KernelObject},
};
use core_relo_loader::sys::Errno;
use std::{io, os::fd::OwnedFd};

/// Reads the facts of each object with `read`. Skips objects that no longer exist, and reports those that `read` fails on.
///
/// The outer result is an error of the output. The inner result is the error of an object that cannot be opened: other objects
/// would fail for the same reason.
pub(super) fn read_all<F>(
    console: &mut Console<'_>,
    objects: Vec<KernelObject>,
    mut read: impl FnMut(&OwnedFd) -> Result<F, Errno>,
) -> io::Result<Result<Vec<F>, BadInput>> {
    let mut all = Vec::new();
    for object in objects {
        let (kind, id) = (object.kind, object.id);
        match object.open() {
            Ok(None) => {}
            Ok(Some(fd)) => match read(&fd) {
                Ok(facts) => all.push(facts),
                Err(e) => console.fail(&unreadable(kind, id, "its info", e))?,
            },
            Err(bad) => return Ok(Err(bad)),
        }
    }
    Ok(Ok(all))
}
