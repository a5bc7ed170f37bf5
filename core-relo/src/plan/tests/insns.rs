//! Tests of the instructions that can be patched, and of those that cannot.

use super::fixture::{RecordSpec, imm64, in_both_orders, load, mov};
use crate::{
    btf::Builder,
    ext::RelocKind::{FieldByteOffset, FieldExists, Unknown},
    insn::{Insn, Slot},
    plan::{InsnError, RelocError},
    spec::AccessStringError,
};

/// Plans one record of a field that is at offset 0 in the object and at `target_offset` bytes in the target.
/// Returns the patched instruction, or `None` if the instruction does not change.
fn plan_moved_field(target_offset: u32, slot: Slot) -> Result<Option<Slot>, InsnError> {
    let results = core::cell::RefCell::new(alloc::vec::Vec::new());
    in_both_orders(|f| {
        let int = f.local.int("unsigned int", 4, 0);
        let root = f.local.structure("s", 8, &[("a", int, 0)]);
        let int = f.target.int("unsigned int", 4, 0);
        f.target.structure("s", 8, &[("a", int, target_offset * 8)]);
        let record: RecordSpec<'_> = (FieldByteOffset, root, "0:0", slot);
        let got = f.plan_one(record);
        results.borrow_mut().push(match got.decision {
            Err(RelocError::Insn(error)) => Err(error),
            _ => Ok(got.patched().1),
        });
    });
    let results = results.into_inner();
    assert_eq!(results[0], results[1], "both byte orders agree");
    results[0]
}

#[test]
fn only_arithmetic_memory_and_ld_imm64_instructions_are_patched() {
    let insn = |code, off, imm| Slot::One(Insn { code, dst: 1, src: 0, off, imm });
    // Arithmetic with a constant: mov, mov32, add, add32, and.
    for code in [0xb7, 0xb4, 0x07, 0x04, 0x57] {
        assert_eq!(plan_moved_field(24, insn(code, 0, 0)), Ok(Some(insn(code, 0, 24))));
    }
    // Loads and stores: ldx, st, stx, atomic, ldx with sign extension.
    for code in [0x61, 0x62, 0x63, 0xc3, 0x81] {
        assert_eq!(plan_moved_field(24, insn(code, 0, 5)), Ok(Some(insn(code, 24, 5))));
    }
    assert_eq!(plan_moved_field(24, imm64(0)), Ok(Some(imm64(24))));
    // Jumps, calls and exit, packet loads, and arithmetic with a register.
    for code in [0x05, 0x85, 0x95, 0x15, 0x16, 0x20, 0x0f, 0xbf, 0xbc] {
        let refused = insn(code, 0, 0);
        assert_eq!(
            plan_moved_field(24, refused),
            Err(InsnError::NotRelocatable { insn: refused.first() }),
            "{code:#x}"
        );
    }
}

#[test]
fn an_offset_beyond_16_bits_is_an_error_for_memory_and_not_for_constants() {
    assert_eq!(plan_moved_field(32767, load(4, 0)), Ok(Some(load(4, 32767))));
    let too_large = InsnError::OffsetTooLarge { insn: load(4, 0).first(), value: 32768 };
    assert_eq!(plan_moved_field(32768, load(4, 0)), Err(too_large));
    assert_eq!(plan_moved_field(32768, mov(0)), Ok(Some(mov(32768))));
}

#[test]
fn the_instruction_must_contain_the_local_value() {
    assert!(matches!(
        plan_moved_field(8, mov(1)),
        Err(InsnError::UnexpectedValue { found: 1, expected: 0, .. })
    ));
    assert!(matches!(
        plan_moved_field(8, load(4, -4)),
        Err(InsnError::UnexpectedValue { found: -4, expected: 0, .. })
    ));
    assert!(matches!(
        plan_moved_field(8, imm64(1 << 32)),
        Err(InsnError::UnexpectedValue { found: 0x1_0000_0000, .. })
    ));
}

#[test]
fn an_ld_imm64_must_be_a_plain_constant() {
    let Slot::Two(first, second) = imm64(0) else { panic!() };
    for not_plain in [
        Slot::Two(Insn { src: 1, ..first }, second),
        Slot::Two(Insn { off: 1, ..first }, second),
        Slot::Two(first, Insn { code: 1, ..second }),
        Slot::Two(first, Insn { dst: 1, ..second }),
    ] {
        assert_eq!(plan_moved_field(8, not_plain), Err(InsnError::NotPlainImm64 { insn: not_plain.first() }));
    }
}

#[test]
fn an_ld_imm64_cut_off_by_the_section_is_an_error_also_when_poisoned() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.structure("s", 8, &[("a", int, 0)]);
        let first_half = Slot::One(Insn { code: 0x18, ..Insn::default() });
        let got = f.plan_one((FieldByteOffset, root, "0:0", first_half));
        assert!(matches!(got.decision, Err(RelocError::Insn(InsnError::CutOff { .. }))));
    });
}

#[test]
fn an_unknown_kind_is_an_error_of_its_record_alone() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.structure("s", 8, &[("a", int, 0)]);
        let got = f.plan(&[(Unknown(13), root, "0:0", mov(1)), (FieldExists, root, "0:0", mov(1))]);
        assert_eq!(got[0].decision, Err(RelocError::Spec(AccessStringError::UnknownKind(13))));
        assert_eq!(got[1].patched().0, 0);
    });
}
