//! Guards: branches on whether a field, type or enumerator exists.

use super::asm::{Assembly, reach};
use super::{DEAD, IMPRECISE, REACHABLE};
use crate::reach::{Reach, Undecided};
use core_relo::Endian;

/// Runs a program for both values of a guard, written `EXISTS`.
fn both(source: &str) -> [Reach; 2] {
    ["0", "1"].map(|exists| reach(&source.replace("EXISTS", exists)))
}

#[test]
fn a_field_that_does_not_exist_is_not_read() {
    let guard = "
        r1 = EXISTS
        if r1 == 0 goto out
        here:
        poison
        out:
        r0 = 0
        exit";
    assert_eq!(both(guard), [DEAD, REACHABLE]);
    assert_eq!(both(&guard.replace("r1", "w1")), [DEAD, REACHABLE]);
}

#[test]
fn a_poisoned_instruction_ends_its_path() {
    assert_eq!(reach("poison\nhere:\nr0 = 0\nexit"), DEAD);
    assert_eq!(reach("invalid\nhere:\nr0 = 0\nexit"), DEAD);
    // The verifier refuses a program at the first such instruction.
    assert_eq!(reach("r1 = u64[r1+0]\nif r1 > 5 goto on\npoison\non:\nhere:\nr0 = 0\nexit"), REACHABLE);
}

#[test]
fn negated_and_combined_guards() {
    let negated = "
        r1 = EXISTS
        r2 = 1
        r2 -= r1
        if r2 != 0 goto out
        here:
        poison
        out:
        exit";
    assert_eq!(both(negated), [DEAD, REACHABLE]);
    for (a, b, and, or) in
        [(0, 0, DEAD, DEAD), (0, 1, DEAD, REACHABLE), (1, 0, DEAD, REACHABLE), (1, 1, REACHABLE, REACHABLE)]
    {
        let source = format!(
            "
            r6 = {a}
            r7 = {b}
            r1 = r6
            r1 &= r7
            if r1 == 0 goto no_and
            both:
            r0 = 0
            no_and:
            if r6 != 0 goto either
            if r7 == 0 goto out
            either:
            r0 = 1
            out:
            exit"
        );
        let assembly = Assembly::new(&source);
        assert_eq!([assembly.reach("both"), assembly.reach("either")], [and, or], "{a} {b}");
    }
}

#[test]
fn a_guard_joined_with_a_random_condition() {
    // `if (exists && flag)` with the result in a register.
    let phi = "
        r7 = u64[r1+0]
        r6 = 0
        r1 = EXISTS
        if r1 == 0 goto joined
        if r7 > 5 goto joined
        r6 = 1
        joined:
        if r6 == 0 goto out
        here:
        poison
        out:
        r0 = 0
        exit";
    assert_eq!(both(phi), [DEAD, REACHABLE]);
    let spilled = phi.replace("joined:", "joined:\nu64[r10-8] = r6\nr6 = 7\nr6 = u64[r10-8]");
    assert_eq!(both(&spilled), [DEAD, REACHABLE]);
}

#[test]
fn constants_that_only_new_kernels_follow_are_not_dead() {
    // Linux 6.3 follows constants of `BPF_ST`.
    let stored = "
        u64[r10-8] = EXISTS
        r1 = u64[r10-8]
        if r1 == 0 goto out
        here:
        poison
        out:
        exit";
    assert_eq!(both(stored), [IMPRECISE, REACHABLE]);
    // Linux 5.16 follows constants of 32 bits. Zeros are followed by all.
    let narrow = "
        r1 = EXISTS
        u32[r10-4] = r1
        r1 = u32[r10-4]
        if r1 != 0 goto out
        here:
        poison
        out:
        exit";
    assert_eq!(both(narrow), [REACHABLE, IMPRECISE]);
    let zero = narrow.replace("!=", "==");
    assert_eq!(both(&zero), [DEAD, REACHABLE]);
}

