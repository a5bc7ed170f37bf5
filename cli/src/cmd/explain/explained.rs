//! The verdict on an object on one kernel, with facts and fixes for each reason. The values own their data,
//! because the output comes after the last kernel of a set.

use crate::{
    cmd::verdicts::{
        kernel_judge::KernelCase,
        objects::JudgedObject,
        variants::{VariantChoice, VariantTables},
    },
    describe,
    json::plan::ExplainedRelocationJson,
    text::{explanation::fact_lines, line::Line},
};
use core_relo::{Plan, explain::Explainer, plan::Summary};
use core_relo_loader::load_plan::PlanByLoad;
use core_relo_report::json::JsonLines;
use core_relo_verdict::{
    SourceLine,
    advice::{Advisor, Fix},
    judge::{ObjectVerdict, Reason, ReasonKind, Requirement, Verdict},
};
use std::{collections::HashMap, io};

/// The explained verdict on an object on one kernel.
#[derive(Debug)]
pub(super) struct ExplainedObject {
    /// The index of the object, for its requirements on other kernels.
    pub(super) index: usize,
    pub(super) object: String,
    pub(super) summary: Summary,
    pub(super) verdict: ObjectVerdict,
    /// Whether the verdict is that of chosen variants.
    pub(super) has_variants: bool,
    /// The chosen variants, for text.
    pub(super) variants: Vec<Line>,
    /// The different reasons of the object and of all programs.
    pub(super) reasons: Vec<ExplainedReason>,
    /// For each program, the indices of its reasons.
    pub(super) by_program: Vec<Vec<usize>>,
    /// For each program, the indices of the reasons behind those.
    pub(super) later_by_program: Vec<Vec<usize>>,
    /// The lines of the relocations that do not resolve, for JSON.
    pub(super) relocations: JsonLines,
}

/// An explained reason.
#[derive(Debug)]
pub(super) struct ExplainedReason {
    pub(super) reason: Reason,
    /// Whether the reason is behind those of the verdict.
    pub(super) is_later: bool,
    /// The indices of the programs that have the reason.
    pub(super) programs: Vec<usize>,
    /// The position in the object: `tp_btf/sched_process_exec, insn 14, relocation 3`.
    pub(super) position: Option<String>,
    /// The facts of a relocation, for text.
    pub(super) facts: Vec<Line>,
    pub(super) fixes: Vec<Fix>,
}

/// What makes two reasons equal. The fixes of some kinds name the program.
type ReasonKey = (ReasonKind, String, Option<SourceLine>, Option<usize>, bool);

/// The parts of the output to prepare.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExplainOptions<'a> {
    pub(super) is_json: bool,
    /// The only program to explain.
    pub(super) program: Option<&'a str>,
    /// The tables of the objects with variants.
    pub(super) variants: &'a VariantTables,
}

impl ExplainedObject {
    /// Judges and explains an object on a kernel.
    pub(super) fn new(
        index: usize,
        (object, by_load): (&JudgedObject<'_>, &PlanByLoad<'_, '_>),
        case: &KernelCase<'_, '_>,
        choice: Option<&VariantChoice>,
        options: ExplainOptions<'_>,
    ) -> io::Result<Self> {
        let mut verdict = choice.map_or_else(|| case.judge(object, by_load), |choice| choice.verdict.clone());
        let is_wanted = |name: &str| options.program.is_none_or(|wanted| wanted == name);
        verdict.programs.retain(|program| is_wanted(&program.name));
        if options.program.is_some() {
            verdict.reasons.clear();
            verdict.warnings.retain(|warning| is_wanted(&warning.program));
            // One program is judged as if it were loaded alone.
            verdict.verdict =
                verdict.programs.iter().map(|program| program.verdict).max().unwrap_or(Verdict::Loads);
        }
        let plan = by_load.plan();
        let mut explained = Self {
            index,
            object: object.data.file.name.clone(),
            summary: plan.summary(),
            has_variants: choice.is_some_and(VariantChoice::is_chosen),
            variants: choice.map_or_else(Vec::new, |choice| choice.lines(None)),
            reasons: Vec::new(),
            by_program: Vec::new(),
            later_by_program: Vec::new(),
            relocations: JsonLines::default(),
            verdict,
        };
        explained.add_reasons(object, plan, case);
        let mut explainer = Explainer::new(plan);
        let in_program = |planned: &core_relo::plan::PlannedReloc<'_>| {
            options
                .program
                .is_none_or(|wanted| planned.function().is_some_and(|f| f.name == wanted.as_bytes()))
        };
        for planned in plan.iter().filter(|planned| options.is_json && describe::is_unresolved(planned)) {
            if in_program(&planned) {
                let (object, kernel) = (&object.data.file.name, &case.kernel.name);
                explained.relocations.push(&ExplainedRelocationJson::new(
                    object,
                    kernel,
                    &planned,
                    &mut explainer,
                ))?;
            }
        }
        Ok(explained)
    }

