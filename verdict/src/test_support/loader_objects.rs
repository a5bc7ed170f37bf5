//! Objects on which loaders differ: a small one for each rule.

use crate::loaders::LoaderRule;
use core_relo::{Endian, insn::Insn};
use core_relo_object::object::SEC_DEFS;
use core_relo_object::test_support::{SectionKind, SymbolKind, TestObject, call, exit, load, returns};

/// Returns an object to which a rule applies. The rules that come with it apply, too: those of legacy maps,
/// and of externs of `.kconfig`.
pub fn loader_object(rule: LoaderRule) -> Vec<u8> {
    let mut m = build(rule);
    // libbpf ignores the BTF of an object whose `.BTF.ext` has no records.
    let section = if rule == LoaderRule::SectionName { "tc" } else { "classifier" };
    let main = m.func_type("main", 1);
    m.func_info(section, &[(0, main)]);
    m.bytes()
}

/// Returns names of program sections, among them all words of libbpf and aya.
pub fn section_words() -> Vec<String> {
    let words = SEC_DEFS.iter().map(|def| def.name.to_owned());
    words.chain(crate::loaders::aya_words()).collect()
}

/// Returns whether aya knows a section name, by the table.
pub fn knows_aya_section(name: &str) -> bool {
    crate::loaders::aya_section_words(name).is_some()
}

fn build(rule: LoaderRule) -> TestObject {
    match rule {
        LoaderRule::LegacyMaps => legacy_map("maps", &[1, 4, 8, 1, 0], 20),
        LoaderRule::LegacyMapSubsection => legacy_map("maps/events", &[1, 4, 8, 1, 0], 20),
        LoaderRule::LegacyMapSize => legacy_map("maps", &[1, 4, 8, 1, 0], 0),
        LoaderRule::LegacyMapTail => legacy_map("maps", &[1, 4, 8, 1, 0, 0, 0, 7], 32),
        LoaderRule::LegacyMapId => legacy_map("maps", &[1, 4, 8, 1, 0, 7, 0], 28),
        LoaderRule::OtherPinning => {
            with_map(&[("type", 1), ("key_size", 4), ("value_size", 8), ("max_entries", 1), ("pinning", 2)])
        }
        LoaderRule::NumaNode => {
            with_map(&[("type", 1), ("key_size", 4), ("value_size", 8), ("max_entries", 1), ("numa_node", 0)])
        }
        // A ring buffer of user space, of one page.
        LoaderRule::MapType => with_map(&[("type", 31), ("max_entries", 4096)]),
        LoaderRule::ValuesNotLast => inner_maps(&InnerMaps { is_last: false, has_slot: false }),
        LoaderRule::MapValues => inner_maps(&InnerMaps { is_last: true, has_slot: true }),
        // An array of maps.
        LoaderRule::InnerMapMissing => {
            with_map(&[("type", 12), ("key_size", 4), ("value_size", 4), ("max_entries", 1)])
        }
        LoaderRule::ProgramValues => program_values(false),
        LoaderRule::UnloadedValue => program_values(true),
        LoaderRule::MapExtraEnum => map_extra_enum(),
        LoaderRule::License => padded_license(),
        LoaderRule::FunctionAlias => function_alias(),
        LoaderRule::TextGap => text_gap(),
        LoaderRule::SizeAndType => key_and_key_size(),
        LoaderRule::StaticFunction => static_function(),
        LoaderRule::CallOutsideText => call_outside_text(),
        LoaderRule::DuplicateFunction => duplicate_function(),
        LoaderRule::StructOps => struct_ops(),
        LoaderRule::SectionName => program("tc", &returns(0)),
        LoaderRule::TypeMatches => type_matches(),
        LoaderRule::KconfigExtern => config_extern(false),
        LoaderRule::WeakKconfig => config_extern(true),
        LoaderRule::ArenaVariable => arena_variable(),
        LoaderRule::JumpTable => jump_table(),
        LoaderRule::BssSubsection => bss_subsection(),
        LoaderRule::MappedField => mapped_field(),
    }
}

fn program(section: &str, insns: &[Insn]) -> TestObject {
    let mut m = TestObject::new();
    m.program("main", section, insns);
    m
}

/// Returns a load of the target of a relocation, and an exit.
fn loading() -> Vec<Insn> {
    [&load(1, 0)[..], &returns(0)].concat()
}

