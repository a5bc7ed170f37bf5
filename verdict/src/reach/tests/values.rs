//! Values: ranges, memory, instructions of newer kernels.

use super::asm::{Assembly, reach};
use super::{DEAD, IMPRECISE, REACHABLE};
use crate::reach::Reach;

/// Returns whether the branch of a condition is reached, after some instructions.
fn taken(before: &str, condition: &str) -> Reach {
    reach(&format!("{before}\nif {condition} goto here\nr0 = 0\nexit\nhere:\nr0 = 1\nexit"))
}

/// A random number in r6.
const RANDOM: &str = "call 5\nr6 = r0";

#[test]
fn random_numbers_take_both_directions() {
    for condition in ["r6 == 0", "r6 != 0", "r6 > 77", "r6 s< 0", "r6 & 8", "w6 == 5", "w6 s> -3", "w6 & 1"] {
        assert_eq!(taken(RANDOM, condition), REACHABLE, "{condition}");
    }
}

#[test]
fn ranges_decide_later_branches() {
    let small = format!("{RANDOM}\nif r6 > 9 goto out\ngoto on\nout:\nexit\non:\nr7 = r6");
    assert_eq!(taken(&small, "r6 > 9"), DEAD);
    assert_eq!(taken(&small, "r6 > 8"), REACHABLE);
    assert_eq!(taken(&small, "r6 s< 0"), DEAD);
    assert_eq!(taken(&format!("{small}\nr6 += 5"), "r6 > 14"), DEAD);
    assert_eq!(taken(&format!("{small}\nr6 <<= 2"), "r6 > 36"), DEAD);
    // Linux 5.10 does not compare for equality with ranges.
    assert_eq!(taken(&small, "r6 == 10"), IMPRECISE);
    let equal = format!("{RANDOM}\nif r6 != 4 goto out\ngoto on\nout:\nexit\non:");
    assert_eq!(taken(&equal, "r6 != 4"), DEAD);
}

#[test]
fn signed_and_unsigned_bounds_of_linux_5_10_may_contradict_each_other() {
    let narrowed = |conditions: &[&str]| {
        let lines: Vec<_> = conditions.iter().map(|condition| format!("if {condition} goto out\n")).collect();
        format!("r6 = u64[r1+0]\n{}goto on\nout:\nexit\non:", lines.concat())
    };
    // The verifier does not combine -1 to 1 with at least 6.
    let signed = narrowed(&["r6 s< -1", "r6 s> 1", "r6 < 6"]);
    for condition in ["r6 s>= 0", "r6 s< 0", "r6 == 0"] {
        assert_ne!(taken(&signed, condition), DEAD, "{condition}");
    }
    let contradictory = narrowed(&["r6 s< -1", "r6 s> 1", "r6 < 6", "r6 s< 0"]);
    for condition in ["r6 > 5", "r6 > 1", "r6 < 6", "r6 s> 1"] {
        assert_ne!(taken(&contradictory, condition), DEAD, "{condition}");
    }
    let unsigned = "r6 = u64[r1+0]\nif r6 < 5 goto out\nr2 = load 0x800000000000000a\nif r6 > r2 goto out\nif r6 s> 2 goto out\n\
                    goto on\nout:\nexit\non:";
    assert_ne!(taken(unsigned, "r6 s>= 0"), DEAD);
    // One sign is enough.
    let small = narrowed(&["r6 s< -1", "r6 s> 1", "r6 > 9"]);
    assert_eq!(taken(&small, "r6 > 1"), DEAD);
    assert_eq!(taken(&narrowed(&["r6 < 6", "r6 s< 0"]), "r6 < 6"), DEAD);
}

#[test]
fn linux_5_10_does_not_learn_the_low_half_of_every_number() {
    // The largest number of 32 bits is one too much.
    let large = "call 5\nw6 = w0\nif r6 s<= 256 goto out\ngoto on\nout:\nexit\non:";
    assert_ne!(taken(large, "w6 <= 7"), DEAD);
    assert_eq!(taken(large, "r6 <= 7"), DEAD);
    // Bounds of one number are no constant.
    let single = "r6 = u64[r1+0]\nif r6 < -1 goto out\ngoto on\nout:\nexit\non:";
    assert_ne!(taken(&format!("{single}\nw6 -= w6"), "w6 s> 3"), DEAD);
    assert_ne!(taken(single, "r6 != -1"), DEAD);
    assert_eq!(taken(single, "r6 < -1"), DEAD);
    for condition in ["r6 > 9", "r6 s> 9\nif r6 s< 0"] {
        let condition = condition.replace('\n', " goto out\n");
        let small = format!("{RANDOM}\nif {condition} goto out\ngoto on\nout:\nexit\non:");
        assert_eq!(taken(&small, "w6 > 9"), DEAD, "{condition}");
    }
    assert_eq!(taken(&format!("{single}\nr6 &= 7"), "w6 > 7"), DEAD);
    assert_eq!(taken(&format!("{single}\nr6 &= 0"), "w6 != 0"), DEAD);
}

