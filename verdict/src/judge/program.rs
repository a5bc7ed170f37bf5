//! The verdict on one program.

use super::{
    answers::KernelAnswers,
    code,
    data::FrozenData,
    externs::ExternAnswers,
    model::{ProgramVerdict, Reason, ReasonKind, Verdict},
    reasons::distinct,
};
use crate::{
    kernel::{Answer, Evidence, EvidenceSource, InsnFeature},
    reach::{self, Reach, Reachability, Undecided},
    requirements::{AttachNeed, Need, ObjectNeeds, ProgramNeeds},
    source_line::source_line,
};
use core_relo::{
    Plan,
    explain::{reason, text},
    plan::{Decision, PlannedReloc},
};
use core_relo_object::{
    ExternIndex,
    link::{LinkedProgram, RefTarget},
};

/// The parts that the programs of an object share.
pub(super) struct ObjectContext<'c, 'k> {
    pub(super) needs: &'c ObjectNeeds<'c, 'c>,
    pub(super) plan: &'c Plan<'c>,
    pub(super) answers: &'c KernelAnswers<'c, 'k>,
    /// The reasons that concern every program.
    pub(super) reasons: &'c [Reason],
    pub(super) frozen: &'c FrozenData<'c>,
    pub(super) externs: &'c ExternAnswers<'c, 'k>,
}

/// A requirement of an instruction that the kernel does not meet, if the verifier reaches the instruction.
struct Suspect {
    insn: u32,
    reason: Reason,
}

impl ObjectContext<'_, '_> {
    /// Judges a program as if it were loaded alone.
    pub(super) fn judge(&self, program: &ProgramNeeds) -> ProgramVerdict {
        let mut reasons = self.reasons.to_vec();
        reasons.extend(self.attach_reasons(&program.attach));
        match &program.code {
            Err(error) => reasons.push(Reason::from_object(Verdict::Refused, error.to_string())),
            Ok(linked) => self.add_code_reasons(program, linked, &mut reasons),
        }
        let reasons = distinct(reasons);
        ProgramVerdict {
            name: program.name.clone(),
            autoload: program.autoload,
            verdict: reasons.first().map_or(Verdict::Loads, |worst| worst.verdict),
            reasons,
        }
    }

    fn attach_reasons(&self, attach: &AttachNeed) -> Vec<Reason> {
        let input = |text: &str, fix: &str| {
            let reason = Reason::from_object(Verdict::NeedsInput, text.to_owned());
            vec![Reason { kind: ReasonKind::AttachTarget, fix: Some(fix.to_owned()), ..reason }]
        };
        let mut reasons: Vec<_> =
            attach.needs().iter().filter_map(|need| self.answers.reason(*need)).collect();
        reasons.extend(match attach {
            AttachNeed::Needs(_) => Vec::new(),
            AttachNeed::NoProgramType => input(
                "the section's name implies no program type, which user space must set",
                "bpf_program__set_type() before the load, or a section name such as SEC(\"kprobe/…\")",
            ),
            AttachNeed::NoTarget(_) => input(
                "the section's name has no attach target, which user space must set",
                "bpf_program__set_attach_target() before the load",
            ),
            AttachNeed::OtherProgram(_) => input(
                "the program replaces a function of another program, which user space must set",
                "bpf_program__set_attach_target() before the load",
            ),
        });
        reasons
    }

    /// Adds the reasons of a program's instructions.
    fn add_code_reasons(&self, program: &ProgramNeeds, linked: &LinkedProgram, reasons: &mut Vec<Reason>) {
        let mut suspects = Vec::new();
        for (insn, record) in &program.records {
            let Some(planned) = self.plan.get(*record) else { continue };
            match planned.decision() {
                Ok(Decision::Poison { .. }) => {
                    suspects.push(Suspect { insn: *insn, reason: relocation_reason(&planned) });
                }
                // libbpf refuses the program, reachable or not.
                Err(_) => reasons.push(self.place(relocation_reason(&planned), linked, *insn)),
                Ok(_) => {}
            }
        }
        for site in &program.sites {
            let by_type = extern_at(linked, site.insn).and_then(|index| self.externs.reason(index));
            let is_call = matches!(self.answers.need(site.need), Some(Need::KfuncCall { .. }));
            let by_type = by_type.filter(|_| is_call);
            let Some(reason) = by_type.or_else(|| self.answers.reason(site.need)) else { continue };
            match self.answers.need(site.need) {
                Some(Need::Instruction(feature)) if is_checked_everywhere(*feature) => {
                    reasons.push(self.place(reason, linked, site.insn));
                }
                _ => suspects.push(Suspect { insn: site.insn, reason }),
            }
        }
        if suspects.is_empty() {
            return;
        }
        let reachability = self.analyze(program, linked);
        for Suspect { insn, reason } in suspects {
            reasons.extend(self.decide(insn, reason, linked, &reachability));
        }
    }

