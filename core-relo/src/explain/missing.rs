//! The type, member or enumerator that a record needs and the target lacks.

use crate::{
    Name, TypeId,
    plan::{CandidateResult, CheckedCandidate, Decision, PlannedReloc, PoisonReason},
    resolve::CandidateMismatch,
};

/// A type, member or enumerator that the target lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MissingItem<'p> {
    /// The object's type with this id.
    Type(TypeId),
    /// A member of this name in a struct or union of a target BTF.
    Member { btf_index: usize, ty: TypeId, name: Name<'p> },
    /// An enumerator of this name in an enum of a target BTF.
    Enumerator { btf_index: usize, ty: TypeId, name: Name<'p> },
}

/// Returns whether the target lacks the type or the access of the record. Similar names are searched only
/// then.
pub(super) fn is_missing(planned: &PlannedReloc<'_>) -> bool {
    match planned.decision() {
        Ok(Decision::Poison { why, .. }) => !matches!(why, PoisonReason::Width { .. }),
        Ok(Decision::Patch { target: 0, .. } | Decision::Keep { value: 0 }) => {
            planned.matched_candidate().is_none()
        }
        _ => false,
    }
}

/// Returns the missing item of a record for which [`is_missing`] holds.
pub(super) fn missing_item<'p>(
    planned: &PlannedReloc<'p>,
    results: &[CheckedCandidate<'p>],
) -> Option<MissingItem<'p>> {
    let spec = planned.local_spec()?;
    if results.is_empty() {
        return Some(MissingItem::Type(spec.root));
    }
    let (btf_index, mismatch) = results.iter().find_map(|checked| match checked.result {
        CandidateResult::Mismatch(mismatch) => Some((checked.candidate.btf_index, mismatch)),
        _ => None,
    })?;
    let name = |step: usize| spec.accessors.get(step)?.name(planned.btf());
    match mismatch {
        CandidateMismatch::NoMember { step, ty } => {
            Some(MissingItem::Member { btf_index, ty, name: name(step)? })
        }
        CandidateMismatch::NoEnumerator { ty } => {
            Some(MissingItem::Enumerator { btf_index, ty, name: name(0)? })
        }
        _ => None,
    }
}