#[test]
fn copies_are_narrowed_by_new_kernels_only() {
    let copied = format!("{RANDOM}\nr7 = r6\nif r6 > 9 goto out\ngoto on\nout:\nexit\non:");
    assert_eq!(taken(&copied, "r7 > 9"), IMPRECISE);
    assert_eq!(taken(&copied, "r7 > 3"), REACHABLE);
    let shifted = format!("{RANDOM}\nr7 = r6\nr7 += 4\nif r6 > 9 goto out\ngoto on\nout:\nexit\non:");
    assert_eq!(taken(&shifted, "r7 > 13"), IMPRECISE);
    assert_eq!(taken(&shifted, "r7 > 12"), REACHABLE);
    assert_eq!(taken(&format!("{RANDOM}\nr7 = r6"), "r7 == r6"), IMPRECISE);
}

#[test]
fn bits_and_shifts_of_random_numbers_are_unbounded() {
    for before in
        ["r6 &= 8", "r6 >>= 63", "r6 <<= 32\nr6 s>>= 32", "w6 = w6", "r6 += 3", "r6 ^= 7", "r6 |= 2"]
    {
        let before = format!("{RANDOM}\n{before}");
        assert_eq!(taken(&before, "r6 & 0x8000000b"), REACHABLE, "{before}");
    }
    let before = format!("{RANDOM}\nr6 <<= 32\nr6 s>>= 32");
    assert_eq!(taken(&before, "r6 s< 0"), REACHABLE);
    assert_eq!(taken(&before, "r6 s> 5"), REACHABLE);
    assert_eq!(taken(&format!("{RANDOM}\nr6 &= 8"), "r6 == 0"), REACHABLE);
    assert_eq!(taken(&format!("{RANDOM}\nr6 &= 8"), "r6 == 4"), IMPRECISE);
    assert_eq!(taken(&format!("{RANDOM}\nr6 &= 8"), "r6 > 8"), DEAD);
    assert_eq!(taken(&format!("{RANDOM}\nr6 %= 8"), "r6 == 5"), REACHABLE);
}

#[test]
fn divisions_and_swaps_of_constants_are_followed_by_new_kernels_only() {
    assert_eq!(taken("r6 = 7\nr6 /= 2", "r6 == 3"), REACHABLE);
    assert_eq!(taken("r6 = 7\nr6 /= 2", "r6 != 3"), IMPRECISE);
    assert_eq!(taken("r6 = 7\nr1 = 0\nr6 /= r1", "r6 == 0"), REACHABLE);
    assert_eq!(taken("r6 = 7\nr1 = 0\nr6 %= r1", "r6 == 7"), REACHABLE);
    assert_eq!(taken("r6 = 7\nneg r6", "r6 s< -6"), REACHABLE);
    assert_eq!(taken("r6 = 0x1234\nswap 16 r6", "r6 == 0x3412"), REACHABLE);
    assert_eq!(taken("r6 = 7\nr1 = 64\nr6 <<= r1", "r6 == 0"), IMPRECISE);
}

#[test]
fn signs_are_extended_from_registers_and_memory() {
    assert_eq!(taken("r6 = 0xff\nr6 = extend 8 r6", "r6 s< 0"), REACHABLE);
    assert_eq!(taken("r6 = 0xff\nr6 = extend 8 r6", "r6 s> -1"), DEAD);
    let mut assembly =
        Assembly::new("r1 = load frozen 0\nr6 = s8[r1+0]\nif r6 s> -1 goto here\nexit\nhere:\nexit");
    assembly.data = vec![0x80];
    assert_eq!(assembly.reach("here"), DEAD);
}

#[test]
fn arithmetic_of_32_bits_extends_with_zeros() {
    assert_eq!(taken("r6 = -1\nw6 += 1", "r6 == 0"), REACHABLE);
    assert_eq!(taken("w6 = -1", "r6 s< 0"), DEAD);
    assert_eq!(taken("r6 = load 0x500000000", "w6 != 0"), DEAD);
    assert_eq!(taken("r6 = load 0x500000000", "r6 != 0"), REACHABLE);
}

