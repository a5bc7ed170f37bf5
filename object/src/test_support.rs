//! Builders of objects and kernels, for the tests of this crate and the loader.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    clippy::new_without_default,
    clippy::return_self_not_must_use,
    clippy::exhaustive_structs,
    reason = "test code may panic"
)]

use crate::{
    globals::{Global, check_size},
    load_plan::{InitialValues, LoadPlan, LoadPlanError, Settings, TargetKernel},
    object::Object,
    target::KernelBtf,
};
use alloc::sync::Arc;
use core::ops::{Deref, DerefMut};
use core_relo::{
    Endian, TypeId,
    btf::{Btf, Builder},
    ext::{ExtBuilder, ExtPart},
    insn::{Insn, LD_IMM64},
};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SymbolFlags, SymbolScope,
    elf::RelocationType,
    write::{self, Relocation, SectionId, SymbolId, SymbolSection},
};
pub use object::{SectionKind, SymbolKind};

/// A builder of objects in the host's byte order.
#[derive(Debug)]
pub struct TestObject {
    elf: write::Object<'static>,
    /// The BTF of the object.
    pub types: Builder,
    pub int: TypeId,
    ext: ExtBuilder,
    /// The variables in `.maps`: type, offset, size.
    maps: Vec<(TypeId, u32, u32)>,
    maps_section: Option<SectionId>,
    has_types: bool,
    /// The bytes of the section `license`, at first those of `GPL`.
    pub license: Option<&'static [u8]>,
}

pub fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { code, dst, src, off, imm }
}

/// Returns `r0 = n; exit`.
pub fn returns(n: i32) -> [Insn; 2] {
    [insn(0xb7, 0, 0, 0, n), exit()]
}

pub fn exit() -> Insn {
    insn(0x95, 0, 0, 0, 0)
}

/// Returns a call of a subprogram. `imm` is the distance, or the addend of a relocation.
pub fn call(imm: i32) -> Insn {
    insn(0x85, 0, 1, 0, imm)
}

/// Returns a 64-bit load, the target of a relocation.
pub fn load(dst: u8, imm: i32) -> [Insn; 2] {
    [insn(LD_IMM64, dst, 0, 0, imm), Insn::default()]
}

impl TestObject {
    pub fn new() -> Self {
        let order = if Endian::native() == Endian::Little { Endianness::Little } else { Endianness::Big };
        let mut types = Builder::new(Endian::native());
        let int = types.int("int", 4, Builder::SIGNED);
        Self {
            elf: write::Object::new(BinaryFormat::Elf, Architecture::Bpf, order),
            types,
            int,
            ext: ExtBuilder::new(Endian::native()),
            maps: Vec::new(),
            maps_section: None,
            has_types: true,
            license: Some(b"GPL\0"),
        }
    }

    /// Leaves `.BTF` and `.BTF.ext` out.
    pub fn without_types(mut self) -> Self {
        self.has_types = false;
        self
    }

    pub fn code(&mut self, name: &str, insns: &[Insn]) -> SectionId {
        let bytes: Vec<u8> = insns.iter().flat_map(|i| i.encode(Endian::native())).collect();
        self.section(name, SectionKind::Text, &bytes)
    }

    pub fn section(&mut self, name: &str, kind: SectionKind, bytes: &[u8]) -> SectionId {
        let id = self.elf.add_section(Vec::new(), name.into(), kind);
        self.elf.append_section_data(id, bytes, 8);
        id
    }

    pub fn bss(&mut self, name: &str, size: u64) -> SectionId {
        let id = self.elf.add_section(Vec::new(), name.into(), SectionKind::UninitializedData);
        self.elf.append_section_bss(id, size, 8);
        id
    }

    /// Adds a global symbol; `value` and `size` are in bytes.
    pub fn symbol(
        &mut self,
        name: &str,
        kind: SymbolKind,
        section: SectionId,
        value: u64,
        size: u64,
    ) -> SymbolId {
        self.elf.add_symbol(write::Symbol {
            name: name.into(),
            value,
            size,
            kind,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        })
    }

