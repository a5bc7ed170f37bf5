//! An object to link, with the checks of libbpf's `linker_load_obj_file` and `linker_sanity_check_elf`.

use super::{
    error::{SectionError, StaticLinkError, SymbolError, TypeError},
    index::{InputSectionIndex, OutputSectionIndex, Table},
    input_symbol::{InputSymbol, read_symbols},
    strings::exceeds_name_limit,
};
use crate::{
    elf::{Elf, ElfClass, Section, text},
    index::SectionIndex,
    internal::Invariant as _,
    limits,
    object::{ObjectError, SymbolLocation, symbols::Symbols},
};
use core_relo::{
    ByteSize, Endian, Text, TypeId,
    btf::{Btf, Kind, Type},
    ext::BtfExt,
};
use hashbrown::HashMap;
use object::elf;

const SHT_LLVM_ADDRSIG: u32 = 0x6fff_4c03;

/// An object to link.
#[derive(Debug)]
pub(super) struct Input<'d> {
    /// The file's name, for errors.
    pub(super) file: Text,
    pub(super) endian: Endian,
    /// The sections of the ELF file in order, then the sections that only the BTF has.
    pub(super) sections: Table<InputSectionIndex, InputSection<'d>>,
    sections_by_name: HashMap<Box<[u8]>, InputSectionIndex>,
    /// The symbols in the order of the symbol table, including the null symbol.
    pub(super) symbols: Vec<InputSymbol<'d>>,
    /// The section of the symbol table.
    pub(super) symbol_table: SectionIndex,
    pub(super) btf: Option<Btf<'d>>,
    pub(super) ext: Option<BtfExt<'d>>,
    /// The size of the file in bytes.
    len: usize,
    /// The bytes of all section names.
    name_bytes: usize,
    /// The offsets of global variables in their sections, by DATASEC and entry.
    variable_offsets: HashMap<(TypeId, usize), u32>,
}

/// A section of an input.
#[derive(Debug)]
pub(super) struct InputSection<'d> {
    pub(super) name: Box<[u8]>,
    /// The ELF section; `None` for `.kconfig` and `.ksyms`, which only the BTF has (libbpf: an ephemeral
    /// section).
    pub(super) elf: Option<Section<'d>>,
    /// Whether the section is left out of the linked object.
    pub(super) is_ignored: bool,
    /// The place in the linked object; `None` if the section is left out, or not placed yet.
    pub(super) placement: Option<Placement>,
    pub(super) datasec: Option<TypeId>,
}

/// The place of an input section in the linked object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placement {
    pub(super) section: OutputSectionIndex,
    /// The offset in the output section, in bytes.
    pub(super) offset: u32,
}

impl InputSection<'_> {
    /// Returns whether the section holds code or data, or exists in the BTF only.
    pub(super) fn is_data(&self) -> bool {
        self.elf.is_none_or(|s| s.sh_type == elf::SHT_PROGBITS.0 || s.sh_type == elf::SHT_NOBITS.0)
    }
}

impl<'d> Input<'d> {
    /// Parses and checks an object. Errors name the object `file`.
    pub(super) fn parse(file: &str, bytes: &'d [u8]) -> Result<Self, StaticLinkError> {
        let file: Text = text(file.as_bytes());
        let object_error = |cause| StaticLinkError::Object { file: file.clone(), cause };
        let elf = Elf::parse(bytes).map_err(|cause| object_error(cause.into()))?;
        match (elf.class, elf.machine, elf.file_type) {
            (ElfClass::Elf32, ..) => return Err(object_error(ObjectError::Elf32)),
            (_, found, _) if found != elf::EM_BPF.0 => {
                return Err(object_error(ObjectError::Machine { found }));
            }
            (.., found) if found != elf::ET_REL.0 => {
                return Err(object_error(ObjectError::FileType { found }));
            }
            _ => {}
        }
        let table = Symbols::find(&elf).map_err(object_error)?;
        let mut input = Self {
            symbols: read_symbols(&file, &elf, &table)?,
            symbol_table: table.section,
            endian: elf.endian,
            sections: Table::default(),
            sections_by_name: HashMap::new(),
            btf: None,
            ext: None,
            len: bytes.len(),
            name_bytes: 0,
            variable_offsets: HashMap::new(),
            file,
        };
        let mut bytes_left = bytes.len();
        for section in &elf.sections {
            input.add_section(section, &mut bytes_left)?;
        }
        if input.ext.is_some() && input.btf.is_none() {
            return Err(input.object_error(ObjectError::ExtWithoutBtf));
        }
        input.add_datasecs()?;
        Ok(input)
    }