#[test]
fn parts_of_spilled_constants() {
    let before = "r6 = 0x0102\nu64[r10-16] = r6\n";
    assert_eq!(taken(&format!("{before}r6 = u64[r10-16]"), "r6 != 0x0102"), DEAD);
    assert_eq!(taken(&format!("{before}r6 = u8[r10-15]"), "r6 == 1"), REACHABLE);
    assert_eq!(taken(&format!("{before}r6 = u8[r10-15]"), "r6 != 1"), IMPRECISE);
    // A store to a part leaves the rest unknown.
    let written = format!("{before}r1 = 0\nu8[r10-16] = r1\nr6 = u8[r10-15]");
    assert_eq!(taken(&written, "r6 == 1"), IMPRECISE);
    // Zeros are known in all parts of one store.
    assert_eq!(taken("r6 = 0\nu64[r10-8] = r6\nr6 = u32[r10-4]", "r6 != 0"), DEAD);
    let pointer = "r2 = r10\nr2 += r6\nr1 = 1\nu64[r2-8] = r1";
    assert_eq!(
        taken(&format!("call 5\nr6 = r0\nr1 = 0\nu64[r10-8] = r1\n{pointer}\nr6 = u64[r10-8]"), "r6 != 0"),
        IMPRECISE
    );
}

#[test]
fn atomics_change_memory_and_registers() {
    let before = "r6 = 3\nu64[r10-8] = r6\nr1 = 1\n";
    assert_eq!(taken(&format!("{before}atomic 0 u64[r10-8] r1\nr6 = u64[r10-8]"), "r6 != 3"), IMPRECISE);
    assert_eq!(taken(&format!("{before}atomic 1 u64[r10-8] r1"), "r1 != 1"), IMPRECISE);
    assert_eq!(taken("r6 = load map\nr1 = 1\natomic 1 u64[r6+0] r1", "r1 != 1"), REACHABLE);
    assert_eq!(taken("r6 = load map\nr0 = 1\natomic 0xf1 u64[r6+0] r1", "r0 != 1"), REACHABLE);
    assert_eq!(taken(&format!("{before}atomic 0x110 u64[r10-8] r1\nr6 = u64[r10-8]"), "r6 != 1"), DEAD);
}

#[test]
fn jumps_of_newer_kernels() {
    assert_eq!(reach("gotol here\nexit\nhere:\nexit"), REACHABLE);
    assert_eq!(reach("gotol on\nhere:\nexit\non:\nexit"), DEAD);
    assert_eq!(reach("may_goto here\nexit\nhere:\nexit"), REACHABLE);
    assert_eq!(reach("r1 = load map\ngoto r1\nhere:\nexit"), IMPRECISE);
    assert_eq!(reach("r6 = 1\npacket 0\nif r6 == 0 goto here\nexit\nhere:\nexit"), DEAD);
}

#[test]
fn packet_checks_are_reachable_in_both_directions() {
    let source = "
        r2 = u32[r1+76]
        r3 = u32[r1+80]
        r4 = r2
        r4 += 14
        if r4 > r3 goto out
        r4 = r2
        r4 += 34
        if r4 > r3 goto out
        r5 = u8[r2+23]
        if r5 != 6 goto out
        here:
        r0 = 1
        out:
        exit";
    assert_eq!(reach(source), REACHABLE);
}

#[test]
fn branches_meet_behind_undecided_branches() {
    let source = "
        r6 = 7
        r6 /= 2
        r7 = 0
        if r6 != 3 goto on
        r7 = 1
        on:
        meeting:
        call 5
        if r0 > 5 goto here
        if r7 == 0 goto undecided
        exit
        undecided:
        exit
        here:
        exit";
    let assembly = Assembly::new(source);
    assert_eq!(assembly.reach("meeting"), REACHABLE);
    assert_eq!(assembly.reach("here"), REACHABLE);
    assert_eq!(assembly.reach("undecided"), IMPRECISE);
}

#[test]
fn signed_comparisons_of_32_bits_consider_both_signs() {
    let before = format!("{RANDOM}\nif w6 != 0 goto on\nexit\non:");
    assert_eq!(taken(&before, "w6 s> 5"), REACHABLE);
    assert_eq!(taken(&before, "w6 s< -5"), REACHABLE);
    assert_eq!(taken("w6 = -6", "w6 s< -5"), REACHABLE);
    assert_eq!(taken("w6 = -6", "w6 s>= -5"), DEAD);
}

#[test]
fn bytes_of_a_number_are_combined() {
    let before = "r7 = load map\nr6 = u8[r7+0]\nr6 <<= 8\nr1 = u8[r7+1]\nr6 |= r1";
    assert_eq!(taken(before, "r6 == 0x86dd"), REACHABLE);
    assert_eq!(taken(before, "r6 != 0x86dd"), REACHABLE);
    assert_eq!(taken(&format!("{before}\nr1 &= r6"), "r1 == 7"), REACHABLE);
    assert_eq!(taken(before, "r6 == 0x10000"), IMPRECISE);
}

