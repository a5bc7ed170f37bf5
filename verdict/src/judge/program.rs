//! The verdict on one program.

use super::{
    answers::KernelAnswers,
    architecture,
    btf::BtfRefusal,
    code,
    context::refused_accesses,
    data::FrozenData,
    dead_code::DeadCode,
    externs::ExternAnswers,
    model::{ProgramVerdict, Reason, ReasonKind, Requirement, Verdict},
    object::NAME_FIX,
    reasons::distinct,
    returns::ReturnRule,
};
use crate::{
    kernel::{Answer, D_PATH, Evidence, EvidenceSource, InsnFeature, is_d_path_function, needs_device},
    mismatch::{Mismatch, find_mismatches},
    reach::{self, Reach, Reachability, Undecided},
    requirements::{AttachNeed, LicenseUse, Need, ObjectNeeds, ProgramNeeds, Site, TargetKind, helper_text},
};
use core::{cell::Cell, mem};
use core_relo::{
    Name,
    explain::{reason, target_independent_reason, text},
    plan::{Decision, PlannedReloc},
};
use core_relo_object::{
    ExternIndex, MapIndex, ProgramIndex,
    link::{LinkedProgram, RefTarget},
    load_plan::{LoadPlanError, OBJECT_NAME_PROBLEM, PlanByLoad, accepted_object_name},
    object::{ProgramType, find_foreign_section},
};
use hashbrown::HashSet;

/// The number of `bpf_override_return`.
const OVERRIDE_RETURN: u32 = 58;

/// The parts that the programs of an object share.
pub(super) struct ObjectContext<'c, 'k> {
    pub(super) needs: &'c ObjectNeeds<'c, 'c>,
    pub(super) plan: &'c PlanByLoad<'c, 'c>,
    pub(super) answers: &'c KernelAnswers<'c, 'k>,
    /// The reasons that concern every program.
    pub(super) reasons: &'c [Reason],
    pub(super) frozen: &'c FrozenData<'c>,
    pub(super) externs: &'c ExternAnswers<'c>,
    /// The refusal of the object's BTF, if the kernel refuses it.
    pub(super) btf_refusal: Option<&'c BtfRefusal>,
    /// The number of accesses whose source line has been searched for.
    pub(super) searched_lines: Cell<usize>,
}

/// A requirement of an instruction that the kernel does not meet, if the verifier reaches the instruction.
struct Suspect {
    insn: u32,
    /// Whether nothing tells whether the kernel refuses the instruction in dead code, too: the question.
    dead_code_question: Option<String>,
    /// The offset of the access, if the requirement is one of an access to the context.
    context_offset: Option<i32>,
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
struct SkippedReasons {
    /// Those in dead code.
    guarded: Vec<Reason>,
    /// Those behind the instructions of other reasons.
    later: Vec<Reason>,
}

impl ObjectContext<'_, '_> {
    /// Judges a program as if it were loaded alone.
    pub(super) fn judge(&self, program: &ProgramNeeds) -> ProgramVerdict {
        let (mut reasons, mut skipped) = (self.reasons.to_vec(), SkippedReasons::default());
        reasons.extend(self.name_reason(program));
        reasons.extend(self.attach_reasons(program));
        reasons.extend(self.btf_refusal.and_then(|refusal| refusal.program_reason(program)));
        match &program.code {
            Err(error) => reasons.push(Reason::from_object(Verdict::Refused, error.to_string())),
            Ok(linked) => {
                let tables = self.needs.linker.check_jump_tables(program.index, linked);
                let refused = |error: LoadPlanError| Reason::from_object(Verdict::Refused, error.to_string());
                reasons.extend(tables.err().map(refused));
                if self.needs.allows_unused_externs {
                    reasons.extend(self.externs.program_reasons(linked, self.answers));
                }
                reasons.extend(self.info_reasons(program));
                self.add_code_reasons(program, linked, &mut reasons, &mut skipped);
            }
        }
        let reasons = distinct(reasons);
        let SkippedReasons { guarded, mut later } = skipped;
        if !later.is_empty() {
            let known: HashSet<_> = reasons.iter().map(|reason| (reason.kind, &*reason.text)).collect();
            later.retain(|reason| !known.contains(&(reason.kind, &*reason.text)));
        }
        ProgramVerdict {
            name: program.name.clone(),
            autoload: program.autoload,
            verdict: reasons.first().map_or(Verdict::Loads, |worst| worst.verdict),
            reasons,
            guarded: distinct(guarded),
            later: distinct(later),
        }
    }

