//! Groups of fixed-size records, a group for each ELF section.

use super::ExtError;
use crate::{
    endian::Endian,
    ids::{StrOffset, to_usize},
};
use core::marker::PhantomData;

/// A record of `.BTF.ext`.
pub trait ExtRecord: Sized {
    /// Bytes of the record as first defined; longer ones are read as far as known.
    const SIZE: u32;

    /// Reads the record; `None` if `data` is shorter than [`SIZE`](Self::SIZE).
    fn read(endian: Endian, data: &[u8]) -> Option<Self>;
}

/// One of the three parts of a `.BTF.ext`, checked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Subsection<'e> {
    record_size: u32,
    groups: &'e [u8],
}

impl<'e> Subsection<'e> {
    /// Checks the bounds of the subsection and of every group in it (libbpf: `btf_ext_parse_sec_info`).
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
        let record_size = endian.u32(data, 0).ok_or(bounds)?;
        if record_size < need || !record_size.is_multiple_of(4) {
            return Err(ExtError::RecordSize { subsection: name, found: record_size, need });
        }
        let groups = data.get(4..).unwrap_or_default();
        let subsection = Self { record_size, groups };
        subsection.check(endian, name)?;
        Ok(subsection)
    }

    fn check(&self, endian: Endian, name: &'static str) -> Result<(), ExtError> {
        let mut rest = self.groups;
        loop {
            let records = endian.u32(rest, 4).unwrap_or_default();
            let group =
                split_group(endian, self.record_size, rest).filter(|(_, records, _)| !records.is_empty());
            rest = match group {
                Some((_, _, after)) => after,
                None => {
                    return Err(ExtError::Group {
                        subsection: name,
                        offset: self.groups.len().saturating_sub(rest.len()).saturating_add(4),
                        records,
                        size: self.record_size,
                        left: rest.len().saturating_sub(8),
                    });
                }
            };
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    pub(super) fn sections<R>(&self, endian: Endian) -> Sections<'e, R> {
        Sections { endian, record_size: self.record_size, rest: self.groups, of: PhantomData }
    }
}

/// The name, records and remainder after the group at the start of `data`.
fn split_group(endian: Endian, record_size: u32, data: &[u8]) -> Option<(StrOffset, &[u8], &[u8])> {
    let name = StrOffset(endian.u32(data, 0)?);
    let len = to_usize(endian.u32(data, 4)?).checked_mul(to_usize(record_size))?;
    let (records, rest) = data.get(8..)?.split_at_checked(len)?;
    Some((name, records, rest))
}

/// The groups of records of one subsection.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'e, R> {
    endian: Endian,
    record_size: u32,
    rest: &'e [u8],
    of: PhantomData<R>,
}

impl<'e, R> Iterator for Sections<'e, R> {
    type Item = Section<'e, R>;

    fn next(&mut self) -> Option<Self::Item> {
        let (name, records, rest) = split_group(self.endian, self.record_size, self.rest)?;
        self.rest = rest;
        Some(Section { name, endian: self.endian, record_size: self.record_size, records, of: PhantomData })
    }
}

/// The records of one ELF section.
#[derive(Clone, Copy, Debug)]
pub struct Section<'e, R> {
    name: StrOffset,
    endian: Endian,
    record_size: u32,
    records: &'e [u8],
    of: PhantomData<R>,
}

impl<'e, R: ExtRecord> Section<'e, R> {
    /// Where, in the object's BTF, the ELF section's name lies.
    pub fn name(&self) -> StrOffset {
        self.name
    }

    /// Bytes of a record, all of it, known or not.
    pub fn record_size(&self) -> u32 {
        self.record_size.max(4)
    }

    /// The records in order, each as it lies in the file.
    pub fn raw_records(&self) -> impl Iterator<Item = &'e [u8]> + use<'e, R> {
        self.records.chunks_exact(to_usize(self.record_size()))
    }

    /// The records in order.
    pub fn records(&self) -> Records<'e, R> {
        let size = to_usize(self.record_size());
        Records { endian: self.endian, chunks: self.records.chunks_exact(size), of: PhantomData }
    }
}

/// Records of one section, in order.
#[derive(Clone, Debug)]
pub struct Records<'e, R> {
    endian: Endian,
    chunks: core::slice::ChunksExact<'e, u8>,
    of: PhantomData<R>,
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
