//! Files, read with care: neither devices nor pipes, and nothing larger than it may be.

use crate::error::{BadInput, shown};
use core_relo::Data;
use core_relo_loader::target;
use std::{
    fs::{self, File, Metadata},
    io::{self, Read as _},
    path::Path,
};

/// Bytes of a BPF object. The largest known have less than a tenth.
pub(crate) const OBJECT_BYTES: u64 = 256 << 20;

/// Bytes that a kernel's types, or the image they are in, may come to: a vmlinux with all its debug information has about
/// 1 GiB.
const TARGET_BYTES: u64 = 1 << 30;

/// Bytes of a file that is searched through because nothing at its beginning says what it is.
pub(crate) const SEARCHED_BYTES: u64 = 256 << 20;

/// Bytes at a file's beginning by which it is recognised.
const HEAD_BYTES: u64 = 0x1000;

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

/// The file's metadata, if it is one that can be read from beginning to end.
pub(crate) fn regular(path: &Path) -> Result<Metadata, BadInput> {
    let meta = fs::metadata(path).map_err(|e| unreadable(path, &e))?;
    match () {
        () if meta.is_dir() => Err(BadInput::at(path, "is a folder, expected a file")),
        () if !meta.is_file() => {
            Err(BadInput::at(path, "is a device, pipe or socket, expected a regular file")
                .help("write its content to a file first"))
        }
        () => Ok(meta),
    }
}

/// The whole file, if it is no larger than `limit`.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Data<'static>, BadInput> {
    let len = regular(path)?.len();
    if len > limit {
        return Err(too_long(path, len, limit));
    }
    target::read(path).map_err(|e| BadInput::at(path, reason(&e.to_string(), path)))
}

pub(crate) fn too_long(path: &Path, len: u64, limit: u64) -> BadInput {
    BadInput::at(path, format_args!("has {len} bytes, at most {limit} are read"))
}

/// A regular file, and its first bytes.
#[derive(Debug)]
pub(crate) struct Opened<'p> {
    path: &'p Path,
    file: File,
    pub(crate) len: u64,
    pub(crate) head: Vec<u8>,
}

impl<'p> Opened<'p> {
    pub(crate) fn new(path: &'p Path) -> Result<Self, BadInput> {
        let len = regular(path)?.len();
        let file = File::open(path).map_err(|e| unreadable(path, &e))?;
        let mut head = Vec::new();
        (&file).take(HEAD_BYTES).read_to_end(&mut head).map_err(|e| unreadable(path, &e))?;
        Ok(Self { path, file, len, head })
    }

    /// All of it, if it is no larger than `limit`; `used` if it is known that only so many bytes of it count.
    pub(crate) fn whole(self, limit: u64, used: Option<u64>) -> Result<Data<'static>, BadInput> {
        if self.len > limit {
            return Err(too_long(self.path, self.len, limit));
        }
        // The kernel's own is mapped.
        if self.path.starts_with("/sys") {
            return read(self.path, limit);
        }
        let (path, used) = (self.path, used.filter(|used| *used < self.len));
        let expected = used.unwrap_or(self.len);
        let bytes = target::read_all(self.stream().take(used.unwrap_or(u64::MAX)), expected, limit);
        let grown =
            || BadInput::at(path, format_args!("grew while it was read; at most {limit} bytes are read"));
        bytes.map_err(|e| unreadable(path, &e))?.ok_or_else(grown)
    }

    /// A part of it; `None` if it has no such part.
    pub(crate) fn part(&self, at: u64, len: u64) -> Option<Data<'static>> {
        target::read_part(&self.file, at, len).ok()
    }

    /// The file from its beginning, to be read as it comes.
    pub(crate) fn stream(self) -> impl io::Read {
        io::Cursor::new(self.head).chain(self.file)
    }
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
