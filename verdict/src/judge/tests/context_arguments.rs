//! Verdicts on calls with something else than the context, or with the context in place of memory.

use super::{
    map_uses::{Age, HASH, LOOKUP, add_kernel_of, sized},
    *,
};
use core_relo::btf::Kind;

/// `bpf_skb_load_bytes`.
const LOAD_BYTES: i32 = 26;

/// `bpf_get_netns_cookie`.
const NETNS_COOKIE: i32 = 122;

/// Returns the reasons of the program about calls with the context.
fn context_reasons(object: TestObject) -> Vec<(Verdict, String)> {
    let verdict = judge_bytes(&object.bytes(), |b| add_kernel_of(Age::Newest, b), &KernelInputs::default());
    let program = verdict.programs.iter().find(|program| program.name == "main").unwrap();
    let is_about_call =
        |reason: &&Reason| reason.kind == ReasonKind::Context && reason.text.contains("takes");
    let about = program.reasons.iter().filter(is_about_call);
    about.map(|reason| (reason.verdict, reason.text.clone())).collect()
}

/// Returns `dst = src`.
const fn copy(dst: u8, src: u8) -> Insn {
    Insn { code: 0xbf, dst, src, off: 0, imm: 0 }
}

fn add(register: u8, number: i32) -> Insn {
    insn(0x07, register, 0, 0, number)
}

fn refused(text: &str) -> Vec<(Verdict, String)> {
    vec![(Verdict::Refused, text.to_owned())]
}

/// Protects what 5.10, 6.1, 6.12, 6.18 and 7.2 say. `check` said `loads`.
#[test]
fn helpers_that_take_the_context_take_nothing_else() {
    let found = |number: i32, insns: &[Insn]| {
        context_reasons(program("tc", &[insns, &[helper(number)], &returns(0)].concat()))
    };
    let text = |what: &str| {
        refused(&format!("helper bpf_skb_load_bytes takes the context, and the program passes {what}"))
    };
    assert_eq!(found(LOAD_BYTES, &[]), []);
    let stack = [copy(1, 10), add(1, -8)];
    assert_eq!(found(LOAD_BYTES, &stack), text("an address on the stack"));
    assert_eq!(found(LOAD_BYTES, &[add(1, 8)]), text("an address behind the start of the context"));
    assert_eq!(found(LOAD_BYTES, &[insn(0xb7, 1, 0, 0, 0)]), text("a constant"));
    assert_eq!(found(LOAD_BYTES, &[insn(0x79, 1, 1, 0, 0)]), text("a word of the context"));
    // A helper that takes null, too.
    assert_eq!(found(NETNS_COOKIE, &[insn(0xb7, 1, 0, 0, 0)]), []);
    // In one of two branches, r1 is the context.
    let branches = [copy(6, 1), helper(5), copy(1, 6), insn(0x15, 0, 0, 1, 0), copy(1, 10)];
    assert_eq!(found(LOAD_BYTES, &branches), [], "not known on every path");
    let dead = [insn(0xb7, 6, 0, 0, 0), insn(0x15, 6, 0, 2, 0), copy(1, 10), helper(LOAD_BYTES)];
    let code = [&dead[..], &returns(0)].concat();
    assert_eq!(context_reasons(program("tc", &code)), [], "dead code");
}

/// Protects against a refusal of a program that stores the context through an address that the trace does not
/// know. Kernels load them.
#[test]
fn a_slot_of_the_stack_that_may_be_the_context_is_no_constant() {
    let null = |slot: i16| [insn(0xb7, 1, 0, 0, 0), insn(0x7b, 10, 1, slot, 0)];
    let call_with = |slot: i16| [insn(0x79, 1, 10, slot, 0), helper(LOAD_BYTES)];
    // r7 = r0 ? r10 - 16 : r10 - 24.
    let either = [helper(5), copy(7, 10), add(7, -16), insn(0x15, 0, 0, 2, 0), copy(7, 10), add(7, -24)];
    let start = [&[copy(6, 1)][..], &null(-16), &null(-24), &either].concat();
    let expected = refused("helper bpf_skb_load_bytes takes the context, and the program passes a constant");
    let found = |insns: &[Insn]| context_reasons(program("tc", &[insns, &returns(0)].concat()));
    assert_eq!(found(&[&start[..], &call_with(-16)].concat()), expected);
    let stored = [&start[..], &[insn(0x7b, 7, 6, 0, 0)], &call_with(-16)].concat();
    assert_eq!(found(&stored), []);
    let with_function = |insns: &[Insn]| {
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[insns, &[call(-1)], &call_with(-24), &returns(0)].concat());
        let text = m.code(".text", &[&[insn(0x7b, 1, 2, 0, 0)][..], &returns(0)].concat());
        let function = m.function("store", text, 0, 3);
        m.refer(main, u64::try_from(insns.len()).unwrap(), function, true);
        context_reasons(m)
    };
    assert_eq!(with_function(&start), expected);
    assert_eq!(with_function(&[&start[..], &[copy(1, 7), copy(2, 6)]].concat()), []);
    // The address of the slot is in another slot.
    let address = [copy(1, 10), add(1, -24), insn(0x7b, 10, 1, -8, 0), copy(1, 10), add(1, -8)];
    assert_eq!(with_function(&[&start[..], &address].concat()), []);
}

