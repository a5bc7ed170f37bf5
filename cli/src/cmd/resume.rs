//! The file that keeps the results of a `check` which may be interrupted.
//!
//! Its first line, the header, names the objects that were checked. The lines of `--format json` follow, those of one kernel
//! together. Files of several runs on the same objects may be put one after the other.
//!
//! Nothing but such a file is ever changed. Bytes are cut off only at its end, and only if an interrupted run wrote them.

use super::resume_read::Reading;
use crate::{
    app::Exit,
    error::{BadInput, shown},
    input::{file, kernel_id::KernelId, shard},
    json::Json,
    output::{self, Destination, DestinationError, Kind},
};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    fs::{File, TryLockError},
    io::{self, Seek as _, SeekFrom, Write as _},
    path::Path,
};

/// Bytes of a line, at most.
pub(super) const LINE_BYTES: usize = 128 << 20;

/// The first line: what was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    core_relo: String,
    objects: Vec<HeaderObject>,
}

/// An object, and the hash that tells it from another of its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderObject {
    object: String,
    hash: String,
}

impl Header {
    pub(crate) fn new<'o>(objects: impl Iterator<Item = (&'o str, &'o [u8])>) -> Self {
        let one = |(name, bytes): (&str, &[u8])| HeaderObject {
            object: name.to_owned(),
            hash: format!("{:016x}", shard::hash(bytes)),
        };
        Self { core_relo: env!("CARGO_PKG_VERSION").to_owned(), objects: objects.map(one).collect() }
    }

    /// Returns the names of the objects.
    pub(super) fn objects(&self) -> impl ExactSizeIterator<Item = &str> {
        self.objects.iter().map(|one| &*one.object)
    }

    /// Returns the line of the header.
    pub(super) fn line(&self) -> io::Result<Json> {
        Json::line(self)
    }

    /// Describes how a header line differs from this one; `None` if the line is not that of a header at all.
    pub(super) fn difference(&self, line: &[u8]) -> Option<String> {
        /// A header of any version.
        #[derive(Deserialize)]
        struct Version {
            core_relo: String,
        }
        let Version { core_relo } = serde_json::from_slice(line).ok()?;
        if core_relo != self.core_relo {
            return Some(format!("its results are those of core-relo {core_relo}"));
        }
        let other: Self = serde_json::from_slice(line).ok().filter(|other| other != self)?;
        let changed = self.objects.iter().find(|one| !other.objects.contains(one));
        let gone = other.objects.iter().find(|one| !self.objects.contains(one));
        Some(match changed.or(gone) {
            Some(one) => format!("its results are not of the same objects: `{}` differs", one.object),
            None => "its results are of the same objects in another order".to_owned(),
        })
    }
}

/// The file, to which results are added.
pub(crate) struct Results {
    file: File,
    name: String,
    header: Json,
    /// The archive of the last line, unless it is known that no more of its members follow.
    open_archive: Option<OsString>,
}

/// The results that the file had when it was opened.
#[derive(Debug, Default)]
pub(crate) struct SoFar {
    /// How often each kernel is in it.
    pub(super) done: HashMap<KernelId, usize>,
    /// Archives of which every member is in it.
    pub(super) archives: HashSet<OsString>,
    /// How bad the results are.
    pub(crate) exit: Exit,
}

impl Results {
    /// Opens or creates the file. What an interrupted run left half written at its end is cut off.
    pub(crate) fn open(path: &Path, header: &Header) -> Result<(Self, SoFar), BadInput> {
        if output::is_stdout(path) {
            return Err(BadInput::at(path, "is standard output, expected a file of its own"));
        }
        let failed = |e: io::Error| BadInput::at(path, format_args!("cannot be written: {e}"));
        let mut file = open(path)?;
        lock(&file, path)?;
        let line = header.line().map_err(failed)?;
        let read = Reading::new(header, line.as_bytes()).all(path, &file)?;
        file.set_len(read.whole).and_then(|()| file.seek(SeekFrom::Start(read.whole))).map_err(failed)?;
        let rest = line.as_bytes().get(read.header_bytes..).unwrap_or_default();
        file.write_all(rest).map_err(failed)?;
        let results = Self { file, name: shown(path), header: line, open_archive: read.open_archive };
        Ok((results, read.so_far))
    }

