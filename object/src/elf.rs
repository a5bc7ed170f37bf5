//! ELF headers and sections of any class and byte order, checked against the file's end.
//!
//! The records are the `object` crate's, read where they lie; what it has no words for (which section, where) is said here.

use crate::limits;
use core::{ffi::CStr, ops::Range};
use core_relo::{Endian, Name, Text};
use object::{
    Endianness,
    elf::{self, FileHeader32, FileHeader64},
    read::elf::{FileHeader, SectionHeader as _},
};
use thiserror::Error;

/// Why a file is not a sound ELF.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ElfError {
    /// The file does not begin with `\x7fELF`.
    #[error("not an ELF file")]
    NotElf,
    /// The class is neither 32- nor 64-bit.
    #[error("ELF class {found} is unknown (expected 1 or 2)")]
    Class {
        /// `EI_CLASS`.
        found: u8,
    },
    /// The byte order is neither little nor big.
    #[error("ELF byte order {found} is unknown (expected 1 or 2)")]
    ByteOrder {
        /// `EI_DATA`.
        found: u8,
    },
    /// The version is not 1.
    #[error("ELF version {found} is unknown (expected 1)")]
    Version {
        /// `EI_VERSION`.
        found: u8,
    },
    /// The file ends within its header.
    #[error("truncated: {len} bytes are fewer than an ELF header")]
    Header {
        /// Length of the file.
        len: usize,
    },
    /// The section headers are of another size than the class has, or reach past the file's end.
    #[error(
        "truncated or damaged: section headers at offset {offset:#x} do not lie within the file's {len} bytes"
    )]
    SectionHeaders {
        /// `e_shoff`.
        offset: u64,
        /// Length of the file.
        len: usize,
    },
    /// The section that should hold the names of sections is missing or reaches past the file's end.
    #[error("the names of sections (section {index}) are missing or damaged")]
    SectionNames {
        /// `e_shstrndx`.
        index: u32,
    },
    /// A section's name lies outside the names, or is longer than [`limits::NAME_BYTES`](crate::limits::NAME_BYTES).
    #[error("section {index}: its name at {offset:#x} lies outside the section names or is too long")]
    SectionName {
        /// Number of the section.
        index: u32,
        /// `sh_name`.
        offset: u32,
    },
    /// A section reaches past the end of the file.
    #[error(
        "truncated or damaged: section `{section}` (offset {offset:#x}, size {size:#x}) reaches past the file's {len} bytes"
    )]
    SectionBounds {
        /// Name of the section.
        section: Text,
        /// Where it begins in the file.
        offset: u64,
        /// Its size in bytes.
        size: u64,
        /// Length of the file.
        len: usize,
    },
}

/// Word size of an ELF file, and with it of its pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the format has two")]
pub enum Class {
    /// `ELFCLASS32`.
    Elf32,
    /// `ELFCLASS64`.
    Elf64,
}

/// A section of an ELF file.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section<'d> {
    /// Its number in the section header table.
    pub index: u32,
    /// Its name.
    pub name: &'d [u8],
    /// `sh_type`.
    pub sh_type: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its size, in memory if it is `SHT_NOBITS`.
    pub size: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entsize: u64,
    /// Its bytes; none if it is `SHT_NOBITS`.
    pub data: &'d [u8],
}

