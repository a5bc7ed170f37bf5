//! Calls of functions, helpers and callbacks.

use super::asm::{Assembly, reach};
use super::{DEAD, IMPRECISE, REACHABLE};
use core::fmt::Write as _;

#[test]
fn functions_without_a_call_are_dead_unless_global_ones_are_verified() {
    let source = "
        r0 = 0
        exit
        global unused:
        here:
        r0 = 0
        exit";
    let mut assembly = Assembly::new(source);
    assert_eq!(assembly.reach("here"), DEAD);
    assembly.verifies_uncalled_functions = true;
    assert_eq!(assembly.reach("here"), REACHABLE);
    assembly.verifies_uncalled_functions = false;
    assembly.exception_callback = Some(2);
    assert_eq!(assembly.reach("here"), REACHABLE, "an exception callback");
    let mut assembly = Assembly::new(&source.replace("global", "fn"));
    assembly.verifies_uncalled_functions = true;
    assert_eq!(assembly.reach("here"), DEAD);
}

#[test]
fn callbacks_are_reachable_if_they_are_passed() {
    let source = "
        r1 = EXISTS
        if r1 == 0 goto out
        r2 = load function callback
        r1 = 10
        r3 = 0
        r4 = 0
        call 181
        out:
        r0 = 0
        exit
        fn callback:
        here:
        r0 = 0
        exit";
    assert_eq!(reach(&source.replace("EXISTS", "0")), DEAD);
    assert_eq!(reach(&source.replace("EXISTS", "1")), REACHABLE);
}

#[test]
fn callbacks_may_write_to_the_stack() {
    let source = "
        r1 = 0
        u64[r10-8] = r1
        r2 = load function callback
        r1 = 10
        r3 = r10
        r3 += -8
        r4 = 0
        call 181
        r1 = u64[r10-8]
        if r1 == 0 goto out
        here:
        poison
        out:
        r0 = 0
        exit
        fn callback:
        WRITE
        r0 = 0
        exit";
    assert_eq!(reach(&source.replace("WRITE", "")), DEAD);
    // Linux 6.7 forgets what the callback changes.
    assert_eq!(reach(&source.replace("WRITE", "r1 = 0\nu8[r2+0] = r1")), IMPRECISE);
    assert_eq!(reach(&source.replace("WRITE", "r1 = 7\nu64[r2+0] = r1")), REACHABLE);
}

#[test]
fn functions_keep_registers_and_write_through_pointers() {
    let source = "
        r6 = 0
        r1 = 5
        u64[r10-8] = r1
        r1 = r10
        r1 += -8
        call clear
        if r6 != 0 goto wrong
        r1 = u64[r10-8]
        if r1 == 0 goto here
        wrong:
        poison
        here:
        r0 = 0
        exit
        fn clear:
        r6 = 1
        r2 = 0
        u64[r1+0] = r2
        u64[r10-8] = r6
        r0 = 0
        exit";
    let assembly = Assembly::new(source);
    assert_eq!([assembly.reach("here"), assembly.reach("wrong")], [REACHABLE, DEAD]);
}

#[test]
fn helpers_write_to_the_stack_or_only_read() {
    let source = "
        r1 = 1
        u64[r10-8] = r1
        r1 = r10
        r1 += -8
        r2 = 8
        r3 = 0
        call HELPER
        r1 = u64[r10-8]
        if r1 == 1 goto out
        here:
        poison
        out:
        r0 = 0
        exit";
    // A helper that the analysis does not know.
    assert_eq!(reach(&source.replace("HELPER", "9000")), IMPRECISE);
    // probe_read_kernel.
    assert_eq!(reach(&source.replace("HELPER", "113")), REACHABLE);
    assert_eq!(reach(&source.replace("r1 += -8", "r1 += -16").replace("HELPER", "113")), DEAD);
}

#[test]
fn values_that_may_be_null_are_checked_once() {
    let source = "
        r1 = load map
        r2 = r10
        r2 += -8
        call 107
        if r0 == 0 goto out
        r6 = r0
        if r6 == 0 goto here
        r0 = u64[r6+0]
        out:
        r0 = 0
        exit
        here:
        r0 = 1
        exit";
    let assembly = Assembly::new(source);
    assert_eq!([assembly.reach("here"), assembly.reach("out")], [DEAD, REACHABLE]);
    // Linux 5.10 does not know that other memory is not null.
    assert_eq!(reach(&source.replace("call 107", "call 1")), IMPRECISE);
    // Linux 6.14 knows that an array has a value for a constant key.
    let lookup =
        |map| Assembly::new(&source.replace("call 107", "call 1").replace("load map", map)).reach("out");
    assert_eq!([lookup("load map"), lookup("load array")], [REACHABLE, REACHABLE]);
    let bad = "r1 = load MAP\nr2 = r10\ncall 1\nif r0 == 0 goto here\nexit\nhere:\npoison";
    assert_eq!(reach(&bad.replace("MAP", "map")), REACHABLE);
    assert_eq!(reach(&bad.replace("MAP", "array")), IMPRECISE);
}

