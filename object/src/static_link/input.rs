//! One object to link, checked (libbpf: `linker_load_obj_file`, `linker_sanity_check_elf`, `linker_fixup_btf`).

use super::error::{LinkError, SectionFault, SymbolFault, TypeFault};
use crate::{
    elf::{Class, Elf, Section, text},
    limits,
    object::{
        ObjectError,
        symbols::{Symbols, object_endian},
    },
};
use core_relo::{
    ByteSize, Endian, Text, TypeId,
    btf::{Btf, Kind, Type},
    ext::BtfExt,
};
use object::{elf, read::elf::Sym as _};
use std::collections::HashMap;

const SHT_LLVM_ADDRSIG: u32 = 0x6fff_4c03;

#[derive(Debug)]
pub(super) struct Input<'d> {
    pub(super) file: Text,
    elf_endian: Endian,
    /// By number as in the ELF file, the unused first one included; then those that only the BTF knows of.
    pub(super) sections: Vec<InSection<'d>>,
    by_name: HashMap<Box<[u8]>, usize>,
    pub(super) symbols: Vec<InSymbol<'d>>,
    pub(super) symbol_table: u32,
    pub(super) btf: Option<Btf<'d>>,
    pub(super) ext: Option<BtfExt<'d>>,
    /// Bytes that further names of sections may have.
    names_left: usize,
    /// The offsets of global variables in their sections, by DATASEC and entry. Compilers leave the DATASEC's offsets 0, so these
    /// are the values of the symbols.
    offsets: HashMap<(TypeId, usize), u32>,
}

#[derive(Debug)]
pub(super) struct InSection<'d> {
    pub(super) name: Box<[u8]>,
    /// `None` if only the BTF knows of it: `.kconfig`, `.ksyms` (libbpf: an ephemeral section).
    pub(super) elf: Option<Section<'d>>,
    /// Not part of the linked object.
    pub(super) skipped: bool,
    /// The section it becomes a part of, and where in it.
    pub(super) out: Option<usize>,
    pub(super) offset: u64,
    pub(super) datasec: Option<TypeId>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct InSymbol<'d> {
    pub(super) name: &'d [u8],
    pub(super) kind: u8,
    pub(super) binding: u8,
    pub(super) other: u8,
    /// `st_shndx`
    pub(super) section: u16,
    pub(super) value: u64,
    pub(super) size: u64,
}

impl InSymbol<'_> {
    pub(super) const fn is_extern(&self) -> bool {
        self.section == 0
    }

    pub(super) const fn is_local(&self) -> bool {
        self.binding == elf::STB_LOCAL.0
    }

    pub(super) const fn is_weak(&self) -> bool {
        self.binding == elf::STB_WEAK.0
    }

    pub(super) const fn is_section(&self) -> bool {
        self.kind == elf::STT_SECTION.0
    }

    pub(super) const fn visibility(&self) -> u8 {
        self.other & 3
    }
}

impl<'d> Input<'d> {
    pub(super) fn read(file: &str, bytes: &'d [u8]) -> Result<Self, LinkError> {
        let file: Text = text(file.as_bytes());
        let object = |cause| LinkError::Object { file: file.clone(), cause };
        let elf = Elf::parse(bytes).map_err(|cause| object(cause.into()))?;
        match (elf.class, elf.machine, elf.file_type) {
            (Class::Elf32, ..) => return Err(object(ObjectError::Elf32)),
            (_, found, _) if found != elf::EM_BPF.0 => return Err(object(ObjectError::Machine { found })),
            (.., found) if found != elf::ET_REL.0 => return Err(object(ObjectError::FileType { found })),
            _ => {}
        }
        let table = Symbols::find(&elf).map_err(object)?;
        let mut input = Self {
            symbols: symbols(&file, &elf, &table)?,
            symbol_table: table.section.0,
            elf_endian: elf.endian,
            sections: Vec::new(),
            by_name: HashMap::new(),
            btf: None,
            ext: None,
            names_left: bytes.len().saturating_mul(limits::LINK_NAMES).max(limits::NAME_BYTES),
            offsets: HashMap::new(),
            file,
        };
        let mut left = bytes.len();
        for section in &elf.sections {
            input.section(section, &mut left)?;
        }
        if input.ext.is_some() && input.btf.is_none() {
            return Err(input.object(ObjectError::ExtWithoutBtf));
        }
        input.place_variables()?;
        Ok(input)
    }

    pub(super) const fn endian(&self) -> Endian {
        self.elf_endian
    }

