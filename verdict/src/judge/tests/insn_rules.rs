//! Verdicts on instructions that no kernel accepts.

use super::*;

/// A kernel that is like one of the observed ones.
#[derive(Clone, Copy, Debug)]
enum Age {
    Oldest,
    Newest,
}

fn add_kernel_of(age: Age, b: &mut Builder) {
    let int = b.int("int", 4, Builder::SIGNED);
    let mut helpers = vec![("BPF_FUNC_get_prandom_u32", 7), ("BPF_FUNC_per_cpu_ptr", 153)];
    let mut attach_types = vec![("BPF_TRACE_ITER", 28)];
    let mut map_types = vec![("BPF_MAP_TYPE_HASH", 1)];
    if let Age::Newest = age {
        helpers.push(("BPF_FUNC_task_storage_get", 156));
        attach_types.push(("BPF_TRACE_FSESSION_MULTI", 61));
        map_types.push(("BPF_MAP_TYPE_INSN_ARRAY", 34));
    }
    b.enumeration("bpf_func_id", 4, &helpers);
    b.enumeration("bpf_attach_type", 4, &attach_types);
    b.enumeration("bpf_map_type", 4, &map_types);
    b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_XDP", 6)]);
    b.structure("bpf_verifier_env", 4, &[("insn_idx", int, 0)]);
}

/// Returns the broken rules of a program with instructions on its only path, or in dead code.
fn rules(insns: &[Insn], is_dead: bool, age: Age) -> Vec<String> {
    let mut program = returns(0)[..1].to_vec();
    if is_dead {
        // if r0 == 0 goto the end.
        let distance = i16::try_from(insns.len()).unwrap();
        program.push(insn(0x15, 0, 0, distance, 0));
    }
    program.extend(insns);
    program.extend(returns(0));
    rules_of(&program, age)
}

/// Returns the broken rules of a program.
fn rules_of(insns: &[Insn], age: Age) -> Vec<String> {
    let mut m = TestObject::new();
    m.program("main", "xdp", insns);
    let verdict = judge_bytes(&m.bytes(), |b| add_kernel_of(age, b), &KernelInputs::default());
    let reasons = verdict.programs[0].reasons.iter().filter(|reason| reason.verdict == Verdict::Refused);
    reasons
        .filter(|reason| reason.kind == ReasonKind::Instruction && !reason.text.contains("the kernel lacks"))
        .map(|reason| reason.text.clone())
        .collect()
}

/// Instructions that are refused on a path; whether the oldest and the newest kernel refuse them in dead
/// code; the text.
const BROKEN: [(Insn, [bool; 2], &str); 13] = [
    (Insn { code: 0x8d, dst: 0, src: 0, off: 0, imm: 0 }, [true, true], "opcode 0x8d is no instruction"),
    (
        Insn { code: 0xb7, dst: 1, src: 0, off: 5, imm: 0 },
        [false, true],
        "offset 5 has no meaning in an instruction with opcode 0xb7",
    ),
    (
        Insn { code: 0x79, dst: 1, src: 10, off: -8, imm: 1 },
        [true, true],
        "immediate 1 has no meaning in an instruction with opcode 0x79",
    ),
    (
        Insn { code: 0x7b, dst: 10, src: 1, off: -8, imm: 1 },
        [true, true],
        "immediate 1 has no meaning in an instruction with opcode 0x7b",
    ),
    (
        Insn { code: 0x85, dst: 1, src: 0, off: 0, imm: 7 },
        [false, true],
        "destination register 1 has no meaning in an instruction with opcode 0x85",
    ),
    (
        Insn { code: 0xd4, dst: 0, src: 0, off: 0, imm: 24 },
        [false, true],
        "immediate 24 has no meaning in an instruction with opcode 0xd4",
    ),
    (Insn { code: 0xbf, dst: 1, src: 12, off: 0, imm: 0 }, [false, true], "register 12 does not exist"),
    (
        Insn { code: 0xdb, dst: 10, src: 0, off: -8, imm: 0x77 },
        [true, false],
        "immediate 0x77 is no atomic operation of this width",
    ),
    (
        Insn { code: 0x67, dst: 0, src: 0, off: 0, imm: 64 },
        [false, false],
        "a shift by 64 bits, the width of the register or more",
    ),
    (Insn { code: 0x37, dst: 0, src: 0, off: 0, imm: 0 }, [false, false], "a division by zero"),
    (
        Insn { code: 0xb7, dst: 10, src: 0, off: 0, imm: 0 },
        [false, false],
        "a write to r10, the frame pointer",
    ),
    (
        Insn { code: 0x20, dst: 0, src: 0, off: 0, imm: 0 },
        [false, false],
        "programs of type BPF_PROG_TYPE_XDP may not load packet data with BPF_LD_ABS or BPF_LD_IND",
    ),
    (Insn { code: 0x05, dst: 0, src: 0, off: 9, imm: 0 }, [true, true], "a jump leads out of its function"),
];

