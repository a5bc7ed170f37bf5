//! The members of a tar stream, read within a budget.

use crate::{
    compression::budget::{Budget, Exceeded},
    error::{Defect, InputError},
};
use std::{
    cell::Cell,
    ffi::{OsStr, OsString},
    io::{self, Read},
    ops::ControlFlow,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

/// The maximum size of the headers and long names before a member, in bytes.
const HEADER_BYTES: u64 = 1 << 20;

/// Bytes to take from the budget for each byte of a header: `tar` parses the records of a pax header several
/// times.
const HEADER_COST: u64 = 16;

/// The size of a header in bytes. The content of a member is padded to a multiple of this size.
const BLOCK_BYTES: u64 = 512;

/// The separator between the names of an archive and of its member.
const SEPARATOR: &str = "//";

/// The kind of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TarMemberKind {
    File,
    /// A hard link or a symbolic link.
    Link,
    /// A directory or a device.
    Other,
}

/// A member of a tar stream.
pub(crate) struct TarMember<'r> {
    /// The path in the archive, without a leading `./`.
    pub path: PathBuf,
    /// The index among all members, of any kind.
    pub index: u64,
    /// The offset of the header in the stream, in bytes.
    pub offset: u64,
    pub kind: TarMemberKind,
    pub len: u64,
    /// The size of the content in the archive, in bytes: less than `len` if the member is sparse.
    pub stored_bytes: u64,
    /// The size of the map of a sparse member's data and holes, in bytes.
    sparse_map_bytes: u64,
    pub content: &'r mut dyn Read,
}

impl TarMember<'_> {
    /// Takes the cost of a sparse member from the budget: its zeros, and the square of the number of its
    /// segments.
    ///
    /// `tar` stores the segments (data and holes) in a vector and removes the first one repeatedly. 24 bytes
    /// of the map become two segments of 40 bytes.
    pub(crate) fn take_holes(&self, budget: &Budget) -> Result<(), Exceeded> {
        let zeros = self.len.saturating_sub(self.stored_bytes);
        let segment_cost = self.sparse_map_bytes.saturating_mul(self.sparse_map_bytes) / 8;
        budget.take_ahead(zeros.saturating_add(segment_cost))
    }
}

/// The end of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VisitEnd {
    /// The visitor has stopped.
    Stopped,
    /// All members have been visited, and zeros mark the end of the archive.
    Complete,
    /// The stream ends after a member, without zeros, at this offset in bytes. Some archives end so, and some
    /// truncated ones.
    Unmarked(u64),
}

/// Passes each member of a tar stream to `visit`. The stream takes its bytes from the budget itself.
pub(crate) fn visit(
    path: &Path,
    stream: Box<dyn Read + '_>,
    budget: &Budget,
    visit: &mut dyn FnMut(TarMember<'_>) -> ControlFlow<()>,
) -> Result<VisitEnd, InputError> {
    let bad_archive = |e: &io::Error| match Exceeded::from_io(e) {
        Some(e) => InputError::new(path, e.into()),
        None => InputError::new(path, Defect::Archive(e.into())),
    };
    let (position, limit) = (Cell::new(0u64), Cell::new(HEADER_BYTES));
    let mut archive = tar::Archive::new(Bounded { stream, position: &position, limit: &limit });
    let mut member_end = 0u64;
    for (index, entry) in (0..).zip(archive.entries().map_err(|e| bad_archive(&e))?) {
        let mut entry = entry.map_err(|e| bad_archive(&e))?;
        let kind = entry.header().entry_type();
        let stored_bytes = stored_bytes(&mut entry).map_err(|e| bad_archive(&e))?;
        let content_start = position.get();
        let header_bytes = content_start.saturating_sub(member_end).saturating_sub(BLOCK_BYTES);
        budget.take(header_bytes.saturating_mul(HEADER_COST)).map_err(|e| InputError::new(path, e.into()))?;
        // `tar` skips the rest of the member, and then reads the headers of the next one.
        member_end = content_start
            .saturating_add(stored_bytes.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(u64::MAX));
        limit.set(member_end.saturating_add(HEADER_BYTES));
        let sparse_map_bytes = content_start.saturating_sub(entry.raw_file_position());
        let name = entry.path_bytes().into_owned();
        let member = TarMember {
            path: PathBuf::from(OsStr::from_bytes(name.strip_prefix(b"./").unwrap_or(&name))),
            index,
            offset: entry.raw_header_position(),
            kind: member_kind(kind),
            len: entry.size(),
            stored_bytes,
            sparse_map_bytes,
            content: &mut entry,
        };
        if visit(member).is_break() {
            return Ok(VisitEnd::Stopped);
        }
    }
    let end = position.get();
    Ok(if end > member_end { VisitEnd::Complete } else { VisitEnd::Unmarked(end) })
}

fn member_kind(kind: tar::EntryType) -> TarMemberKind {
    if kind.is_hard_link() || kind.is_symlink() {
        TarMemberKind::Link
    } else if kind.is_file() || kind.is_gnu_sparse() || kind.is_contiguous() {
        TarMemberKind::File
    } else {
        TarMemberKind::Other
    }
}

/// Returns the bytes of a member's content in the archive. Only a sparse member has fewer than its length.
fn stored_bytes(entry: &mut tar::Entry<'_, impl Read>) -> io::Result<u64> {
    if !entry.header().entry_type().is_gnu_sparse() {
        return Ok(entry.size());
    }
    // No tool writes both sizes, and `tar` would use the record's size as the number of stored bytes.
    let mut records = entry.pax_extensions()?.into_iter().flatten();
    if records.any(|record| record.is_ok_and(|record| record.key_bytes() == b"size")) {
        return Err(io::Error::other("a member with holes has a size in a pax record as well"));
    }
    entry.header().entry_size()
}

/// Returns the name of a member for messages: `archive.tar.xz//member`.
pub(crate) fn member_name(archive: &Path, member: &Path) -> PathBuf {
    let parts =
        [archive.as_os_str().as_encoded_bytes(), SEPARATOR.as_bytes(), member.as_os_str().as_encoded_bytes()];
    PathBuf::from(OsString::from_vec(parts.concat()))
}

/// A reader for an uncompressed archive. Its bytes count as unpacked, because an archive file may consist of
/// holes, which take no disk space but time to read.
pub(crate) struct Uncompressed<R> {
    pub(crate) stream: R,
    pub(crate) budget: Budget,
}

impl<R: Read> Read for Uncompressed<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.stream.read(buf)?;
        self.budget.take(u64::try_from(n).map_err(io::Error::other)?)?;
        Ok(n)
    }
}

/// A reader for an archive. It reads at most [`HEADER_BYTES`] beyond the end of a member before the content
/// of the next one begins.
struct Bounded<'a> {
    stream: Box<dyn Read + 'a>,
    position: &'a Cell<u64>,
    limit: &'a Cell<u64>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let max = self.limit.get().saturating_sub(self.position.get());
        if max == 0 && !buf.is_empty() {
            return Err(io::Error::other("a member's name is longer than 1 MiB"));
        }
        let n = self.stream.by_ref().take(max).read(buf)?;
        let position = self.position.get().checked_add(u64::try_from(n).map_err(io::Error::other)?);
        self.position.set(position.ok_or_else(|| io::Error::other("the archive has more than 2^64 bytes"))?);
        Ok(n)
    }
}