    /// The first section of a name.
    pub(super) fn find(&self, name: &[u8]) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(super) fn at(&self, index: usize) -> Option<&InSection<'d>> {
        self.sections.get(index)
    }

    /// Returns the offset of a variable in its section.
    pub(super) fn variable_offset(&self, datasec: TypeId, entry: usize, btf_offset: u32) -> u32 {
        self.offsets.get(&(datasec, entry)).copied().unwrap_or(btf_offset)
    }

    pub(super) fn fault(&self, section: &[u8], cause: SectionFault) -> LinkError {
        LinkError::Section { file: self.file.clone(), section: text(section), cause }
    }

    pub(super) fn symbol_fault(&self, symbol: &[u8], cause: SymbolFault) -> LinkError {
        LinkError::Symbol { file: self.file.clone(), symbol: text(symbol), cause }
    }

    fn object(&self, cause: ObjectError) -> LinkError {
        LinkError::Object { file: self.file.clone(), cause }
    }

    fn section(&mut self, s: &Section<'d>, left: &mut usize) -> Result<(), LinkError> {
        let mut skipped = s.is_null() || is_ignored(s);
        if !skipped {
            self.check(s)?;
            *left =
                left.checked_sub(s.data.len()).ok_or_else(|| self.fault(s.name, SectionFault::Overlap))?;
        }
        if !skipped && s.sh_type == elf::SHT_PROGBITS.0 {
            skipped = match s.name {
                b".BTF" => {
                    self.types(s)?;
                    true
                }
                b".BTF.ext" => {
                    if self.ext.is_some() {
                        return Err(self.fault(s.name, SectionFault::Duplicate));
                    }
                    let ext = BtfExt::parse(s.data).map_err(|cause| self.object(ObjectError::Ext(cause)))?;
                    if ext.endian() != self.elf_endian {
                        return Err(self.object(ObjectError::BtfEndian));
                    }
                    self.ext = Some(ext);
                    true
                }
                _ => false,
            };
        }
        self.push(s.name, Some(*s), skipped)?;
        Ok(())
    }

    fn push(&mut self, name: &[u8], elf: Option<Section<'d>>, skipped: bool) -> Result<usize, LinkError> {
        let left = self.names_left.checked_sub(name.len());
        self.names_left = left.ok_or_else(|| LinkError::TooManySectionNames { file: self.file.clone() })?;
        let index = self.sections.len();
        if index > 0 {
            self.by_name.entry(name.into()).or_insert(index);
        }
        self.sections.push(InSection {
            name: name.into(),
            elf,
            skipped,
            out: None,
            offset: 0,
            datasec: None,
        });
        Ok(index)
    }

    fn check(&self, s: &Section<'_>) -> Result<(), LinkError> {
        let fault = |cause| Err(self.fault(s.name, cause));
        let is_code = s.sh_type == elf::SHT_PROGBITS.0 && s.flags & elf::SHF_EXECINSTR.0 != 0;
        match s.sh_type {
            t if t == elf::SHT_SYMTAB.0 || t == elf::SHT_PROGBITS.0 || t == elf::SHT_NOBITS.0 => {}
            t if t == elf::SHT_REL.0 => {}
            found => return fault(SectionFault::Type { found }),
        }
        if s.name.is_empty() {
            return fault(SectionFault::NoName { index: s.index.0 });
        }
        if s.is_compressed() {
            return fault(SectionFault::Compressed);
        }
        if s.align != 0 && !s.align.is_power_of_two() {
            return fault(SectionFault::Alignment { found: s.align });
        }
        if is_code && !s.size.is_multiple_of(8) {
            return fault(SectionFault::CodeSize { size: s.size });
        }
        Ok(())
    }

    fn types(&mut self, s: &Section<'d>) -> Result<(), LinkError> {
        if self.btf.is_some() {
            return Err(self.fault(s.name, SectionFault::Duplicate));
        }
        let mut btf = Btf::parse(s.data).map_err(|cause| self.object(ObjectError::Btf(cause)))?;
        if btf.endian() != self.elf_endian {
            return Err(self.object(ObjectError::BtfEndian));
        }
        btf.set_pointer_size(ByteSize(8));
        self.btf = Some(btf);
        Ok(())
    }

    /// Ties each DATASEC to its section, making one where the ELF has none, and finds where its global variables lie.
    fn place_variables(&mut self) -> Result<(), LinkError> {
        let Some(btf) = self.btf.take() else { return Ok(()) };
        if let Some(ty) =
            btf.types().find(|ty| is_looked_up(*ty) && ty.name().as_bytes().len() >= limits::NAME_BYTES)
        {
            let cause = TypeFault::LongName { id: ty.id() };
            return Err(LinkError::Types { file: self.file.clone(), cause });
        }
        let mut objects = HashMap::new();
        for s in self.symbols.iter().filter(|s| s.kind == elf::STT_OBJECT.0) {
            objects.entry((usize::from(s.section), s.name)).or_insert(s.value);
        }
        for datasec in btf.types().filter(|t| t.kind() == Kind::Datasec) {
            let name = datasec.name().as_bytes();
            let index = match self.find(name) {
                Some(index) => index,
                // What is declared there is for this linker to find, not for the kernel.
                None if name == b".extern" => continue,
                None => self.push(name, None, false)?,
            };
            let Some(section) = self.sections.get_mut(index) else { continue };
            section.datasec = Some(datasec.id());
            let number = if section.elf.is_some() { index } else { 0 };
            for (at, var) in datasec.secinfos().map(|info| btf.ty(info.ty)).enumerate() {
                let Some(var) = var.filter(|var| is_global_variable(*var)) else { continue };
                let name = var.name().as_bytes();
                let offset = objects.get(&(number, name)).and_then(|value| u32::try_from(*value).ok());
                let missing = || {
                    let section = text(datasec.name().as_bytes());
                    LinkError::Symbol {
                        file: self.file.clone(),
                        symbol: text(name),
                        cause: SymbolFault::NoSymbol { section },
                    }
                };
                self.offsets.insert((datasec.id(), at), offset.ok_or_else(missing)?);
            }
        }
        self.btf = Some(btf);
        Ok(())
    }
}

