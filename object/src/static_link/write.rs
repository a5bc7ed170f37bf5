//! Writes the linked object.
//!
//! The writer of the `object` crate sorts strings and separates section names from symbol names. This writer
//! has the layout of libbpf, so that the outputs of both linkers can be compared byte by byte.

use super::{
    error::StaticLinkError, index::OutputSectionIndex, output_object::OutputObject,
    output_symbol::OutputSymbol, sections::Header, strings::byte_count,
};
use crate::{
    elf::text,
    internal::{InternalError, Invariant as _},
    limits,
};
use core_relo::{
    Endian, TypeId,
    btf::{Btf, dedup_into},
};
use object::elf;

/// The size of the file header, and of a section header, in bytes.
const HEADER_BYTES: u16 = 64;

/// The number of the section with the names of sections: the string table.
const SECTION_NAMES: u16 = 1;

/// The `.BTF` and `.BTF.ext` of the linked object.
#[derive(Default)]
struct TypeSections {
    btf: Option<Vec<u8>>,
    ext: Option<Vec<u8>>,
}

/// A section of the file.
struct FileSection<'s> {
    name: &'s [u8],
    header: Header,
    size: u64,
    data: &'s [u8],
}

impl OutputObject<'_> {
    /// Returns the bytes of the linked object (libbpf: `bpf_linker__finalize`).
    pub(super) fn finish(mut self) -> Result<Vec<u8>, StaticLinkError> {
        let TypeSections { btf, ext } = self.finish_types()?;
        let mut type_sections = Vec::new();
        for (name, data) in [(&b".BTF"[..], &btf), (b".BTF.ext", &ext)] {
            let Some(data) = data else { continue };
            let header = Header { align: 8, ..self.sections.new_header(name, &mut self.strings)? };
            type_sections.push(FileSection { name, header, size: byte_count(data.len())?, data });
        }
        let symbols = self.encode_symbols();
        self.sections.set_data(OutputSectionIndex::STRTAB, self.strings.as_bytes().to_vec())?;
        self.sections.set_data(OutputSectionIndex::SYMTAB, symbols)?;
        let mut sections = Vec::new();
        for section in self.sections.iter() {
            let Some(header) = section.header else { continue };
            let size =
                if section.is_nobits() { section.size.into() } else { byte_count(section.data.len())? };
            sections.push(FileSection { name: &section.name, header, size, data: &section.data });
        }
        sections.append(&mut type_sections);
        sections.sort_by_key(|section| section.header.number);
        check_alignment(&sections)?;
        Ok(encode_file(self.endian, &sections)?)
    }

    /// Deduplicates the types, and returns `.BTF` and `.BTF.ext` (libbpf: `finalize_btf`).
    fn finish_types(&mut self) -> Result<TypeSections, StaticLinkError> {
        if self.types.next_id() == TypeId(1) {
            return Ok(TypeSections::default());
        }
        for section in self.sections.iter() {
            let Some(variables) = &section.variables else { continue };
            let variables = variables.iter().filter(|v| v.ty != TypeId::VOID);
            let variables: Vec<_> = variables.map(|v| (v.ty, v.offset, v.size)).collect();
            if variables.len() > limits::LINK_VARIABLES {
                let (section, count) = (text(&section.name), variables.len());
                return Err(StaticLinkError::TooManyVariables { section, count });
            }
            self.types.datasec(&section.name, section.size, &variables);
        }
        let merged = Btf::parse(self.types.finish()).map_err(StaticLinkError::Merged)?;
        let mut dedup = dedup_into(&merged, self.types.without_types(), limits::LINK_DEDUP_STEPS)
            .map_err(StaticLinkError::Dedup)?;
        let ext = self.finish_ext(&merged, &mut dedup)?;
        Ok(TypeSections { btf: Some(dedup.finish()), ext })
    }

    fn encode_symbols(&self) -> Vec<u8> {
        let e = self.endian;
        let mut bytes = Vec::new();
        for OutputSymbol { name, binding, kind, other, section, value, size } in self.symbols.iter() {
            e.put_u32(&mut bytes, *name);
            bytes.extend_from_slice(&[(binding << 4) | (kind & 0xf), *other]);
            e.put_u16(&mut bytes, *section);
            e.put_u64(&mut bytes, *value);
            e.put_u64(&mut bytes, *size);
        }
        bytes
    }
}

