//! Groups of fixed-size records, a group for each ELF section.

use super::error::ExtError;
use crate::{Endian, StrOffset, index::to_usize};
use core::{fmt, marker::PhantomData};

/// A record of `.BTF.ext`.
pub trait ExtRecord: Sized {
    /// The bytes of the record in the first version of the format. The rest of longer records is ignored.
    const SIZE: u32;

    /// Reads the record. Returns `None` if `data` is shorter than [`SIZE`](Self::SIZE).
    fn read(endian: Endian, data: &[u8]) -> Option<Self>;
}

/// A validated subsection of `.BTF.ext`.
#[derive(Clone, Copy, Default)]
pub(super) struct Subsection<'e> {
    record_size: u32,
    groups: &'e [u8],
}

impl<'e> Subsection<'e> {
    /// Validates the bounds of a subsection and of its groups (libbpf: `btf_ext_parse_sec_info`).
    pub(super) fn parse(
        endian: Endian,
        name: &'static str,
        need: u32,
        body: &'e [u8],
        offset: u32,
        len: u32,
    ) -> Result<Self, ExtError> {
        if len == 0 {
            return Ok(Self::default());
        }
        let bounds = ExtError::Bounds { subsection: name, offset, len, available: body.len() };
        let end = to_usize(offset.checked_add(len).ok_or(bounds)?);
        let data = body.get(to_usize(offset)..end).filter(|_| offset.is_multiple_of(4)).ok_or(bounds)?;
        let (size, groups) = data.split_first_chunk().ok_or(bounds)?;
        let record_size = endian.word(*size);
        if record_size < need || !record_size.is_multiple_of(4) {
            return Err(ExtError::RecordSize { subsection: name, found: record_size, need });
        }
        check_groups(endian, name, record_size, data)?;
        Ok(Self { record_size, groups })
    }

    pub(super) fn sections<R>(&self, endian: Endian) -> Sections<'e, R> {
        Sections { endian, record_size: self.record_size, rest: self.groups, record: PhantomData }
    }
}

/// Checks that a subsection consists of one or more groups, none of them empty, after its record size of 4
/// bytes.
fn check_groups(endian: Endian, name: &'static str, record_size: u32, data: &[u8]) -> Result<(), ExtError> {
    let mut offset = 4;
    loop {
        let rest = data.get(offset..).unwrap_or(&[]);
        let group = split_group(endian, record_size, rest).filter(|group| !group.records.is_empty());
        let Some(group) = group else {
            return Err(ExtError::Group {
                subsection: name,
                offset,
                // The error has 0 for a header that is cut off.
                records: endian.u32(rest, 4).unwrap_or(0),
                size: record_size,
                left: rest.get(8..).map_or(0, <[u8]>::len),
            });
        };
        if group.rest.is_empty() {
            return Ok(());
        }
        offset = data.len().abs_diff(group.rest.len());
    }
}

/// The first group of a subsection's remaining data.
struct Group<'e> {
    section: StrOffset,
    records: &'e [u8],
    /// The data after the group.
    rest: &'e [u8],
}

/// Splits off the first group. Returns `None` if the group exceeds the data.
fn split_group(endian: Endian, record_size: u32, data: &[u8]) -> Option<Group<'_>> {
    let section = StrOffset(endian.u32(data, 0)?);
    let len = to_usize(endian.u32(data, 4)?).checked_mul(to_usize(record_size))?;
    let (records, rest) = data.get(8..)?.split_at_checked(len)?;
    Some(Group { section, records, rest })
}

/// The groups of records of one subsection, a group for each ELF section.
#[derive(Clone, Copy)]
pub struct Sections<'e, R> {
    endian: Endian,
    record_size: u32,
    rest: &'e [u8],
    record: PhantomData<R>,
}

impl<'e, R> Iterator for Sections<'e, R> {
    type Item = Section<'e, R>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = split_group(self.endian, self.record_size, self.rest)?;
        self.rest = group.rest;
        Some(Section {
            name: group.section,
            endian: self.endian,
            record_size: self.record_size,
            records: group.records,
            record: PhantomData,
        })
    }
}

/// The records of one ELF section.
#[derive(Clone, Copy)]
pub struct Section<'e, R> {
    name: StrOffset,
    endian: Endian,
    record_size: u32,
    records: &'e [u8],
    record: PhantomData<R>,
}

impl<'e, R: ExtRecord> Section<'e, R> {
    /// Returns the offset of the ELF section's name in the strings of the object's BTF.
    pub fn name(&self) -> StrOffset {
        self.name
    }

    /// Returns the bytes of a record, including those that this library does not know.
    pub fn record_size(&self) -> u32 {
        self.record_size.max(4)
    }

    /// Returns the bytes of each record, in order.
    pub fn raw_records(&self) -> impl Iterator<Item = &'e [u8]> + use<'e, R> {
        self.records.chunks_exact(to_usize(self.record_size()))
    }

    /// Returns the records, in order.
    pub fn records(&self) -> Records<'e, R> {
        let size = to_usize(self.record_size());
        Records { endian: self.endian, chunks: self.records.chunks_exact(size), record: PhantomData }
    }
}

/// An iterator over the records of one section.
#[derive(Clone)]
pub struct Records<'e, R> {
    endian: Endian,
    chunks: core::slice::ChunksExact<'e, u8>,
    record: PhantomData<R>,
}

impl<R: ExtRecord> Iterator for Records<'_, R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        R::read(self.endian, self.chunks.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.chunks.size_hint()
    }
}

impl<R: ExtRecord> ExactSizeIterator for Records<'_, R> {}

impl fmt::Debug for Subsection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups_bytes = self.groups.len();
        f.debug_struct("Subsection")
            .field("record_size", &self.record_size)
            .field("groups_bytes", &groups_bytes)
            .finish()
    }
}

impl<R> fmt::Debug for Sections<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest_bytes = self.rest.len();
        f.debug_struct("Sections")
            .field("record_size", &self.record_size)
            .field("rest_bytes", &rest_bytes)
            .finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for Section<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records_bytes = self.records.len();
        f.debug_struct("Section")
            .field("name", &self.name)
            .field("record_size", &self.record_size)
            .field("records_bytes", &records_bytes)
            .finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for Records<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("count", &self.chunks.len()).finish_non_exhaustive()
    }
}