    /// Returns the reason why the kernel refuses the name of a program.
    fn name_reason(&self, program: &ProgramNeeds) -> Option<Reason> {
        let function = self.needs.object.programs().get(program.index.0)?;
        let is_refused =
            self.needs.loader.sends_unchanged() && accepted_object_name(function.name()).is_some();
        let reason = || Reason::from_object(Verdict::Refused, OBJECT_NAME_PROBLEM.to_owned());
        is_refused.then(|| reason().with_fix(NAME_FIX).repaired())
    }

    /// Returns the silent mismatches at instructions that the verifier reaches.
    pub(super) fn warnings(&self) -> Vec<Mismatch> {
        let mut analyzed: Option<(ProgramIndex, Reachability)> = None;
        find_mismatches(self.needs, self.plan.plan(), &self.answers.facts, |program, insn| {
            let Ok(linked) = &program.code else { return false };
            if analyzed.as_ref().is_none_or(|(index, _)| *index != program.index) {
                analyzed = Some((program.index, self.analyze(program, linked, true)));
            }
            analyzed.as_ref().is_some_and(|(_, reachability)| reachability.reach(insn) == Reach::Reachable)
        })
    }

    fn attach_reasons(&self, program: &ProgramNeeds) -> Vec<Reason> {
        let (attach, name) = (&program.attach, &program.name);
        let input = |text: &str, fix: String| {
            let reason = Reason::from_object(Verdict::NeedsInput, text.to_owned());
            let requirement = Some(Requirement::AttachInput);
            vec![Reason { kind: ReasonKind::AttachTarget, fix: Some(fix), requirement, ..reason }]
        };
        let mut reasons: Vec<_> =
            attach.needs().iter().filter_map(|need| self.answers.reason(*need)).collect();
        let attach_type = program.sec_def.and_then(|def| def.attach_type);
        let refused = attach_type.and_then(|of| Some((of, self.answers.facts.refused_by_policy(of)?)));
        reasons.extend(refused.map(|(attach_type, evidence)| {
            let text = format!("a policy of this machine refuses programs of attach type {attach_type}");
            Reason::new(ReasonKind::AttachType, Verdict::Refused, text)
                .with_evidence(evidence)
                .with_fix(POLICY_FIX)
        }));
        reasons.extend(match attach {
            AttachNeed::Needs(_) => Vec::new(),
            AttachNeed::NoProgramType => input(
                "the section's name implies no program type, which user space must set",
                type_fix(name, program.section(self.needs.object)),
            ),
            AttachNeed::NoTarget(_) => input(
                "the section's name has no attach target, which user space must set",
                format!("--attach-target {name}=FUNCTION, or bpf_program__set_attach_target() before the load"),
            ),
            AttachNeed::OtherProgram(_) => input(
                "the program replaces a function of another program, which user space must set",
                format!(
                    "--attach-target {name}=FUNCTION@PROGRAM, or bpf_program__set_attach_target() before the load"
                ),
            ),
        });
        reasons
    }

