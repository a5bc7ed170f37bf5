//! Tar archives of kernels, as collections of BTF ship them: one member after the other, none of it kept.

use super::{
    budget::{Budget, Exceeded},
    file::{self, Limits, Opened},
    folder,
    streams::Streams,
    unpack,
    vmlinuz::Compression,
};
use crate::error::{BadInput, shown};
use core_relo_loader::target;
use std::{
    cell::Cell,
    ffi::{OsStr, OsString},
    io::{self, Read},
    ops::ControlFlow,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

/// Bytes of headers and long names before a member.
const HEADERS: u64 = 1 << 20;

/// How many times a byte of these counts: records of a pax header are looked through several times.
const HEADERS_COST: u64 = 16;

/// Bytes of a header, and to whose multiples a member is filled up.
const BLOCK: u64 = 512;

/// What is between an archive's name and a member's.
const WITHIN: &str = "//";

const ENDINGS: [&str; 9] =
    [".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.zst", ".tzst", ".tar.bz2", ".tar.lz4"];

/// Whether a file's name says that it is an archive.
pub(crate) fn is_archive(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.as_encoded_bytes()).unwrap_or_default();
    ENDINGS.iter().any(|ending| name.ends_with(ending.as_bytes()))
}

/// Whether bytes are those of a tar archive.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..).is_some_and(|at| at.starts_with(b"ustar"))
}

/// A member that may be a kernel.
pub(crate) struct Member<'r> {
    /// `archive.tar.xz//member`
    pub(crate) path: PathBuf,
    /// The index among all members, of any kind.
    pub(crate) index: u64,
    len: u64,
    /// Bytes in the archive: fewer than `len` if it has holes.
    stored: u64,
    /// Bytes in the archive that say where the holes are.
    map: u64,
    archive: Budget,
    content: &'r mut dyn Read,
}

impl Member<'_> {
    /// All of it, if it is no larger than it may be.
    pub(crate) fn read(self, limits: Limits) -> Result<unpack::Read, BadInput> {
        let failed = |e: &io::Error| file::unreadable(&self.path, e);
        let too_long = |limit| Err(file::too_long(&self.path, self.len, limit));
        if self.len > limits.bytes {
            return too_long(limits.bytes);
        }
        let budget = self.archive.of_member(limits, self.stored);
        self.fill_holes(&budget).map_err(|e| unpack::exceeded(&self.path, e))?;
        let mut head = Vec::new();
        self.content.take(0x1000).read_to_end(&mut head).map_err(|e| failed(&e))?;
        let limit = unpack::longest(&head, limits);
        if self.len > limit {
            return too_long(limit);
        }
        // The archive's word is not enough for all the memory that it asks for.
        let expected = self.len.min(16 << 20);
        let bytes = target::read_all(io::Cursor::new(head).chain(self.content), expected, limit);
        // `content` ends where the archive says that the member does.
        let Some(bytes) = bytes.map_err(|e| failed(&e))? else { return too_long(limit) };
        if u64::try_from(bytes.len()).ok() != Some(self.len) {
            let what = format!("truncated: {} of {} bytes are there", bytes.len(), self.len);
            return Err(BadInput::at(&self.path, what));
        }
        Ok(unpack::Read::Whole(bytes, budget))
    }

    /// Takes what filling the holes costs from the budget: the zeros, and the square of their number, for `tar` keeps the pieces of a
    /// member in a vector and removes the first one again and again. It has two pieces of 40 bytes for each 24 bytes of the map.
    fn fill_holes(&self, budget: &Budget) -> Result<(), Exceeded> {
        let zeros = self.len.saturating_sub(self.stored);
        budget.take_ahead(zeros.saturating_add(self.map.saturating_mul(self.map) / 8))
    }
}