    /// Adds a global function; `start` and `len` are in instructions.
    pub fn function(&mut self, name: &str, section: SectionId, start: u64, len: u64) -> SymbolId {
        self.symbol(name, SymbolKind::Text, section, start * 8, len * 8)
    }

    /// Adds a static function; `start` and `len` are in instructions.
    pub fn static_function(&mut self, name: &str, section: SectionId, start: u64, len: u64) {
        let symbol = self.function(name, section, start, len);
        self.set_scope(symbol, SymbolScope::Compilation);
    }

    /// Adds a section with one global function.
    pub fn program(&mut self, name: &str, section: &str, insns: &[Insn]) -> SectionId {
        let id = self.code(section, insns);
        self.function(name, id, 0, u64::try_from(insns.len()).unwrap());
        id
    }

    pub fn set_scope(&mut self, symbol: SymbolId, scope: SymbolScope) {
        self.elf.symbol_mut(symbol).scope = scope;
    }

    /// Adds an undefined symbol.
    pub fn undefined(&mut self, name: &str, weak: bool) -> SymbolId {
        self.elf.add_symbol(write::Symbol {
            name: name.into(),
            value: 0,
            size: 0,
            kind: SymbolKind::Unknown,
            scope: SymbolScope::Unknown,
            weak,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        })
    }

    pub fn section_symbol(&mut self, section: SectionId) -> SymbolId {
        self.elf.section_symbol(section)
    }

    /// Adds a relocation of a call or a 64-bit load; `insn` is the index of the instruction.
    pub fn refer(&mut self, section: SectionId, insn: u64, symbol: SymbolId, is_call: bool) {
        self.reloc(section, insn * 8, symbol, if is_call { 10 } else { 1 });
    }

    pub fn reloc(&mut self, section: SectionId, offset: u64, symbol: SymbolId, number: u32) {
        let flags = RelocationFlags::Elf { r_type: RelocationType(number) };
        self.elf.add_relocation(section, Relocation { offset, symbol, addend: 0, flags }).unwrap();
    }

    /// Returns the type that encodes a number in a map definition: a pointer to an array of `n` elements.
    pub fn number(&mut self, n: u32) -> TypeId {
        let array = self.types.array(self.int, self.int, n);
        self.types.pointer(array)
    }

    /// Adds a map definition with these numbers. `values` is the element type of a program array or map of
    /// maps with one element.
    pub fn map(
        &mut self,
        name: &str,
        numbers: &[(&str, u32)],
        values: Option<TypeId>,
    ) -> (SectionId, SymbolId) {
        self.define(name, numbers, &[], values, 1)
    }

    /// Adds a map definition with these numbers and the types of keys and values.
    pub fn typed_map(
        &mut self,
        name: &str,
        numbers: &[(&str, u32)],
        key: TypeId,
        value: TypeId,
    ) -> (SectionId, SymbolId) {
        self.define(name, numbers, &[("key", key), ("value", value)], None, 1)
    }

    /// Adds a static map definition.
    pub fn static_map(&mut self, name: &str, numbers: &[(&str, u32)]) -> (SectionId, SymbolId) {
        let (section, symbol) = self.define(name, numbers, &[], None, 0);
        self.set_scope(symbol, SymbolScope::Compilation);
        (section, symbol)
    }

    fn define(
        &mut self,
        name: &str,
        numbers: &[(&str, u32)],
        types: &[(&str, TypeId)],
        values: Option<TypeId>,
        linkage: u32,
    ) -> (SectionId, SymbolId) {
        let mut members: Vec<(&str, TypeId, u32)> = Vec::new();
        let mut bits = 0;
        for (field, n) in numbers {
            let ty = self.number(*n);
            members.push((field, ty, bits));
            bits += 64;
        }
        for (field, ty) in types {
            members.push((field, self.types.pointer(*ty), bits));
            bits += 64;
        }
        let mut size = bits / 8;
        if let Some(element) = values {
            let pointer = self.types.pointer(element);
            let array = self.types.array(pointer, self.int, 0);
            members.push(("values", array, bits));
            size += 8;
        }
        let ty = self.types.structure("", bits / 8, &members);
        self.map_of_type(name, ty, size, linkage)
    }

