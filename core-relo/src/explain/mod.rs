//! Why a relocation came out as it did, in words: what was tried, what comes near, what would mend it.
//!
//! Nothing here decides: it reads a [`Plan`] and looks around in the target's types.

mod guards;
mod help;
mod near;
mod reason;
mod similar;
mod text;

pub use crate::btf::CType;
pub use text::text;

use crate::{
    ids::TypeId,
    limits,
    plan::{Decision, Plan, Planned, PoisonReason, Tried, Verdict},
    resolve::{Mismatch, Steps},
};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use guards::Guards;
use near::{Missing, NearSearch};

/// A relocation's outcome, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The access as C names it: `struct task_struct.__state`.
    pub access: String,
    /// The access with ids and offsets: `[12] struct task_struct.__state (0:3 @ offset 24)`.
    pub local: String,
    /// Why it came out as it did.
    pub reason: String,
    /// The candidates tried: all of them, unless they are more than [`Explainer::tried`] lists.
    pub tried: Vec<TriedCandidate>,
    /// What the target has that comes near, nearest first; that nothing was searched, if [`limits::NEAR_STEPS`] are used up.
    pub near: Vec<String>,
    /// Ways out.
    pub help: Vec<String>,
}

/// One candidate, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TriedCandidate {
    /// Which BTF it is in: `vmlinux`, a module's name.
    pub btf: String,
    /// Its id there.
    pub type_id: TypeId,
    /// What it is: `struct task_struct`, or the whole access if it matched.
    pub what: String,
    /// If it matched, the access with ids and offsets.
    pub spec: Option<String>,
    /// What became of it.
    pub verdict: String,
    /// Whether it has what is accessed.
    pub matched: bool,
}

/// Why one record came out as it did: [`Explanation::reason`] alone, without a look around for what comes near.
pub fn reason(planned: &Planned<'_>) -> String {
    let has_one = is_missing(planned) && planned.candidate_count() == 1;
    let only = if has_one { planned.tried().next() } else { None };
    reason::of(planned, only.as_ref())
}

/// Explains the outcome of one record; an [`Explainer`] explains many.
pub fn explain(planned: &Planned<'_>) -> Explanation {
    Explainer::new(planned.plan()).explain(planned)
}

/// Explains the records of one plan. What the target has that comes near is looked for once for all of them.
#[derive(Debug)]
pub struct Explainer<'p> {
    plan: &'p Plan<'p>,
    guards: Option<Guards<'p>>,
    near: NearSearch<'p>,
    /// Steps for the candidates of records in error: the plan looked at some of them only.
    steps: Steps,
    /// What is left of [`limits::MORE_LISTED_CANDIDATES`].
    more_candidates: usize,
}

impl<'p> Explainer<'p> {
    /// Prepares to explain the records of a plan.
    pub fn new(plan: &'p Plan<'p>) -> Self {
        Self {
            plan,
            guards: None,
            near: NearSearch::new(plan),
            steps: Steps::new(limits::PLAN_STEPS),
            more_candidates: limits::MORE_LISTED_CANDIDATES,
        }
    }

    /// Explains the outcome of one record of the plan.
    pub fn explain(&mut self, planned: &Planned<'p>) -> Explanation {
        let btf = planned.btf();
        let (access, local) = if let Some(spec) = planned.local_spec() {
            (text(spec.access_text(btf)), text(spec.text(btf)))
        } else {
            let root = text(CType::new(btf, planned.record().relo.root));
            (root.clone(), root)
        };
        let tried = self.try_again(planned);
        let missing = if is_missing(planned) { missing(planned, &tried) } else { None };
        let near = missing.map(|missing| self.near.find(missing));
        let near = near.as_deref().unwrap_or_default();
        let is_poison = matches!(planned.decision(), Ok(Decision::Poison { .. }));
        let guards = is_poison.then(|| self.guards.get_or_insert_with(|| Guards::new(self.plan)));
        let guard = guards.and_then(|guards| guards.find(planned));
        Explanation {
            access,
            local,
            reason: reason::of(planned, tried.first()),
            tried: tried.iter().map(|t| tried_candidate(planned, t)).collect(),
            help: help::of(planned, guard, &tried, near),
            near: near.iter().map(ToString::to_string).collect(),
        }
    }

    /// The candidates of a record and what became of them: the first [`limits::LISTED_CANDIDATES`], and the others as long as the
    /// records of the plan have no more than [`limits::MORE_LISTED_CANDIDATES`] of these.
    pub fn tried(&mut self, planned: &Planned<'p>) -> Vec<TriedCandidate> {
        self.try_again(planned).iter().map(|tried| tried_candidate(planned, tried)).collect()
    }

    fn try_again(&mut self, planned: &Planned<'p>) -> Vec<Tried<'p>> {
        let more = planned.candidate_count().saturating_sub(limits::LISTED_CANDIDATES);
        let more = more.min(self.more_candidates);
        self.more_candidates = self.more_candidates.saturating_sub(more);
        let listed = planned.candidates().take(limits::LISTED_CANDIDATES.saturating_add(more));
        let mut try_again = |candidate| {
            if planned.decision().is_ok() {
                // The plan took all these steps, and no more than it may.
                return planned.try_again(candidate, &mut Steps::new(limits::RECORD_STEPS));
            }
            let allowed = limits::RECORD_STEPS.min(self.steps.left());
            let mut steps = Steps::new(allowed);
            let tried = planned.try_again(candidate, &mut steps);
            let taken = allowed.saturating_sub(steps.left());
            self.steps = Steps::new(self.steps.left().saturating_sub(taken));
            tried
        };
        listed.filter_map(&mut try_again).collect()
    }
}

fn tried_candidate(planned: &Planned<'_>, tried: &Tried<'_>) -> TriedCandidate {
    let btf = &tried.source.btf;
    let (what, spec) = match &tried.verdict {
        Verdict::Match(spec) => (text(spec.access_text(btf)), Some(text(spec.text(btf)))),
        _ => (text(CType::new(btf, tried.candidate.id)), None),
    };
    TriedCandidate {
        btf: tried.source.name.clone(),
        type_id: tried.candidate.id,
        what,
        matched: spec.is_some(),
        spec,
        verdict: reason::of_verdict(planned, tried),
    }
}

/// Whether the target lacks what the record asks for; only what is missing has something near it.
fn is_missing(planned: &Planned<'_>) -> bool {
    match planned.decision() {
        Ok(Decision::Poison { why, .. }) => !matches!(why, PoisonReason::Width { .. }),
        Ok(Decision::Patch { target: 0, .. } | Decision::Keep { value: 0 }) => planned.matched().is_none(),
        _ => false,
    }
}

/// What it is that the target lacks.
fn missing<'p>(planned: &Planned<'p>, tried: &[Tried<'p>]) -> Option<Missing<'p>> {
    let spec = planned.local_spec()?;
    let failed = tried.iter().find_map(|t| match t.verdict {
        Verdict::Mismatch(mismatch) => Some((t.candidate.source, mismatch)),
        _ => None,
    });
    let name = |step: usize| spec.accessors.get(step).map(|s| s.name(planned.btf())).unwrap_or_default();
    match failed {
        None if tried.is_empty() => Some(Missing::Type(spec.root)),
        Some((source, Mismatch::NoMember { step, ty })) => {
            Some(Missing::Member { source, ty, name: name(step) })
        }
        Some((source, Mismatch::NoVariant { ty })) => Some(Missing::Variant { source, ty, name: name(0) }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