/// Creates an object whose program uses a legacy map. The symbol has `size` bytes.
fn legacy_map(section: &str, words: &[u32], size: u64) -> TestObject {
    let mut m = TestObject::new();
    let main = m.program("main", "classifier", &loading());
    let bytes: Vec<u8> = words.iter().flat_map(|word| Endian::native().u32_bytes(*word)).collect();
    let maps = m.section(section, SectionKind::Data, &bytes);
    let events = m.symbol("events", SymbolKind::Data, maps, 0, size);
    m.refer(main, 0, events, false);
    m
}

fn with_map(numbers: &[(&str, u32)]) -> TestObject {
    let mut m = program("classifier", &returns(0));
    m.map("events", numbers, None);
    m
}

/// The differences between the maps of maps of two rules.
struct InnerMaps {
    /// Whether `values` is the last field.
    is_last: bool,
    /// Whether the definition has an inner map in its first slot.
    has_slot: bool,
}

/// Creates an array of maps with the definition of its inner maps.
fn inner_maps(maps: &InnerMaps) -> TestObject {
    let mut m = program("classifier", &returns(0));
    let (array, outer, size, entries) = (m.number(2), m.number(12), m.number(4), m.number(1));
    let fields = [
        ("type", array, 0),
        ("key_size", size, 64),
        ("value_size", size, 128),
        ("max_entries", entries, 192),
    ];
    let inner = m.types.structure("inner", 32, &fields);
    let (section, symbol) = m.map_of_type("inner", inner, 32, 1);
    let pointer = m.types.pointer(inner);
    let values = m.types.array(pointer, m.int, 0);
    let mut fields = vec![
        ("type", outer, 0),
        ("key_size", size, 64),
        ("max_entries", entries, 128),
        ("values", values, 192),
    ];
    if !maps.is_last {
        fields.splice(2.., [("values", values, 128), ("max_entries", entries, 128)]);
    }
    let slots = u32::from(maps.has_slot);
    let ty = m.types.structure("", 24 + slots * 8, &fields);
    m.map_of_type("events", ty, 24 + slots * 8, 1);
    if maps.has_slot {
        /// `R_BPF_64_64`.
        const ADDRESS: u32 = 1;
        m.reloc(section, 32 + 24, symbol, ADDRESS);
    }
    m
}

/// Creates a program array with `values`, which may hold a program of a section that begins with `?`.
fn program_values(has_optional: bool) -> TestObject {
    /// `R_BPF_64_64`.
    const ADDRESS: u32 = 1;
    let mut m = program("classifier", &returns(0));
    let (kind, size, entries) = (m.number(3), m.number(4), m.number(1));
    let proto = m.types.func_proto(m.int, &[]);
    let pointer = m.types.pointer(proto);
    let values = m.types.array(pointer, m.int, 0);
    let fields =
        [("type", kind, 0), ("key_size", size, 64), ("max_entries", entries, 128), ("values", values, 192)];
    let bytes = if has_optional { 32 } else { 24 };
    let ty = m.types.structure("", bytes, &fields);
    let (section, _) = m.map_of_type("events", ty, bytes, 1);
    if has_optional {
        let held = m.code("?classifier", &returns(0));
        let symbol = m.function("held", held, 0, 2);
        m.reloc(section, 24, symbol, ADDRESS);
    }
    m
}

/// Creates a bloom filter whose `map_extra` is an enumeration.
fn map_extra_enum() -> TestObject {
    let mut m = program("classifier", &returns(0));
    let (kind, size, entries) = (m.number(30), m.number(4), m.number(1));
    let extra = m.types.enumeration("", 8, &[("__unique_value0", 3)]);
    let fields = [
        ("type", kind, 0),
        ("value_size", size, 64),
        ("max_entries", entries, 128),
        ("map_extra", extra, 192),
    ];
    let ty = m.types.structure("", 32, &fields);
    m.map_of_type("events", ty, 32, 1);
    m
}

/// Creates an object with `char _license[8] = "GPL"`.
fn padded_license() -> TestObject {
    let mut m = program("classifier", &returns(0));
    m.license = Some(b"GPL\0\0\0\0\0");
    m
}

fn function_alias() -> TestObject {
    let mut m = program("classifier", &returns(0));
    let text = m.code(".text", &returns(0));
    m.static_function("helper", text, 0, 2);
    m.static_function("alias", text, 0, 2);
    m
}

fn key_and_key_size() -> TestObject {
    let mut m = program("classifier", &returns(0));
    let (kind, size, entries) = (m.number(1), m.number(4), m.number(1));
    let key = m.types.pointer(m.int);
    let fields = [
        ("type", kind, 0),
        ("key", key, 64),
        ("key_size", size, 128),
        ("value_size", size, 192),
        ("max_entries", entries, 256),
    ];
    let ty = m.types.structure("", 40, &fields);
    m.map_of_type("events", ty, 40, 1);
    m
}

