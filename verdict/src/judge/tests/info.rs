//! Verdicts on objects whose `func_info` or `line_info` violates the kernel's rules.

use super::*;
use core_relo::ext::ExtPart;

const TAIL_CALL: i32 = 12;

/// Returns an object with the program `main`, which calls `sub`. `sub` returns a type, and has an instruction
/// in dead code. The records are added by `records`, which gets the types of both functions.
fn object(
    insn_of_sub: Insn,
    returned: impl FnOnce(&mut TestObject) -> TypeId,
    records: impl FnOnce(&mut TestObject, [TypeId; 2]),
) -> TestObject {
    let mut m = TestObject::new();
    let main = m.program("main", "tc", &[&[call(-1)][..], &returns(0)].concat());
    let text = m.code(".text", &guarded(insn_of_sub, true));
    let sub = m.function("sub", text, 0, 5);
    m.refer(main, 0, sub, true);
    let main_type = m.func_type("main", 1);
    let returned = returned(&mut m);
    let proto = m.types.func_proto(returned, &[]);
    let sub_type = m.types.func("sub", proto, 0);
    records(&mut m, [main_type, sub_type]);
    m
}

/// Adds the records of both functions.
fn all_records(m: &mut TestObject, [main, sub]: [TypeId; 2]) {
    m.func_info("tc", &[(0, main)]);
    m.func_info(".text", &[(0, sub)]);
}

/// Returns the reasons of the first program that come from BTF.
fn btf_reasons(verdict: &ObjectVerdict) -> Vec<(Verdict, &str)> {
    let reasons = verdict.programs[0].reasons.iter().filter(|reason| reason.kind == ReasonKind::Btf);
    reasons.map(|reason| (reason.verdict, &*reason.text)).collect()
}

fn int(m: &mut TestObject) -> TypeId {
    m.int
}

#[test]
fn records_that_the_kernel_accepts_are_no_reason() {
    for insn in [helper(5), helper(TAIL_CALL), insn(0x30, 0, 0, 0, 0)] {
        let verdict = judge_object(object(insn, int, all_records));
        assert_eq!(worst(&verdict), (Verdict::Loads, None));
    }
}

#[test]
fn records_that_the_kernel_refuses_are_a_reason_for_libbpf_only() {
    let bytes = object(helper(5), int, |m, [main, sub]| {
        m.func_info("tc", &[(0, main)]);
        m.func_info(".text", &[(0, sub)]);
        // libbpf sends records in any order, and with words that no kernel knows.
        m.raw_records(ExtPart::LineInfo, "tc", &[[8, 0, 0, 0, 7], [0, 0, 0, 0, 0]]);
        m.raw_records(ExtPart::LineInfo, ".text", &[[0, 0, 0, 0, 0]]);
    })
    .bytes();
    let judge = |loader| judge_for(loader, &bytes, add_kernel, &KernelInputs::default(), None);
    let (sent, repaired) = (judge(LoaderKind::Libbpf), judge(LoaderKind::CoreRelo));
    let text = "line_info record 0: the record has a value after its last field that the kernel knows";
    assert_eq!(btf_reasons(&sent), [(Verdict::Refused, text)]);
    assert!(sent.programs[0].reasons.iter().all(|reason| reason.is_repaired));
    assert_eq!(
        (worst(&repaired), sent.programs[0].for_core_relo()),
        ((Verdict::Loads, None), Verdict::Loads)
    );
}

#[test]
fn records_out_of_order_are_refused_as_libbpf_sends_them() {
    let verdict = judge_object(object(helper(5), int, |m, types| {
        all_records(m, types);
        m.line_info("tc", &[(2, 2), (0, 1)]);
        m.line_info(".text", &[(0, 1)]);
    }));
    let text = "line_info record 0: function 0, which begins at instruction 0, has no record for its first instruction";
    assert_eq!(btf_reasons(&verdict), [(Verdict::Refused, text)]);
}

