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

/// Bytes of a file that may hold a kernel's types: a vmlinux with all its debug information has about 1 GiB.
pub(crate) const TARGET_BYTES: u64 = 4 << 30;

/// Bytes of a file that is searched through because nothing at its beginning says what it is.
pub(crate) const SEARCHED_BYTES: u64 = 256 << 20;

/// Bytes at a file's beginning by which it is recognised.
const HEAD_BYTES: u64 = 0x1000;

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
        return Err(BadInput::at(path, format_args!("has {len} bytes, at most {limit} are read")));
    }
    target::read(path).map_err(|e| BadInput::at(path, reason(&e.to_string(), path)))
}

/// The file's first bytes.
pub(crate) fn head(path: &Path) -> Result<Vec<u8>, BadInput> {
    regular(path)?;
    let mut head = Vec::new();
    let file = File::open(path).map_err(|e| unreadable(path, &e))?;
    file.take(HEAD_BYTES).read_to_end(&mut head).map_err(|e| unreadable(path, &e))?;
    Ok(head)
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
