//! Tests of linking programs.

mod sections;

use super::{LinkError, ProgramLinker};
use crate::{
    index::ProgramIndex,
    limits,
    load_plan::{LoadPlan, LoadPlanError, ProgramPlan},
    object::Object,
    test_support::{TestObject, call, exit, insns, line, load, returns, words},
};
use core_relo::insn::{Insn, LD_IMM64, opcode, pseudo};
use object::{SectionKind, SymbolKind, SymbolScope, write::SectionId};

/// Adds `.text` with the functions `a`, `b` and `c`: the given instruction and `exit`.
fn text(m: &mut TestObject, first: [Insn; 3]) -> SectionId {
    let code: Vec<Insn> = first.into_iter().flat_map(|insn| [insn, exit()]).collect();
    let text = m.code(".text", &code);
    for (name, start) in [("a", 0), ("b", 2), ("c", 4)] {
        m.function(name, text, start, 2);
    }
    text
}

const NOP: Insn = Insn { code: 0xb7, dst: 0, src: 0, off: 0, imm: 0 };

/// Returns the start and name of each function copy in the plan's programs.
fn function_copies(plan: &LoadPlan, functions: &[(usize, &'static str)]) -> Vec<(u32, &'static str)> {
    let name = |at: usize| functions.iter().find(|(n, _)| *n == at).map_or("?", |(_, name)| name);
    plan.programs()
        .iter()
        .flat_map(ProgramPlan::functions)
        .map(|copy| (copy.start, name(copy.function.0)))
        .collect()
}

const NAMES: [(usize, &str); 4] = [(0, "a"), (1, "b"), (2, "c"), (3, "main")];

fn link_error(m: TestObject) -> LinkError {
    let error = m.plan().unwrap_err();
    line(&error);
    match error {
        LoadPlanError::Link(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn a_program_with_too_many_instructions_is_no_program_without_a_call() {
    // `main` calls a subprogram of 999,999 instructions, which calls `last`. The limit is 1,000,000.
    let mut m = TestObject::new();
    let len = limits::PROGRAM_INSNS - 1;
    let mut code = vec![NOP; usize::try_from(len).unwrap()];
    code[0] = call(len.cast_signed() - 1);
    *code.last_mut().unwrap() = exit();
    code.extend([NOP, exit()]);
    let text = m.code(".text", &code);
    m.function("long", text, 0, len.into());
    m.function("last", text, len.into(), 2);
    let main = m.program("main", "xdp", &[call(-1), exit()]);
    let section = m.section_symbol(text);
    m.refer(main, 0, section, true);
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let linker = ProgramLinker::collect(&object).unwrap();
    let index = |name: &str| object.programs().iter().position(|p| p.name() == name.as_bytes()).unwrap();
    let mut loaded = vec![false; object.programs().len()];
    loaded[index("main")] = true;
    // The call of the long subprogram is found before the limit.
    let caller = linker.find_caller(&loaded, |function| Ok(function.0 == index("long")));
    assert_eq!(caller, Ok(Some(ProgramIndex(index("main")))));
    let caller = linker.find_caller(&loaded, |function| Ok(function.0 == index("last")));
    let expected = LinkError::TooLong { program: "main".into(), limit: limits::PROGRAM_INSNS };
    assert_eq!(caller.map_err(|error| error.to_string()), Err(expected.to_string()));
}

#[test]
fn subprograms_are_copied_once_in_depth_first_order() {
    let mut m = TestObject::new();
    // b calls c; c calls nothing.
    let text = text(&mut m, [NOP, call(1), NOP]);
    let main = m.program("main", "xdp", &[call(1), call(-1), call(1), exit()]);
    let section = m.section_symbol(text);
    m.refer(main, 0, section, true); // .text + (1 + 1): b
    m.refer(main, 1, section, true); // .text + (-1 + 1): a
    m.refer(main, 2, section, true); // b again
    let plan = m.plan().unwrap();
    assert_eq!(function_copies(&plan, &NAMES), [(0, "main"), (4, "b"), (6, "c"), (8, "a")]);
    let code = insns(&plan, "main");
    let calls: Vec<_> = code.iter().zip(0i32..).filter(|(i, _)| i.code == opcode::CALL).collect();
    let targets: Vec<_> = calls.iter().map(|(i, at)| (i.src, at + i.imm + 1)).collect();
    assert_eq!(targets, [(pseudo::CALL, 4), (pseudo::CALL, 8), (pseudo::CALL, 4), (pseudo::CALL, 6)]);
}

#[test]
fn calls_refer_to_global_functions_by_symbol_and_static_functions_by_section() {
    let mut m = TestObject::new();
    let text = m.code(".text", &[returns(1), returns(2)].concat());
    let hidden = m.function("a", text, 0, 2);
    m.set_scope(hidden, SymbolScope::Compilation);
    let global = m.function("b", text, 2, 2);
    let main = m.program("main", "xdp", &[call(-1), call(-1), exit()]);
    let section = m.section_symbol(text);
    m.refer(main, 0, global, true);
    m.refer(main, 1, section, true);
    let plan = m.plan().unwrap();
    assert_eq!(function_copies(&plan, &[(0, "a"), (1, "b"), (2, "main")]), [(0, "main"), (3, "b"), (5, "a")]);
    assert_eq!(insns(&plan, "main")[3..], [returns(2), returns(1)].concat());
}

#[test]
fn loaded_function_addresses_lead_to_copies() {
    let mut m = TestObject::new();
    let text = text(&mut m, [NOP; 3]);
    let code = [load(2, 0), load(3, 32)].concat();
    let main = m.program("main", "xdp", &[&code[..], &returns(0)].concat());
    let section = m.section_symbol(text);
    m.refer(main, 2, section, false); // .text + 32 bytes: c
    let b = m.function("b_alias", text, 2, 2);
    m.refer(main, 0, b, false);
    let plan = m.plan().unwrap();
    let code = insns(&plan, "main");
    let loads: Vec<_> = code.iter().zip(0i32..).filter(|(i, _)| i.code == LD_IMM64).collect();
    let targets: Vec<_> = loads.iter().map(|(i, at)| (i.src, at + i.imm + 1)).collect();
    assert_eq!(targets, [(pseudo::FUNC, 6), (pseudo::FUNC, 8)]);
    assert_eq!(code.len(), 10);
}

#[test]
fn recursive_functions_are_copied_once() {
    let mut m = TestObject::new();
    let text = text(&mut m, [call(1), call(-3), NOP]);
    let main = m.program("main", "xdp", &[call(-1), exit()]);
    let section = m.section_symbol(text);
    m.refer(main, 0, section, true);
    assert_eq!(function_copies(&m.plan().unwrap(), &NAMES), [(0, "main"), (2, "a"), (4, "b")]);
}

#[test]
fn a_call_has_to_lead_to_the_start_of_a_function() {
    for (imm, target) in [(0, 1), (4, 5), (5, 6), (-3, -2)] {
        let mut m = TestObject::new();
        let text = text(&mut m, [NOP; 3]);
        let main = m.program("main", "xdp", &[call(imm), exit()]);
        let section = m.section_symbol(text);
        m.refer(main, 0, section, true);
        let error = link_error(m);
        let (program, section, to) = ("main".into(), "xdp".into(), ".text".into());
        let expected = LinkError::Call { program, section, insn: 0, to, target };
        assert_eq!(error, expected);
        let message = format!("program `main`: insn 0 of xdp calls .text+{target}, where no function begins");
        assert_eq!(error.to_string(), message);
    }
    // Without a relocation, the target is in the same section.
    let mut m = TestObject::new();
    m.program("main", "xdp", &[call(0), exit()]);
    let message = "program `main`: insn 0 of xdp calls xdp+1, where no function begins";
    assert_eq!(link_error(m).to_string(), message);
}

#[test]
fn invalid_references_are_errors() {
    let error = |change: fn(&mut TestObject, SectionId)| {
        let mut m = TestObject::new();
        let main = m.program("main", "xdp", &[load(1, 0).as_slice(), &[call(-1)], &returns(0)].concat());
        change(&mut m, main);
        link_error(m).to_string()
    };
    let message = error(|m, main| {
        let data = m.section(".data", SectionKind::Data, &[0; 8]);
        let x = m.symbol("x", SymbolKind::Data, data, 0, 8);
        m.refer(main, 3, x, false);
    });
    assert_eq!(
        message,
        "xdp, insn 3: relocation against `x`: instruction code 0xb7, expected a call or a 64-bit load"
    );
    let message = error(|m, main| {
        let other = m.section(".data", SectionKind::Data, &[0; 16]);
        let f = m.function("f", other, 0, 2);
        m.refer(main, 2, f, true);
    });
    assert_eq!(message, "xdp, insn 2: reference to `f`: its section is not code, expected a function");
    let message = error(|m, main| {
        let section = m.section("elsewhere", SectionKind::Data, &[0; 8]);
        let x = m.symbol("x", SymbolKind::Data, section, 0, 8);
        m.refer(main, 0, x, false);
    });
    assert_eq!(
        message,
        "xdp, insn 0: reference to `x`: it is neither in a data section nor a map: expected a BTF-defined map in section `.maps`"
    );
    let message = error(|m, main| {
        let data = m.bss(".bss", 0);
        let x = m.symbol("x", SymbolKind::Data, data, 0, 0);
        m.refer(main, 0, x, false);
    });
    assert_eq!(message, "xdp, insn 0: reference to `x`: its section is empty");
}

#[test]
fn records_move_with_their_functions() {
    let mut m = TestObject::new();
    let text = text(&mut m, [NOP; 3]);
    let main = m.program("main", "xdp", &[call(-1), call(3), exit()]);
    let section = m.section_symbol(text);
    m.refer(main, 0, section, true);
    m.refer(main, 1, section, true);
    let types = ["main", "a", "b", "c"].map(|name| m.func_type(name, 1));
    m.func_info("xdp", &[(0, types[0])]);
    m.func_info(".text", &[(0, types[1]), (2, types[2]), (4, types[3])]);
    m.line_info("xdp", &[(0, 10), (1, 11)]);
    m.line_info(".text", &[(0, 1), (1, 2), (2, 3), (4, 5), (5, 6)]);
    let plan = m.plan().unwrap();
    let program = &plan.programs()[0];
    let [main, a, _, c] = types.map(|id| id.0);
    assert_eq!(words(program.func_info()), [0, main, 3, a, 5, c]);
    let lines: Vec<_> = words(program.line_info()).chunks(4).map(|r| (r[0], r[3] >> 10)).collect();
    assert_eq!(lines, [(0, 10), (1, 11), (3, 1), (4, 2), (5, 5), (6, 6)]);
}

#[test]
fn a_subprogram_needs_records_if_the_program_has_records() {
    let object_with = |records: fn(&mut TestObject)| {
        let mut m = TestObject::new();
        let text = text(&mut m, [NOP; 3]);
        let main = m.program("main", "xdp", &[call(-1), exit()]);
        let section = m.section_symbol(text);
        m.refer(main, 0, section, true);
        records(&mut m);
        m
    };
    let main_records = |m: &mut TestObject| {
        let ty = m.func_type("main", 1);
        m.func_info("xdp", &[(0, ty)]);
    };
    let error = link_error(object_with(main_records));
    assert_eq!(
        error,
        LinkError::MissingInfo { program: "main".into(), function: "a".into(), what: "func_info" }
    );
    let lines = |m: &mut TestObject| m.line_info("xdp", &[(0, 1)]);
    assert!(matches!(link_error(object_with(lines)), LinkError::MissingInfo { what: "line_info", .. }));
    let callee_records = |m: &mut TestObject| {
        let ty = m.func_type("a", 1);
        m.func_info(".text", &[(0, ty)]);
        m.line_info(".text", &[(0, 1)]);
    };
    let plan = object_with(callee_records).plan().unwrap();
    assert!(plan.programs()[0].func_info().is_empty() && plan.programs()[0].line_info().is_empty());
}

/// A program with an exception callback that no function calls.
fn throwing(tag: &str, linkage: u8, scope: SymbolScope) -> TestObject {
    let mut m = TestObject::new();
    let text = m.code(".text", &[returns(1), returns(2)].concat());
    m.function("a", text, 0, 2);
    let handler = m.function("handler", text, 2, 2);
    m.set_scope(handler, scope);
    let main = m.program("main", "xdp", &[call(-1), exit()]);
    let section = m.section_symbol(text);
    m.refer(main, 0, section, true);
    let ty = m.func_type("main", linkage);
    m.types.decl_tag(tag, ty, -1);
    m
}

#[test]
fn an_exception_callback_comes_last() {
    let plan = throwing("exception_callback:handler", 1, SymbolScope::Dynamic).plan().unwrap();
    assert_eq!(
        function_copies(&plan, &[(0, "a"), (1, "handler"), (2, "main")]),
        [(0, "main"), (2, "a"), (4, "handler")]
    );
    let plan = throwing("something_else:handler", 1, SymbolScope::Dynamic).plan().unwrap();
    assert_eq!(plan.programs()[0].functions().len(), 2);
}

#[test]
fn an_exception_callback_is_a_global_function_of_the_object() {
    let message = |m| link_error(m).to_string();
    let start = "program `main`: exception callback ";
    assert_eq!(
        message(throwing("exception_callback:nobody", 1, SymbolScope::Dynamic)),
        format!("{start}`nobody` is not a subprogram of the object")
    );
    for scope in [SymbolScope::Compilation, SymbolScope::Linkage] {
        let text = message(throwing("exception_callback:handler", 1, scope));
        assert_eq!(text, format!("{start}`handler` must be global and not hidden"));
    }
    assert_eq!(
        message(throwing("exception_callback:handler", 0, SymbolScope::Dynamic)),
        format!("{start}`handler` is tagged on something other than a global function")
    );
}

#[test]
fn relocations_of_an_overridden_function_are_skipped() {
    let mut m = TestObject::new();
    // Two instructions outside of functions refer to a section that is neither data nor maps.
    let xdp = m.code("xdp", &[load(1, 0).as_slice(), &returns(0)].concat());
    m.function("main", xdp, 2, 2);
    let section = m.section("elsewhere", SectionKind::Data, &[0; 8]);
    let x = m.symbol("x", SymbolKind::Data, section, 0, 8);
    m.refer(xdp, 0, x, false);
    assert_eq!(insns(&m.plan().unwrap(), "main"), returns(0));
}
