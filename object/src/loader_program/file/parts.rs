//! The parts of a loader file: numbers, names and sections.

use super::{ALIGNMENT, LoaderFileError};
use crate::index::to_usize;
use core_relo::Endian;

/// A position in bytes that are read from front to back.
pub(super) struct Reader<'a> {
    endian: Endian,
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(endian: Endian, bytes: &'a [u8]) -> Self {
        Self { endian, rest: bytes, offset: 0 }
    }

    /// Fails if bytes are left.
    pub(super) fn finish(&self, part: &'static str) -> Result<(), LoaderFileError> {
        match self.rest.len() {
            0 => Ok(()),
            found => Err(LoaderFileError::Trailing { offset: self.offset, part, found }),
        }
    }

    /// Returns whether no bytes are left.
    pub(super) const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads `count` bytes.
    pub(super) fn bytes(&mut self, part: &'static str, count: usize) -> Result<&'a [u8], LoaderFileError> {
        let (offset, found) = (self.offset, self.rest.len());
        let truncated = LoaderFileError::Truncated { offset, part, found, expected: count };
        match (self.rest.split_at_checked(count), offset.checked_add(count)) {
            (Some((bytes, rest)), Some(next)) => {
                (self.rest, self.offset) = (rest, next);
                Ok(bytes)
            }
            _ => Err(truncated),
        }
    }

    fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], LoaderFileError> {
        let (offset, found) = (self.offset, self.rest.len());
        let bytes = self.bytes(part, N)?.first_chunk().copied();
        bytes.ok_or(LoaderFileError::Truncated { offset, part, found, expected: N })
    }

    pub(super) fn u32(&mut self, part: &'static str) -> Result<u32, LoaderFileError> {
        Ok(self.endian.word(self.array(part)?))
    }

    pub(super) fn u64(&mut self, part: &'static str) -> Result<u64, LoaderFileError> {
        let [b0, b1, b2, b3, b4, b5, b6, b7] = self.array(part)?;
        let (first, second) = (self.endian.word([b0, b1, b2, b3]), self.endian.word([b4, b5, b6, b7]));
        let (low, high) = if self.endian == Endian::Little { (first, second) } else { (second, first) };
        Ok((u64::from(high) << 32) | u64::from(low))
    }

    /// Reads flags of which only one is known.
    pub(super) fn flag(&mut self, field: &'static str, flag: u32) -> Result<bool, LoaderFileError> {
        match self.u32(field)? {
            0 => Ok(false),
            found if found == flag => Ok(true),
            found => Err(LoaderFileError::Field { field, found: found.into(), expected: "0 or 1" }),
        }
    }

    /// Reads a text, which may be empty.
    pub(super) fn text(&mut self, field: &'static str) -> Result<String, LoaderFileError> {
        let len = to_usize(self.u32(field)?);
        let bytes = self.bytes(field, len)?;
        match str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(text.to_owned()),
            _ => Err(LoaderFileError::Name { field }),
        }
    }

    /// Reads a name, which is not empty.
    pub(super) fn name(&mut self, field: &'static str) -> Result<String, LoaderFileError> {
        let name = self.text(field)?;
        if name.is_empty() { Err(LoaderFileError::Name { field }) } else { Ok(name) }
    }

    /// Reads a section of a kind.
    pub(super) fn section(&mut self, kind: u32, expected: &'static str) -> Result<&'a [u8], LoaderFileError> {
        let offset = self.offset;
        let found = self.u32("the head of a section")?;
        if found != kind {
            return Err(LoaderFileError::Section { offset, found, expected });
        }
        let size = to_usize(self.u32("the head of a section")?);
        let contents = self.bytes("a section", size)?;
        let padding_offset = self.offset;
        let padding_bytes = size.wrapping_neg() % ALIGNMENT;
        let padding = self.bytes("the padding of a section", padding_bytes)?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(LoaderFileError::Padding { offset: padding_offset });
        }
        Ok(contents)
    }
}

/// Appends a name: its length and its bytes.
pub(super) fn put_name(endian: Endian, out: &mut Vec<u8>, name: &str) -> Result<(), LoaderFileError> {
    if name.contains('\0') {
        return Err(LoaderFileError::Name { field: "name" });
    }
    let len = u32::try_from(name.len()).map_err(|_large| LoaderFileError::Name { field: "name" })?;
    endian.put_u32(out, len);
    out.extend_from_slice(name.as_bytes());
    Ok(())
}