    /// Adds a map definition of a type, with `size` bytes in `.maps`.
    pub fn map_of_type(&mut self, name: &str, ty: TypeId, size: u32, linkage: u32) -> (SectionId, SymbolId) {
        let var = self.types.var(name, ty, linkage);
        let section = match self.maps_section {
            Some(known) => known,
            None => {
                *self.maps_section.insert(self.elf.add_section(Vec::new(), ".maps".into(), SectionKind::Data))
            }
        };
        let offset = self.elf.append_section_data(section, &vec![0; usize::try_from(size).unwrap()], 8);
        self.maps.push((var, u32::try_from(offset).unwrap(), size));
        let symbol = self.symbol(name, SymbolKind::Data, section, offset, size.into());
        (section, symbol)
    }

    /// Adds `func_info` records: index of the instruction in the section, type.
    pub fn func_info(&mut self, section: &str, records: &[(u32, TypeId)]) {
        let name = self.types.string(section);
        let mut bytes = Vec::new();
        for (insn, ty) in records {
            Endian::native().put_u32(&mut bytes, insn * 8);
            Endian::native().put_u32(&mut bytes, ty.0);
        }
        self.ext.group(ExtPart::FuncInfo, name, 8, &bytes);
    }

    /// Adds records of a kind with any words.
    pub fn raw_records<const N: usize>(&mut self, part: ExtPart, section: &str, records: &[[u32; N]]) {
        let name = self.types.string(section);
        let mut bytes = Vec::new();
        for word in records.iter().flatten() {
            Endian::native().put_u32(&mut bytes, *word);
        }
        self.ext.group(part, name, u32::try_from(N * 4).unwrap(), &bytes);
    }

    /// Adds `line_info` records: index of the instruction in the section, line.
    pub fn line_info(&mut self, section: &str, records: &[(u32, u32)]) {
        let (name, file) = (self.types.string(section), self.types.string("made.bpf.c"));
        let mut bytes = Vec::new();
        for (insn, line) in records {
            for word in [insn * 8, file.0, 0, line << 10] {
                Endian::native().put_u32(&mut bytes, word);
            }
        }
        self.ext.group(ExtPart::LineInfo, name, 16, &bytes);
    }

    /// Adds CO-RE records: index of the instruction in the section, root type, access string, number of the
    /// kind.
    pub fn core_relo(&mut self, section: &str, records: &[(u32, TypeId, &str, u32)]) {
        let name = self.types.string(section);
        let mut bytes = Vec::new();
        for (insn, root, access, kind) in records {
            let access = self.types.string(access);
            for word in [insn * 8, root.0, access.0, *kind] {
                Endian::native().put_u32(&mut bytes, word);
            }
        }
        self.ext.group(ExtPart::CoreRelo, name, 16, &bytes);
    }

    /// Adds the type of `int f(void)`.
    pub fn func_type(&mut self, name: &str, linkage: u8) -> TypeId {
        let proto = self.types.func_proto(self.int, &[]);
        self.types.func(name, proto, linkage)
    }

    pub fn bytes(mut self) -> Vec<u8> {
        if !self.maps.is_empty() {
            let end = self.maps.iter().map(|(_, offset, size)| offset + size).max().unwrap();
            self.types.datasec(".maps", end, &self.maps);
        }
        if self.has_types {
            let (types, ext) = (self.types.finish(), self.ext.finish());
            self.section(".BTF", SectionKind::Other, &types);
            self.section(".BTF.ext", SectionKind::Other, &ext);
        }
        if let Some(license) = self.license {
            self.section("license", SectionKind::Data, license);
        }
        self.elf.write().unwrap()
    }

    /// Plans the object for a kernel with all features and no types.
    pub fn plan(self) -> Result<LoadPlan, LoadPlanError> {
        self.plan_on(kernel(|_| {}), |_| {})
    }

    pub fn plan_on(
        self,
        kernel: TargetKernel,
        set: impl FnOnce(&mut Setup<'_, '_>),
    ) -> Result<LoadPlan, LoadPlanError> {
        plan_bytes(&self.bytes(), &kernel, set)
    }

