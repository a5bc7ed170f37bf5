//! The sections of the linked object. Sections of one name are concatenated.

use super::{
    error::{SectionError, StaticLinkError},
    ext_records::ExtRecords,
    index::{OutputSectionIndex, OutputSymbolIndex, Table},
    input::{Input, InputSection, Placement},
    strings::Strings,
};
use crate::{
    elf::Section,
    internal::{InternalError, Invariant as _},
    limits,
};
use core_relo::TypeId;
use hashbrown::HashMap;
use object::elf;

/// The sections of the linked object, in the order of their first occurrence.
#[derive(Debug)]
pub(super) struct OutputSections {
    sections: Table<OutputSectionIndex, OutputSection>,
    by_name: HashMap<Box<[u8]>, OutputSectionIndex>,
    /// The number of section headers, including header 0.
    header_count: u16,
    /// The bytes of padding that may still be inserted.
    padding_left: u64,
}

/// A section of the linked object.
#[derive(Debug)]
pub(super) struct OutputSection {
    pub(super) name: Box<[u8]>,
    /// The section header; `None` while only BTF has the section (libbpf: an ephemeral section).
    pub(super) header: Option<Header>,
    /// The size in bytes, at most [`limits::LINK_SECTION`].
    pub(super) size: u32,
    /// The bytes in the file; empty for `SHT_NOBITS`.
    pub(super) data: Vec<u8>,
    /// The section symbol.
    pub(super) symbol: Option<OutputSymbolIndex>,
    /// The variables, if an input has a DATASEC of this name. A removed variable has the type `void`.
    pub(super) variables: Option<Vec<Variable>>,
    pub(super) ext: ExtRecords,
}

/// The header of an output section, with the fields of an `Elf64_Shdr`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// The index in the section header table.
    pub(super) number: u16,
    /// The offset of the name in the string table.
    pub(super) name: u32,
    pub(super) sh_type: u32,
    pub(super) flags: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) align: u64,
    pub(super) entsize: u64,
}

/// An entry of a DATASEC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub(super) ty: TypeId,
    pub(super) offset: u32,
    pub(super) size: u32,
}

impl OutputSection {
    /// Returns the ELF number of a section that is not in the BTF only.
    pub(super) fn number(&self) -> Result<u16, InternalError> {
        Ok(self.header.invariant("a section with symbols or relocations has a header")?.number)
    }

    pub(super) fn is_nobits(&self) -> bool {
        self.header.is_some_and(|header| header.sh_type == elf::SHT_NOBITS.0)
    }
}

impl OutputSections {
    /// Creates the string table and the symbol table, which come first as in libbpf.
    pub(super) fn new(strings: &mut Strings) -> Result<Self, StaticLinkError> {
        let mut sections = Self {
            sections: Table::default(),
            by_name: HashMap::new(),
            header_count: 1,
            padding_left: limits::LINK_PADDING,
        };
        let strtab = sections.push(b".strtab")?;
        let header = sections.new_header(b".strtab", strings)?;
        let number = header.number;
        let (sh_type, flags) = (elf::SHT_STRTAB.0, elf::SHF_STRINGS.0);
        sections.get_mut(strtab)?.header = Some(Header { sh_type, flags, align: 1, ..header });
        let symtab = sections.push(b".symtab")?;
        let header = sections.new_header(b".symtab", strings)?;
        let (sh_type, link) = (elf::SHT_SYMTAB.0, number.into());
        sections.get_mut(symtab)?.header = Some(Header { sh_type, link, align: 8, entsize: 24, ..header });
        Ok(sections)
    }

    pub(super) fn get(&self, index: OutputSectionIndex) -> Result<&OutputSection, InternalError> {
        self.sections.get(index)
    }

