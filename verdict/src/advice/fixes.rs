//! The fixes of each reason.

use super::{
    Fix, advisor::Advisor, evidence, externs, helper, instruction, maps, own_memory::is_own_memory, program,
    relocation,
};
use crate::{
    judge::{ProgramVerdict, Reason, ReasonKind, Requirement, Verdict},
    kernel::{HelperCall, InsnFeature, KfuncCall},
    linked_code::usize_of,
    requirements::{Need, NeedId, ProgramNeeds},
};
use core_relo::{
    TypeId,
    btf::Type,
    plan::{Decision, PlannedReloc},
};

impl Advisor<'_, '_> {
    /// Returns the fixes of a reason of a program, the best first. They are alternatives. A fix without code
    /// says why none can help. The code of a source line guards all that the kernel lacks of the line.
    pub fn fixes(&mut self, program: &ProgramNeeds, verdict: &ProgramVerdict, reason: &Reason) -> Vec<Fix> {
        let mut fixes = self.reason_fixes(program, reason);
        self.guard_same_line(program, verdict, reason, &mut fixes);
        fixes
    }

    /// Returns the fixes of a reason, which do not regard others.
    fn reason_fixes(&mut self, program: &ProgramNeeds, reason: &Reason) -> Vec<Fix> {
        if reason.verdict == Verdict::Unknown && reason.evidence.is_none() {
            return evidence::fixes(reason);
        }
        match reason.requirement {
            Some(Requirement::Relocation(record)) => {
                let Some(planned) = self.plan.get(record) else { return Vec::new() };
                if let Some(fix) = &reason.fix {
                    return vec![Fix::without_code(fix.clone())];
                }
                if self.is_own_type(program, reason, &planned) {
                    return vec![relocation::own_type_fix(&planned)];
                }
                let explanation = self.explainer.explain(&planned);
                relocation::fixes(&planned, &explanation, self.type_names(), reason.source.as_ref())
            }
            Some(Requirement::AttachInput) => {
                program::input_fixes(program, program.section(self.needs.object), reason)
            }
            Some(Requirement::Need(need)) => self.need_fixes(program, need, reason),
            Some(
                Requirement::MapNeed { .. }
                | Requirement::StructOpsMember { .. }
                | Requirement::MapInput { .. },
            )
            | None => self.object_fixes(reason),
        }
    }

    /// Returns the fixes of a reason that does not depend on a program, as [`Self::fixes`] does.
    pub fn object_fixes(&self, reason: &Reason) -> Vec<Fix> {
        match reason.requirement {
            Some(Requirement::MapNeed { map, need }) => maps::need_fixes(self, map, need),
            Some(Requirement::StructOpsMember { map, need, member }) => {
                let fixes = maps::member_fixes(self, map, member).into_iter().flatten();
                fixes.chain(maps::need_fixes(self, map, need)).collect()
            }
            Some(Requirement::MapInput { map, input }) => maps::input_fixes(self, map, input),
            // The judge knows what to do about some reasons without a requirement.
            _ => match &reason.fix {
                Some(fix) => vec![Fix::without_code(fix.clone())],
                None if reason.kind == ReasonKind::Object && reason.verdict == Verdict::Refused => {
                    vec![Fix::without_code(
                        "no kernel loads the object: compile or link it again without this error",
                    )]
                }
                None => Vec::new(),
            },
        }
    }

    fn need_fixes(&mut self, program: &ProgramNeeds, id: NeedId, reason: &Reason) -> Vec<Fix> {
        let answers = self.answers;
        match answers.need(id) {
            Some(Need::Helper { helper, program_type, attach_type, sleepable }) => {
                let call = HelperCall {
                    helper: *helper,
                    program_type: *program_type,
                    attach_type: *attach_type,
                    sleepable: *sleepable,
                };
                helper::fixes(answers, call, reason)
            }
            Some(Need::Kfunc(_) | Need::Variable(_) | Need::Symbol(_) | Need::Kconfig(_)) => {
                externs::fixes(self, program, id, reason)
            }
            Some(Need::KfuncCall { name, program_type, attach_type }) => {
                let (exists, program_type, attach_type) =
                    (&answers.facts.kfunc(name), *program_type, *attach_type);
                let call = KfuncCall { name, exists, program_type, attach_type };
                externs::kfunc_fixes(self, program, reason, call)
            }
            Some(Need::Instruction(InsnFeature::KfuncCall | InsnFeature::ModuleKfuncCall)) => {
                externs::call_fixes(self, program, reason)
            }
            Some(Need::Instruction(feature)) => {
                let code = program.code.as_ref().ok();
                let insn = code.zip(reason.insn).and_then(|(code, insn)| code.insns.get(usize_of(insn)));
                instruction::fixes(*feature, insn.copied(), self.section(program), &program.name)
            }
            Some(Need::AttachTarget { kind, module, name, .. }) => {
                let similar = self.similar_targets(*kind, name);
                program::target_fixes(
                    self.section(program),
                    &program.name,
                    (module.as_deref(), name),
                    &similar,
                )
            }
            Some(Need::ErrorInjection(_)) => {
                program::target_fixes(self.section(program), &program.name, (None, ""), &[])
            }
            Some(Need::VariableAddress(_)) => program::address_fixes(self.section(program), &program.name),
            // No kernel has another license.
            Some(
                Need::License(_)
                | Need::MapUse { .. }
                | Need::InsnRule(_)
                | Need::FunctionRule { .. }
                | Need::ContextArgument(_),
            ) => self.object_fixes(reason),
            Some(need) => program::missing_fixes(noun(need), self.section(program), &program.name),
            None => Vec::new(),
        }
    }

    /// Returns whether the kernel lacks the type of an access, and the type is that of a map's keys or
    /// values, or the access is one to the program's own memory.
    fn is_own_type(&self, program: &ProgramNeeds, reason: &Reason, planned: &PlannedReloc<'_>) -> bool {
        let Some(spec) = planned.local_spec().filter(|spec| spec.kind.is_field()) else { return false };
        let is_missing =
            planned.candidate_count() == 0 && matches!(planned.decision(), Ok(Decision::Poison { .. }));
        let strip = |ty: TypeId| planned.btf().strip(ty).ok().map(Type::id);
        let root = strip(spec.root);
        let is_root = |ty: TypeId| root.is_some() && strip(ty) == root;
        let definitions = || self.needs.maps.iter().filter_map(|map| map.definition.as_ref());
        let is_in_map = || {
            let mut types = definitions().flat_map(|def| [def.key_type, def.value_type]).flatten();
            types.any(is_root)
        };
        let is_in_own_memory = || {
            let code = program.code.as_ref().ok().zip(reason.insn);
            code.is_some_and(|(code, insn)| is_own_memory(code, insn))
        };
        is_missing && (is_in_map() || is_in_own_memory())
    }
}

/// Returns the noun of a requirement of a program, without its name.
const fn noun(need: &Need) -> &'static str {
    match need {
        Need::ProgramType(_) => "program type",
        Need::AttachType(_) => "attach type",
        Need::Module(_) => "module",
        Need::SleepableLsm(_) => "hook for programs that may sleep",
        Need::Trampolines => "trampolines",
        Need::StructOps(_) => "struct",
        Need::MapType(_) => "map type",
        _ => "feature",
    }
}
