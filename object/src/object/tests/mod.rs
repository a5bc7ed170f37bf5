//! Tests of valid and damaged objects, written by the `object` crate.
#![expect(clippy::arithmetic_side_effects, reason = "offsets within bytes that the tests wrote")]

mod rewrite;

use super::*;
use core_relo::{TypeId, btf::Builder};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind as K, SymbolScope, elf as e,
    write::{self, Relocation, SymbolSection},
};

/// A builder of objects.
struct ObjectWriter(write::Object<'static>);

impl ObjectWriter {
    fn new(endian: Endian) -> Self {
        let order = symbols::object_endian(endian);
        Self(write::Object::new(BinaryFormat::Elf, Architecture::Bpf, order))
    }

    fn section(&mut self, name: &str, kind: SectionKind, bytes: &[u8]) -> write::SectionId {
        let id = self.0.add_section(Vec::new(), name.into(), kind);
        self.0.append_section_data(id, bytes, 8);
        id
    }

    fn symbol(
        &mut self,
        name: &str,
        at: Option<write::SectionId>,
        value: u64,
        size: u64,
        kind: K,
    ) -> write::SymbolId {
        self.0.add_symbol(write::Symbol {
            name: name.into(),
            value,
            size,
            kind,
            scope: if kind == K::Unknown || at.is_none() {
                SymbolScope::Unknown
            } else {
                SymbolScope::Linkage
            },
            weak: false,
            section: at.map_or(SymbolSection::Undefined, SymbolSection::Section),
            flags: SymbolFlags::None,
        })
    }

    fn reloc(&mut self, at: write::SectionId, offset: u64, symbol: write::SymbolId, number: u32) {
        let flags = object::RelocationFlags::Elf { r_type: e::RelocationType(number) };
        self.0.add_relocation(at, Relocation { offset, symbol, addend: 0, flags }).unwrap();
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.write().unwrap()
    }
}

const KEEP: CoreRecords = CoreRecords::Keep;
const EXIT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];

fn code(slots: usize) -> Vec<u8> {
    EXIT.repeat(slots)
}

/// An object with one part of each kind.
fn sample(endian: Endian) -> Vec<u8> {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, Builder::SIGNED);
    let number = |b: &mut Builder, n| {
        let array = b.array(int, int, n);
        b.pointer(array)
    };
    let (hash, hundred, key) = (number(&mut b, 1), number(&mut b, 100), b.pointer(int));
    let def = b.structure(
        "",
        32,
        &[("type", hash, 0), ("max_entries", hundred, 64), ("key", key, 128), ("value", key, 192)],
    );
    let counts = b.var("counts", def, 1);
    b.datasec(".maps", 32, &[(counts, 0, 32)]);
    let config = b.var("CONFIG_HZ", int, 2);
    b.datasec(".kconfig", 4, &[(config, 0, 4)]);
    let proto = b.func_proto(TypeId::VOID, &[]);
    let kfunc = b.func("bpf_kfunc", proto, 2);
    b.datasec(".ksyms", 0, &[(kfunc, 0, 0)]);

    let mut m = ObjectWriter::new(endian);
    let text = m.section(".text", SectionKind::Text, &code(2));
    let entry = m.section("?kprobe/do_exit", SectionKind::Text, &code(5));
    m.section("license", SectionKind::Data, b"GPL\0");
    let mut version = Vec::new();
    endian.put_u32(&mut version, 0x0005_0a00);
    m.section("version", SectionKind::Data, &version);
    let maps = m.section(".maps", SectionKind::Data, &[0; 32]);
    m.section(".rodata.cst", SectionKind::ReadOnlyData, &[1, 2, 3, 4]);
    let bss = m.0.add_section(Vec::new(), ".bss".into(), SectionKind::UninitializedData);
    m.0.append_section_bss(bss, 64, 8);
    m.section(".BTF", SectionKind::Other, &b.finish());
    m.section(".BTF.ext", SectionKind::Other, empty_ext(endian));
    m.symbol("second", Some(entry), 32, 8, K::Text);
    m.symbol("first", Some(entry), 0, 32, K::Text);
    m.symbol("helper", Some(text), 0, 16, K::Text);
    let counts = m.symbol("counts", Some(maps), 0, 32, K::Data);
    m.symbol("CONFIG_HZ", None, 0, 0, K::Unknown);
    let kfunc = m.symbol("bpf_kfunc", None, 0, 0, K::Unknown);
    m.reloc(entry, 0, counts, 1);
    m.reloc(entry, 16, kfunc, 10);
    m.bytes()
}