#[test]
fn tail_calls_and_packet_loads_of_functions_need_a_number_as_their_result() {
    let void = |_: &mut TestObject| TypeId::VOID;
    let verdict = |insn, records: fn(&mut TestObject, [TypeId; 2])| judge_object(object(insn, void, records));
    let text =
        "function 1 `sub`: it makes a tail call, expected a function that returns an integer or an enum";
    let tail_call = verdict(helper(TAIL_CALL), all_records);
    assert_eq!(btf_reasons(&tail_call), [(Verdict::Refused, text)]);
    assert!(!tail_call.programs[0].reasons[0].is_repaired);
    let text = "function 1: it loads packet data (`LD_ABS`, `LD_IND`), which is only allowed in functions with func_info, and in the first";
    assert_eq!(btf_reasons(&verdict(insn(0x50, 0, 0, 0, 0), |_, _| {})), [(Verdict::Refused, text)]);
}

#[test]
fn without_the_btf_no_records_are_sent() {
    let bad = |m: &mut TestObject, types| {
        all_records(m, types);
        m.line_info("tc", &[(1, 1)]);
        m.line_info(".text", &[(0, 1)]);
        m.types.int("bad", 4, Builder::SIGNED | Builder::CHAR);
    };
    assert_eq!(btf_reasons(&judge_object(object(helper(5), int, bad))), []);
    let verdict = judge_object(object(helper(TAIL_CALL), int, bad));
    let [(Verdict::Refused, text)] = &*btf_reasons(&verdict) else { panic!("{verdict:?}") };
    let expected =
        "a tail call in a function other than the first needs BTF, which the kernel refuses: type [";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_rule_of_some_kernels_leaves_the_verdict_open() {
    let wide = |m: &mut TestObject| m.types.enumeration64("e", 8, &[("A", 1)]);
    let on = |version| {
        let inputs = KernelInputs { version, ..KernelInputs::default() };
        let verdict = judge_on(object(helper(TAIL_CALL), wide, all_records), add_unmarked_kernel, &inputs);
        btf_reasons(&verdict).into_iter().map(|(verdict, _)| verdict).collect::<Vec<_>>()
    };
    assert_eq!(on(Some(KernelVersion::release(5, 10))), [Verdict::Unknown]);
    assert_eq!(on(None), [Verdict::Unknown]);
    assert_eq!(on(Some(KernelVersion::release(6, 12))), []);
    let verdict =
        judge_on(object(helper(TAIL_CALL), wide, all_records), add_unmarked_kernel, &KernelInputs::default());
    let reasons = btf_reasons(&verdict);
    let way_out = ", which the kernel may refuse: only some kernels have the rule: give the kernel's version (--kernel-version)";
    assert!(reasons.iter().all(|(_, text)| text.ends_with(way_out)), "{reasons:?}");
}

/// Returns an object with a program that passes the address of `callback` to a helper, behind a guard.
fn with_callback(linkage: Option<u8>, is_dead: bool) -> TestObject {
    let mut m = TestObject::new();
    let code = if is_dead { 0x15 } else { 0x55 };
    let [first, second] = load(2, 0);
    let [zero, exit] = returns(0);
    let main = [insn(0xb7, 6, 0, 0, 0), insn(code, 6, 0, 2, 0), first, second, zero, exit];
    let main = m.program("main", "tc", &main);
    let text = m.code(".text", &returns(0));
    let callback = m.function("callback", text, 0, 2);
    m.refer(main, 2, callback, false);
    if let Some(linkage) = linkage {
        let types = [m.func_type("main", 1), m.func_type("callback", linkage)];
        all_records(&mut m, types);
    }
    m
}

#[test]
fn a_callback_is_static_and_has_a_record() {
    let verdict = |linkage, is_dead| judge_object(with_callback(linkage, is_dead));
    let texts = |linkage, is_dead| {
        btf_reasons(&verdict(linkage, is_dead))
            .into_iter()
            .map(|(_, text)| text.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(Some(0), false), [""; 0]);
    assert_eq!(texts(Some(1), false), ["callback `callback` is a global function, expected a static one"]);
    assert_eq!(texts(None, false), ["callback `callback` has no func_info, which callbacks need"]);
    assert_eq!(texts(Some(1), true), [""; 0]);
}
