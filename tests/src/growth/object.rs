//! A BPF object of any size, built section by section.

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

/// The byte order of all objects and kernels made here: that of the machine, so that dry runs take them.
pub const ENDIAN: Endian = Endian::native();

/// An object under construction.
pub struct ObjectMaker {
    elf: Object<'static>,
    /// The object's types.
    pub types: Builder,
    /// The type `int`, number 1.
    pub int: TypeId,
    ext: ExtBuilder,
    maps: Vec<(TypeId, u32, u32)>,
    maps_section: Option<SectionId>,
}

/// A CO-RE record of a section: instruction, root type, access string, kind.
pub type CoreRecord = (u32, TypeId, StrOffset, u32);

pub fn insn(code: u8, dst: u8, src: u8, imm: i32) -> Insn {
    Insn { code, dst, src, off: 0, imm }
}

/// `r0 = 0; exit`
pub fn returns() -> [Insn; 2] {
    [insn(0xb7, 0, 0, 0), insn(0x95, 0, 0, 0)]
}

/// A 64-bit load whose value a relocation supplies.
pub fn load() -> [Insn; 2] {
    [insn(LD_IMM64, 1, 0, 0), Insn::default()]
}

/// A call whose target a relocation supplies.
pub fn call(imm: i32) -> Insn {
    insn(0x85, 0, 1, imm)
}

impl Default for ObjectMaker {
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

impl ObjectMaker {
    pub fn section(&mut self, name: &str, kind: SectionKind, bytes: &[u8]) -> SectionId {
        let id = self.elf.add_section(Vec::new(), name.into(), kind);
        self.elf.append_section_data(id, bytes, 8);
        id
    }

    pub fn code(&mut self, name: &str, insns: &[Insn]) -> SectionId {
        let bytes: Vec<u8> = insns.iter().flat_map(|insn| insn.encode(ENDIAN)).collect();
        self.section(name, SectionKind::Text, &bytes)
    }

    /// A section of one global function.
    pub fn program(&mut self, name: &str, section: &str, insns: &[Insn]) -> SectionId {
        let id = self.code(section, insns);
        self.function(name, id, 0, insns.len());
        id
    }

    /// A global function of `len` instructions.
    pub fn function(&mut self, name: &str, section: SectionId, start: usize, len: usize) -> SymbolId {
        self.symbol(name, SymbolKind::Text, section, 8 * start, 8 * len)
    }

    /// A global symbol at a byte of a section.
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

    /// Makes a symbol what C's `static` makes it.
    pub fn make_static(&mut self, symbol: SymbolId) {
        self.elf.symbol_mut(symbol).scope = SymbolScope::Compilation;
    }

    /// A weak symbol that the kernel may have.
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

    /// A 64-bit load, or a call, that refers to a symbol.
    pub fn refer(&mut self, section: SectionId, insn: usize, symbol: SymbolId, is_call: bool) {
        self.reloc(section, 8 * insn, symbol, if is_call { 10 } else { 1 });
    }

    /// A byte of data that refers to a symbol.
    pub fn refer_from_data(&mut self, section: SectionId, byte: usize, symbol: SymbolId) {
        self.reloc(section, byte, symbol, 2);
    }

    fn reloc(&mut self, section: SectionId, offset: usize, symbol: SymbolId, number: u32) {
        let flags = RelocationFlags::Elf { r_type: RelocationType(number) };
        let reloc = Relocation { offset: offset as u64, symbol, addend: 0, flags };
        self.elf.add_relocation(section, reloc).expect("a relocation that BPF has");
    }

    /// A map of these numbers; `values` gives it slots of that type with room for `slots`.
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
            Some(known) => known,
            None => {
                *self.maps_section.insert(self.elf.add_section(Vec::new(), ".maps".into(), SectionKind::Data))
            }
        };
        let at = self.elf.append_section_data(section, &vec![0; size], 8) as usize;
        self.maps.push((var, at as u32, size as u32));
        (section, at, self.symbol(name, SymbolKind::Data, section, at, size))
    }

    /// CO-RE records of one section.
    pub fn core_records(&mut self, section: &str, records: &[CoreRecord]) {
        let words = records.iter().flat_map(|(insn, root, access, kind)| [8 * insn, root.0, access.0, *kind]);
        self.records(ExtPart::CoreRelo, section, 16, words);
    }

    /// Types of a section's functions: instruction, FUNC.
    pub fn func_infos(&mut self, section: &str, records: &[(u32, TypeId)]) {
        let words = records.iter().flat_map(|(insn, ty)| [8 * insn, ty.0]);
        self.records(ExtPart::FuncInfo, section, 8, words);
    }

    /// Lines of a section: instruction, line.
    pub fn lines(&mut self, section: &str, records: &[(u32, u32)]) {
        let (file, text) = (self.types.string("made.bpf.c"), self.types.string("return 0;"));
        let words = records.iter().flat_map(|(insn, line)| [8 * insn, file.0, text.0, line << 10]);
        self.records(ExtPart::LineInfo, section, 16, words);
    }

    fn records(&mut self, part: ExtPart, section: &str, size: u32, words: impl Iterator<Item = u32>) {
        let name = self.types.string(section);
        let mut bytes = Vec::new();
        words.for_each(|word| ENDIAN.put_u32(&mut bytes, word));
        self.ext.group(part, name, size, &bytes);
    }

    /// The FUNC of `int f(void)`.
    pub fn func_type(&mut self, name: &str, linkage: u8) -> TypeId {
        let proto = self.types.func_proto(self.int, &[]);
        self.types.func(name, proto, linkage)
    }

    /// The finished file.
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
