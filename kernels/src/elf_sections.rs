//! Sections of an ELF, read without the rest of the file: a vmlinux with debug information is a hundred times
//! as large as its BTF.

use crate::{file::InputFile, file_kind::is_elf};
use core_relo::{Data, Endian};
use core_relo_loader::target::{BtfFile, ElfClass, FileFormat};
use std::path::Path;

const SHT_PROGBITS: u32 = 1;
pub(super) const SHT_NOTE: u32 = 7;
const SHF_EXECINSTR: u64 = 4;
const SHF_COMPRESSED: u64 = 0x800;

/// The maximum number of sections of an ELF that is read in parts. Kernels have fewer than a hundred, modules
/// a few hundred.
const SECTIONS: u64 = 0x1000;

/// The result of reading only the BTF sections.
pub(super) enum BtfSections {
    Found(BtfFile),
    NoBtf,
    /// Something in the ELF is unusual. The full parser, which reads the whole file, decides.
    Unusual,
}

/// An input of which parts can be read.
pub(super) trait ReadPart<'d> {
    /// Reads a part; `None` if the input has no such part.
    fn read_part(&self, offset: u64, len: u64) -> Option<Data<'d>>;
}

impl<'d> ReadPart<'d> for InputFile<'_> {
    fn read_part(&self, offset: u64, len: u64) -> Option<Data<'d>> {
        InputFile::read_part(self, offset, len)
    }
}

impl<'d> ReadPart<'d> for &'d [u8] {
    fn read_part(&self, offset: u64, len: u64) -> Option<Data<'d>> {
        let end = usize::try_from(offset.checked_add(len)?).ok()?;
        self.get(usize::try_from(offset).ok()?..end).map(Data::Borrowed)
    }
}

/// Reads the sections `.BTF` and `.BTF.base` of an ELF.
pub(super) fn read_btf(path: &Path, input: &InputFile<'_>, limit: u64) -> BtfSections {
    try_read_btf(path, input, limit).unwrap_or(BtfSections::Unusual)
}

fn try_read_btf(path: &Path, input: &InputFile<'_>, limit: u64) -> Option<BtfSections> {
    let sections = Sections::read_file(input)?;
    let Some(btf) = sections.find_data(b".BTF", limit)? else { return Some(BtfSections::NoBtf) };
    let base = sections.find_data(b".BTF.base", limit)?;
    if base.as_ref().is_some_and(|base| base.len > limit - btf.len) {
        return None;
    }
    let base = match base {
        Some(base) => Some(input.read_part(base.offset, base.len)?),
        None => None,
    };
    let mut file = BtfFile::from_bytes(path, input.read_part(btf.offset, btf.len)?).ok()?;
    if file.format != FileFormat::Raw {
        return None;
    }
    file.base = base;
    let Sections { class, endian, machine, .. } = sections;
    file.format = FileFormat::Elf { class, endian, machine };
    Some(BtfSections::Found(file))
}

/// The fields of an ELF header.
struct Header {
    class: ElfClass,
    endian: Endian,
    machine: u16,
    table_offset: u64,
    entry_bytes: u64,
    section_count: u64,
    /// The index of the section with the section names.
    names_index: usize,
}

impl Header {
    fn parse(head: &[u8]) -> Option<Self> {
        let (class, data) = match head.get(4..6)? {
            [1, data] => (ElfClass::Elf32, *data),
            [2, data] => (ElfClass::Elf64, *data),
            _ => return None,
        };
        let endian = match data {
            1 => Endian::Little,
            2 => Endian::Big,
            _ => return None,
        };
        let (table_offset, sizes_offset, min_entry_bytes) = match class {
            ElfClass::Elf32 => (u64::from(endian.u32(head, 0x20)?), 0x2e, 40),
            _ => (endian.u64(head, 0x28)?, 0x3a, 64),
        };
        let entry_bytes = u64::from(endian.u16(head, sizes_offset)?);
        let section_count = u64::from(endian.u16(head, sizes_offset + 2)?);
        let names_index = endian.u16(head, sizes_offset + 4)?.into();
        if entry_bytes != min_entry_bytes || section_count == 0 || section_count > SECTIONS {
            return None;
        }
        let machine = endian.u16(head, 18)?;
        Some(Self { class, endian, machine, table_offset, entry_bytes, section_count, names_index })
    }

