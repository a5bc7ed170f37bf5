//! Tar archives of kernels, read member by member.

use crate::{
    compression::{
        budget::{Budget, Exceeded},
        format::Compression,
        streams::Streams,
    },
    error::{Defect, InputError},
    file::{self, InputFile},
    file_kind::{is_other_name, is_tar, max_bytes},
    limits::Limits,
    note::Note,
};
use core_relo::Data;
use core_relo_loader::target;
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

/// A member that may be a kernel.
pub(crate) struct Member<'r> {
    /// The name for messages: `archive.tar.xz//member`.
    pub path: PathBuf,
    /// The index among all members, of any kind.
    pub index: u64,
    len: u64,
    /// The size of the content in the archive, in bytes: less than `len` if the member is sparse.
    stored_bytes: u64,
    /// The size of the map of a sparse member's data and holes, in bytes.
    sparse_map_bytes: u64,
    archive_budget: Budget,
    content: &'r mut dyn Read,
}

impl Member<'_> {
    /// Reads the member. Returns its content and the budget for unpacking it.
    pub(crate) fn read(self, limits: Limits) -> Result<(Data<'static>, Budget), InputError> {
        let unreadable = |e: &io::Error| file::unreadable(&self.path, e);
        let too_long = |limit| Err(file::too_long(&self.path, self.len, limit));
        if self.len > limits.bytes {
            return too_long(limits.bytes);
        }
        let budget = self.archive_budget.for_member(limits, self.stored_bytes);
        self.take_holes(&budget).map_err(|e| InputError::new(&self.path, e.into()))?;
        let mut head = Vec::new();
        self.content.take(0x1000).read_to_end(&mut head).map_err(|e| unreadable(&e))?;
        let limit = max_bytes(&head, limits);
        if self.len > limit {
            return too_long(limit);
        }
        // The header alone does not justify a large allocation.
        let expected = self.len.min(16 << 20);
        let bytes = target::read_all(io::Cursor::new(head).chain(self.content), expected, limit);
        // `content` ends at the length in the header.
        let Some(bytes) = bytes.map_err(|e| unreadable(&e))? else { return too_long(limit) };
        if u64::try_from(bytes.len()).ok() != Some(self.len) {
            let defect = Defect::TruncatedMember { bytes: bytes.len(), expected: self.len };
            return Err(InputError::new(&self.path, defect));
        }
        Ok((bytes, budget))
    }

    /// Takes the cost of a sparse member from the budget: its zeros, and the square of the number of its
    /// segments.
    ///
    /// `tar` stores the segments (data and holes) in a vector and removes the first one repeatedly. 24 bytes
    /// of the map become two segments of 40 bytes.
    fn take_holes(&self, budget: &Budget) -> Result<(), Exceeded> {
        let zeros = self.len.saturating_sub(self.stored_bytes);
        let segment_cost = self.sparse_map_bytes.saturating_mul(self.sparse_map_bytes) / 8;
        budget.take_ahead(zeros.saturating_add(segment_cost))
    }
}

/// Passes each member whose type and name are possible for a kernel to `visit`. Returns a note about skipped
/// links.
pub(crate) fn visit_members(
    path: &Path,
    limits: Limits,
    visit: &mut dyn FnMut(Member<'_>) -> ControlFlow<()>,
) -> Result<Option<Note>, InputError> {
    let bad_archive = |e: &io::Error| match Exceeded::from_io(e) {
        Some(e) => InputError::new(path, e.into()),
        None => InputError::new(path, Defect::Archive(e.into())),
    };
    let input = InputFile::open(path, limits.bytes)?;
    if input.head.is_empty() {
        return Err(InputError::new(path, Defect::EmptyArchive));
    }
    let budget = Budget::for_archive(limits, input.stored_bytes);
    let stream: Box<dyn Read> = match Compression::detect(&input.head) {
        Some(format) => Box::new(Streams::concatenated(format, input.into_stream(), budget.clone())),
        None if is_tar(&input.head) => {
            Box::new(Uncompressed { stream: input.into_stream(), budget: budget.clone() })
        }
        None => return Err(InputError::new(path, Defect::NotAnArchive)),
    };
    let (position, limit) = (Cell::new(0u64), Cell::new(HEADER_BYTES));
    let mut archive = tar::Archive::new(Bounded { stream, position: &position, limit: &limit });
    let (mut link_count, mut module_count, mut member_end) = (0usize, 0usize, 0u64);
    // The directory that may have the modules of the last kernel: `6.1.0` after `6.1.0.btf`.
    let mut module_dir = None;
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
        let member_path = Path::new(OsStr::from_bytes(name.strip_prefix(b"./").unwrap_or(&name)));
        let is_file = kind.is_file() || kind.is_gnu_sparse() || kind.is_contiguous();
        if kind.is_hard_link() || kind.is_symlink() {
            link_count += 1;
        } else if is_file && member_path.parent().is_some_and(|dir| Some(dir) == module_dir.as_deref()) {
            module_count += 1;
        } else if is_file && !is_other_name(member_path) {
            module_dir =
                (member_path.extension() == Some(OsStr::new("btf"))).then(|| member_path.with_extension(""));
            let member = Member {
                path: join(path, member_path),
                index,
                len: entry.size(),
                stored_bytes,
                sparse_map_bytes,
                archive_budget: budget.clone(),
                content: &mut entry,
            };
            if visit(member).is_break() {
                return Ok(None);
            }
        }
    }
    let is_skipped = link_count > 0 || module_count > 0;
    Ok(is_skipped.then(|| Note::Members { archive: path.to_path_buf(), link_count, module_count }))
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

fn join(archive: &Path, member: &Path) -> PathBuf {
    let parts =
        [archive.as_os_str().as_encoded_bytes(), SEPARATOR.as_bytes(), member.as_os_str().as_encoded_bytes()];
    PathBuf::from(OsString::from_vec(parts.concat()))
}

/// A reader for an uncompressed archive. Its bytes count as unpacked, because an archive file may consist of
/// holes, which take no disk space but time to read.
struct Uncompressed<R> {
    stream: R,
    budget: Budget,
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
