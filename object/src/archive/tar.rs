//! A reader of tar archives, member by member, for regular files with names of up to 256 bytes (POSIX
//! `ustar`).

use super::error::ArchiveError;
use crate::{
    internal::Invariant as _,
    limits::{ARCHIVE_BYTES, ARCHIVE_MEMBERS},
};
use core_relo::Text;
use std::io::Read;

/// The bytes of a header. Content is padded to a multiple of this size.
const BLOCK: usize = 512;

/// The invariant of every reader.
const FILLED: &str = "a stream fills at most the buffer";

/// A tar archive that is read once from start to end.
pub(super) struct TarReader<R> {
    stream: R,
    offset: u64,
    member_count: usize,
}

/// The header of a regular file.
pub(super) struct TarMember {
    pub(super) name: String,
    pub(super) len: u64,
}

impl<R: Read> TarReader<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream, offset: 0, member_count: 0 }
    }

    /// Reads the header of the next regular file. The caller reads or skips its content. Members of other
    /// kinds are skipped.
    ///
    /// Returns `None` after the end mark, and reads the stream to its end, so that a wrong checksum of the
    /// stream is found.
    pub(super) fn next_member(&mut self) -> Result<Option<TarMember>, ArchiveError> {
        loop {
            let start = self.offset;
            let header = self.read_block()?;
            if header.iter().all(|byte| *byte == 0) {
                self.skip_rest()?;
                return Ok(None);
            }
            let count = self.member_count.checked_add(1).filter(|count| *count <= ARCHIVE_MEMBERS);
            self.member_count = count.ok_or(ArchiveError::TooManyMembers { limit: ARCHIVE_MEMBERS })?;
            let (member, is_file) = parse_header(&header, start)?;
            if is_file {
                return Ok(Some(member));
            }
            self.skip_content(member.len)?;
        }
    }

    /// Reads the content of the member of which the header was read last.
    pub(super) fn read_content(&mut self, member: &TarMember, limit: u64) -> Result<Vec<u8>, ArchiveError> {
        if member.len > limit {
            let (name, bytes) = (Text::from(member.name.clone()), member.len);
            return Err(ArchiveError::MemberTooLarge { name, bytes, limit });
        }
        let mut content = Vec::new();
        self.copy(member.len, |bytes| content.extend_from_slice(bytes))?;
        self.copy(padding(member.len), |_| ())?;
        Ok(content)
    }

    /// Skips the content of the member of which the header was read last.
    pub(super) fn skip_content(&mut self, len: u64) -> Result<(), ArchiveError> {
        self.copy(len, |_| ())?;
        self.copy(padding(len), |_| ())
    }

    fn read_block(&mut self) -> Result<[u8; BLOCK], ArchiveError> {
        let mut block = Vec::with_capacity(BLOCK);
        self.copy(u64::try_from(BLOCK).unwrap_or(u64::MAX), |bytes| block.extend_from_slice(bytes))?;
        let offset = self.offset;
        block.try_into().map_err(|_block: Vec<u8>| ArchiveError::Truncated { offset })
    }

    /// Reads `len` bytes, and passes them to `take` in parts.
    fn copy(&mut self, len: u64, mut take: impl FnMut(&[u8])) -> Result<(), ArchiveError> {
        let mut left = len;
        let mut buffer = [0; 8192];
        while left > 0 {
            let want = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let Some(part) = buffer.get_mut(..want) else { break };
            let n = self.read_some(part)?;
            if n == 0 {
                return Err(ArchiveError::Truncated { offset: self.offset });
            }
            take(buffer.get(..n).invariant(FILLED)?);
            left = u64::try_from(n).ok().and_then(|n| left.checked_sub(n)).invariant(FILLED)?;
        }
        Ok(())
    }

    fn skip_rest(&mut self) -> Result<(), ArchiveError> {
        let mut buffer = [0; 8192];
        while self.read_some(&mut buffer)? > 0 {}
        Ok(())
    }

    /// Reads some bytes; 0 at the end of the stream.
    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, ArchiveError> {
        let n = self.stream.read(buffer);
        let n = n.map_err(|error| ArchiveError::Gzip { problem: error.to_string().into() })?;
        self.offset = self.offset.saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
        if self.offset > ARCHIVE_BYTES {
            return Err(ArchiveError::TooLarge { limit: ARCHIVE_BYTES });
        }
        Ok(n)
    }
}

/// Returns the bytes between the end of the content and the next header.
fn padding(len: u64) -> u64 {
    let block = u64::try_from(BLOCK).unwrap_or(1);
    len.checked_next_multiple_of(block).map_or(0, |end| end.abs_diff(len))
}

/// Parses a header. Returns the member, and whether it is a regular file.
fn parse_header(header: &[u8; BLOCK], offset: u64) -> Result<(TarMember, bool), ArchiveError> {
    let error = |problem| ArchiveError::Header { offset, problem };
    // The places of all fields are constants within the block.
    let field = |start: usize, len: usize| {
        let field = header.split_at(start).1.split_at(len).0;
        field.iter().position(|byte| *byte == 0).map_or(field, |end| field.split_at(end).0)
    };
    let expected = octal(field(148, 8)).ok_or_else(|| error("the checksum is not an octal number"))?;
    let in_checksum =
        |(index, byte): (usize, &u8)| u64::from(if (148..156).contains(&index) { b' ' } else { *byte });
    if header.iter().enumerate().map(in_checksum).sum::<u64>() != expected {
        return Err(error("wrong checksum"));
    }
    let len = octal(field(124, 12)).ok_or_else(|| error("the size is not an octal number"))?;
    let is_ustar = field(257, 5) == b"ustar";
    let prefix = if is_ustar && field(257, 6) == b"ustar" { field(345, 155) } else { &[] };
    let name = match prefix {
        [] => field(0, 100).to_vec(),
        prefix => [prefix, field(0, 100)].join(&b'/'),
    };
    let name = String::from_utf8(name).map_err(|_not_utf8| error("the name is not UTF-8"))?;
    let kind = header.get(156).copied();
    if matches!(kind, Some(b'x' | b'g' | b'L' | b'K' | b'S')) {
        return Err(error("a pax, GNU or sparse extension, expected plain `ustar`"));
    }
    let is_file = matches!(kind, Some(0 | b'0'));
    // Links and directories have no content, whatever their size says.
    let len = if is_file { len } else { 0 };
    if is_file && !is_safe_name(&name) {
        return Err(ArchiveError::MemberName { name: name.into() });
    }
    Ok((TarMember { name, len }, is_file))
}

/// Returns whether a name stays below the directory to which an archive is unpacked.
fn is_safe_name(name: &str) -> bool {
    !name.is_empty() && !name.split('/').any(|part| matches!(part, "" | "." | ".."))
}

/// Parses an octal number, which may have spaces around it.
fn octal(field: &[u8]) -> Option<u64> {
    let text = str::from_utf8(field).ok()?.trim_matches(' ');
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    u64::from_str_radix(text, 8).ok()
}