    fn analyze(&self, program: &ProgramNeeds, linked: &LinkedProgram) -> Reachability {
        let insns = code::relocated(self.needs, linked, program, self.plan);
        let functions = code::functions(self.needs, linked);
        let loads = code::loads(self.needs, linked, self.frozen, self.externs);
        // If nothing tells, the kernel may verify functions that nothing calls.
        let verifies_uncalled_functions =
            !matches!(self.answers.facts.verifies_uncalled_functions(), Answer::Absent(_));
        let endian = self.needs.object.endian();
        reach::analyze(&reach::Program {
            insns: &insns,
            functions: &functions,
            loads: &loads,
            endian,
            verifies_uncalled_functions,
            exception_callback: linked.exception_callback,
        })
    }

    /// Returns the reason of an instruction if the verifier reaches it, or may reach it.
    fn decide(
        &self,
        insn: u32,
        reason: Reason,
        linked: &LinkedProgram,
        reachability: &Reachability,
    ) -> Option<Reason> {
        let undecided = match reachability.at(insn) {
            Reach::Dead => return None,
            Reach::Reachable => return Some(self.place(reason, linked, insn)),
            Reach::Undecided(undecided) => undecided,
        };
        let (kind, why) = match undecided {
            Undecided::Budget => {
                (ReasonKind::Budget, "the analysis of the program stopped at its budget".to_owned())
            }
            Undecided::UnknownValue { insn } => (reason.kind, self.unknown_value(linked, insn)),
            _ => (reason.kind, "a branch depends on a value that only the verifier knows".to_owned()),
        };
        let text = format!("{}, and the instruction may be reached: {why}", reason.text);
        let verdict = Verdict::Unknown;
        Some(self.place(Reason { kind, verdict, text, ..reason }, linked, insn))
    }

    /// Returns the question behind a value that nothing tells.
    fn unknown_value(&self, linked: &LinkedProgram, insn: u32) -> String {
        let need = extern_at(linked, insn).and_then(|index| self.needs.externs.get(index.0));
        match need.and_then(|need| Some((self.answers.need(need.id)?, self.answers.get(need.id)?))) {
            Some((need, Answer::Unknown(question))) => format!("it depends on {} ({question})", need.text()),
            Some((need, _)) => format!("it depends on {}", need.text()),
            None => "it depends on a value that is not known".to_owned(),
        }
    }

    /// Adds the source line of an instruction to a reason.
    fn place(&self, reason: Reason, linked: &LinkedProgram, insn: u32) -> Reason {
        let source = self.needs.object.btf().and_then(|btf| source_line(btf, linked, insn));
        Reason { source, ..reason }
    }
}

/// Returns whether the verifier refuses instructions in dead code, too. Before it follows any path, it refuses unknown opcodes,
/// modes and addresses (kernel: `resolve_pseudo_ldimm64`).
const fn is_checked_everywhere(feature: InsnFeature) -> bool {
    matches!(
        feature,
        InsnFeature::FunctionAddress
            | InsnFeature::Jmp32
            | InsnFeature::Atomics
            | InsnFeature::LoadSignExtended
            | InsnFeature::ByteSwap
            | InsnFeature::LongJump
            | InsnFeature::MayGoto
            | InsnFeature::KernelVariableAddress
            | InsnFeature::BackwardJump
            | InsnFeature::IndirectJump
    )
}

/// Returns the extern that an instruction refers to.
fn extern_at(linked: &LinkedProgram, insn: u32) -> Option<ExternIndex> {
    // The references are in the order of their instructions.
    let at = linked.refs.binary_search_by_key(&insn, |(load, _)| *load).ok()?;
    match linked.refs.get(at)? {
        (_, RefTarget::Extern(index)) => Some(*index),
        _ => None,
    }
}

/// Returns the reason of a relocation that does not resolve.
fn relocation_reason(planned: &PlannedReloc<'_>) -> Reason {
    let access = match planned.local_spec() {
        Some(spec) => text(spec.access_text(planned.btf())),
        None => format!("type [{}]", planned.record().relo.root),
    };
    let evidence = Evidence { source: EvidenceSource::Btf, text: reason(planned) };
    Reason {
        kind: ReasonKind::Relocation,
        verdict: Verdict::Refused,
        text: format!("{access}: {}", evidence.text),
        source: None,
        evidence: Some(evidence),
        fix: None,
    }
}
