//! A regular file replaced as a whole: the new content is complete before it gets the name.

use crate::{
    output::destination::{Destination, Kind},
    process::signals::EndRequests,
};
use rustix::{
    fd::OwnedFd,
    fs::{self, AtFlags, Mode, OFlags, Stat},
    io::Errno,
};
use std::{
    fs::{File, Permissions},
    hash::{BuildHasher as _, RandomState},
    io::{self, Write as _},
    os::{
        fd::AsRawFd as _,
        unix::fs::{PermissionsExt as _, fchown},
    },
};

/// Names that are tried for a new file.
const TRIES: usize = 100;

/// Bytes that are written before the next look for a signal.
const PIECE: usize = 1 << 20;

/// Writes a file beside the destination, then gives it the name: readers see the old content or the new one.
///
/// A signal that asks the process to end takes effect when nothing is left beside the destination.
pub(super) fn replace(destination: &Destination, bytes: &[u8]) -> io::Result<()> {
    let mut signals = EndRequests::catch_all()?;
    let done = stage(destination, bytes, &mut signals);
    // What was staged is removed by now.
    signals.release()?;
    done
}

fn stage(destination: &Destination, bytes: &[u8], signals: &mut EndRequests) -> io::Result<()> {
    let before = match &destination.kind {
        Kind::File(stat) => Some(stat),
        _ => None,
    };
    let mut fill = |file: &File| {
        for piece in bytes.chunks(PIECE) {
            stop_if(signals)?;
            (&*file).write_all(piece)?;
        }
        if let Some(before) = before {
            copy_owner_and_mode(before, file)?;
        }
        file.sync_all()?;
        stop_if(signals)
    };
    let folder = &destination.folder;
    if let Some(file) = unnamed(folder)? {
        fill(&file)?;
        if before.is_none() && link(&file, folder, destination.name.as_os_str()).is_ok() {
            return Ok(());
        }
        if let Some(staged) = Staged::link(&file, folder)? {
            return staged.rename(destination);
        }
        log::info!("a file without a name cannot get one here");
    }
    // Users who may not read the old file must not read the new one while it is written.
    let mode = if before.is_some() { Mode::RUSR | Mode::WUSR } else { new_mode() };
    let (staged, file) = Staged::create(folder, mode)?;
    fill(&file)?;
    staged.rename(destination)
}

fn stop_if(signals: &mut EndRequests) -> io::Result<()> {
    if signals.arrived() { Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted")) } else { Ok(()) }
}

/// Creates a file without a name, which vanishes with the process. `None` if the file system has no such files.
fn unnamed(folder: &OwnedFd) -> io::Result<Option<File>> {
    match fs::openat(folder, c".", OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, new_mode()) {
        Ok(file) => Ok(Some(File::from(file))),
        // Kernels and file systems without O_TMPFILE take it for an attempt to open the folder.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Gives a file without a name a name that is free.
fn link(file: &File, folder: &OwnedFd, name: &std::ffi::OsStr) -> Result<(), Errno> {
    match fs::linkat(file, c"", folder, name, AtFlags::EMPTY_PATH) {
        // Older kernels want a privilege for this, but none for the link in /proc.
        Err(Errno::NOENT) => {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            fs::linkat(fs::CWD, path, folder, name, AtFlags::SYMLINK_FOLLOW)
        }
        linked => linked,
    }
}

/// A file beside the destination. It is removed again unless it gets the destination's name.
struct Staged<'d> {
    folder: &'d OwnedFd,
    name: String,
}

impl<'d> Staged<'d> {
    /// Gives a file without a name a temporary one; `None` if that is not possible here.
    fn link(file: &File, folder: &'d OwnedFd) -> io::Result<Option<Self>> {
        for name in names() {
            match link(file, folder, name.as_ref()) {
                Ok(()) => return Ok(Some(Self { folder, name })),
                Err(Errno::EXIST) => {}
                Err(_) => return Ok(None),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Creates a file with a temporary name.
    fn create(folder: &'d OwnedFd, mode: Mode) -> io::Result<(Self, File)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for name in names() {
            match fs::openat(folder, &*name, flags, mode) {
                Ok(file) => return Ok((Self { folder, name }, File::from(file))),
                Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    fn rename(self, destination: &Destination) -> io::Result<()> {
        fs::renameat(self.folder, &*self.name, &destination.folder, &destination.name)?;
        // The temporary name is gone.
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Err(e) = fs::unlinkat(self.folder, &*self.name, AtFlags::empty()) {
            log::warn!("{} is left behind: {e}", self.name);
        }
    }
}

fn names() -> impl Iterator<Item = String> {
    (0..TRIES).map(|_| format!(".core-relo-{:016x}", RandomState::new().hash_one(())))
}

/// What a new file gets; the umask takes its part.
fn new_mode() -> Mode {
    Mode::from_raw_mode(0o666)
}

/// Gives a new file the owner and mode of the file whose place it takes.
fn copy_owner_and_mode(before: &Stat, file: &File) -> io::Result<()> {
    if let Err(e) = fchown(file, Some(before.st_uid), Some(before.st_gid)) {
        // Only root gives files away. Other users get a file of their own, which no more users may read than the old one.
        log::info!("the owner of the replaced file is not kept: {e}");
        let has_group = fs::fstat(file)?.st_gid == before.st_gid;
        let mode = before.st_mode & if has_group { 0o777 } else { 0o707 };
        return file.set_permissions(Permissions::from_mode(mode));
    }
    // After the owner: a change of the owner clears the set-user-id bits.
    file.set_permissions(Permissions::from_mode(before.st_mode & 0o7777))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use std::path::Path;

    fn folder(path: &Path) -> OwnedFd {
        fs::openat(fs::CWD, path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    fn entries(path: &Path) -> Vec<std::ffi::OsString> {
        let mut names: Vec<_> = std::fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn without_unnamed_files_a_named_one_is_renamed_or_removed() {
        let temp = tempfile::tempdir().unwrap();
        let out = temp.path().join("out");
        let folder = folder(temp.path());
        let (staged, file) = Staged::create(&folder, new_mode()).unwrap();
        (&file).write_all(b"new").unwrap();
        assert_eq!(entries(temp.path()), [&*staged.name]);
        staged.rename(&Destination::find(&out).unwrap()).unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"new");
        drop(Staged::create(&folder, new_mode()).unwrap());
        assert_eq!(entries(temp.path()), ["out"], "an error leaves nothing behind");
    }

    #[test]
    fn the_folder_that_was_found_is_written_to_whatever_takes_its_path() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        std::fs::create_dir(at("folder")).unwrap();
        std::fs::create_dir(at("trap")).unwrap();
        std::fs::write(at("trap/out"), "theirs").unwrap();
        let found = Destination::find(&at("folder/out")).unwrap();
        std::fs::rename(at("folder"), at("moved")).unwrap();
        std::os::unix::fs::symlink("trap", at("folder")).unwrap();
        replace(&found, b"ours").unwrap();
        assert_eq!(std::fs::read(at("moved/out")).unwrap(), b"ours");
        assert_eq!(std::fs::read(at("trap/out")).unwrap(), b"theirs");
        // A link that takes the file's name is replaced, not followed.
        let found = Destination::find(&at("moved/out")).unwrap();
        std::fs::remove_file(at("moved/out")).unwrap();
        std::os::unix::fs::symlink("../trap/out", at("moved/out")).unwrap();
        replace(&found, b"again").unwrap();
        assert_eq!(std::fs::read(at("trap/out")).unwrap(), b"theirs");
        assert!(!at("moved/out").is_symlink());
    }
}