    fn parse_section(&self, raw: &[u8]) -> Option<Section> {
        let endian = self.endian;
        let (name_offset, kind) = (endian.u32(raw, 0)?, endian.u32(raw, 4)?);
        let word = |at| endian.u32(raw, at).map(u64::from);
        let (flags, offset, len) = match self.class {
            ElfClass::Elf32 => (word(8)?, word(16)?, word(20)?),
            _ => (endian.u64(raw, 8)?, endian.u64(raw, 24)?, endian.u64(raw, 32)?),
        };
        Some(Section { name_offset: usize::try_from(name_offset).ok()?, kind, flags, offset, len })
    }
}

/// The fields of a section header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    name_offset: usize,
    kind: u32,
    flags: u64,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// The section headers and names of an ELF.
#[derive(Debug)]
pub(super) struct Sections<'d> {
    pub(super) class: ElfClass,
    pub(super) endian: Endian,
    machine: u16,
    headers: Vec<Section>,
    names: Data<'d>,
}

impl<'d> Sections<'d> {
    /// Reads the section headers of an ELF in memory. Returns `None` for other bytes.
    pub(super) fn read(elf: &&'d [u8]) -> Option<Self> {
        if !is_elf(elf) {
            return None;
        }
        Self::read_with(&Header::parse(elf)?, elf)
    }

    /// Reads the section headers of an ELF in a file.
    pub(super) fn read_file(input: &InputFile<'_>) -> Option<Self> {
        Self::read_with(&Header::parse(&input.head)?, input)
    }

    fn read_with(header: &Header, input: &impl ReadPart<'d>) -> Option<Self> {
        let table_bytes = header.section_count.checked_mul(header.entry_bytes)?;
        let table = input.read_part(header.table_offset, table_bytes)?;
        let entries = table.chunks_exact(usize::try_from(header.entry_bytes).ok()?);
        let headers = entries.map(|raw| header.parse_section(raw)).collect::<Option<Vec<_>>>()?;
        let names = headers.get(header.names_index)?;
        let names = input.read_part(names.offset, names.len.min(SECTIONS << 8))?;
        let has_name = |section: &Section| names.get(section.name_offset..).is_some();
        headers.iter().all(has_name).then_some(())?;
        let Header { class, endian, machine, .. } = *header;
        Some(Self { class, endian, machine, headers, names })
    }

    /// Returns whether a section contains instructions.
    pub(super) fn is_code(&self, index: usize) -> bool {
        self.headers.get(index).is_some_and(|section| section.flags & SHF_EXECINSTR != 0)
    }

    /// Returns the byte order of the file.
    pub(super) fn endian(&self) -> Endian {
        self.endian
    }

    /// Returns the section of this name with data, as [`find_kind`](Self::find_kind).
    pub(super) fn find_data(&self, name: &[u8], limit: u64) -> Option<Option<Section>> {
        self.find_kind(name, SHT_PROGBITS, limit)
    }

    /// Returns the section with this name, or `Some(None)` if there is none.
    ///
    /// Returns `None` if several sections have the name, or if the section is of another kind (`SHT_*`),
    /// compressed, empty or larger than `limit`.
    pub(super) fn find_kind(&self, name: &[u8], kind: u32, limit: u64) -> Option<Option<Section>> {
        let has_name = |section: &&Section| {
            let rest = self.names.get(section.name_offset..).and_then(|text| text.strip_prefix(name));
            matches!(rest, Some([0, ..]))
        };
        let mut with_name = self.headers.iter().filter(has_name);
        let is_plain = |section: &Section| {
            section.kind == kind
                && section.flags & SHF_COMPRESSED == 0
                && section.len > 0
                && section.len <= limit
        };
        match (with_name.next(), with_name.next()) {
            (None, _) => Some(None),
            (Some(section), None) if is_plain(section) => Some(Some(*section)),
            _ => None,
        }
    }
}