impl Section<'_> {
    /// Whether the bytes are compressed (`SHF_COMPRESSED`), which no section of ours may be.
    pub const fn is_compressed(&self) -> bool {
        self.flags & elf::SHF_COMPRESSED.0 != 0
    }

    /// Whether it holds instructions: `SHT_PROGBITS`, executable and not empty.
    pub const fn is_code(&self) -> bool {
        self.sh_type == elf::SHT_PROGBITS.0 && self.flags & elf::SHF_EXECINSTR.0 != 0 && !self.data.is_empty()
    }

    /// Where its bytes lie in the file.
    pub fn file_range(&self) -> Option<Range<usize>> {
        let from = if self.data.is_empty() { 0 } else { usize::try_from(self.offset).ok()? };
        Some(from..from.checked_add(self.data.len())?)
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

/// A checked ELF: every section's name and bytes lie within the file.
#[derive(Clone, Debug)]
pub(crate) struct Elf<'d> {
    pub(crate) class: Class,
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
        let short = ElfError::Header { len: data.len() };
        let Some([_, _, _, _, class, order, version]) = data.first_chunk::<7>() else { return Err(short) };
        if !matches!(order, 1 | 2) {
            return Err(ElfError::ByteOrder { found: *order });
        }
        let elf = match class {
            1 => Self::read::<FileHeader32<Endianness>>(data, Class::Elf32),
            2 => Self::read::<FileHeader64<Endianness>>(data, Class::Elf64),
            other => return Err(ElfError::Class { found: *other }),
        };
        if *version != 1 {
            return Err(ElfError::Version { found: *version });
        }
        elf
    }

    /// The first section of a name, whatever it holds.
    pub(crate) fn section(&self, name: &[u8]) -> Option<&Section<'d>> {
        self.sections.iter().find(|s| s.name == name && s.index != 0)
    }

    fn read<H: FileHeader<Endian = Endianness>>(data: &'d [u8], class: Class) -> Result<Self, ElfError> {
        let len = data.len();
        let Ok(header) = H::parse(data) else { return Err(ElfError::Header { len }) };
        let Ok(e) = header.endian() else { return Err(ElfError::Header { len }) };
        let headers_at = ElfError::SectionHeaders { offset: header.e_shoff(e).into(), len };
        let Ok(headers) = header.section_headers(e, data) else { return Err(headers_at) };
        let strings = match headers {
            [] => &[],
            headers => names_of(header, e, data, headers)?,
        };
        let mut sections = Vec::with_capacity(headers.len());
        for (index, h) in (0u32..).zip(headers) {
            let at = h.sh_name(e);
            let name = string_at(strings, at).ok_or(ElfError::SectionName { index, offset: at })?;
            let (offset, size) = (h.sh_offset(e).into(), h.sh_size(e).into());
            // Section 0 is no section; its fields may hold counts that did not fit the file header.
            let bytes = if index == 0 { Ok(&[][..]) } else { h.data(e, data) };
            let Ok(bytes) = bytes else {
                return Err(ElfError::SectionBounds { section: text(name), offset, size, len });
            };
            sections.push(Section {
                index,
                name,
                sh_type: h.sh_type(e).0,
                flags: h.sh_flags(e).0,
                offset,
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

/// The bytes of the section that holds the names of sections.
fn names_of<'d, H: FileHeader<Endian = Endianness>>(
    header: &H,
    e: Endianness,
    data: &'d [u8],
    headers: &[H::SectionHeader],
) -> Result<&'d [u8], ElfError> {
    let index = header.shstrndx(e, data).unwrap_or_default();
    let names = usize::try_from(index).ok().and_then(|i| headers.get(i));
    let bytes = names.filter(|h| h.sh_type(e) == elf::SHT_STRTAB).and_then(|h| h.data(e, data).ok());
    bytes.ok_or(ElfError::SectionNames { index })
}

/// The NUL-terminated string at an offset of a string table, if it is no longer than a name may be.
pub fn string_at(strings: &[u8], offset: u32) -> Option<&[u8]> {
    if offset == 0 && strings.is_empty() {
        return Some(&[]);
    }
    let rest = strings.get(usize::try_from(offset).ok()?..)?;
    let name = rest.get(..limits::NAME_BYTES).unwrap_or(rest);
    CStr::from_bytes_until_nul(name).ok().map(CStr::to_bytes)
}

/// What callers know something of an object by: its whole name, not fit to print.
pub(crate) fn key(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// A name from a file for a message: cut off where it is long.
pub(crate) fn text(name: &[u8]) -> Text {
    match name.get(..limits::SHOWN_BYTES) {
        Some(head) if head.len() < name.len() => format!("{}...", Name::new(head)).into(),
        _ => Name::new(name).to_string().into(),
    }
}
