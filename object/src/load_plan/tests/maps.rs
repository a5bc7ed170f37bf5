//! The plans of maps: order, initial contents, settings, and adaptation to old kernels.
#![expect(clippy::arithmetic_side_effects, reason = "small offsets in bytes that the tests build")]

use super::without;
use crate::{
    features::Feature,
    globals::GlobalKind,
    index::{MapIndex, ProgramIndex},
    load_plan::{FixupTarget, LoadPlan, MapPlan, MapRole, Settings, SlotPlan},
    object::MapType,
    test_support::{TestObject, insns, kernel, line, load, returns, skipped, words},
};
use core_relo::{
    Endian, TypeId,
    btf::{Btf, Kind},
    insn::Insn,
};
use object::{SectionKind, SymbolKind, write::SymbolId};
use std::path::{Path, PathBuf};

const HASH: &[(&str, u32)] = &[("type", 1), ("max_entries", 8), ("key_size", 4), ("value_size", 8)];

/// Creates an object with two maps, a global in each data section, and a program that refers to all of them.
fn sample() -> TestObject {
    let mut m = TestObject::new();
    let (_, one) = m.map("one", HASH, None);
    let (_, two) = m.map("two", HASH, None);
    let data = m.section(".data", SectionKind::Data, &[7, 0, 0, 0, 8, 0, 0, 0]);
    let rodata = m.section(".rodata", SectionKind::ReadOnlyData, &[9, 0, 0, 0]);
    let bss = m.bss(".bss", 16);
    let symbols = [
        one,
        two,
        m.symbol("set", SymbolKind::Data, data, 4, 4),
        m.symbol("constant", SymbolKind::Data, rodata, 0, 4),
        m.symbol("zero", SymbolKind::Data, bss, 8, 8),
    ];
    let code: Vec<Insn> = (0..5).flat_map(|n| load(1, n)).chain(returns(0)).collect();
    let main = m.program("main", "tc", &code);
    for (index, symbol) in (0..).zip(symbols) {
        m.refer(main, index * 2, symbol, false);
    }
    let int = m.int;
    let array = m.types.array(int, int, 2);
    for (section, name, ty) in [(".data", "set", int), (".rodata", "constant", int), (".bss", "zero", array)]
    {
        let var = m.types.var(name, ty, 1);
        m.types.datasec(section, 0, &[(var, 0, if ty == int { 4 } else { 8 })]);
    }
    m
}

fn map<'p>(plan: &'p LoadPlan, name: &str) -> &'p MapPlan {
    plan.maps().iter().find(|m| m.name() == name).expect("planned")
}

fn poison(n: i32) -> [Insn; 2] {
    [Insn { code: 0x85, imm: 2_001_000_000 + n, ..Insn::default() }; 2]
}

#[test]
fn defined_maps_come_before_data_maps_and_loads_need_their_descriptors() {
    let plan = sample().plan().unwrap();
    let names: Vec<_> = plan.maps().iter().map(|m| (m.name(), m.role())).collect();
    let expected = [
        ("one", MapRole::Defined),
        ("two", MapRole::Defined),
        (".data", MapRole::Data),
        (".rodata", MapRole::Rodata),
        (".bss", MapRole::Bss),
    ];
    assert_eq!(names, expected);
    let fixups: Vec<_> = plan.programs()[0].fixups().iter().map(|f| (f.insn(), f.target())).collect();
    let expected: Vec<_> =
        (0..5).map(|n| (n * 2, FixupTarget::Map(MapIndex(usize::try_from(n).unwrap())))).collect();
    assert_eq!(fixups, expected);
    let code = insns(&plan, "main");
    let loads: Vec<_> = (0..5).map(|n| (code[n * 2].src, code[n * 2 + 1].imm)).collect();
    // The second half of a value's load is the sum of the symbol's offset and the immediate.
    assert_eq!(loads, [(1, 0), (1, 0), (2, 4 + 2), (2, 3), (2, 8 + 4)]);
    assert_eq!(map(&plan, ".data").data(), [7, 0, 0, 0, 8, 0, 0, 0]);
    // The data is 0, as in any new map.
    assert_eq!((map(&plan, ".bss").value_size(), map(&plan, ".bss").data()), (16, [].as_slice()));
}

