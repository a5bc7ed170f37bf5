//! Generated programs: runs in an interpreter do not contradict the analysis.

use crate::test_support::{Agreement, KernelNumbers, check_kernel_numbers, check_reach};

/// The programs of the test.
const PROGRAMS: u64 = 3000;

/// Returns random bytes (xorshift64*).
fn random_bytes(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let count = 64 << (next() >> 62);
    (0..count).map(|_| u8::try_from(next() >> 56).unwrap()).collect()
}

#[test]
fn runs_do_not_contradict_the_analysis() {
    let mut sum = Agreement::default();
    for seed in 0..PROGRAMS {
        let agreement = check_reach(&random_bytes(seed));
        sum.complete_runs += agreement.complete_runs;
        sum.constant_runs += agreement.constant_runs;
        sum.executed += agreement.executed;
        sum.dead += agreement.dead;
        sum.reachable += agreement.reachable;
    }
    println!("{sum:?}");
    assert!(sum.complete_runs > PROGRAMS, "{sum:?}");
    assert!(sum.constant_runs > PROGRAMS / 10, "{sum:?}");
    assert!(sum.dead > 10_000 && sum.reachable > 10_000, "{sum:?}");
}

/// A result that is kept for other kernels must be the result for their numbers.
#[test]
fn results_depend_on_the_used_numbers_only() {
    let mut sum = KernelNumbers::default();
    for seed in 0..PROGRAMS {
        let numbers = check_kernel_numbers(&random_bytes(seed));
        sum.used += numbers.used;
        sum.unused += numbers.unused;
        sum.kernels += numbers.kernels;
    }
    println!("{sum:?}");
    assert!(sum.used > 1000 && sum.unused > 1000 && sum.kernels > 1000, "{sum:?}");
}
