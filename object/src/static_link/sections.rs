//! Sections of one name become one.

use super::{SectionFault, ext_records::ExtRecords, input::InSection, strings::Strings};
use crate::{elf::Section, internal::Invariant as _, limits};
use core_relo::TypeId;
use object::elf;
use std::collections::HashMap;

/// The sections of the linked object, in the order they were first met.
#[derive(Debug)]
pub(super) struct Sections {
    all: Vec<OutSection>,
    by_name: HashMap<Box<[u8]>, usize>,
    /// Numbers given out in the ELF.
    numbered: u32,
    /// Bytes of padding that may still be spent.
    padding: u64,
}

#[derive(Debug)]
pub(super) struct OutSection {
    pub(super) name: Box<[u8]>,
    /// `None` while only BTF knows of it (libbpf: an ephemeral section).
    pub(super) elf: Option<Header>,
    pub(super) size: u64,
    pub(super) data: Vec<u8>,
    /// Number of its section symbol, 0 if it has none.
    pub(super) symbol: u32,
    /// Its variables, if any file has a DATASEC for it.
    pub(super) variables: Option<Vec<Variable>>,
    pub(super) ext: ExtRecords,
}

/// The section header of a linked section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) number: u32,
    /// The offset of the name in the string table.
    pub(super) name: u32,
    pub(super) sh_type: u32,
    pub(super) flags: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) align: u64,
    pub(super) entsize: u64,
}

/// A DATASEC's entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub(super) ty: TypeId,
    pub(super) offset: u32,
    pub(super) size: u32,
}

impl OutSection {
    /// Its number in the ELF; 0, that of no section, while it has none.
    pub(super) fn number(&self) -> u32 {
        self.elf.map_or(0, |header| header.number)
    }

    pub(super) fn is_nobits(&self) -> bool {
        self.elf.is_some_and(|header| header.sh_type == elf::SHT_NOBITS.0)
    }
}

impl Sections {
    /// Strings and symbols first, as libbpf has them.
    pub(super) fn new(strings: &mut Strings) -> Self {
        let mut sections =
            Self { all: Vec::new(), by_name: HashMap::new(), numbered: 0, padding: limits::LINK_PADDING };
        for (name, sh_type, flags, align, entsize) in [
            (&b".strtab"[..], elf::SHT_STRTAB.0, elf::SHF_STRINGS.0, 1, 0),
            (b".symtab", elf::SHT_SYMTAB.0, 0, 8, 24),
        ] {
            let at = sections.push(name);
            let header = sections.header(name, sh_type, flags, align, entsize, strings);
            if let Some(section) = sections.all.get_mut(at) {
                section.elf = Some(header);
            }
        }
        sections
    }

    pub(super) fn at(&self, index: usize) -> Option<&OutSection> {
        self.all.get(index)
    }

    pub(super) fn at_mut(&mut self, index: usize) -> Option<&mut OutSection> {
        self.all.get_mut(index)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &OutSection> {
        self.all.iter()
    }

    /// Adds an input's section to the one of its name, which is made if there is none; which one, and where in it.
    pub(super) fn append(
        &mut self,
        s: &InSection<'_>,
        strings: &mut Strings,
    ) -> Result<(usize, u64), SectionFault> {
        let at = match self.by_name.get(&s.name) {
            Some(at) => *at,
            None => self.push(&s.name),
        };
        let Some(from) = &s.elf else { return Ok((at, 0)) };
        if let Some(header) = self.all.get(at).and_then(|out| out.elf) {
            fits(&header, from)?;
        } else {
            let header = self.header(&s.name, from.sh_type, from.flags, from.align, from.entsize, strings);
            if let Some(out) = self.all.get_mut(at) {
                out.elf = Some(header);
            }
        }
        let offset = self.extend(at, from)?;
        Ok((at, offset))
    }

    /// Finds the output section of the same name. Returns an error if its contents differ, and `None` if there is no such section.
    pub(super) fn find_identical(&self, s: &InSection<'_>) -> Option<Result<usize, SectionFault>> {
        let at = *self.by_name.get(&s.name)?;
        let (out, from) = (self.all.get(at)?, s.elf.as_ref()?);
        let header = out.elf?;
        Some(fits(&header, from).and_then(|()| {
            if out.size == from.size && out.data == from.data { Ok(at) } else { Err(SectionFault::Content) }
        }))
    }

    fn push(&mut self, name: &[u8]) -> usize {
        let at = self.all.len();
        self.by_name.insert(name.into(), at);
        self.all.push(OutSection {
            name: name.into(),
            elf: None,
            size: 0,
            data: Vec::new(),
            symbol: 0,
            variables: None,
            ext: ExtRecords::default(),
        });
        at
    }

    fn header(
        &mut self,
        name: &[u8],
        sh_type: u32,
        flags: u64,
        align: u64,
        entsize: u64,
        strings: &mut Strings,
    ) -> Header {
        // There are fewer sections than bytes of input; `finish` refuses more than 16 bits.
        self.numbered = self.numbered.saturating_add(1);
        let (number, name) = (self.numbered, strings.add(name));
        Header { number, name, sh_type, flags, link: 0, info: 0, align, entsize }
    }

    /// libbpf: `extend_sec`
    fn extend(&mut self, at: usize, from: &Section<'_>) -> Result<u64, SectionFault> {
        let out = self.all.get_mut(at).invariant("an appended section is one of the linked object's")?;
        let header = out.elf.as_mut().invariant("an extended section has a header")?;
        header.align = header.align.max(from.align).max(1);
        let too_large = SectionFault::TooLarge;
        let offset = out.size.checked_next_multiple_of(header.align).ok_or(too_large)?;
        let size = offset.checked_add(from.size).filter(|size| *size <= limits::LINK_SECTION);
        let size = size.ok_or(too_large)?;
        if header.sh_type != elf::SHT_NOBITS.0 {
            let padding = offset.checked_sub(out.size).invariant("an offset is rounded up")?;
            self.padding = self.padding.checked_sub(padding).ok_or(too_large)?;
            out.data.resize(usize::try_from(offset).map_err(|_too_large| too_large)?, 0);
            out.data.extend_from_slice(from.data);
        }
        out.size = size;
        Ok(offset)
    }
}

/// Checks that two sections of a name can be concatenated (libbpf: `secs_match`).
fn fits(header: &Header, from: &Section<'_>) -> Result<(), SectionFault> {
    for (what, expected, found) in [
        ("type", header.sh_type.into(), from.sh_type.into()),
        ("flags", header.flags, from.flags),
        ("entry size", header.entsize, from.entsize),
    ] {
        if expected != found {
            return Err(SectionFault::Differs { what, expected, found });
        }
    }
    Ok(())
}