#[test]
fn references_to_maps_that_are_not_created_are_poisoned() {
    let plan = sample()
        .plan_on(kernel(|_| {}), |loader| {
            loader.map_mut("two").autocreate = Some(false);
            loader.map_mut(".bss").autocreate = Some(false);
        })
        .unwrap();
    let code = insns(&plan, "main");
    assert_eq!((&code[2..4], &code[8..10]), (&poison(1)[..], &poison(4)[..]));
    assert_eq!(plan.programs()[0].fixups().len(), 3);
}

#[test]
fn data_maps_are_adapted_to_the_kernel() {
    let plan = sample().plan().unwrap();
    let flags = |plan: &LoadPlan| [".data", ".rodata", ".bss"].map(|name| map(plan, name).map_flags());
    assert_eq!(flags(&plan), [1 << 10, 1 << 10 | 1 << 7, 1 << 10]);
    assert!(map(&plan, ".rodata").role().is_frozen() && plan.binds_rodata());
    let old = without(kernel(|_| {}), &[Feature::ArrayMmap, Feature::Names, Feature::ProgBindMap]);
    let plan = sample().plan_on(old, |_| {}).unwrap();
    assert_eq!(flags(&plan), [0, 1 << 7, 0]);
    assert!(plan.maps().iter().all(|m| m.kernel_name().is_empty()) && !plan.binds_rodata());
    let older = without(kernel(|_| {}), &[Feature::GlobalData]);
    let plan = sample().plan_on(older, |_| {}).unwrap();
    assert_eq!(
        plan.maps().iter().map(MapPlan::autocreate).collect::<Vec<_>>(),
        [true, true, false, false, false]
    );
    assert_eq!(insns(&plan, "main")[4..6], poison(2));
}

#[test]
fn dots_in_the_name_of_a_pinned_map_become_underscores() {
    let mut m = TestObject::new();
    let pinned: Vec<_> = HASH.iter().copied().chain([("pinning", 1)]).collect();
    m.map("a.b", &pinned, None);
    m.map("plain", HASH, None);
    m.program("main", "tc", &returns(0));
    let plan = m
        .plan_on(kernel(|_| {}), |loader| {
            loader.pin_root = PathBuf::from("/pins");
            loader.map_mut("plain").pin = Some(Some(PathBuf::from("/elsewhere/p")));
        })
        .unwrap();
    assert_eq!(map(&plan, "a.b").pin(), Some(Path::new("/pins/a_b")));
    assert_eq!(map(&plan, "plain").pin(), Some(Path::new("/elsewhere/p")));
    let mut m = TestObject::new();
    m.map("not", &pinned, None);
    let plan = m.plan_on(kernel(|_| {}), |loader| loader.map_mut("not").pin = Some(None)).unwrap();
    assert_eq!(map(&plan, "not").pin(), None);
}

#[test]
fn some_default_sizes_depend_on_the_machine() {
    let mut m = TestObject::new();
    m.map("ring", &[("type", 27), ("max_entries", 5000)], None);
    m.map("perf", &[("type", 4), ("key_size", 4), ("value_size", 4)], None);
    let mut kernel = kernel(|_| {});
    (kernel.cpus, kernel.page_size) = (6, 4096);
    let plan = m.plan_on(kernel, |_| {}).unwrap();
    assert_eq!((map(&plan, "ring").max_entries(), map(&plan, "perf").max_entries()), (8192, 6));
}

/// Returns the size of a section in the plan's BTF, and the number of elements of its last variable.
fn section(plan: &LoadPlan, name: &str) -> (u32, Option<u32>) {
    let btf = Btf::parse(plan.btf().unwrap()).unwrap();
    let section = btf.find(name.as_bytes(), Kind::Datasec).unwrap();
    let last = section.secinfos().last().unwrap();
    let ty = btf.ty(last.ty).unwrap().target().unwrap();
    assert_eq!(last.offset + last.size, section.size_or_type());
    (section.size_or_type(), btf.ty(ty).unwrap().array().map(|a| a.nelems))
}