    /// Returns the error of planning the object, on one line.
    pub fn error(self) -> String {
        self.error_on(kernel(|_| {}))
    }

    pub fn error_on(self, kernel: TargetKernel) -> String {
        line(&self.plan_on(kernel, |_| {}).expect_err("planning fails"))
    }
}

/// Plans the load of an object.
pub fn plan_bytes(
    bytes: &[u8],
    kernel: &TargetKernel,
    set: impl FnOnce(&mut Setup<'_, '_>),
) -> Result<LoadPlan, LoadPlanError> {
    let object = Object::parse(bytes)?;
    let values = InitialValues::new(&object);
    let mut setup = Setup { object: &object, values: &values, settings: Settings::default() };
    set(&mut setup);
    LoadPlan::new(&object, &setup.settings, kernel)
}

/// An object and the settings of its load.
#[derive(Debug)]
pub struct Setup<'o, 'd> {
    pub object: &'o Object<'d>,
    pub values: &'o InitialValues<'o, 'd>,
    pub settings: Settings,
}

impl Setup<'_, '_> {
    /// Selects the programs to load.
    pub fn select_programs<'n>(&mut self, programs: impl IntoIterator<Item = &'n str>) {
        self.settings.select_programs(self.object, programs);
    }

    pub fn find_global(&self, name: &str) -> Result<Global, LoadPlanError> {
        self.values.find(&self.settings, name)
    }

    pub fn set_global(&mut self, name: &str, value: &[u8]) -> Result<(), LoadPlanError> {
        let global = self.find_global(name)?;
        check_size(self.object.btf(), &global, value.len())?;
        self.values.set_bytes(&mut self.settings, &global, value)
    }

    pub fn global(&self, name: &str) -> Result<Vec<u8>, LoadPlanError> {
        let global = self.find_global(name)?;
        let mut value = vec![0; global.size];
        self.values.read_bytes(&self.settings, &global, &mut value)?;
        Ok(value)
    }
}

impl Deref for Setup<'_, '_> {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.settings
    }
}

impl DerefMut for Setup<'_, '_> {
    fn deref_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }
}

/// Returns the message of an error, which must be one line.
pub fn line(error: &LoadPlanError) -> String {
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

/// Returns a kernel with all features and these types.
pub fn kernel(types: impl FnOnce(&mut Builder)) -> TargetKernel {
    let mut b = Builder::new(Endian::native());
    types(&mut b);
    let btf = Btf::parse(b.finish()).unwrap();
    TargetKernel::offline(Arc::new(KernelBtf::from_btf(Arc::new(btf), [])))
}

/// Returns a program's instructions.
pub fn insns(plan: &LoadPlan, name: &str) -> Vec<Insn> {
    let program = plan.programs().iter().find(|p| p.name() == name).expect("planned");
    program
        .insns()
        .chunks_exact(8)
        .map(|raw| Insn::decode(Endian::native(), *raw.first_chunk().unwrap()))
        .collect()
}

/// Returns the programs that a plan does not load, with the reasons.
pub fn skipped(plan: &LoadPlan) -> Vec<(&str, &str)> {
    plan.skipped().iter().map(|s| (s.program.as_str(), s.reason)).collect()
}

/// Decodes 32-bit numbers.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|raw| Endian::native().u32(raw, 0).unwrap()).collect()
}

/// Returns BTF with two types.
pub fn sample_types(endian: Endian) -> Vec<u8> {
    let mut b = Builder::new(endian);
    let long = b.int("long", 8, Builder::SIGNED);
    b.structure("pair", 16, &[("a", long, 0), ("b", long, 64)]);
    b.finish()
}

/// Returns an ELF file with these sections.
pub fn elf_file(arch: Architecture, order: Endianness, sections: &[(&str, SectionKind, &[u8])]) -> Vec<u8> {
    let mut file = write::Object::new(BinaryFormat::Elf, arch, order);
    for (name, kind, bytes) in sections {
        let id = file.add_section(Vec::new(), (*name).into(), *kind);
        file.append_section_data(id, bytes, 4);
    }
    file.write().unwrap()
}
