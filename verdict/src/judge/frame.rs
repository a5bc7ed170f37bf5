//! Accesses to the program's own stack at offsets that CO-RE sets.

use super::{
    model::{Reason, ReasonKind, Requirement, Verdict},
    object_context::ObjectContext,
};
use crate::{
    kernel::{Evidence, EvidenceSource},
    reads::FrameAccess,
    requirements::ProgramNeeds,
};
use core_relo::{
    explain::text,
    insn::Class,
    plan::{Decision, PlannedReloc},
};

/// The bytes of a stack frame (kernel: `MAX_BPF_STACK`).
const FRAME_BYTES: i64 = 512;

const FIX: &str = "declare the struct on the stack as the kernel has it, or without preserve_access_index; or read the member from the \
                   kernel's struct with BPF_CORE_READ(), in place of a copy";

impl ObjectContext<'_, '_> {
    /// Returns the accesses outside of the program's stack, each with the reason why every kernel refuses it
    /// (kernel: `check_stack_access_within_bounds`).
    pub(super) fn accesses_outside_frame(&self, program: &ProgramNeeds) -> Vec<(u32, Reason)> {
        let accesses = program.frame_accesses.iter();
        let reason = |access: &FrameAccess| {
            let planned = self.plan.get(program.index, access.record)?;
            Some((access.insn, outside_frame(*access, &planned)?))
        };
        accesses.filter_map(reason).collect()
    }
}

/// Returns the reason against an access, if CO-RE moves it out of the stack.
fn outside_frame(access: FrameAccess, planned: &PlannedReloc<'_>) -> Option<Reason> {
    let (Decision::Patch { slot, .. }, Some(spec)) = (planned.decision().ok()?, planned.local_spec()) else {
        return None;
    };
    let insn = slot.first();
    let offset = i64::from(access.base).checked_add(insn.off.into())?;
    if (FRAME_BYTES.checked_neg()?..0).contains(&offset) {
        return None;
    }
    let verb = if insn.class() == Class::Ldx { "reads" } else { "writes" };
    let (bytes, side) = (insn.access_bytes(), if offset < 0 { "below" } else { "above" });
    let plural = if bytes == 1 { "" } else { "s" };
    let field = text(spec.access_text(planned.btf()));
    let place = format!(
        "{field}: {verb} {bytes} byte{plural} {side} the program's stack, at offset {offset} from the frame pointer"
    );
    let (own, kernel) = (planned.local_value()?, planned.target_value()?);
    let evidence = Evidence {
        source: EvidenceSource::Btf,
        text: format!("{field} is at offset {kernel}, and at {own} in the object"),
    };
    let reason = Reason::new(ReasonKind::Relocation, Verdict::Refused, place);
    let requirement = Requirement::Relocation(access.record);
    Some(reason.with_evidence(evidence).with_requirement(requirement).with_fix(FIX))
}
