//! The explanations of a plan's records.

use super::{
    AlternativeMember, CType,
    guards::Guards,
    help::help,
    missing::{is_missing, missing_item},
    near::{NearSearch, find_other_shapes},
    reason::{ReasonScope, record_reason, verdict_text},
    text::text,
};
use crate::{
    TypeId, limits,
    plan::{CandidateResult, CheckedCandidate, Decision, Plan, PlannedReloc},
    resolve::{Candidate, StepBudget},
};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
use core::ops::Range;
#[cfg(feature = "serde")]
use serde::ser::SerializeStruct as _;

/// The explanation of the decision about a relocation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Explanation {
    /// The access in C notation: `struct task_struct.__state`.
    pub access: String,
    /// The access with ids and offsets: `[12] struct task_struct.__state (0:3 @ offset 24)`.
    pub local: String,
    /// The reason for the decision.
    pub reason: String,
    /// The candidates, up to the limits that [`Explainer::tried`] documents.
    pub tried: Vec<TriedCandidate>,
    /// Similar names in the target, the nearest first. If [`limits::NEAR_STEPS`] are used up, a note that the
    /// search was omitted.
    pub near: Vec<String>,
    /// Members of the target's type that a flavour can declare in place of the missing access, the nearest
    /// first.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub alternatives: Vec<AlternativeMember>,
    /// Suggestions for fixing the program.
    pub help: Vec<String>,
}

/// A candidate and its verdict, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TriedCandidate {
    /// The name of the BTF that contains the candidate: `vmlinux` or a module's name.
    pub btf: String,
    /// The candidate's id in that BTF.
    pub type_id: TypeId,
    /// The candidate, `struct task_struct`; if it matches, the whole access.
    pub what: String,
    /// The access with ids and offsets, if the candidate matches.
    pub spec: Option<String>,
    /// The verdict.
    pub verdict: String,
    /// Whether the candidate matches.
    pub matched: bool,
}

/// Serializes a candidate that does not match with its id and [`what`](Self::what) in place of
/// [`spec`](Self::spec).
#[cfg(feature = "serde")]
impl serde::Serialize for TriedCandidate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_struct("TriedCandidate", 5)?;
        keys.serialize_field("btf", &self.btf)?;
        keys.serialize_field("type_id", &self.type_id.0)?;
        match &self.spec {
            Some(spec) => keys.serialize_field("spec", spec)?,
            None => keys.serialize_field("spec", &format_args!("[{}] {}", self.type_id, self.what))?,
        }
        keys.serialize_field("verdict", &self.verdict)?;
        keys.serialize_field("matched", &self.matched)?;
        keys.end()
    }
}

/// Returns [`Explanation::reason`] alone, without a search for similar names.
pub fn reason(planned: &PlannedReloc<'_>) -> String {
    scoped_reason(planned, ReasonScope::OneTarget)
}

/// Returns the reason for the decision about a record without the target's name and type ids. Targets that
/// lack the same have the same reason.
pub fn target_independent_reason(planned: &PlannedReloc<'_>) -> String {
    scoped_reason(planned, ReasonScope::AnyTarget)
}

fn scoped_reason(planned: &PlannedReloc<'_>, scope: ReasonScope) -> String {
    let has_single_candidate = is_missing(planned) && planned.candidate_count() == 1;
    let single = if has_single_candidate { planned.candidate_results().next() } else { None };
    record_reason(planned, single.as_ref(), scope)
}

/// Explains the decision about a record. For many records of a plan, use an [`Explainer`].
pub fn explain(planned: &PlannedReloc<'_>) -> Explanation {
    Explainer::new(planned.plan()).explain(planned)
}

/// An explainer of the records of one plan. All records share one search for similar names.
pub struct Explainer<'p> {
    plan: &'p Plan<'p>,
    guards: Option<Guards<'p>>,
    near: NearSearch<'p>,
    /// The steps for the candidates of failed records. The plan may not have compared some of these
    /// candidates.
    steps: StepBudget,
    /// The steps for accesses of the target in place of missing ones.
    shape_steps: StepBudget,
    /// The unused rest of [`limits::MORE_LISTED_CANDIDATES`].
    more_candidates: Range<usize>,
}