    /// Adds the lines of one kernel.
    pub(crate) fn append(&mut self, id: &KernelId, lines: &[u8]) -> Result<(), BadInput> {
        if lines.is_empty() {
            return Ok(());
        }
        let bad = |what: String| BadInput::new(&*self.name, format_args!("cannot be written: {what}"));
        if lines.split(|byte| *byte == b'\n').any(|line| line.len() >= LINE_BYTES) {
            return Err(bad(format!("a line of more than {LINE_BYTES} bytes")));
        }
        let is_elsewhere = |archive: &OsString| {
            id.archive() != Some(archive.as_os_str())
                && !matches!(id, KernelId::File(path) if path == archive)
        };
        let mut begin = &b""[..];
        if self.open_archive.as_ref().is_some_and(is_elsewhere) {
            // Else the archive's last member in the file would be taken for the last that it has.
            begin = self.header.as_bytes();
        }
        self.file.write_all(&[begin, lines].concat()).map_err(|e| bad(e.to_string()))?;
        self.open_archive = id.archive().map(OsStr::to_owned);
        Ok(())
    }

    /// Records that an archive was read to its end.
    pub(crate) fn archive_ended(&mut self, archive: &Path) {
        self.open_archive.take_if(|open| *open == archive.as_os_str());
    }
}

/// The number of times that [`open`] looks at a path where other processes create and remove files.
const ATTEMPTS: usize = 5;

/// Opens a regular file or creates one, and neither waits for nor changes anything else.
fn open(path: &Path) -> Result<File, BadInput> {
    for _ in 0..ATTEMPTS {
        if let Some(file) = try_open(path)? {
            return Ok(file);
        }
    }
    Err(BadInput::at(path, "cannot be written: another process creates and removes it"))
}

/// Opens or creates the file; `None` if another process created it in the meantime.
fn try_open(path: &Path) -> Result<Option<File>, BadInput> {
    let failed = |e| output::not_writable(path, e);
    let no_file = || {
        let bad = BadInput::at(path, "is a device, pipe or socket, expected a regular file");
        bad.help("give --resume the path of a file")
    };
    let found = Destination::find(path).map_err(failed)?;
    let flags = OFlags::RDWR | OFlags::NONBLOCK;
    let opened = match found.kind {
        Kind::Free => match found.open(flags, Mode::from_raw_mode(0o666)) {
            Err(DestinationError::Io(e)) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            opened => opened,
        },
        Kind::File(_) => found.refuse_foreign_file().and_then(|()| found.open(flags, Mode::empty())),
        Kind::Special(_) | Kind::OpenFile => return Err(no_file()),
    };
    let file = opened.map_err(failed)?;
    let is_file = file.metadata().map_err(|e| file::unreadable(path, &e))?.is_file();
    if is_file { Ok(Some(file)) } else { Err(no_file()) }
}

/// Keeps others from adding to the file as long as it is open: two runs would do the same work, and cut off each other's last
/// lines. A file system without locks goes without.
fn lock(file: &File, path: &Path) -> Result<(), BadInput> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let bad = BadInput::at(path, "another run is writing to it");
            Err(bad.help("wait for it, or give each its own file and a --shard; the files can be put together afterwards"))
        }
        Err(TryLockError::Error(e)) => {
            log::info!("{}: not locked: {e}", shown(path));
            Ok(())
        }
    }
}

impl SoFar {
    /// Returns whether the file has a kernel.
    pub(crate) fn has(&self, kernel: &KernelId) -> bool {
        self.done.contains_key(kernel)
    }

    /// Returns whether the file has every member of an archive.
    pub(crate) fn has_archive(&self, archive: &Path) -> bool {
        let archive = archive.as_os_str();
        self.archives.contains(archive) || self.has(&KernelId::File(archive.to_owned()))
    }

    /// Counts the kernels.
    pub(crate) fn len(&self) -> usize {
        self.done.values().sum()
    }
}
