//! ELF headers and sections of any class and byte order, checked against the file's end.
//!
//! The `object` crate parses the records. The errors here add the section and its offset, which that crate's
//! errors lack.

use crate::{
    index::{SectionIndex, to_usize},
    limits,
};
use core::{ffi::CStr, ops::Range};
use core_relo::{Endian, Name, Text};
use object::{
    Endianness,
    elf::{self, FileHeader32, FileHeader64},
    read::elf::{FileHeader, SectionHeader as _},
};
use thiserror::Error;

/// An error in an ELF file.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ElfError {
    /// The file does not begin with `\x7fELF`.
    #[error("not an ELF file")]
    NotElf,
    /// The class is neither 32- nor 64-bit.
    #[error("unknown ELF class {found}, expected 1 or 2")]
    Class {
        /// `EI_CLASS`.
        found: u8,
    },
    /// The byte order is neither little nor big.
    #[error("unknown ELF byte order {found}, expected 1 or 2")]
    ByteOrder {
        /// `EI_DATA`.
        found: u8,
    },
    /// The version is not 1.
    #[error("unknown ELF version {found}, expected 1")]
    Version {
        /// `EI_VERSION`.
        found: u8,
    },
    /// The file ends within its header.
    #[error("truncated ELF header: the file has {len} bytes")]
    Header {
        /// Length of the file.
        len: usize,
    },
    /// The section headers reach past the end of the file, or their size is not that of the class.
    #[error("truncated or damaged: invalid section headers at offset {offset:#x} of {len} bytes")]
    SectionHeaders {
        /// `e_shoff`.
        offset: u64,
        /// Length of the file.
        len: usize,
    },
    /// The section name string table is missing or reaches past the end of the file.
    #[error("the section name string table (section {index}) is missing or damaged")]
    SectionNames {
        /// `e_shstrndx`.
        index: u32,
    },
    /// A section's name lies outside the string table, or is longer than
    /// [`limits::NAME_BYTES`](crate::limits::NAME_BYTES).
    #[error("section {index}: the name at {offset:#x} is too long, or outside the section name string table")]
    SectionName {
        /// The section's index.
        index: u32,
        /// `sh_name`.
        offset: u32,
    },
    /// A section reaches past the end of the file.
    #[error(
        "truncated or damaged: section `{section}` (offset {offset:#x}, size {size:#x}) reaches past the file's {len} bytes"
    )]
    SectionBounds {
        /// The section's name.
        section: Text,
        /// `sh_offset`.
        offset: u64,
        /// `sh_size`.
        size: u64,
        /// Length of the file.
        len: usize,
    },
}

core_relo::debug_as_message!(ElfError);

/// The class of an ELF file, which is also its pointer size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the ELF format has two classes")]
pub enum ElfClass {
    /// `ELFCLASS32`.
    Elf32,
    /// `ELFCLASS64`.
    Elf64,
}