/// Limits the sum of all alignments, and so the padding between sections.
fn check_alignment(sections: &[FileSection<'_>]) -> Result<(), StaticLinkError> {
    let mut padding_left = limits::LINK_PADDING;
    for FileSection { name, header, .. } in sections {
        let too_large = || StaticLinkError::Alignment { section: text(name), align: header.align };
        padding_left = padding_left.checked_sub(header.align).ok_or_else(too_large)?;
    }
    Ok(())
}

/// Returns the bytes of a file: the header, the sections in order, and the section headers, as libelf lays
/// them out.
fn encode_file(e: Endian, sections: &[FileSection<'_>]) -> Result<Vec<u8>, InternalError> {
    const TOO_LARGE: &str = "the linked object fits in memory";
    let mut end = usize::from(HEADER_BYTES);
    let mut offsets = Vec::with_capacity(sections.len());
    for section in sections {
        let align = usize::try_from(section.header.align).invariant("the alignment is limited")?.max(1);
        let offset = end.checked_next_multiple_of(align).invariant(TOO_LARGE)?;
        offsets.push(offset);
        end = offset.checked_add(section.data.len()).invariant(TOO_LARGE)?;
    }
    let headers_offset = end.checked_next_multiple_of(8).invariant(TOO_LARGE)?;
    let header_count = sections.len().checked_add(1).and_then(|count| u16::try_from(count).ok());
    let header_count = header_count.invariant("section numbers are below SHN_LORESERVE")?;
    let mut file = encode_header(e, byte_count(headers_offset)?, header_count);
    for (FileSection { data, .. }, offset) in sections.iter().zip(&offsets) {
        file.resize(*offset, 0);
        file.extend_from_slice(data);
    }
    file.resize(headers_offset, 0);
    file.resize(headers_offset.checked_add(HEADER_BYTES.into()).invariant(TOO_LARGE)?, 0);
    for (FileSection { header, size, .. }, offset) in sections.iter().zip(offsets) {
        e.put_u32(&mut file, header.name);
        e.put_u32(&mut file, header.sh_type);
        e.put_u64(&mut file, header.flags);
        e.put_u64(&mut file, 0);
        e.put_u64(&mut file, byte_count(offset)?);
        e.put_u64(&mut file, *size);
        e.put_u32(&mut file, header.link);
        e.put_u32(&mut file, header.info);
        e.put_u64(&mut file, header.align);
        e.put_u64(&mut file, header.entsize);
    }
    Ok(file)
}

/// Returns the ELF header.
fn encode_header(e: Endian, headers_offset: u64, header_count: u16) -> Vec<u8> {
    let order = match e {
        Endian::Little => elf::ELFDATA2LSB.0,
        Endian::Big => elf::ELFDATA2MSB.0,
    };
    let mut bytes = Vec::from(elf::ELFMAG);
    bytes.extend_from_slice(&[elf::ELFCLASS64.0, order, elf::EV_CURRENT.0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    e.put_u16(&mut bytes, elf::ET_REL.0);
    e.put_u16(&mut bytes, elf::EM_BPF.0);
    e.put_u32(&mut bytes, elf::EV_CURRENT.0.into());
    e.put_u64(&mut bytes, 0);
    e.put_u64(&mut bytes, 0);
    e.put_u64(&mut bytes, headers_offset);
    e.put_u32(&mut bytes, 0);
    // There are no program headers.
    for word in [HEADER_BYTES, 0, 0, HEADER_BYTES, header_count, SECTION_NAMES] {
        e.put_u16(&mut bytes, word);
    }
    bytes
}
