//! The search for mismatches.

use super::{
    arguments::{self, Prototype},
    context, field,
    model::{Difference, Mismatch},
};
use crate::{
    kernel::KernelFacts,
    limits,
    reads::{Read, ReadKind},
    requirements::{Hook, ObjectNeeds, ProgramNeeds},
};
use core_relo::{Plan, TypeId, btf::Type};
use std::collections::HashSet;

/// Returns the mismatches of an object on a kernel. `is_reachable` tells whether the verifier reaches an instruction of a program.
pub(crate) fn find_mismatches(
    needs: &ObjectNeeds<'_, '_>,
    plan: &Plan<'_>,
    facts: &KernelFacts<'_>,
    mut is_reachable: impl FnMut(&ProgramNeeds, u32) -> bool,
) -> Vec<Mismatch> {
    let (mut mismatches, mut seen) = (Vec::new(), HashSet::new());
    for program in &needs.programs {
        let comparison = ProgramComparison::new(needs, plan, facts, program);
        for read in &program.reads {
            for difference in comparison.compare(*read) {
                if mismatches.len() >= limits::MISMATCHES {
                    return mismatches;
                }
                if seen.contains(&difference) || !is_reachable(program, read.insn) {
                    continue;
                }
                seen.insert(difference.clone());
                let Difference { kind, text, local, target } = difference;
                let source = needs.object.btf().and_then(|btf| program.source_line(btf, read.insn));
                mismatches.push(Mismatch {
                    kind,
                    program: program.name.clone(),
                    text,
                    source,
                    local,
                    target,
                });
            }
        }
    }
    mismatches
}

/// The comparison of a program with a kernel.
struct ProgramComparison<'c> {
    needs: &'c ObjectNeeds<'c, 'c>,
    plan: &'c Plan<'c>,
    program: &'c ProgramNeeds,
    /// The prototype of the traced function or tracepoint.
    prototype: Option<Prototype<'c>>,
    /// The kernel's struct of the context.
    event: Option<Type<'c>>,
}

impl<'c> ProgramComparison<'c> {
    fn new(
        needs: &'c ObjectNeeds<'c, 'c>,
        plan: &'c Plan<'c>,
        facts: &'c KernelFacts<'_>,
        program: &'c ProgramNeeds,
    ) -> Self {
        let has_reads = !program.reads.is_empty();
        let kernel_type = program.hook.kernel_type().filter(|_| has_reads);
        let ty = kernel_type.and_then(|(name, kind)| facts.find_type(name.as_bytes(), kind));
        let is_event = matches!(program.hook, Hook::Event(_));
        let prototype = ty.filter(|_| !is_event).and_then(|ty| Prototype::new(&program.hook, ty));
        Self { needs, plan, program, prototype, event: ty.filter(|_| is_event) }
    }

    fn compare(&self, read: Read) -> Vec<Difference> {
        let difference = match read.kind {
            ReadKind::Context { word, bytes } => match (&self.prototype, self.event) {
                (Some(prototype), _) => {
                    arguments::missing_argument(self.needs, self.plan, prototype, &self.program.hook, word)
                }
                (_, Some(event)) => context::moved_member(self.needs, self.program, event, word, bytes),
                _ => None,
            },
            ReadKind::Pointee { word, record } => self.prototype.as_ref().and_then(|prototype| {
                arguments::other_pointee(self.needs, self.plan, prototype, &self.program.hook, word, record)
            }),
            ReadKind::ProbeRead { record, bytes } => {
                return field::differences(self.plan, record, Some(bytes));
            }
            ReadKind::Load { record } => return field::differences(self.plan, record, None),
            ReadKind::Comparison { record, value } => field::renumbered(self.plan, record, value),
        };
        difference.into_iter().collect()
    }
}

/// Returns the id of the type that a FUNC, TYPEDEF or PTR refers to.
pub(super) fn target<'b>(ty: Type<'b>) -> Option<Type<'b>> {
    let id: TypeId = ty.target()?;
    ty.btf().ty(id)
}
