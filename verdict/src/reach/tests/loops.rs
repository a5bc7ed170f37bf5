//! Loops in which the verifier forgets numbers: those of iterators and of `may_goto`.

use super::asm::reach;
use super::{DEAD, IMPRECISE};

/// Returns a loop whose third turn reaches `here` if the verifier has forgotten the number at a place, which
/// is 0 or 1.
fn alternating(place: &str) -> String {
    "
    r6 = 0
    u64[r10-8] = r6
    r7 = 0
    r8 = 0
    again:
    CONTINUE
    if r8 == 0 goto on
    r1 = PLACE
    if r1 == 5 goto here
    on:
    r1 = PLACE
    r1 ^= 1
    PLACE = r1
    r8 = r7
    r7 = 1
    goto again
    here:
    r0 = 0
    out:
    r0 = 0
    exit"
        .replace("PLACE", place)
}

#[test]
fn loops_of_iterators_and_may_goto_forget_what_they_change() {
    for place in ["r6", "u64[r10-8]"] {
        let source = alternating(place);
        assert_eq!(reach(&source.replace("CONTINUE", "may_goto out")), IMPRECISE, "{place}");
        let next = "r1 = r10\nr1 += -16\ncall next\nif r0 == 0 goto out";
        assert_eq!(reach(&source.replace("CONTINUE", next)), IMPRECISE, "{place}");
        // Other loops have their numbers, and a random end.
        assert_eq!(reach(&source.replace("CONTINUE", "call 7\nif r0 == 0 goto out")), DEAD, "{place}");
    }
}

#[test]
fn loops_keep_the_constants_that_they_do_not_change() {
    let source = "
        r6 = 0
        r7 = 0
        again:
        CONTINUE
        r7 += 1
        if r6 != 0 goto here
        goto again
        here:
        r0 = 0
        out:
        r0 = 0
        exit";
    let next = "r1 = r10\nr1 += -16\ncall next\nif r0 == 0 goto out";
    for condition in ["may_goto out", next] {
        assert_eq!(reach(&source.replace("CONTINUE", condition)), DEAD, "{condition}");
    }
}

#[test]
fn functions_in_a_loop_forget_the_registers_of_their_callers() {
    let source = "
        r6 = 0
        r7 = 0
        r8 = 0
        again:
        call f
        if r8 == 0 goto on
        if r6 == 5 goto here
        on:
        r6 ^= 1
        r8 = r7
        r7 = 1
        call 7
        if r0 == 0 goto out
        goto again
        here:
        r0 = 0
        out:
        r0 = 0
        exit
        fn f:
        may_goto end
        end:
        r0 = 0
        exit";
    assert_eq!(reach(source), IMPRECISE);
}
