//! The code in an ELF file, and the other parts of the file.

use super::{
    elf_file::{ElfFile, Segment},
    error::AttachError,
};
use core::ops::Range;
use core_relo_object::string_at;
use object::{
    Endianness, elf,
    read::elf::{FileHeader, SectionHeader as _},
};

/// The part of an ELF file at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FilePart {
    Code,
    Header,
    /// A section without code, by its name.
    Section(Vec<u8>),
    /// No section, or the end of the file.
    NoSection,
    /// No executable segment of a file without sections.
    NoSegment,
}

/// The ranges of code in a file, sorted and without overlaps.
#[derive(Debug)]
pub(super) struct CodeOffsets(Vec<Range<u64>>);

impl CodeOffsets {
    fn new(code: &[Segment]) -> Self {
        let len = |code: &Segment| code.end.checked_sub(code.start);
        let range = |code: &Segment| Some(code.offset..code.offset.checked_add(len(code)?)?);
        let mut ranges: Vec<Range<u64>> = code.iter().filter_map(range).collect();
        ranges.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Self(merged)
    }

    fn contains(&self, offset: u64) -> bool {
        let next = self.0.partition_point(|range| range.start <= offset);
        next.checked_sub(1).and_then(|last| self.0.get(last)).is_some_and(|range| range.contains(&offset))
    }
}

impl<H: FileHeader<Endian = Endianness>> ElfFile<H> {
    /// Returns the executable sections or, without section headers, the executable segments.
    pub(super) fn code(&self) -> Result<Vec<Segment>, AttachError> {
        let e = self.e;
        if self.sections.is_empty() {
            return Ok(self.segments()?.into_iter().filter(|segment| segment.is_code).collect());
        }
        let is_code = |s: &&H::SectionHeader| {
            s.sh_flags(e).contains(elf::SHF_EXECINSTR)
                && s.sh_type(e) != elf::SHT_NOBITS
                && s.sh_size(e).into() != 0
        };
        let segment = |s: &H::SectionHeader| {
            let (start, size): (u64, u64) = (s.sh_addr(e).into(), s.sh_size(e).into());
            Segment { start, end: start.saturating_add(size), offset: s.sh_offset(e).into(), is_code: true }
        };
        Ok(self.sections.iter().filter(is_code).map(segment).collect())
    }

    /// Returns the ranges of code in the file.
    pub(super) fn code_offsets(&self) -> Result<CodeOffsets, AttachError> {
        Ok(CodeOffsets::new(&self.code()?))
    }

    /// Returns the part of the file at an offset. `code` is the code of the file.
    pub(super) fn part_at(&self, offset: u64, code: &CodeOffsets) -> FilePart {
        let e = self.e;
        let contains = |start: u64, len: u64| offset.checked_sub(start).is_some_and(|within| within < len);
        if contains(0, self.header.e_ehsize(e).into()) {
            return FilePart::Header;
        }
        if code.contains(offset) {
            return FilePart::Code;
        }
        if self.sections.is_empty() {
            return FilePart::NoSegment;
        }
        let section = self.sections.iter().find(|section| {
            let is_stored = ![elf::SHT_NOBITS, elf::SHT_NULL].contains(&section.sh_type(e));
            is_stored && contains(section.sh_offset(e).into(), section.sh_size(e).into())
        });
        let name = section.and_then(|section| string_at(&self.names, section.sh_name(e)));
        name.map_or(FilePart::NoSection, |name| FilePart::Section(name.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_code_may_overlap_in_any_order() {
        let code = |offset, len: u64| Segment { start: 0x1000, end: 0x1000 + len, offset, is_code: true };
        let code = CodeOffsets::new(&[
            code(0x50, 0x10),
            code(0x10, 0x20),
            code(0x12, 4),
            code(0x30, 1),
            code(0x12, 0),
        ]);
        let found: Vec<u64> = (0..0x80).filter(|offset| code.contains(*offset)).collect();
        assert_eq!(found, (0x10..0x31).chain(0x50..0x60).collect::<Vec<_>>());
    }
}
