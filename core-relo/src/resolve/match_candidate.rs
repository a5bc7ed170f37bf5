//! The comparison of a local access with a candidate.

use super::{
    compat, enumerator,
    error::{CandidateMismatch, MatchError},
    field,
    match_outcome::MatchOutcome,
    pattern::AccessPattern,
    step_budget::StepBudget,
    type_matches,
};
use crate::{TypeId, btf::Btf, ext::RelocKind, spec::Spec};

/// Compares the access `local` with the candidate `target` (libbpf: `bpf_core_spec_match`).
pub(crate) fn match_candidate(
    local_btf: &Btf<'_>,
    local: &Spec,
    target_btf: &Btf<'_>,
    target: TypeId,
    steps: &mut StepBudget,
) -> Result<MatchOutcome, MatchError> {
    steps.take(1)?;
    if local.kind.is_enumval() {
        let pattern = AccessPattern::new(local_btf, local);
        return enumerator::match_enumerator(pattern, target_btf, target, steps);
    }
    if local.kind.is_field() {
        let pattern = AccessPattern::new(local_btf, local);
        return field::match_field(pattern, target_btf, target, steps);
    }
    let is_match = if local.kind == RelocKind::TypeMatches {
        type_matches::types_match(local_btf, local.root, target_btf, target, steps)?
    } else {
        compat::types_are_compat(local_btf, local.root, target_btf, target, steps)?
    };
    Ok(if is_match {
        MatchOutcome::Match(Spec::new(target, local.kind))
    } else {
        MatchOutcome::Mismatch(CandidateMismatch::Type { ty: target })
    })
}
