//! Files, read with care: neither devices nor pipes, and nothing larger than it may be.

use crate::error::{BadInput, shown};
use core_relo::Data;
use core_relo_loader::target::{self, TargetError};
use std::{
    fs::{self, File, Metadata},
    io::{self, Read as _},
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// Bytes of a BPF object. The largest known have less than a tenth.
pub(crate) const OBJECT_BYTES: u64 = 256 << 20;

/// Bytes that a kernel's types, or the image they are in, may come to: a vmlinux with all its debug information has about
/// 1 GiB.
const TARGET_BYTES: u64 = 1 << 30;

/// Bytes of a file that is searched through because nothing at its beginning says what it is.
pub(crate) const SEARCHED_BYTES: u64 = 256 << 20;

/// Bytes at a file's beginning by which it is recognised.
const HEAD_BYTES: usize = 0x1000;

/// Bytes that are read at once where a file is read in pieces.
pub(crate) const PIECE: usize = 64 << 10;

/// The kernel copies quickly to addresses that are multiples of this.
const ALIGN: usize = 64;

/// Seconds after which a change bears another time than the one before, whatever the file system. FAT counts every other second.
const SETTLED: i64 = 3;

/// How much is read and unpacked of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes of a file that is read whole, and of what comes out of a compressed one or of an archive's member.
    pub(crate) bytes: u64,
    /// Whether somebody asked for just that many.
    pub(crate) given: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: TARGET_BYTES, given: false }
    }
}

impl Limits {
    pub(crate) fn of(max_bytes: Option<u64>) -> Self {
        max_bytes.map_or_else(Self::default, |bytes| Self { bytes, given: true })
    }
}

/// Opens a file that can be read from beginning to end; does not wait for one that cannot.
fn open(path: &Path) -> Result<(File, Metadata), BadInput> {
    target::open_file(path).map_err(|e| match e {
        TargetError::NotAFile { .. } => no_file(path, path.is_dir()),
        TargetError::PseudoFile { .. } => {
            let what = "has no length, for the kernel writes it while it is read; expected a regular file";
            BadInput::at(path, what).help("write its content to a file first")
        }
        TargetError::Io { errno: Some(errno), .. } => unreadable(path, &io::Error::from_raw_os_error(errno)),
        _ => BadInput::at(path, reason(&e.to_string(), path)),
    })
}

/// Whether a path leads to something that cannot be read to its end: a device, a pipe, a socket, a file that the kernel writes while it
/// is read.
pub(crate) fn is_endless(path: &Path) -> bool {
    let Ok(meta) = fs::metadata(path) else { return false };
    let is_pseudo = || matches!(target::open_file(path), Err(TargetError::PseudoFile { .. }));
    !meta.is_dir() && (!meta.is_file() || meta.len() == 0 && is_pseudo())
}

fn no_file(path: &Path, is_folder: bool) -> BadInput {
    if is_folder {
        return BadInput::at(path, "is a folder, expected a file");
    }
    let bad = BadInput::at(path, "is a device, pipe or socket, expected a regular file");
    bad.help("write its content to a file first")
}

/// The whole file, if it is no larger than `limit`.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Data<'static>, BadInput> {
    Opened::new(path)?.whole(limit, None)
}

pub(crate) fn too_long(path: &Path, len: u64, limit: u64) -> BadInput {
    BadInput::at(path, format_args!("has {len} bytes, at most {limit} are read"))
}

/// A regular file that was opened. Nothing of it was read yet.
#[derive(Debug)]
pub(crate) struct Fresh<'p> {
    pub(crate) path: &'p Path,
    file: File,
    len: u64,
    stored: u64,
    /// Which one it is, if that tells what is in it.
    pub(crate) id: Option<FileId>,
}

impl<'p> Fresh<'p> {
    pub(crate) fn open(path: &'p Path) -> Result<Self, BadInput> {
        let (file, meta) = open(path)?;
        let len = meta.len();
        let stored = stored(&file, &meta).map_err(|e| unreadable(path, &e))?;
        Ok(Self { path, file, len, stored, id: FileId::new(path, &meta, SystemTime::now()) })
    }

    /// Reads its first bytes.
    pub(crate) fn begin(self) -> Result<Opened<'p>, BadInput> {
        let mut head = vec![0; HEAD_BYTES];
        let read =
            fill(&mut head, |rest, _| (&self.file).read(rest)).map_err(|e| unreadable(self.path, &e))?;
        head.truncate(read);
        let Self { path, file, len, stored, .. } = self;
        Ok(Opened { path, file, len, stored, head })
    }
}

