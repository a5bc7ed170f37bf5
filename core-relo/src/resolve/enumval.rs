//! An enumerator in a target's enumeration.

use super::{Key, MatchError, Matched, Mismatch, Steps};
use crate::{
    btf::Btf,
    ids::TypeId,
    spec::{Accessor, Spec},
};

/// The first enumerator of the local one's essential name, whatever its value (libbpf: `bpf_core_spec_match`).
pub(super) fn find(
    local_btf: &Btf<'_>,
    local: &Spec,
    target_btf: &Btf<'_>,
    target: TypeId,
    steps: &mut Steps,
) -> Result<Matched, MatchError> {
    let ty = steps.strip(target_btf, target)?;
    if !ty.kind().is_enum() {
        return Ok(Matched::No(Mismatch::NotEnum { ty: ty.id(), kind: ty.kind() }));
    }
    let name = local.accessors.first().map(|step| step.name(local_btf)).unwrap_or_default();
    steps.take_name(name)?;
    let name = name.essential();
    let mut found = None;
    for variant in ty.enumerators() {
        ty.check_element_name(variant.name, variant.name_offset)?;
        steps.take_name(variant.name)?;
        if variant.name.essential() == name {
            found = Some(variant);
            break;
        }
    }
    let Some(found) = found else {
        return Ok(Matched::No(Mismatch::NoVariant { ty: ty.id() }));
    };
    let mut spec = Spec::of_root(target, local.kind);
    spec.accessors.push(Accessor { ty: ty.id(), index: found.index, named: true });
    spec.raw.push(found.index);
    Ok(Matched::Yes(spec))
}

/// What [`find`] reads of the local side; the name is read as a whole.
pub(super) fn key(local_btf: &Btf<'_>, local: &Spec, key: &mut Key<'_>) -> Option<()> {
    let name = local.accessors.first()?.name(local_btf);
    key.byte(b'e')?;
    key.name(name)
}