    /// Adds the reasons of a program's instructions, and to `skipped` those of instructions that the verifier does not reach.
    fn add_code_reasons(
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
            match planned.decision() {
                Ok(Decision::Poison { .. }) => {
                    suspects.push(Suspect::new(*insn, relocation_reason(&planned, *record)));
                }
                // libbpf refuses the program, reachable or not.
                Err(_) => {
                    reasons.push(self.with_source_line(relocation_reason(&planned, *record), linked, *insn));
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
            Suspect { context_offset: Some(access.offset), ..Suspect::new(access.insn, reason) }
        }));
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
            let reached = self.reason_if_reached(suspect.insn, &suspect.reason, linked, reach);
            match (reached, suspect.dead_code_question) {
                (Some(reason), _) => reasons.push(reason),
                (None, Some(question)) => {
                    let text = format!("{}, in dead code: {question}", suspect.reason.text);
                    let reason = Reason { verdict: Verdict::Unknown, text, evidence: None, ..suspect.reason };
                    reasons.push(self.with_source_line(reason, linked, suspect.insn));
                }
                // On the paths to the access, the register is not the context.
                (None, None) if suspect.context_offset.is_some() => {}
                (None, None) => {
                    skipped.guarded.push(self.with_source_line(suspect.reason, linked, suspect.insn));
                }
            }
        }
        // The verifier stops at a poisoned instruction. What is dead only because of that is not guarded.
        let stops = reasons.iter().any(|reason| reason.insn.is_some());
        if stops && !skipped.guarded.is_empty() {
            let beyond = self.analyze(program, linked, false);
            for dead in mem::take(&mut skipped.guarded) {
                match dead
                    .insn
                    .and_then(|insn| self.reason_if_reached(insn, &dead, linked, beyond.reach(insn)))
                {
                    Some(reason) => skipped.later.push(reason),
                    None => skipped.guarded.push(dead),
                }
            }
        }
    }

    /// Returns the calls of `bpf_override_return` in a program that refers to a program array. Every kernel refuses such a program (kernel:
    /// `__bpf_prog_map_compatible`).
    fn override_beside_array(&self, program: &ProgramNeeds) -> Vec<Suspect> {
        let Some(array) = self.needs.owned_maps.program_array_of(program.index) else { return Vec::new() };
        let overrides = |site: &&Site| {
            matches!(self.answers.need(site.need), Some(Need::Helper { number: OVERRIDE_RETURN, .. }))
        };
        let text = format!(
            "map {}: a program that calls {} may use no program array",
            array.name,
            helper_text(OVERRIDE_RETURN)
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

    /// Returns the reason why the kernel does not meet the requirement of an instruction.
    fn site_reason(&self, program: &ProgramNeeds, site: &Site, linked: &LinkedProgram) -> Option<Reason> {
        let called = called_extern(linked, site.insn);
        match (self.answers.need(site.need)?, called) {
            (Need::KfuncCall { name, .. }, Some(called))
                if program.is_device_bound
                    && needs_device(name)
                    && self.answers.facts.kfunc(name).is_present() =>
            {
                self.externs.reason(called, self.answers)
            }
            (Need::Kfunc(_) | Need::KfuncCall { .. }, Some(called)) => {
                self.externs.reason(called, self.answers).or_else(|| self.answers.reason(site.need))
            }
            (Need::Instruction(InsnFeature::KernelFunctionAddress), Some(called)) => {
                match self.externs.is_resolved(called, self.answers) {
                    Some(false) => None,
                    Some(true) => self.answers.reason(site.need),
                    None => self.externs.reason(called, self.answers),
                }
            }
            // libbpf replaces the call of a missing kfunc.
            (
                Need::License(LicenseUse::Kfunc(_)) | Need::Instruction(InsnFeature::KfuncCall),
                Some(called),
            ) if self.externs.is_resolved(called, self.answers) == Some(false) => None,
            (need, _) if need.depends_on_btf() => {
                BtfRefusal::weaken(self.btf_refusal, self.answers.reason(site.need)?)
            }
            (Need::Helper { number: D_PATH, .. }, _) => {
                self.answers.reason(site.need).or_else(|| self.d_path_reason(program))
            }
            _ => self.answers.reason(site.need),
        }
    }

    /// Returns the reason why a program may not call `bpf_d_path`, which is closed to most attach targets.
    fn d_path_reason(&self, program: &ProgramNeeds) -> Option<Reason> {
        let needs = program.attach.needs().iter().filter_map(|need| self.answers.need(*need));
        let targets = needs.filter_map(|need| match need {
            Need::AttachTarget { kind, name, .. } => Some((*kind, &**name, need)),
            _ => None,
        });
        let (kind, name, target) = targets.last()?;
        let answer = match kind {
            TargetKind::Function if !is_d_path_function(name) => Answer::Absent(Evidence {
                source: EvidenceSource::Object,
                text: "every kernel has the same list of functions".to_owned(),
            }),
            TargetKind::Lsm => self.answers.facts.sleepable_lsm(name),
            _ => return None,
        };
        let text = format!("programs at {} may not call helper bpf_d_path", target.text());
        match answer {
            Answer::Present(_) => None,
            Answer::Absent(evidence) => {
                Some(Reason::new(ReasonKind::Helper, Verdict::Refused, text).with_evidence(evidence))
            }
            Answer::Unknown(question) => {
                let text = format!("{text}: {question}");
                Some(Reason::new(ReasonKind::Helper, Verdict::Unknown, text))
            }
        }
    }

    fn analyze(&self, program: &ProgramNeeds, linked: &LinkedProgram, with_poison: bool) -> Reachability {
        let insns = code::relocated(self.needs, linked, program, self.plan, with_poison);
        let functions = code::functions(self.needs, linked, self.answers);
        let loads = code::loads(self.needs, linked, self.frozen, self.externs, self.answers);
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
            bounds_context: self.bounds_context(program),
            // A function of a `syscall` program may take the context as a pointer to any struct (kernel: `check_helper_mem_access`).
            passes_context: program.sec_def.is_none_or(|def| def.program_type != ProgramType::Syscall),
        })
    }

    /// Returns whether the verifier may know bounds of the result that the hook passes to the program.
    fn bounds_context(&self, program: &ProgramNeeds) -> bool {
        let is_lsm = program.sec_def.is_some_and(|def| def.program_type == ProgramType::Lsm);
        is_lsm && !matches!(self.answers.facts.checks_lsm_results(), Answer::Absent(_))
    }

    /// Returns the reason of an instruction if the verifier reaches it, or may reach it.
    fn reason_if_reached(
        &self,
        insn: u32,
        reason: &Reason,
        linked: &LinkedProgram,
        reach: Reach,
    ) -> Option<Reason> {
        let undecided = match reach {
            Reach::Dead => return None,
            Reach::Reachable => return Some(self.with_source_line(reason.clone(), linked, insn)),
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
        Some(self.with_source_line(Reason { kind, verdict, text, ..reason.clone() }, linked, insn))
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

/// The fix for an attach type that the machine refuses.
const POLICY_FIX: &str = "a policy, such as lockdown, another LSM or seccomp, has to allow them";

/// Returns the fix for a program whose section name implies no type. `section` may be one of another loader.
fn type_fix(program: &str, section: &[u8]) -> String {
    let section = section.strip_prefix(b"?").unwrap_or(section);
    match find_foreign_section(section) {
        Some(foreign) => format!(
            "--program-type {program}={word}, the meaning of the section's name to {loaders}; or bpf_program__set_type() before the load, or \
             SEC(\"{word}\")",
            word = foreign.section,
            loaders = foreign.loaders
        ),
        None => format!(
            "--program-type {program}=TYPE, or bpf_program__set_type() before the load, or a section name such as SEC(\"kprobe/…\")"
        ),
    }
}

/// Returns the reference of an instruction.
fn find_reference(linked: &LinkedProgram, insn: u32) -> Option<&RefTarget> {
    // The references are in the order of their instructions.
    let found = linked.refs.binary_search_by_key(&insn, |(load, _)| *load).ok()?;
    linked.refs.get(found).map(|(_, target)| target)
}

/// Returns the extern that an instruction calls, or loads the address of.
pub(super) fn called_extern(linked: &LinkedProgram, insn: u32) -> Option<ExternIndex> {
    match find_reference(linked, insn) {
        Some(RefTarget::Extern(index)) => Some(*index),
        _ => None,
    }
}

/// Returns the reason of a relocation that does not resolve. The text is the same for all kernels that lack the same, so that reports
/// on many kernels show the reason once.
fn relocation_reason(planned: &PlannedReloc<'_>, record: usize) -> Reason {
    let access = match planned.local_spec() {
        Some(spec) => text(spec.access_text(planned.btf())),
        None => format!("type [{}]", planned.record().relo.root),
    };
    if let Some(reason) = architecture::reason(planned, &access) {
        return reason;
    }
    let evidence = Evidence { source: EvidenceSource::Btf, text: reason(planned) };
    let text = format!("{access}: {}", target_independent_reason(planned));
    Reason::new(ReasonKind::Relocation, Verdict::Refused, text)
        .with_evidence(evidence)
        .with_requirement(Requirement::Relocation(record))
}
