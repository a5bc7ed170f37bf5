//! The kernel's rules for BTF: each case of the table gets the verdict of Linux 6.18. `live/btf_rules.rs`
//! compares the same cases with the running kernel.

use core_relo::{
    Endian, Plan, Target,
    btf::{Btf, Builder, KernelBtfRules, kernel_violations},
};
use core_relo_loader::{Loader, load_plan::TargetKernel, object::Object, target::KernelBtf};
use core_relo_tests::{
    btf_rules::{MutatedObjects, RandomBtf, cases},
    info_rules,
};
use core_relo_verdict::{
    judge::{KernelAnswers, ReasonKind, judge},
    kernel::{KernelInputs, KernelVersion},
    loaders::LoaderKind,
    mismatch::MismatchKind,
    requirements::{NeedTable, ObjectNeeds},
};
use fastrand::Rng;
use std::sync::Arc;

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

/// Returns whether a verdict on core-relo's load says that Linux 6.18 refuses the BTF. `None` for an object
/// that core-relo does not open.
fn is_without_btf(object: &Object<'_>) -> Option<bool> {
    let relocs = object.relocs().ok()?;
    let mut table = NeedTable::default();
    let needs = ObjectNeeds::collect_for(LoaderKind::CoreRelo, object, &relocs, &mut table).ok()?;
    let target = Target::new("6.18", Arc::new(Btf::parse(int_types()).unwrap()));
    let inputs = KernelInputs { version: Some(KernelVersion::release(6, 18)), ..KernelInputs::default() };
    let answers = KernelAnswers::new(&table, &target, &inputs);
    let verdict = judge(&needs, &Plan::new(&relocs, &target), &answers).unwrap();
    let refuses_btf = |text: &str| text.contains("BTF, which the kernel refuses");
    let mut reasons =
        verdict.reasons.iter().chain(verdict.programs.iter().flat_map(|program| &program.reasons));
    let is_reason = reasons.any(|reason| reason.kind == ReasonKind::Btf && refuses_btf(&reason.text));
    let is_warning = |warning: &core_relo_verdict::mismatch::Mismatch| {
        warning.kind == MismatchKind::Btf && refuses_btf(&warning.text)
    };
    Some(is_reason || verdict.warnings.iter().any(is_warning))
}

/// Returns the BTF of a kernel that has `int` only.
fn int_types() -> Vec<u8> {
    let mut b = Builder::new(Endian::native());
    b.int("int", 4, Builder::SIGNED);
    b.finish()
}

/// The verdict and the load plan repair a BTF by the same function, so that the verdict never promises a
/// repair that the load lacks.
#[test]
fn a_verdict_without_a_violation_is_on_a_btf_that_the_kernel_accepts() {
    /// `KERNEL_VERSION(6, 18, 0)`.
    const LINUX_6_18: u32 = 0x6_1200;
    let mut kernel =
        TargetKernel::offline(Arc::new(KernelBtf::from_btf(Arc::new(Btf::parse(int_types()).unwrap()), [])));
    kernel.kernel_version = LINUX_6_18;
    let mut mutated = MutatedObjects::new(Rng::with_seed(3));
    let (mut accepted, mut repaired, mut dropped) = (0, 0, 0);
    for _ in 0..3000 {
        let next = mutated.next_object();
        let Ok(object) = Object::parse(&next.bytes) else { continue };
        let Ok(plan) = Loader::for_kernel(&object, kernel.clone()).plan() else { continue };
        let (Some(btf), Some(is_without)) = (plan.btf(), is_without_btf(&object)) else { continue };
        let violations = kernel_violations(btf, &KernelBtfRules::of_release(6, 18));
        assert_eq!(violations.is_empty(), !is_without, "{}: {:?}", next.name, violations.first());
        accepted += u32::from(plan.repairs().is_empty() && !is_without);
        repaired += u32::from(!plan.repairs().is_empty() && !is_without);
        dropped += u32::from(is_without);
    }
    println!("{accepted} accepted, {repaired} repaired, {dropped} loaded without BTF");
    assert!(accepted.min(repaired).min(dropped) > 100, "{accepted}, {repaired}, {dropped}");
}
