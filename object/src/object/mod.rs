//! BPF objects: what an ELF file that clang or GCC compiled for BPF holds.
//!
//! [`Object::parse`] reads the sections once and checks every reference. It is pure: the same bytes give the same
//! [`Object`] on any host. Nothing is loaded here, and an unknown section name or an unreadable map definition is no error
//! until somebody wants to load it.

pub(crate) mod calls;
mod data;
mod error;
mod externs;
mod kinds;
pub(crate) mod maps;
mod programs;
mod relocs;
mod rewrite;
mod sec_def;
mod section_target;
pub(crate) mod symbols;
#[cfg(test)]
mod tests;

pub use crate::elf::{Class, ElfError, Section};
pub use data::{DataKind, DataSection};
pub use error::{ObjectError, RewriteError};
pub use externs::{Extern, ExternKind};
pub use kinds::{AttachType, MapType, MultiKind, ProgramType};
pub use maps::{Map, MapDef, MapError};
pub use programs::Program;
pub(crate) use programs::TEXT;
pub use relocs::{Reloc, RelocType};
pub use sec_def::{SEC_DEFS, SecDef, SecFlags, SecMatch};
pub use section_target::{SectionTarget, SectionTargetError, split_offset};
pub use symbols::{Linkage, Place, Symbol, SymbolKind};

use crate::elf::{Elf, text};
use alloc::collections::VecDeque;
use core_relo::{ByteSize, CodeSection, Endian, Relocs, btf::Btf, ext::BtfExt};
use object::elf;
use programs::Code;
use relocs::RelocSection;
use std::collections::HashMap;
use symbols::Symbols;

