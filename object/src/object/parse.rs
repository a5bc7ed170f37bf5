//! Parsing of objects, with the checks of libbpf's `bpf_object__open`.

use super::{
    ExtSection, Object, ObjectError, calls, data, externs, maps, programs::Code, relocs::RelocSection,
    symbols::Symbols,
};
use crate::elf::{Elf, ElfClass, Section};
use core::ffi::CStr;
use core_relo::{ByteSize, btf::Btf, ext::BtfExt};
use hashbrown::HashMap;
use object::elf;

impl<'d> Object<'d> {
    /// Parses an object.
    ///
    /// Refuses the objects that libbpf refuses to open, with two differences. It also refuses a damaged
    /// `.BTF.ext` (libbpf warns and loads unrelocated code), a `.BTF.ext` without `.BTF`, a second `.BTF`,
    /// compressed sections, and symbols of sections that do not exist. It accepts a section `maps`, invalid
    /// map definitions, and externs that the BTF does not describe: these are errors when a load is planned.
    pub fn parse(bytes: &'d [u8]) -> Result<Self, ObjectError> {
        let elf = Elf::parse(bytes)?;
        match (elf.class, elf.machine, elf.file_type) {
            (ElfClass::Elf32, ..) => return Err(ObjectError::Elf32),
            // Old LLVM versions wrote EM_NONE.
            (_, found, _) if found != elf::EM_BPF.0 && found != elf::EM_NONE.0 => {
                return Err(ObjectError::Machine { found });
            }
            (.., found) if found != elf::ET_REL.0 => return Err(ObjectError::FileType { found }),
            _ => {}
        }
        check_overlap(&elf, bytes.len())?;
        let symbols = Symbols::find(&elf)?;
        let Code { sections: code, indices: code_indices, programs } = Code::collect(&elf, &symbols)?;
        let (btf, ext) = parse_btf(&elf)?;
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
            license: find_last(&elf, b"license")?.map(|s| until_nul(s.data)),
            version: kernel_version(&elf)?,
            symbols,
            elf,
            btf,
            ext,
        };
        for index in calls::find_subprograms(&object) {
            if let Some(function) = object.programs.get_mut(index.0) {
                function.is_subprogram = true;
            }
        }
        Ok(object)
    }
}

/// Refuses overlapping sections of code, data and relocations, which would take time and memory for each
/// section.
fn check_overlap(elf: &Elf<'_>, len: usize) -> Result<(), ObjectError> {
    let mut remaining = len;
    let is_reloc = |s: &Section<'_>| s.sh_type == elf::SHT_REL.0 || s.sh_type == elf::SHT_RELA.0;
    for s in elf.sections.iter().filter(|s| s.is_code() || is_reloc(s) || data::kind_of(s).is_some()) {
        let overlap = || ObjectError::Overlap { section: s.text() };
        remaining = remaining.checked_sub(s.data.len()).ok_or_else(overlap)?;
    }
    Ok(())
}

/// Finds the section of a name, which must be unique and not compressed.
fn find_unique<'e, 'd>(elf: &'e Elf<'d>, name: &[u8]) -> Result<Option<&'e Section<'d>>, ObjectError> {
    let mut sections = elf.sections.iter().filter(|s| s.name == name && !s.is_null());
    let (first, second) = (sections.next(), sections.next());
    match first {
        Some(s) if second.is_some() => Err(ObjectError::Duplicate { section: s.text() }),
        Some(s) if s.is_compressed() => Err(ObjectError::Compressed { section: s.text() }),
        other => Ok(other),
    }
}

/// Finds the last section of a name, which must not be compressed. In libbpf, too, the last `license` counts.
fn find_last<'e, 'd>(elf: &'e Elf<'d>, name: &[u8]) -> Result<Option<&'e Section<'d>>, ObjectError> {
    match elf.sections.iter().rfind(|s| s.name == name && !s.is_null()) {
        Some(s) if s.is_compressed() => Err(ObjectError::Compressed { section: s.text() }),
        other => Ok(other),
    }
}

fn parse_btf<'d>(elf: &Elf<'d>) -> Result<(Option<Btf<'d>>, Option<ExtSection<'d>>), ObjectError> {
    let section = |name| match find_unique(elf, name)? {
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
            // A BPF object's pointers have 8 bytes, whatever the size of `long` (libbpf:
            // `bpf_object__init_btf`).
            btf.set_pointer_size(ByteSize(8));
            Some(btf)
        }
    };
    let ext = match section(b".BTF.ext")? {
        None => None,
        Some(_) if btf.is_none() => return Err(ObjectError::ExtWithoutBtf),
        Some(s) => {
            let ext = BtfExt::parse(s.data).map_err(ObjectError::Ext)?;
            Some(ExtSection { section: s.index, ext })
        }
    };
    Ok((btf, ext))
}

fn kernel_version(elf: &Elf<'_>) -> Result<Option<u32>, ObjectError> {
    let Some(s) = find_last(elf, b"version")? else { return Ok(None) };
    match (s.data.len(), elf.endian.u32(s.data, 0)) {
        (4, Some(version)) => Ok(Some(version)),
        _ => Err(ObjectError::VersionSize { size: s.size }),
    }
}

/// Returns the bytes before the first NUL, or all bytes without a NUL.
fn until_nul(bytes: &[u8]) -> &[u8] {
    CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes)
}