#[test]
fn a_resized_section_resizes_its_last_variable() {
    let sized = |name: &'static str, size| {
        sample().plan_on(kernel(|_| {}), move |loader| loader.map_mut(name).value_size = Some(size)).unwrap()
    };
    let plan = sized(".bss", 48);
    let bss = map(&plan, ".bss");
    assert_eq!((bss.value_size(), bss.data().len(), bss.value_type() != TypeId::VOID), (48, 0, true));
    assert_eq!(section(&plan, ".bss"), (48, Some(10)));
    // A smaller size works if the last variable begins before the end.
    assert_eq!(section(&sized(".bss", 12), ".bss"), (12, Some(1)));
    // A map whose types cannot be resized has no types.
    for (name, size) in [(".bss", 50), (".bss", 4), (".data", 64)] {
        let plan = sized(name, size);
        let map = map(&plan, name);
        let data = if name == ".bss" { 0 } else { size };
        assert_eq!(
            (map.value_size(), map.data().len(), map.value_type()),
            (size, usize::try_from(data).unwrap(), TypeId::VOID)
        );
    }
}

#[test]
fn initial_values_are_set_by_name() {
    let plan = sample()
        .plan_on(kernel(|_| {}), |loader| {
            loader.set_global("set", &Endian::native().u32_bytes(0x1234_5678)).unwrap();
            loader.set_global("zero", &[1u32, 2].map(|n| Endian::native().u32_bytes(n)).concat()).unwrap();
            assert_eq!(loader.global("set"), Ok(Endian::native().u32_bytes(0x1234_5678).to_vec()));
            assert_eq!(loader.global("constant"), Ok(vec![9, 0, 0, 0]));
            let size = loader.set_global("set", &[1; 8]).unwrap_err();
            assert_eq!(line(&size), "global `set`: value size 8, expected 4 (`int`)");
            let size = loader.set_global("zero", &[1]).unwrap_err();
            assert_eq!(line(&size), "global `zero`: value size 1, expected 8 (`int[2]`)");
            let none = loader.set_global("sett", &[1; 4]).unwrap_err();
            assert_eq!(
                line(&none),
                "no global variable `sett` in `.bss`, `.data` and `.rodata`; the object has set, constant, zero"
            );
        })
        .unwrap();
    assert_eq!(words(map(&plan, ".data").data())[1], 0x1234_5678);
    assert_eq!(words(map(&plan, ".bss").data()), [0, 0, 1, 2]);
    assert_eq!(words(map(&plan, ".rodata").data()), words(&[9, 0, 0, 0]));
}

#[test]
fn variables_are_set_before_or_after_a_section_is_resized() {
    for set_first in [true, false] {
        let plan = sample()
            .plan_on(kernel(|_| {}), |loader| {
                let set = |loader: &mut crate::test_support::Setup<'_, '_>| {
                    loader
                        .set_global("zero", &[1u32, 2].map(|n| Endian::native().u32_bytes(n)).concat())
                        .unwrap();
                };
                if set_first {
                    set(loader);
                }
                loader.map_mut(".bss").value_size = Some(24);
                if !set_first {
                    set(loader);
                }
            })
            .unwrap();
        assert_eq!(words(map(&plan, ".bss").data()), [0, 0, 1, 2, 0, 0]);
    }
    sample()
        .plan_on(kernel(|_| {}), |loader| {
            loader.map_mut(".bss").value_size = Some(12);
            let error = loader
                .set_global("zero", &[1u32, 2].map(|n| Endian::native().u32_bytes(n)).concat())
                .unwrap_err();
            assert_eq!(
                line(&error),
                "map `.bss`: its variable `zero` does not lie in the 12 bytes it was set to"
            );
        })
        .unwrap();
}

#[test]
fn data_of_another_size_than_the_map_is_refused() {
    let error = sample()
        .plan_on(kernel(|_| {}), |loader| loader.map_mut(".data").data = Some(vec![0; 3]))
        .expect_err("refused");
    assert_eq!(line(&error), "map `.data`: wrong size of the initial data: 3 bytes, expected 8");
}

