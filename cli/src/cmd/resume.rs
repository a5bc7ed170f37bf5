//! The file that keeps the results of a `check` which may be interrupted.
//!
//! Its first line says which objects were checked; then come the lines of `--format json`, those of one kernel together. Files
//! of several runs on the same objects may be put one after the other.

use crate::{
    app::Exit,
    error::{BadInput, shown},
    input::{archive, file, shard},
    json::Json,
};
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fs::{File, OpenOptions, TryLockError},
    io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _},
    path::Path,
};

/// Bytes of a line, at most.
const LINE: u64 = 1 << 30;

/// What was checked: the first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    core_relo: String,
    objects: Vec<HeaderObject>,
}

/// An object, and by what another of its name is told from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HeaderObject {
    object: String,
    hash: String,
}

impl Header {
    pub(crate) fn of<'o>(objects: impl Iterator<Item = (&'o str, &'o [u8])>) -> Self {
        let one = |(name, bytes): (&str, &[u8])| HeaderObject {
            object: name.to_owned(),
            hash: format!("{:016x}", shard::hash(bytes)),
        };
        Self { core_relo: env!("CARGO_PKG_VERSION").to_owned(), objects: objects.map(one).collect() }
    }

    /// Which objects make this another check than `other`.
    fn difference(&self, other: &Self) -> Option<String> {
        if self == other {
            return None;
        }
        let changed = self.objects.iter().find(|one| !other.objects.contains(one));
        let gone = other.objects.iter().find(|one| !self.objects.contains(one));
        Some(match (changed.or(gone), self.core_relo == other.core_relo) {
            (Some(one), _) => format!("its results are not of the same objects: `{}` differs", one.object),
            (None, true) => "its results are of the same objects in another order".to_owned(),
            (None, false) => format!("its results are those of core-relo {}", other.core_relo),
        })
    }
}

/// What of a line counts.
#[derive(Deserialize)]
struct Line<'l> {
    core_relo: Option<Cow<'l, str>>,
    #[serde(borrow)]
    object: Option<Cow<'l, str>>,
    #[serde(borrow)]
    target: Option<Cow<'l, str>>,
    #[serde(borrow)]
    verdict: Option<Cow<'l, str>>,
}

/// The file, to which results are added.
pub(crate) struct Results {
    file: File,
    name: String,
}

/// What it had when it was opened.
#[derive(Default)]
pub(crate) struct SoFar {
    /// How often each kernel is in it.
    done: HashMap<String, usize>,
    /// Archives of which every member is in it.
    archives: HashSet<String>,
    /// How bad the results are.
    pub(crate) exit: Exit,
}

impl Results {
    /// Opens or makes the file. What an interrupted run left half written at its end is cut off.
    pub(crate) fn open(path: &Path, header: &Header) -> Result<(Self, SoFar), BadInput> {
        if path.exists() {
            file::regular(path)?;
        }
        let failed = |e: &io::Error| file::unreadable(path, e);
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = open.map_err(|e| failed(&e))?;
        lock(&file, path)?;
        let (so_far, whole) = Reading::new(header).all(path, &file)?;
        file.set_len(whole).and_then(|()| file.seek(SeekFrom::Start(whole))).map_err(|e| failed(&e))?;
        let mut results = Self { file, name: shown(path) };
        if whole == 0 {
            let line = Json::line(header).map_err(|e| BadInput::at(path, e))?;
            results.append(line.as_bytes())?;
        }
        Ok((results, so_far))
    }

    /// Adds the lines of one kernel.
    pub(crate) fn append(&mut self, lines: &[u8]) -> Result<(), BadInput> {
        let failed = |e| BadInput::new(&*self.name, format_args!("cannot be written: {e}"));
        self.file.write_all(lines).map_err(failed)
    }
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
    /// Whether a kernel is there already.
    pub(crate) fn has(&self, kernel: &str) -> bool {
        self.done.contains_key(kernel)
    }

    /// Whether every member of an archive is.
    pub(crate) fn has_archive(&self, archive: &str) -> bool {
        self.archives.contains(archive) || self.has(archive)
    }

    /// How many kernels are.
    pub(crate) fn len(&self) -> usize {
        self.done.values().sum()
    }
}

/// A file of results being read.
struct Reading<'h> {
    header: &'h Header,
    so_far: SoFar,
    /// The kernel whose lines come now, how many came, and where they begin.
    now: Option<(String, usize, u64)>,
    /// The archive whose members came last.
    archive: Option<String>,
}

impl<'h> Reading<'h> {
    fn new(header: &'h Header) -> Self {
        Self { header, so_far: SoFar::default(), now: None, archive: None }
    }

    /// Reads it all; gives how much of it is whole.
    fn all(mut self, path: &Path, file: &File) -> Result<(SoFar, u64), BadInput> {
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let (mut at, mut line) = (0u64, Vec::new());
        for number in 1u64.. {
            line.clear();
            let read = io::Read::take(&mut reader, LINE).read_until(b'\n', &mut line);
            let len = read.map_err(|e| file::unreadable(path, &e))?;
            if line.last() != Some(&b'\n') {
                break;
            }
            self.line(number, at, &line).map_err(|what| {
                let bad = BadInput::at(path, format_args!("line {number}: {what}"));
                bad.help("give --resume another file")
            })?;
            at = at.saturating_add(u64::try_from(len).unwrap_or(u64::MAX));
        }
        let whole = self.now.map_or(at, |(_, _, begin)| begin);
        Ok((self.so_far, whole))
    }

    fn line(&mut self, number: u64, at: u64, text: &[u8]) -> Result<(), String> {
        let none = || "is none that `check --resume` wrote".to_owned();
        let line: Line<'_> = serde_json::from_slice(text).map_err(|_| none())?;
        if line.core_relo.is_some() {
            let header: Header = serde_json::from_slice(text).map_err(|_| none())?;
            // Another file begins here: whether the archive before was finished is not known.
            self.archive = None;
            return match (self.header.difference(&header), &self.now) {
                (Some(difference), _) => Err(difference),
                (None, Some((kernel, ..))) => Err(format!("the results of {kernel} break off")),
                (None, None) => Ok(()),
            };
        }
        let (Some(target), Some(verdict), true) = (line.target, line.verdict, number > 1) else {
            return Err(none());
        };
        let bad_kernel = line.object.is_none();
        let (begun, begin) = match self.now.take() {
            None => (0, at),
            Some((kernel, lines, begin)) if kernel == target && !bad_kernel => (lines, begin),
            Some((kernel, ..)) => return Err(format!("the results of {kernel} break off")),
        };
        let lines = begun.saturating_add(1);
        self.so_far.exit = self.so_far.exit.max(match &*verdict {
            "ok" => Exit::Resolved,
            "poisoned" | "failed" => Exit::Unresolved,
            _ => Exit::Unknown,
        });
        if !bad_kernel && lines < self.header.objects.len() {
            self.now = Some((target.into_owned(), lines, begin));
            return Ok(());
        }
        let archive = archive::archive_of(&target).map(str::to_owned);
        if let Some(before) = self.archive.take()
            && archive.as_ref() != Some(&before)
            && *target != *before
        {
            self.so_far.archives.insert(before);
        }
        self.archive = archive;
        let times = self.so_far.done.entry(target.into_owned()).or_default();
        *times = times.saturating_add(1);
        Ok(())
    }
}
