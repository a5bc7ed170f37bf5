//! Requirements of instructions that the kernel does not meet, and whether the verifier reaches the
//! instructions.

use super::{
    architecture, code,
    context::{refused_accesses, variable_offset_reason},
    dead_code::DeadCode,
    model::{Reason, ReasonKind, Requirement, Verdict},
    object_context::ObjectContext,
    references::find_reference,
    returns::ReturnRule,
};
use crate::{
    kernel::{Answer, Evidence, EvidenceSource, KernelFacts},
    reach::{ContextOffset, Reach, Reachability, Undecided},
    requirements::{Need, ProgramNeeds, Site, helper_text},
};
use core::mem;
use core_relo::{
    Name,
    explain::{reason, target_independent_reason, text},
    insn::Helper,
    plan::{Decision, PlannedReloc},
};
use core_relo_object::{
    MapIndex,
    link::{LinkedProgram, RefTarget},
};

/// A requirement of an instruction that the kernel does not meet, if the verifier reaches the instruction.
struct Suspect {
    insn: u32,
    /// Whether nothing tells whether the kernel refuses the instruction in dead code, too: the question.
    dead_code_question: Option<String>,
    /// The offset of the access, if the requirement is one of an access to the context.
    context_offset: Option<ContextOffset>,
    reason: Reason,
}

impl Suspect {
    fn new(insn: u32, reason: Reason) -> Self {
        Self { insn, dead_code_question: None, context_offset: None, reason }
    }

    /// Returns whether the verifier reaches the requirement.
    fn reach(&self, reachability: &Reachability) -> Reach {
        match self.context_offset {
            Some(offset) => reachability.context_access(self.insn, offset),
            None => reachability.reach(self.insn),
        }
    }
}

/// The reasons at instructions that the verifier does not reach.
#[derive(Default)]
pub(super) struct SkippedReasons {
    /// Those in dead code.
    pub(super) guarded: Vec<Reason>,
    /// Those behind the instructions of other reasons.
    pub(super) later: Vec<Reason>,
}

impl ObjectContext<'_, '_> {
    /// Adds the reasons of a program's instructions, and to `skipped` those of instructions that the verifier
    /// does not reach.
    pub(super) fn add_code_reasons(
        &self,
        program: &ProgramNeeds,
        linked: &LinkedProgram,
        reasons: &mut Vec<Reason>,
        skipped: &mut SkippedReasons,
    ) {
        if let Some(reason) = code::undecided_load(self.plan, program) {
            return reasons.push(reason);
        }
        let mut suspects = Vec::new();
        for (insn, record) in &program.records {
            let Some(planned) = self.plan.get(program.index, *record) else { continue };
            let reason = || relocation_reason(&planned, *record, &self.answers.facts);
            match planned.decision() {
                Ok(Decision::Poison { .. }) => {
                    suspects.push(Suspect::new(*insn, reason()));
                }
                // libbpf refuses the program, reachable or not.
                Err(_) => {
                    reasons.push(self.with_source_line(reason(), linked, *insn));
                }
                Ok(_) => {}
            }
        }
        for site in &program.sites {
            let Some(reason) = self.site_reason(program, site, linked) else { continue };
            match self.dead_code(site, linked) {
                DeadCode::Checked => reasons.push(self.with_source_line(reason, linked, site.insn)),
                DeadCode::Skipped => suspects.push(Suspect::new(site.insn, reason)),
                DeadCode::Unknown(question) => {
                    let suspect = Suspect::new(site.insn, reason);
                    suspects.push(Suspect { dead_code_question: Some(question), ..suspect });
                }
            }
        }
        if let Some(refusal) = self.btf_refusal {
            let sites =
                program.sites.iter().filter_map(|site| Some((site.insn, self.answers.need(site.need)?)));
            suspects.extend(
                sites.filter_map(|(insn, need)| Some(Suspect::new(insn, refusal.insn_reason(need)?))),
            );
        }
        let callbacks = self.callback_reasons(program, linked).into_iter();
        suspects.extend(callbacks.map(|(insn, reason)| Suspect::new(insn, reason)));
        // A program that is not part of the load is judged alone, and a load of it creates its maps.
        if program.autoload {
            suspects.extend(self.left_out_maps(linked));
        }
        suspects.extend(refused_accesses(program, self.answers).into_iter().map(|(access, reason)| {
            let offset = ContextOffset::Constant(access.offset);
            Suspect { context_offset: Some(offset), ..Suspect::new(access.insn, reason) }
        }));
        suspects.extend(program.variable_accesses.iter().map(|access| Suspect {
            context_offset: Some(ContextOffset::Variable),
            ..Suspect::new(access.insn, variable_offset_reason(*access))
        }));
        let outside = self.accesses_outside_frame(program).into_iter();
        suspects.extend(outside.map(|(insn, reason)| Suspect::new(insn, reason)));
        suspects.extend(self.override_beside_array(program));
        let return_rule = ReturnRule::new(program, program.sec_def, self.answers);
        if suspects.is_empty() && return_rule.is_none() {
            return;
        }
        let reachability = self.analyze(program, linked, true);
        let returned = return_rule.and_then(|rule| rule.reason(&reachability));
        reasons.extend(returned.map(|(insn, reason)| self.with_source_line(reason, linked, insn)));
        for suspect in suspects {
            let reach = suspect.reach(&reachability);
            let Suspect { insn, dead_code_question, context_offset, reason } = suspect;
            match (reach, dead_code_question) {
                (Reach::Dead, Some(question)) => {
                    let text = format!("{}, in dead code: {question}", reason.text);
                    let reason = Reason { verdict: Verdict::Unknown, text, evidence: None, ..reason };
                    reasons.push(self.with_source_line(reason, linked, insn));
                }
                // On the paths to the access, the register is not the context.
                (Reach::Dead, None) if context_offset.is_some() => {}
                (Reach::Dead, None) => skipped.guarded.push(self.with_source_line(reason, linked, insn)),
                _ => reasons.push(self.reached_reason(insn, reason, linked, reach)),
            }
        }
        // The verifier stops at a poisoned instruction. What is dead only because of that is not guarded.
        let stops = reasons.iter().any(|reason| reason.insn.is_some());
        if stops && !skipped.guarded.is_empty() {
            let beyond = self.analyze(program, linked, false);
            for dead in mem::take(&mut skipped.guarded) {
                match dead.insn.map(|insn| (insn, beyond.reach(insn))) {
                    None | Some((_, Reach::Dead)) => skipped.guarded.push(dead),
                    Some((insn, reach)) => {
                        skipped.later.push(self.reached_reason(insn, dead, linked, reach));
                    }
                }
            }
        }
    }

