//! The replacement of a regular file: the new content is complete before it gets the name.

use crate::{
    output::destination::{Destination, DestinationKind},
    process::signals::TerminationSignals,
};
use rustix::{
    fd::OwnedFd,
    fs::{self, AtFlags, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
};
use std::{
    fs::{File, Permissions},
    hash::{BuildHasher as _, RandomState},
    io::{self, BufWriter, Write},
    os::{
        fd::AsRawFd as _,
        unix::fs::{PermissionsExt as _, fchown},
    },
};

/// The maximum number of attempts to find a temporary name.
const ATTEMPTS: usize = 100;

/// The number of bytes that are written between two checks for a signal.
const CHUNK_BYTES: usize = 1 << 20;

/// A function that writes the content of a file.
pub(super) type WriteContent<'c> = &'c dyn Fn(&mut dyn Write) -> io::Result<()>;

/// Writes a temporary file beside the destination, and renames it: readers see either the old content or the new one.
///
/// A signal ends the process only after the temporary file has been removed or renamed.
pub(super) fn replace(destination: &Destination, content: WriteContent<'_>) -> io::Result<()> {
    with_signals(|signals| stage(destination, content, signals)?.rename(destination))
}

/// Replaces two files. Both temporary files are complete before one is renamed. If the second cannot be renamed, the first is put back.
/// The error has the index of the file.
pub(super) fn replace_both(files: [(&Destination, &[u8]); 2]) -> Result<(), (usize, io::Error)> {
    let [(first, first_bytes), (second, second_bytes)] = files;
    let mut failed = 0;
    let result = with_signals(|signals| {
        let staged_first = stage(first, &|out| out.write_all(first_bytes), signals)?;
        failed = 1;
        let staged_second = stage(second, &|out| out.write_all(second_bytes), signals)?;
        failed = 0;
        let replaced = staged_first.replace(first)?;
        failed = 1;
        staged_second.rename(second).inspect_err(|_| replaced.put_back(first))
    });
    result.map_err(|e| (failed, e))
}

/// Runs a function that creates and removes temporary files. A signal ends the process after it.
fn with_signals(run: impl FnOnce(&mut TerminationSignals) -> io::Result<()>) -> io::Result<()> {
    let mut signals = TerminationSignals::catch_all().map_err(io::Error::other)?;
    let result = run(&mut signals);
    // The temporary files do not exist any more.
    signals.release().map_err(io::Error::other)?;
    result
}

/// Writes a temporary file beside the destination, with the owner and mode of the file that it replaces.
fn stage<'d>(
    destination: &'d Destination,
    content: WriteContent<'_>,
    signals: &mut TerminationSignals,
) -> io::Result<Staged<'d>> {
    let before = match &destination.kind {
        DestinationKind::File(stat) => Some(stat),
        _ => None,
    };
    let mut fill = |file: &File| {
        let mut out = BufWriter::new(CheckedWriter { file, signals: &mut *signals });
        content(&mut out)?;
        out.flush()?;
        drop(out);
        if let Some(before) = before {
            copy_owner_and_mode(before, file)?;
        }
        file.sync_all()?;
        stop_if(signals)
    };
    let dir = &destination.dir;
    if let Some(file) = unnamed(dir)? {
        fill(&file)?;
        if let Some(staged) = Staged::link(&file, dir)? {
            return Ok(staged);
        }
        log::info!("a file without a name cannot get one here");
    }
    // Users who may not read the old file must not read the new one while it is written.
    let mode = if before.is_some() { Mode::RUSR | Mode::WUSR } else { new_mode() };
    let (staged, file) = Staged::create(dir, mode)?;
    fill(&file)?;
    Ok(staged)
}

/// A writer that fails after a signal.
struct CheckedWriter<'w> {
    file: &'w File,
    signals: &'w mut TerminationSignals,
}