#[test]
fn released_pointers_are_unknown() {
    let source = "
        call 84
        if r0 == 0 goto out
        r6 = r0
        r1 = r6
        RELEASE
        if r6 == 0 goto here
        out:
        r0 = 0
        exit
        here:
        r0 = 1
        exit";
    for release in ["call 86", "call 133", "call kfunc"] {
        assert_eq!(reach(&source.replace("RELEASE", release)), IMPRECISE, "{release}");
    }
    assert_eq!(reach(&source.replace("RELEASE", "call 5")), DEAD);
    // The copy of a released pointer is another number than the pointer.
    let copy = "
        call 84
        r6 = r0
        r7 = r0
        r1 = r0
        call kfunc
        if r6 != 0 goto out
        if r7 != 0 goto here
        out:
        r0 = 0
        exit
        here:
        r0 = 1
        exit";
    assert_eq!(reach(copy), IMPRECISE);
}

#[test]
fn deep_and_recursive_calls_end() {
    assert_eq!(reach("call again\nhere:\nexit\nfn again:\ncall again\nexit"), DEAD);
    let mut source = String::from("call f1\nexit\n");
    for depth in 1..10 {
        write!(source, "fn f{depth}:\nl{depth}:\ncall f{}\nexit\n", depth + 1).unwrap();
    }
    source += "fn f10:\nr0 = 0\nexit";
    let assembly = Assembly::new(&source);
    assert_eq!([assembly.reach("l7"), assembly.reach("l8")], [REACHABLE, DEAD]);
}

#[test]
fn calls_after_undecided_branches_return() {
    let source = "
        r6 = 7
        r6 /= 2
        if r6 == 3 goto one
        call f
        goto on
        one:
        call f
        on:
        here:
        r0 = 0
        exit
        fn f:
        inside:
        r0 = 0
        exit";
    let assembly = Assembly::new(source);
    assert_eq!(assembly.reach("here"), REACHABLE);
    assert_eq!(assembly.reach("one"), REACHABLE);
    let ends = source.replace("inside:", "if r6 == 0 goto bad\nr0 = 0\nexit\nbad:\npoison");
    assert_eq!(reach(&ends), IMPRECISE);
}

#[test]
fn callbacks_see_the_stack_of_their_caller() {
    let source = "
        r1 = EXISTS
        u64[r10-8] = r1
        r1 = TURNS
        r2 = load function callback
        r3 = r10
        r3 += -8
        r4 = 0
        call 181
        r0 = 0
        exit
        fn callback:
        r1 = u64[r2+0]
        if r1 != 0 goto here
        r0 = 0
        exit
        here:
        poison";
    let reach = |exists: &str, turns: &str| reach(&source.replace("EXISTS", exists).replace("TURNS", turns));
    assert_eq!(reach("0", "4"), DEAD);
    assert_eq!(reach("1", "4"), REACHABLE);
    // Linux 6.7 does not follow the callback of a loop without a turn.
    assert_eq!(reach("1", "0"), IMPRECISE);
}

#[test]
fn callbacks_of_unknown_functions_may_receive_any_argument() {
    let source = "
        r1 = 0
        u64[r10-8] = r1
        r1 = POINTER
        r2 = load function callback
        call kfunc
        r0 = 0
        exit
        fn callback:
        r1 = u64[r1+0]
        if r1 != 0 goto here
        r0 = 0
        exit
        here:
        poison";
    assert_eq!(reach(&source.replace("POINTER", "r10")), IMPRECISE);
    assert_eq!(reach(&source.replace("POINTER", "7")), REACHABLE);
}

#[test]
fn calls_of_no_function_leave_the_rest_open() {
    let mut assembly = Assembly::new("r0 = 0\ncall f\nhere:\nexit\nfn f:\nexit");
    assembly.insns[1].imm = -1;
    assert_eq!(assembly.reach("here"), crate::reach::Reach::Undecided(crate::reach::Undecided::Budget));
}
