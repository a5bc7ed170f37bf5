//! Output files of commands. Regular files are replaced atomically; devices, pipes and open files are
//! appended to.

mod command_files;
mod destination;
mod inputs;
mod kind;
mod path;
mod staged;
mod stream;

use crate::error::BadInput;
pub(crate) use command_files::{CommandFiles, NamedOutput};
pub(crate) use destination::{Destination, DestinationError, DestinationKind};
pub(crate) use inputs::{check_outputs, refuse_inputs};
pub(crate) use kind::{OutputKind, is_output_archive_name};
pub(crate) use path::OutputPath;
use rustix::fs::{FileType, Mode, OFlags};
use std::{
    io::{self, Write},
    os::unix::fs::MetadataExt as _,
    path::Path,
};
pub(crate) use stream::{Stream, is_ended_by_signal, is_stdout_closed, keep_stdout_closed};

/// Returns whether a path names standard output: `-`.
fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns whether a path leads to the file that is standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    let same = || {
        let (own, other) = (rustix::fs::fstat(io::stdout()).ok()?, std::fs::metadata(path).ok()?);
        Some((own.st_dev, own.st_ino) == (other.dev(), other.ino()))
    };
    is_dash(path) || same().unwrap_or(false)
}

/// Writes an output file. `-` is standard output. Replaces a regular file as a whole; appends to a device, a
/// pipe or an open file of a process (`/dev/stdout`). A reader of standard output that wants no more bytes is
/// no error.
pub(crate) fn write(path: &OutputPath, bytes: &[u8]) -> Result<(), BadInput> {
    write_with(path, &|out| out.write_all(bytes))
}

/// Writes an output file as [`write`] does. The function writes the content, so that the content need not be
/// in memory as a whole.
pub(crate) fn write_with(
    path: &OutputPath,
    content: &dyn Fn(&mut dyn Write) -> io::Result<()>,
) -> Result<(), BadInput> {
    if is_dash(path) {
        let mut out = io::BufWriter::new(Stream(io::stdout().lock()));
        let written = content(&mut out).and_then(|()| out.flush());
        return match written {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|e| BadInput::new("stdout", format_args!("cannot be written: {e}"))),
        };
    }
    let found = Destination::find(path).map_err(|e| not_writable(path, e))?;
    let written = match &found.kind {
        DestinationKind::Free | DestinationKind::File(_) => {
            let file = staged::NewFile { destination: &found, content };
            staged::replace(&[file]).map_err(|failure| DestinationError::from(failure.cause))
        }
        DestinationKind::Special(_) | DestinationKind::OpenFile => append(&found, content),
    };
    match written {
        Err(DestinationError::Io(e)) if e.kind() == io::ErrorKind::BrokenPipe && is_stdout(path) => Ok(()),
        written => written.map_err(|e| not_writable(path, e)),
    }
}

/// An output file that is not written yet.
#[derive(Clone, Copy)]
pub(crate) struct NewOutput<'o> {
    pub(crate) path: &'o OutputPath,
    pub(crate) content: &'o [u8],
}

/// Writes two output files of one result, as [`write`] does. If both are regular files, neither is replaced
/// before both are complete.
pub(crate) fn write_both(first: NewOutput<'_>, second: NewOutput<'_>) -> Result<(), BadInput> {
    let regular = |path: &OutputPath| {
        if is_dash(path) {
            return Ok(None);
        }
        let found = Destination::find(path).map_err(|e| not_writable(path, e))?;
        Ok::<_, BadInput>(Some(found).filter(Destination::is_replaced))
    };
    let found = (regular(first.path)?, regular(second.path)?);
    match &found {
        (Some(to_first), Some(to_second)) => {
            let first_content = |out: &mut dyn Write| out.write_all(first.content);
            let second_content = |out: &mut dyn Write| out.write_all(second.content);
            let files = [
                staged::NewFile { destination: to_first, content: &first_content },
                staged::NewFile { destination: to_second, content: &second_content },
            ];
            staged::replace(&files).map_err(|failure| {
                let path = if failure.index == 0 { first.path } else { second.path };
                not_writable(path, DestinationError::from(failure.cause))
            })
        }
        // What a pipe has got cannot be taken back, so it gets the last bytes.
        (None, Some(_)) => write(second.path, second.content).and_then(|()| write(first.path, first.content)),
        _ => write(first.path, first.content).and_then(|()| write(second.path, second.content)),
    }
}

