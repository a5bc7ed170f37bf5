//! Files written whole, or not at all.

use crate::{error::BadInput, input::file};
use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Writes beside the file, then renames: it is the old one or the new one, never half of either.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), BadInput> {
    // What a link points to is replaced, not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if path.exists() {
        let refused =
            |bad: BadInput| BadInput::at(&path, format_args!("cannot be replaced: it {}", bad.what));
        file::regular(&path).map_err(refused)?;
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let write = || -> io::Result<()> {
        let mut beside =
            tempfile::Builder::new().prefix(".core-relo-").permissions(mode()).tempfile_in(&folder)?;
        beside.write_all(bytes)?;
        beside.as_file().sync_all()?;
        beside.persist(&path).map_err(|e| e.error)?;
        Ok(())
    };
    write().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => BadInput::at(&path, "cannot be written: no such folder"),
        io::ErrorKind::PermissionDenied => BadInput::at(&path, "cannot be written: permission denied"),
        _ => BadInput::at(&path, format_args!("cannot be written: {e}")),
    })
}

/// What a new file gets; the umask takes its part.
fn mode() -> Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    Permissions::from_mode(0o666)
}