    /// Finds the first section of a name.
    pub(super) fn find(&self, name: &[u8]) -> Option<InputSectionIndex> {
        self.sections_by_name.get(name).copied()
    }

    /// Returns the section of an ELF section index; `None` if the file has no such section.
    pub(super) fn elf_section(&self, index: SectionIndex) -> Option<&InputSection<'d>> {
        self.sections.get(index.into()).ok().filter(|section| section.elf.is_some())
    }

    /// Returns the offset of a DATASEC's entry in its section. For a global variable, this is the value of
    /// the symbol: compilers leave the offset in the BTF 0.
    pub(super) fn variable_offset(&self, datasec: TypeId, entry: usize, btf_offset: u32) -> u32 {
        match self.variable_offsets.get(&(datasec, entry)) {
            Some(symbol_value) => *symbol_value,
            None => btf_offset,
        }
    }

    /// Returns an error of a section.
    pub(super) fn section_error(&self, section: &[u8], cause: SectionError) -> StaticLinkError {
        StaticLinkError::Section { file: self.file.clone(), section: text(section), cause }
    }

    /// Returns an error of a symbol.
    pub(super) fn symbol_error(&self, symbol: &[u8], cause: SymbolError) -> StaticLinkError {
        StaticLinkError::Symbol { file: self.file.clone(), symbol: text(symbol), cause }
    }

    /// Returns an error of the BTF.
    pub(super) fn type_error(&self, cause: TypeError) -> StaticLinkError {
        StaticLinkError::Types { file: self.file.clone(), cause }
    }

    fn object_error(&self, cause: ObjectError) -> StaticLinkError {
        StaticLinkError::Object { file: self.file.clone(), cause }
    }

    fn add_section(&mut self, section: &Section<'d>, bytes_left: &mut usize) -> Result<(), StaticLinkError> {
        let error = |cause| self.section_error(section.name, cause);
        let mut is_ignored = section.is_null() || is_ignored(section);
        if !is_ignored {
            check_section(section).map_err(error)?;
            let rest = bytes_left.checked_sub(section.data.len());
            *bytes_left = rest.ok_or_else(|| error(SectionError::Overlap))?;
        }
        if !is_ignored && section.sh_type == elf::SHT_PROGBITS.0 {
            match section.name {
                b".BTF" => self.parse_btf(section)?,
                b".BTF.ext" => self.parse_ext(section)?,
                _ => {}
            }
            is_ignored = matches!(section.name, b".BTF" | b".BTF.ext");
        }
        self.push_section(section.name, Some(*section), is_ignored)?;
        Ok(())
    }

    fn push_section(
        &mut self,
        name: &[u8],
        elf: Option<Section<'d>>,
        is_ignored: bool,
    ) -> Result<InputSectionIndex, StaticLinkError> {
        let name_bytes = self.name_bytes.checked_add(name.len());
        self.name_bytes = name_bytes.invariant("the section names stay within their limit")?;
        let input_bytes = super::strings::byte_count(self.len)?;
        if exceeds_name_limit(self.name_bytes, input_bytes)? {
            return Err(StaticLinkError::TooManySectionNames { file: self.file.clone() });
        }
        let is_null = elf.is_some_and(|section| section.is_null());
        let section = InputSection { name: name.into(), elf, is_ignored, placement: None, datasec: None };
        let index = self.sections.push(section)?;
        if !is_null {
            self.sections_by_name.entry(name.into()).or_insert(index);
        }
        Ok(index)
    }

    fn parse_btf(&mut self, section: &Section<'d>) -> Result<(), StaticLinkError> {
        if self.btf.is_some() {
            return Err(self.section_error(section.name, SectionError::Duplicate));
        }
        let mut btf = Btf::parse(section.data).map_err(|cause| self.object_error(ObjectError::Btf(cause)))?;
        if btf.endian() != self.endian {
            return Err(self.object_error(ObjectError::BtfEndian));
        }
        btf.set_pointer_size(ByteSize(8));
        self.btf = Some(btf);
        Ok(())
    }

    fn parse_ext(&mut self, section: &Section<'d>) -> Result<(), StaticLinkError> {
        if self.ext.is_some() {
            return Err(self.section_error(section.name, SectionError::Duplicate));
        }
        let ext = BtfExt::parse(section.data).map_err(|cause| self.object_error(ObjectError::Ext(cause)))?;
        if ext.endian() != self.endian {
            return Err(self.object_error(ObjectError::BtfEndian));
        }
        self.ext = Some(ext);
        Ok(())
    }

    /// Assigns each DATASEC to its section, and finds the offsets of global variables (libbpf:
    /// `linker_fixup_btf`).
    ///
    /// A DATASEC without an ELF section gets a section that exists in the BTF only.
    fn add_datasecs(&mut self) -> Result<(), StaticLinkError> {
        let Some(btf) = self.btf.take() else { return Ok(()) };
        let is_too_long = |ty: &Type<'_>| ty.name().as_bytes().len() >= limits::NAME_BYTES;
        if let Some(ty) = btf.types().filter(|ty| is_looked_up(*ty)).find(is_too_long) {
            return Err(self.type_error(TypeError::LongName { id: ty.id() }));
        }
        let mut symbol_values = HashMap::new();
        for symbol in self.symbols.iter().filter(|s| s.kind == elf::STT_OBJECT.0) {
            symbol_values.entry((symbol.location, symbol.name)).or_insert(symbol.value);
        }
        for datasec in btf.types().filter(|t| t.kind() == Kind::Datasec) {
            let name = datasec.name().as_bytes();
            let index = match self.find(name) {
                Some(index) => index,
                // The externs that another input defines.
                None if name == b".extern" => continue,
                None => self.push_section(name, None, false)?,
            };
            let section = self.sections.get_mut(index)?;
            section.datasec = Some(datasec.id());
            let location = section.elf.map(|section| SymbolLocation::Section(section.index));
            for (entry, var) in datasec.secinfos().map(|info| btf.ty(info.ty)).enumerate() {
                let Some(var) = var.filter(|var| is_global_variable(*var)) else { continue };
                let name = var.name().as_bytes();
                let value = location.and_then(|location| symbol_values.get(&(location, name)));
                let offset = value.and_then(|value| u32::try_from(*value).ok());
                let offset = offset.ok_or_else(|| {
                    let section = text(datasec.name().as_bytes());
                    self.symbol_error(name, SymbolError::NoSymbol { section })
                })?;
                self.variable_offsets.insert((datasec.id(), entry), offset);
            }
        }
        self.btf = Some(btf);
        Ok(())
    }
}

