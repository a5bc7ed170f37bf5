//! Tests of subprograms outside of `.text`. libbpf refuses these objects, except where a test notes it.

use super::{function_copies, link_error};
use crate::{
    index::ProgramIndex,
    load_plan::{LoadPlan, ProgramPlan},
    object::Object,
    test_support::{TestObject, call, exit, insn, insns, kernel, load, returns, words},
};
use core_relo::insn::{Insn, LD_IMM64, opcode, pseudo};
use object::{
    SectionKind, SymbolScope,
    write::{SectionId, SymbolId},
};

/// A static function.
fn hidden(m: &mut TestObject, name: &str, section: SectionId, start: u64, len: u64) -> SymbolId {
    let function = m.function(name, section, start, len);
    m.set_scope(function, SymbolScope::Compilation);
    function
}

/// Returns the calls and loads of function addresses: instruction, source register, target.
fn call_targets(code: &[Insn]) -> Vec<(i32, u8, i32)> {
    let is_reference = |i: &Insn| (i.code == opcode::CALL || i.code == LD_IMM64) && i.src != 0;
    let found = code.iter().zip(0i32..).filter(|(i, _)| is_reference(i));
    found.map(|(i, at)| (at, i.src, at.saturating_add(i.imm).saturating_add(1))).collect()
}

/// Returns the names of the object's functions, and whether each is a subprogram.
fn subprogram_flags(m: TestObject) -> Vec<(String, bool)> {
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let kind =
        |p: &crate::object::Program<'_>| (String::from_utf8_lossy(p.name()).into_owned(), p.is_subprogram);
    object.programs().iter().map(kind).collect()
}

fn are_selected(plan: &LoadPlan) -> [bool; 2] {
    [0, 1].map(|function| plan.is_selected(ProgramIndex(function)))
}

fn names(plan: &LoadPlan) -> Vec<&str> {
    plan.programs().iter().map(ProgramPlan::name).collect()
}

/// `main` in `xdp` calls a static function in `util` by the section symbol, and loads the address of the next
/// function.
fn util() -> TestObject {
    let mut m = TestObject::new();
    let util = m.code("util", &[returns(1), returns(2)].concat());
    hidden(&mut m, "a", util, 0, 2);
    hidden(&mut m, "b", util, 2, 2);
    let main = m.program("main", "xdp", &[&[call(-1)], &load(2, 16)[..], &returns(0)].concat());
    let section = m.section_symbol(util);
    m.refer(main, 0, section, true);
    m.refer(main, 1, section, false);
    m
}

#[test]
fn static_functions_of_any_section_are_called() {
    let plan = util().plan().unwrap();
    assert_eq!(names(&plan), ["main"]);
    assert_eq!(function_copies(&plan, &[(0, "a"), (1, "b"), (2, "main")]), [(0, "main"), (5, "a"), (7, "b")]);
    let code = insns(&plan, "main");
    assert_eq!(call_targets(&code), [(0, pseudo::CALL, 5), (1, pseudo::FUNC, 7)]);
    assert_eq!(code[5..], [returns(1), returns(2)].concat());
    assert_eq!(subprogram_flags(util()), [("a".into(), true), ("b".into(), true), ("main".into(), false)]);
}

#[test]
fn functions_of_several_sections_call_each_other() {
    // main (xdp) → first (one) → second (two), by their symbols; second → third beside it, without a
    // relocation.
    let mut m = TestObject::new();
    let two = m.code("two", &[&[call(1), exit()], &returns(3)[..]].concat());
    let second = m.function("second", two, 0, 2);
    hidden(&mut m, "third", two, 2, 2);
    let first = m.code("one", &[call(-1), exit()]);
    let symbol = m.function("first", first, 0, 2);
    m.refer(first, 0, second, true);
    let main = m.program("main", "xdp", &[call(-1), exit()]);
    m.refer(main, 0, symbol, true);
    let plan = m.plan().unwrap();
    let functions = [(0, "second"), (1, "third"), (2, "first"), (3, "main")];
    assert_eq!(function_copies(&plan, &functions), [(0, "main"), (2, "first"), (4, "second"), (6, "third")]);
    assert_eq!(
        call_targets(&insns(&plan, "main")),
        [(0, pseudo::CALL, 2), (2, pseudo::CALL, 4), (4, pseudo::CALL, 6)]
    );
}

