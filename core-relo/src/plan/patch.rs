//! One instruction, given the values (libbpf: `bpf_core_patch_insn`).

use super::{Decision, InsnError, PoisonReason};
use crate::{
    endian::{low32, signed32},
    insn::{Class, Insn, Slot},
    resolve::Resolution,
};

/// The decision for an instruction; `why` is the reason if there is no value in the target.
pub(super) fn patch(before: Slot, values: &Resolution, why: PoisonReason) -> Result<Decision, InsnError> {
    let Some(target) = values.target else {
        return Ok(Decision::Poison { slot: before.poisoned(), why });
    };
    let insn = before.first();
    let slot = match insn.class() {
        Class::Alu | Class::Alu64 => Slot::One(immediate(insn, values, target)?),
        Class::Ldx | Class::St | Class::Stx => {
            let offset = offset(insn, values, target)?;
            if !values.memory.adjustable {
                let (local, target) = (values.memory.local, values.memory.target);
                return Ok(Decision::Poison {
                    slot: before.poisoned(),
                    why: PoisonReason::Width { local, target },
                });
            }
            Slot::One(access_width(Insn { off: offset, ..insn }, values)?)
        }
        Class::Ld => wide_immediate(before, values, target)?,
        Class::Jmp | Class::Jmp32 => return Err(InsnError::NotRelocatable { insn }),
    };
    if slot == before && values.local == target {
        return Ok(Decision::Keep { value: target });
    }
    Ok(Decision::Patch { local: values.local, target, slot })
}

fn immediate(insn: Insn, values: &Resolution, target: u64) -> Result<Insn, InsnError> {
    if insn.source_is_register() {
        return Err(InsnError::NotRelocatable { insn });
    }
    validate(insn, values, i64::from(insn.imm))?;
    // The low 32 bits, without a check of the range, as in libbpf.
    Ok(Insn { imm: signed32(low32(target)), ..insn })
}

fn offset(insn: Insn, values: &Resolution, target: u64) -> Result<i16, InsnError> {
    validate(insn, values, i64::from(insn.off))?;
    i16::try_from(target).ok().ok_or(InsnError::OffsetTooLarge { insn, value: target })
}

fn access_width(insn: Insn, values: &Resolution) -> Result<Insn, InsnError> {
    let (local, target) = (values.memory.local, values.memory.target);
    if local == target {
        return Ok(insn);
    }
    if insn.access_bytes() != local {
        return Err(InsnError::UnexpectedWidth { insn, found: insn.access_bytes(), expected: local });
    }
    insn.with_access_bytes(target).ok_or(InsnError::NoSuchWidth { insn, width: target })
}

fn wide_immediate(before: Slot, values: &Resolution, target: u64) -> Result<Slot, InsnError> {
    let insn = before.first();
    let Slot::Two(_, second) = before else {
        return Err(InsnError::NotRelocatable { insn });
    };
    let second_is_clean = Insn { imm: 0, ..second } == Insn::default();
    if insn.src != 0 || insn.off != 0 || !second_is_clean {
        return Err(InsnError::NotPlainImm64 { insn });
    }
    validate(insn, values, before.imm64().unwrap_or_default().cast_signed())?;
    Ok(before.with_imm64(target))
}

/// The instruction must hold the local value, both extended to 64 bits by their sign.
fn validate(insn: Insn, values: &Resolution, found: i64) -> Result<(), InsnError> {
    let expected = values.local.cast_signed();
    if values.validate && found != expected {
        return Err(InsnError::UnexpectedValue { insn, found, expected });
    }
    Ok(())
}
