//! Reads of short programs.

use super::{Comparison, ContextWord, Read, ReadKind, TracedObject, trace};
use crate::kernel::FieldFunction;
use core_relo::insn::Insn;
use core_relo_object::{
    ExternIndex, MapIndex,
    link::{FunctionCopy, LinkedProgram},
    object::Object,
    test_support::{TestObject, insn, returns},
};

/// An object without externs and global functions.
struct Plain;

impl TracedObject for Plain {
    fn kfunc_memory(&self, _index: ExternIndex) -> &'static [u8] {
        &[]
    }

    fn kconfig_map(&self) -> Option<MapIndex> {
        None
    }

    fn kconfig_bytes(&self, _: ExternIndex) -> Option<u32> {
        None
    }

    fn is_global(&self, _: &LinkedProgram, _: FunctionCopy) -> bool {
        false
    }

    fn field_kfunc(&self, _: ExternIndex) -> Option<FieldFunction> {
        None
    }
}

/// Returns the reads of a program. `records` are the instructions of CO-RE records.
fn reads(insns: &[Insn], records: &[(u32, usize)]) -> Vec<Read> {
    let mut m = TestObject::new();
    m.program("main", "tc", &[insns, &returns(0)].concat());
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    trace(&link(&object), records, &Plain).reads
}

fn link(object: &Object<'_>) -> LinkedProgram {
    let linker = core_relo_object::link::ProgramLinker::collect(object).unwrap();
    let sections: Vec<_> = object.code_sections().iter().map(|section| section.code).collect();
    linker.link(&sections, core_relo_object::ProgramIndex(0)).unwrap()
}

fn context(insn: u32, offset: i16) -> Read {
    Read { insn, kind: ReadKind::Context { word: ContextWord::Offset(offset), bytes: 8 } }
}

#[test]
fn copies_of_the_context_and_spilled_arguments_are_followed() {
    let insns = [
        insn(0xbf, 6, 1, 0, 0),
        insn(0x79, 2, 6, 16, 0),
        insn(0x7b, 10, 2, -8, 0),
        insn(0xb7, 2, 0, 0, 0),
        insn(0x79, 3, 10, -8, 0),
        insn(0x61, 4, 3, 4, 0),
    ];
    let word = ContextWord::Offset(16);
    let pointee = Read { insn: 5, kind: ReadKind::Pointee { word, record: 7 } };
    let load = Read { insn: 5, kind: ReadKind::Load { record: 7 } };
    assert_eq!(reads(&insns, &[(5, 7)]), [context(1, 16), pointee, load]);
}

#[test]
fn values_that_differ_between_paths_are_forgotten() {
    // if r2 == 0 goto +1; r1 = r2; r3 = *(u64 *)(r1 + 0)
    let insns = [insn(0x15, 2, 0, 1, 0), insn(0xbf, 1, 2, 0, 0), insn(0x79, 3, 1, 0, 0)];
    assert_eq!(reads(&insns, &[]), []);
    // The same value on both paths stays.
    let insns = [insn(0x15, 2, 0, 1, 0), insn(0xbf, 4, 2, 0, 0), insn(0x79, 3, 1, 0, 0)];
    assert_eq!(reads(&insns, &[]), [context(2, 0)]);
}

#[test]
fn loops_and_calls_forget_values() {
    // A loop of one instruction: the context in r1 is not known after it.
    let insns = [insn(0xb7, 0, 0, 0, 0), insn(0x15, 2, 0, -2, 0), insn(0x79, 3, 1, 0, 0)];
    assert_eq!(reads(&insns, &[]), []);
    let insns = [insn(0x85, 0, 0, 0, 5), insn(0x79, 3, 1, 0, 0)];
    assert_eq!(reads(&insns, &[]), []);
}

#[test]
fn comparisons_are_the_same_for_both_directions_of_a_branch() {
    let comparison = |code: u8, constant: i32| Comparison::new(insn(code, 1, 0, 1, constant), constant);
    for (code, expected) in [
        (0x15, Comparison::Equal(7)),
        (0x55, Comparison::Equal(7)),
        // r1 > 7 and r1 <= 7.
        (0x25, Comparison::AtLeast(8)),
        (0xb5, Comparison::AtLeast(8)),
        (0x65, Comparison::AtLeast(8)),
        (0xd6, Comparison::AtLeast(8)),
        // r1 >= 7 and r1 < 7.
        (0x35, Comparison::AtLeast(7)),
        (0xa5, Comparison::AtLeast(7)),
        (0x76, Comparison::AtLeast(7)),
        (0xc5, Comparison::AtLeast(7)),
        (0x45, Comparison::AnyBit(7)),
    ] {
        assert_eq!(comparison(code, 7), Some(expected), "{code:#x}");
    }
    for code in [0x05, 0x85, 0x95] {
        assert_eq!(comparison(code, 7), None, "{code:#x}");
    }
}
