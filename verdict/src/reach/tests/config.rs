//! Configuration values: results count for all kernels on which the program compares equal.

use crate::limits::CONFIG_USES;
use crate::reach::{
    ConfigData, Function, LoadedValue, Program, Reach, Reachability, UsedNumbers, analyze_relocated,
};
use core_relo::Endian;
use core_relo::insn::{Insn, LD_IMM64};

fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { code, dst, src, off, imm }
}

/// Returns the configuration values of a kernel with a version.
fn kernel(version: u32) -> ConfigData {
    ConfigData { bytes: Endian::Little.u32_bytes(version).to_vec(), unknown: Vec::new() }
}

/// Analyses a program that begins with `r2 = *(u32 *)&LINUX_KERNEL_VERSION`, on a kernel. Returns also the
/// numbers on which the result depends.
fn analyze(insns: &[Insn], config: &ConfigData) -> (Reachability, UsedNumbers) {
    let load = [insn(LD_IMM64, 1, 0, 0, 0), insn(0, 0, 0, 0, 0), insn(0x61, 2, 1, 0, 0)];
    let insns = [&load, insns].concat();
    let data =
        LoadedValue::Frozen { data: &config.bytes, offset: 0, unknown: &config.unknown, is_config: true };
    let program = Program {
        insns: &insns,
        functions: &[Function { start: 0, is_global: true }],
        loads: &[(0, data)],
        endian: Endian::Little,
        verifies_uncalled_functions: false,
        exception_callback: None,
        bounds_context: false,
        passes_context: true,
    };
    analyze_relocated(&program, &[])
}

/// Returns, for each kernel, whether the result for the first one counts.
fn kernels_with_result<const N: usize>(insns: &[Insn], kernels: [ConfigData; N]) -> [bool; N] {
    let used = kernels.first().map(|first| analyze(insns, first).1.config.unwrap()).unwrap();
    kernels.map(|kernel| kernel.meets(&used, Endian::Little))
}

const SET_RESULT: Insn = Insn { code: 0xb7, dst: 0, src: 0, off: 0, imm: 0 };
const EXIT: Insn = Insn { code: 0x95, dst: 0, src: 0, off: 0, imm: 0 };

/// As compilers write `LINUX_KERNEL_VERSION >= KERNEL_VERSION(5, 11, 0)`.
#[test]
fn a_compared_version_counts_by_the_outcome() {
    let sign_extended = [insn(0x67, 2, 0, 0, 32), insn(0xc7, 2, 0, 0, 32)];
    let with_immediate = [insn(0x65, 2, 0, 1, 0x5_0aff), Insn::POISON, SET_RESULT, EXIT];
    let with_register = [insn(0xb7, 3, 0, 0, 0x5_0b00), insn(0x6d, 3, 2, 1, 0), SET_RESULT, SET_RESULT, EXIT];
    let unknown = ConfigData { unknown: core::iter::once(3..4).collect(), ..kernel(0x6_0100) };
    for comparison in [&with_immediate[..], &with_register] {
        let insns = [&sign_extended, comparison].concat();
        let kernels = [0x6_0100, 0x7_0200, 0x5_0b00, 0x5_0a00].map(kernel);
        assert_eq!(kernels_with_result(&insns, kernels), [true, true, true, false]);
        assert_eq!(kernels_with_result(&insns, [kernel(0x6_0100), unknown.clone()]), [true, false]);
    }
    let insns = [&sign_extended[..], &with_immediate].concat();
    assert_eq!(analyze(&insns, &kernel(0x6_0100)).0.reach(6), Reach::Dead);
    assert_eq!(analyze(&insns, &kernel(0x5_0a00)).0.reach(6), Reach::Reachable);
}

#[test]
fn a_returned_version_counts_by_the_value() {
    let copied = [insn(0xbc, 0, 2, 0, 0), EXIT];
    assert_eq!(kernels_with_result(&copied, [0x6_0100, 0x6_0101].map(kernel)), [true, false]);
    let unused = [SET_RESULT, EXIT];
    assert_eq!(kernels_with_result(&unused, [0x6_0100, 0x6_0101].map(kernel)), [true, true]);
}

/// A load with acquire semantics (Linux 6.17) looks at the value at once.
#[test]
fn a_version_that_is_loaded_otherwise_counts_by_the_value() {
    let acquired = [insn(0xc3, 2, 1, 0, 0x100), insn(0x25, 2, 0, 1, 1), SET_RESULT, SET_RESULT, EXIT];
    assert_eq!(kernels_with_result(&acquired, [2, 3].map(kernel)), [true, false]);
}

#[test]
fn results_with_many_dependences_are_not_kept() {
    let compare = |count: usize| {
        // if r2 == number goto exit
        let compare = |number: i16| insn(0x15, 2, 0, i16::try_from(count).unwrap() - number, number.into());
        let compared = (1..).take(count).map(compare);
        let insns: Vec<Insn> = [SET_RESULT].into_iter().chain(compared).chain([EXIT]).collect();
        analyze(&insns, &kernel(0)).1.config.is_some()
    };
    assert!(compare(CONFIG_USES));
    assert!(!compare(CONFIG_USES + 1));
}