#[test]
fn every_kernel_refuses_broken_instructions_on_a_path_and_some_in_dead_code() {
    for (broken, in_dead_code, text) in BROKEN {
        for (age, is_refused) in [Age::Oldest, Age::Newest].into_iter().zip(in_dead_code) {
            assert_eq!(rules(&[broken], false, age), [text], "{broken:?} {age:?}");
            let expected = if is_refused { vec![text.to_owned()] } else { Vec::new() };
            assert_eq!(rules(&[broken], true, age), expected, "{broken:?} in dead code, {age:?}");
        }
    }
}

#[test]
fn instructions_of_newer_kernels_break_no_rule() {
    // r0 = (s8)r0, r0 s/= 1, bswap, gotol, may_goto, an atomic exchange, a store of an argument.
    let valid = [
        insn(0xbf, 0, 0, 8, 0),
        insn(0x37, 0, 0, 1, 1),
        insn(0xd7, 0, 0, 0, 64),
        insn(0x06, 0, 0, 0, 0),
        insn(0xe5, 0, 0, 0, 0),
        insn(0xdb, 10, 0, -8, 0xe1),
        insn(0x7b, 11, 0, -8, 0),
    ];
    for insn in valid {
        assert_eq!(rules(&[insn], false, Age::Oldest), [""; 0], "{insn:?}");
    }
}

#[test]
fn halves_of_64_bit_loads() {
    let [first, second] = load(1, 0);
    let with_code = [first, Insn { code: 0xb7, ..second }];
    let text = "the second half of a 64-bit load has a code, registers or an offset";
    assert_eq!(rules(&with_code, true, Age::Oldest), [text]);
    let unknown = [Insn { src: 9, ..first }, second];
    let text = "source register 9 has no meaning in a 64-bit load";
    assert_eq!(rules(&unknown, true, Age::Oldest), [text]);
    // if r0 == 1 goto +1, into the load. Linux 5.10 refuses only the path.
    let jump = [insn(0x15, 0, 0, 1, 1), first, second];
    assert_eq!(rules(&jump, false, Age::Oldest), [""; 0]);
    let mut m = TestObject::new();
    m.program("main", "xdp", &[&returns(0)[..1], &jump, &returns(0)].concat());
    let verdict = judge_bytes(&m.bytes(), |b| add_kernel_of(Age::Oldest, b), &KernelInputs::default());
    assert_eq!(verdict.verdict, Verdict::Unknown, "{verdict:?}");
    let text = "a jump leads to the second half of a 64-bit load";
    assert_eq!(rules(&jump, false, Age::Newest), [text]);
}

#[test]
fn the_structure_of_programs() {
    let [zero, end] = returns(0);
    let rules = |insns: &[Insn]| rules_of(insns, Age::Newest);
    assert_eq!(rules(&[zero]), ["a function ends without an exit or a jump"]);
    assert_eq!(rules(&[zero, end, zero, end]), ["an instruction is unreachable"]);
    assert_eq!(rules(&[zero, insn(0x15, 0, 0, 1, 0), end, insn(0x05, 0, 0, -2, 0)]), [""; 0]);
}

#[test]
fn a_function_that_calls_itself_is_refused_in_dead_code_too() {
    let judge = |calls_back: bool| {
        let mut m = TestObject::new();
        let main = m.program("main", "xdp", &[call(-1), exit()]);
        let code =
            m.code(".text", &[insn(0xb7, 0, 0, 0, 0), insn(0x15, 0, 0, 1, 0), call(-1), exit(), exit()]);
        let (own, other) = (m.function("own", code, 0, 4), m.function("other", code, 4, 1));
        m.refer(main, 0, own, true);
        m.refer(code, 2, if calls_back { own } else { other }, true);
        let verdict = judge_bytes(&m.bytes(), |b| add_kernel_of(Age::Newest, b), &KernelInputs::default());
        let rules =
            verdict.programs[0].reasons.iter().filter(|reason| reason.kind == ReasonKind::Instruction);
        rules.map(|reason| reason.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(judge(true), ["a function calls itself, or one of its callers"]);
    assert_eq!(judge(false), [""; 0]);
}
