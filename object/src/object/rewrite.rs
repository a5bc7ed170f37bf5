//! The check that rewriting a code section changes no other part of the file.

use super::error::RewriteError;
use crate::elf::{Elf, Section};
use crate::index::SectionIndex;
use alloc::{collections::BTreeSet, vec::Vec};
use core::ops::Range;
use core_relo::{Endian, sort::sort_by_key};

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

/// Returns the place in the file of the length of the CO-RE records, by the header of `.BTF.ext`. Returns `None` for a header without it
/// (before LLVM 10).
pub(crate) fn core_records_length(ext: &Section<'_>, endian: Endian) -> Option<Range<usize>> {
    /// The places of `hdr_len` and `core_relo_len` in the header.
    const HEADER_LENGTH: usize = 4;
    const LENGTH: Range<usize> = 28..32;
    let header = usize::try_from(endian.u32(ext.data, HEADER_LENGTH)?).ok()?;
    if header < LENGTH.end {
        return None;
    }
    let start = ext.file_range()?.start;
    Some(start.checked_add(LENGTH.start)?..start.checked_add(LENGTH.end)?)
}

/// A byte range of the file, with the section in it; `None` for headers.
type Part<'e, 'd> = (Range<usize>, Option<&'e Section<'d>>);

/// Returns an error for changed sections that share bytes with another section or with headers.
pub(crate) fn check_no_overlap(
    elf: &Elf<'_>,
    file: &[u8],
    changed: &BTreeSet<SectionIndex>,
) -> Result<(), RewriteError> {
    let headers = [Some(0..HEADER_SIZE), section_headers(elf, file)].into_iter().flatten();
    let sections = elf.sections.iter().filter(|s| !s.is_null() && !s.data.is_empty());
    let sections = sections.filter_map(|s| Some((s.file_range()?, Some(s))));
    let mut parts: Vec<Part<'_, '_>> = headers.map(|range| (range, None)).chain(sections).collect();
    sort_by_key(&mut parts, |(range, _)| (range.start, range.end));
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
fn section_headers(elf: &Elf<'_>, file: &[u8]) -> Option<Range<usize>> {
    let start = usize::try_from(elf.endian.u64(file, E_SHOFF)?).ok()?;
    Some(start..start.checked_add(elf.sections.len().checked_mul(HEADER_SIZE)?)?)
}