    pub(super) fn get_mut(&mut self, index: OutputSectionIndex) -> Result<&mut OutputSection, InternalError> {
        self.sections.get_mut(index)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &OutputSection> {
        self.sections.iter()
    }

    /// Sets the bytes of the string table or the symbol table.
    pub(super) fn set_data(&mut self, index: OutputSectionIndex, data: Vec<u8>) -> Result<(), InternalError> {
        self.sections.get_mut(index)?.data = data;
        Ok(())
    }

    /// Appends an input section to the output section of its name.
    pub(super) fn append(
        &mut self,
        input: &Input<'_>,
        section: &InputSection<'_>,
        strings: &mut Strings,
    ) -> Result<Placement, StaticLinkError> {
        let index = match self.by_name.get(&section.name) {
            Some(index) => *index,
            None => self.push(&section.name)?,
        };
        let Some(elf) = &section.elf else { return Ok(Placement { section: index, offset: 0 }) };
        let header = if let Some(header) = self.get(index)?.header {
            header
        } else {
            let Section { sh_type, flags, align, entsize, .. } = *elf;
            Header { sh_type, flags, align, entsize, ..self.new_header(&section.name, strings)? }
        };
        let error = |cause| input.section_error(&section.name, cause);
        check_same_properties(&header, elf).map_err(error)?;
        let align = header.align.max(elf.align).max(1);
        let output = self.sections.get_mut(index)?;
        output.header = Some(Header { align, ..header });
        let too_large = || error(SectionError::TooLarge);
        let size = u64::from(output.size);
        let offset = size.checked_next_multiple_of(align).ok_or_else(too_large)?;
        let end = offset.checked_add(elf.size).filter(|end| *end <= limits::LINK_SECTION);
        let end = end.and_then(|end| u32::try_from(end).ok()).ok_or_else(too_large)?;
        if header.sh_type != elf::SHT_NOBITS.0 {
            let padding = offset.checked_sub(size).invariant("an offset is rounded up")?;
            self.padding_left = self.padding_left.checked_sub(padding).ok_or_else(too_large)?;
            output.data.resize(usize::try_from(offset).map_err(|_too_large| too_large())?, 0);
            output.data.extend_from_slice(elf.data);
        }
        output.size = end;
        let offset = u32::try_from(offset).invariant("an offset is at most the section's size")?;
        Ok(Placement { section: index, offset })
    }

    /// Returns whether there is an output section with the name and the contents of the input section.
    /// Refuses an output section of that name with other contents.
    pub(super) fn has_identical(
        &self,
        input: &Input<'_>,
        section: &InputSection<'_>,
    ) -> Result<bool, StaticLinkError> {
        let Some(index) = self.by_name.get(&section.name) else { return Ok(false) };
        let output = self.get(*index)?;
        let (Some(header), Some(elf)) = (&output.header, &section.elf) else { return Ok(false) };
        let error = |cause| input.section_error(&section.name, cause);
        check_same_properties(header, elf).map_err(error)?;
        if u64::from(output.size) == elf.size && output.data == elf.data {
            Ok(true)
        } else {
            Err(error(SectionError::Contents))
        }
    }

    fn push(&mut self, name: &[u8]) -> Result<OutputSectionIndex, InternalError> {
        let index = self.sections.push(OutputSection {
            name: name.into(),
            header: None,
            size: 0,
            data: Vec::new(),
            symbol: None,
            variables: None,
            ext: ExtRecords::default(),
        })?;
        self.by_name.insert(name.into(), index);
        Ok(index)
    }

    /// Returns a header of the type `SHT_PROGBITS` with the next number.
    pub(super) fn new_header(
        &mut self,
        name: &[u8],
        strings: &mut Strings,
    ) -> Result<Header, StaticLinkError> {
        let number = self.header_count;
        let count = number.checked_add(1).filter(|count| *count <= elf::SHN_LORESERVE);
        self.header_count = count.ok_or(StaticLinkError::TooManySections)?;
        let name = strings.add(name)?;
        Ok(Header {
            number,
            name,
            sh_type: elf::SHT_PROGBITS.0,
            flags: 0,
            link: 0,
            info: 0,
            align: 1,
            entsize: 0,
        })
    }
}

/// Checks that an input section can be appended to an output section (libbpf: `secs_match`).
fn check_same_properties(header: &Header, elf: &Section<'_>) -> Result<(), SectionError> {
    for (property, expected, found) in [
        ("type", header.sh_type.into(), elf.sh_type.into()),
        ("flags", header.flags, elf.flags),
        ("entry size", header.entsize, elf.entsize),
    ] {
        if expected != found {
            return Err(SectionError::Property { property, expected, found });
        }
    }
    Ok(())
}