/// Creates an object with an arena of some pages, with eight bytes of variables.
fn arena(pages: u32) -> TestObject {
    let mut m = TestObject::new();
    m.map("pages", &[("type", 33), ("map_flags", 1 << 10), ("max_entries", pages)], None);
    let section = m.section(".addr_space.1", SectionKind::Data, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let second = m.symbol("second", SymbolKind::Data, section, 4, 4);
    let main = m.program("main", "tc", &[&load(1, 0)[..], &returns(0)].concat());
    m.refer(main, 0, second, false);
    m
}

#[test]
fn arena_variables_are_at_the_end_if_the_kernel_supports_large_offsets() {
    let plan = arena(10).plan().unwrap();
    let pages = map(&plan, "pages");
    assert_eq!((pages.data_offset(), pages.data().len()), (9 * 4096, 8));
    assert_eq!(insns(&plan, "main")[1].imm, 9 * 4096 + 4);
    let old = without(kernel(|_| {}), &[Feature::FullRangeOffset]);
    let plan = arena(10).plan_on(old, |_| {}).unwrap();
    assert_eq!((map(&plan, "pages").data_offset(), insns(&plan, "main")[1].imm), (0, 4));
}

#[test]
fn arena_variables_are_set_like_others() {
    let plan = arena(10).plan_on(kernel(|_| {}), |loader| {
        let second = loader.find_global("second").unwrap();
        assert_eq!((second.kind, &*second.map, second.offset), (GlobalKind::Arena, "pages", 4));
        assert_eq!(loader.global("second"), Ok(vec![5, 6, 7, 8]));
        loader.set_global("second", &[9, 10, 11, 12]).unwrap();
        assert_eq!(loader.global(".addr_space.1/second"), Ok(vec![9, 10, 11, 12]));
        loader.map_mut("pages").max_entries = Some(20);
    });
    let plan = plan.unwrap();
    let pages = map(&plan, "pages");
    assert_eq!((pages.data_offset(), pages.data()), (19 * 4096, &[1, 2, 3, 4, 9, 10, 11, 12][..]));
}

#[test]
fn an_arena_with_variables_and_segv_on_fault_is_refused() {
    let map_count = |flags| {
        let plan =
            arena(10).plan_on(kernel(|_| {}), |loader| loader.map_mut("pages").map_flags = Some(flags));
        plan.map(|plan| plan.maps().len())
    };
    assert_eq!(map_count(1 << 10), Ok(1));
    let error = line(&map_count(1 << 17 | 1 << 10).unwrap_err());
    assert!(error.contains("BPF_F_SEGV_ON_FAULT"), "{error}");
}

#[test]
fn an_arena_is_unique_and_large_enough() {
    let error = arena(0).error();
    assert_eq!(error, "map `pages`: its 0 pages cannot hold the 8 bytes of `.addr_space.1`");
    let mut m = arena(10);
    m.map("more", &[("type", 33), ("max_entries", 1)], None);
    assert_eq!(m.error(), "map `more`: a second arena, expected at most one");
    let mut m = TestObject::new();
    m.section(".addr_space.1", SectionKind::Data, &[0; 8]);
    m.program("main", "tc", &returns(0));
    let error = "map `.addr_space.1`: it holds arena variables, but the object defines no map of type BPF_MAP_TYPE_ARENA";
    assert_eq!(m.error(), error);
}

/// Creates an object with a program array whose first element refers to a symbol.
fn tail_calls(target: impl FnOnce(&mut TestObject) -> SymbolId) -> TestObject {
    let mut m = TestObject::new();
    let proto = m.types.func_proto(TypeId::VOID, &[]);
    let numbers = [("type", 3), ("max_entries", 2), ("key_size", 4)];
    let (maps, _) = m.map("table", &numbers, Some(proto));
    m.program("main", "tc", &returns(0));
    let target = target(&mut m);
    m.reloc(maps, 24, target, 2);
    m
}

#[test]
fn maps_have_initial_programs_and_maps() {
    let plan = tail_calls(|m| {
        let next = m.code("xdp", &returns(1));
        m.function("next", next, 0, 2)
    });
    let plan = plan.plan().unwrap();
    assert_eq!(
        map(&plan, "table").slots().iter().collect::<Vec<_>>(),
        [(&0, &SlotPlan::Program(ProgramIndex(1)))]
    );

    let mut m = TestObject::new();
    let (_, first) = m.map("first", HASH, None);
    let fields: Vec<_> = HASH.iter().map(|(name, n)| (*name, m.number(*n))).collect();
    let members: Vec<_> = (0u32..).zip(&fields).map(|(n, (name, ty))| (*name, *ty, n * 64)).collect();
    let inner = m.types.structure("inner", 32, &members);
    let (maps, _) = m.map("outer", &[("type", 12), ("max_entries", 2), ("key_size", 4)], Some(inner));
    // `outer` follows the four pointers of `first`, and its `values` follow three of its own pointers.
    m.reloc(maps, 32 + 24, first, 2);
    let plan = m.plan().unwrap();
    let outer = map(&plan, "outer");
    assert_eq!(outer.slots().iter().collect::<Vec<_>>(), [(&0, &SlotPlan::Map(MapIndex(0)))]);
    let inner = outer.inner().unwrap();
    assert_eq!((inner.name(), inner.known_type()), ("outer.inner", Some(MapType::Hash)));
}

/// Creates an object in which `start` uses an array that holds `next`, which uses an array that holds `last`.
/// `other` uses no array.
fn chained_tail_calls() -> TestObject {
    let mut m = TestObject::new();
    let proto = m.types.func_proto(TypeId::VOID, &[]);
    let numbers = [("type", 3), ("max_entries", 2), ("key_size", 4)];
    let (maps, first) = m.map("first", &numbers, Some(proto));
    let (_, second) = m.map("second", &numbers, Some(proto));
    let [low, high] = load(1, 0);
    let [zero, exit] = returns(0);
    let using = [low, high, zero, exit];
    let start = m.program("start", "tc", &using);
    m.refer(start, 0, first, false);
    let section = m.code("?tc", &using);
    m.refer(section, 0, second, false);
    let next = m.function("next", section, 0, 4);
    let section = m.code("?xdp", &returns(0));
    let last = m.function("last", section, 0, 2);
    m.program("other", "tc", &returns(0));
    // The `values` of each map follow three pointers.
    m.reloc(maps, 24, next, 2);
    m.reloc(maps, 32 + 24, last, 2);
    m
}

#[test]
fn programs_in_program_arrays_are_loaded_with_the_programs_that_use_the_arrays() {
    let loaded = |configure: fn(&mut crate::test_support::Setup<'_, '_>)| {
        let plan = chained_tail_calls().plan_on(kernel(|_| {}), configure).unwrap();
        let programs = plan.programs().iter().map(|plan| (plan.name().to_owned(), plan.autoattach()));
        (programs.collect::<Vec<_>>(), skipped(&plan).len())
    };
    let named = |programs: &[(&str, bool)]| {
        programs.iter().map(|(name, attaches)| ((*name).to_owned(), *attaches)).collect::<Vec<_>>()
    };
    let all = named(&[("start", true), ("next", false), ("last", false), ("other", true)]);
    assert_eq!(loaded(|_| {}), (all, 0));
    let chain = named(&[("start", true), ("next", false), ("last", false)]);
    assert_eq!(loaded(|setup| setup.select_programs(["start"])), (chain, 1));
    let rest = named(&[("next", true), ("last", false)]);
    assert_eq!(loaded(|setup| setup.select_programs(["next"])), (rest, 2));
    assert_eq!(loaded(|setup| setup.select_programs(["other"])), (named(&[("other", true)]), 3));
    // The caller leaves an element empty, or a map out.
    let without_next = |setup: &mut crate::test_support::Setup<'_, '_>| {
        setup.select_programs(["start"]);
        setup.map_mut("first").elements.insert(0, None);
    };
    assert_eq!(loaded(without_next), (named(&[("start", true)]), 3));
}

#[test]
fn the_settings_define_or_change_an_inner_map() {
    let object = |inner: bool| {
        let mut m = TestObject::new();
        let members = [("type", m.number(27), 0), ("max_entries", m.number(4096), 64)];
        let inner = inner.then(|| m.types.structure("inner", 16, &members));
        m.map("outer", &[("type", 12), ("max_entries", 2), ("key_size", 4), ("value_size", 4)], inner);
        m.map("plain", &[("type", 1), ("max_entries", 2), ("key_size", 4), ("value_size", 4)], None);
        m
    };
    let attributes = |plan: &LoadPlan| {
        let inner = map(plan, "outer").inner().unwrap();
        let sizes = (inner.key_size(), inner.value_size(), inner.max_entries());
        (inner.name().to_owned(), inner.known_type(), sizes, inner.map_flags())
    };
    let hash = |settings: &mut Settings| {
        let inner = settings.map_mut("outer.inner");
        (inner.map_type, inner.key_size) = (Some(MapType::Hash.number()), Some(4));
        (inner.value_size, inner.max_entries, inner.map_flags) = (Some(8), Some(64), Some(1));
    };
    let plan = object(false).plan_on(kernel(|_| {}), |loader| hash(loader)).unwrap();
    assert_eq!(attributes(&plan), ("outer.inner".to_owned(), Some(MapType::Hash), (4, 8, 64), 1));
    // Ring buffers have a power of two of pages.
    let plan = object(true).plan_on(kernel(|_| {}), |loader| {
        loader.map_mut("outer.inner").max_entries = Some(9000);
    });
    assert_eq!(attributes(&plan.unwrap()).2, (0, 0, 16384));
    let error = |inner: bool, set: &dyn Fn(&mut Settings)| {
        line(&object(inner).plan_on(kernel(|_| {}), |loader| set(loader)).expect_err("refused"))
    };
    assert_eq!(
        error(false, &|settings| settings.map_mut("outer.inner").max_entries = Some(1)),
        "map `outer.inner`: the object does not define it: set its type"
    );
    assert_eq!(
        error(true, &|settings| settings.map_mut("outer.inner").map_type =
            Some(MapType::HashOfMaps.number())),
        "map `outer.inner`: an inner map holds no maps: expected another type"
    );
    let unknown = error(true, &|settings| settings.map_mut("plain.inner").max_entries = Some(1));
    assert!(unknown.starts_with("it has no map `plain.inner`; it has plain, "), "{unknown}");
}

#[test]
fn initial_elements_of_the_wrong_kind_are_refused() {
    let error = tail_calls(|m| {
        let data = m.section(".data", SectionKind::Data, &[0; 4]);
        m.symbol("number", SymbolKind::Data, data, 0, 4)
    });
    assert_eq!(error.error(), "map `table`: its value `number` is not a program of the object");
    let mut m = tail_calls(|m| {
        let next = m.code("xdp", &returns(1));
        m.function("next", next, 0, 2)
    });
    let (maps, other) = m.map("other", HASH, None);
    m.reloc(maps, 8, other, 2);
    assert_eq!(
        m.error(),
        "map `table`: byte 8 of its definition refers to `other`, but is not an element of `values`"
    );
}

/// Creates an object with a program that refers to a table of jump targets.
fn jumps(table: &[u64]) -> TestObject {
    let mut m = TestObject::new();
    let bytes: Vec<u8> = table.iter().flat_map(|target| Endian::native().u64_bytes(*target)).collect();
    let section = m.section(".jumptables", SectionKind::Data, &bytes);
    let size = u64::try_from(bytes.len()).unwrap();
    let symbol = m.symbol("jumps", SymbolKind::Data, section, 0, size);
    // The section has two programs, and the targets are offsets from the section's start.
    let code: Vec<Insn> = returns(0).into_iter().chain(load(1, 0)).chain(returns(1)).collect();
    let tc = m.code("tc", &code);
    m.function("before", tc, 0, 2);
    m.function("main", tc, 2, 4);
    m.refer(tc, 2, symbol, false);
    m
}

#[test]
fn jump_tables_become_maps_of_instruction_offsets() {
    let plan = jumps(&[4 * 8, 5 * 8]).plan().unwrap();
    let table = map(&plan, ".jumptables");
    assert_eq!((table.role(), table.known_type()), (MapRole::JumpTable, Some(MapType::InsnArray)));
    assert_eq!((table.max_entries(), table.value_size()), (2, 16));
    assert_eq!(words(table.data()), [2, 0, 0, 0, 3, 0, 0, 0]);
    let main = plan.programs().iter().find(|p| p.name() == "main").unwrap();
    assert_eq!(
        main.fixups().iter().map(|f| (f.insn(), f.target())).collect::<Vec<_>>(),
        [(0, FixupTarget::Map(MapIndex(0)))]
    );
    assert_eq!(insns(&plan, "main")[0].src, 2);
}

#[test]
fn jump_targets_outside_of_the_function_are_refused() {
    for target in [0, 1 << 40] {
        let error = jumps(&[target * 8, 32]).error();
        assert!(
            target != 0 || error == "map `.jumptables`: a target lies outside of its function",
            "{error}"
        );
        assert!(error.starts_with("map `.jumptables`: "), "{error}");
    }
}

#[test]
fn a_map_with_another_value_of_pinning_is_not_pinned() {
    for (value, is_pinned) in [(0, false), (1, true), (2, false)] {
        let mut m = TestObject::new();
        m.program("main", "tc", &returns(0));
        let numbers =
            [("type", 1), ("key_size", 4), ("value_size", 4), ("max_entries", 1), ("pinning", value)];
        m.map("pins", &numbers, None);
        assert_eq!(map(&m.plan().unwrap(), "pins").pin().is_some(), is_pinned, "{value}");
    }
}
