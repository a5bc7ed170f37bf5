//! The headers of `include/`: they stand alone, and mean what those of libbpf and the kernel mean.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod code;
mod compile;
mod names;

use compile::{CLANGS, Compilation, compile, include, multiarch, skip_without};
use core_relo::{
    btf::{Btf, Kind, Type},
    insn::Helper,
};
use core_relo_build::skeleton::{Options, generate};
use core_relo_object::object::Object;
use core_relo_test_support::skip;
use std::{collections::HashSet, fs, path::Path};

/// The machines of `bpf_tracing.h`, and the registers that the program `tracing` reads with relocations:
/// those of the machine's C calling convention and of its system calls. libbpf 1.7 reads the same, but for
/// `BPF_KRETPROBE_READ_RET_IP`.
const REGISTERS: [(&str, &str); 10] = [
    ("x86", "r10 r8 r9 rax rbp rcx rdi rdx rip rsi rsp"),
    ("arm64", "orig_x0 pc regs[0] regs[1] regs[2] regs[29] regs[30] regs[3] regs[4] regs[5] sp"),
    ("arm", "uregs[0] uregs[11] uregs[12] uregs[13] uregs[14] uregs[1] uregs[2] uregs[3] uregs[4] uregs[5]"),
    ("riscv", "a0 a1 a2 a3 a4 a5 orig_a0 pc ra s0 sp"),
    ("s390", "gprs[11] gprs[14] gprs[15] gprs[2] gprs[3] gprs[4] gprs[5] gprs[6] gprs[7] orig_gpr2 psw.addr"),
    ("powerpc", "gpr[1] gpr[31] gpr[3] gpr[4] gpr[5] gpr[6] gpr[7] gpr[8] link nip orig_gpr3"),
    ("mips", "cp0_epc regs[29] regs[2] regs[30] regs[31] regs[4] regs[5] regs[6] regs[7] regs[8] regs[9]"),
    ("loongarch", "csr_era regs[1] regs[22] regs[3] regs[4] regs[5] regs[6] regs[7] regs[8] regs[9]"),
    ("sparc", "pc u_regs[10] u_regs[11] u_regs[12] u_regs[13] u_regs[14] u_regs[15] u_regs[8] u_regs[9]"),
    (
        "arc",
        "scratch.blink scratch.fp scratch.r0 scratch.r1 scratch.r2 scratch.r3 scratch.r4 scratch.r5 scratch.ret scratch.sp",
    ),
];

/// The different CO-RE records of the program `macros`. libbpf's headers give the same (clang 19, libbpf
/// 1.7).
const MACRO_RECORDS: usize = 22;

#[test]
fn the_macros_compile_without_a_warning_in_both_byte_orders() {
    let mut compiled = 0;
    for clang in CLANGS.iter() {
        for target in ["bpfel", "bpfeb"] {
            let Some(bytes) = compile(clang, "macros", target, "x86") else { continue };
            let object = Object::parse(&bytes).unwrap();
            let relocs = object.relocs().unwrap();
            let records: HashSet<_> = relocs
                .records()
                .iter()
                .map(|record| {
                    let spec = record.spec.as_ref().unwrap();
                    format!("{:?} {}", spec.kind, spec.access_text(relocs.btf()))
                })
                .collect();
            assert_eq!(records.len(), MACRO_RECORDS, "{clang} {target}: {records:#?}");
            compiled += 1;
        }
    }
    skip_without(compiled);
}

#[test]
fn each_machine_has_its_registers() {
    let mut compiled = 0;
    for clang in CLANGS.iter() {
        for (machine, registers) in REGISTERS {
            let Some(bytes) = compile(clang, "tracing", "bpf", machine) else { continue };
            let object = Object::parse(&bytes).unwrap();
            let relocs = object.relocs().unwrap();
            let mut found = HashSet::new();
            for record in relocs.records() {
                let access = record.spec.as_ref().unwrap().access_text(relocs.btf()).to_string();
                let (root, register) = access.split_once('.').unwrap();
                if root != "struct task_struct" {
                    found.insert(register.to_owned());
                }
            }
            let expected = registers.split(' ').map(str::to_owned).collect();
            assert_eq!(found, expected, "{clang} {machine}");
            compiled += 1;
        }
    }
    skip_without(compiled);
}

/// `bpf_cmp_likely` jumps by the opposite of its operator. Other operators compiled to another comparison.
#[test]
fn comparisons_take_only_operators_with_an_opposite() {
    const KNOWN: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
    let mut compiled = 0;
    for clang in CLANGS.iter() {
        for operator in KNOWN.into_iter().chain(["&", "=", "s<", "^"]) {
            let is_known = KNOWN.contains(&operator);
            let arguments = vec![format!("-DOPERATOR={operator}")];
            let compilation = Compilation { arguments, ..Compilation::new(clang, "compare", "bpf", "x86") };
            let Some(result) = compilation.try_run() else { continue };
            match result {
                Ok(_) => assert!(is_known, "{clang}: {operator} compiles"),
                Err(e) => assert!(!is_known && e.contains("bpf_cmp_likely takes"), "{clang} {operator}: {e}"),
            }
            compiled += 1;
        }
    }
    skip_without(compiled);
}