/// A BPF object, checked.
#[derive(Debug)]
pub struct Object<'d> {
    bytes: &'d [u8],
    elf: Elf<'d>,
    symbols: Symbols<'d>,
    code: Vec<CodeSection<'d>>,
    code_indices: Vec<u32>,
    programs: Vec<Program<'d>>,
    data: Vec<DataSection<'d>>,
    maps: Vec<Map<'d>>,
    externs: Vec<Extern<'d>>,
    relocs: Vec<RelocSection<'d>>,
    /// The same by the section they apply to.
    relocs_by_target: HashMap<u32, Vec<RelocSection<'d>>>,
    license: Option<&'d [u8]>,
    version: Option<u32>,
    btf: Option<Btf<'d>>,
    ext: Option<BtfExt<'d>>,
}

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
            if let Some(function) = object.programs.get_mut(at) {
                function.is_subprogram = true;
            }
        }
        Ok(object)
    }

    /// The byte order, of the file and of its instructions.
    pub fn endian(&self) -> Endian {
        self.elf.endian
    }

    /// The bytes it was read from.
    pub fn as_bytes(&self) -> &'d [u8] {
        self.bytes
    }

    /// Every section of the ELF file, the unused first one included.
    pub fn sections(&self) -> &[Section<'d>] {
        &self.elf.sections
    }

    /// Every symbol, in order.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'d>> {
        self.symbols.iter().filter_map(Result::ok)
    }

    /// The executable sections that are not empty, in order, with the functions in them.
    pub fn code_sections(&self) -> &[CodeSection<'d>] {
        &self.code
    }

    /// The ELF sections' numbers of [`code_sections`](Self::code_sections), in the same order.
    pub fn code_indices(&self) -> &[u32] {
        &self.code_indices
    }

    /// Programs and subprograms, in order of section and place.
    pub fn programs(&self) -> &[Program<'d>] {
        &self.programs
    }

    /// Sections of data, in order.
    pub fn data_sections(&self) -> &[DataSection<'d>] {
        &self.data
    }

    /// Maps, in order of place; not those that data sections become.
    pub fn maps(&self) -> &[Map<'d>] {
        &self.maps
    }

    /// What the kernel is to supply.
    pub fn externs(&self) -> &[Extern<'d>] {
        &self.externs
    }

    /// The license, if there is a section `license`.
    pub fn license(&self) -> Option<&'d [u8]> {
        self.license
    }

    /// The kernel version, if there is a section `version` (old kernels wanted one).
    pub fn kernel_version(&self) -> Option<u32> {
        self.version
    }

    /// The ELF relocations of every section.
    ///
    /// Those of sections that reach the kernel were checked by [`parse`](Self::parse); the others (DWARF, BTF) are checked
    /// as they are read.
    pub fn elf_relocs(&self) -> impl Iterator<Item = Result<Reloc<'d>, ObjectError>> {
        self.relocs.iter().flat_map(|r| r.iter(&self.elf, &self.symbols))
    }

    /// The ELF relocations of one section.
    pub fn elf_relocs_of(&self, section_index: u32) -> impl Iterator<Item = Result<Reloc<'d>, ObjectError>> {
        let of_it = self.relocs_by_target.get(&section_index).into_iter().flatten();
        of_it.flat_map(|r| r.iter(&self.elf, &self.symbols))
    }

    /// The object's types; pointers have 8 bytes, as on every BPF machine.
    pub fn btf(&self) -> Option<&Btf<'d>> {
        self.btf.as_ref()
    }

    /// What `.BTF.ext` says of the instructions.
    pub fn ext(&self) -> Option<&BtfExt<'d>> {
        self.ext.as_ref()
    }

    /// The object's CO-RE relocations; none if it has no `.BTF.ext`.
    ///
    /// Needs the object's BTF: without, it is [`ObjectError::NoBtf`].
    pub fn relocs(&self) -> Result<Relocs<'_>, ObjectError> {
        let btf = self.btf.as_ref().ok_or(ObjectError::NoBtf)?;
        let none = BtfExt::parse(no_ext(self.endian())).map_err(ObjectError::Ext)?;
        let ext = self.ext.as_ref().unwrap_or(&none);
        Relocs::collect(btf, ext, &self.code).map_err(ObjectError::Relocs)
    }

    /// A copy of the file with other instructions in these code sections; all else stays as it is, byte for byte. A section that
    /// shares bytes with another part of the file cannot be changed.
    ///
    /// Names are not unique: the second mention of one means the second section of that name.
    pub fn rewrite<'n>(
        &self,
        sections: impl IntoIterator<Item = (&'n [u8], &'n [u8])>,
    ) -> Result<Vec<u8>, RewriteError> {
        let mut copy = self.bytes.to_vec();
        let mut left = HashMap::<&[u8], VecDeque<u32>>::new();
        for (section, index) in self.code.iter().zip(&self.code_indices) {
            left.entry(section.name).or_default().push_back(*index);
        }
        let mut changed = alloc::collections::BTreeSet::new();
        for (name, new) in sections {
            let missing = || RewriteError::NoSection { section: text(name) };
            let index = left.get_mut(name).and_then(VecDeque::pop_front).ok_or_else(missing)?;
            let section = section_at(&self.elf, index).ok_or_else(missing)?;
            let length =
                RewriteError::Length { section: text(name), expected: section.data.len(), found: new.len() };
            match section.file_range().and_then(|range| copy.get_mut(range)) {
                Some(old) if old.len() == new.len() => {
                    if section.data != new {
                        changed.insert(section.index);
                    }
                    old.copy_from_slice(new);
                }
                _ => return Err(length),
            }
        }
        rewrite::check_separate(&self.elf, self.bytes, &changed)?;
        Ok(copy)
    }
}

/// The section of this number, unless it is the first one, which is none.
pub(crate) fn section_at<'e, 'd>(elf: &'e Elf<'d>, index: u32) -> Option<&'e Section<'d>> {
    elf.sections.get(usize::try_from(index).ok()?).filter(|s| s.index != 0)
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
    let mut found = elf.sections.iter().filter(|s| s.name == name && s.index != 0);
    let (section, more) = (found.next(), found.next());
    match section {
        Some(s) if more.is_some() => Err(ObjectError::Duplicate { section: s.text() }),
        Some(s) if s.is_compressed() => Err(ObjectError::Compressed { section: s.text() }),
        other => Ok(other),
    }
}

/// The last section of a name, or none; readable. libbpf lets the last `license` win.
fn last<'e, 'd>(elf: &'e Elf<'d>, name: &[u8]) -> Result<Option<&'e Section<'d>>, ObjectError> {
    match elf.sections.iter().rfind(|s| s.name == name && s.index != 0) {
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

/// A `.BTF.ext` that says nothing.
const fn no_ext(endian: Endian) -> &'static [u8] {
    match endian {
        Endian::Little => b"\x9f\xeb\x01\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        Endian::Big => b"\xeb\x9f\x01\0\0\0\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    }
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
