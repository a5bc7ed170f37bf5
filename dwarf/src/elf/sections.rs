//! The debug sections of an ELF file.

use super::{compressed::decompress, relocate::relocate, symbols::Symbols};
use crate::{
    error::{EncodeError, SectionProblem},
    limits,
    parse_error::ParserResult as _,
};
use alloc::borrow::Cow;
use core_relo::Endian;
use gimli::{EndianSlice, RunTimeEndian};
use object::{
    Endianness, Object as _, ObjectKind, ObjectSection as _, ReadRef,
    elf::{FileHeader32, FileHeader64},
    read::elf::{ElfFile, FileHeader},
};

/// A part of a debug section.
pub(crate) type Slice<'d> = EndianSlice<'d, RunTimeEndian>;

/// The debug sections of an ELF file, decompressed and relocated, and its symbols.
///
/// Missing sections are empty.
#[derive(Debug)]
pub(crate) struct DebugSections<'d> {
    pub(crate) endian: Endian,
    pub(crate) info: Cow<'d, [u8]>,
    pub(crate) types: Cow<'d, [u8]>,
    pub(crate) abbrev: Cow<'d, [u8]>,
    pub(crate) str: Cow<'d, [u8]>,
    pub(crate) line_str: Cow<'d, [u8]>,
    pub(crate) str_offsets: Cow<'d, [u8]>,
    pub(crate) addr: Cow<'d, [u8]>,
    pub(crate) symbols: Symbols<'d>,
}

impl<'d> DebugSections<'d> {
    /// Reads the sections of an ELF file. Only these sections and the symbols are read from `data`.
    pub(crate) fn read<R: ReadRef<'d>>(data: R) -> Result<Self, EncodeError> {
        match object::FileKind::parse(data) {
            Ok(object::FileKind::Elf32) => Self::read_class::<FileHeader32<Endianness>, R>(data),
            Ok(object::FileKind::Elf64) => Self::read_class::<FileHeader64<Endianness>, R>(data),
            _ => Err(EncodeError::NotElf),
        }
    }

    fn read_class<H: FileHeader, R: ReadRef<'d>>(data: R) -> Result<Self, EncodeError> {
        let file = ElfFile::<'d, H, R>::parse(data).parsed()?;
        let endian = match file.endianness() {
            Endianness::Little => Endian::Little,
            Endianness::Big => Endian::Big,
        };
        let file_bytes = data.len().unwrap_or(limits::SECTIONS_BYTES);
        let mut reader = SectionReader {
            file: &file,
            endian,
            stored_left: file_bytes.min(limits::SECTIONS_BYTES),
            bytes_left: file_bytes
                .saturating_mul(limits::FILE_EXPANSION)
                .saturating_add(limits::FILE_SLACK_BYTES)
                .min(limits::SECTIONS_BYTES),
        };
        let info = reader.read(".debug_info")?;
        if info.is_empty() {
            return Err(EncodeError::NoDebugInfo);
        }
        Ok(Self {
            endian,
            info,
            types: reader.read(".debug_types")?,
            abbrev: reader.read(".debug_abbrev")?,
            str: reader.read(".debug_str")?,
            line_str: reader.read(".debug_line_str")?,
            str_offsets: reader.read(".debug_str_offsets")?,
            addr: reader.read(".debug_addr")?,
            symbols: Symbols::read(&file)?,
        })
    }

    /// Returns a section's bytes in the byte order of the file.
    pub(crate) fn slice<'s>(&self, section: &'s [u8]) -> Slice<'s> {
        let endian = match self.endian {
            Endian::Little => RunTimeEndian::Little,
            Endian::Big => RunTimeEndian::Big,
        };
        EndianSlice::new(section, endian)
    }
}

/// Reads sections within limits of their sizes.
struct SectionReader<'f, 'd, H: FileHeader, R: ReadRef<'d>> {
    file: &'f ElfFile<'d, H, R>,
    endian: Endian,
    /// The bytes of the file that sections may still have. Sections of a valid file do not overlap.
    stored_left: u64,
    /// The decompressed bytes that sections may still have.
    bytes_left: u64,
}

impl<'d, H: FileHeader, R: ReadRef<'d>> SectionReader<'_, 'd, H, R> {
    /// Reads all sections with a name, one after the other. Object files may have several.
    fn read(&mut self, name: &'static str) -> Result<Cow<'d, [u8]>, EncodeError> {
        let bad = |problem| EncodeError::Section { section: name, problem };
        let old_name = name.replacen(".debug", ".zdebug", 1);
        let mut all: Option<Cow<'d, [u8]>> = None;
        for section in self.file.sections() {
            let section_name = section.name_bytes().parsed()?;
            if section_name != name.as_bytes() && section_name != old_name.as_bytes() {
                continue;
            }
            // A section without data in the file has no range: `strip` leaves such sections.
            let stored = section.compressed_file_range().parsed()?.compressed_size;
            let limit = self.stored_left;
            self.stored_left = limit
                .checked_sub(stored)
                .ok_or_else(|| bad(SectionProblem::TooLarge { bytes: stored, limit }))?;
            let mut data = decompress(section.compressed_data().parsed()?, self.bytes_left).map_err(bad)?;
            let bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
            let limit = self.bytes_left;
            self.bytes_left =
                limit.checked_sub(bytes).ok_or_else(|| bad(SectionProblem::TooLarge { bytes, limit }))?;
            if self.file.kind() == ObjectKind::Relocatable {
                relocate(self.file, &section, self.endian, &mut data).map_err(bad)?;
            }
            match &mut all {
                None => all = Some(data),
                Some(all) => all.to_mut().extend_from_slice(&data),
            }
        }
        Ok(all.unwrap_or(Cow::Borrowed(&[])))
    }
}
