//! Attach targets that are files.

use core_relo_loader::attach::AttachError;
use rustix::fs::{Mode, OFlags};
use std::{os::fd::OwnedFd, path::Path};

/// Opens a file without waiting for the writer of a named pipe.
pub(super) fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, AttachError> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|e| {
        let e = std::io::Error::from(e);
        AttachError::target(path.display().to_string(), format!("cannot open it: {e}"))
    })
}