/// Appends to a device, a pipe or an open file, as `cat >>` does. Waits for the reader of a pipe.
fn append(
    found: &Destination,
    content: &dyn Fn(&mut dyn Write) -> io::Result<()>,
) -> Result<(), DestinationError> {
    let file = found.open(OFlags::WRONLY | OFlags::APPEND, Mode::empty())?;
    let mode = rustix::fs::fstat(&file).map_err(io::Error::from)?.st_mode;
    if FileType::from_raw_mode(mode) == FileType::BlockDevice {
        return Err(io::Error::other("it is a disk, expected a file, a pipe or a character device").into());
    }
    let mut out = io::BufWriter::new(file);
    content(&mut out)?;
    Ok(out.flush()?)
}

/// Creates the error for a path that cannot be written.
pub(crate) fn not_writable(path: &Path, e: DestinationError) -> BadInput {
    let bad =
        |what: &dyn std::fmt::Display| BadInput::for_path(path, format_args!("cannot be written: {what}"));
    match &e {
        DestinationError::Io(io) => match io.kind() {
            io::ErrorKind::NotFound => bad(&"no such directory"),
            io::ErrorKind::PermissionDenied => bad(&"permission denied"),
            _ => bad(io),
        },
        DestinationError::Foreign { .. } => bad(&e).help("write to a directory of your own"),
        _ => bad(&e),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use std::{
        fs::{self, Permissions},
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    fn write(path: impl Into<std::path::PathBuf>, bytes: &[u8]) -> Result<(), BadInput> {
        super::write(&OutputPath::new(path, OutputKind::Bytes), bytes)
    }

    #[test]
    fn owner_and_mode_stay_and_links_lead_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let other = dir.path().join("other");
        fs::hard_link(&path, &other).unwrap();
        // Only root may change the owner.
        let given = std::os::unix::fs::chown(&path, Some(65534), Some(65534)).is_ok();
        write(&path, b"new").unwrap();
        let now = fs::metadata(&path).unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), now.mode() & 0o7777), (b"new".as_slice(), 0o640));
        assert!(!given || (now.uid(), now.gid()) == (65534, 65534));
        assert_eq!(fs::read(&other).unwrap(), b"old", "another name of the old file stays");

        let (first, second) = (dir.path().join("first"), dir.path().join("second"));
        symlink("second", &first).unwrap();
        symlink(dir.path().join("made"), &second).unwrap();
        write(&first, b"made").unwrap();
        assert_eq!(fs::read(dir.path().join("made")).unwrap(), b"made");
        assert!(first.is_symlink() && second.is_symlink());
        symlink("round", dir.path().join("round")).unwrap();
        assert!(write(dir.path().join("round"), b"x").is_err(), "a link to itself leads nowhere");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 6, "nothing is left beside them");
    }

    #[test]
    fn what_is_written_to_as_a_stream_stays_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        fs::write(&log, "before\n").unwrap();
        let open = fs::File::options().append(true).open(&log).unwrap();
        let descriptor = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open));
        let inode = fs::metadata(&log).unwrap().ino();
        write(&descriptor, b"object").unwrap();
        assert_eq!(fs::read(&log).unwrap(), b"before\nobject");
        assert_eq!(fs::metadata(&log).unwrap().ino(), inode);
        write("/dev/null", b"object").unwrap();
        let full = write("/dev/full", b"object").unwrap_err();
        assert!(full.to_string().starts_with("/dev/full: cannot be written: No space left"), "{full}");
    }
}
