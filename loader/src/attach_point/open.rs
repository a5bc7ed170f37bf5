//! Attach targets that are files.

use crate::attach::AttachError;
use std::{
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Opens an attach target, with further flags, without waiting for the writer of a named pipe.
pub(crate) fn open_target(path: &Path, flags: i32) -> Result<File, AttachError> {
    let opened = OpenOptions::new().read(true).custom_flags(flags | libc::O_NONBLOCK).open(path);
    opened.map_err(|e| AttachError::target(path.display().to_string(), format!("cannot open it: {e}")))
}
