//! Rules of linking, and objects that no compiler writes. The integration tests compare the output with
//! libbpf's.
#![expect(clippy::arithmetic_side_effects, reason = "offsets in objects that the tests built")]

mod relocations;

use super::{Linker, SectionError, StaticLinkError, SymbolError, TypeError, TypeMismatch};
use crate::{
    elf::Elf,
    object::{Object, ObjectError, SymbolLocation, symbols::object_endian},
};
use core_relo::{
    Endian, TypeId,
    btf::Builder,
    ext::{ExtBuilder, ExtPart},
};
use object::{
    Architecture, BinaryFormat, SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf as e,
    write::{self, Relocation, SymbolSection},
};

const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];
const EXIT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];

/// An object under construction.
struct ObjectBuilder {
    elf: write::Object<'static>,
    types: Builder,
}

impl ObjectBuilder {
    fn new(endian: Endian) -> Self {
        let elf = write::Object::new(BinaryFormat::Elf, Architecture::Bpf, object_endian(endian));
        Self { elf, types: Builder::new(endian) }
    }

    fn section(&mut self, name: &str, kind: SectionKind, bytes: &[u8]) -> write::SectionId {
        let id = self.elf.add_section(Vec::new(), name.into(), kind);
        self.elf.append_section_data(id, bytes, 8);
        id
    }

    fn code(&mut self, name: &str, slots: usize) -> write::SectionId {
        self.section(name, SectionKind::Text, &EXIT.repeat(slots))
    }

    /// Adds a symbol with this `st_info` and `st_other`.
    fn symbol(
        &mut self,
        name: &str,
        section: Option<write::SectionId>,
        info: u8,
        other: u8,
    ) -> write::SymbolId {
        let flags = SymbolFlags::Elf { st_info: e::SymbolInfo(info), st_other: e::SymbolOther(other) };
        self.elf.add_symbol(write::Symbol {
            name: name.into(),
            value: 0,
            size: if info == GLOBAL_FUNC { 8 } else { 0 },
            kind: SymbolKind::Unknown,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: section.map_or(SymbolSection::Undefined, SymbolSection::Section),
            flags,
        })
    }

    /// Adds a global function, which is an extern without a section, and its type.
    fn function(&mut self, name: &str, section: Option<write::SectionId>, other: u8) -> write::SymbolId {
        let proto = self.types.func_proto(TypeId::VOID, &[]);
        let (linkage, info) = if section.is_some() { (1, GLOBAL_FUNC) } else { (2, GLOBAL) };
        self.types.func(name, proto, linkage);
        self.symbol(name, section, info, other)
    }

    fn reloc(&mut self, section: write::SectionId, offset: u64, symbol: write::SymbolId, number: u32) {
        let flags = object::RelocationFlags::Elf { r_type: e::RelocationType(number) };
        self.elf.add_relocation(section, Relocation { offset, symbol, addend: 0, flags }).unwrap();
    }

    fn bytes(mut self) -> Vec<u8> {
        let types = self.types.finish();
        self.section(".BTF", SectionKind::Other, &types);
        self.elf.write().unwrap()
    }
}

const GLOBAL: u8 = 0x10;
const GLOBAL_FUNC: u8 = 0x12;
const WEAK_OBJECT: u8 = 0x21;
const WEAK_FUNC: u8 = 0x22;
const LOCAL_SECTION: u8 = 0x03;

fn link(files: &[&[u8]]) -> Result<Vec<u8>, StaticLinkError> {
    let names = ["a.o", "b.o", "c.o"];
    files.iter().zip(names).try_fold(Linker::new(), |linker, (bytes, name)| linker.add(name, bytes))?.finish()
}

/// Overwrites a word of a section's header at an offset in bytes.
fn set_header(bytes: &mut Vec<u8>, section: &str, offset: usize, value: u64) {
    let elf = Elf::parse(bytes).unwrap();
    let (endian, headers) = (elf.endian, elf.endian.u64(bytes, 40).unwrap());
    let index = elf.section(section.as_bytes()).unwrap().index;
    let start = usize::try_from(headers + 64 * u64::from(index.0)).unwrap() + offset;
    let mut word = Vec::new();
    endian.put_u64(&mut word, value);
    bytes.splice(start..start + 8, word);
}

