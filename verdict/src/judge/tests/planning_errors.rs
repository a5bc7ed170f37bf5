//! Errors of load plans that depend on the object alone: no verdict may be `loads`.

use super::*;
use core_relo_object::{
    load_plan::LoadPlan,
    test_support::{SectionKind, SymbolKind, kernel},
};

/// Returns the error of the load plan, and the verdict.
fn plan_and_judge(object: TestObject) -> (String, ObjectVerdict) {
    let bytes = object.bytes();
    let object = Object::parse(&bytes).unwrap();
    let plan = LoadPlan::new(&object, &Settings::default(), &kernel(add_kernel));
    let relocs = object.relocs().unwrap();
    let verdict = match ObjectNeeds::collect(&object, &relocs, &mut NeedTable::default()) {
        Ok(_) => judge_bytes(&bytes, add_kernel, &KernelInputs::default()),
        Err(error) => ObjectVerdict::refused_by_linker(&object, LoaderKind::default(), &error),
    };
    (plan.unwrap_err().to_string(), verdict)
}

/// Creates an object with a DATASEC `.data` of this size in the BTF. `has_section` is whether the ELF file
/// has the section.
fn with_data(size: u32, has_section: bool, entry: impl FnOnce(&mut TestObject) -> TypeId) -> TestObject {
    let mut m = program("tc", &returns(0));
    if has_section {
        m.section(".data", SectionKind::Data, &[0; 4]);
    }
    let entry = entry(&mut m);
    m.types.datasec(".data", size, &[(entry, 0, 4)]);
    m
}

fn variable(m: &mut TestObject) -> TypeId {
    let int = m.int;
    m.types.var("x", int, 1)
}

#[test]
fn objects_without_a_plan_on_any_kernel_are_refused_with_the_error_of_the_plan() {
    let undefined = {
        let mut m = program("tc", &[call(-1), exit()]);
        let symbol = m.undefined("nobody", false);
        let section = m.program("other", "xdp", &[call(-1), exit()]);
        m.refer(section, 0, symbol, true);
        m
    };
    let pinned = {
        let mut m = program("tc", &returns(0));
        let numbers = [("type", 2), ("key_size", 4), ("value_size", 4), ("max_entries", 1), ("pinning", 1)];
        m.map("../x", &numbers, None);
        m
    };
    let large = {
        let mut m = program("tc", &returns(0));
        m.bss(".bss", 1 << 32);
        m
    };
    let jump_table = {
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[&load(1, 0)[..], &returns(0)].concat());
        let tables = m.section(".jumptables", SectionKind::Data, &[0; 8]);
        let table = m.symbol("table", SymbolKind::Data, tables, 0, 16);
        m.refer(main, 0, table, false);
        m
    };
    let cases = [
        (with_data(4, true, |m| m.int), "its entry 0 is not a VAR"),
        (with_data(0, false, variable), "the object has no such section"),
        (with_data(0, true, variable), "variable `x` has no symbol"),
        (undefined, "undefined: `nobody`"),
        (pinned, "it cannot be pinned by name"),
        (large, "its value is too large"),
        (jump_table, "a table extends past the end of the section"),
    ];
    for (object, expected) in cases {
        let (error, verdict) = plan_and_judge(object);
        assert!(error.contains(expected), "{error}, expected {expected}");
        assert_eq!(verdict.verdict, Verdict::Refused, "{expected}");
        let is_named = verdict.programs.iter().any(|p| p.reasons.iter().any(|r| r.text.contains(expected)));
        assert!(is_named, "{verdict:?}, expected {expected}");
    }
}

#[test]
fn names_of_maps_and_programs_that_the_kernel_refuses_are_reasons_unless_the_loader_changes_them() {
    let object = || {
        let mut m = program("tc", &returns(0));
        let numbers = [("type", 2), ("key_size", 4), ("value_size", 4), ("max_entries", 1)];
        m.map("m::<q>::q", &numbers, None);
        m.program("run::it", "xdp", &returns(0));
        m.bytes()
    };
    let problem = "its name has other characters than letters, digits, `_` and `.`, which the kernel refuses";
    let verdict = judge_bytes(&object(), add_kernel, &KernelInputs::default());
    let texts: Vec<Vec<_>> =
        verdict.programs.iter().map(|p| p.reasons.iter().map(|r| r.text.clone()).collect()).collect();
    let of_map = format!("map m::<q>::q: {problem}");
    assert_eq!(texts, [vec![of_map.clone()], vec![of_map, problem.to_owned()]]);
    let inputs = KernelInputs::default();
    let load = judge_with_settings(&object(), add_kernel, &inputs, Some(&Settings::default()));
    assert_eq!(load.verdict, Verdict::Loads, "{load:?}");
}

#[test]
fn a_pointer_in_a_data_section_that_stays_null_is_a_warning() {
    /// `R_BPF_64_ABS64`.
    const ABS64: u32 = 2;
    let mut m = TestObject::new();
    let code = m.code("tc", &returns(0));
    let main = m.function("main", code, 0, 2);
    let data = m.section(".data", SectionKind::Data, &[0; 16]);
    m.symbol("table", SymbolKind::Data, data, 8, 8);
    m.reloc(data, 8, main, ABS64);
    let verdict = judge_object(m);
    assert_eq!(verdict.verdict, Verdict::Loads, "{verdict:?}");
    let [warning] = &verdict.warnings[..] else { panic!("{verdict:?}") };
    assert_eq!(warning.kind, crate::mismatch::MismatchKind::NullPointer);
    assert_eq!(warning.text, "variable `table` (.data+0x8): the pointer to `main` stays null");
}