#[test]
fn objects_are_parsed_in_both_byte_orders() {
    for endian in [Endian::Little, Endian::Big] {
        let bytes = sample(endian);
        let o = Object::parse(&bytes).unwrap();
        assert_eq!(o.endian(), endian);
        let programs: Vec<_> =
            o.programs().iter().map(|p| (p.name(), p.start().0, p.insn_count(), p.is_subprogram)).collect();
        let expected: [(&[u8], u32, u32, bool); 3] =
            [(b"helper", 0, 2, true), (b"first", 0, 4, false), (b"second", 4, 1, false)];
        assert_eq!(programs, expected);
        let first = o.programs()[1];
        assert_eq!((first.section, first.section_name()), (&b"?kprobe/do_exit"[..], &b"kprobe/do_exit"[..]));
        assert!(!first.autoload() && o.programs()[0].autoload());
        assert_eq!(first.sec_def().unwrap().program_type, ProgramType::Kprobe);
        assert_eq!(o.programs()[0].sec_def(), None);
        let sections: Vec<_> =
            o.code_sections().iter().map(|c| (c.name, c.code.len(), c.functions.len())).collect();
        let expected: [(&[u8], usize, usize); 2] = [(b".text", 16, 1), (b"?kprobe/do_exit", 40, 2)];
        assert_eq!(sections, expected);
        assert_eq!((o.license(), o.kernel_version()), (Some(&b"GPL"[..]), Some(0x0005_0a00)));

        let map = &o.maps()[0];
        let def = map.def.as_ref().unwrap();
        assert_eq!((map.name, def.known_type(), def.max_entries), (&b"counts"[..], Some(MapType::Hash), 100));
        assert_eq!((def.key_size, def.value_size, def.map_flags), (4, 4, 0));
        let data: Vec<_> =
            o.data_sections().iter().map(|d| (d.name, d.kind, d.size, d.bytes.len())).collect();
        let expected: [(&[u8], DataKind, u64, usize); 2] =
            [(b".rodata.cst", DataKind::Rodata, 4, 4), (b".bss", DataKind::Bss, 64, 0)];
        assert_eq!(data, expected);
        let externs: Vec<_> = o.externs().iter().map(|x| (x.name, x.kind, x.is_weak)).collect();
        let expected: [(&[u8], ExternKind, bool); 2] =
            [(b"CONFIG_HZ", ExternKind::Kconfig, false), (b"bpf_kfunc", ExternKind::Kfunc, false)];
        assert_eq!(externs, expected);
        let relocs: Vec<_> =
            o.elf_relocs().map(Result::unwrap).map(|r| (r.offset, r.kind, r.symbol.name)).collect();
        let expected: [(u64, RelocType, &[u8]); 2] =
            [(0, RelocType::Load64, b"counts"), (16, RelocType::Call32, b"bpf_kfunc")];
        assert_eq!(relocs, expected);
        assert_eq!(o.btf().unwrap().pointer_size(), core_relo::ByteSize(8));
        assert!(o.ext().is_some() && o.relocs().unwrap().records().is_empty());
    }
}

/// Section 0 has no bytes, but a file may give it the name of a section.
#[test]
fn section_0_is_not_the_license() {
    let header = header_offset(b"license", 0);
    let section_0 = header_offset(b"", 0);
    let mut bytes = sample(Endian::Little);
    let name = Endian::Little.u32(&bytes, header).unwrap();
    bytes[section_0..section_0 + 4].copy_from_slice(&Endian::Little.u32_bytes(name));
    assert_eq!(Object::parse(&bytes).unwrap().license(), Some(&b"GPL"[..]));
    // The other section is named `icense`.
    bytes[header..header + 4].copy_from_slice(&Endian::Little.u32_bytes(name + 1));
    let object = Object::parse(&bytes).unwrap();
    assert_eq!((object.sections()[0].name, object.license()), (&b"license"[..], None));
}