#[test]
fn an_extern_is_resolved_in_any_order_of_files() {
    for endian in ORDERS {
        let mut m = ObjectBuilder::new(endian);
        let text = m.code("raw_tp/a", 2);
        let function = m.function("callee", None, 0);
        m.reloc(text, 8, function, 10);
        let caller = m.bytes();
        let mut m = ObjectBuilder::new(endian);
        let text = m.code(".text", 3);
        m.function("callee", Some(text), 0);
        let callee = m.bytes();
        for files in [[&*caller, &*callee], [&*callee, &*caller]] {
            let linked = link(&files).unwrap();
            let o = Object::parse(&linked).unwrap();
            assert_eq!(o.externs(), []);
            let symbols: Vec<_> = o.symbols().filter(|s| s.name == b"callee").collect();
            let [symbol] = &*symbols else { panic!("{symbols:?}") };
            let text = o.sections().iter().find(|s| s.name == b".text").unwrap();
            assert_eq!(symbol.location, SymbolLocation::Section(text.index));
            let reloc = o.elf_relocs().next().unwrap().unwrap();
            assert_eq!((reloc.offset, reloc.symbol.index), (8, symbol.index));
        }
    }
}

#[test]
fn concatenated_sections_are_aligned_and_calls_through_section_symbols_are_adjusted() {
    for endian in ORDERS {
        let object = |slots: usize| {
            let mut m = ObjectBuilder::new(endian);
            let call = [0x85, 0x10, 0, 0];
            let mut code = Vec::from(call);
            endian.put_u32(&mut code, 1);
            code.extend_from_slice(&EXIT.repeat(slots));
            let text = m.section(".text", SectionKind::Text, &code);
            let section = m.symbol("", Some(text), LOCAL_SECTION, 0);
            m.reloc(text, 0, section, 10);
            let data = m.elf.add_section(Vec::new(), ".data".into(), SectionKind::Data);
            m.elf.append_section_data(data, &[7; 5], 16);
            m.bytes()
        };
        let linked = link(&[&object(2), &object(4)]).unwrap();
        let o = Object::parse(&linked).unwrap();
        let [text] = o.code_sections() else { panic!("{:?}", o.code_sections()) };
        assert_eq!(text.code.len(), 64);
        let imm = |at| endian.u32(text.code, at).unwrap();
        // Three instructions precede the instructions of the second object.
        assert_eq!((imm(4), imm(28)), (1, 4));
        let data = o.sections().iter().find(|s| s.name == b".data").unwrap();
        assert_eq!((data.size, data.align), (21, 16));
        assert_eq!(data.data, [&[7; 5][..], &[0; 11], &[7; 5]].concat());
    }
}

#[test]
fn the_stricter_visibility_counts_also_that_of_an_extern() {
    let object = |defined: bool, other| {
        let mut m = ObjectBuilder::new(Endian::Little);
        let text = m.code(".text", 1);
        m.function("f", defined.then_some(text), other);
        m.bytes()
    };
    let hidden = |files: &[&[u8]]| {
        let linked = link(files).unwrap();
        Object::parse(&linked).unwrap().symbols().any(|s| s.name == b"f" && s.is_hidden)
    };
    assert!(!hidden(&[&object(true, 0), &object(false, 0)]));
    assert!(hidden(&[&object(true, 0), &object(false, 2)]));
    assert!(hidden(&[&object(false, 2), &object(true, 0)]));
    let internal = link(&[&object(true, 1)]);
    assert_eq!(
        internal.unwrap_err().to_string(),
        "a.o: symbol `f`: visibility 1, expected default or hidden"
    );
}

#[test]
fn the_error_for_two_strong_definitions_names_both_files() {
    let object = || {
        let mut m = ObjectBuilder::new(Endian::Big);
        let text = m.code(".text", 1);
        m.function("f", Some(text), 0);
        m.bytes()
    };
    let cause = SymbolError::Conflict { other: "a.o".into() };
    assert_eq!(
        link(&[&object(), &object()]),
        Err(StaticLinkError::Symbol { file: "b.o".into(), symbol: "f".into(), cause })
    );
}

#[test]
fn a_global_symbol_without_btf_is_refused() {
    let mut m = ObjectBuilder::new(Endian::Little);
    let text = m.code(".text", 1);
    m.symbol("f", Some(text), GLOBAL_FUNC, 0);
    let Err(StaticLinkError::Symbol { cause, .. }) = link(&[&m.bytes()]) else { panic!() };
    assert_eq!(cause, SymbolError::NoBtf { is_extern: false });
}

#[test]
fn files_of_different_byte_orders_are_refused() {
    let object = |endian| ObjectBuilder::new(endian).bytes();
    let error = link(&[&object(Endian::Big), &object(Endian::Little)]);
    assert_eq!(error, Err(StaticLinkError::ByteOrder { file: "b.o".into(), expected: Endian::Big }));
}