#[test]
fn switches_on_random_numbers_reach_all_cases() {
    let source = format!(
        "{RANDOM}\nif r6 == 7 goto a\nif r6 == 3 goto b\nif r6 == 9 goto here\na:\nexit\nb:\nexit\nhere:\nexit"
    );
    assert_eq!(reach(&source), REACHABLE);
}

#[test]
fn stores_to_parts_of_a_word_lose_the_zeros_beside_them() {
    let zero = "r1 = 0\nr2 = 5\n";
    // Linux 5.16 to 6.7 forget the second half, Linux 6.8 the first.
    assert_eq!(
        taken(&format!("{zero}u32[r10-4] = r1\nu32[r10-8] = r2\nr6 = u32[r10-4]"), "r6 != 0"),
        IMPRECISE
    );
    assert_eq!(
        taken(&format!("{zero}u32[r10-8] = r1\nu32[r10-4] = r2\nr6 = u32[r10-8]"), "r6 != 0"),
        IMPRECISE
    );
    assert_eq!(taken(&format!("{zero}u32[r10-4] = r1\nu32[r10-8] = r1\nr6 = u32[r10-4]"), "r6 != 0"), DEAD);
    // No verifier since Linux 6.8 combines two stores.
    assert_eq!(
        taken(&format!("{zero}u32[r10-4] = r1\nu32[r10-8] = r1\nr6 = u64[r10-8]"), "r6 != 0"),
        IMPRECISE
    );
    // Another word stays as it is.
    assert_eq!(taken(&format!("{zero}u32[r10-4] = r1\nu32[r10-12] = r2\nr6 = u32[r10-4]"), "r6 != 0"), DEAD);
    // A helper that writes behind a number.
    let written = "r1 = r10\nr1 += -4\nr2 = 4\nr3 = 0\ncall 113\nr6 = u32[r10-8]";
    assert_eq!(taken(&format!("{zero}u32[r10-8] = r1\n{written}"), "r6 != 0"), IMPRECISE);
}

#[test]
fn products_of_32_bits_have_bounds_only_for_numbers_of_16_bits() {
    assert_eq!(taken(&format!("{RANDOM}\nw6 &= 0x1ffff\nw6 *= 3"), "w6 > 0x5fffd"), IMPRECISE);
    assert_eq!(taken(&format!("{RANDOM}\nw6 &= 0xffff\nw6 *= 3"), "w6 > 0x2fffd"), DEAD);
    assert_eq!(taken(&format!("{RANDOM}\nr6 &= 0x1ffff\nr6 *= 3"), "r6 > 0x5fffd"), DEAD);
    assert_eq!(taken(&format!("{RANDOM}\nr6 &= 0xff\nr1 = 40\nw6 >>= r1"), "r6 != 0"), IMPRECISE);
}

#[test]
fn shifts_of_64_bits_lose_the_bounds_of_the_low_half() {
    let small = format!("{RANDOM}\nif r6 > 1000 goto out\ngoto on\nout:\nexit\non:\nr6 >>= 1");
    assert_eq!(taken(&small, "r6 > 500"), DEAD);
    assert_eq!(taken(&small, "w6 > 500"), IMPRECISE);
    assert_eq!(taken(&small, "w6 > 511"), DEAD);
    // A comparison of 32 bits replaces the bounds of the whole number.
    let compared = format!("{small}\nif w6 == 7 goto out");
    assert_eq!(taken(&compared, "r6 > 500"), IMPRECISE);
    let product = format!("{RANDOM}\nr6 &= 0x1ffff\nr6 *= 3");
    assert_eq!(taken(&product, "w6 > 0x5fffd"), IMPRECISE);
}

#[test]
fn impossible_directions_leave_no_bounds() {
    // Linux 5.10 follows `r1 < r7` and `r7 > 64` together with `r7 < 2`.
    let before =
        format!("{RANDOM}\nr7 = r6\nr7 &= 1\nr4 = 64\nif r4 >= r7 goto out\ngoto on\nout:\nexit\non:");
    assert_eq!(taken(&before, "r7 s>= 8"), IMPRECISE);
    let before = format!(
        "{RANDOM}\nr7 = r6\nr7 &= 1\nr6 &= 8\nr6 += 4\nif r6 != r7 goto out\ngoto on\nout:\nexit\non:"
    );
    assert_eq!(taken(&before, "r7 > 3"), IMPRECISE);
}

#[test]
fn packet_bytes_have_the_bounds_of_a_register() {
    assert_eq!(taken("r6 = r1\npacket 0\nr1 = load 0xffffffff", "r0 > r1"), IMPRECISE);
}
