//! The instructions as earlier records patched them.

use super::entries::Plan;
use crate::{
    index::{InsnIndex, to_usize},
    insn::{INSN_BYTES, Insn, Slot},
    relocs::Record,
};
use hashbrown::HashMap;

/// The patched instructions, by section and instruction index. A later record on the same instruction sees
/// the patch of an earlier one.
#[derive(Default)]
pub(super) struct CodeOverlay {
    patched: HashMap<(usize, InsnIndex), Insn>,
}

impl CodeOverlay {
    /// Returns a record's instruction. Returns `None` if the instruction exceeds its section.
    pub(super) fn slot(&self, plan: &Plan<'_>, record: &Record<'_>) -> Option<Slot> {
        let (section_index, insn) = (record.section_index?, record.insn?);
        let section = plan.relocs().code().get(section_index)?;
        if self.patched.is_empty() {
            let offset = to_usize(record.relo.insn_offset.0);
            return Slot::decode(plan.relocs().endian(), section.code.get(offset..)?);
        }
        let original = |insn: InsnIndex| {
            let raw = section.code.get(insn.index().checked_mul(INSN_BYTES)?..)?;
            raw.first_chunk().map(|raw| Insn::decode(plan.relocs().endian(), *raw))
        };
        let read = |insn| self.patched.get(&(section_index, insn)).copied().or_else(|| original(insn));
        let first = read(insn)?;
        if first.is_ld_imm64() {
            Some(Slot::Two(first, read(second_slot(insn))?))
        } else {
            Some(Slot::One(first))
        }
    }

    /// Stores the patch of a record's instruction.
    pub(super) fn patch(&mut self, record: &Record<'_>, slot: Slot) {
        let (Some(section_index), Some(insn)) = (record.section_index, record.insn) else { return };
        self.patched.insert((section_index, insn), slot.first());
        if let Some(second) = slot.second() {
            self.patched.insert((section_index, second_slot(insn)), second);
        }
    }
}

/// Returns the index of the second slot of an `ld_imm64`. A record's instruction is at most `u32::MAX / 8`.
fn second_slot(insn: InsnIndex) -> InsnIndex {
    InsnIndex(insn.0.wrapping_add(1))
}
