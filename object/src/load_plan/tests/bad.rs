//! Errors of objects and settings: one line that names the cause and what to do.

use crate::{
    load_plan::{Host, LoadPlanError},
    target::KernelTypes,
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

fn no_types() -> Host {
    Host::offline(Arc::new(KernelTypes::none()))
}

#[test]
fn a_section_that_says_no_program_type() {
    let said = program("trampoline/x").error();
    assert!(said.starts_with("program `main`: section `trampoline/x` has no known program type: "), "{said}");
    assert!(said.contains("SEC(\"xdp\")"), "{said}");
    let set = |loader: &mut crate::test_support::Setup<'_, '_>| {
        loader.program("main").program_type = Some(crate::object::ProgramType::SocketFilter);
    };
    assert_eq!(program("trampoline/x").plan_on(kernel(|_| {}), set).unwrap().programs.len(), 1);
    let skip =
        |loader: &mut crate::test_support::Setup<'_, '_>| loader.program("main").autoload = Some(false);
    let plan = program("trampoline/x").plan_on(kernel(|_| {}), skip).unwrap();
    assert_eq!(skipped(&plan), [("main", "not selected")]);
}

#[test]
fn maps_that_are_not_defined_as_maps_are() {
    let said = |numbers: &[(&str, u32)]| {
        let mut m = program("tc");
        m.map("bad", numbers, None);
        m.error()
    };
    assert_eq!(
        said(&[("max_entries", 1)]),
        "map `bad`: it has no map type: add `__uint(type, BPF_MAP_TYPE_…)` to its definition"
    );
    let unknown = said(&[("type", 1), ("max_entry", 3)]);
    assert!(unknown.starts_with("map `bad`: unknown field `max_entry`, expected type, key"), "{unknown}");
    assert!(said(&[("type", 1), ("pinning", 2)]).starts_with("map `bad`: field `pinning`: neither 0"));
    assert!(
        said(&[("type", 1), ("key_size", 4), ("key_size", 8)])
            .contains("8 bytes, expected 4 as in an earlier field")
    );
    let mut m = program("tc").without_types();
    m.map("bad", &[("type", 1)], None);
    assert_eq!(m.error(), "map `bad`: no BTF describes it: compile with -g");
}

#[test]
fn a_static_map_is_never_taken_for_another() {
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
    for (name, at) in [("first", 0), ("second", 20)] {
        let symbol = m.symbol(name, SymbolKind::Data, legacy, at, 20);
        m.set_scope(symbol, SymbolScope::Compilation);
    }
    refers(&mut m, legacy, 20);
    assert_eq!(m.error(), "map `first`: it is static: remove `static`");

    // Maps that anybody sees, and code that says only the section.
    let by_section = |imm| {
        let mut m = TestObject::new();
        let (section, _) = m.map("first", &[("type", 2)], None);
        m.map("second", &[("type", 1)], None);
        refers(&mut m, section, imm);
        m
    };
    assert_eq!(by_section(0).plan().unwrap().programs()[0].fixups().len(), 1);
    let said = by_section(8).error();
    assert!(
        said.starts_with("tc, insn 0: ") && said.contains("a section symbol does not identify a map"),
        "{said}"
    );
}

#[test]
fn programs_maps_and_globals_that_the_object_does_not_have() {
    let error = |set: fn(&mut crate::test_support::Setup<'_, '_>)| {
        let mut m = program("tc");
        m.map("table", &[("type", 1)], None);
        line(&m.plan_on(kernel(|_| {}), set).expect_err("refused"))
    };
    let said = error(|loader| loader.program("mian").autoload = Some(false));
    assert_eq!(said, "it has no program `mian`; it has main");
    assert_eq!(error(|loader| loader.select_programs(["mian"])), "it has no program `mian`; it has main");
    assert_eq!(
        error(|loader| loader.map("tabel").max_entries = Some(1)),
        "it has no map `tabel`; it has table"
    );
}

#[test]
fn names_that_would_move_a_cursor_are_escaped_and_still_names() {
    let (name, map) = ("p\u{1b}[2J", "m\u{7}");
    let made = || {
        let mut m = TestObject::new();
        m.map(map, &[("type", 1)], None);
        m.program(name, "?tc", &returns(0));
        m.program("other", "xdp", &returns(0));
        m
    };
    let plan = made().plan_on(kernel(|_| {}), |loader| loader.select_programs([name])).unwrap();
    assert_eq!((plan.programs().len(), plan.programs()[0].name()), (1, name));
    let said = plan.to_string();
    assert!(said.contains("program p\\u{1b}[2J: sched_cls") && said.contains("map m\\u{7}: "), "{said}");
    assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{said}");
    let error = made().plan_on(kernel(|_| {}), |loader| loader.select_programs(["q\u{1b}"]));
    assert_eq!(line(&error.expect_err("refused")), "it has no program `q\\u{1b}`; it has p\\u{1b}[2J, other");
    // A setting for it is found by the whole name, however long.
    let long = "n".repeat(300);
    let mut m = TestObject::new();
    m.program(&long, "?tc", &returns(0));
    let plan = m.plan_on(kernel(|_| {}), |loader| loader.program(&long).autoload = Some(true));
    assert_eq!(plan.unwrap().programs.len(), 1);
}

#[test]
fn a_kernel_without_types_is_missed_only_where_they_are_needed() {
    assert!(program("tc").plan_on(no_types(), |_| {}).is_ok());
    let said = program("fentry/do_exit").error_on(no_types());
    assert!(said.starts_with("the kernel's types are needed for the attach target of a program: "), "{said}");
    assert!(said.contains("CONFIG_DEBUG_INFO_BTF"), "{said}");
    let mut m = TestObject::new();
    let proto = m.types.func_proto(m.int, &[]);
    let func = m.types.func("bpf_kfunc", proto, 2);
    m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
    let main = m.program("main", "tc", &[call(-1), exit()]);
    let symbol = m.undefined("bpf_kfunc", false);
    m.refer(main, 0, symbol, true);
    let said = m.error_on(no_types());
    assert!(said.starts_with("the kernel's types are needed for externs: "), "{said}");
}

#[test]
fn what_a_program_attaches_to_is_looked_for() {
    let said = program("fentry/do_exti").error();
    assert_eq!(
        said,
        "program `main`: attach target `do_exti` not found: no function `do_exti` in the BTF of the kernel or a loaded \
         module"
    );
    let said = program("tp_btf/sched_swich").error();
    assert!(said.contains("no typedef `btf_trace_sched_swich`"), "{said}");
    let said = program("fentry").error();
    assert!(said.contains("has no attach target"), "{said}");
    let said = program("freplace/f").error();
    assert!(
        said.contains("replaces function `f` of another program: set the target program before loading"),
        "{said}"
    );
}

#[test]
fn objects_of_the_other_byte_order_are_for_other_machines() {
    let error = LoadPlanError::Endian { is_big: Endian::native() == Endian::Little };
    assert!(line(&error).contains("-endian, as this machine"));
}

#[test]
fn a_relocation_past_the_end_of_its_section_is_refused_by_place() {
    let mut m = TestObject::new();
    let main = m.program("main", "tc", &[&load(1, 0)[..], &returns(0)].concat());
    let data = m.section(".data", SectionKind::Data, &[0; 8]);
    let x = m.symbol("x", SymbolKind::Data, data, 0, 8);
    m.reloc(main, 32, x, 1);
    let said = m.error();
    assert!(said.contains("tc") && said.contains("32"), "{said}");
}

#[test]
fn zeroed_sections_take_no_memory_and_too_large_ones_are_refused() {
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
