//! Why a relocation came out as it did, in words: what was tried, what comes near, what would mend it.
//!
//! Nothing here decides: it reads a [`Plan`](crate::Plan) and looks around in the target's types.

mod c_type;
mod help;
mod near;
mod reason;
mod similar;

pub use c_type::CType;

use crate::{
    ids::TypeId,
    plan::{Decision, Planned, PoisonReason, Tried, Verdict},
    resolve::Mismatch,
};
use alloc::{string::String, string::ToString as _, vec::Vec};
use near::Near;

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
    /// Every candidate tried.
    pub tried: Vec<TriedCandidate>,
    /// What the target has that comes near, nearest first.
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
    /// What became of it.
    pub verdict: String,
    /// Whether it has what is accessed.
    pub matched: bool,
}

/// Why one record came out as it did: [`Explanation::reason`] alone, without a look around for what comes near.
pub fn reason(planned: &Planned<'_>) -> String {
    reason::of(planned, &planned.tried().collect::<Vec<_>>())
}

/// Explains the outcome of one record.
pub fn explain(planned: &Planned<'_>) -> Explanation {
    let btf = planned.btf();
    let (access, local) = if let Some(spec) = planned.local_spec() {
        (spec.access_text(btf).to_string(), spec.text(btf).to_string())
    } else {
        let root = CType::new(btf, planned.record().relo.root).to_string();
        (root.clone(), root)
    };
    let tried: Vec<_> = planned.tried().collect();
    let near = if wants_near(planned) { nearest(planned, &tried) } else { Vec::new() };
    Explanation {
        access,
        local,
        reason: reason::of(planned, &tried),
        tried: tried.iter().map(|t| tried_candidate(planned, t)).collect(),
        help: help::of(planned, &tried, &near),
        near: near.iter().map(Near::to_string).collect(),
    }
}

fn tried_candidate(planned: &Planned<'_>, tried: &Tried<'_>) -> TriedCandidate {
    let btf = &tried.source.btf;
    let (what, matched) = match &tried.verdict {
        Verdict::Match(spec) => (spec.access_text(btf).to_string(), true),
        _ => (CType::new(btf, tried.candidate.id).to_string(), false),
    };
    TriedCandidate {
        btf: tried.source.name.clone(),
        type_id: tried.candidate.id,
        what,
        verdict: reason::of_verdict(planned, tried),
        matched,
    }
}

/// Only what is missing has something near it.
fn wants_near(planned: &Planned<'_>) -> bool {
    match planned.decision() {
        Ok(Decision::Poison { why, .. }) => !matches!(why, PoisonReason::Width { .. }),
        Ok(Decision::Patch { target: 0, .. } | Decision::Keep { value: 0 }) => {
            planned.target_spec().is_none()
        }
        _ => false,
    }
}

fn nearest(planned: &Planned<'_>, tried: &[Tried<'_>]) -> Vec<Near> {
    let Some(spec) = planned.local_spec() else { return Vec::new() };
    let failed = tried.iter().find_map(|t| match t.verdict {
        Verdict::Mismatch(mismatch) => Some((t.source, mismatch)),
        _ => None,
    });
    let step_name = |step: usize| spec.accessors.get(step).map(|s| s.name(planned.btf())).unwrap_or_default();
    match failed {
        None if tried.is_empty() => near::types(planned.target(), planned.btf(), spec.root),
        Some((source, Mismatch::NoMember { step, ty })) => {
            near::members(planned.target(), source, ty, step_name(step))
        }
        Some((source, Mismatch::NoVariant { ty })) => {
            near::variants(planned.target(), source, ty, step_name(0))
        }
        _ => Vec::new(),
    }
}
