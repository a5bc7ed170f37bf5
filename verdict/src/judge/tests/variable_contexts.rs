//! Accesses to the context at offsets that the verifier does not know.

use super::*;

/// `bpf_get_prandom_u32`.
const RANDOM: i32 = 7;

const SAVE: Insn = Insn { code: 0xbf, dst: 6, src: 1, off: 0, imm: 0 };

/// Returns `r0 op= imm`.
fn with_immediate(code: u8, imm: i32) -> Insn {
    insn(code, 0, 0, 0, imm)
}

/// Returns the first reason about the context: `r6` is the context, and `r0` a random number, before the
/// instructions.
fn reason(section: &str, insns: &[Insn]) -> Option<(Verdict, String)> {
    let code = [&[SAVE, helper(RANDOM)][..], insns, &returns(0)].concat();
    let verdict = judge_on(program(section, &code), add_kernel, &KernelInputs::default());
    let mut reasons = verdict.programs[0].reasons.iter();
    let found = reasons.find(|reason| reason.kind == ReasonKind::Context);
    found.map(|reason| (reason.verdict, reason.text.clone()))
}

/// Returns `r6 += r0; r2 = *(u32 *)(r6 + 48)`.
fn read() -> [Insn; 2] {
    [insn(0x0f, 6, 0, 0, 0), insn(0x61, 2, 6, 48, 0)]
}

/// Every kernel refuses such an access. `check` said `loads`.
#[test]
fn an_offset_that_is_no_constant_is_refused() {
    let text = "reads 4 bytes of its context at an offset that is no constant for the verifier";
    let refused = Some((Verdict::Refused, text.to_owned()));
    let masked = [&[with_immediate(0x57, 12)][..], &read()].concat();
    for section in ["tc", "xdp", "kprobe/f", "tp_btf/t"] {
        assert_eq!(reason(section, &masked), refused, "{section}");
    }
    // Newer kernels permit it in `syscall` programs. An extension may receive other memory.
    for section in ["syscall", "freplace/other"] {
        assert_eq!(reason(section, &masked), None, "{section}");
    }
    let other_order = [with_immediate(0x57, 12), insn(0x0f, 0, 6, 0, 0), insn(0x61, 2, 0, 48, 0)];
    assert_eq!(reason("tc", &other_order), refused);
    let stored = [with_immediate(0x57, 12), insn(0x0f, 6, 0, 0, 0), insn(0x63, 6, 0, 48, 0)];
    assert_eq!(reason("tc", &stored).map(|(_, text)| text), Some(text.replacen("reads", "writes", 1)));
}

#[test]
fn an_offset_that_is_a_constant_for_the_verifier_is_none_of_these() {
    // A mask and a shift that leave zero, and numbers that comparisons leave.
    let zero = [&[with_immediate(0x57, 4), with_immediate(0x77, 3)][..], &read()].concat();
    let compared = [&[insn(0x55, 0, 0, 2, 0)][..], &read()].concat();
    // r0 = 0 on both paths.
    let joined =
        [insn(0x15, 0, 0, 2, 0), with_immediate(0xb7, 0), insn(0x05, 0, 0, 1, 0), with_immediate(0xb7, 0)];
    let joined = [&joined[..], &read()].concat();
    let dead = [&[insn(0xb7, 8, 0, 0, 0), insn(0x15, 8, 0, 2, 0)][..], &read()].concat();
    for code in [zero, compared, joined, dead] {
        assert_eq!(reason("tc", &code), None);
    }
}