/// Returns the sample with bytes overwritten.
fn patched(at: usize, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    let mut bytes = sample(Endian::Little);
    bytes[at..at + value.len()].copy_from_slice(value);
    bytes
}

/// Encodes a 64-bit number in little-endian order.
fn word64(number: u64) -> Vec<u8> {
    let halves = [number & 0xffff_ffff, number >> 32].map(|half| u32::try_from(half).unwrap());
    halves.iter().flat_map(|half| Endian::Little.u32_bytes(*half)).collect()
}

/// Returns the offset in the sample of a field of a section's header.
fn header_offset(name: &[u8], field: usize) -> usize {
    let bytes = sample(Endian::Little);
    let index = Object::parse(&bytes).unwrap().sections().iter().find(|s| s.name == name).unwrap().index;
    let table = Endian::Little.u64(&bytes, 40).unwrap();
    usize::try_from(table).unwrap() + usize::try_from(index.0).unwrap() * 64 + field
}

fn error(bytes: &[u8]) -> ObjectError {
    Object::parse(bytes).unwrap_err()
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn files_that_are_not_bpf_objects_are_refused() {
    assert_eq!(error(b""), ObjectError::Elf(ElfError::NotElf));
    assert_eq!(error(b"\x7fELF\x02\x01\x01"), ObjectError::Elf(ElfError::Header { len: 7 }));
    assert_eq!(error(b"\x7fELF\x02"), ObjectError::Elf(ElfError::Header { len: 5 }));
    assert_eq!(error(&patched(4, [3])), ObjectError::Elf(ElfError::Class { found: 3 }));
    assert_eq!(error(&patched(5, [0])), ObjectError::Elf(ElfError::ByteOrder { found: 0 }));
    assert_eq!(error(&patched(6, [9])), ObjectError::Elf(ElfError::Version { found: 9 }));
    assert_eq!(error(&patched(18, [62, 0])), ObjectError::Machine { found: 62 });
    assert!(Object::parse(&patched(18, [0, 0])).is_ok(), "EM_NONE is old LLVM's");
    assert_eq!(error(&patched(16, [2, 0])), ObjectError::FileType { found: 2 });
    let i386 = write::Object::new(BinaryFormat::Elf, Architecture::I386, Endianness::Little).write().unwrap();
    assert_eq!(error(&i386), ObjectError::Elf32);
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn invalid_section_headers_are_errors() {
    let whole = sample(Endian::Little);
    let cut = whole.len() - 1;
    assert!(
        matches!(error(&whole[..cut]), ObjectError::Elf(ElfError::SectionHeaders { len, .. }) if len == cut)
    );
    let huge = patched(header_offset(b".rodata.cst", 32), word64(4 << 30));
    let ObjectError::Elf(ElfError::SectionBounds { section, size, .. }) = error(&huge) else { panic!() };
    assert_eq!((&*section, size), (".rodata.cst", 4 << 30));
    let name = patched(header_offset(b"license", 0), Endian::Little.u32_bytes(u32::MAX));
    assert!(matches!(error(&name), ObjectError::Elf(ElfError::SectionName { offset: u32::MAX, .. })));
    let names = patched(62, [0xee, 0]);
    assert_eq!(error(&names), ObjectError::Elf(ElfError::SectionNames { index: 0xee }));
    let odd = patched(header_offset(b".text", 32), word64(15));
    assert_eq!(error(&odd), ObjectError::CodeSize { section: ".text".into(), size: 15 });
    let compressed = patched(header_offset(b".text", 8), word64(0x806));
    assert_eq!(error(&compressed), ObjectError::Compressed { section: ".text".into() });
    let btf = patched(header_offset(b".BTF", 4), Endian::Little.u32_bytes(7));
    assert_eq!(error(&btf), ObjectError::SectionType { section: ".BTF".into(), found: 7, expected: 1 });
    let symbols = patched(header_offset(b".symtab", 4), Endian::Little.u32_bytes(1));
    assert_eq!(error(&symbols), ObjectError::NoSymbols);
    let twice = patched(header_offset(b".bss", 4), Endian::Little.u32_bytes(2));
    assert_eq!(error(&twice), ObjectError::SeveralSymbolTables);
    let symtab = patched(header_offset(b".symtab", 32), word64(25));
    assert!(matches!(error(&symtab), ObjectError::SymbolTable { .. }));
    let version = patched(header_offset(b"version", 32), word64(3));
    assert_eq!(error(&version), ObjectError::VersionSize { size: 3 });
    let relocs = patched(header_offset(b".rel?kprobe/do_exit", 56), word64(8));
    assert!(matches!(error(&relocs), ObjectError::RelocationSection { .. }));
}

#[test]
fn code_without_bytes_has_no_functions() {
    let bytes = patched(header_offset(b"?kprobe/do_exit", 4), Endian::Little.u32_bytes(8));
    let o = Object::parse(&bytes).unwrap();
    assert_eq!(o.programs().len(), 1);
    assert_eq!(o.code_sections().len(), 1);
}

/// Writes an object with one code section of four instructions and one function.
fn one_function<R>(
    value: u64,
    size: u64,
    change: impl FnOnce(&mut ObjectWriter, write::SectionId, write::SymbolId) -> R,
) -> Vec<u8> {
    let mut m = ObjectWriter::new(Endian::Little);
    let xdp = m.section("xdp", SectionKind::Text, &code(4));
    let f = m.symbol("f", Some(xdp), value, size, K::Text);
    change(&mut m, xdp, f);
    m.bytes()
}

#[test]
fn functions_are_runs_of_instructions_within_their_section() {
    assert!(Object::parse(&one_function(8, 24, |_, _, _| {})).is_ok());
    let (section, symbol): (Box<str>, Box<str>) = ("xdp".into(), "f".into());
    for (offset, size) in [(8, 32), (40, 8), (u64::MAX - 7, 8), (0, u64::MAX)] {
        let (section, symbol) = (section.clone(), symbol.clone());
        let expected = ObjectError::FunctionBounds {
            section: section.into(),
            symbol: symbol.into(),
            offset,
            size,
            available: 32,
        };
        assert_eq!(error(&one_function(offset, size, |_, _, _| {})), expected);
    }
    for (offset, size) in [(4, 8), (0, 12), (0, 0)] {
        let (section, symbol) = (section.clone(), symbol.clone());
        let expected =
            ObjectError::FunctionAlignment { section: section.into(), symbol: symbol.into(), offset, size };
        assert_eq!(error(&one_function(offset, size, |_, _, _| {})), expected);
    }
    let local = one_function(0, 32, |m, _, f| m.0.symbol_mut(f).scope = SymbolScope::Compilation);
    assert!(
        Object::parse(&local).is_ok(),
        "planning, not parsing, refuses a static function outside of .text"
    );
}

#[test]
fn relocations_are_of_known_types_and_fit() {
    let unknown = one_function(0, 32, |m, xdp, f| m.reloc(xdp, 8, f, 5));
    assert_eq!(error(&unknown), ObjectError::RelocationType { section: "xdp".into(), offset: 8, found: 5 });
    let past = one_function(0, 32, |m, xdp, f| m.reloc(xdp, 24, f, 1));
    let expected =
        ObjectError::RelocationBounds { section: "xdp".into(), offset: 24, size: 32, name: "R_BPF_64_64" };
    assert_eq!(error(&past), expected);
    for number in 0..300 {
        assert_eq!(RelocType::from_number(number).map(RelocType::number), {
            matches!(number, 0..=4 | 10..=12).then_some(number)
        });
    }
    let mut bytes = one_function(0, 32, |m, xdp, f| m.reloc(xdp, 8, f, 10));
    let record: Vec<u8> = [8, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0].to_vec();
    let at = bytes.windows(12).position(|w| w == record).unwrap();
    bytes[at + 12..at + 16].copy_from_slice(&Endian::Little.u32_bytes(99));
    assert_eq!(error(&bytes), ObjectError::RelocationSymbol { section: "xdp".into(), offset: 8, symbol: 99 });
}

/// Protects objects of LLVM before 13: `values` of maps that are the last eight bytes of `.maps`.
#[test]
fn relocations_of_data_take_one_word() {
    let with_data = |offset, number| {
        let mut m = ObjectWriter::new(Endian::Little);
        let maps = m.section(".maps", SectionKind::Data, &[0; 16]);
        let inner = m.symbol("inner", Some(maps), 0, 8, K::Data);
        m.reloc(maps, offset, inner, number);
        m.bytes()
    };
    for number in [1, 2, 12] {
        assert!(Object::parse(&with_data(8, number)).is_ok(), "type {number}");
        assert!(matches!(error(&with_data(9, number)), ObjectError::RelocationBounds { offset: 9, .. }));
    }
}

#[test]
fn btf_ext_needs_btf() {
    let bytes = one_function(0, 32, |_, _, _| {});
    let o = Object::parse(&bytes).unwrap();
    assert!(o.btf().is_none() && o.ext().is_none());
    assert_eq!(o.relocs().unwrap_err(), ObjectError::NoBtf);
    assert_eq!(o.relocs_or_none().unwrap().records().len(), 0);

    let ext = |m: &mut ObjectWriter| m.section(".BTF.ext", SectionKind::Other, empty_ext(Endian::Little));
    let btf = |m: &mut ObjectWriter, e| m.section(".BTF", SectionKind::Other, &Builder::new(e).finish());
    let alone = one_function(0, 32, |m, _, _| ext(m));
    assert_eq!(error(&alone), ObjectError::ExtWithoutBtf);
    let foreign = one_function(0, 32, |m, _, _| btf(m, Endian::Big));
    assert_eq!(error(&foreign), ObjectError::BtfEndian);
    let twice = one_function(0, 32, |m, _, _| (btf(m, Endian::Little), btf(m, Endian::Little)));
    assert_eq!(error(&twice), ObjectError::Duplicate { section: ".BTF".into() });
    let broken = one_function(0, 32, |m, _, _| m.section(".BTF", SectionKind::Other, b"no"));
    assert!(matches!(error(&broken), ObjectError::Btf(_)));
    let broken = one_function(0, 32, |m, _, _| {
        btf(m, Endian::Little);
        m.section(".BTF.ext", SectionKind::Other, b"no");
    });
    assert!(matches!(error(&broken), ObjectError::Ext(_)));
    let without_ext = one_function(0, 32, |m, _, _| btf(m, Endian::Little));
    assert!(Object::parse(&without_ext).unwrap().relocs().unwrap().records().is_empty());
}

#[test]
fn legacy_maps_are_recognised_by_their_symbols() {
    let words: Vec<u8> = [2u32, 4, 8, 16, 1].iter().flat_map(|w| Endian::Little.u32_bytes(*w)).collect();
    let bytes = one_function(0, 32, |m, _, _| {
        let maps = m.section("maps", SectionKind::Data, &words);
        m.symbol("old", Some(maps), 0, 20, K::Data);
        m.symbol("short", Some(maps), 8, 12, K::Data);
    });
    let o = Object::parse(&bytes).unwrap();
    let def = o.maps()[0].def.clone().unwrap();
    assert!(o.maps()[0].is_legacy);
    assert_eq!((def.known_type(), def.key_size, def.value_size), (Some(MapType::Array), 4, 8));
    assert_eq!((def.max_entries, def.map_flags), (16, 1));
    assert_eq!(o.maps()[1].def, Err(MapParseError::Legacy { offset: 8, size: 12 }));
}

#[test]
fn legacy_maps_say_in_their_seventh_word_whether_they_are_pinned() {
    let with_words = |section: &str, id, pinning| {
        let words = [2u32, 4, 8, 16, 0, id, pinning];
        let words: Vec<u8> = words.iter().flat_map(|w| Endian::Little.u32_bytes(*w)).collect();
        let bytes = one_function(0, 32, |m, _, _| {
            let maps = m.section(section, SectionKind::Data, &words);
            m.symbol("old", Some(maps), 0, 28, K::Data);
        });
        Object::parse(&bytes).unwrap().maps().iter().map(|m| m.def.clone()).next()
    };
    let pinned = |section: &str, pinning| with_words(section, 0, pinning);
    for section in ["maps", "maps/old"] {
        let pin = |pinning| pinned(section, pinning).unwrap().map(|def| def.pin_by_name);
        assert_eq!((pin(0), pin(1)), (Ok(false), Ok(true)));
        assert_eq!(pin(2), Ok(false));
        assert_eq!(pinned(section, 2).unwrap().map(|def| def.other_pinning), Ok(Some(2)));
        assert_eq!(pinned(section, 1).unwrap().map(|def| def.other_pinning), Ok(None));
    }
    assert_eq!(pinned("mapset", 0), None);
    let id = |id| with_words("maps", id, 0).unwrap().unwrap().legacy_id;
    assert_eq!((id(0), id(3)), (None, Some(3)));
}

#[test]
fn legacy_maps_without_a_size_reach_to_the_next_one() {
    let def = |map_type: u32| [map_type, 4, 8, 16, 0].into_iter().flat_map(|w| Endian::Little.u32_bytes(w));
    let words: Vec<u8> = def(2).chain(def(1)).chain([0; 12]).collect();
    let bytes = one_function(0, 32, |m, _, _| {
        let maps = m.section("maps", SectionKind::Data, &words);
        for (name, offset) in [("first", 0), ("alias", 0), ("second", 20), ("cut", 40)] {
            m.symbol(name, Some(maps), offset, 0, K::Data);
        }
        let other = m.section("maps/other", SectionKind::Data, &words[..24]);
        m.symbol("other", Some(other), 0, 0, K::Data);
    });
    let o = Object::parse(&bytes).unwrap();
    let types: Vec<_> = o.maps().iter().map(|m| (m.name, m.def.as_ref().map(|def| def.map_type))).collect();
    let cut = MapParseError::Legacy { offset: 40, size: 12 };
    let expected = [
        (&b"first"[..], Ok(2)),
        (b"alias", Ok(2)),
        (b"second", Ok(1)),
        (b"cut", Err(&cut)),
        (b"other", Ok(2)),
    ];
    assert_eq!(types, expected);
}

#[test]
fn sections_that_share_bytes_are_refused() {
    // Both code sections cover the whole file.
    let mut bytes = sample(Endian::Little);
    let len = u64::try_from(bytes.len()).unwrap() & !7;
    for name in [&b".text"[..], b"?kprobe/do_exit"] {
        let at = header_offset(name, 24);
        bytes[at..at + 16].copy_from_slice(&[word64(0), word64(len)].concat());
    }
    assert_eq!(error(&bytes), ObjectError::Overlap { section: "?kprobe/do_exit".into() });
}

/// Reads every part of an object.
fn exercise(bytes: &[u8]) -> usize {
    let Ok(o) = Object::parse(bytes) else { return 0 };
    let relocs = o.relocs().map_or(0, |r| r.records().len());
    let text = o.elf_relocs().filter_map(Result::err).map(|e| e.to_string().len()).sum::<usize>();
    let same = o.rewrite(o.code_sections().iter().map(|c| (c.name, c.code)), KEEP);
    relocs + text + o.symbols().count() + same.map_or(0, |copy| copy.len())
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn every_prefix_and_every_changed_byte_is_an_error_or_an_object() {
    for endian in [Endian::Little, Endian::Big] {
        let whole = sample(endian);
        assert!(exercise(&whole) > 0);
        for len in 0..whole.len() {
            assert_eq!(exercise(&whole[..len]), 0, "a prefix of {len} bytes is an error");
        }
        let mut bytes = whole.clone();
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xff] {
                bytes[at] ^= flip;
                exercise(&bytes);
                bytes[at] ^= flip;
            }
        }
    }
}