#[test]
fn a_guard_in_a_static_function() {
    let source = "
        r6 = r1
        call exists
        if r0 == 0 goto out
        here:
        poison
        out:
        r0 = 0
        exit
        fn exists:
        r0 = EXISTS
        exit";
    assert_eq!(both(source), [DEAD, REACHABLE]);
    let argument = "
        r1 = EXISTS
        call guarded
        exit
        fn guarded:
        if r1 == 0 goto out
        here:
        poison
        out:
        r0 = 0
        exit";
    assert_eq!(both(argument), [DEAD, REACHABLE]);
}

#[test]
fn a_guard_in_a_global_function_tells_the_caller_nothing() {
    let source = "
        call exists
        if r0 == 0 goto out
        here:
        poison
        out:
        r0 = 0
        exit
        global exists:
        r0 = EXISTS
        exit";
    assert_eq!(both(source), [REACHABLE, REACHABLE]);
    let inside = "
        r1 = 0
        call guarded
        exit
        global guarded:
        r2 = EXISTS
        if r2 == 0 goto out
        here:
        poison
        out:
        r0 = 0
        exit";
    assert_eq!(both(inside), [DEAD, REACHABLE]);
}

#[test]
fn a_guard_in_a_loop() {
    let source = "
        r6 = 0
        again:
        r1 = EXISTS
        if r1 == 0 goto next
        here:
        poison
        next:
        r6 += 1
        if r6 < 100 goto again
        r0 = 0
        exit";
    assert_eq!(both(source), [DEAD, REACHABLE]);
    let behind = source.replace("r0 = 0\n", "behind:\nr0 = 0\n").replace("EXISTS", "0");
    assert_eq!(Assembly::new(&behind).reach("behind"), REACHABLE);
}

#[test]
fn frozen_data_is_constant() {
    let source = "
        r1 = load frozen 2
        r1 = u16[r1+2]
        if r1 == 0x0201 goto out
        here:
        poison
        out:
        exit";
    let mut assembly = Assembly::new(source);
    assembly.data = vec![9, 9, 9, 9, 1, 2];
    assert_eq!(assembly.reach("here"), DEAD);
    assembly.endian = Endian::Big;
    assert_eq!(assembly.reach("here"), REACHABLE);
    assembly.unknown = core::iter::once(5..6).collect();
    assert_eq!(assembly.reach("here"), Reach::Undecided(Undecided::UnknownValue { insn: 0 }));
    assembly.unknown = core::iter::once(0..4).collect();
    assert_eq!(assembly.reach("here"), REACHABLE);
    assembly.data.truncate(5);
    assert_eq!(assembly.reach("here"), IMPRECISE);
}

#[test]
fn kernel_versions_are_compared() {
    let source = "
        r1 = load frozen 0
        r1 = u32[r1+0]
        if r1 > 0x50fff goto new
        old:
        r0 = 0
        exit
        new:
        r0 = 1
        exit";
    let mut assembly = Assembly::new(source);
    assembly.data = vec![0, 10, 5, 0];
    assert_eq!([assembly.reach("old"), assembly.reach("new")], [REACHABLE, DEAD]);
    assembly.data = vec![0, 1, 6, 0];
    assert_eq!([assembly.reach("old"), assembly.reach("new")], [DEAD, REACHABLE]);
}

#[test]
fn weak_externs_may_be_missing() {
    let source = "
        r1 = load VALUE
        if r1 == 0 goto out
        here:
        poison
        out:
        exit";
    assert_eq!(reach(&source.replace("VALUE", "0")), DEAD);
    assert_eq!(reach(&source.replace("VALUE", "map")), REACHABLE);
    let unknown = Reach::Undecided(Undecided::UnknownValue { insn: 0 });
    assert_eq!(reach(&source.replace("VALUE", "unknown")), unknown);
}

#[test]
fn paths_list_the_branches() {
    let assembly = Assembly::new(
        "
        r6 = u64[r1+0]
        r1 = 1
        if r1 == 0 goto out
        if r6 > 7 goto here
        goto out
        here:
        poison
        out:
        exit",
    );
    let result = assembly.analyze();
    assert_eq!(result.path(assembly.label("here")), [(2, false), (3, true)]);
    assert_eq!(result.path(0), []);
    assert_eq!(result.path(1000), []);
}
