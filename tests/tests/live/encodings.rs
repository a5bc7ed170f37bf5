//! Instructions with changed fields: the verdict beside the load of the running kernel. `CORE_RELO_SEED`
//! selects the programs, `CORE_RELO_ROUNDS` their number.

use super::{
    generated::{judge_all, number},
    harness::{Need, live},
};
use core_relo::insn::{Class, Insn, LD_IMM64};
use core_relo_loader::{Loader, object::Object};
use core_relo_object::test_support::{TestObject, insn};
use core_relo_verdict::judge::Verdict;
use fastrand::Rng;

/// The parts of verifier logs about the encoding of instructions and the structure of programs.
const RULES: [&str; 14] = [
    "unknown opcode",
    "uses reserved fields",
    "is invalid",
    "invalid shift",
    "div by zero",
    "frame pointer is read only",
    "jump out of range",
    "jump into the middle",
    "last insn is not an exit or jmp",
    "unreachable insn",
    "invalid bpf_ld_imm64 insn",
    "unrecognized bpf_ld_imm64 insn",
    "invalid atomic opcode",
    "not allowed for this program type",
];

/// The opcode of a helper's call, and of the jump whose target a table tells.
const CALL: u8 = 0x85;
const INDIRECT_JUMP: u8 = 0x0d;

/// Returns a valid instruction with the opcode, as far as there is one: on numbers in r0, r2 and r3, and on
/// the stack.
fn valid(code: u8) -> Insn {
    let insn = Insn { code, ..Insn::default() };
    match insn.class() {
        Class::Ld if code & 0xe0 == 0x40 => Insn { src: 2, ..insn },
        Class::Ld => insn,
        Class::Ldx => Insn { dst: 3, src: 10, off: -8, ..insn },
        Class::St => Insn { dst: 10, off: -8, ..insn },
        Class::Stx => Insn { dst: 10, src: 2, off: -8, ..insn },
        Class::Alu | Class::Alu64 => match code & 0xf0 {
            0x80 => Insn { dst: 3, ..insn },
            0xd0 => Insn { dst: 3, imm: 16, ..insn },
            _ if code & 8 != 0 => Insn { dst: 3, src: 2, ..insn },
            _ => Insn { dst: 3, imm: 1, ..insn },
        },
        Class::Jmp if code == CALL => Insn { imm: 7, ..insn },
        Class::Jmp | Class::Jmp32 => match code {
            0x95 | 0x05 | 0x06 | 0xe5 => insn,
            _ if code & 8 != 0 => Insn { dst: 3, src: 2, ..insn },
            _ => Insn { dst: 3, imm: 1, ..insn },
        },
    }
}

/// Changes a field. The source register of 64-bit loads and calls stays, because it may stand for a
/// descriptor or a kfunc.
fn change(insn: &mut Insn, rng: &mut Rng) {
    let has_source = !matches!(insn.code, LD_IMM64 | CALL);
    match rng.u8(0..4) {
        0 => insn.dst = *rng.choice(&[0, 2, 3, 10, 11, 15]).unwrap(),
        1 if has_source => insn.src = *rng.choice(&[0, 2, 3, 10, 11, 15]).unwrap(),
        1 => insn.src = rng.u8(7..16),
        2 => insn.off = *rng.choice(&[-1, 0, 1, 2, 8, 16, 32]).unwrap(),
        _ => {
            insn.imm =
                *rng.choice(&[0, 1, 2, 16, 32, 63, 64, -1, 0x41, 0x50, 0xe1, 0xf1, 0x100, 0x77]).unwrap();
        }
    }
}

/// Generates a program with one changed instruction: on its only path, in dead code, or behind a random
/// number.
fn generate(rng: &mut Rng) -> Vec<u8> {
    let mut code = rng.u8(..);
    while code == INDIRECT_JUMP {
        code = rng.u8(..);
    }
    let mut changed = valid(code);
    for _ in 0..rng.u8(0..3) {
        change(&mut changed, rng);
    }
    let mut block = vec![changed];
    if code == LD_IMM64 {
        let mut second = Insn::default();
        if rng.u8(0..4) == 0 {
            change(&mut second, rng);
        }
        block.push(second);
    }
    let mut insns = vec![insn(0xbf, 6, 1, 0, 0), insn(CALL, 0, 0, 0, 7), insn(0xbf, 8, 0, 0, 0)];
    insns.extend([0, 2, 3].map(|register| insn(0xb7, register, 0, 0, 1)));
    insns.push(insn(0x7a, 10, 0, -8, 0));
    let distance = i16::try_from(block.len()).unwrap();
    match rng.u8(0..3) {
        0 => {}
        1 => insns.push(insn(0x15, 0, 0, distance, 1)),
        _ => insns.push(insn(0x15, 8, 0, distance, 0)),
    }
    insns.extend(block);
    insns.push(insn(0xb7, 0, 0, 0, 0));
    insns.push(insn(0x95, 0, 0, 0, 0));
    // An unreachable end, or none.
    match rng.u8(0..16) {
        0 => insns.push(insn(0x95, 0, 0, 0, 0)),
        1 => _ = insns.pop(),
        _ => {}
    }
    let mut m = TestObject::new();
    m.program("main", rng.choice(&["socket", "xdp", "tc"]).unwrap(), &insns);
    m.bytes()
}

#[test]
fn verdicts_on_changed_instructions_agree_with_the_kernel() {
    const TEST: &str = "encodings::verdicts_on_changed_instructions_agree_with_the_kernel";
    let Some(_live) = live(TEST, &[Need::Btf]) else { return };
    let (seed, rounds) = (number("CORE_RELO_SEED", 2026), number("CORE_RELO_ROUNDS", 2000));
    println!("CORE_RELO_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let bytes: Vec<_> = (0..rounds).map(|_| generate(&mut rng)).collect();
    let objects: Vec<_> = bytes.iter().map(|bytes| Object::parse(bytes).unwrap()).collect();
    let verdicts = judge_all(&objects);
    let (mut counts, mut failures) = ([0_usize; 4], Vec::new());
    for (round, (object, verdict)) in objects.iter().zip(&verdicts).enumerate() {
        let error = Loader::new(object).load().err().map(|error| format!("{error}\n{error:?}"));
        let is_rule = error.as_ref().is_some_and(|error| RULES.iter().any(|rule| error.contains(rule)));
        let program = &verdict.programs[0];
        match (program.verdict, &error) {
            (Verdict::Loads, None) => counts[0] += 1,
            (Verdict::Refused, Some(_)) => counts[1] += 1,
            (Verdict::Unknown, _) => counts[2] += 1,
            (Verdict::Loads, Some(_)) if !is_rule => counts[3] += 1,
            (found, _) => failures.push(format!("{round}: {found}: {:?}: {error:?}", program.reasons)),
        }
    }
    let [loads, refused, unknown, other_reasons] = counts;
    println!(
        "loads {loads}, refused {refused}, unknown {unknown}, refused for other reasons {other_reasons}"
    );
    assert!(failures.is_empty(), "{} of {rounds}:\n{}", failures.len(), failures.join("\n"));
    assert!(rounds < 100 || loads > 0 && refused > 0, "the programs show nothing: {counts:?}");
}
