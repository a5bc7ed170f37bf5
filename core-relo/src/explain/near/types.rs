//! The search for types with the missing type's name and another kind, or with a similar name.

use super::{
    near_match::{NearMatch, RESULTS_PER_SORT},
    results_by_name::ResultsByName,
};
use crate::{
    Name, TypeId,
    btf::{Btf, Kind, Type},
    explain::{
        CType,
        missing::is_missing,
        similar::{BareName, NamePattern},
    },
    plan::Plan,
    resolve::{OutOfSteps, StepBudget},
};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// A search in the vmlinux BTF. One pass serves all missing types of a plan.
#[derive(Debug, Default)]
pub(super) struct TypeSearch<'b> {
    /// The first types of each missing type's essential name.
    namesakes: ResultsByName<'b, TypeId>,
    /// The named types of each kind.
    by_kind: HashMap<Kind, Vec<(BareName<'b>, TypeId)>>,
}

impl<'b> TypeSearch<'b> {
    /// Finds types with the root type's name and another kind, otherwise types of its kind with a similar
    /// name.
    pub(super) fn find(
        &mut self,
        plan: &'b Plan<'b>,
        root: TypeId,
        steps: &mut StepBudget,
    ) -> Result<Vec<NearMatch>, OutOfSteps> {
        let Some(root) = plan.relocs().btf().ty(root) else { return Ok(Vec::new()) };
        let (wanted, btf) = (root.name().essential(), &*plan.target().vmlinux().btf);
        let missing_names = || {
            let missing = plan.iter().filter(is_missing).map(|planned| planned.record().relo.root);
            missing.filter_map(|id| plan.relocs().btf().ty(id)).map(|ty| ty.name().essential())
        };
        let search = |found: &mut _| find_namesakes(btf, found, steps);
        let namesakes = self.namesakes.get_or_search(wanted, missing_names, search)?;
        if !namesakes.is_empty() {
            return Ok(namesakes.iter().filter_map(|id| btf.ty(*id)).map(near_match).collect());
        }
        let Some(pattern) = NamePattern::new(wanted.as_bytes()) else { return Ok(Vec::new()) };
        let mut similar = Vec::new();
        for kind in kinds_like(root.kind()) {
            for (name, id) in self.types_of_kind(btf, kind, steps)? {
                steps.take(1)?;
                similar.extend(pattern.distance(name).map(|distance| (distance, *id)));
            }
        }
        similar.sort();
        let nearest = similar.into_iter().take(RESULTS_PER_SORT);
        Ok(nearest.filter_map(|(_, id)| btf.ty(id)).map(near_match).collect())
    }

    fn types_of_kind(
        &mut self,
        btf: &'b Btf<'b>,
        kind: Kind,
        steps: &mut StepBudget,
    ) -> Result<&[(BareName<'b>, TypeId)], OutOfSteps> {
        if !self.by_kind.contains_key(&kind) {
            let mut named = Vec::new();
            for ty in btf.types() {
                steps.take(1)?;
                if ty.kind() == kind && !ty.name().is_empty() {
                    steps.take_name(ty.name())?;
                    named.extend(BareName::new(ty.name().essential().as_bytes()).map(|name| (name, ty.id())));
                }
            }
            self.by_kind.insert(kind, named);
        }
        Ok(self.by_kind.entry(kind).or_default())
    }
}

/// Returns the kinds that are [compatible](Kind::is_compatible_with) with a kind.
fn kinds_like(kind: Kind) -> impl Iterator<Item = Kind> {
    let other = match kind {
        Kind::Enum => Some(Kind::Enum64),
        Kind::Enum64 => Some(Kind::Enum),
        _ => None,
    };
    [kind].into_iter().chain(other)
}

/// Adds the first few types of each name.
fn find_namesakes<'b>(
    btf: &'b Btf<'b>,
    names: &mut HashMap<Name<'b>, Vec<TypeId>>,
    steps: &mut StepBudget,
) -> Result<(), OutOfSteps> {
    for ty in btf.types() {
        steps.take_name(ty.name())?;
        let is_type = ty.kind().is_composite()
            || ty.kind().is_enum()
            || matches!(ty.kind(), Kind::Typedef | Kind::Fwd | Kind::Int);
        if is_type
            && let Some(found) = names.get_mut(&ty.name().essential())
            && found.len() < RESULTS_PER_SORT
        {
            found.push(ty.id());
        }
    }
    Ok(())
}

fn near_match(ty: Type<'_>) -> NearMatch {
    let (type_id, c_type) = (ty.id(), CType::new(ty.btf(), ty.id()));
    let id = alloc::format!("[{type_id}]");
    match ty.kind() {
        Kind::Typedef => NearMatch::new(format_args!("typedef {}", ty.name().shortened()), id),
        Kind::Fwd => NearMatch::new(format_args!("{c_type} (declared only)"), id),
        _ => NearMatch::new(c_type, id),
    }
}
