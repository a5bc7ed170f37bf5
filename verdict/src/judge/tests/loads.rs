//! Relocations of programs that a load does not have.

use super::*;

/// The number of `FIELD_BYTE_OFFSET`.
const BYTE_OFFSET: u32 = 0;

/// Creates an object with a program that reads both members of `struct s`, and one that reads the second. The
/// kernel has two structs of the name, with one of the members each.
fn object() -> TestObject {
    let mut m = TestObject::new();
    let int = m.int;
    let root = m.types.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
    // r1 = 0, or 4 for the second member
    let offset = |n: i32| insn(0xb7, 1, 0, 0, n);
    let [zero, exit] = returns(0);
    m.program("both", "?kprobe/foo", &[offset(0), offset(4), zero, exit]);
    m.program("only_b", "kprobe/foo", &[offset(4), zero, exit]);
    m.core_relo("?kprobe/foo", &[(0, root, "0:0", BYTE_OFFSET), (1, root, "0:1", BYTE_OFFSET)]);
    m.core_relo("kprobe/foo", &[(0, root, "0:1", BYTE_OFFSET)]);
    m
}

fn add_structs(b: &mut Builder) {
    let int = b.int("int", 4, Builder::SIGNED);
    b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_KPROBE", 2)]);
    b.structure("s", 4, &[("a", int, 0)]);
    b.structure("s", 16, &[("b", int, 64)]);
}

fn relocation_verdicts(verdict: &ObjectVerdict) -> Vec<(&str, bool)> {
    let is_refused = |reasons: &[Reason]| reasons.iter().any(|reason| reason.kind == ReasonKind::Relocation);
    verdict.programs.iter().map(|program| (&*program.name, is_refused(&program.reasons))).collect()
}

#[test]
fn relocations_of_programs_outside_of_the_load_eliminate_no_candidates() {
    let verdict = judge_on(object(), add_structs, &KernelInputs::default());
    assert_eq!(relocation_verdicts(&verdict), [("both", true), ("only_b", false)]);
    let text = "struct s.b: one of the 2 candidates for `struct s` has it, but is eliminated by `struct s.a` in both, which it \
                does not match";
    assert!(verdict.programs[0].reasons.iter().any(|reason| reason.text == text), "{verdict:?}");
}

#[test]
fn the_settings_of_a_load_decide_which_relocations_take_part() {
    let judge_load = |is_loaded: [bool; 2]| {
        let mut settings = Settings::default();
        settings.program_mut("both").autoload = Some(is_loaded[0]);
        settings.program_mut("only_b").autoload = Some(is_loaded[1]);
        let bytes = object().bytes();
        let verdict = judge_with_settings(&bytes, add_structs, &KernelInputs::default(), Some(&settings));
        relocation_verdicts(&verdict).into_iter().map(|(_, is_refused)| is_refused).collect::<Vec<_>>()
    };
    assert_eq!(judge_load([false, true]), [true, false]);
    // Together, the first program eliminates the candidate of the second.
    assert_eq!(judge_load([true, true]), [true, true]);
    assert_eq!(judge_load([true, false]), [true, false]);
}

/// Each load of a single program has the relocations of all subprograms. The work for many programs and
/// subprograms is limited.
#[test]
fn programs_whose_loads_have_too_many_relocations_are_unknown() {
    const COUNT: u32 = 600;
    let mut m = TestObject::new();
    let int = m.int;
    let root = m.types.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
    let [zero, exit] = returns(0);
    for at in 0..COUNT {
        let section = format!("?kprobe/f{at}");
        m.program(&format!("program{at}"), &section, &[insn(0xb7, 1, 0, 0, 4), zero, exit]);
        m.core_relo(&section, &[(0, root, "0:1", BYTE_OFFSET)]);
    }
    let code: Vec<_> = (0..COUNT).map(|_| insn(0xb7, 1, 0, 0, 4)).chain([zero, exit]).collect();
    m.program("subprogram", ".text", &code);
    m.core_relo(".text", &(0..COUNT).map(|at| (at, root, "0:1", BYTE_OFFSET)).collect::<Vec<_>>());
    let verdict = judge_on(m, add_structs, &KernelInputs::default());
    let text =
        "the relocations of the program are not known: the loads of the object's programs have too many";
    let is_undecided = |at: usize| {
        let program = &verdict.programs[at];
        let mut reasons = program.reasons.iter();
        reasons.any(|reason| {
            (reason.kind, reason.verdict, &*reason.text) == (ReasonKind::Budget, Verdict::Unknown, text)
        })
    };
    assert_eq!(
        [is_undecided(0), is_undecided(400), is_undecided(500), is_undecided(599)],
        [false, false, true, true]
    );
    let others = verdict.programs.iter().filter(|program| program.verdict == Verdict::Refused);
    assert_eq!(others.count(), 0, "{:?}", verdict.programs[0]);
}