#[test]
fn a_program_that_another_calls_stays_a_program() {
    let object = || {
        let mut m = TestObject::new();
        let tc = m.code("tc", &[returns(1), [call(-1), exit()]].concat());
        let inner = m.function("inner", tc, 0, 2);
        m.function("outer", tc, 2, 2);
        m.refer(tc, 2, inner, true);
        m
    };
    let plan = object().plan().unwrap();
    assert_eq!(names(&plan), ["inner", "outer"]);
    assert_eq!(
        function_copies(&plan, &[(0, "inner"), (1, "outer")]),
        [(0, "inner"), (0, "outer"), (2, "inner")]
    );
    // The same if `inner` itself is not loaded.
    let plan = object().plan_on(kernel(|_| {}), |loader| loader.select_programs(["outer"])).unwrap();
    assert_eq!(names(&plan), ["outer"]);
    assert_eq!(insns(&plan, "outer")[2..], returns(1));
    assert_eq!(are_selected(&plan), [true, true], "its CO-RE relocations take part");
    let plan = object().plan_on(kernel(|_| {}), |loader| loader.select_programs(["inner"])).unwrap();
    assert_eq!(are_selected(&plan), [true, false]);
}

#[test]
fn static_or_typeless_called_functions_are_subprograms() {
    // In a section that says a type, a global function is a program, a static one a subprogram. In one that
    // says none, a function is a subprogram if another one refers to it.
    let mut m = TestObject::new();
    let xdp = m.code("xdp", &[returns(0), returns(1), [call(-1), exit()], [call(-3), exit()]].concat());
    hidden(&mut m, "static", xdp, 0, 2);
    m.function("called", xdp, 2, 2);
    m.function("calls_static", xdp, 4, 2);
    m.function("calls_called", xdp, 6, 2);
    let section = m.section_symbol(xdp);
    m.refer(xdp, 4, section, true);
    let other = m.code("?other", &[returns(0), [call(-2), exit()], [call(-1), exit()]].concat());
    m.function("alone", other, 0, 2);
    m.function("calls_alone_no_more", other, 2, 2);
    m.function("recursive", other, 4, 2);
    let section = m.section_symbol(other);
    m.refer(other, 4, section, true);
    let expected = [
        ("static", true),
        ("called", false),
        ("calls_static", false),
        ("calls_called", false),
        ("alone", true),
        ("calls_alone_no_more", false),
        ("recursive", false),
    ];
    let expected = expected.map(|(name, is)| (name.to_owned(), is));
    assert_eq!(subprogram_flags(m), expected);
}

#[test]
fn functions_without_references_are_programs() {
    // A function that calls only itself, code of no function that calls one, a table of programs: none of
    // them counts. libbpf refuses the static function.
    let mut m = TestObject::new();
    let xdp = m.code("xdp", &[returns(0), [call(-1), exit()], [call(-3), exit()]].concat());
    m.function("main", xdp, 0, 2);
    hidden(&mut m, "helper", xdp, 2, 2);
    let expected = ["main", "helper"].map(|name| (name.to_owned(), false));
    assert_eq!(subprogram_flags(m), expected);

    let mut m = TestObject::new();
    let xdp = m.code("xdp", &[returns(0), returns(1)].concat());
    m.function("main", xdp, 0, 2);
    hidden(&mut m, "alone", xdp, 2, 2);
    let plan = m.plan().unwrap();
    assert_eq!(names(&plan), ["main", "alone"]);
    assert_eq!(insns(&plan, "alone"), returns(1));

    let mut m = TestObject::new();
    let util = m.code("util", &returns(0));
    m.function("f", util, 0, 2);
    let table = m.types.func_proto(m.int, &[]);
    let (maps, _) =
        m.map("table", &[("type", 3), ("key_size", 4), ("value_size", 4), ("max_entries", 1)], Some(table));
    let f = m.section_symbol(util);
    m.reloc(maps, 32, f, 2);
    assert_eq!(subprogram_flags(m), [("f".into(), false)]);

    // A section without type and without callers is one that has no known program type: an object that libbpf
    // opens.
    let mut m = TestObject::new();
    m.program("f", "util", &returns(0));
    assert!(m.error().contains("section `util` has no known program type"));
    let mut m = TestObject::new();
    m.program("f", "?util", &returns(0));
    assert_eq!(m.plan().unwrap().skipped().len(), 1);
}

