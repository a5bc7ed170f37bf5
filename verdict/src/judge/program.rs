//! The verdict on one program.

use super::{
    btf::BtfRefusal,
    code,
    model::{ProgramVerdict, Reason, ReasonKind, Verdict},
    object_context::ObjectContext,
    reasons::{NAME_FIX, distinct},
    references::called_extern,
    suspects::SkippedReasons,
};
use crate::{
    kernel::{Answer, Evidence, EvidenceSource, InsnFeature, is_d_path_function, needs_device},
    mismatch::{Mismatch, find_mismatches},
    reach::{self, AnalysisInput, Reach, Reachability},
    requirements::{LicenseUse, Need, ProgramNeeds, Site, TargetKind},
};
use alloc::sync::Arc;
use core_relo::insn::Helper;
use core_relo_object::{
    ProgramIndex,
    link::LinkedProgram,
    load_plan::{LoadPlanError, OBJECT_NAME_PROBLEM, accepted_object_name},
    object::ProgramType,
};
use hashbrown::HashSet;

impl ObjectContext<'_, '_> {
    /// Judges a program as if it were loaded alone.
    pub(super) fn judge(&self, program: &ProgramNeeds) -> ProgramVerdict {
        let (mut reasons, mut skipped) = (self.reasons.to_vec(), SkippedReasons::default());
        reasons.extend(self.name_reason(program));
        reasons.extend(self.attach_reasons(program));
        reasons.extend(self.btf_refusal.and_then(|refusal| refusal.program_reason(program)));
        reasons.extend(self.refused_types.and_then(|types| types.program_reason(self.needs, program)));
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
            !self.needs.loader.changes_names() && accepted_object_name(function.name()).is_some();
        let reason = || Reason::from_object(Verdict::Refused, OBJECT_NAME_PROBLEM.to_owned());
        is_refused.then(|| reason().with_fix(NAME_FIX).repaired())
    }

    /// Returns the silent mismatches at instructions that the verifier reaches.
    pub(super) fn warnings(&self) -> Vec<Mismatch> {
        let mut analyzed: Option<(ProgramIndex, Arc<Reachability>)> = None;
        find_mismatches(self.needs, self.plan.plan(), &self.answers.facts, |program, insn| {
            let Ok(linked) = &program.code else { return false };
            if analyzed.as_ref().is_none_or(|(index, _)| *index != program.index) {
                analyzed = Some((program.index, self.analyze(program, linked, true)));
            }
            analyzed.as_ref().is_some_and(|(_, reachability)| reachability.reach(insn) == Reach::Reachable)
        })
    }

    /// Returns the reason why the kernel does not meet the requirement of an instruction.
    pub(super) fn site_reason(
        &self,
        program: &ProgramNeeds,
        site: &Site,
        linked: &LinkedProgram,
    ) -> Option<Reason> {
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
            (Need::Helper { helper, .. }, _) if *helper == Helper::D_PATH => {
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

    /// Analyses a program with its instructions on the kernel.
    pub(super) fn analyze(
        &self,
        program: &ProgramNeeds,
        linked: &LinkedProgram,
        with_poison: bool,
    ) -> Arc<Reachability> {
        // Every kernel verifies the program itself.
        let mut functions = linked.functions.iter().skip(1);
        let has_global = functions.any(|copy| self.needs.linker.is_global(linked, *copy));
        let input = AnalysisInput {
            program: program.index,
            relocated: code::relocated_insns(program, self.plan, with_poison),
            are_functions_static: self.answers.are_functions_static,
            externs: code::resolved_externs(linked, self.externs, self.answers),
            kconfig: Arc::clone(self.frozen.kconfig()),
            endian: self.needs.object.endian(),
            verifies_uncalled_functions: has_global && self.answers.verifies_uncalled_functions,
            bounds_context: self.bounds_context(program),
        };
        self.needs.analyses.find(&input, |input| {
            let insns = code::insns(self.needs, linked, &input.relocated);
            let functions = code::functions(self.needs, linked, input.are_functions_static);
            let loads = code::loads(self.needs, linked, self.frozen, self.externs, self.answers);
            let program = reach::Program {
                insns: &insns,
                functions: &functions,
                loads: &loads,
                endian: input.endian,
                verifies_uncalled_functions: input.verifies_uncalled_functions,
                exception_callback: linked.exception_callback,
                bounds_context: input.bounds_context,
                // A function of a `syscall` program may take the context as a pointer to any struct (kernel:
                // `check_helper_mem_access`).
                passes_context: program.sec_def.is_none_or(|def| def.program_type != ProgramType::Syscall),
            };
            reach::analyze_relocated(&program, &input.relocated_numbers())
        })
    }

    /// Returns whether the verifier may know bounds of the result that the hook passes to the program.
    fn bounds_context(&self, program: &ProgramNeeds) -> bool {
        let is_lsm = program.sec_def.is_some_and(|def| def.program_type == ProgramType::Lsm);
        is_lsm && !matches!(self.answers.facts.checks_lsm_results(), Answer::Absent(_))
    }
}
