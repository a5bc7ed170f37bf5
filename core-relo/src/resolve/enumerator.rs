//! The match of a local enumerator with a target enumeration.

use super::{
    error::{CandidateMismatch, MatchError},
    match_outcome::MatchOutcome,
    pattern::AccessPattern,
    step_budget::StepBudget,
};
use crate::{
    TypeId,
    btf::Btf,
    spec::{Accessor, Spec},
};

/// Finds the first enumerator with the local one's essential name, whatever its value (libbpf:
/// `bpf_core_spec_match`).
pub(super) fn match_enumerator(
    pattern: AccessPattern<'_>,
    target_btf: &Btf<'_>,
    target: TypeId,
    steps: &mut StepBudget,
) -> Result<MatchOutcome, MatchError> {
    let ty = steps.strip(target_btf, target)?;
    if !ty.kind().is_enum() {
        return Ok(MatchOutcome::Mismatch(CandidateMismatch::NotEnum { ty: ty.id(), kind: ty.kind() }));
    }
    let name = pattern.enumerator()?;
    steps.take_name(name)?;
    let name = name.essential();
    for enumerator in ty.enumerators() {
        ty.check_element_name(enumerator.name, enumerator.name_offset)?;
        steps.take_name(enumerator.name)?;
        if enumerator.name.essential() == name {
            let mut spec = Spec::new(target, pattern.kind());
            spec.accessors.push(Accessor { ty: ty.id(), index: enumerator.index, named: true });
            spec.raw.push(enumerator.index);
            return Ok(MatchOutcome::Match(spec));
        }
    }
    Ok(MatchOutcome::Mismatch(CandidateMismatch::NoEnumerator { ty: ty.id() }))
}
