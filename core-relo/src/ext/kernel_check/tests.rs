//! Rules that differ between kernels, and messages. The crate `tests` has a case for each rule, and compares
//! all of them with the running kernel.

use super::*;
use crate::{Endian, TypeId, btf::Builder};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

const EXIT: Insn = Insn { code: 0x95, dst: 0, src: 0, off: 0, imm: 0 };
const TAIL_CALL: Insn = Insn { code: 0x85, dst: 0, src: 0, off: 0, imm: 12 };
const PACKET_LOAD: Insn = Insn { code: 0x30, dst: 0, src: 0, off: 0, imm: 0 };

/// Returns the texts of the violations. Type 4 is a FUNC that returns `void`, type 6 one that returns an enum
/// of 64 bits.
fn violations(release: [u8; 2], change: impl FnOnce(&mut ProgramInfo<'_>)) -> Vec<String> {
    let mut b = Builder::new(Endian::Little);
    b.int("int", 4, Builder::SIGNED);
    let wide = b.enumeration64("e", 8, &[]);
    let proto = b.func_proto(TypeId::VOID, &[]);
    b.func("nothing", proto, 0);
    let proto = b.func_proto(wide, &[]);
    b.func("wide", proto, 0);
    let types = Btf::parse(b.finish()).unwrap();
    let mut info = ProgramInfo {
        types: Some(&types),
        insns: &[EXIT, TAIL_CALL, PACKET_LOAD, EXIT],
        functions: &[0, 1],
        func_info: SentRecords { records: &[], form: RecordForm::known(8) },
        line_info: SentRecords { records: &[], form: RecordForm::known(16) },
        string_bytes: 10,
    };
    change(&mut info);
    let [major, minor] = release;
    let violations = info.kernel_violations(&KernelBtfRules::of_release(major, minor));
    violations.list().iter().map(ToString::to_string).collect()
}

#[test]
fn old_kernels_count_functions_before_they_look_at_types() {
    const RECORDS: [[u32; 2]; 3] = [[0, 4], [1, 6], [3, 1]];
    let count = "func_info: 3 records, expected 2, one for each function";
    let ty = "func_info record 2: the type is [1], which is no FUNC";
    let on = |release| violations(release, |info| info.func_info.records = &RECORDS);
    assert_eq!(on([6, 6]), [count, ty]);
    assert_eq!(on([6, 7]), [ty, count]);
}

#[test]
fn an_enum_of_64_bits_is_a_number_where_the_kernel_knows_it() {
    let on = |release| violations(release, |info| info.func_info.records = &[[0, 4], [1, 6]]);
    assert_eq!(on([6, 1]), [""; 0]);
    let number = "expected a function that returns an integer or an enum";
    let expected = [
        format!("function 1 `wide`: it loads packet data (`LD_ABS`, `LD_IND`), {number}"),
        format!("function 1 `wide`: it makes a tail call, {number}"),
    ];
    assert_eq!(on([5, 10]), expected);
}

#[test]
fn every_violation_has_a_record_and_values() {
    const LINES: [[u32; 4]; 4] = [[0, 0, 0, 0], [0, 10, 0, 0], [2, 0, 11, 0], [u32::MAX, 0, 0, 0]];
    let texts = violations([7, 2], |info| {
        info.func_info.records = &[[1, 4], [1, 6]];
        info.func_info.form = RecordForm { record_bytes: 10, nonzero_tail: Some(1) };
        info.line_info.records = &LINES;
        info.line_info.form = RecordForm { record_bytes: 256, nonzero_tail: None };
        info.insns = &[EXIT, TAIL_CALL, Insn { code: 0, ..EXIT }, EXIT];
    });
    let expected = [
        "func_info: the records have 10 bytes, expected at least 8, at most 252, and a multiple of 4",
        "func_info record 0: the first instruction of the function is 1, expected 0 in the first record",
        "func_info record 1: the record has a value after its last field that the kernel knows",
        "func_info record 1: the first instruction of the function is 1, expected more than 1, that of the record before",
        "func_info record 0: the first instruction of the function is 1, expected 0",
        "line_info: the records have 256 bytes, expected at least 16, at most 252, and a multiple of 4",
        "line_info record 1: the instruction is 0, expected more than 0, and less than 4",
        "line_info record 1: the file name is at string offset 10 and the line at 0, expected less than 10",
        "line_info record 2: the instruction 2 is the second half of a 64-bit load",
        "line_info record 2: the file name is at string offset 0 and the line at 11, expected less than 10",
        "line_info record 2: function 1, which begins at instruction 1, has no record for its first instruction",
        "line_info record 3: the instruction is 4294967295, expected more than 2, and less than 4",
    ];
    assert_eq!(texts, expected);
}
