//! The advice on the reasons of one object on one kernel.

use super::{
    Fix, evidence, externs, helper, instruction, maps, own_memory::is_own_memory, program, relocation,
};
use crate::{
    judge::{KernelAnswers, ProgramVerdict, Reason, ReasonKind, Requirement, Verdict},
    kernel::{HelperCall, InsnFeature, KfuncCall},
    requirements::{Need, NeedId, ObjectNeeds, ProgramNeeds, TargetKind, usize_of},
    source_line::{SourceLine, source_line},
};
use core_relo::{
    Plan, TypeId,
    btf::{Btf, Kind, Type},
    explain::{Explainer, similar_names},
    plan::{Decision, PlannedReloc},
};
use core_relo_object::{ExternIndex, ProgramIndex, link::RefTarget};
use hashbrown::{HashMap, HashSet};

/// The searches for similar functions. Each takes a pass over the kernel's types.
const SEARCHES: usize = 64;

/// An adviser on the reasons of one object on one kernel.
#[derive(Debug)]
pub struct Advisor<'a, 'k> {
    pub(super) needs: &'a ObjectNeeds<'a, 'a>,
    pub(super) plan: &'a Plan<'a>,
    pub(super) answers: &'a KernelAnswers<'a, 'k>,
    explainer: Explainer<'a>,
    searches: HashMap<(TargetKind, String), Vec<String>>,
    /// The names of the object's types, once they are needed.
    type_names: Option<HashSet<&'a [u8]>>,
    /// The indices of the externs, by requirement.
    externs: HashMap<NeedId, usize>,
    /// The first use of each extern in the program that was asked for last.
    first_uses: Option<(ProgramIndex, HashMap<usize, u32>)>,
    /// The file and line of the accesses of records, as far as they are known.
    pub(super) record_lines: HashMap<usize, Option<(String, u32)>>,
}

impl<'a, 'k> Advisor<'a, 'k> {
    /// Creates an adviser. `plan` and `answers` are those of the verdict.
    pub fn new(
        needs: &'a ObjectNeeds<'a, 'a>,
        plan: &'a Plan<'a>,
        answers: &'a KernelAnswers<'a, 'k>,
    ) -> Self {
        let externs =
            needs.externs.iter().enumerate().rev().map(|(index, known)| (known.id, index)).collect();
        Self {
            needs,
            plan,
            answers,
            explainer: Explainer::new(plan),
            searches: HashMap::new(),
            type_names: None,
            externs,
            first_uses: None,
            record_lines: HashMap::new(),
        }
    }

    /// Returns the fixes of a reason of a program, the best first. They are alternatives. A fix without code says why none can help. The code
    /// of a source line guards all that the kernel lacks of the line.
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
                let mut fixes = maps::member_fixes(self, map, member);
                fixes.extend(maps::need_fixes(self, map, need));
                fixes
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
            Some(Need::Helper { number, program_type, attach_type, sleepable }) => {
                let call = HelperCall {
                    helper: *number,
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
                let call = KfuncCall { name, program_type: *program_type, attach_type: *attach_type };
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
            Some(Need::AttachTarget { kind, module, name }) => {
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

    /// Returns whether the kernel lacks the type of an access, and the type is that of a map's keys or values, or the access is one to the
    /// program's own memory.
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

    /// Returns the name of a program's section. Returns `None` if the name is no plain text.
    fn section(&self, program: &ProgramNeeds) -> Option<&'a str> {
        let section = self.needs.object.programs().get(program.index.0)?.section_name();
        let section = core::str::from_utf8(section).ok()?;
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        section.bytes().all(is_plain).then_some(section)
    }

    /// Returns the names of the object's types.
    fn type_names(&mut self) -> &HashSet<&'a [u8]> {
        let object = self.needs.object;
        self.type_names.get_or_insert_with(|| {
            let types = object.btf().into_iter().flat_map(Btf::types);
            types.map(|ty| ty.name().as_bytes()).collect()
        })
    }

    /// Returns the index of the extern with a requirement.
    pub(super) fn extern_index(&self, need: NeedId) -> Option<usize> {
        self.externs.get(&need).copied()
    }

    /// Returns the source line of a program's first use of an extern.
    pub(super) fn first_use(&mut self, program: &ProgramNeeds, index: usize) -> Option<SourceLine> {
        let code = program.code.as_ref().ok()?;
        if self.first_uses.as_ref().is_none_or(|(known, _)| *known != program.index) {
            let mut uses = HashMap::new();
            for (insn, target) in &code.refs {
                if let RefTarget::Extern(ExternIndex(index)) = target {
                    uses.entry(*index).or_insert(*insn);
                }
            }
            self.first_uses = Some((program.index, uses));
        }
        let (_, uses) = self.first_uses.as_ref()?;
        source_line(self.needs.object.btf()?, code, *uses.get(&index)?)
    }

    /// Returns targets of a kind with a similar name in the kernel's BTF.
    fn similar_targets(&mut self, kind: TargetKind, name: &str) -> Vec<String> {
        let key = (kind, name.to_owned());
        if let Some(known) = self.searches.get(&key) {
            return known.clone();
        }
        if self.searches.len() >= SEARCHES {
            return Vec::new();
        }
        let btf: &Btf<'_> = &self.plan.target().vmlinux().btf;
        let type_kind = if kind == TargetKind::Tracepoint { Kind::Typedef } else { Kind::Func };
        let similar = similar_names(btf, type_kind, kind.kernel_name("").as_bytes(), name.as_bytes());
        self.searches.insert(key, similar.clone());
        similar
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
