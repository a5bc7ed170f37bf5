//! Repairs of `func_info` and `line_info` that the kernel would refuse.

use crate::{
    load_plan::{LoadPlan, RepairKind},
    test_support::{TestObject, call, exit, kernel, load, words},
};
use core_relo::{TypeId, ext::ExtPart};

/// `KERNEL_VERSION(6, 12, 0)`.
const LINUX_6_12: u32 = 0x6_0c00;

/// Returns an object with the program `main` of four instructions, the last of two slots, and the function
/// `a` that it calls. `functions` are the types in the `func_info` of `main` at each instruction, `lines` the
/// instructions of its `line_info`.
fn plan(functions: &[(u32, &str)], lines: &[(u32, u32)]) -> LoadPlan {
    let mut m = TestObject::new();
    let types = [m.func_type("main", 1), m.func_type("a", 0), m.int];
    let main = [&[call(-1), exit()][..], &load(1, 7), &[exit()]].concat();
    let xdp = m.program("main", "xdp", &main);
    let text = m.code(".text", &[exit(), exit()]);
    let a = m.function("a", text, 0, 2);
    m.refer(xdp, 0, a, true);
    let ty = |name: &str| match name {
        "main" => types[0],
        "a" => types[1],
        _ => types[2],
    };
    let functions: Vec<(u32, TypeId)> = functions.iter().map(|(insn, name)| (*insn, ty(name))).collect();
    m.func_info("xdp", &functions);
    m.func_info(".text", &[(0, types[1])]);
    m.line_info("xdp", lines);
    m.line_info(".text", &[(0, 1)]);
    let mut kernel = kernel(|_| {});
    kernel.kernel_version = LINUX_6_12;
    m.plan_on(kernel, |_| {}).unwrap()
}

/// Returns the repairs as text, and the instructions of the records that are sent.
fn repaired(plan: &LoadPlan) -> (Vec<String>, Vec<u32>, Vec<u32>) {
    let program = &plan.programs()[0];
    let instructions = |bytes: &[u8], count| words(bytes).chunks(count).map(|r| r[0]).collect();
    (
        plan.repairs().iter().map(ToString::to_string).collect(),
        instructions(program.func_info(), 2),
        instructions(program.line_info(), 4),
    )
}

#[test]
fn records_that_the_kernel_accepts_stay() {
    let plan = plan(&[(0, "main")], &[(0, 1), (1, 2), (4, 3)]);
    assert_eq!(repaired(&plan), (vec![], vec![0, 5], vec![0, 1, 4, 5]));
}

#[test]
fn records_that_the_kernel_refuses_are_left_out_and_the_rest_is_sorted() {
    let plan = plan(&[(0, "int"), (0, "main"), (1, "a")], &[(0, 1), (4, 4), (3, 3), (2, 2), (2, 9)]);
    let (repairs, functions, lines) = repaired(&plan);
    let kinds: Vec<_> = plan.repairs().iter().map(|repair| repair.kind).collect();
    assert_eq!(kinds, [RepairKind::FuncInfo, RepairKind::LineInfo]);
    let texts = [
        "program `main`: func_info record 0: the type is [1], which is no FUNC: sent as 2 of 4 records",
        "program `main`: line_info record 2: the instruction is 3, expected more than 4, and less than 7: sent as 4 of 6 records",
    ];
    assert_eq!(repairs, texts);
    assert_eq!((functions, lines), (vec![0, 5], vec![0, 2, 4, 5]));
}

#[test]
fn without_a_record_for_each_function_none_is_sent() {
    let plan = plan(&[(0, "int")], &[(1, 1)]);
    let (repairs, functions, lines) = repaired(&plan);
    let ends = ["sent as a program without func_info", "sent as a program without line_info"];
    assert!(repairs.iter().zip(ends).all(|(repair, end)| repair.ends_with(end)), "{repairs:?}");
    assert_eq!((repairs.len(), functions, lines), (2, vec![], vec![]));
}

#[test]
fn words_that_the_kernel_does_not_know_are_not_sent() {
    let mut m = TestObject::new();
    let ty = m.func_type("main", 1);
    m.program("main", "xdp", &[exit()]);
    m.raw_records(ExtPart::FuncInfo, "xdp", &[[0, ty.0, 9]]);
    let plan = m.plan().unwrap();
    assert_eq!(repaired(&plan), (vec![], vec![0], vec![]));
    assert_eq!(plan.programs()[0].func_info().len(), 8);
}
