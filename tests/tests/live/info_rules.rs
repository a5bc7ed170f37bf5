//! The kernel's rules for `func_info` and `line_info`, compared with the running kernel: the cases of the
//! table, and random programs. `CORE_RELO_SEED` selects the random programs, `CORE_RELO_ROUNDS` their number
//! in thousands.

use super::harness::{in_vm, kernel_version, live};
use core_relo::{
    btf::KernelBtfRules,
    ext::{InfoPlace, InfoViolation},
};
use core_relo_loader::load::{BtfLoad, Kernel as _, ProgLoad, RunningKernel};
use core_relo_tests::info_rules::{InfoCase, RandomInfo, cases};
use fastrand::Rng;
use std::{env, os::fd::AsFd as _};

/// `BPF_PROG_TYPE_SOCKET_FILTER`.
const SOCKET_FILTER: u32 = 1;

/// Returns the rules of the running kernel.
fn rules() -> KernelBtfRules {
    let (major, minor) = kernel_version();
    KernelBtfRules::of_release(major.try_into().unwrap(), minor.try_into().unwrap())
}

/// Loads a program. The error is the kernel's log.
fn load(case: &InfoCase, log: &mut [u8]) -> Result<(), String> {
    log.fill(0);
    let btf = RunningKernel.btf_load(&BtfLoad { btf: &case.btf, token: None }, log);
    let btf = btf.unwrap_or_else(|errno| panic!("{}: the kernel refuses the BTF: {errno}", case.name));
    let (insns, functions, lines) = (case.code(), case.func_info.bytes(), case.line_info.bytes());
    let rec_size = |bytes: &[u8], size| if bytes.is_empty() { 0 } else { size };
    let program = ProgLoad {
        prog_type: SOCKET_FILTER,
        insns: &insns,
        license: b"GPL",
        btf: Some(btf.as_fd()),
        func_info_rec_size: rec_size(&functions, case.func_info.record_bytes),
        func_info: &functions,
        line_info_rec_size: rec_size(&lines, case.line_info.record_bytes),
        line_info: &lines,
        log_level: 1,
        ..ProgLoad::default()
    };
    log.fill(0);
    match RunningKernel.prog_load(&program, log) {
        Ok(_) => Ok(()),
        Err(errno) => {
            let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
            Err(format!("{errno}: {}", String::from_utf8_lossy(text)))
        }
    }
}

/// The words of the kernel's log about records.
const MESSAGES: [&str; 14] = [
    "number of funcs in func_info",
    "func info rec size",
    "for the first func info record",
    "than previous func info record",
    "doesn't match subprog layout",
    "invalid type id",
    "nonzero tailing record in",
    "LD_ABS is ",
    "tail_call is ",
    ".insn_off:",
    "Invalid insn code at line_info",
    ".line_off or .file_name_off",
    "missing bpf_line_info",
    "func_info BTF section",
];

/// Returns the difference between the kernel's verdict and the first violation.
fn difference(kernel: &Result<(), String>, first: Option<&InfoViolation>) -> Option<String> {
    let is_about_records = |log: &str| MESSAGES.iter().any(|message| log.contains(message));
    match (kernel, first) {
        (Ok(()), None) => None,
        (Ok(()), Some(violation)) => Some(format!("the kernel accepts: {violation}")),
        // The verifier may refuse the program for another reason. A refusal without any words is one of the
        // records.
        (Err(log), None) => {
            (is_about_records(log) || log.ends_with(": ")).then(|| format!("only the kernel refuses: {log}"))
        }
        (Err(log), Some(violation)) => {
            let agrees = match violation.kernel_message() {
                Some(message) => log.contains(message) && names_the_record(log, violation),
                None => !is_about_records(log),
            };
            (!agrees).then(|| format!("another rule: {violation}, the kernel says {log}"))
        }
    }
}

/// Returns whether the log names the record of a violation, if the log names any.
fn names_the_record(log: &str, violation: &InfoViolation) -> bool {
    let number =
        log.split_once("line_info[").and_then(|(_, rest)| rest.split_once(']')?.0.parse::<u32>().ok());
    match (number, &violation.place) {
        (Some(number), InfoPlace::LineInfoRecord(index)) => number == *index,
        (number, _) => number.is_none(),
    }
}

#[test]
fn the_kernel_agrees_on_every_case() {
    let Some(_live) = live("info_rules::the_kernel_agrees_on_every_case", &[]) else { return };
    let (rules, mut log) = (rules(), vec![0; 1 << 16]);
    let all = cases();
    let mut wrong = Vec::new();
    for case in &all {
        let violations = case.violations(&rules);
        if let Some(text) = difference(&load(case, &mut log), violations.first()) {
            wrong.push(format!("{}: {text}", case.name));
        }
    }
    println!("{} cases", all.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn the_kernel_agrees_on_random_programs() {
    let Some(_live) = live("info_rules::the_kernel_agrees_on_random_programs", &[]) else { return };
    let number = |variable, default| env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    // Without hardware virtualisation, a guest takes minutes for thousands of programs.
    let rounds = if in_vm() { 1 } else { 5 };
    let (seed, rounds) = (number("CORE_RELO_SEED", 2026), number("CORE_RELO_ROUNDS", rounds));
    println!("CORE_RELO_SEED={seed}");
    let mut random = RandomInfo::new(Rng::with_seed(seed));
    let (rules, mut log) = (rules(), vec![0; 1 << 16]);
    let (mut wrong, mut accepted, mut violating) = (Vec::new(), 0, 0);
    for round in 0..rounds * 1000 {
        let case = random.next_case();
        let violations = case.violations(&rules);
        let kernel = load(&case, &mut log);
        accepted += u32::from(kernel.is_ok());
        violating += u32::from(!violations.is_empty());
        if let Some(text) = difference(&kernel, violations.first()) {
            wrong.push(format!("{round}: {text}\n{case:?}"));
        }
    }
    println!("{} random programs, {accepted} accepted, {violating} violate a rule", rounds * 1000);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
}
