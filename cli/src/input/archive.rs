//! Tar archives of kernels, as collections of BTF ship them: one member after the other, none of it kept.

use super::{
    file::{self, Limits, Opened},
    folder, streams, unpack,
    vmlinuz::Compression,
};
use crate::error::{BadInput, shown};
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

/// Bytes of headers and long names before a member.
const HEADERS: u64 = 1 << 20;

/// How many times the bytes of one kernel an archive may unpack to.
const MEMBERS: u64 = 64;

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
    content: &'r mut dyn Read,
}

impl Member<'_> {
    /// All of it, if it is no larger than it may be.
    pub(crate) fn read(self, limits: Limits) -> Result<Data<'static>, BadInput> {
        let failed = |e: &io::Error| file::unreadable(&self.path, e);
        let too_long = |limit| Err(file::too_long(&self.path, self.len, limit));
        if self.len > limits.bytes {
            return too_long(limits.bytes);
        }
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
        Ok(bytes)
    }
}

/// Gives each member that is a file and by its name may be a kernel to `each`; says what was passed over, if anything.
pub(crate) fn members(
    path: &Path,
    limits: Limits,
    each: &mut dyn FnMut(Member<'_>) -> ControlFlow<()>,
) -> Result<Option<String>, BadInput> {
    let failed = |e: &io::Error| BadInput::at(path, format_args!("tar archive: {e}"));
    let opened = Opened::new(path)?;
    if opened.head.is_empty() {
        return Err(BadInput::at(path, "is empty").help("expected a tar archive"));
    }
    let stream: Box<dyn Read> = match Compression::of(&opened.head) {
        Some(how) => {
            let stream = streams::all(how, opened.stream());
            stream.map_err(|e| BadInput::at(path, format_args!("{how} stream: {e}")))?
        }
        None if is_tar(&opened.head) => Box::new(opened.stream()),
        None => return Err(BadInput::at(path, "is no tar archive, although it is called one")),
    };
    let allowed = Cell::new(HEADERS);
    let left = Cell::new(limits.bytes.saturating_mul(MEMBERS));
    let mut archive = tar::Archive::new(Bounded { stream, allowed: &allowed, left: &left });
    let mut links = 0usize;
    for (index, entry) in (0..).zip(archive.entries().map_err(|e| failed(&e))?) {
        let mut entry = entry.map_err(|e| failed(&e))?;
        allowed.set(u64::MAX);
        let kind = entry.header().entry_type();
        let name = entry.path_bytes().into_owned();
        let within = Path::new(OsStr::from_bytes(name.strip_prefix(b"./").unwrap_or(&name)));
        if kind.is_hard_link() || kind.is_symlink() {
            links = links.saturating_add(1);
        } else if (kind.is_file() || kind.is_gnu_sparse() || kind.is_contiguous())
            && !folder::is_something_else(within)
        {
            let len = entry.size();
            let member = Member { path: joined(path, within), index, len, content: &mut entry };
            if each(member).is_break() {
                return Ok(None);
            }
        }
        io::copy(&mut entry, &mut io::sink()).map_err(|e| failed(&e))?;
        allowed.set(HEADERS);
    }
    let note = || format!("{}: {links} links passed over: what they lead to has its own name", shown(path));
    Ok((links > 0).then(note))
}

fn joined(archive: &Path, member: &Path) -> PathBuf {
    let parts =
        [archive.as_os_str().as_encoded_bytes(), WITHIN.as_bytes(), member.as_os_str().as_encoded_bytes()];
    PathBuf::from(OsString::from_vec(parts.concat()))
}

/// An archive's bytes, no more than are allowed now, and no more than are left at all.
struct Bounded<'a> {
    stream: Box<dyn Read + 'a>,
    allowed: &'a Cell<u64>,
    left: &'a Cell<u64>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let most = self.allowed.get().min(self.left.get());
        if most == 0 && !buf.is_empty() {
            let what = match self.left.get() {
                0 => {
                    "unpacks to more than is read of one archive; --max-bytes says how much, by its 64th part"
                }
                _ => "a member's name is longer than 1 MiB",
            };
            return Err(io::Error::other(what));
        }
        let len = buf.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        let n = self.stream.read(buf.get_mut(..len).unwrap_or_default())?;
        let read = u64::try_from(n).unwrap_or(u64::MAX);
        self.allowed.set(self.allowed.get().saturating_sub(read));
        self.left.set(self.left.get().saturating_sub(read));
        Ok(n)
    }
}
