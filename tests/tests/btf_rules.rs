//! The kernel's rules for BTF: each case of the table gets the verdict of Linux 6.18. `live/btf_rules.rs` compares the same
//! cases with the running kernel.

use core_relo::btf::{Btf, KernelBtfRules, kernel_violations};
use core_relo_tests::{
    btf_rules::{RandomBtf, cases},
    info_rules,
};
use fastrand::Rng;

#[test]
fn every_case_gets_the_verdict_of_linux_6_18() {
    let mut wrong = Vec::new();
    let all = cases();
    for case in &all {
        let violations = kernel_violations(&case.btf, &KernelBtfRules::of_release(6, 18));
        let first = violations.first();
        let agrees = match (case.refusal, first) {
            (None, None) => true,
            (Some(refusal), Some(first)) => {
                first.kernel_message().unwrap_or("") == refusal.message
                    && refusal.ty.is_none_or(|ty| first.ty.as_ref().is_some_and(|first| first.id == ty))
            }
            _ => false,
        };
        if !agrees {
            wrong.push(format!(
                "{}: {:?}, expected {:?}",
                case.name,
                first.map(ToString::to_string),
                case.refusal
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

/// What the kernel accepts, the parser must not refuse: an object with such a BTF loads.
#[test]
fn the_parser_accepts_what_the_kernel_accepts() {
    let mut random = RandomBtf::new(Rng::with_seed(1));
    let mut accepted = 0;
    for _ in 0..5000 {
        let btf = random.next_btf();
        if kernel_violations(&btf, &KernelBtfRules::newest()).is_empty() {
            accepted += 1;
            if let Err(error) = Btf::parse(btf) {
                panic!("the parser refuses what the kernel accepts: {error}");
            }
        }
    }
    assert!(accepted > 500, "{accepted} accepted");
}

/// One check with the stricter rules replaces two checks only if neither kernel refuses what it accepts.
#[test]
fn the_stricter_rules_accept_only_what_both_kernels_accept() {
    let releases = [(5, 10), (5, 16), (6, 1), (6, 12), (7, 2)];
    let rules = releases.map(|(major, minor)| KernelBtfRules::of_release(major, minor));
    let mut random = RandomBtf::new(Rng::with_seed(2));
    let random = (0..3000).map(|_| random.next_btf());
    let mut accepted = 0;
    for btf in cases().into_iter().map(|case| case.btf).chain(random) {
        let accepts = |rules: &KernelBtfRules| kernel_violations(&btf, rules).is_empty();
        let by_kernel = rules.map(|rules| accepts(&rules));
        for (one, is_accepted_by_one) in rules.iter().zip(by_kernel) {
            for (other, is_accepted_by_other) in rules.iter().zip(by_kernel) {
                if accepts(&one.or_stricter(*other)) {
                    accepted += 1;
                    assert!(is_accepted_by_one && is_accepted_by_other, "{one:?} and {other:?}: {btf:x?}");
                }
            }
        }
    }
    assert!(accepted > 1000, "{accepted} accepted");
}

/// The same for the records of programs, which `live/info_rules.rs` compares with the running kernel.
#[test]
fn every_case_of_records_gets_the_verdict_of_linux_6_18() {
    let all = info_rules::cases();
    let wrong = all.iter().filter_map(|case| {
        let violations = case.violations(&KernelBtfRules::of_release(6, 18));
        let first = violations.first();
        let message = first.map(|first| first.kernel_message().unwrap_or(""));
        (message != case.message).then(|| format!("{}: {first:?}, expected {:?}", case.name, case.message))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}