#[test]
fn values_of_maps_are_no_context_of_helpers() {
    let mut m = TestObject::new();
    // r6 = ctx; r0 = lookup; if r0 == 0 goto +2; r1 = r0; bpf_skb_load_bytes.
    let insns = [helper(LOOKUP), insn(0x15, 0, 0, 2, 0), copy(1, 0), helper(LOAD_BYTES)];
    let main = m.program("main", "tc", &[&load(1, 0)[..], &insns, &returns(0)].concat());
    let (_, map) = m.map("m", &sized(HASH), None);
    m.refer(main, 0, map, false);
    let text =
        "helper bpf_skb_load_bytes takes the context, and the program passes the address of a map's value";
    assert_eq!(context_reasons(m), refused(text));
}

/// A call of a function, by what the program passes and what the function declares.
struct Call {
    insns: Vec<Insn>,
    parameter: fn(&mut Builder, TypeId) -> TypeId,
    linkage: u8,
    section: &'static str,
}

fn call_reasons(Call { insns, parameter, linkage, section }: Call) -> Vec<(Verdict, String)> {
    let mut m = TestObject::new();
    let main = m.program("main", section, &[&insns[..], &[call(-1)], &returns(0)].concat());
    let text = m.code(".text", &returns(0));
    let function = m.function("sub", text, 0, 2);
    m.refer(main, u64::try_from(insns.len()).unwrap(), function, true);
    let int = m.int;
    let pointee = parameter(&mut m.types, int);
    let pointer = m.types.pointer(pointee);
    let proto = m.types.func_proto(int, &[("p", pointer)]);
    let ty = m.types.func("sub", proto, linkage);
    let main_type = m.func_type("main", 1);
    m.func_info(section, &[(0, main_type)]);
    m.func_info(".text", &[(0, ty)]);
    context_reasons(m)
}

/// Protects what kernels say from 6.1 on. Linux 5.10 refuses pointers to memory as parameters, and the
/// context in place of it.
#[test]
fn global_functions_take_the_context_if_and_only_if_they_declare_it() {
    let buffer = |b: &mut Builder, int: TypeId| b.structure("__sk_buff", 4, &[("len", int, 0)]);
    let value = |b: &mut Builder, int: TypeId| b.structure("value", 4, &[("a", int, 0)]);
    let dynptr = |b: &mut Builder, _: TypeId| b.forward("bpf_dynptr", Kind::Struct);
    let call = |insns: &[Insn], parameter: fn(&mut Builder, TypeId) -> TypeId| Call {
        insns: insns.to_vec(),
        parameter,
        linkage: 1,
        section: "tc",
    };
    let expected =
        |what: &str| refused(&format!("a global function takes the context, and the program passes {what}"));
    let stack = [copy(1, 10), add(1, -8)];
    assert_eq!(call_reasons(call(&[], buffer)), []);
    assert_eq!(call_reasons(call(&stack, buffer)), expected("an address on the stack"));
    assert_eq!(
        call_reasons(call(&[add(1, 8)], buffer)),
        expected("an address behind the start of the context")
    );
    assert_eq!(call_reasons(call(&[insn(0xb7, 1, 0, 0, 0)], buffer)), expected("a constant"));
    let unexpected =
        refused("a global function takes the address of memory, and the program passes the context");
    assert_eq!(call_reasons(call(&[], value)), unexpected);
    assert_eq!(call_reasons(call(&[], dynptr)), unexpected);
    assert_eq!(call_reasons(call(&stack, value)), []);
    // Kernels since 6.3 take the kernel's struct for the context, too.
    let kernel = |b: &mut Builder, int: TypeId| b.structure("sk_buff", 4, &[("len", int, 0)]);
    assert_eq!(call_reasons(call(&[], kernel)), []);
    assert_eq!(call_reasons(Call { section: "xdp", ..call(&[], kernel) }), unexpected);
    // The verifier follows the call of a static function. In `syscall` programs, the context is memory.
    assert_eq!(call_reasons(Call { linkage: 0, ..call(&stack, buffer) }), []);
    assert_eq!(call_reasons(Call { section: "syscall", ..call(&[], value) }), []);
    assert_eq!(
        call_reasons(Call { section: "kprobe/f", ..call(&[], value) }),
        [],
        "registers have several names"
    );
}