impl<'p> Explainer<'p> {
    /// Creates an explainer of the records of a plan.
    pub fn new(plan: &'p Plan<'p>) -> Self {
        Self {
            plan,
            guards: None,
            near: NearSearch::new(plan),
            steps: StepBudget::new(limits::PLAN_STEPS),
            shape_steps: StepBudget::new(limits::NEAR_STEPS),
            more_candidates: 0..limits::MORE_LISTED_CANDIDATES,
        }
    }

    /// Explains the decision about one record of the plan.
    pub fn explain(&mut self, planned: &PlannedReloc<'p>) -> Explanation {
        let btf = planned.btf();
        let (access, local) = if let Some(spec) = planned.local_spec() {
            (text(spec.access_text(btf)), text(spec.text(btf)))
        } else {
            let root = text(CType::new(btf, planned.record().relo.root));
            (root.clone(), root)
        };
        let results = self.candidate_results(planned);
        let missing = if is_missing(planned) { missing_item(planned, &results) } else { None };
        let near = missing.map(|missing| self.near.find(missing));
        let near = near.as_deref().unwrap_or(&[]);
        let is_poison = matches!(planned.decision(), Ok(Decision::Poison { .. }));
        let guards = is_poison.then(|| self.guards.get_or_insert_with(|| Guards::new(self.plan)));
        let guard = guards.and_then(|guards| guards.find(planned));
        let mut alternatives = Vec::new();
        if is_poison {
            // Without steps, the guard is the only advice.
            if let Ok(found) = find_other_shapes(planned, &results, &mut self.shape_steps) {
                alternatives = found;
            }
        }
        let is_one_member = planned.local_spec().is_some_and(|spec| spec.accessors.len() == 2);
        if is_one_member {
            alternatives.extend(near.iter().filter_map(|near| near.alternative.clone()));
        }
        Explanation {
            access,
            local,
            reason: record_reason(planned, results.first(), ReasonScope::OneTarget),
            tried: results.iter().map(|checked| tried_candidate(planned, checked)).collect(),
            help: help(planned, guard, &results, near),
            alternatives,
            near: near.iter().map(ToString::to_string).collect(),
        }
    }

    /// Returns the candidates of a record and their verdicts.
    ///
    /// The first [`limits::LISTED_CANDIDATES`] are always listed. All records of the plan together list at
    /// most [`limits::MORE_LISTED_CANDIDATES`] others.
    pub fn tried(&mut self, planned: &PlannedReloc<'p>) -> Vec<TriedCandidate> {
        let results = self.candidate_results(planned);
        results.iter().map(|checked| tried_candidate(planned, checked)).collect()
    }

    /// Matches the listed candidates of a record again.
    fn candidate_results(&mut self, planned: &PlannedReloc<'p>) -> Vec<CheckedCandidate<'p>> {
        let allowed = (0..limits::LISTED_CANDIDATES).chain(self.more_candidates.by_ref());
        let listed: Vec<_> = planned.candidates().zip(allowed).map(|(candidate, _)| candidate).collect();
        listed.into_iter().filter_map(|candidate| self.candidate_result(planned, candidate)).collect()
    }

    fn candidate_result(
        &mut self,
        planned: &PlannedReloc<'p>,
        candidate: (Candidate, Option<usize>),
    ) -> Option<CheckedCandidate<'p>> {
        if planned.decision().is_ok() {
            // The plan made the same comparison within the same limit.
            return planned.candidate_result(candidate, &mut StepBudget::new(limits::RECORD_STEPS));
        }
        let mut steps = self.steps.split_off(limits::RECORD_STEPS);
        let checked = planned.candidate_result(candidate, &mut steps);
        self.steps.merge(steps);
        checked
    }

    /// Returns the steps of the search for similar names so far.
    #[cfg(test)]
    pub(super) fn near_steps(&self) -> u32 {
        self.near.steps()
    }
}

impl fmt::Debug for Explainer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Explainer").field("plan", self.plan).finish_non_exhaustive()
    }
}

fn tried_candidate(planned: &PlannedReloc<'_>, checked: &CheckedCandidate<'_>) -> TriedCandidate {
    let btf = &checked.target_btf.btf;
    let (what, spec) = match &checked.result {
        CandidateResult::Match(spec) => (text(spec.access_text(btf)), Some(text(spec.text(btf)))),
        _ => (text(CType::new(btf, checked.candidate.id)), None),
    };
    TriedCandidate {
        btf: checked.target_btf.name.clone(),
        type_id: checked.candidate.id,
        what,
        matched: spec.is_some(),
        spec,
        verdict: verdict_text(planned, checked),
    }
}
