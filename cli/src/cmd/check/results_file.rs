//! The results file that `check --resume` continues.
//!
//! The first line is the header: it names the objects that were checked. The lines of `--format json` follow,
//! grouped by kernel. The files of several runs on the same objects may be concatenated.
//!
//! A file that no run wrote is never changed. Only the incomplete results of an interrupted run at the end
//! are truncated.

use super::{
    results_header::{LINE_BYTES, PreviousResults, ResultsHeader},
    results_reader::ResultsReader,
    stored,
};
use crate::{
    error::{BadInput, escape_path},
    output::{self, Destination, DestinationError, DestinationKind},
};
use core_relo_kernels::{Inode, KernelId, file};
use core_relo_report::{
    FleetReport,
    json::JsonLines,
    stored::{Contradictions, StoredResults},
};
use rustix::fs::{Mode, OFlags};
use std::{
    ffi::{OsStr, OsString},
    fs::{File, TryLockError},
    io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
};

/// A results file, open for appending.
pub(crate) struct ResultsFile {
    file: File,
    inode: Inode,
    name: String,
    header: JsonLines,
    /// The archive that the kernel of the last line belongs to, unless the archive was read to its end.
    open_archive: Option<OsString>,
}

impl ResultsFile {
    /// Opens or creates the file. Truncates the incomplete results of an interrupted run at its end.
    pub(crate) fn open(path: &Path, header: &ResultsHeader) -> Result<(Self, PreviousResults), BadInput> {
        if output::is_stdout(path) {
            return Err(BadInput::for_path(path, "is standard output, expected a file of its own"));
        }
        let failed = |e: io::Error| BadInput::for_path(path, format_args!("cannot be written: {e}"));
        let (mut file, destination) = open(path)?;
        let metadata = file.metadata().map_err(|e| file::unreadable(path, &e))?;
        let (inode, written) = (Inode::new(&metadata), metadata.modified().ok());
        lock(&file, path)?;
        let line = header.line().map_err(failed)?;
        let found = ResultsReader::new(header, line.as_bytes()).read(path, &file)?;
        let end = found.complete_bytes;
        file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end))).map_err(failed)?;
        // An interrupted run may have left a part of the header.
        let too_long = || failed(io::Error::other("its header is longer than expected"));
        let missing_header = line.as_bytes().get(found.header_bytes..).ok_or_else(too_long)?;
        if let Err(e) = file.write_all(missing_header) {
            // Nothing is left of a run that could not begin.
            if let Err(e) = destination.remove_new(&file) {
                log::warn!("{}: not removed: {e}", escape_path(path));
            }
            return Err(failed(e));
        }
        let name = escape_path(path);
        let results = PreviousResults { written, ..found.results };
        Ok((Self { file, inode, name, header: line, open_archive: found.open_archive }, results))
    }

    /// Returns the results in the file, for reports.
    pub(crate) fn stored(&mut self) -> Result<FleetReport, BadInput> {
        let unreadable = |e| BadInput::new(&*self.name, format_args!("cannot be read: {e}"));
        let end = self.file.seek(SeekFrom::End(0)).map_err(unreadable)?;
        self.file.rewind().map_err(unreadable)?;
        let mut results = StoredResults::new(Contradictions::TakeLast);
        let reader = BufReader::new((&self.file).take(end));
        stored::read(reader, &self.name, &mut |place, line| {
            results.add_line(place, line).map_err(|e| stored::bad_line(&e)).map(drop)
        })?;
        self.file.seek(SeekFrom::Start(end)).map_err(unreadable)?;
        Ok(results.into_report())
    }

    /// Returns the path for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the identity of the file. A search for kernels in directories excludes the file.
    pub(crate) const fn inode(&self) -> Inode {
        self.inode
    }

    /// Appends the lines of one kernel.
    pub(crate) fn append(&mut self, id: &KernelId, lines: &[u8]) -> Result<(), BadInput> {
        if lines.is_empty() {
            return Ok(());
        }
        let bad = |what: String| BadInput::new(&*self.name, format_args!("cannot be written: {what}"));
        if lines.split(|byte| *byte == b'\n').any(|line| line.len() >= LINE_BYTES) {
            return Err(bad(format!("a line of more than {LINE_BYTES} bytes")));
        }
        let is_outside = |archive: &OsString| {
            id.archive() != Some(archive.as_os_str())
                && !matches!(id, KernelId::File(path) if path == archive)
        };
        // For the reader, an archive is complete if the next kernel is from another source. This archive was
        // not read to its end, so a header separates the two.
        let header = match self.open_archive.as_ref().is_some_and(is_outside) {
            true => self.header.as_bytes(),
            false => &[],
        };
        self.file.write_all(&[header, lines].concat()).map_err(|e| bad(e.to_string()))?;
        self.open_archive = id.archive().map(OsStr::to_owned);
        Ok(())
    }

    /// Records that an archive was read to its end.
    pub(crate) fn end_archive(&mut self, archive: &Path) {
        self.open_archive.take_if(|open| *open == archive.as_os_str());
    }
}

/// The maximum number of attempts to open a path at which other processes create and remove files.
const ATTEMPTS: usize = 5;

/// Opens or creates a regular file. Returns the place of the file, too. Returns an error for a device, pipe
/// or socket, without waiting for it or writing to it.
fn open(path: &Path) -> Result<(File, Destination), BadInput> {
    for _ in 0..ATTEMPTS {
        if let Some(file) = try_open(path)? {
            return Ok(file);
        }
    }
    Err(BadInput::for_path(path, "cannot be written: another process creates and removes it"))
}

/// Opens or creates the file. Returns `None` if another process has created it in the meantime.
fn try_open(path: &Path) -> Result<Option<(File, Destination)>, BadInput> {
    let failed = |e| output::not_writable(path, e);
    let not_regular = || {
        let bad = BadInput::for_path(path, "is a device, pipe or socket, expected a regular file");
        bad.help("give --resume the path of a file")
    };
    let found = Destination::find(path).map_err(failed)?;
    let flags = OFlags::RDWR | OFlags::NONBLOCK;
    let opened = match found.kind {
        DestinationKind::Free => match found.open(flags, Mode::from_raw_mode(0o666)) {
            Err(DestinationError::Io(e)) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            opened => opened,
        },
        DestinationKind::File(_) => {
            found.refuse_foreign_file().and_then(|()| found.open(flags, Mode::empty()))
        }
        DestinationKind::Special(_) | DestinationKind::OpenFile => return Err(not_regular()),
    };
    let file = opened.map_err(failed)?;
    let is_file = file.metadata().map_err(|e| file::unreadable(path, &e))?.is_file();
    if is_file { Ok(Some((file, found))) } else { Err(not_regular()) }
}

/// Locks the file, because two runs would do the same work and truncate each other's lines.
///
/// On a file system without locks, the file is not locked.
fn lock(file: &File, path: &Path) -> Result<(), BadInput> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let bad = BadInput::for_path(path, "another run is writing to it");
            Err(bad.help("wait for it, or give each run its own file and --shard; the files can be concatenated afterwards"))
        }
        Err(TryLockError::Error(e)) => {
            log::info!("{}: not locked: {e}", escape_path(path));
            Ok(())
        }
    }
}