#[test]
fn a_callback_may_lie_in_any_section_and_has_its_own_symbol() {
    for scope in [SymbolScope::Compilation, SymbolScope::Dynamic] {
        let mut m = TestObject::new();
        let callbacks = m.code("callbacks", &[returns(1), returns(2)].concat());
        m.function("first", callbacks, 0, 2);
        let second = m.function("second", callbacks, 2, 2);
        m.set_scope(second, scope);
        let main = m.program("main", "xdp", &[load(2, 0), returns(0)].concat());
        m.refer(main, 0, second, false);
        let plan = m.plan_on(kernel(|_| {}), |loader| loader.select_programs(["main"])).unwrap();
        assert_eq!(call_targets(&insns(&plan, "main")), [(0, pseudo::FUNC, 4)]);
        assert_eq!(insns(&plan, "main")[4..], returns(2));
    }
}

/// `util` with a function of two instructions, and two more of none.
fn one_of_two(m: &mut TestObject) -> SectionId {
    let util = m.code("util", &[returns(1), returns(2)].concat());
    m.function("a", util, 0, 2);
    util
}

#[test]
fn calls_lead_to_starts_of_functions_in_any_section() {
    // `main` calls, or loads the address of, a symbol plus the immediate.
    let message = |insns: &[Insn], place: fn(&mut TestObject) -> SymbolId| {
        let mut m = TestObject::new();
        let main = m.program("main", "xdp", &[insns, &returns(0)[..]].concat());
        let symbol = place(&mut m);
        m.refer(main, 0, symbol, insns.len() == 1);
        let error = m.plan_on(kernel(|_| {}), |loader| loader.select_programs(["main"])).unwrap_err();
        error.to_string()
    };
    let in_the_middle = message(&[call(0)], |m| {
        let util = one_of_two(m);
        m.section_symbol(util)
    });
    assert_eq!(in_the_middle, "program `main`: insn 0 of xdp calls util+1, where no function begins");
    let in_the_middle = message(&load(2, 8), |m| {
        let util = one_of_two(m);
        m.section_symbol(util)
    });
    assert_eq!(in_the_middle, "program `main`: insn 0 of xdp calls util+1, where no function begins");
    let of_no_function = message(&[call(0)], |m| {
        let util = one_of_two(m);
        m.symbol("label", object::SymbolKind::Label, util, 8, 0)
    });
    assert_eq!(of_no_function, "program `main`: insn 0 of xdp calls util+2, where no function begins");
    let past_the_end = message(&[call(0)], |m| {
        let util = one_of_two(m);
        m.symbol("label", object::SymbolKind::Label, util, 800, 0)
    });
    assert_eq!(past_the_end, "program `main`: insn 0 of xdp calls util+101, where no function begins");
    let before_the_start = message(&[call(-9)], |m| {
        let util = one_of_two(m);
        m.section_symbol(util)
    });
    assert_eq!(before_the_start, "program `main`: insn 0 of xdp calls util+-8, where no function begins");
    let elsewhere = message(&[call(-1)], |m| {
        let data = m.section(".rodata", SectionKind::ReadOnlyData, &[0; 8]);
        m.symbol("odd", object::SymbolKind::Data, data, 0, 8)
    });
    assert_eq!(elsewhere, "xdp, insn 0: reference to `odd`: its section is not code, expected a function");
}

