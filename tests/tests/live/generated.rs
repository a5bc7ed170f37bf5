//! Generated programs: the verdict beside the load of the running kernel. `CORE_RELO_SEED` selects the
//! programs, `CORE_RELO_ROUNDS` their number.

use super::harness::{Need, live};
use core_relo::{Plan, Target, insn::Insn};
use core_relo_loader::{Loader, object::Object, target::running_kernel_btf};
use core_relo_object::test_support::{TestObject, insn};
use core_relo_verdict::{
    judge::{KernelAnswers, ObjectVerdict, Verdict, judge},
    kernel::{KernelInputs, KernelVersion},
    requirements::{NeedTable, ObjectNeeds},
};
use fastrand::Rng;
use std::{env, sync::Arc};

/// The sections of programs, and an offset behind their context.
const SECTIONS: [(&str, i16); 11] = [
    ("tc", 192),
    ("xdp", 24),
    ("socket", 192),
    ("cgroup_skb/ingress", 192),
    ("cgroup/connect4", 72),
    ("cgroup/dev", 12),
    ("sk_lookup", 72),
    ("raw_tp/sys_enter", 96),
    ("tp/syscalls/sys_enter_read", 8192),
    ("tp_btf/sys_enter", 16),
    ("kprobe/vfs_read", 168),
];

/// A helper that no kernel has.
const MISSING_HELPER: i32 = 9999;
const RANDOM: i32 = 7;

/// The parts of verifier logs about what verdicts judge: helpers, arguments, accesses to the context,
/// returned values.
const JUDGED: [&str; 8] = [
    "dereference of modified ctx ptr",
    "invalid bpf_context access",
    "stores into R6 ctx is not allowed",
    "invalid func unknown",
    "doesn't have",
    "is not multiple of 8",
    "should have been",
    "is not a known value",
];

/// The numbers that a function keeps, in r7 to r9.
const NUMBERS: [u8; 3] = [7, 8, 9];

/// The slots on the stack that a function keeps.
const SLOTS: [i16; 2] = [-8, -16];

/// The depth of nested branches, and the statements of a block.
const DEPTH: usize = 3;
const STATEMENTS: usize = 5;

/// The functions of an object: the program, and those that it may call.
struct Generator<'r> {
    rng: &'r mut Rng,
    /// The offset behind the context of the program.
    context_end: i16,
    function_count: usize,
    insns: Vec<Insn>,
    /// The calls of functions: the instruction, and the number of the function.
    calls: Vec<(u64, usize)>,
}