    fn add_reasons(&mut self, object: &JudgedObject<'_>, plan: &Plan<'_>, case: &KernelCase<'_, '_>) {
        let mut advisor = object.needs.as_ref().ok().map(|needs| Advisor::new(needs, plan, &case.answers));
        self.reasons.extend(self.verdict.own_reasons().map(|reason| ExplainedReason {
            reason: reason.clone(),
            programs: Vec::new(),
            is_later: false,
            position: None,
            facts: Vec::new(),
            fixes: advisor.as_ref().map_or_else(Vec::new, |advisor| advisor.object_fixes(reason)),
        }));
        let mut explainer = Explainer::new(plan);
        let mut known: HashMap<ReasonKey, usize> = HashMap::new();
        let all_needs = object.needs.iter().flat_map(|needs| &needs.programs);
        let needs_by_name: HashMap<_, _> = all_needs.map(|needs| (needs.name.as_str(), needs)).collect();
        let programs = || self.verdict.programs.iter().enumerate();
        let later = programs().map(|(index, program)| (index, program, true));
        for (program_index, program, is_later) in
            programs().map(|(index, program)| (index, program, false)).chain(later)
        {
            let mut indices = Vec::new();
            for reason in if is_later { &program.later } else { &program.reasons } {
                let key = reason_key(reason, program_index, is_later);
                let next = self.reasons.len();
                let index = *known.entry(key).or_insert(next);
                indices.push(index);
                if let Some(explained) = self.reasons.get_mut(index) {
                    explained.programs.push(program_index);
                    continue;
                }
                let needs = needs_by_name.get(program.name.as_str()).copied();
                let fixes = match (&mut advisor, needs) {
                    (Some(advisor), Some(needs)) => advisor.fixes(needs, program, reason),
                    // The object cannot be linked.
                    _ => reason.fix.iter().map(|fix| Fix::without_code(fix.clone())).collect(),
                };
                let (mut position, mut facts) = (None, Vec::new());
                if let Some(Requirement::Relocation(record)) = reason.requirement
                    && let Some(planned) = plan.get(record)
                {
                    position = Some(describe::record_position(&planned));
                    facts = fact_lines(&planned, &explainer.explain(&planned), false);
                }
                let programs = vec![program_index];
                self.reasons.push(ExplainedReason {
                    reason: reason.clone(),
                    is_later,
                    programs,
                    position,
                    facts,
                    fixes,
                });
            }
            match is_later {
                false => self.by_program.push(indices),
                true => self.later_by_program.push(indices),
            }
        }
    }
}

fn reason_key(reason: &Reason, program: usize, is_later: bool) -> ReasonKey {
    let names_program = matches!(
        reason.kind,
        ReasonKind::ProgramType | ReasonKind::AttachType | ReasonKind::AttachTarget | ReasonKind::Instruction
    );
    (reason.kind, reason.text.clone(), reason.source.clone(), names_program.then_some(program), is_later)
}