#[test]
fn cycles_across_sections_end() {
    // xdp/main → one/a → two/b → one/a, and two/b → xdp/main; the verifier refuses it.
    let mut m = TestObject::new();
    let one = m.code("one", &[call(-1), exit()]);
    let a = m.function("a", one, 0, 2);
    let two = m.code("two", &[call(-1), call(-1), exit()]);
    let b = m.function("b", two, 0, 3);
    let xdp = m.code("xdp", &[call(-1), exit()]);
    let main = m.function("main", xdp, 0, 2);
    m.refer(one, 0, b, true);
    m.refer(two, 0, a, true);
    m.refer(two, 1, main, true);
    m.refer(xdp, 0, a, true);
    let plan = m.plan().unwrap();
    assert_eq!(names(&plan), ["main"]);
    assert_eq!(function_copies(&plan, &[(0, "a"), (1, "b"), (2, "main")]), [(0, "main"), (2, "a"), (4, "b")]);
    let expected = [(0, 2), (2, 4), (4, 2), (5, 0)].map(|(at, to)| (at, pseudo::CALL, to));
    assert_eq!(call_targets(&insns(&plan, "main")), expected);
}

#[test]
fn long_chains_across_sections_need_no_stack() {
    let mut m = TestObject::new();
    let last = m.code("s", &returns(7));
    let mut callee = m.function("last", last, 0, 2);
    for n in 0..20_000 {
        let section = m.code(&format!("s{}", n % 3), &[call(-1), exit()]);
        let symbol = m.function(&format!("f{n}"), section, 0, 2);
        m.refer(section, 0, callee, true);
        callee = symbol;
    }
    let main = m.program("main", "xdp", &[call(-1), exit()]);
    m.program("other", "?xdp", &returns(0));
    m.refer(main, 0, callee, true);
    let plan = m.plan().unwrap();
    assert_eq!((names(&plan), plan.programs()[0].functions().len()), (vec!["main"], 20_002));
}

#[test]
fn functions_that_overlap_are_bounded() {
    // 20,000 functions of 80,000 instructions each, each beginning an instruction after the other and calling
    // all that follow.
    let code = vec![call(0); 100_000];
    let mut m = TestObject::new();
    let xdp = m.code("?xdp", &code);
    for n in 0..20_000u64 {
        m.function(&format!("f{n}"), xdp, n, 80_000);
    }
    let message = m.plan_on(kernel(|_| {}), |setup| setup.select_programs(["f0"])).unwrap_err().to_string();
    assert!(message.contains("with its subprograms has more than 1000000 instructions"), "{message}");
}

/// The records of functions that overlap are copied, or passed over, for each function.
#[test]
fn records_of_functions_that_overlap_are_bounded() {
    // 100 functions, each beginning an instruction after the other and calling the next. All have the
    // instruction 150.
    let code = [vec![call(0); 99], vec![exit(); 101]].concat();
    // Either all records are those of the instruction, or they follow one that is, and lie before all
    // functions but the first.
    for rest in [150, 0] {
        let mut m = TestObject::new();
        let xdp = m.code("?xdp", &code);
        for n in 0..100u64 {
            m.function(&format!("f{n}"), xdp, n, 200 - n);
        }
        let ty = m.func_type("f0", 1);
        let mut records = vec![(150, ty)];
        records.extend((0..200_000).map(|_| (rest, ty)));
        m.func_info("?xdp", &records);
        let plan = m.plan_on(kernel(|_| {}), |setup| setup.select_programs(["f0"]));
        let message = plan.unwrap_err().to_string();
        assert!(message.contains("its functions have more than 1000000 records in .BTF.ext"), "{message}");
    }
}

