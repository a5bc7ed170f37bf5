//! Errors of objects and settings: one line that names the cause and what to do.

use crate::{
    load_plan::{LoadPlanError, TargetKernel},
    target::KernelBtf,
    test_support::{TestObject, call, exit, kernel, line, load, returns, skipped},
};
use alloc::sync::Arc;
use core_relo::Endian;
use object::{SectionKind, SymbolKind, SymbolScope};

fn program(section: &str) -> TestObject {
    let mut m = TestObject::new();
    m.program("main", section, &returns(0));
    m
}

fn no_types() -> TargetKernel {
    TargetKernel::offline(Arc::new(KernelBtf::none()))
}

#[test]
fn an_unknown_section_name_has_no_program_type() {
    let error = program("trampoline/x").error();
    assert!(
        error.starts_with("program `main`: section `trampoline/x` has no known program type: "),
        "{error}"
    );
    assert!(error.contains("SEC(\"xdp\")"), "{error}");
    let set_type = |loader: &mut crate::test_support::Setup<'_, '_>| {
        loader.program_mut("main").program_type = Some(crate::object::ProgramType::SocketFilter);
    };
    assert_eq!(program("trampoline/x").plan_on(kernel(|_| {}), set_type).unwrap().programs.len(), 1);
    let skip =
        |loader: &mut crate::test_support::Setup<'_, '_>| loader.program_mut("main").autoload = Some(false);
    let plan = program("trampoline/x").plan_on(kernel(|_| {}), skip).unwrap();
    assert_eq!(skipped(&plan), [("main", "not selected")]);
}

#[test]
fn malformed_map_definitions_are_refused() {
    let error = |numbers: &[(&str, u32)]| {
        let mut m = program("tc");
        m.map("bad", numbers, None);
        m.error()
    };
    assert_eq!(
        error(&[("max_entries", 1)]),
        "map `bad`: it has no map type: add `__uint(type, BPF_MAP_TYPE_…)` to its definition"
    );
    let unknown = error(&[("type", 1), ("max_entry", 3)]);
    assert!(unknown.starts_with("map `bad`: unknown field `max_entry`, expected type, key"), "{unknown}");
    let mut m = program("tc");
    let pinned = m.number(1);
    let inner = m.types.structure("", 8, &[("pinning", pinned, 0)]);
    m.map("bad", &[("type", 12), ("key_size", 4), ("max_entries", 1)], Some(inner));
    assert!(m.error().starts_with("map `bad`: field `pinning`: an inner map cannot be pinned"));
    assert!(
        error(&[("type", 1), ("key_size", 4), ("key_size", 8)])
            .contains("8 bytes, expected 4 as in an earlier field")
    );
    let mut m = program("tc").without_types();
    m.map("bad", &[("type", 1)], None);
    assert_eq!(m.error(), "map `bad`: no BTF describes it: compile with -g");
}

#[test]
fn references_to_static_maps_are_refused() {
    let refers = |m: &mut TestObject, section, imm| {
        let main = m.program("main", "tc", &[&load(1, imm)[..], &returns(0)].concat());
        let symbol = m.section_symbol(section);
        m.refer(main, 0, symbol, false);
    };
    let mut m = TestObject::new();
    let (section, _) = m.static_map("first", &[("type", 2)]);
    m.static_map("second", &[("type", 1)]);
    refers(&mut m, section, 8);
    assert_eq!(m.error(), "map `first`: it is static: remove `static`");

    let mut m = TestObject::new();
    let legacy = m.section("maps", SectionKind::Data, &[1; 40]);
    for (name, offset) in [("first", 0), ("second", 20)] {
        let symbol = m.symbol(name, SymbolKind::Data, legacy, offset, 20);
        m.set_scope(symbol, SymbolScope::Compilation);
    }
    refers(&mut m, legacy, 20);
    assert_eq!(m.error(), "map `first`: it is static: remove `static`");

    // Global maps, and code that refers to the symbol of their section.
    let by_section = |imm| {
        let mut m = TestObject::new();
        let (section, _) = m.map("first", &[("type", 2)], None);
        m.map("second", &[("type", 1)], None);
        refers(&mut m, section, imm);
        m
    };
    assert_eq!(by_section(0).plan().unwrap().programs()[0].fixups().len(), 1);
    let error = by_section(8).error();
    assert!(
        error.starts_with("tc, insn 0: ") && error.contains("a section symbol does not identify a map"),
        "{error}"
    );
}

#[test]
fn programs_maps_and_globals_that_the_object_does_not_have() {
    let error = |set: fn(&mut crate::test_support::Setup<'_, '_>)| {
        let mut m = program("tc");
        m.map("table", &[("type", 1)], None);
        line(&m.plan_on(kernel(|_| {}), set).expect_err("refused"))
    };
    let autoload = error(|loader| loader.program_mut("mian").autoload = Some(false));
    assert_eq!(autoload, "it has no program `mian`; it has main");
    assert_eq!(error(|loader| loader.select_programs(["mian"])), "it has no program `mian`; it has main");
    assert_eq!(
        error(|loader| loader.map_mut("tabel").max_entries = Some(1)),
        "it has no map `tabel`; it has table"
    );
}

