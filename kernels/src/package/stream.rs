//! The parts of a package, read in order.

use crate::{compression::budget::Exceeded, error::InputError, file, package::PackageDefect};
use std::{
    io::{self, Read},
    path::Path,
};

/// Creates the error for a part that cannot be read or unpacked.
pub(super) fn unreadable(path: &Path, e: &io::Error) -> InputError {
    match Exceeded::from_io(e) {
        Some(e) => InputError::new(path, e.into()),
        None => file::unreadable(path, e),
    }
}

/// Reads `len` bytes, or fewer at the end of the stream.
pub(super) fn read_up_to(path: &Path, stream: &mut dyn Read, len: u64) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    stream.take(len).read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    Ok(bytes)
}

/// Reads exactly `len` bytes at `offset`.
pub(super) fn read_part(path: &Path, stream: &mut dyn Read, part: Part) -> Result<Vec<u8>, InputError> {
    let Part { offset, len, name, limit } = part;
    if len > limit {
        let defect = PackageDefect::TooLarge { offset, part: name, found: len, limit, unit: "bytes" };
        return Err(InputError::new(path, defect.into()));
    }
    let bytes = read_up_to(path, stream, len)?;
    if u64::try_from(bytes.len()) == Ok(len) {
        return Ok(bytes);
    }
    let defect = PackageDefect::Truncated { offset, expected: name };
    Err(InputError::new(path, defect.into()))
}

/// A part of a package with a known size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The offset in the package or its payload, for messages.
    pub(super) offset: u64,
    /// The length in bytes.
    pub(super) len: u64,
    /// The name for messages.
    pub(super) name: &'static str,
    /// The largest length that is read.
    pub(super) limit: u64,
}
