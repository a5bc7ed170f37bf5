//! A builder of BPF objects.

use core_relo::{
    Endian, StrOffset, TypeId,
    btf::Builder,
    ext::{ExtBuilder, ExtPart},
    insn::{Insn, LD_IMM64},
};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
    elf::RelocationType,
    write::{Object, Relocation, SectionId, Symbol, SymbolId, SymbolSection},
};

/// The byte order of all generated objects and kernels: the host's, so that dry runs accept them.
pub const ENDIAN: Endian = Endian::native();

/// An object under construction.
pub struct ObjectBuilder {
    elf: Object<'static>,
    /// The object's types.
    pub types: Builder,
    /// The type `int`, with id 1.
    pub int: TypeId,
    ext: ExtBuilder,
    maps: Vec<(TypeId, u32, u32)>,
    maps_section: Option<SectionId>,
}

/// A CO-RE record: instruction index, root type, access string, kind.
pub type CoreRecord = (u32, TypeId, StrOffset, u32);

/// Returns an instruction with an immediate.
pub fn insn(code: u8, dst: u8, src: u8, imm: i32) -> Insn {
    Insn { code, dst, src, off: 0, imm }
}

/// Returns the instructions `r0 = 0; exit`.
pub fn returns() -> [Insn; 2] {
    [insn(0xb7, 0, 0, 0), insn(0x95, 0, 0, 0)]
}

/// Returns a 64-bit load whose value a relocation supplies.
pub fn load() -> [Insn; 2] {
    [insn(LD_IMM64, 1, 0, 0), Insn::default()]
}

/// Returns a call whose target a relocation supplies.
pub fn call(imm: i32) -> Insn {
    insn(0x85, 0, 1, imm)
}

impl Default for ObjectBuilder {
    fn default() -> Self {
        let order = if ENDIAN == Endian::Little { Endianness::Little } else { Endianness::Big };
        let mut types = Builder::new(ENDIAN);
        let int = types.int("int", 4, Builder::SIGNED);
        Self {
            elf: Object::new(BinaryFormat::Elf, Architecture::Bpf, order),
            types,
            int,
            ext: ExtBuilder::new(ENDIAN),
            maps: Vec::new(),
            maps_section: None,
        }
    }
}

impl ObjectBuilder {
    /// Adds a section.
    pub fn section(&mut self, name: &str, kind: SectionKind, bytes: &[u8]) -> SectionId {
        let id = self.elf.add_section(Vec::new(), name.into(), kind);
        self.elf.append_section_data(id, bytes, 8);
        id
    }

    /// Adds a code section.
    pub fn code(&mut self, name: &str, insns: &[Insn]) -> SectionId {
        let bytes: Vec<u8> = insns.iter().flat_map(|insn| insn.encode(ENDIAN)).collect();
        self.section(name, SectionKind::Text, &bytes)
    }

    /// Adds a section with one global function.
    pub fn program(&mut self, name: &str, section: &str, insns: &[Insn]) -> SectionId {
        let id = self.code(section, insns);
        self.function(name, id, 0, insns.len());
        id
    }

    /// Adds the symbol of a global function with `len` instructions.
    pub fn function(&mut self, name: &str, section: SectionId, start: usize, len: usize) -> SymbolId {
        self.symbol(name, SymbolKind::Text, section, 8 * start, 8 * len)
    }

    /// Adds a global symbol at a byte offset of a section.
    pub fn symbol(
        &mut self,
        name: &str,
        kind: SymbolKind,
        section: SectionId,
        value: usize,
        size: usize,
    ) -> SymbolId {
        self.elf.add_symbol(Symbol {
            name: name.into(),
            value: value as u64,
            size: size as u64,
            kind,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        })
    }

    /// Makes a symbol local, as C's `static` does.
    pub fn make_static(&mut self, symbol: SymbolId) {
        self.elf.symbol_mut(symbol).scope = SymbolScope::Compilation;
    }

    /// Adds a weak undefined symbol.
    pub fn weak_extern(&mut self, name: &str) -> SymbolId {
        self.elf.add_symbol(Symbol {
            name: name.into(),
            value: 0,
            size: 0,
            kind: SymbolKind::Unknown,
            scope: SymbolScope::Unknown,
            weak: true,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        })
    }

