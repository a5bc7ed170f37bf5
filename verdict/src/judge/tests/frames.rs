//! Accesses to a struct on the program's stack, whose member the kernel has at another offset.

use super::*;

/// The number of `FIELD_BYTE_OFFSET`.
const BYTE_OFFSET: u32 = 0;

/// Returns a program that reads the second member of a struct on its stack. The record is at the instruction
/// `4 + between.len()`.
fn reads_member(base: i32, between: &[Insn]) -> Vec<Insn> {
    let store = [insn(0xb7, 0, 0, 0, 0), insn(0x7b, 10, 0, -8, 0)];
    let address = [insn(0xbf, 6, 10, 0, 0), insn(0x07, 6, 0, 0, base)];
    [&store[..], &address, between, &[insn(0x61, 0, 6, 4, 0)], &returns(0)].concat()
}

/// Returns the reasons of a program with a record at an instruction. The kernel has the second member at this
/// offset in bits.
fn reasons(code: &[Insn], at: u32, bits: u32) -> Vec<Reason> {
    let mut m = TestObject::new();
    let int = m.int;
    let root = m.types.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
    m.program("main", "kprobe/foo", code);
    m.core_relo("kprobe/foo", &[(at, root, "0:1", BYTE_OFFSET)]);
    let add_kernel = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_KPROBE", 2)]);
        b.structure("s", 32, &[("b", int, bits), ("a", int, 224)]);
    };
    let verdict = judge_on(m, add_kernel, &KernelInputs::default());
    let mut reasons = verdict.programs[0].reasons.clone();
    reasons.retain(|reason| reason.kind == ReasonKind::Relocation);
    reasons
}

#[test]
fn an_access_that_moves_out_of_the_stack_is_refused() {
    let [above] = &reasons(&reads_member(-8, &[]), 4, 64)[..] else { panic!("one reason") };
    assert_eq!((above.kind, above.verdict), (ReasonKind::Relocation, Verdict::Refused));
    let text = "struct s.b: reads 4 bytes above the program's stack, at offset 0 from the frame pointer";
    assert_eq!(above.text, text);
    let evidence = above.evidence.as_ref().map(|evidence| &*evidence.text);
    assert_eq!(evidence, Some("struct s.b is at offset 8, and at 4 in the object"));
    assert!(above.fix.as_ref().is_some_and(|fix| fix.contains("preserve_access_index")));
    let [below] = &reasons(&reads_member(-516, &[]), 4, 0)[..] else { panic!("one reason") };
    assert!(below.text.ends_with("below the program's stack, at offset -516 from the frame pointer"));
}

#[test]
fn other_accesses_to_the_stack_are_no_reason() {
    for (base, bits, why) in [(-8, 32, "the kernel has the same offset"), (-24, 64, "inside of the frame")] {
        assert_eq!(reasons(&reads_member(base, &[]), 4, bits), [], "{why}");
    }
    // if (r0 != 0) goto +1; r6 = r10 - 8 instead of r10 - 24
    let two_addresses = [insn(0x55, 1, 0, 1, 0), insn(0x07, 6, 0, 0, -16)];
    assert_eq!(reasons(&reads_member(-8, &two_addresses), 6, 64), []);
    let dead = [insn(0x15, 0, 0, 1, 0)];
    assert_eq!(reasons(&reads_member(-8, &dead), 5, 64), []);
}
