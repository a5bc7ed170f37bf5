//! Files written whole, or not at all.

use crate::{error::BadInput, input::file};
use std::{
    fs::{self, File, Metadata, Permissions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown},
    path::{Path, PathBuf},
};

/// Writes beside the file, then renames: it is the old one or the new one, never half of either.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), BadInput> {
    let path =
        target(path).ok_or_else(|| BadInput::at(path, "cannot be written: its links lead to each other"))?;
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
        if let Ok(before) = fs::metadata(&path) {
            like(&before, beside.as_file())?;
        }
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

/// The file that is meant: what a link points to is replaced, or made, and not the link.
fn target(path: &Path) -> Option<PathBuf> {
    // As many links on the way as the kernel follows.
    const LINKS: usize = 40;
    let mut at = path.to_path_buf();
    for _ in 0..LINKS {
        if let Ok(whole) = fs::canonicalize(&at) {
            return Some(whole);
        }
        // It points to nothing yet.
        let Ok(next) = fs::read_link(&at) else { return Some(at) };
        at = at.parent().map_or_else(|| next.clone(), |folder| folder.join(&next));
    }
    None
}

/// Gives a new file the owner and mode of the one whose place it takes.
fn like(before: &Metadata, file: &File) -> io::Result<()> {
    if let Err(e) = fchown(file, Some(before.uid()), Some(before.gid())) {
        // Only root gives files away. Who may not gets a file of their own, which no more may read than the old one.
        log::info!("the owner of what is replaced is not kept: {e}");
        let own = file.metadata()?.gid() == before.gid();
        let mode = before.mode() & if own { 0o777 } else { 0o707 };
        return file.set_permissions(Permissions::from_mode(mode));
    }
    // After the owner: changing that clears the bits of set-user-id.
    file.set_permissions(Permissions::from_mode(before.mode() & 0o7777))
}

/// What a new file gets; the umask takes its part.
fn mode() -> Permissions {
    Permissions::from_mode(0o666)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn owner_and_mode_stay_and_links_lead_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        // Root alone can see to that.
        let given = std::os::unix::fs::chown(&path, Some(65534), Some(65534)).is_ok();
        replace(&path, b"new").unwrap();
        let now = fs::metadata(&path).unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), now.mode() & 0o7777), (b"new".as_slice(), 0o640));
        assert!(!given || (now.uid(), now.gid()) == (65534, 65534));

        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        symlink("second", &first).unwrap();
        symlink(folder.path().join("made"), &second).unwrap();
        replace(&first, b"made").unwrap();
        assert_eq!(fs::read(folder.path().join("made")).unwrap(), b"made");
        assert!(first.is_symlink() && second.is_symlink());
        symlink("round", folder.path().join("round")).unwrap();
        assert!(replace(&folder.path().join("round"), b"x").is_err(), "a link to itself leads nowhere");
    }
}