#[test]
fn a_common_symbol_is_refused_with_the_compilers_option() {
    let mut m = ObjectBuilder::new(Endian::Little);
    m.code(".text", 1);
    m.elf.add_symbol(write::Symbol {
        name: "counter".into(),
        value: 8,
        size: 8,
        kind: SymbolKind::Data,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Common,
        flags: SymbolFlags::None,
    });
    let error = link(&[&m.bytes()]).unwrap_err();
    assert!(matches!(error, StaticLinkError::Symbol { cause: SymbolError::Common, .. }), "{error}");
    assert!(error.to_string().ends_with("(a common symbol): compile with -fno-common"), "{error}");
}

#[test]
fn alignment_and_size_are_limited() {
    let object = || {
        let mut m = ObjectBuilder::new(Endian::Little);
        m.section(".data", SectionKind::Data, &[1; 8]);
        m.bytes()
    };
    let (plain, mut aligned, mut odd) = (object(), object(), object());
    set_header(&mut aligned, ".data", 48, 1 << 40);
    set_header(&mut odd, ".data", 48, 24);
    let fault = |files: &[&[u8]]| match link(files) {
        Err(StaticLinkError::Section { cause, .. }) => cause,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        link(&[&aligned]),
        Err(StaticLinkError::Alignment { section: ".data".into(), align: 1 << 40 })
    );
    assert_eq!(fault(&[&plain, &aligned]), SectionError::TooLarge);
    assert_eq!(fault(&[&odd]), SectionError::Alignment { found: 24 });
    let mut m = ObjectBuilder::new(Endian::Little);
    let bss = m.elf.add_section(Vec::new(), ".bss".into(), SectionKind::UninitializedData);
    m.elf.append_section_bss(bss, 64, 8);
    let mut bss = m.bytes();
    set_header(&mut bss, ".bss", 32, u64::MAX);
    assert_eq!(fault(&[&bss]), SectionError::TooLarge);
}

#[test]
fn sections_that_share_their_bytes_are_refused() {
    let mut m = ObjectBuilder::new(Endian::Little);
    m.section(".data.a", SectionKind::Data, &[1; 4096]);
    m.section(".data.b", SectionKind::Data, &[2; 8]);
    let mut bytes = m.bytes();
    let offset = Elf::parse(&bytes).unwrap().section(b".data.a").unwrap().offset;
    set_header(&mut bytes, ".data.b", 24, offset);
    set_header(&mut bytes, ".data.b", 32, 4096);
    let Err(StaticLinkError::Section { cause, .. }) = link(&[&bytes]) else { panic!() };
    assert_eq!(cause, SectionError::Overlap);
}

#[test]
fn overlapping_symbol_names_are_limited() {
    let mut m = ObjectBuilder::new(Endian::Little);
    let text = m.code(".text", 1);
    let name = "n".repeat(4000);
    for at in 0..name.len() {
        m.symbol(name.get(at..).unwrap(), Some(text), 0, 0);
    }
    assert!(matches!(link(&[&m.bytes()]), Err(StaticLinkError::TooManyNames { .. })));
}

#[test]
fn the_error_for_a_file_that_is_not_an_object_names_the_file() {
    let cause = ObjectError::Elf(crate::object::ElfError::NotElf);
    assert_eq!(link(&[b"#!/bin/sh"]), Err(StaticLinkError::Object { file: "a.o".into(), cause }));
    assert_eq!(link(&[]), Err(StaticLinkError::NoObjects));
}

/// Returns an object with many weak functions that share the type made by `build`.
fn many_functions(build: impl Fn(&mut Builder) -> TypeId) -> Vec<u8> {
    let mut m = ObjectBuilder::new(Endian::Little);
    let text = m.code(".text", 1);
    let proto = build(&mut m.types);
    for number in 0..1000 {
        let name = format!("f{number}");
        m.types.func(&name, proto, 1);
        m.symbol(&name, Some(text), WEAK_FUNC, 0);
    }
    m.bytes()
}

#[test]
fn comparing_shared_types_is_limited() {
    let too_many = |object: &[u8]| {
        let error = link(&[object, object]).unwrap_err();
        let cause = SymbolError::Types { other: "a.o".into(), cause: TypeMismatch::TooManySteps };
        assert!(matches!(&error, StaticLinkError::Symbol { cause: found, .. } if *found == cause), "{error}");
    };
    // Many parameters.
    too_many(&many_functions(|types| {
        let int = types.int("int", 4, 0);
        types.func_proto(int, &vec![("", int); 60_000])
    }));
    // Long names.
    too_many(&many_functions(|types| {
        let structure = types.structure(&"s".repeat(60_000), 0, &[]);
        let pointer = types.pointer(structure);
        types.func_proto(TypeId::VOID, &vec![("", pointer); 1000])
    }));
    // Chains of typedefs.
    too_many(&many_functions(|types| {
        let mut ty = types.int("int", 4, 0);
        for _ in 0..200 {
            ty = types.typedef("again", ty);
        }
        types.func_proto(TypeId::VOID, &vec![("", ty); 1000])
    }));
}