/// Returns whether the linker looks up a symbol or section by the type's name.
fn is_looked_up(ty: Type<'_>) -> bool {
    matches!(ty.kind(), Kind::Var | Kind::Func | Kind::Datasec)
}

fn is_global_variable(ty: Type<'_>) -> bool {
    ty.kind() == Kind::Var && ty.linkage() == Some(1)
}

/// Returns whether a section is left out of the linked object (libbpf: `is_ignored_sec`).
fn is_ignored(s: &Section<'_>) -> bool {
    let of = s.name.strip_prefix(b".rel").unwrap_or_default();
    s.sh_type == elf::SHT_STRTAB.0
        || s.sh_type == SHT_LLVM_ADDRSIG
        || (s.sh_type == elf::SHT_PROGBITS.0 && s.size == 0 && s.name == b".text")
        || s.name.starts_with(b".debug_")
        || of.starts_with(b".debug_")
        || of == b".BTF"
        || of == b".BTF.ext"
}

/// Reads and checks the symbols (libbpf: `linker_sanity_check_elf_symtab`).
fn symbols<'d>(file: &str, elf: &Elf<'d>, table: &Symbols<'d>) -> Result<Vec<InSymbol<'d>>, LinkError> {
    let e = object_endian(elf.endian);
    let mut symbols = Vec::with_capacity(table.raw().len());
    for (raw, resolved) in table.raw().iter().zip(table.iter()) {
        let resolved = resolved.map_err(|cause| LinkError::Object { file: file.into(), cause })?;
        let s = InSymbol {
            name: resolved.name,
            kind: raw.st_type().0,
            binding: raw.st_bind().0,
            other: raw.st_other.0,
            section: raw.st_shndx(e).0,
            value: resolved.value,
            size: resolved.size,
        };
        symbols.push(s);
        if resolved.index == 0 {
            continue;
        }
        let of_section = usize::from(s.section);
        let shown = || match elf.sections.get(of_section) {
            Some(section) if s.name.is_empty() => text(section.name),
            _ => text(s.name),
        };
        let fault = |cause| Err(LinkError::Symbol { file: file.into(), symbol: shown(), cause });
        if s.binding > elf::STB_WEAK.0 {
            return fault(SymbolFault::Binding { found: s.binding });
        }
        if !matches!(s.visibility(), v if v == elf::STV_DEFAULT.0 || v == elf::STV_HIDDEN.0) {
            return fault(SymbolFault::Visibility { found: s.visibility() });
        }
        if s.is_extern() && (s.kind != elf::STT_NOTYPE.0 || s.is_local() || s.value != 0 || s.size != 0) {
            return fault(SymbolFault::Extern);
        }
        if !s.is_extern() && s.is_section() && s.value != 0 {
            return fault(SymbolFault::SectionValue { value: s.value });
        }
    }
    Ok(symbols)
}
