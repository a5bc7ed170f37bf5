//! Copies of the code with every decision in place.

use super::{Decision, Plan, PlanError};
use crate::{ids::to_usize, insn::INSN_BYTES};
use alloc::vec::Vec;

/// The code sections of an object, relocated; in the order in which they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patched {
    /// The bytes of each section.
    pub sections: Vec<Vec<u8>>,
}

pub(super) fn patched(plan: &Plan<'_>) -> Result<Patched, PlanError> {
    let failed: Vec<_> =
        (0..).zip(&plan.entries).filter_map(|(n, entry)| entry.decision.err().map(|e| (n, e))).collect();
    if !failed.is_empty() {
        return Err(PlanError { failed });
    }
    let endian = plan.relocs.endian();
    let mut sections: Vec<_> = plan.relocs.code().iter().map(|section| section.code.to_vec()).collect();
    for (record, entry) in plan.relocs.records().iter().zip(&plan.entries) {
        let Ok(Decision::Patch { slot, .. } | Decision::Poison { slot, .. }) = entry.decision else {
            continue;
        };
        let Some(section) = record.code.and_then(|at| sections.get_mut(at)) else { continue };
        let at = to_usize(record.relo.insn_offset.0);
        let (first, second) = slot.encode(endian);
        write(section, at, first);
        if let Some(second) = second {
            write(section, at.saturating_add(INSN_BYTES), second);
        }
    }
    Ok(Patched { sections })
}

fn write(section: &mut [u8], at: usize, bytes: [u8; INSN_BYTES]) {
    if let Some(place) = section.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = bytes;
    }
}