/// Gives each member that is a file and by its name may be a kernel to `each`; says what was passed over, if anything.
pub(crate) fn members(
    path: &Path,
    limits: Limits,
    each: &mut dyn FnMut(Member<'_>) -> ControlFlow<()>,
) -> Result<Option<String>, BadInput> {
    let failed = |e: &io::Error| match Exceeded::of(e) {
        Some(e) => unpack::exceeded(path, e),
        None => BadInput::at(path, format_args!("tar archive: {e}")),
    };
    let opened = Opened::new(path)?;
    if opened.head.is_empty() {
        return Err(BadInput::at(path, "is empty").help("expected a tar archive"));
    }
    let budget = Budget::of_archive(limits, opened.stored);
    let stream: Box<dyn Read> = match Compression::of(&opened.head) {
        Some(how) => Box::new(Streams::all(how, opened.stream(), budget.clone())),
        None if is_tar(&opened.head) => Box::new(Plain { stream: opened.stream(), budget: budget.clone() }),
        None => return Err(BadInput::at(path, "is no tar archive, although it is called one")),
    };
    let (position, until) = (Cell::new(0u64), Cell::new(HEADERS));
    let mut archive = tar::Archive::new(Bounded { stream, position: &position, until: &until });
    let (mut links, mut end) = (0usize, 0u64);
    for (index, entry) in (0..).zip(archive.entries().map_err(|e| failed(&e))?) {
        let mut entry = entry.map_err(|e| failed(&e))?;
        let kind = entry.header().entry_type();
        let stored = stored(&mut entry).map_err(|e| failed(&e))?;
        let start = position.get();
        let headers = start.saturating_sub(end).saturating_sub(BLOCK);
        budget.take(headers.saturating_mul(HEADERS_COST)).map_err(|e| unpack::exceeded(path, e))?;
        // `tar` passes over what is left of the member, and reads the headers of the next.
        end = start.saturating_add(stored.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX));
        until.set(end.saturating_add(HEADERS));
        let map = start.saturating_sub(entry.raw_file_position());
        let name = entry.path_bytes().into_owned();
        let within = Path::new(OsStr::from_bytes(name.strip_prefix(b"./").unwrap_or(&name)));
        if kind.is_hard_link() || kind.is_symlink() {
            links = links.saturating_add(1);
        } else if (kind.is_file() || kind.is_gnu_sparse() || kind.is_contiguous())
            && !folder::is_something_else(within)
        {
            let (path, len, archive) = (joined(path, within), entry.size(), budget.clone());
            let member = Member { path, index, len, stored, map, archive, content: &mut entry };
            if each(member).is_break() {
                return Ok(None);
            }
        }
    }
    let note = || format!("{}: {links} links passed over: what they lead to has its own name", shown(path));
    Ok((links > 0).then(note))
}

/// Bytes that a member takes in the archive. Only one with holes takes fewer than it is long.
fn stored(entry: &mut tar::Entry<'_, impl Read>) -> io::Result<u64> {
    if !entry.header().entry_type().is_gnu_sparse() {
        return Ok(entry.size());
    }
    // No tool writes both, and `tar` would take the record's word for what is stored.
    let mut records = entry.pax_extensions()?.into_iter().flatten();
    if records.any(|record| record.is_ok_and(|record| record.key_bytes() == b"size")) {
        return Err(io::Error::other("a member with holes has a size in a pax record as well"));
    }
    entry.header().entry_size()
}

fn joined(archive: &Path, member: &Path) -> PathBuf {
    let parts =
        [archive.as_os_str().as_encoded_bytes(), WITHIN.as_bytes(), member.as_os_str().as_encoded_bytes()];
    PathBuf::from(OsString::from_vec(parts.concat()))
}

/// An archive that is not compressed. What is read of it counts all the same: holes of a file cost nothing but the time to read them.
struct Plain<R> {
    stream: R,
    budget: Budget,
}

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.stream.read(buf)?;
        self.budget.take(u64::try_from(n).map_err(io::Error::other)?)?;
        Ok(n)
    }
}

/// An archive's bytes, read no further than the next member's content may begin.
struct Bounded<'a> {
    stream: Box<dyn Read + 'a>,
    position: &'a Cell<u64>,
    until: &'a Cell<u64>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let most = self.until.get().saturating_sub(self.position.get());
        if most == 0 && !buf.is_empty() {
            return Err(io::Error::other("a member's name is longer than 1 MiB"));
        }
        let len = buf.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        let n = self.stream.read(buf.get_mut(..len).unwrap_or_default())?;
        self.position.set(self.position.get().saturating_add(u64::try_from(n).map_err(io::Error::other)?));
        Ok(n)
    }
}
