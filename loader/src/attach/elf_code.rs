//! The code in an ELF file, and the other parts of the file.

use super::{
    elf_file::{ElfFile, Segment},
    error::AttachError,
};
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
    Other,
}

impl<H: FileHeader<Endian = Endianness>> ElfFile<H> {
    /// Returns the executable sections or, without section headers, the executable segments.
    pub(super) fn code(&self) -> Result<Vec<Segment>, AttachError> {
        let e = self.e;
        if self.sections.is_empty() {
            return Ok(self.segments()?.into_iter().filter(|segment| segment.is_code).collect());
        }
        let is_code = |s: &&H::SectionHeader| {
            s.sh_flags(e).contains(elf::SHF_EXECINSTR) && s.sh_type(e) != elf::SHT_NOBITS
        };
        let segment = |s: &H::SectionHeader| {
            let (start, size): (u64, u64) = (s.sh_addr(e).into(), s.sh_size(e).into());
            Segment { start, end: start.saturating_add(size), offset: s.sh_offset(e).into(), is_code: true }
        };
        Ok(self.sections.iter().filter(is_code).map(segment).collect())
    }

    /// Returns the part of the file at an offset.
    pub(super) fn part_at(&self, offset: u64) -> Result<FilePart, AttachError> {
        let e = self.e;
        let contains = |start: u64, len: u64| offset.checked_sub(start).is_some_and(|within| within < len);
        if contains(0, self.header.e_ehsize(e).into()) {
            return Ok(FilePart::Header);
        }
        let is_inside =
            |code: &Segment| code.end.checked_sub(code.start).is_some_and(|len| contains(code.offset, len));
        if self.code()?.iter().any(is_inside) {
            return Ok(FilePart::Code);
        }
        let section = self.sections.iter().find(|section| {
            let is_stored = ![elf::SHT_NOBITS, elf::SHT_NULL].contains(&section.sh_type(e));
            is_stored && contains(section.sh_offset(e).into(), section.sh_size(e).into())
        });
        let name = section.and_then(|section| string_at(&self.names, section.sh_name(e)));
        Ok(name.map_or(FilePart::Other, |name| FilePart::Section(name.to_vec())))
    }
}