/// Bytes that a file takes, holes left out; of a file system that does not tell, the file's length.
fn stored(file: &File, meta: &Metadata) -> io::Result<u64> {
    const BLOCK: u64 = 512;
    let len = meta.len();
    // A file system may compress a file, or not have counted its blocks yet: only holes take bytes away.
    let has_holes = match rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0)) {
        Ok(hole) => hole < len,
        // It knows of no holes, or the file is empty.
        Err(_unknown) => false,
    };
    rustix::fs::seek(file, rustix::fs::SeekFrom::Start(0))?;
    Ok(if has_holes { len.min(meta.blocks().saturating_mul(BLOCK)) } else { len })
}

/// What tells a file from every other, and from itself with another content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileId {
    /// None of one that was changed a moment ago: it could be changed again and bear the same time. Nor of what the kernel makes up
    /// when it is read, nor where the file system has no numbers for files.
    pub(crate) fn new(path: &Path, meta: &Metadata, now: SystemTime) -> Option<Self> {
        let modified = (meta.mtime(), meta.mtime_nsec());
        let changed = (meta.ctime(), meta.ctime_nsec());
        let now = i64::try_from(now.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()?;
        let is_settled = modified.0.max(changed.0) <= now.checked_sub(SETTLED)?;
        let is_stored = meta.len() > 0 && meta.ino() != 0 && !is_of_kernel(path);
        let (device, inode, len) = (meta.dev(), meta.ino(), meta.len());
        (is_settled && is_stored).then_some(Self { device, inode, len, modified, changed })
    }
}

/// Whether a path is one of those by which the kernel shows its own.
fn is_of_kernel(path: &Path) -> bool {
    path.starts_with("/sys") || path.starts_with("/proc")
}

/// A regular file, and its first bytes.
#[derive(Debug)]
pub(crate) struct Opened<'p> {
    pub(crate) path: &'p Path,
    file: File,
    pub(crate) len: u64,
    /// Bytes that it takes: one with holes, less than its length.
    pub(crate) stored: u64,
    pub(crate) head: Vec<u8>,
}

impl<'p> Opened<'p> {
    pub(crate) fn new(path: &'p Path) -> Result<Self, BadInput> {
        Fresh::open(path)?.begin()
    }

    /// Gives all of it, or its first bytes if only so many are `used`, to `each`, in pieces of [`PIECE`] bytes and a rest, none of
    /// them empty; says whether it could be read.
    ///
    /// No more memory is taken than for one piece.
    pub(crate) fn pieces(&self, used: Option<u64>, each: &mut dyn FnMut(&[u8])) -> bool {
        let mut room = vec![0; PIECE.saturating_add(ALIGN)];
        let start = room.as_ptr().align_offset(ALIGN).min(ALIGN);
        let mut at = 0u64;
        loop {
            let left = used.map_or(u64::MAX, |used| used.saturating_sub(at));
            let len = PIECE.min(usize::try_from(left).unwrap_or(usize::MAX));
            let piece = room.get_mut(start..).and_then(|room| room.get_mut(..len)).unwrap_or_default();
            let from = |rest: &mut [u8], done: u64| self.file.read_at(rest, at.saturating_add(done));
            let Ok(read) = fill(piece, from) else { return false };
            if let Some(piece) = piece.get(..read).filter(|piece| !piece.is_empty()) {
                each(piece);
            }
            if read < PIECE {
                return true;
            }
            at = at.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        }
    }

    /// Whether it has not changed, so that what was read is what it holds.
    pub(crate) fn is_still(&self, id: FileId) -> bool {
        let meta = self.file.metadata().ok();
        meta.and_then(|meta| FileId::new(self.path, &meta, SystemTime::now())) == Some(id)
    }

    /// All of it, if it is no larger than `limit`; `used` if it is known that only so many bytes of it count.
    pub(crate) fn whole(self, limit: u64, used: Option<u64>) -> Result<Data<'static>, BadInput> {
        if self.len > limit {
            return Err(too_long(self.path, self.len, limit));
        }
        if let Some(map) = target::map_kernel_btf(&self.file, self.len) {
            return Ok(map);
        }
        let (path, used) = (self.path, used.filter(|used| *used < self.len));
        let expected = used.unwrap_or(self.len);
        let from = io::Cursor::new(self.head).chain(self.file);
        let bytes = target::read_all(from.take(used.unwrap_or(u64::MAX)), expected, limit);
        let grown =
            || BadInput::at(path, format_args!("grew while it was read; at most {limit} bytes are read"));
        bytes.map_err(|e| unreadable(path, &e))?.ok_or_else(grown)
    }

    /// A part of it; `None` if it has no such part.
    pub(crate) fn part(&self, at: u64, len: u64) -> Option<Data<'static>> {
        target::read_part(&self.file, at, len).ok()
    }

    /// The file from its beginning, to be read as it comes; no further than it reached when it was opened.
    pub(crate) fn stream(self) -> impl io::BufRead {
        let from = io::Cursor::new(self.head).chain(self.file);
        io::BufReader::with_capacity(PIECE, from.take(self.len))
    }
}