/// The loader writes the specifications of probes in libbpf 1.7's layout.
#[test]
fn the_maps_of_usdt_programs_have_libbpfs_layout() {
    let mut compiled = 0;
    for clang in CLANGS.iter() {
        for target in ["bpfel", "bpfeb"] {
            let Some(bytes) = compile(clang, "usdt", target, "x86") else { continue };
            let object = Object::parse(&bytes).unwrap();
            let sizes = object.maps().iter().filter_map(|map| {
                let def = map.def.as_ref().ok()?;
                Some((map.name, def.key_size, def.value_size))
            });
            let sizes: Vec<_> = sizes.filter(|(name, ..)| name.starts_with(b"__bpf_usdt")).collect();
            let expected: [(&[u8], u32, u32); 2] =
                [(b"__bpf_usdt_specs", 4, 304), (b"__bpf_usdt_ip_to_spec_id", 8, 4)];
            assert_eq!(sizes, expected, "{clang} {target}");
            compiled += 1;
        }
        // One skeleton serves both byte orders.
        let [little, big] = ["bpfel", "bpfeb"].map(|target| compile(clang, "usdt", target, "x86"));
        let Some((little, big)) = little.zip(big) else { continue };
        let mut options = Options::default();
        options.other_byte_order = Some((big, "usdt.big.o".to_owned()));
        generate(&little, "usdt", &options).unwrap();
        let other = compile(clang, "macros", "bpfeb", "x86").unwrap();
        options.other_byte_order = Some((other, "macros.o".to_owned()));
        let different = generate(&little, "usdt", &options).unwrap_err().to_string();
        assert!(different.contains("differ: `") && different.contains("` and `"), "{different}");
    }
    skip_without(compiled);
}

/// Compares our structs with the kernel's, as far as the kernel's header on this machine knows them.
#[test]
fn the_contexts_are_those_of_the_kernel() {
    let multiarch = multiarch();
    let kernels = ["-DKERNEL_HEADER", "-idirafter", &multiarch].map(str::to_owned);
    let mut compared = 0;
    for clang in CLANGS.iter() {
        let Some(ours) = compile(clang, "contexts", "bpf", "x86") else { continue };
        if !Path::new("/usr/include/linux/bpf.h").exists() || !Path::new(&multiarch).exists() {
            continue;
        }
        let arguments = kernels.to_vec();
        let kernels =
            Compilation { arguments, ..Compilation::new(clang, "contexts", "bpf", "x86") }.run().unwrap();
        let (ours, kernels) = (members(&ours), members(&kernels));
        let wrong: Vec<_> = kernels.iter().filter(|member| !ours.contains(*member)).collect();
        assert!(wrong.is_empty(), "{clang}: not in bpf_types.h, or elsewhere: {wrong:?}");
        assert!(kernels.len() > 150, "{clang}: {} members", kernels.len());
        compared += 1;
    }
    if compared == 0 {
        skip!("no clang that compiles BPF programs, or no <linux/bpf.h>");
    }
}

/// Returns the bit offset and size in bytes of each member of the structs that are variables, by path.
fn members(object: &[u8]) -> HashSet<(String, u32, u64)> {
    let object = Object::parse(object).unwrap();
    let btf = object.btf().unwrap();
    let mut members = HashSet::new();
    for var in btf.types().filter(|ty| ty.kind() == Kind::Var) {
        let ty = btf.strip(var.target().unwrap()).unwrap();
        add_members(btf, ty, &var.name().to_string(), 0, &mut members);
    }
    members
}

fn add_members(
    btf: &Btf<'_>,
    ty: Type<'_>,
    path: &str,
    start: u32,
    members: &mut HashSet<(String, u32, u64)>,
) {
    if !matches!(ty.kind(), Kind::Struct | Kind::Union) {
        return;
    }
    for member in ty.members() {
        let of = btf.strip(member.ty).unwrap();
        let offset = start.checked_add(member.bit_offset.0).unwrap();
        // Anonymous members are no part of the path.
        let path = if member.name.is_empty() { path.to_owned() } else { format!("{path}.{}", member.name) };
        add_members(btf, of, &path, offset, members);
        if !member.name.is_empty() {
            members.insert((path, offset, btf.size_of(member.ty).unwrap().0.into()));
        }
    }
}

#[test]
fn the_helpers_have_the_kernels_numbers() {
    let text = fs::read_to_string(include().join("bpf/bpf_helper_defs.h")).unwrap();
    let mut numbers = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("static ")) {
        let name = line.split("(*const bpf_").nth(1).unwrap().split(')').next().unwrap();
        let number: u32 = line.rsplit("(void *)").next().unwrap().trim_end_matches(';').parse().unwrap();
        assert_eq!(Helper(number).name(), Some(name));
        numbers.push(number);
    }
    assert_eq!(numbers, (1..=211).collect::<Vec<_>>());
}
