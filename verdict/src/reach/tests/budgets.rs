//! Large and hostile programs: bounded work.

use super::asm::{Assembly, reach};
use super::{DEAD, REACHABLE};
use crate::limits::DEFERRED_NUMBERS;
use crate::reach::{Function, Program, Reach, Reachability, Undecided, analyze, analyze_relocated};
use core::fmt::Write as _;
use core_relo::Endian;
use core_relo::insn::Insn;

fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { code, dst, src, off, imm }
}

fn program(insns: &[Insn]) -> Program<'_> {
    Program {
        insns,
        functions: &[Function { start: 0, is_global: true }],
        loads: &[],
        endian: Endian::Little,
        verifies_uncalled_functions: false,
        exception_callback: None,
        bounds_context: false,
        passes_context: true,
    }
}

fn run(insns: &[Insn]) -> Reachability {
    run_relocated(insns, &[])
}

/// Analyses a program with relocated numbers.
fn run_relocated(insns: &[Insn], relocated: &[u32]) -> Reachability {
    analyze_relocated(&program(insns), relocated).0
}

/// Kernels may differ in the number that decides a branch, also behind more numbers than are deferred.
#[test]
fn a_number_past_the_limit_of_deferred_numbers_is_used() {
    let count = u32::try_from(DEFERRED_NUMBERS).unwrap() + 1;
    let mut insns = vec![insn(0xb7, 1, 0, 0, 8); DEFERRED_NUMBERS + 1];
    // r0 = 0; if r1 == 8 goto exit; poisoned; exit
    insns.extend([insn(0xb7, 0, 0, 0, 0), insn(0x15, 1, 0, 1, 8), Insn::POISON, insn(0x95, 0, 0, 0, 0)]);
    let relocated: Vec<u32> = (0..count).collect();
    let (result, used) = analyze_relocated(&program(&insns), &relocated);
    assert_eq!(result.reach(count + 2), DEAD);
    assert_eq!(used.relocated, [count - 1]);
}

#[test]
fn many_diamonds_take_linear_time() {
    // `r6 |= 1 << i` on one side of each branch: 2^30 paths.
    let mut source = String::from("r6 = 0\n");
    for i in 0..30 {
        write!(source, "call 5\nif r0 > 5 goto l{i}\nr6 |= {}\nl{i}:\n", 1_u32 << i).unwrap();
    }
    source += "here:\nr0 = 0\nif r6 == 0 goto out\nr0 = 1\nout:\nexit";
    assert_eq!(reach(&source), REACHABLE);
}

#[test]
fn a_guard_behind_many_diamonds_is_dead() {
    let mut source = String::from("r7 = 0\n");
    for i in 0..200 {
        write!(source, "call 5\nif r0 > 5 goto l{i}\nr6 = {i}\nl{i}:\n").unwrap();
    }
    source += "if r7 == 0 goto out\nhere:\npoison\nout:\nexit";
    assert_eq!(reach(&source), DEAD);
}

/// Each sum has both sums before it as operands, so that the last one is 2^50 additions of the first numbers.
#[test]
fn sums_of_relocated_numbers_take_linear_time() {
    let mut insns = vec![insn(0xb7, 1, 0, 0, 1), insn(0xb7, 2, 0, 0, 1)];
    for _ in 0..50 {
        insns.extend([insn(0x0f, 1, 2, 0, 0), insn(0x0f, 2, 1, 0, 0)]);
    }
    insns.extend([insn(0x15, 2, 0, 1, 0), insn(0xb7, 0, 0, 0, 0), insn(0x95, 0, 0, 0, 0)]);
    assert_eq!(run_relocated(&insns, &[0, 1]), run(&insns));
}

#[test]
fn a_million_branches_are_bounded() {
    let count = 1_000_000;
    let mut insns = vec![insn(0x25, 1, 0, 1, 5); count];
    insns[0] = insn(0x79, 1, 1, 0, 0);
    insns[count - 1] = insn(0x95, 0, 0, 0, 0);
    let result = run(&insns);
    assert_ne!(result.reach(999_999), Reach::Dead);
    // Far jumps, so that all states are open at once.
    for (i, insn) in insns.iter_mut().enumerate().skip(1).take(900_000) {
        insn.off = i16::try_from(30_000 - i % 10_000).unwrap();
    }
    assert_ne!(run(&insns).reach(999_999), Reach::Dead);
}

#[test]
fn an_exhausted_budget_leaves_the_rest_undecided() {
    // Each call doubles the paths: 8 levels of 16 calls with different arguments.
    let mut source = String::from("call f1\nexit\n");
    for depth in 1..8 {
        writeln!(source, "fn f{depth}:").unwrap();
        for _ in 0..16 {
            writeln!(source, "call f{}", depth + 1).unwrap();
        }
        source += "r0 = 0\nexit\n";
    }
    source += "fn f8:\nr0 = 0\nexit\nfn unused:\nhere:\nr0 = 0\nexit";
    let source = source.replace("call f8\n", "r0 = 0\n");
    let assembly = Assembly::new(&source);
    assert_eq!(assembly.reach("here"), Reach::Undecided(Undecided::Budget));
    assert_eq!(assembly.analyze().reach(0), REACHABLE);
}

#[test]
fn loops_end() {
    assert_eq!(reach("again:\nr6 += 1\nif r6 != 0 goto again\nhere:\nexit"), REACHABLE);
    assert_eq!(reach("again:\nr6 = 1\ngoto again\nhere:\nexit"), DEAD);
    // Two loops that jump into each other.
    let irreducible = "
        call 5
        if r0 > 5 goto b
        a:
        r6 += 1
        b:
        r7 += r6
        call 5
        if r0 > 6 goto a
        call 5
        if r0 > 7 goto b
        here:
        exit";
    assert_eq!(reach(irreducible), REACHABLE);
}

#[test]
fn invalid_programs_do_not_panic() {
    assert_eq!(run(&[]).reach(0), Reach::Dead);
    assert_eq!(run(&[Insn::default()]).reach(0), REACHABLE);
    // Every opcode with registers, offsets and immediates at their limits.
    for code in 0..=u8::MAX {
        for (dst, src, off, imm) in [
            (0, 0, 0, 0),
            (15, 15, i16::MIN, i32::MIN),
            (10, 1, i16::MAX, i32::MAX),
            (9, 10, -1, -1),
            (1, 2, 1, 0xf1),
        ] {
            let result =
                run(&[insn(0xb7, 1, 0, 0, 5), insn(code, dst, src, off, imm), insn(0x95, 0, 0, 0, 0)]);
            assert_ne!(result.reach(0), Reach::Dead);
        }
    }
}

#[test]
fn functions_out_of_order_do_not_panic() {
    let insns = [insn(0x85, 0, 1, 0, 0), insn(0x95, 0, 0, 0, 0)];
    let functions = [Function { start: 5, is_global: false }, Function { start: 1, is_global: false }];
    for functions in [&functions[..], &[]] {
        let result = analyze(&Program {
            insns: &insns,
            functions,
            loads: &[],
            endian: Endian::Big,
            verifies_uncalled_functions: true,
            exception_callback: None,
            bounds_context: false,
            passes_context: true,
        });
        assert_eq!(result.reach(0), Reach::Dead);
    }
}