/// Reads until there is no more room or no more to read; `read` is told how much there is already.
fn fill(room: &mut [u8], mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>) -> io::Result<usize> {
    let mut done = 0usize;
    while let Some(rest) = room.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match read(rest, u64::try_from(done).unwrap_or(u64::MAX)) {
            Ok(0) => break,
            Ok(n) => done = done.saturating_add(n),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// A library's error without the path it begins with.
pub(crate) fn reason(error: &str, path: &Path) -> String {
    let path = path.display().to_string();
    let rest = error.strip_prefix(&path).and_then(|rest| rest.strip_prefix(": "));
    rest.unwrap_or(error).to_owned()
}

pub(crate) fn unreadable(path: &Path, e: &io::Error) -> BadInput {
    let what = match e.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => format!("cannot be read: {e}"),
    };
    BadInput::new(shown(path), what)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

    use super::*;
    use std::{thread, time::Duration};

    fn id(path: &Path, later: u64) -> Option<FileId> {
        FileId::new(path, &fs::metadata(path).unwrap(), SystemTime::now() + Duration::from_secs(later))
    }

    #[test]
    fn a_file_is_the_same_by_any_name_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, copy] = ["file", "link", "copy"].map(|name| folder.path().join(name));
        fs::write(&file, "abc").unwrap();
        assert_eq!(id(&file, 0), None, "it could change again and bear the same time");
        fs::copy(&file, &copy).unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        let first = id(&file, 10).unwrap();
        assert_eq!((id(&file, 20), id(&link, 10)), (Some(first), Some(first)));
        assert_ne!(id(&copy, 10), Some(first));
        // The same length, the same time of change as anyone can see it.
        let modified = fs::metadata(&file).unwrap().modified().unwrap();
        thread::sleep(Duration::from_millis(20));
        let mut changed = File::options().write(true).open(&file).unwrap();
        io::Write::write_all(&mut changed, b"xyz").unwrap();
        changed.set_modified(modified).unwrap();
        drop(changed);
        let second = id(&file, 10).unwrap();
        assert_eq!((second.len, second.modified, second.inode), (first.len, first.modified, first.inode));
        assert_ne!(second, first);
        fs::write(&copy, "").unwrap();
        assert_eq!(id(&copy, 10), None, "that it is empty may be what the kernel says of what it makes up");
    }

    #[test]
    fn what_the_kernel_makes_up_has_no_identity() {
        let path = Path::new("/proc/version");
        if path.exists() {
            assert_eq!(id(path, 10), None);
        }
        let meta = fs::metadata(file!().strip_prefix("cli/").unwrap()).unwrap();
        let later = SystemTime::now() + Duration::from_secs(10);
        assert!(FileId::new(Path::new("/a"), &meta, later).is_some());
        assert_eq!(FileId::new(Path::new("/sys/kernel/btf/vmlinux"), &meta, later), None);
    }

    #[test]
    fn pieces_are_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for len in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 17] {
            let bytes: Vec<u8> = (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect();
            fs::write(&path, &bytes).unwrap();
            for used in [None, Some(0), Some(40), Some(PIECE), Some(PIECE + 9), Some(len + 5)] {
                let (mut all, mut sizes) = (Vec::new(), Vec::new());
                let opened = Opened::new(&path).unwrap();
                let is_read = opened.pieces(used.map(|n| u64::try_from(n).unwrap()), &mut |piece| {
                    all.extend_from_slice(piece);
                    sizes.push(piece.len());
                });
                let end = used.unwrap_or(len).min(len);
                assert!(is_read && all == bytes[..end], "{len} {used:?}");
                // They are hashed piece by piece, as bytes in memory are: an empty one would count.
                assert_eq!(sizes, bytes[..end].chunks(PIECE).map(<[u8]>::len).collect::<Vec<_>>());
            }
        }
    }
}