    /// Returns the calls of `bpf_override_return` in a program that refers to a program array. Every kernel
    /// refuses such a program (kernel: `__bpf_prog_map_compatible`).
    fn override_beside_array(&self, program: &ProgramNeeds) -> Vec<Suspect> {
        let Some(array) = self.needs.owned_maps.program_array_of(program.index) else { return Vec::new() };
        let overrides = |site: &&Site| {
            matches!(self.answers.need(site.need), Some(Need::Helper { helper: Helper::OVERRIDE_RETURN, .. }))
        };
        let text = format!(
            "map {}: a program that calls {} may use no program array",
            array.name,
            helper_text(Helper::OVERRIDE_RETURN)
        );
        let suspect = |site: &Site| {
            let evidence =
                Evidence { source: EvidenceSource::Object, text: "every kernel has the rule".to_owned() };
            let reason = Reason::new(ReasonKind::Helper, Verdict::Refused, text.clone());
            Suspect::new(site.insn, reason.with_evidence(evidence))
        };
        program.sites.iter().filter(overrides).map(suspect).collect()
    }

    /// Returns the uses of maps that user space does not create. libbpf poisons the instructions.
    fn left_out_maps(&self, linked: &LinkedProgram) -> Vec<Suspect> {
        if self.needs.left_out_maps.is_empty() {
            return Vec::new();
        }
        let left_out = |map: &MapIndex| self.needs.left_out_maps.contains(map);
        let uses = linked.refs.iter().filter_map(|(insn, target)| match target {
            RefTarget::Map(map) | RefTarget::Data { map, .. } if left_out(map) => Some((*insn, *map)),
            _ => None,
        });
        let suspect = |(insn, map): (u32, MapIndex)| {
            let name = self.needs.linker.maps().get(map.0)?.name;
            let name = text(Name::new(name).shortened());
            let fix = format!("no --without-map {name}, or a guard of the use by a constant");
            let text = format!("map {name}: the loader does not create it");
            let evidence =
                Evidence { source: EvidenceSource::Object, text: "the settings of the load".into() };
            let reason = Reason::new(ReasonKind::MapType, Verdict::Refused, text);
            let reason = reason.with_evidence(evidence).with_fix(fix);
            Some(Suspect::new(insn, reason))
        };
        uses.filter_map(suspect).collect()
    }

    /// Returns the reason of an instruction that the verifier reaches, or may reach.
    fn reached_reason(&self, insn: u32, reason: Reason, linked: &LinkedProgram, reach: Reach) -> Reason {
        let Reach::Undecided(undecided) = reach else {
            return self.with_source_line(reason, linked, insn);
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
        self.with_source_line(Reason { kind, verdict, text, ..reason }, linked, insn)
    }

    /// Returns the question behind a value that nothing tells.
    fn unknown_value(&self, linked: &LinkedProgram, insn: u32) -> String {
        let need = match find_reference(linked, insn) {
            Some(RefTarget::Extern(index)) => self.needs.externs.get(index.0),
            _ => None,
        };
        match need.and_then(|need| Some((self.answers.need(need.id)?, self.answers.get(need.id)?))) {
            Some((need, Answer::Unknown(question))) => format!("it depends on {}: {question}", need.text()),
            Some((need, _)) => format!("it depends on {}", need.text()),
            None => "it depends on a value that is not known".to_owned(),
        }
    }
}

/// Returns the reason of a relocation that does not resolve. The text is the same for all kernels that lack
/// the same, so that reports on many kernels show the reason once.
fn relocation_reason(planned: &PlannedReloc<'_>, record: usize, facts: &KernelFacts<'_>) -> Reason {
    let access = match planned.local_spec() {
        Some(spec) => text(spec.access_text(planned.btf())),
        None => format!("type [{}]", planned.record().relo.root),
    };
    if let Some(reason) = architecture::reason(planned, &access, facts) {
        return reason;
    }
    let evidence = Evidence { source: EvidenceSource::Btf, text: reason(planned) };
    let text = format!("{access}: {}", target_independent_reason(planned));
    Reason::new(ReasonKind::Relocation, Verdict::Refused, text)
        .with_evidence(evidence)
        .with_requirement(Requirement::Relocation(record))
}
