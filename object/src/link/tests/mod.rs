//! Putting programs together, from objects made byte by byte.

mod sections;

use super::{LinkError, PSEUDO_FUNC};
use crate::{
    load_plan::{LoadPlan, LoadPlanError},
    object::calls::{CALL, PSEUDO_CALL},
    test_support::{TestObject, call, exit, insns, line, load, returns, words},
};
use core_relo::insn::{Insn, LD_IMM64};
use object::{SectionKind, SymbolKind, SymbolScope, write::SectionId};

/// `.text` with three functions of two instructions, `a`, `b` and `c`, whose first one is given.
fn text(m: &mut TestObject, first: [Insn; 3]) -> SectionId {
    let code: Vec<Insn> = first.into_iter().flat_map(|insn| [insn, exit()]).collect();
    let text = m.code(".text", &code);
    for (name, start) in [("a", 0), ("b", 2), ("c", 4)] {
        m.function(name, text, start, 2);
    }
    text
}

const NOTHING: Insn = Insn { code: 0xb7, dst: 0, src: 0, off: 0, imm: 0 };

/// The functions a program is made of, by name, with where they begin.
fn pieces(plan: &LoadPlan, of: &[(usize, &'static str)]) -> Vec<(u32, &'static str)> {
    let name = |at: usize| of.iter().find(|(n, _)| *n == at).map_or("?", |(_, name)| name);
    plan.programs.iter().flat_map(|p| &p.pieces).map(|(start, at)| (*start, name(*at))).collect()
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
fn subprograms_follow_in_the_order_they_are_met_depth_first_and_once() {
    let mut m = TestObject::new();
    // b calls c; nobody calls further.
    let text = text(&mut m, [NOTHING, call(1), NOTHING]);
    let main = m.program("main", "xdp", &[call(1), call(-1), call(1), exit()]);
    let section = m.section_symbol(text);
    m.refer(main, 0, section, true); // .text + (1 + 1): b
    m.refer(main, 1, section, true); // .text + (-1 + 1): a
    m.refer(main, 2, section, true); // b again
    let plan = m.plan().unwrap();
    assert_eq!(pieces(&plan, &NAMES), [(0, "main"), (4, "b"), (6, "c"), (8, "a")]);
    let code = insns(&plan, "main");
    let calls: Vec<_> = code.iter().zip(0i32..).filter(|(i, _)| i.code == CALL).collect();
    let led: Vec<_> = calls.iter().map(|(i, at)| (i.src, at + i.imm + 1)).collect();
    assert_eq!(led, [(PSEUDO_CALL, 4), (PSEUDO_CALL, 8), (PSEUDO_CALL, 4), (PSEUDO_CALL, 6)]);
}

#[test]
fn global_functions_are_called_by_their_symbol_and_static_ones_by_their_place() {
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
    assert_eq!(pieces(&plan, &[(0, "a"), (1, "b"), (2, "main")]), [(0, "main"), (3, "b"), (5, "a")]);
    assert_eq!(insns(&plan, "main")[3..], [returns(2), returns(1)].concat());
}

#[test]
fn an_address_of_a_function_is_one_of_its_copy() {
    let mut m = TestObject::new();
    let text = text(&mut m, [NOTHING; 3]);
    let code = [load(2, 0), load(3, 32)].concat();
    let main = m.program("main", "xdp", &[&code[..], &returns(0)].concat());
    let section = m.section_symbol(text);
    m.refer(main, 2, section, false); // .text + 32 bytes: c
    let b = m.function("also_b", text, 2, 2);
    m.refer(main, 0, b, false);
    let plan = m.plan().unwrap();
    let code = insns(&plan, "main");
    let loads: Vec<_> = code.iter().zip(0i32..).filter(|(i, _)| i.code == LD_IMM64).collect();
    let led: Vec<_> = loads.iter().map(|(i, at)| (i.src, at + i.imm + 1)).collect();
    assert_eq!(led, [(PSEUDO_FUNC, 6), (PSEUDO_FUNC, 8)]);
    assert_eq!(code.len(), 10);
}

#[test]
fn functions_that_call_each_other_are_copied_once_and_left_for_the_verifier_to_refuse() {
    let mut m = TestObject::new();
    let text = text(&mut m, [call(1), call(-3), NOTHING]);
    let main = m.program("main", "xdp", &[call(-1), exit()]);
    let section = m.section_symbol(text);
    m.refer(main, 0, section, true);
    assert_eq!(pieces(&m.plan().unwrap(), &NAMES), [(0, "main"), (2, "a"), (4, "b")]);
}

#[test]
fn a_call_has_to_lead_to_the_start_of_a_function() {
    for (imm, target) in [(0, 1), (4, 5), (5, 6), (-3, -2)] {
        let mut m = TestObject::new();
        let text = text(&mut m, [NOTHING; 3]);
        let main = m.program("main", "xdp", &[call(imm), exit()]);
        let section = m.section_symbol(text);
        m.refer(main, 0, section, true);
        let error = link_error(m);
        let (program, section, to) = ("main".into(), "xdp".into(), ".text".into());
        let expected = LinkError::Call { program, section, insn: 0, to, target };
        assert_eq!(error, expected);
        let said = format!("program `main`: insn 0 of xdp calls .text+{target}, where no function begins");
        assert_eq!(error.to_string(), said);
    }
    // Without a relocation it leads to a place in its own section.
    let mut m = TestObject::new();
    m.program("main", "xdp", &[call(0), exit()]);
    let said = "program `main`: insn 0 of xdp calls xdp+1, where no function begins";
    assert_eq!(link_error(m).to_string(), said);
}

#[test]
fn references_that_make_no_sense_are_named() {
    let error = |change: fn(&mut TestObject, SectionId)| {
        let mut m = TestObject::new();
        let main = m.program("main", "xdp", &[load(1, 0).as_slice(), &[call(-1)], &returns(0)].concat());
        change(&mut m, main);
        link_error(m).to_string()
    };
    let said = error(|m, main| {
        let data = m.section(".data", SectionKind::Data, &[0; 8]);
        let x = m.symbol("x", SymbolKind::Data, data, 0, 8);
        m.refer(main, 3, x, false);
    });
    assert_eq!(
        said,
        "xdp, insn 3: a relocation against `x`, but the instruction (code 0xb7) is neither a call nor a 64-bit load"
    );
    let said = error(|m, main| {
        let other = m.section(".data", SectionKind::Data, &[0; 16]);
        let f = m.function("f", other, 0, 2);
        m.refer(main, 2, f, true);
    });
    assert_eq!(said, "xdp, insn 2: reference to `f`: functions lie in sections of code");
    let said = error(|m, main| {
        let section = m.section("elsewhere", SectionKind::Data, &[0; 8]);
        let x = m.symbol("x", SymbolKind::Data, section, 0, 8);
        m.refer(main, 0, x, false);
    });
    assert_eq!(said, "xdp, insn 0: reference to `x`: no map is defined there, and the section holds no data");
    let said = error(|m, main| {
        let data = m.bss(".bss", 0);
        let x = m.symbol("x", SymbolKind::Data, data, 0, 0);
        m.refer(main, 0, x, false);
    });
    assert_eq!(said, "xdp, insn 0: reference to `x`: its section is empty");
}

#[test]
fn records_move_with_their_functions() {
    let mut m = TestObject::new();
    let text = text(&mut m, [NOTHING; 3]);
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
    let program = &plan.programs[0];
    let [main, a, _, c] = types.map(|id| id.0);
    assert_eq!(words(&program.func_info), [0, main, 3, a, 5, c]);
    let lines: Vec<_> = words(&program.line_info).chunks(4).map(|r| (r[0], r[3] >> 10)).collect();
    assert_eq!(lines, [(0, 10), (1, 11), (3, 1), (4, 2), (5, 5), (6, 6)]);
}

#[test]
fn a_subprogram_without_record_is_refused_if_the_program_has_one_and_only_then() {
    let made = |records: fn(&mut TestObject)| {
        let mut m = TestObject::new();
        let text = text(&mut m, [NOTHING; 3]);
        let main = m.program("main", "xdp", &[call(-1), exit()]);
        let section = m.section_symbol(text);
        m.refer(main, 0, section, true);
        records(&mut m);
        m
    };
    let own = |m: &mut TestObject| {
        let ty = m.func_type("main", 1);
        m.func_info("xdp", &[(0, ty)]);
    };
    let error = link_error(made(own));
    assert_eq!(error, LinkError::Info { program: "main".into(), function: "a".into(), what: "func_info" });
    let lines = |m: &mut TestObject| m.line_info("xdp", &[(0, 1)]);
    assert!(matches!(link_error(made(lines)), LinkError::Info { what: "line_info", .. }));
    let theirs = |m: &mut TestObject| {
        let ty = m.func_type("a", 1);
        m.func_info(".text", &[(0, ty)]);
        m.line_info(".text", &[(0, 1)]);
    };
    let plan = made(theirs).plan().unwrap();
    assert!(plan.programs[0].func_info.is_empty() && plan.programs[0].line_info.is_empty());
}

/// A program whose exception callback is a subprogram that nobody calls.
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
    m.types.decl_tag(tag, ty, -1, false);
    m
}

#[test]
fn an_exception_callback_comes_last() {
    let plan = throwing("exception_callback:handler", 1, SymbolScope::Dynamic).plan().unwrap();
    assert_eq!(
        pieces(&plan, &[(0, "a"), (1, "handler"), (2, "main")]),
        [(0, "main"), (2, "a"), (4, "handler")]
    );
    let plan = throwing("something_else:handler", 1, SymbolScope::Dynamic).plan().unwrap();
    assert_eq!(plan.programs[0].pieces.len(), 2);
}

#[test]
fn an_exception_callback_is_a_global_function_of_the_object() {
    let said = |m| link_error(m).to_string();
    let start = "program `main`: exception callback ";
    assert_eq!(
        said(throwing("exception_callback:nobody", 1, SymbolScope::Dynamic)),
        format!("{start}`nobody` is not a function of the object")
    );
    for scope in [SymbolScope::Compilation, SymbolScope::Linkage] {
        let text = said(throwing("exception_callback:handler", 1, scope));
        assert_eq!(text, format!("{start}`handler` has to be global and not hidden"));
    }
    assert_eq!(
        said(throwing("exception_callback:handler", 0, SymbolScope::Dynamic)),
        format!("{start}`handler` is not a tag of a global function")
    );
}

#[test]
fn relocations_of_an_overridden_function_are_passed_over() {
    let mut m = TestObject::new();
    // Two instructions that belong to no function refer to something that is not there.
    let xdp = m.code("xdp", &[load(1, 0).as_slice(), &returns(0)].concat());
    m.function("main", xdp, 2, 2);
    let section = m.section("elsewhere", SectionKind::Data, &[0; 8]);
    let x = m.symbol("x", SymbolKind::Data, section, 0, 8);
    m.refer(xdp, 0, x, false);
    assert_eq!(insns(&m.plan().unwrap(), "main"), returns(0));
}