/// Checks that the linker supports a section (libbpf: `linker_sanity_check_elf`).
fn check_section(section: &Section<'_>) -> Result<(), SectionError> {
    let known = [elf::SHT_PROGBITS, elf::SHT_SYMTAB, elf::SHT_NOBITS, elf::SHT_REL];
    if !known.iter().any(|known| known.0 == section.sh_type) {
        return Err(SectionError::Type { found: section.sh_type });
    }
    if section.name.is_empty() {
        return Err(SectionError::NoName { index: section.index });
    }
    if section.is_compressed() {
        return Err(SectionError::Compressed);
    }
    if section.align != 0 && !section.align.is_power_of_two() {
        return Err(SectionError::Alignment { found: section.align });
    }
    let is_code = section.sh_type == elf::SHT_PROGBITS.0 && section.flags & elf::SHF_EXECINSTR.0 != 0;
    if is_code && !section.size.is_multiple_of(8) {
        return Err(SectionError::CodeSize { size: section.size });
    }
    Ok(())
}

/// Returns whether the linker looks up a symbol or section by the type's name.
fn is_looked_up(ty: Type<'_>) -> bool {
    matches!(ty.kind(), Kind::Var | Kind::Func | Kind::Datasec)
}

fn is_global_variable(ty: Type<'_>) -> bool {
    ty.kind() == Kind::Var && ty.linkage() == Some(1)
}

/// Returns whether a section is left out of the linked object (libbpf: `is_ignored_sec`).
fn is_ignored(section: &Section<'_>) -> bool {
    let is_ignored_target =
        |target: &[u8]| target.starts_with(b".debug_") || matches!(target, b".BTF" | b".BTF.ext");
    section.sh_type == elf::SHT_STRTAB.0
        || section.sh_type == SHT_LLVM_ADDRSIG
        || (section.sh_type == elf::SHT_PROGBITS.0 && section.size == 0 && section.name == b".text")
        || section.name.starts_with(b".debug_")
        || section.name.strip_prefix(b".rel").is_some_and(is_ignored_target)
}
