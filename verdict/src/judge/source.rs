//! The source lines of reasons.

use super::{
    model::{Reason, Requirement},
    object_context::ObjectContext,
};
use crate::{
    limits::SEARCHED_ACCESSES,
    source_line::{SourceLine, source_line},
};
use core_relo_object::link::LinkedProgram;

impl ObjectContext<'_, '_> {
    /// Adds the source line of an instruction to a reason. The line of a relocation is that of its access,
    /// which is searched for as long as the budget lasts.
    pub(super) fn with_source_line(&self, reason: Reason, linked: &LinkedProgram, insn: u32) -> Reason {
        let source = match reason.requirement {
            Some(Requirement::Relocation(record)) if self.searched_lines.get() < SEARCHED_ACCESSES => {
                self.searched_lines.update(|count| count.wrapping_add(1));
                self.needs.access_lines.find(record, || {
                    let planned = self.plan.plan().get(record);
                    planned.and_then(|planned| planned.source_line()).map(SourceLine::from)
                })
            }
            _ => self.needs.object.btf().and_then(|btf| source_line(btf, linked, insn)),
        };
        Reason { source, insn: Some(insn), ..reason }
    }
}
