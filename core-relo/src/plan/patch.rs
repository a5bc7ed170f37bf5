//! The patch of one instruction (libbpf: `bpf_core_patch_insn`).

use super::{
    decision::{Decision, PoisonReason},
    error::InsnError,
};
use crate::{
    insn::{Class, Insn, Slot, imm64, low_imm},
    resolve::Resolution,
};

/// Patches or poisons an instruction. `why` is the reason if the target has no value.
pub(super) fn patch(before: Slot, values: &Resolution, why: PoisonReason) -> Result<Decision, InsnError> {
    let Some(target) = values.target else {
        return Ok(Decision::Poison { slot: before.poisoned(), why });
    };
    let insn = before.first();
    let slot = match insn.class() {
        Class::Alu | Class::Alu64 => Slot::One(patch_immediate(insn, values, target)?),
        Class::Ldx | Class::St | Class::Stx => {
            let off = patch_offset(insn, values, target)?;
            if !values.widths.are_adjustable {
                let (local, target) = (values.widths.local, values.widths.target);
                return Ok(Decision::Poison {
                    slot: before.poisoned(),
                    why: PoisonReason::Width { local, target },
                });
            }
            Slot::One(patch_width(Insn { off, ..insn }, values)?)
        }
        Class::Ld => patch_imm64(before, values, target)?,
        Class::Jmp | Class::Jmp32 => return Err(InsnError::NotRelocatable { insn }),
    };
    if slot == before && values.local == target {
        return Ok(Decision::Keep { value: target });
    }
    Ok(Decision::Patch { local: values.local, target, slot })
}

fn patch_immediate(insn: Insn, values: &Resolution, target: u64) -> Result<Insn, InsnError> {
    if insn.source_is_register() {
        return Err(InsnError::NotRelocatable { insn });
    }
    validate(insn, values, i64::from(insn.imm))?;
    // The instruction gets the low 32 bits, without a check of the range, as in libbpf.
    Ok(Insn { imm: low_imm(target), ..insn })
}

fn patch_offset(insn: Insn, values: &Resolution, target: u64) -> Result<i16, InsnError> {
    validate(insn, values, i64::from(insn.off))?;
    i16::try_from(target).ok().ok_or(InsnError::OffsetTooLarge { insn, value: target })
}

fn patch_width(insn: Insn, values: &Resolution) -> Result<Insn, InsnError> {
    let (local, target) = (values.widths.local, values.widths.target);
    if local == target {
        return Ok(insn);
    }
    if insn.access_bytes() != local {
        return Err(InsnError::UnexpectedWidth { insn, found: insn.access_bytes(), expected: local });
    }
    insn.with_access_bytes(target).ok_or(InsnError::NoSuchWidth { insn, width: target })
}

fn patch_imm64(before: Slot, values: &Resolution, target: u64) -> Result<Slot, InsnError> {
    let Slot::Two(insn, second) = before else {
        return Err(InsnError::NotRelocatable { insn: before.first() });
    };
    let second_is_clean = Insn { imm: 0, ..second } == Insn::default();
    if insn.src != 0 || insn.off != 0 || !second_is_clean {
        return Err(InsnError::NotPlainImm64 { insn });
    }
    validate(insn, values, imm64(insn, second).cast_signed())?;
    Ok(before.with_imm64(target))
}

/// Checks that the instruction contains the local value, both sign-extended to 64 bits.
fn validate(insn: Insn, values: &Resolution, found: i64) -> Result<(), InsnError> {
    let expected = values.local.cast_signed();
    if values.validate && found != expected {
        return Err(InsnError::UnexpectedValue { insn, found, expected });
    }
    Ok(())
}