#[test]
fn records_of_any_section_move_with_their_functions() {
    let mut m = TestObject::new();
    let util = m.code("util", &[insn(0xb7, 1, 0, 0, 0); 6]);
    hidden(&mut m, "a", util, 0, 2);
    hidden(&mut m, "b", util, 2, 4);
    let xdp = m.code("xdp", &[[call(1), exit()], returns(5)].concat());
    let inner = m.function("inner", xdp, 2, 2);
    m.function("main", xdp, 0, 2);
    let section = m.section_symbol(util);
    m.refer(xdp, 0, section, true);
    let tc = m.program("other", "tc", &[call(-1), call(-1), exit()]);
    m.refer(tc, 0, inner, true);
    m.refer(tc, 1, section, true);
    let types = ["main", "inner", "a", "b", "other"].map(|name| m.func_type(name, 1));
    m.func_info("xdp", &[(0, types[0]), (2, types[1])]);
    m.func_info("util", &[(0, types[2]), (2, types[3])]);
    m.func_info("tc", &[(0, types[4])]);
    m.line_info("xdp", &[(0, 10), (2, 20), (3, 21)]);
    m.line_info("util", &[(0, 30), (2, 40), (5, 41)]);
    m.line_info("tc", &[(0, 50), (2, 51)]);
    let plan = m.plan().unwrap();
    assert_eq!(names(&plan), ["main", "inner", "other"]);
    let [main, inner, a, b, other] = types.map(|id| id.0);
    let lines = |at: usize| {
        let words = words(plan.programs()[at].line_info());
        words.chunks(4).map(|r| (r[0], r[3] >> 10)).collect::<Vec<_>>()
    };
    assert_eq!(words(plan.programs()[0].func_info()), [0, main, 2, b]);
    assert_eq!(lines(0), [(0, 10), (2, 40), (5, 41)]);
    assert_eq!(words(plan.programs()[1].func_info()), [0, inner]);
    assert_eq!(words(plan.programs()[2].func_info()), [0, other, 3, inner, 5, a]);
    assert_eq!(lines(2), [(0, 50), (2, 51), (3, 20), (4, 21), (5, 30)]);
}

#[test]
fn references_move_with_functions_of_any_section() {
    let mut m = TestObject::new();
    let (_, map) =
        m.map("counts", &[("type", 2), ("key_size", 4), ("value_size", 4), ("max_entries", 1)], None);
    let util = m.code("util", &[load(1, 0), returns(0)].concat());
    let f = hidden(&mut m, "f", util, 0, 4);
    m.refer(util, 0, map, false);
    let main = m.program("main", "xdp", &[call(-1), exit()]);
    m.refer(main, 0, f, true);
    let plan = m.plan().unwrap();
    let fixups: Vec<_> = plan.programs()[0].fixups().iter().map(|f| f.insn()).collect();
    assert_eq!(fixups, [2]);
}

#[test]
fn an_exception_callback_may_lie_in_any_section() {
    let tagged_object = |tag: &str, scope| {
        let mut m = TestObject::new();
        let handlers = m.code("handlers", &returns(2));
        let handler = m.function("handler", handlers, 0, 2);
        m.set_scope(handler, scope);
        m.program("main", "xdp", &returns(0));
        let ty = m.func_type("main", 1);
        m.types.decl_tag(tag, ty, -1);
        m
    };
    let plan = tagged_object("exception_callback:handler", SymbolScope::Dynamic).plan().unwrap();
    assert_eq!(names(&plan), ["main"]);
    assert_eq!(function_copies(&plan, &[(0, "handler"), (1, "main")]), [(0, "main"), (2, "handler")]);
    let message =
        link_error(tagged_object("exception_callback:handler", SymbolScope::Compilation)).to_string();
    assert!(message.ends_with("`handler` must be global and not hidden"), "{message}");
    let message = tagged_object("something_else:handler", SymbolScope::Dynamic).error();
    assert!(message.contains("section `handlers` has no known program type"), "{message}");
    // A program cannot be an exception callback.
    let mut m = tagged_object("exception_callback:other", SymbolScope::Dynamic);
    m.program("other", "tc", &returns(0));
    let error = m.plan_on(kernel(|_| {}), |loader| loader.select_programs(["main"])).unwrap_err();
    assert!(error.to_string().ends_with("`other` is not a subprogram of the object"), "{error}");
}