impl Write for CheckedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        stop_if(self.signals)?;
        self.file.write(bytes.get(..CHUNK_BYTES).unwrap_or(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn stop_if(signals: &mut TerminationSignals) -> io::Result<()> {
    if signals.has_arrived() { Err(io::Error::other("interrupted")) } else { Ok(()) }
}

/// Creates a file without a name, which the kernel removes when it is closed. `None` if the file system does not support it.
fn unnamed(dir: &OwnedFd) -> io::Result<Option<File>> {
    match fs::openat(dir, c".", OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, new_mode()) {
        Ok(file) => Ok(Some(File::from(file))),
        // Without O_TMPFILE, the request means to open the directory for writing.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Gives a name to a file without a name. Fails if the name is in use.
fn link(file: &File, dir: &OwnedFd, name: &std::ffi::OsStr) -> Result<(), Errno> {
    match fs::linkat(file, c"", dir, name, AtFlags::EMPTY_PATH) {
        // Older kernels need a privilege for this, but not for the link in /proc.
        Err(Errno::NOENT) => {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            fs::linkat(fs::CWD, path, dir, name, AtFlags::SYMLINK_FOLLOW)
        }
        linked => linked,
    }
}

/// A temporary file beside the destination. Dropping it removes the file, unless it was renamed.
struct Staged<'d> {
    dir: &'d OwnedFd,
    name: String,
}

impl<'d> Staged<'d> {
    /// Gives a temporary name to a file without a name. `None` if that is not possible here.
    fn link(file: &File, dir: &'d OwnedFd) -> io::Result<Option<Self>> {
        for name in names() {
            match link(file, dir, name.as_ref()) {
                Ok(()) => return Ok(Some(Self { dir, name })),
                Err(Errno::EXIST) => {}
                Err(_) => return Ok(None),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Creates a file with a temporary name.
    fn create(dir: &'d OwnedFd, mode: Mode) -> io::Result<(Self, File)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for name in names() {
            match fs::openat(dir, &*name, flags, mode) {
                Ok(file) => return Ok((Self { dir, name }, File::from(file))),
                Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    fn rename(self, destination: &Destination) -> io::Result<()> {
        fs::renameat(self.dir, &*self.name, &destination.dir, &destination.name)?;
        // The temporary name is gone.
        std::mem::forget(self);
        Ok(())
    }
}

/// The content that a destination had before it was replaced.
enum Replaced<'d> {
    /// The old file, which has the temporary name now.
    File(Staged<'d>),
    /// No file.
    Free,
    /// A file that is lost: the file system cannot exchange two names.
    Lost,
}

impl<'d> Staged<'d> {
    /// Gives the file the name of the destination. The result keeps the old file.
    fn replace(self, destination: &Destination) -> io::Result<Replaced<'d>> {
        if !matches!(destination.kind, DestinationKind::File(_)) {
            self.rename(destination)?;
            return Ok(Replaced::Free);
        }
        match self.exchange(destination) {
            Ok(()) => Ok(Replaced::File(self)),
            Err(_) => self.rename(destination).map(|()| Replaced::Lost),
        }
    }

    /// Exchanges the names of the file and of the destination.
    fn exchange(&self, destination: &Destination) -> Result<(), Errno> {
        let to = (&destination.dir, &destination.name);
        fs::renameat_with(self.dir, &*self.name, to.0, to.1, RenameFlags::EXCHANGE)
    }
}

impl Replaced<'_> {
    /// Gives the destination its old content.
    fn put_back(&self, destination: &Destination) {
        let put_back = match self {
            Self::File(old) => old.exchange(destination),
            Self::Free => fs::unlinkat(&destination.dir, &destination.name, AtFlags::empty()),
            Self::Lost => Err(Errno::OPNOTSUPP),
        };
        if let Err(e) = put_back {
            log::warn!("{} is replaced: {e}", destination.name.display());
        }
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Err(e) = fs::unlinkat(self.dir, &*self.name, AtFlags::empty()) {
            log::warn!("{} is left behind: {e}", self.name);
        }
    }
}

fn names() -> impl Iterator<Item = String> {
    random_names(".core-relo-")
}

/// Returns names that other users cannot guess, with a beginning.
pub(crate) fn random_names(prefix: &str) -> impl Iterator<Item = String> {
    (0..ATTEMPTS).map(move |_| format!("{prefix}{:016x}", RandomState::new().hash_one(())))
}

/// Returns the mode of a new file, before the umask.
fn new_mode() -> Mode {
    Mode::from_raw_mode(0o666)
}

/// Gives a file the owner and the mode of the file that it replaces.
fn copy_owner_and_mode(before: &Stat, file: &File) -> io::Result<()> {
    if let Err(e) = fchown(file, Some(before.st_uid), Some(before.st_gid)) {
        // Only root may change the owner. For other users, the new file is their own, and no more users may read it than the old one.
        log::info!("the owner of the replaced file is not kept: {e}");
        let has_group = fs::fstat(file)?.st_gid == before.st_gid;
        let mode = before.st_mode & if has_group { 0o777 } else { 0o707 };
        return file.set_permissions(Permissions::from_mode(mode));
    }
    // The mode comes last, because changing the owner clears the set-user-id bits.
    file.set_permissions(Permissions::from_mode(before.st_mode & 0o7777))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use std::path::Path;

    fn dir(path: &Path) -> OwnedFd {
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
        let dir = dir(temp.path());
        let (staged, file) = Staged::create(&dir, new_mode()).unwrap();
        (&file).write_all(b"new").unwrap();
        assert_eq!(entries(temp.path()), [&*staged.name]);
        staged.rename(&Destination::find(&out).unwrap()).unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"new");
        drop(Staged::create(&dir, new_mode()).unwrap());
        assert_eq!(entries(temp.path()), ["out"], "an error leaves nothing behind");
    }

    #[test]
    fn the_directory_that_was_found_is_written_to_whatever_takes_its_path() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        std::fs::create_dir(at("directory")).unwrap();
        std::fs::create_dir(at("trap")).unwrap();
        std::fs::write(at("trap/out"), "theirs").unwrap();
        let found = Destination::find(&at("directory/out")).unwrap();
        std::fs::rename(at("directory"), at("moved")).unwrap();
        std::os::unix::fs::symlink("trap", at("directory")).unwrap();
        replace(&found, &|out| out.write_all(b"ours")).unwrap();
        assert_eq!(std::fs::read(at("moved/out")).unwrap(), b"ours");
        assert_eq!(std::fs::read(at("trap/out")).unwrap(), b"theirs");
        // A link that takes the file's name is replaced, not followed.
        let found = Destination::find(&at("moved/out")).unwrap();
        std::fs::remove_file(at("moved/out")).unwrap();
        std::os::unix::fs::symlink("../trap/out", at("moved/out")).unwrap();
        replace(&found, &|out| out.write_all(b"again")).unwrap();
        assert_eq!(std::fs::read(at("trap/out")).unwrap(), b"theirs");
        assert!(!at("moved/out").is_symlink());
    }

    /// The second file becomes a directory after it was found, so that it cannot be replaced.
    #[test]
    fn the_first_of_two_files_is_put_back_if_the_second_cannot_be_replaced() {
        for old in [None, Some("old")] {
            let temp = tempfile::tempdir().unwrap();
            let at = |name: &str| temp.path().join(name);
            if let Some(old) = old {
                std::fs::write(at("first"), old).unwrap();
            }
            let (first, second) =
                (Destination::find(&at("first")).unwrap(), Destination::find(&at("second")).unwrap());
            std::fs::create_dir(at("second")).unwrap();
            assert_eq!(replace_both([(&first, b"a"), (&second, b"b")]).unwrap_err().0, 1);
            assert_eq!(std::fs::read_to_string(at("first")).ok().as_deref(), old);
            assert_eq!(entries(temp.path()).len(), if old.is_some() { 2 } else { 1 });
            std::fs::remove_dir(at("second")).unwrap();
            replace_both([(&first, b"a"), (&second, b"b")]).unwrap();
            assert_eq!(std::fs::read(at("first")).unwrap(), b"a");
            assert_eq!(std::fs::read(at("second")).unwrap(), b"b");
            assert_eq!(entries(temp.path()), ["first", "second"]);
        }
    }
}
