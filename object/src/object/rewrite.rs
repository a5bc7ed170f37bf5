//! Instructions written back into a file: a change may reach no other part of it.

use super::error::RewriteError;
use crate::elf::{Elf, Section};
use alloc::{collections::BTreeSet, vec::Vec};
use core::ops::Range;

/// Bytes of the header of a 64-bit ELF file, and of a section's header.
const HEADER: usize = 64;

/// Where the header says that the sections' headers begin.
const SECTION_HEADERS: usize = 0x28;

/// A part of the file: a section, or headers.
type Part<'e, 'd> = (Range<usize>, Option<&'e Section<'d>>);

/// Refuses changed sections, by their numbers, that share bytes with another section or with headers.
pub(super) fn check_separate(
    elf: &Elf<'_>,
    file: &[u8],
    changed: &BTreeSet<u32>,
) -> Result<(), RewriteError> {
    let headers = [Some(0..HEADER), section_headers(elf, file)].into_iter().flatten();
    let sections = elf.sections.iter().filter(|s| s.index != 0 && !s.data.is_empty());
    let sections = sections.filter_map(|s| Some((s.file_range()?, Some(s))));
    let mut parts: Vec<Part<'_, '_>> = headers.map(|range| (range, None)).chain(sections).collect();
    parts.sort_unstable_by_key(|(range, _)| (range.start, range.end));
    // A part that shares bytes with any part that begins before it does so with the one of these that ends last.
    let mut last: Option<&Part<'_, '_>> = None;
    for part in &parts {
        let both = last.filter(|last| part.0.start < last.0.end).map(|last| [part.1, last.1]);
        let mut shared = both.into_iter().flatten().flatten();
        if let Some(section) = shared.find(|section| changed.contains(&section.index)) {
            return Err(RewriteError::Overlap { section: section.text() });
        }
        if last.is_none_or(|last| part.0.end > last.0.end) {
            last = Some(part);
        }
    }
    Ok(())
}

fn section_headers(elf: &Elf<'_>, file: &[u8]) -> Option<Range<usize>> {
    let start = usize::try_from(elf.endian.u64(file, SECTION_HEADERS)?).ok()?;
    Some(start..start.checked_add(elf.sections.len().checked_mul(HEADER)?)?)
}