impl Generator<'_> {
    fn push(&mut self, code: u8, dst: u8, src: u8, off: i16, imm: i32) {
        self.insns.push(insn(code, dst, src, off, imm));
    }

    fn number(&mut self) -> u8 {
        *self.rng.choice(&NUMBERS).unwrap()
    }

    fn constant(&mut self) -> i32 {
        *self.rng.choice(&[0, 1, 2, 3, 5, 8, -1, 16, 255, 4096]).unwrap()
    }

    /// Generates a function, the first of which is the program.
    fn function(&mut self, number: usize) {
        self.push(0xbf, 6, 1, 0, 0);
        for register in NUMBERS {
            let constant = self.constant();
            self.push(0xb7, register, 0, 0, constant);
        }
        for slot in SLOTS {
            self.push(0x7b, 10, 7, slot, 0);
        }
        self.block(number, 0);
        match self.rng.u8(0..4) {
            0 => {
                let register = self.number();
                self.push(0xbf, 0, register, 0, 0);
            }
            1 => {
                let constant = self.constant();
                self.push(0xb7, 0, 0, 0, constant);
            }
            _ => {
                let constant = self.rng.i32(0..2);
                self.push(0xb7, 0, 0, 0, constant);
            }
        }
        self.push(0x95, 0, 0, 0, 0);
    }

    fn block(&mut self, function: usize, depth: usize) {
        for _ in 0..self.rng.usize(1..=STATEMENTS) {
            self.statement(function, depth);
        }
    }

    fn statement(&mut self, function: usize, depth: usize) {
        let (register, constant) = (self.number(), self.constant());
        let slot = *self.rng.choice(&SLOTS).unwrap();
        match self.rng.u8(0..12) {
            0 => self.push(0xb7, register, 0, 0, constant),
            1 => {
                self.push(0x85, 0, 0, 0, RANDOM);
                self.push(0xbf, register, 0, 0, 0);
                if self.rng.bool() {
                    self.push(0x57, register, 0, 0, constant.max(1));
                }
            }
            2 => self.push(0x7b, 10, register, slot, 0),
            3 => self.push(0x79, register, 10, slot, 0),
            4 => {
                let operation = *self.rng.choice(&[0x07, 0x57, 0xa7, 0x47]).unwrap();
                self.push(operation, register, 0, 0, constant);
            }
            5..=7 if depth < DEPTH => self.branch(function, depth),
            8 if depth > 0 => self.push(0x85, 0, 0, 0, MISSING_HELPER),
            9 if function == 0 => self.access(),
            10 if function + 1 < self.function_count => self.call(function),
            _ => {
                let source = self.number();
                self.push(0xbf, register, source, 0, 0);
            }
        }
    }

    fn branch(&mut self, function: usize, depth: usize) {
        let (register, constant) = (self.number(), self.constant());
        let at = self.insns.len();
        let comparison = *self.rng.choice(&[0x15, 0x55, 0x25, 0xa5, 0x65, 0x45, 0x16]).unwrap();
        self.push(comparison, register, 0, 0, constant);
        self.block(function, depth + 1);
        let distance = i16::try_from(self.insns.len() - at - 1).unwrap();
        self.insns[at].off = distance;
    }

    /// Reads or writes a part of the context, rarely behind its end.
    fn access(&mut self) {
        let (size, bytes) = *self.rng.choice(&[(0x18, 8), (0x00, 4), (0x08, 2), (0x10, 1)]).unwrap();
        let offset = match self.rng.u8(0..8) {
            0 => self.context_end,
            1 => self.context_end - 4,
            2 => 2,
            3..=5 => self.rng.i16(0..self.context_end.min(256)) & -bytes,
            _ => 8 * self.rng.i16(0..2),
        };
        let offset = offset & -bytes.min(2);
        let context = if self.rng.bool() { 1 } else { 6 };
        if context == 1 {
            self.push(0xbf, 1, 6, 0, 0);
            if self.rng.u8(0..8) == 0 {
                self.push(0x07, 1, 0, 0, 8);
            }
        }
        match self.rng.u8(0..8) {
            0 => self.push(0x63 | size, context, 7, offset, 0),
            1 => self.push(0x62 | size, context, 0, offset, 1),
            _ => self.push(0x61 | size, 0, context, offset, 0),
        }
    }

    fn call(&mut self, function: usize) {
        let callee = self.rng.usize(function + 1..self.function_count);
        if self.rng.bool() {
            let constant = self.constant();
            self.push(0xb7, 1, 0, 0, constant);
        } else {
            let register = self.number();
            self.push(0xbf, 1, register, 0, 0);
        }
        self.calls.push((u64::try_from(self.insns.len()).unwrap(), callee));
        self.push(0x85, 0, 1, 0, -1);
    }
}

/// Generates an object with one program, whose subprograms are static or global, with or without records of
/// functions.
fn generate(rng: &mut Rng) -> Vec<u8> {
    let (section, context_end) = *rng.choice(&SECTIONS).unwrap();
    let (function_count, has_records) = (rng.usize(1..4), rng.bool());
    let mut generator = Generator { rng, context_end, function_count, insns: Vec::new(), calls: Vec::new() };
    generator.function(0);
    let (main, main_calls) = (generator.insns.split_off(0), generator.calls.split_off(0));
    let mut starts = Vec::new();
    for number in 1..function_count {
        starts.push(generator.insns.len());
        generator.function(number);
    }
    let (text, text_calls) = (generator.insns, generator.calls);
    let mut m = TestObject::new();
    let program = m.program("main", section, &main);
    let (int, void) = (m.int, core_relo::TypeId(0));
    let context = m.types.pointer(void);
    let proto = m.types.func_proto(int, &[("context", context)]);
    let ty = m.types.func("main", proto, 1);
    if has_records {
        m.func_info(section, &[(0, ty)]);
    }
    if starts.is_empty() {
        return m.bytes();
    }
    let proto = m.types.func_proto(int, &[("x", int)]);
    let code = m.code(".text", &text);
    let (mut symbols, mut records) = (Vec::new(), Vec::new());
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(text.len());
        let name = format!("f{number}");
        let [start, length] = [*start, end - start].map(|index| u64::try_from(index).unwrap());
        symbols.push(m.function(&name, code, start, length));
        let ty = m.types.func(&name, proto, generator.rng.u8(0..2));
        records.push((u32::try_from(start).unwrap(), ty));
    }
    if has_records {
        m.func_info(".text", &records);
    }
    for (section, calls) in [(program, main_calls), (code, text_calls)] {
        for (at, callee) in calls {
            m.refer(section, at, symbols[callee - 1], true);
        }
    }
    m.bytes()
}

