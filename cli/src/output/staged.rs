//! The replacement of a regular file: the new content is complete before it gets the name.

use crate::{
    output::destination::{Destination, DestinationKind},
    process::signals::TerminationSignals,
};
use rustix::fs::{Stat, fstat};
use std::{
    fs::{File, Permissions},
    io::{self, BufWriter, Write},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, fchown},
};
use tempfile::NamedTempFile;

/// The number of bytes that are written between two checks for a signal.
const CHUNK_BYTES: usize = 1 << 20;

/// The mode of a new file, before the umask.
const NEW_MODE: u32 = 0o666;

/// The mode of a file that replaces another, while it is written: users who may not read the old file must
/// not read the new one.
const PRIVATE_MODE: u32 = 0o600;

/// A function that writes the content of a file.
pub(super) type WriteContent<'c> = &'c dyn Fn(&mut dyn Write) -> io::Result<()>;

/// A file to write.
pub(super) struct NewFile<'f> {
    pub(super) destination: &'f Destination,
    pub(super) content: WriteContent<'f>,
}

/// A file that cannot be written.
#[derive(Debug)]
pub(super) struct FileFailure {
    /// The index of the file.
    pub(super) index: usize,
    pub(super) cause: io::Error,
}

/// Writes a temporary file beside each destination, and renames them when all are complete: readers of a file
/// see either the old content or the new one.
///
/// A signal ends the process only after the temporary files have been removed or renamed.
pub(super) fn replace(files: &[NewFile<'_>]) -> Result<(), FileFailure> {
    let failed = |e| FileFailure { index: 0, cause: io::Error::other(e) };
    let mut signals = TerminationSignals::catch_all().map_err(failed)?;
    let result = replace_until_signal(files, &mut signals);
    // The temporary files do not exist any more.
    signals.release().map_err(failed)?;
    result
}

fn replace_until_signal(files: &[NewFile<'_>], signals: &mut TerminationSignals) -> Result<(), FileFailure> {
    let mut staged = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let complete = stage(file.destination, file.content, signals);
        staged.push(complete.map_err(|cause| FileFailure { index, cause })?);
    }
    for (index, (complete, file)) in staged.into_iter().zip(files).enumerate() {
        let renamed = complete.persist(file.destination.path());
        renamed.map_err(|e| FileFailure { index, cause: e.error })?;
    }
    Ok(())
}

/// Writes a temporary file beside the destination, with the owner and mode of the file that it replaces.
fn stage(
    destination: &Destination,
    content: WriteContent<'_>,
    signals: &mut TerminationSignals,
) -> io::Result<NamedTempFile> {
    let before = match &destination.kind {
        DestinationKind::File(stat) => Some(stat),
        _ => None,
    };
    let mode = if before.is_some() { PRIVATE_MODE } else { NEW_MODE };
    // `make_in`, because the errors of `tempfile_in` contain the temporary name.
    let staged = tempfile::Builder::new().prefix(".core-relo-").make_in(destination.dir_path(), |path| {
        File::options().write(true).create_new(true).mode(mode).open(path)
    })?;
    let mut out = BufWriter::new(CheckedWriter { file: staged.as_file(), signals: &mut *signals });
    content(&mut out)?;
    out.flush()?;
    drop(out);
    if let Some(before) = before {
        copy_owner_and_mode(before, staged.as_file())?;
    }
    staged.as_file().sync_all()?;
    stop_if(signals)?;
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

/// Gives a file the owner and the mode of the file that it replaces.
fn copy_owner_and_mode(before: &Stat, file: &File) -> io::Result<()> {
    if let Err(e) = fchown(file, Some(before.st_uid), Some(before.st_gid)) {
        // Only root may change the owner. For other users, the new file is their own, and no more users may
        // read it than the old one.
        log::info!("the owner of the replaced file is not kept: {e}");
        let has_group = fstat(file)?.st_gid == before.st_gid;
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

    fn file<'f>(destination: &'f Destination, content: WriteContent<'f>) -> NewFile<'f> {
        NewFile { destination, content }
    }

    #[test]
    fn an_error_leaves_the_old_file_and_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        let out = temp.path().join("out");
        for old in [None, Some("old")] {
            if let Some(old) = old {
                std::fs::write(&out, old).unwrap();
            }
            let found = Destination::find(&out).unwrap();
            let content = |out: &mut dyn Write| out.write_all(b"new").and(Err(io::Error::other("full")));
            assert_eq!(replace(&[file(&found, &content)]).unwrap_err().cause.to_string(), "full");
            assert_eq!(std::fs::read_to_string(&out).ok().as_deref(), old);
            assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), old.iter().count());
        }
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
        replace(&[file(&found, &|out| out.write_all(b"ours"))]).unwrap();
        assert_eq!(std::fs::read(at("moved/out")).unwrap(), b"ours");
        assert_eq!(std::fs::read(at("trap/out")).unwrap(), b"theirs");
        // A link that takes the file's name is replaced, not followed.
        let found = Destination::find(&at("moved/out")).unwrap();
        std::fs::remove_file(at("moved/out")).unwrap();
        std::os::unix::fs::symlink("../trap/out", at("moved/out")).unwrap();
        replace(&[file(&found, &|out| out.write_all(b"again"))]).unwrap();
        assert_eq!(std::fs::read(at("trap/out")).unwrap(), b"theirs");
        assert!(!at("moved/out").is_symlink());
    }

    #[test]
    fn neither_of_two_files_is_replaced_before_both_are_complete() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        std::fs::write(at("first"), "old").unwrap();
        let (first, second) =
            (Destination::find(&at("first")).unwrap(), Destination::find(&at("second")).unwrap());
        let new: WriteContent<'_> = &|out| out.write_all(b"new");
        let full: WriteContent<'_> = &|_| Err(io::Error::other("full"));
        assert_eq!(replace(&[file(&first, new), file(&second, full)]).unwrap_err().index, 1);
        assert_eq!(std::fs::read(at("first")).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
        replace(&[file(&first, new), file(&second, new)]).unwrap();
        assert_eq!([at("first"), at("second")].map(|path| std::fs::read(path).unwrap()), [b"new", b"new"]);
    }
}
