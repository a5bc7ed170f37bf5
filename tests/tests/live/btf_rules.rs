//! The kernel's rules for BTF, compared with the running kernel: the cases of the table, random types, and
//! the repaired types of objects with changed words. `CORE_RELO_SEED` selects the random types and changes,
//! `CORE_RELO_ROUNDS` their number in thousands.

use super::harness::{kernel_version, live};
use core_relo::{
    TypeId,
    btf::{BtfViolation, KernelBtfRules, kernel_violations},
};
use core_relo_loader::{
    link::ProgramLinker,
    load::{BtfLoad, Kernel as _, RunningKernel},
    load_plan::SentBtf,
    object::Object,
};
use core_relo_tests::btf_rules::{MutatedObjects, RandomBtf, cases};
use fastrand::Rng;
use std::env;

/// Returns the rules of the running kernel.
fn rules() -> KernelBtfRules {
    let (major, minor) = kernel_version();
    KernelBtfRules::of_release(major.try_into().unwrap(), minor.try_into().unwrap())
}

/// Loads a BTF. The error is the kernel's log.
fn load(btf: &[u8], log: &mut [u8]) -> Result<(), String> {
    log.fill(0);
    match RunningKernel.btf_load(&BtfLoad { btf, token: None }, log) {
        Ok(_) => Ok(()),
        Err(errno) => {
            let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
            Err(format!("{errno}: {}", String::from_utf8_lossy(text)))
        }
    }
}

/// Returns the difference between the kernel's verdict and the first violation.
fn difference(kernel: &Result<(), String>, first: Option<&BtfViolation>) -> Option<String> {
    match (kernel, first) {
        (Ok(()), None) => None,
        (Ok(()), Some(violation)) => Some(format!("the kernel accepts: {violation}")),
        (Err(log), None) => Some(format!("only the kernel refuses: {}", end_of(log))),
        (Err(log), Some(violation)) => {
            let message = violation.kernel_message().unwrap_or_default();
            let end = end_of(log);
            if !end.contains(message) {
                return Some(format!("another rule: {violation} ({message}), the kernel says {end}"));
            }
            let kernel_type = last_type(log);
            let ty = violation.ty.as_ref().map(|ty| ty.id);
            let is_logged = !message.is_empty();
            (is_logged
                && ty.is_some()
                && kernel_type.is_some()
                && kernel_type != ty
                && !is_without_type(message))
            .then(|| format!("another type: {violation}, the kernel says {end}"))
        }
    }
}

/// Returns whether the kernel logs this message without a type.
fn is_without_type(message: &str) -> bool {
    message.contains("precede modifiers") || message.contains("Max chain length")
}

/// Returns the last lines of a log.
fn end_of(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(2)..].join(" | ")
}

/// Returns the type that the last line with a type names: `[3] STRUCT s`.
fn last_type(log: &str) -> Option<TypeId> {
    let line = log.lines().rev().find(|line| line.starts_with('['))?;
    line[1..].split(']').next()?.parse().ok().map(TypeId)
}

#[test]
fn the_kernel_agrees_on_every_case() {
    let Some(_live) = live("btf_rules::the_kernel_agrees_on_every_case", &[]) else { return };
    let (rules, mut log) = (rules(), vec![0; 1 << 20]);
    let all = cases();
    let mut wrong = Vec::new();
    for case in &all {
        let violations = kernel_violations(&case.btf, &rules);
        if let Some(text) = difference(&load(&case.btf, &mut log), violations.first()) {
            wrong.push(format!("{}: {text}", case.name));
        }
    }
    println!("{} cases", all.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

/// Returns the generator of random numbers, and the number of rounds.
fn random_rounds() -> (Rng, u32) {
    let number = |variable, default| env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (seed, rounds) = (number("CORE_RELO_SEED", 2026), number("CORE_RELO_ROUNDS", 5));
    println!("CORE_RELO_SEED={seed}");
    (Rng::with_seed(seed), u32::try_from(rounds * 1000).unwrap())
}

#[test]
fn the_kernel_agrees_on_random_types() {
    let Some(_live) = live("btf_rules::the_kernel_agrees_on_random_types", &[]) else { return };
    let (rng, rounds) = random_rounds();
    let mut random = RandomBtf::new(rng);
    let (rules, mut log) = (rules(), vec![0; 1 << 16]);
    let (mut wrong, mut accepted) = (Vec::new(), 0);
    for round in 0..rounds {
        let btf = random.next_btf();
        let violations = kernel_violations(&btf, &rules);
        let kernel = load(&btf, &mut log);
        accepted += u32::from(kernel.is_ok());
        if let Some(text) = difference(&kernel, violations.first()) {
            wrong.push(format!("{round}: {text}"));
        }
    }
    println!("{rounds} random BTFs, {accepted} accepted");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

/// What the validator finds in the repaired BTF decides whether a verdict says that the object loads with
/// BTF.
#[test]
fn the_kernel_agrees_on_repaired_types_of_changed_objects() {
    let Some(_live) = live("btf_rules::the_kernel_agrees_on_repaired_types_of_changed_objects", &[]) else {
        return;
    };
    let (rng, rounds) = random_rounds();
    let mut mutated = MutatedObjects::new(rng);
    let (rules, mut log) = (rules(), vec![0; 1 << 20]);
    let (mut wrong, mut accepted, mut refused) = (Vec::new(), 0, 0);
    for round in 0..rounds {
        let next = mutated.next_object();
        let Ok(object) = Object::parse(&next.bytes) else { continue };
        let Ok(linker) = ProgramLinker::collect(&object) else { continue };
        let Ok(Some(sent)) = SentBtf::new(&linker) else { continue };
        let repaired = sent.repaired_bytes(&rules).unwrap();
        let violations = kernel_violations(&repaired, &rules);
        let kernel = load(&repaired, &mut log);
        accepted += u32::from(kernel.is_ok());
        refused += u32::from(kernel.is_err());
        if let Some(text) = difference(&kernel, violations.first()) {
            wrong.push(format!("{round}: {}: {text}", next.name));
        }
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > rounds / 10 && refused > rounds / 50, "{accepted} accepted, {refused} refused");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
