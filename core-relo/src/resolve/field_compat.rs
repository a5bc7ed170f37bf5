//! The comparison of a local field's type with a target field's type.

use super::{
    compat::is_whole_int,
    error::{CompareError, MatchError},
    pattern::{LayerShape, TypeLayers},
    step_budget::StepBudget,
};
use crate::{
    Name, TypeId,
    btf::{Btf, Kind, Type, limits},
};

/// Returns whether a target field's type is compatible with a local field's (libbpf:
/// `bpf_core_fields_are_compat`).
///
/// All composites are compatible with each other, and so are all pointers, and all integers of any size and
/// sign. Enums and forward declarations are compatible if their essential names are equal, or if one of them
/// is anonymous. Arrays are compatible if their elements are.
pub(super) fn fields_are_compat(
    mut local: TypeLayers<'_>,
    target_btf: &Btf<'_>,
    mut target: TypeId,
    steps: &mut StepBudget,
) -> Result<bool, MatchError> {
    let mut target_btf = target_btf;
    // libbpf follows arrays of arrays without a limit.
    for dimension in 0..limits::MODIFIER_HOPS {
        steps.take(dimension.min(1))?;
        let layer = local.next_layer()?;
        steps.take(layer.chain_cost)?;
        let ty = steps.strip(target_btf, target)?;
        match layer.shape {
            LayerShape::Array => {
                let Some(array) = ty.array() else { return Ok(false) };
                (target_btf, target) = (ty.btf(), array.element);
            }
            LayerShape::Composite => return Ok(ty.kind().is_composite()),
            LayerShape::Enum(name) => return Ok(ty.kind().is_enum() && names_are_compat(name, ty, steps)?),
            LayerShape::Float => return Ok(ty.kind() == Kind::Float),
            LayerShape::Forward(name) => {
                return Ok(ty.kind() == Kind::Fwd && names_are_compat(name, ty, steps)?);
            }
            LayerShape::Int { is_whole } => return Ok(is_whole && is_whole_int(ty)),
            LayerShape::Pointer => return Ok(ty.kind() == Kind::Ptr),
            LayerShape::Other => return Ok(false),
        }
    }
    Err(CompareError::TooDeep.into())
}

fn names_are_compat(local: Name<'_>, target: Type<'_>, steps: &mut StepBudget) -> Result<bool, MatchError> {
    steps.take_name_pair(local, target.name())?;
    Ok(local.is_empty() || target.name().is_empty() || local.same_essential(target.name()))
}