/// Otherwise each comparison of two maps would parse the whole definition.
#[test]
fn a_definition_that_many_maps_share_is_parsed_once() {
    let mut m = ObjectBuilder::new(Endian::Little);
    let maps = m.section(".maps", SectionKind::Data, &[0; 8]);
    let int = m.types.int("int", 4, 0);
    let array = m.types.array(int, int, 2);
    let number = m.types.pointer(array);
    let members: Vec<_> = (0..60_000).map(|_| ("type", number, 0)).collect();
    let definition = m.types.structure("", 8, &members);
    let variables: Vec<_> = (0..2000)
        .map(|number| {
            let name = format!("map{number}");
            m.symbol(&name, Some(maps), WEAK_OBJECT, 0);
            (m.types.var(&name, definition, 1), 0, 8)
        })
        .collect();
    m.types.datasec(".maps", 8, &variables);
    let object = m.bytes();
    let linked = link(&[&object, &object]).unwrap();
    assert!(linked.len() < 2 * object.len());
}

#[test]
fn overlapping_section_names_are_limited() {
    let mut m = ObjectBuilder::new(Endian::Little);
    m.types.datasec("n".repeat(5000), 0, &[]);
    let long = link(&[&m.bytes()]);
    let Err(StaticLinkError::Types { cause: TypeError::LongName { id }, .. }) = long else {
        panic!("{long:?}")
    };
    assert_eq!(id, TypeId(1));
    let mut types = Builder::new(Endian::Little);
    types.datasec("n".repeat(4000), 0, &[]);
    for _ in 1..4000 {
        types.datasec("", 0, &[]);
    }
    let mut types = types.finish();
    // Each name begins one byte after the previous name.
    for number in 0..4000u32 {
        let at = usize::try_from(24 + 12 * number).unwrap();
        types.splice(at..at + 4, Endian::Little.u32_bytes(number + 1));
    }
    let mut m = ObjectBuilder::new(Endian::Little);
    m.section(".BTF", SectionKind::Other, &types);
    assert!(matches!(link(&[&m.elf.write().unwrap()]), Err(StaticLinkError::TooManySectionNames { .. })));
}

#[test]
fn the_variables_of_a_section_are_limited() {
    let object = |count: u32| {
        let mut m = ObjectBuilder::new(Endian::Little);
        m.section(".data", SectionKind::Data, &vec![0; usize::try_from(count).unwrap()]);
        let byte = m.types.int("byte", 1, 0);
        let variable = |n: u32| (m.types.var(&format!("v{n}"), byte, 0), n, 1);
        let variables: Vec<_> = (0..count).map(variable).collect();
        m.types.datasec(".data", count, &variables);
        m.bytes()
    };
    let (large, small) = (object(40_000), object(25_535));
    assert!(link(&[&large, &small]).is_ok());
    let section = ".data".into();
    assert_eq!(link(&[&large, &large]), Err(StaticLinkError::TooManyVariables { section, count: 80_000 }));
}

/// The sum of the offset in the input and the section's offset in the output would exceed 32 bits.
#[test]
fn offsets_beyond_every_section_are_refused() {
    let with_variable = |offset| {
        let mut m = ObjectBuilder::new(Endian::Little);
        m.section(".data", SectionKind::Data, &[0; 8]);
        let int = m.types.int("int", 4, 0);
        let variable = m.types.var("v", int, 0);
        m.types.datasec(".data", 8, &[(variable, offset, 4)]);
        m.bytes()
    };
    let cause = TypeError::VariableOffset { id: TypeId(2), offset: u32::MAX };
    let error = link(&[&with_variable(0), &with_variable(u32::MAX)]);
    assert_eq!(error, Err(StaticLinkError::Types { file: "b.o".into(), cause }));
    let with_record = |offset| {
        let mut m = ObjectBuilder::new(Endian::Little);
        m.code(".text", 1);
        let proto = m.types.func_proto(TypeId::VOID, &[]);
        let section = m.types.string(".text");
        let mut record = Vec::new();
        Endian::Little.put_u32(&mut record, offset);
        Endian::Little.put_u32(&mut record, proto.0);
        let mut ext = ExtBuilder::new(Endian::Little);
        ext.group(ExtPart::FuncInfo, section, 8, &record);
        m.section(".BTF.ext", SectionKind::Other, &ext.finish());
        m.bytes()
    };
    let cause = SectionError::RecordOffset { offset: u32::MAX };
    let error = link(&[&with_record(0), &with_record(u32::MAX)]);
    assert_eq!(error, Err(StaticLinkError::Section { file: "b.o".into(), section: ".text".into(), cause }));
}