#[test]
fn control_characters_in_names_are_escaped() {
    let (name, map) = ("p\u{1b}[2J", "m\u{7}");
    let object = || {
        let mut m = TestObject::new();
        m.map(map, &[("type", 1)], None);
        m.program(name, "?tc", &returns(0));
        m.program("other", "xdp", &returns(0));
        m
    };
    let plan = object().plan_on(kernel(|_| {}), |loader| loader.select_programs([name])).unwrap();
    assert_eq!((plan.programs().len(), plan.programs()[0].name()), (1, name));
    let text = plan.to_string();
    assert!(text.contains("program p\\u{1b}[2J: sched_cls") && text.contains("map m\\u{7}: "), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    let error = object().plan_on(kernel(|_| {}), |loader| loader.select_programs(["q\u{1b}"]));
    assert_eq!(line(&error.expect_err("refused")), "it has no program `q\\u{1b}`; it has p\\u{1b}[2J, other");
    // Settings are found by the whole name, however long.
    let long = "n".repeat(300);
    let mut m = TestObject::new();
    m.program(&long, "?tc", &returns(0));
    let plan = m.plan_on(kernel(|_| {}), |loader| loader.program_mut(&long).autoload = Some(true));
    assert_eq!(plan.unwrap().programs.len(), 1);
}

#[test]
fn missing_kernel_types_are_an_error_only_if_the_plan_needs_them() {
    assert!(program("tc").plan_on(no_types(), |_| {}).is_ok());
    let error = program("fentry/do_exit").error_on(no_types());
    assert!(
        error.starts_with("program `main`: the kernel's types are needed for the attach target: "),
        "{error}"
    );
    assert!(error.contains("CONFIG_DEBUG_INFO_BTF"), "{error}");
    let mut m = TestObject::new();
    let proto = m.types.func_proto(m.int, &[]);
    let func = m.types.func("bpf_kfunc", proto, 2);
    m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
    let main = m.program("main", "tc", &[call(-1), exit()]);
    let symbol = m.undefined("bpf_kfunc", false);
    m.refer(main, 0, symbol, true);
    let error = m.error_on(no_types());
    assert!(error.starts_with("the kernel's types are needed for externs: "), "{error}");
}

/// libbpf refuses the object.
#[test]
fn a_weak_kfunc_is_missing_on_a_kernel_without_types() {
    let mut m = TestObject::new();
    let proto = m.types.func_proto(m.int, &[]);
    let func = m.types.func("bpf_kfunc", proto, 2);
    m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
    let main = m.program("main", "tc", &[call(-1), exit()]);
    let symbol = m.undefined("bpf_kfunc", true);
    m.refer(main, 0, symbol, true);
    let plan = m.plan_on(no_types(), |_| {}).unwrap();
    // The call is poisoned, so that the verifier refuses the program only if it reaches the call.
    assert_ne!(plan.programs()[0].insns()[..8], call(-1).encode(Endian::native()));
}

#[test]
fn unknown_attach_targets_are_refused() {
    let error = program("fentry/do_exti").error();
    assert_eq!(
        error,
        "program `main`: attach target `do_exti` not found: no function `do_exti` in the BTF of the kernel or a loaded \
         module"
    );
    let error = program("tp_btf/sched_swich").error();
    assert!(error.contains("no typedef `btf_trace_sched_swich`"), "{error}");
    let error = program("fentry").error();
    assert!(error.contains("has no attach target"), "{error}");
    let error = program("freplace/f").error();
    assert!(
        error.contains("replaces function `f` of another program: set the target program before loading"),
        "{error}"
    );
}

#[test]
fn the_error_of_the_other_byte_order_names_the_machine() {
    let error = LoadPlanError::Endian { is_big: Endian::native() == Endian::Little };
    assert!(line(&error).contains("-endian, as this machine"));
}

#[test]
fn a_relocation_past_the_end_of_its_section_is_refused() {
    let mut m = TestObject::new();
    let main = m.program("main", "tc", &[&load(1, 0)[..], &returns(0)].concat());
    let data = m.section(".data", SectionKind::Data, &[0; 8]);
    let x = m.symbol("x", SymbolKind::Data, data, 0, 8);
    m.reloc(main, 32, x, 1);
    let error = m.error();
    assert!(error.contains("tc") && error.contains("32"), "{error}");
}

#[test]
fn zeroed_sections_take_no_memory_and_large_sections_are_refused() {
    let mut m = program("tc");
    m.bss(".bss", 1 << 30);
    let plan = m.plan().unwrap();
    assert_eq!((plan.maps()[0].value_size(), plan.maps()[0].data().len()), (1 << 30, 0));
    let mut m = program("tc");
    m.bss(".bss", 1 << 32);
    assert_eq!(
        m.error(),
        "map `.bss`: its value is too large: 4294967296 bytes, expected at most 4294967295"
    );
}

#[test]
fn a_legacy_map_whose_sixth_word_is_not_zero_is_refused() {
    let planned = |id: u32| {
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[&load(1, 0)[..], &returns(0)].concat());
        let words = [1u32, 4, 8, 1, 0, id].map(|word| Endian::native().u32_bytes(word)).concat();
        let maps = m.section("maps", SectionKind::Data, &words);
        let symbol = m.symbol("old", SymbolKind::Data, maps, 0, 24);
        m.refer(main, 0, symbol, false);
        m.plan_on(kernel(|_| {}), |_| {}).map(|plan| plan.maps().len())
    };
    assert_eq!(planned(0), Ok(1));
    let error = planned(3).unwrap_err().to_string();
    assert!(error.starts_with("map `old`: the sixth word of its definition is 3, expected 0: "), "{error}");
}
