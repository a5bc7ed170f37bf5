//! The payload of a package: a tar or cpio archive, unpacked within the budget.

use crate::{
    compression::{budget::Budget, format::Compression, streams::Streams},
    error::InputError,
    file_kind::is_tar,
    package::{PackageDefect, stream::read_up_to},
    tar_members::Uncompressed,
};
use std::{
    io::{BufRead, Cursor, Read},
    path::Path,
};

/// The number of bytes at the start of a payload from which its compression is detected.
const HEAD_BYTES: u64 = 512;

/// Unpacks a payload whose first bytes show its compression. The content is a tar or cpio archive.
pub(super) fn unpack<'r>(
    path: &Path,
    mut stream: Box<dyn BufRead + 'r>,
    budget: &Budget,
) -> Result<Box<dyn Read + 'r>, InputError> {
    let head = read_up_to(path, &mut stream, HEAD_BYTES)?;
    let compression = Compression::detect(&head);
    let is_archive = is_tar(&head) || is_cpio(&head);
    let stream = Cursor::new(head).chain(stream);
    let budget = budget.clone();
    match compression {
        Some(format) => Ok(Box::new(Streams::concatenated(format, stream, budget))),
        None if is_archive => Ok(Box::new(Uncompressed { stream, budget })),
        None => Err(InputError::new(path, PackageDefect::UnknownPayload.into())),
    }
}

/// Returns whether bytes begin like a cpio archive of a package.
fn is_cpio(head: &[u8]) -> bool {
    [&b"070701"[..], b"070702", b"07070X"].iter().any(|magic| head.starts_with(magic))
}