/// A section of an ELF file.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section<'d> {
    /// The index in the section header table.
    pub index: SectionIndex,
    /// The name.
    pub name: &'d [u8],
    /// `sh_type`.
    pub sh_type: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_offset`: the offset in the file.
    pub offset: u64,
    /// `sh_addr`: the address of a linked file's section.
    pub address: u64,
    /// `sh_size`: the size in the file, or in memory for `SHT_NOBITS`.
    pub size: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entsize: u64,
    /// The bytes in the file; empty for `SHT_NOBITS`.
    pub data: &'d [u8],
}

impl Section<'_> {
    /// Returns whether this is section 0, which is reserved (`SHN_UNDEF`).
    pub const fn is_null(&self) -> bool {
        self.index.0 == 0
    }

    /// Returns whether the bytes are compressed (`SHF_COMPRESSED`).
    pub const fn is_compressed(&self) -> bool {
        self.flags & elf::SHF_COMPRESSED.0 != 0
    }

    /// Returns whether the section has a place in memory (`SHF_ALLOC`): code, data, maps.
    pub const fn is_allocated(&self) -> bool {
        self.flags & elf::SHF_ALLOC.0 != 0
    }

    /// Returns whether the section holds instructions: it is `SHT_PROGBITS`, executable and not empty.
    pub const fn is_code(&self) -> bool {
        self.sh_type == elf::SHT_PROGBITS.0 && self.flags & elf::SHF_EXECINSTR.0 != 0 && !self.data.is_empty()
    }

    /// Returns the range of the section's bytes in the file, `0..0` if there are none.
    pub fn file_range(&self) -> Option<Range<usize>> {
        let start = if self.data.is_empty() { 0 } else { usize::try_from(self.offset).ok()? };
        Some(start..start.checked_add(self.data.len())?)
    }

    pub(crate) fn text(&self) -> Text {
        text(self.name)
    }
}

impl core::fmt::Debug for Section<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Section({} `{}` type {} size {:#x})", self.index, self.text(), self.sh_type, self.size)
    }
}

/// A validated ELF file: every section's name and bytes lie within the file.
#[derive(Clone, Debug)]
pub(crate) struct Elf<'d> {
    pub(crate) class: ElfClass,
    pub(crate) endian: Endian,
    pub(crate) machine: u16,
    pub(crate) file_type: u16,
    pub(crate) sections: Vec<Section<'d>>,
}

impl<'d> Elf<'d> {
    pub(crate) fn parse(data: &'d [u8]) -> Result<Self, ElfError> {
        if !data.starts_with(&elf::ELFMAG) {
            return Err(ElfError::NotElf);
        }
        let truncated = ElfError::Header { len: data.len() };
        let Some([_, _, _, _, class, order, version]) = data.first_chunk::<7>() else {
            return Err(truncated);
        };
        if !matches!(order, 1 | 2) {
            return Err(ElfError::ByteOrder { found: *order });
        }
        let elf = match class {
            1 => Self::read::<FileHeader32<Endianness>>(data, ElfClass::Elf32),
            2 => Self::read::<FileHeader64<Endianness>>(data, ElfClass::Elf64),
            other => return Err(ElfError::Class { found: *other }),
        };
        if *version != 1 {
            return Err(ElfError::Version { found: *version });
        }
        elf
    }

    /// Finds the first section with a name.
    pub(crate) fn section(&self, name: &[u8]) -> Option<&Section<'d>> {
        self.sections.iter().find(|s| s.name == name && !s.is_null())
    }

    /// Returns the section of an index; `None` for section 0, which is reserved.
    pub(crate) fn section_at(&self, index: SectionIndex) -> Option<&Section<'d>> {
        self.sections.get(usize::try_from(index.0).ok()?).filter(|s| !s.is_null())
    }

    fn read<H: FileHeader<Endian = Endianness>>(data: &'d [u8], class: ElfClass) -> Result<Self, ElfError> {
        let len = data.len();
        let Ok(header) = H::parse(data) else { return Err(ElfError::Header { len }) };
        let Ok(e) = header.endian() else { return Err(ElfError::Header { len }) };
        let bad_headers = ElfError::SectionHeaders { offset: header.e_shoff(e).into(), len };
        let Ok(headers) = header.section_headers(e, data) else { return Err(bad_headers) };
        let strings = match headers {
            [] => &[],
            headers => section_names(header, e, data, headers)?,
        };
        let mut sections = Vec::with_capacity(headers.len());
        for (index, h) in (0u32..).zip(headers) {
            let name_offset = h.sh_name(e);
            let missing_name = ElfError::SectionName { index, offset: name_offset };
            let name = string_at(strings, name_offset).ok_or(missing_name)?;
            let (offset, size) = (h.sh_offset(e).into(), h.sh_size(e).into());
            // Section 0 has no bytes. Its fields may hold counts that do not fit the file header.
            let bytes = if index == 0 { Ok(&[][..]) } else { h.data(e, data) };
            let Ok(bytes) = bytes else {
                return Err(ElfError::SectionBounds { section: text(name), offset, size, len });
            };
            sections.push(Section {
                index: SectionIndex(index),
                name,
                sh_type: h.sh_type(e).0,
                flags: h.sh_flags(e).0,
                offset,
                address: h.sh_addr(e).into(),
                size,
                link: h.sh_link(e),
                info: h.sh_info(e),
                align: h.sh_addralign(e).into(),
                entsize: h.sh_entsize(e).into(),
                data: bytes,
            });
        }
        let endian = match e {
            Endianness::Little => Endian::Little,
            Endianness::Big => Endian::Big,
        };
        let (machine, file_type) = (header.e_machine(e).0, header.e_type(e).0);
        Ok(Self { class, endian, machine, file_type, sections })
    }
}

/// Returns the bytes of the section name string table.
fn section_names<'d, H: FileHeader<Endian = Endianness>>(
    header: &H,
    e: Endianness,
    data: &'d [u8],
    headers: &[H::SectionHeader],
) -> Result<&'d [u8], ElfError> {
    // Section 0 holds an index that does not fit the header. If that cannot be read, the error has index 0.
    let Ok(index) = header.shstrndx(e, data) else { return Err(ElfError::SectionNames { index: 0 }) };
    let names = headers.get(to_usize(index)).filter(|h| h.sh_type(e) == elf::SHT_STRTAB);
    let bytes = names.and_then(|h| h.data(e, data).ok());
    bytes.ok_or(ElfError::SectionNames { index })
}

/// Returns the NUL-terminated string at an offset of a string table. A string of more than
/// [`limits::NAME_BYTES`](crate::limits::NAME_BYTES) counts as missing.
pub fn string_at(strings: &[u8], offset: u32) -> Option<&[u8]> {
    if offset == 0 && strings.is_empty() {
        return Some(&[]);
    }
    let rest = strings.get(to_usize(offset)..)?;
    let bounded = rest.split_at_checked(limits::NAME_BYTES).map_or(rest, |(bounded, _)| bounded);
    CStr::from_bytes_until_nul(bounded).ok().map(CStr::to_bytes)
}

/// Returns the whole name of a program, map or section, as callers refer to it. The name is not escaped for
/// display.
pub fn key(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Returns a name from a file, escaped and shortened for a message.
pub fn text(name: &[u8]) -> Text {
    match name.get(..limits::SHOWN_BYTES) {
        Some(head) if head.len() < name.len() => format!("{}...", Name::new(head)).into(),
        _ => Name::new(name).to_string().into(),
    }
}
