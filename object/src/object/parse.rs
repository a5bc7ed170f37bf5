//! Parsing of an object: what libbpf's `bpf_object__open` checks.

use super::{
    Object, ObjectError, calls, data, externs, maps, programs::Code, relocs::RelocSection, symbols::Symbols,
};
use crate::elf::{Class, Elf, Section};
use core_relo::{ByteSize, btf::Btf, ext::BtfExt};
use object::elf;
use std::collections::HashMap;

impl<'d> Object<'d> {
    /// Reads an object.
    ///
    /// Refused is what libbpf refuses to open, with these differences. More is refused: a broken `.BTF.ext` (libbpf warns and
    /// goes on with unrelocated code) or one without `.BTF`, a second `.BTF`, compressed sections, symbols of sections that do
    /// not exist. Less is refused: a section `maps`, map definitions that cannot be read, and externs that the BTF does not
    /// describe are kept as such, and are errors only for who loads them.
    pub fn parse(bytes: &'d [u8]) -> Result<Self, ObjectError> {
        let elf = Elf::parse(bytes)?;
        match (elf.class, elf.machine, elf.file_type) {
            (Class::Elf32, ..) => return Err(ObjectError::Elf32),
            // Old LLVM wrote no machine at all.
            (_, found, _) if found != elf::EM_BPF.0 && found != elf::EM_NONE.0 => {
                return Err(ObjectError::Machine { found });
            }
            (.., found) if found != elf::ET_REL.0 => return Err(ObjectError::FileType { found }),
            _ => {}
        }
        no_overlap(&elf, bytes.len())?;
        let symbols = Symbols::find(&elf)?;
        let Code { sections: code, indices: code_indices, programs } = Code::collect(&elf, &symbols)?;
        let (btf, ext) = btf_of(&elf)?;
        let relocs = RelocSection::collect(&elf, &symbols)?;
        let mut relocs_by_target = HashMap::<_, Vec<_>>::new();
        for section in &relocs {
            relocs_by_target.entry(section.target()).or_default().push(*section);
        }
        let mut object = Self {
            bytes,
            code,
            code_indices,
            programs,
            data: data::collect(&elf)?,
            maps: maps::collect(&elf, &symbols, btf.as_ref())?,
            externs: externs::collect(&symbols, btf.as_ref())?,
            relocs,
            relocs_by_target,
            license: last(&elf, b"license")?.map(|s| until_nul(s.data)),
            version: version(&elf)?,
            symbols,
            elf,
            btf,
            ext,
        };
        for at in calls::subprograms(&object) {
            if let Some(function) = object.programs.get_mut(at.0) {
                function.is_subprogram = true;
            }
        }
        Ok(object)
    }
}

/// Refuses sections that share their bytes, at least where time or memory would grow with each of them.
fn no_overlap(elf: &Elf<'_>, len: usize) -> Result<(), ObjectError> {
    let mut left = len;
    let is_reloc = |s: &Section<'_>| s.sh_type == elf::SHT_REL.0 || s.sh_type == elf::SHT_RELA.0;
    for s in elf.sections.iter().filter(|s| s.is_code() || is_reloc(s) || data::kind_of(s).is_some()) {
        let overlap = || ObjectError::Overlap { section: s.text() };
        left = left.checked_sub(s.data.len()).ok_or_else(overlap)?;
    }
    Ok(())
}

/// The one section of a name, or none; readable.
fn only<'e, 'd>(elf: &'e Elf<'d>, name: &[u8]) -> Result<Option<&'e Section<'d>>, ObjectError> {
    let mut found = elf.sections.iter().filter(|s| s.name == name && !s.is_null());
    let (section, more) = (found.next(), found.next());
    match section {
        Some(s) if more.is_some() => Err(ObjectError::Duplicate { section: s.text() }),
        Some(s) if s.is_compressed() => Err(ObjectError::Compressed { section: s.text() }),
        other => Ok(other),
    }
}

/// The last section of a name, or none; readable. libbpf lets the last `license` win.
fn last<'e, 'd>(elf: &'e Elf<'d>, name: &[u8]) -> Result<Option<&'e Section<'d>>, ObjectError> {
    match elf.sections.iter().rfind(|s| s.name == name && !s.is_null()) {
        Some(s) if s.is_compressed() => Err(ObjectError::Compressed { section: s.text() }),
        other => Ok(other),
    }
}

fn btf_of<'d>(elf: &Elf<'d>) -> Result<(Option<Btf<'d>>, Option<BtfExt<'d>>), ObjectError> {
    let section = |name| match only(elf, name)? {
        Some(s) if s.sh_type != elf::SHT_PROGBITS.0 => {
            let expected = elf::SHT_PROGBITS.0;
            Err(ObjectError::SectionType { section: s.text(), found: s.sh_type, expected })
        }
        other => Ok(other),
    };
    let btf = match section(b".BTF")? {
        None => None,
        Some(s) => {
            let mut btf = Btf::parse(s.data).map_err(ObjectError::Btf)?;
            if btf.endian() != elf.endian {
                return Err(ObjectError::BtfEndian);
            }
            // As libbpf's `bpf_object__init_btf`: a BPF object's pointers have 8 bytes, whatever its `long` says.
            btf.set_pointer_size(ByteSize(8));
            Some(btf)
        }
    };
    let ext = match section(b".BTF.ext")? {
        None => None,
        Some(_) if btf.is_none() => return Err(ObjectError::ExtWithoutBtf),
        Some(s) => Some(BtfExt::parse(s.data).map_err(ObjectError::Ext)?),
    };
    Ok((btf, ext))
}

fn version(elf: &Elf<'_>) -> Result<Option<u32>, ObjectError> {
    let Some(s) = last(elf, b"version")? else { return Ok(None) };
    match (s.data.len(), elf.endian.u32(s.data, 0)) {
        (4, Some(version)) => Ok(Some(version)),
        _ => Err(ObjectError::VersionSize { size: s.size }),
    }
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or_default()
}