    /// Adds a relocation of a 64-bit load or a call.
    pub fn add_reloc(&mut self, section: SectionId, insn: usize, symbol: SymbolId, is_call: bool) {
        self.reloc(section, 8 * insn, symbol, if is_call { 10 } else { 1 });
    }

    /// Adds a relocation of a pointer in data.
    pub fn add_data_reloc(&mut self, section: SectionId, byte: usize, symbol: SymbolId) {
        self.reloc(section, byte, symbol, 2);
    }

    fn reloc(&mut self, section: SectionId, offset: usize, symbol: SymbolId, number: u32) {
        let flags = RelocationFlags::Elf { r_type: RelocationType(number) };
        let reloc = Relocation { offset: offset as u64, symbol, addend: 0, flags };
        self.elf.add_relocation(section, reloc).expect("a relocation that BPF has");
    }

    /// Adds a map with these attributes. `values` is the element type and the number of initial values.
    ///
    /// Returns the section, the offset of the map in it, and its symbol.
    pub fn map(
        &mut self,
        name: &str,
        numbers: &[(&str, u32)],
        values: Option<(TypeId, usize)>,
    ) -> (SectionId, usize, SymbolId) {
        let mut members: Vec<(&str, TypeId, u32)> = Vec::new();
        for (field, n) in numbers {
            let array = self.types.array(self.int, self.int, *n);
            members.push((field, self.types.pointer(array), 64 * members.len() as u32));
        }
        let mut size = 8 * members.len();
        if let Some((element, slots)) = values {
            let pointer = self.types.pointer(element);
            members.push(("values", self.types.array(pointer, self.int, 0), 8 * size as u32));
            size += 8 * slots;
        }
        let ty = self.types.structure("", 8 * numbers.len() as u32, &members);
        let var = self.types.var(name, ty, 1);
        let section = match self.maps_section {
            Some(section) => section,
            None => {
                *self.maps_section.insert(self.elf.add_section(Vec::new(), ".maps".into(), SectionKind::Data))
            }
        };
        let at = self.elf.append_section_data(section, &vec![0; size], 8) as usize;
        self.maps.push((var, at as u32, size as u32));
        (section, at, self.symbol(name, SymbolKind::Data, section, at, size))
    }

    /// Adds the CO-RE records of one section.
    pub fn core_records(&mut self, section: &str, records: &[CoreRecord]) {
        let words = records.iter().flat_map(|(insn, root, access, kind)| [8 * insn, root.0, access.0, *kind]);
        self.records(ExtPart::CoreRelo, section, 16, words);
    }

    /// Adds the function records of a section: instruction index, FUNC.
    pub fn func_infos(&mut self, section: &str, records: &[(u32, TypeId)]) {
        let words = records.iter().flat_map(|(insn, ty)| [8 * insn, ty.0]);
        self.records(ExtPart::FuncInfo, section, 8, words);
    }

    /// Adds the line records of a section: instruction index, line number.
    pub fn lines(&mut self, section: &str, records: &[(u32, u32)]) {
        let (file, text) = (self.types.string("generated.bpf.c"), self.types.string("return 0;"));
        let words = records.iter().flat_map(|(insn, line)| [8 * insn, file.0, text.0, line << 10]);
        self.records(ExtPart::LineInfo, section, 16, words);
    }

    fn records(&mut self, part: ExtPart, section: &str, size: u32, words: impl Iterator<Item = u32>) {
        let name = self.types.string(section);
        let mut bytes = Vec::new();
        words.for_each(|word| ENDIAN.put_u32(&mut bytes, word));
        self.ext.group(part, name, size, &bytes);
    }

    /// Adds a FUNC of the prototype `int f(void)`.
    pub fn func_type(&mut self, name: &str, linkage: u8) -> TypeId {
        let proto = self.types.func_proto(self.int, &[]);
        self.types.func(name, proto, linkage)
    }

    /// Returns the ELF file.
    pub fn finish(mut self) -> Vec<u8> {
        if let Some((_, at, size)) = self.maps.last() {
            self.types.datasec(".maps", at + size, &self.maps);
        }
        let (types, ext) = (self.types.finish(), self.ext.finish());
        self.section(".BTF", SectionKind::Other, &types);
        self.section(".BTF.ext", SectionKind::Other, &ext);
        self.section("license", SectionKind::Data, b"GPL\0");
        self.elf.write().expect("an ELF file")
    }
}
