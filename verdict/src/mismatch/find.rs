//! The search for mismatches.

use super::{
    arguments, context, field,
    model::{Difference, Mismatch},
    prototype::Prototype,
};
use crate::{
    kernel::KernelFacts,
    limits,
    reads::{Read, ReadKind},
    requirements::{ContextKind, Hook, ObjectNeeds, ProgramNeeds},
};
use core::cell::OnceCell;
use core_relo::{Plan, btf::Type};
use hashbrown::HashSet;

/// Returns the mismatches of an object on a kernel. `is_reachable` tells whether the verifier reaches an
/// instruction of a program.
pub(crate) fn find_mismatches(
    needs: &ObjectNeeds<'_, '_>,
    plan: &Plan<'_>,
    facts: &KernelFacts<'_>,
    mut is_reachable: impl FnMut(&ProgramNeeds, u32) -> bool,
) -> Vec<Mismatch> {
    let (mut mismatches, mut seen) = (Vec::new(), HashSet::new());
    for program in &needs.programs {
        let comparison = ProgramComparison::new(needs, plan, facts, program);
        let read_differences = program.reads.iter().map(|read| (read.insn, comparison.compare(*read)));
        let declared = core::iter::once_with(|| (0, comparison.compare_declaration()));
        let differences = read_differences.chain(declared);
        let differences = differences.flat_map(|(insn, all)| all.into_iter().map(move |one| (insn, one)));
        for (insn, difference) in differences {
            if mismatches.len() >= limits::MISMATCHES {
                return mismatches;
            }
            if seen.contains(&difference) || !is_reachable(program, insn) {
                continue;
            }
            seen.insert(difference.clone());
            let Difference { kind, text, local, target } = difference;
            let source = needs.object.btf().and_then(|btf| program.source_line(btf, insn));
            mismatches.push(Mismatch { kind, program: program.name.clone(), text, source, local, target });
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
    is_ambiguous: OnceCell<bool>,
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
        let declaration = program.declaration.as_ref().filter(|_| has_reads);
        let ty = declaration.and_then(|declaration| facts.find_type(declaration));
        let is_event = matches!(program.hook, Hook::Event(_));
        // What a struct_ops program reads is a reason of the verdict.
        let is_compared = !matches!(program.hook, Hook::Event(_) | Hook::StructOpsMember { .. });
        let prototype = ty.filter(|_| is_compared).and_then(|ty| Prototype::new(&program.hook, ty));
        let is_ambiguous = OnceCell::new();
        Self { needs, plan, program, prototype, is_ambiguous, event: ty.filter(|_| is_event) }
    }

    /// Returns the differences of a read.
    fn compare(&self, read: Read) -> Vec<Difference> {
        let mut differences = self.differences(read);
        let is_about_prototype = matches!(read.kind, ReadKind::Context { .. } | ReadKind::Pointee { .. });
        if is_about_prototype && !differences.is_empty() && self.is_ambiguous() {
            differences.clear();
        }
        differences
    }

    /// Returns the differences of the arguments that a program declares with `BPF_PROG` or `BPF_KPROBE`.
    fn compare_declaration(&self) -> Vec<Difference> {
        let Some(prototype) = &self.prototype else { return Vec::new() };
        let differences = arguments::declared_differently(self.needs, self.program, prototype);
        if !differences.is_empty() && self.is_ambiguous() { Vec::new() } else { differences }
    }

    /// Returns whether the kernel has several functions of the traced function's name. Nothing tells which of
    /// them is traced.
    fn is_ambiguous(&self) -> bool {
        *self.is_ambiguous.get_or_init(|| self.prototype.as_ref().is_some_and(Prototype::has_namesakes))
    }

    fn differences(&self, read: Read) -> Vec<Difference> {
        let difference = match read.kind {
            ReadKind::Context { word, bytes } => match (&self.prototype, self.event) {
                // The load refuses the read, which is a reason of the verdict.
                (Some(_), _) if self.program.context == Some(ContextKind::Arguments) => None,
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
            ReadKind::KconfigComparison { .. } => None,
        };
        difference.into_iter().collect()
    }
}