fn static_function() -> TestObject {
    let mut m = TestObject::new();
    let code = m.code("classifier", &[returns(0), returns(1)].concat());
    m.function("main", code, 0, 2);
    m.static_function("alone", code, 2, 2);
    m
}

fn call_outside_text() -> TestObject {
    let mut m = TestObject::new();
    let other = m.code("classifier/other", &returns(1));
    let callee = m.function("callee", other, 0, 2);
    let ty = m.func_type("callee", 1);
    m.func_info("classifier/other", &[(0, ty)]);
    let main = m.program("main", "classifier", &[call(-1), exit()]);
    m.refer(main, 0, callee, true);
    m
}

fn duplicate_function() -> TestObject {
    let mut m = program("classifier", &returns(0));
    let text = m.code(".text", &[returns(0), returns(1)].concat());
    m.static_function("helper", text, 0, 2);
    m.static_function("helper", text, 2, 2);
    m
}

/// Creates a section `.text` whose last two instructions belong to no function.
fn text_gap() -> TestObject {
    let mut m = program("classifier", &returns(0));
    let text = m.code(".text", &[returns(0), returns(1)].concat());
    m.static_function("helper", text, 0, 2);
    m
}

/// Creates a map of `struct ops` without programs.
fn struct_ops() -> TestObject {
    let mut m = program("classifier", &returns(0));
    let ty = m.types.structure("ops", 8, &[("number", m.int, 0)]);
    let var = m.types.var("mine", ty, 1);
    m.types.datasec(".struct_ops", 8, &[(var, 0, 8)]);
    let data = m.section(".struct_ops", SectionKind::Data, &[0; 8]);
    m.symbol("mine", SymbolKind::Data, data, 0, 8);
    m
}

fn type_matches() -> TestObject {
    /// `BPF_CORE_TYPE_MATCHES`.
    const KIND: u32 = 12;
    // The value in the object: the type matches itself.
    let mut m = program("classifier", &returns(1));
    let ty = m.types.structure("task_struct", 4, &[("pid", m.int, 0)]);
    m.core_relo("classifier", &[(0, ty, "0", KIND)]);
    m
}

fn config_extern(is_weak: bool) -> TestObject {
    let mut m = TestObject::new();
    let main = m.program("main", "classifier", &loading());
    let var = m.types.var("CONFIG_HZ", m.int, 2);
    m.types.datasec(".kconfig", 4, &[(var, 0, 4)]);
    let symbol = m.undefined("CONFIG_HZ", is_weak);
    m.refer(main, 0, symbol, false);
    m
}

fn arena_variable() -> TestObject {
    let mut m = TestObject::new();
    let main = m.program("main", "classifier", &loading());
    m.map("arena", &[("type", 33), ("map_flags", 1 << 10), ("max_entries", 10)], None);
    let section = m.section(".addr_space.1", SectionKind::Data, &[0; 8]);
    let symbol = m.symbol("value", SymbolKind::Data, section, 0, 8);
    m.refer(main, 0, symbol, false);
    m
}

fn jump_table() -> TestObject {
    let mut m = TestObject::new();
    let main = m.program("main", "classifier", &loading());
    let section = m.section(".jumptables", SectionKind::Data, &[0; 16]);
    let symbol = m.symbol("table", SymbolKind::Data, section, 0, 16);
    m.refer(main, 0, symbol, false);
    m
}

fn bss_subsection() -> TestObject {
    let mut m = TestObject::new();
    let main = m.program("main", "classifier", &loading());
    let section = m.bss(".bss.cold", 8);
    let symbol = m.symbol("value", SymbolKind::Data, section, 0, 8);
    m.refer(main, 0, symbol, false);
    m
}

fn mapped_field() -> TestObject {
    let mut m = TestObject::new();
    let main = m.program("main", "classifier", &loading());
    let section = m.section(".data.lock", SectionKind::Data, &[0; 4]);
    let int = m.int;
    let lock = m.types.structure("bpf_spin_lock", 4, &[("val", int, 0)]);
    let var = m.types.var("lock", lock, 1);
    m.types.datasec(".data.lock", 4, &[(var, 0, 4)]);
    let symbol = m.symbol("lock", SymbolKind::Data, section, 0, 4);
    m.refer(main, 0, symbol, false);
    m
}