/// Judges objects on the running kernel.
pub(super) fn judge_all(objects: &[Object<'_>]) -> Vec<ObjectVerdict> {
    let kernel = running_kernel_btf();
    let target = Target::new("vmlinux", Arc::clone(kernel.vmlinux().unwrap()));
    let inputs = KernelInputs { version: running_version(), ..KernelInputs::default() };
    let mut table = NeedTable::default();
    let relocs: Vec<_> = objects.iter().map(|object| object.relocs().unwrap()).collect();
    let needs: Vec<_> = objects
        .iter()
        .zip(&relocs)
        .map(|(object, relocs)| ObjectNeeds::collect(object, relocs, &mut table).unwrap())
        .collect();
    let answers = KernelAnswers::new(&table, &target, &inputs);
    let judged = needs.iter().zip(&relocs);
    judged.map(|(needs, relocs)| judge(needs, &Plan::new(relocs, &target), &answers).unwrap()).collect()
}

/// Returns the number in an environment variable.
pub(super) fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn running_version() -> Option<KernelVersion> {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?.trim().parse().ok()
}

#[test]
fn verdicts_on_generated_programs_agree_with_the_kernel() {
    let Some(_live) = live("generated::verdicts_on_generated_programs_agree_with_the_kernel", &[Need::Btf])
    else {
        return;
    };
    let (seed, rounds) = (number("CORE_RELO_SEED", 2026), number("CORE_RELO_ROUNDS", 400));
    let rounds = usize::try_from(rounds).unwrap();
    println!("CORE_RELO_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let bytes: Vec<_> = (0..rounds).map(|_| generate(&mut rng)).collect();
    let objects: Vec<_> = bytes.iter().map(|bytes| Object::parse(bytes).unwrap()).collect();
    let verdicts = judge_all(&objects);
    let mut counts = [0_usize; 5];
    let mut failures = Vec::new();
    for (round, (object, verdict)) in objects.iter().zip(&verdicts).enumerate() {
        let error = Loader::new(object).load().err().map(|error| format!("{error}\n{error:?}"));
        let section = object.programs()[0].section_name();
        let is_judged = error.as_ref().is_some_and(|error| JUDGED.iter().any(|part| error.contains(part)));
        let program = &verdict.programs[0];
        let is_value = error.as_ref().is_some_and(|error| error.contains("should have been in"));
        match (program.verdict, &error) {
            (Verdict::Loads, None) => counts[0] += 1,
            (Verdict::Refused, Some(_)) => counts[1] += 1,
            (Verdict::Unknown, _) => counts[2] += 1,
            (Verdict::Loads, Some(_)) if !is_judged => counts[3] += 1,
            // The analysis knows less about branches than this verifier.
            (Verdict::Loads, Some(_)) if is_value => counts[4] += 1,
            (found, _) => {
                let section = String::from_utf8_lossy(section);
                if let Ok(dir) = env::var("CORE_RELO_KEEP") {
                    std::fs::write(format!("{dir}/{seed}-{round}.o"), &bytes[round]).unwrap();
                }
                failures.push(format!("{round} {section}: {found}: {:?}: {error:?}", program.reasons));
            }
        }
    }
    let [loads, refused, unknown, other_reasons, values] = counts;
    println!(
        "loads {loads}, refused {refused}, unknown {unknown}, refused for other reasons {other_reasons}, for values {values}"
    );
    assert!(failures.is_empty(), "{} of {rounds}:\n{}", failures.len(), failures.join("\n"));
    assert!(rounds < 100 || loads > 0 && refused > 0, "the programs show nothing: {counts:?}");
    assert!(
        values * 100 <= rounds,
        "{values} of {rounds} programs return values that only the verifier knows"
    );
}
