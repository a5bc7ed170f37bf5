//! Copies of the code with all patches.

use super::{
    decision::Decision,
    entries::Plan,
    error::{PlanError, RelocError},
};
use crate::{index::to_usize, insn::INSN_BYTES, relocs::Record, resolve::BrokenInvariant};
use alloc::vec::Vec;
use core::fmt;

/// The relocated code sections of an object, in the order of [`Relocs::code`](crate::Relocs::code).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatchedCode {
    /// The bytes of each section.
    pub sections: Vec<Vec<u8>>,
}

impl Plan<'_> {
    /// Copies the code and patches the copy. Returns the errors of all records if there is any.
    pub fn patched(&self) -> Result<PatchedCode, PlanError> {
        let mut sections: Vec<_> = self.relocs().code().iter().map(|section| section.code.to_vec()).collect();
        let mut failed = Vec::new();
        for ((record_index, record), entry) in self.relocs().records().iter().enumerate().zip(self.entries())
        {
            let result = match entry.decision {
                Ok(decision) => self.patch_copy(&mut sections, record, decision),
                Err(error) => Err(error),
            };
            failed.extend(result.err().map(|error| (record_index, error)));
        }
        if failed.is_empty() { Ok(PatchedCode { sections }) } else { Err(PlanError { failed }) }
    }

    fn patch_copy(
        &self,
        sections: &mut [Vec<u8>],
        record: &Record<'_>,
        decision: Decision,
    ) -> Result<(), RelocError> {
        let (Decision::Patch { slot, .. } | Decision::Poison { slot, .. }) = decision else { return Ok(()) };
        let section = record.section_index.and_then(|index| sections.get_mut(index));
        let offset = to_usize(record.relo.insn_offset.0);
        let code = section.and_then(|section| section.get_mut(offset..));
        let (first, second) = slot.encode(self.relocs().endian());
        let (slots, _) = code.ok_or(BrokenInvariant::PatchedInsn)?.as_chunks_mut::<INSN_BYTES>();
        for (index, bytes) in [Some(first), second].into_iter().flatten().enumerate() {
            *slots.get_mut(index).ok_or(BrokenInvariant::PatchedInsn)? = bytes;
        }
        Ok(())
    }
}

impl fmt::Debug for PatchedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let section_bytes: Vec<_> = self.sections.iter().map(Vec::len).collect();
        f.debug_struct("PatchedCode").field("section_bytes", &section_bytes).finish()
    }
}
