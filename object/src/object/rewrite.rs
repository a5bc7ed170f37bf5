//! Copies of an object with other code, and without CO-RE records.

use super::{Object, error::RewriteError};
use crate::{
    elf::{Elf, Section, text},
    index::{SectionIndex, to_usize},
    internal::{InternalError, Invariant as _},
};
use alloc::{
    collections::{BTreeSet, VecDeque},
    vec::Vec,
};
use core::ops::Range;
use core_relo::Endian;
use hashbrown::HashMap;

/// The size of a 64-bit ELF header, and of a section header, in bytes.
const HEADER_SIZE: usize = 64;

/// The offset of `e_shoff` in the header.
const E_SHOFF: usize = 0x28;

/// The CO-RE records in a copy of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the records are there or not")]
pub enum CoreRecords {
    /// They stay. A loader relocates the instructions again.
    Keep,
    /// The length of their part in `.BTF.ext` is 0, so that loaders take the instructions as they are.
    Remove,
}

impl Object<'_> {
    /// Returns a copy of the file with new contents of code sections, and with or without the CO-RE records.
    /// All other bytes stay the same. A section that shares bytes with another part of the file cannot be
    /// changed.
    ///
    /// Section names are not unique: the second use of a name refers to the second section of that name.
    pub fn rewrite<'n>(
        &self,
        sections: impl IntoIterator<Item = (&'n [u8], &'n [u8])>,
        records: CoreRecords,
    ) -> Result<Vec<u8>, RewriteError> {
        let mut copy = self.bytes.to_vec();
        let mut remaining = HashMap::<&[u8], VecDeque<SectionIndex>>::new();
        for (section, index) in self.code.iter().zip(&self.code_indices) {
            remaining.entry(section.name).or_default().push_back(*index);
        }
        let mut changed = BTreeSet::new();
        for (name, new) in sections {
            let missing = || RewriteError::NoSection { section: text(name) };
            let index = remaining.get_mut(name).and_then(VecDeque::pop_front).ok_or_else(missing)?;
            let section = self.elf.section_at(index).ok_or_else(missing)?;
            let old = section.file_range().and_then(|range| copy.get_mut(range));
            let old = old.invariant("a code section has bytes in the file")?;
            if old.len() != new.len() {
                let (expected, found) = (old.len(), new.len());
                return Err(RewriteError::Length { section: text(name), expected, found });
            }
            if section.data != new {
                changed.insert(section.index);
            }
            old.copy_from_slice(new);
        }
        if records == CoreRecords::Remove
            && let Some(ext) = &self.ext
        {
            let section = self.elf.section_at(ext.section).invariant("`.BTF.ext` is a section")?;
            if let Some(place) = core_records_length(section, self.endian())? {
                let length = copy.get_mut(place).invariant("the header of `.BTF.ext` is in the file")?;
                length.fill(0);
                changed.insert(section.index);
            }
        }
        check_no_overlap(&self.elf, self.bytes, &changed)?;
        Ok(copy)
    }
}

/// Returns the place in the file of the length of the CO-RE records, by the header of `.BTF.ext`. Returns
/// `None` for a header without it (before LLVM 10), which has no CO-RE records.
fn core_records_length(ext: &Section<'_>, endian: Endian) -> Result<Option<Range<usize>>, InternalError> {
    /// The places of `hdr_len` and `core_relo_len` in the header.
    const HEADER_LENGTH: usize = 4;
    const LENGTH: Range<usize> = 28..32;
    let header = endian.u32(ext.data, HEADER_LENGTH).invariant("a parsed `.BTF.ext` has a header")?;
    if to_usize(header) < LENGTH.end {
        return Ok(None);
    }
    let start = ext.file_range().invariant("a parsed `.BTF.ext` has bytes in the file")?.start;
    let end = |offset| start.checked_add(offset).invariant("an offset in a file fits a usize");
    Ok(Some(end(LENGTH.start)?..end(LENGTH.end)?))
}

/// A byte range of the file, with the section in it; `None` for headers.
type Part<'e, 'd> = (Range<usize>, Option<&'e Section<'d>>);

/// Returns an error for changed sections that share bytes with another section or with headers.
pub(crate) fn check_no_overlap(
    elf: &Elf<'_>,
    file: &[u8],
    changed: &BTreeSet<SectionIndex>,
) -> Result<(), RewriteError> {
    let headers = [0..HEADER_SIZE, section_headers(elf, file)?].into_iter();
    let sections = elf.sections.iter().filter(|s| !s.is_null() && !s.data.is_empty());
    let sections = sections.filter_map(|s| Some((s.file_range()?, Some(s))));
    let mut parts: Vec<Part<'_, '_>> = headers.map(|range| (range, None)).chain(sections).collect();
    parts.sort_by_key(|(range, _)| (range.start, range.end));
    // A part overlaps an earlier part if and only if it overlaps the earlier part with the largest end.
    let mut last: Option<&Part<'_, '_>> = None;
    for part in &parts {
        let overlapping = last.filter(|last| part.0.start < last.0.end).map(|last| [part.1, last.1]);
        let mut sections = overlapping.into_iter().flatten().flatten();
        if let Some(section) = sections.find(|section| changed.contains(&section.index)) {
            return Err(RewriteError::Overlap { section: section.text() });
        }
        if last.is_none_or(|last| part.0.end > last.0.end) {
            last = Some(part);
        }
    }
    Ok(())
}

/// Returns the byte range of the section header table.
fn section_headers(elf: &Elf<'_>, file: &[u8]) -> Result<Range<usize>, InternalError> {
    let start = elf.endian.u64(file, E_SHOFF).and_then(|start| usize::try_from(start).ok());
    let start = start.invariant("the header of a parsed file has the place of the section headers")?;
    let len = elf.sections.len().checked_mul(HEADER_SIZE);
    let end = len.and_then(|len| start.checked_add(len));
    Ok(start..end.invariant("the section headers lie in the file")?)
}
