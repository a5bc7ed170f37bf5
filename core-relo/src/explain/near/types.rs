//! Types of the missing one's name, or of a name like it.

use super::{Budget, FEW, Near, OutOfSteps, Pattern};
use crate::{
    btf::{Btf, Kind, Type},
    explain::{CType, is_missing, similar::Bare},
    ids::TypeId,
    name::Name,
    plan::Plan,
};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// What searches for all missing types of a plan have in common.
#[derive(Debug, Default)]
pub(super) struct TypesSearch<'b> {
    /// For the essential name of each missing type, the first types of that name.
    namesakes: Option<HashMap<Name<'b>, Vec<TypeId>>>,
    /// The named types of a kind.
    of_kind: HashMap<Kind, Vec<(Bare<'b>, TypeId)>>,
}

impl<'b> TypesSearch<'b> {
    /// Types of the root's name and another kind, else of its kind and a name like it.
    pub(super) fn find(
        &mut self,
        plan: &'b Plan<'b>,
        root: TypeId,
        budget: &mut Budget,
    ) -> Result<Vec<Near>, OutOfSteps> {
        let Some(root) = plan.relocs().btf().ty(root) else { return Ok(Vec::new()) };
        let (wanted, btf) = (root.name().essential(), &*plan.target().main().btf);
        let known = self.namesakes.get_or_insert_default();
        if !known.contains_key(&wanted) {
            let missing = plan.iter().filter(is_missing).map(|planned| planned.record().relo.root);
            let names = missing.filter_map(|id| plan.relocs().btf().ty(id)).map(|ty| ty.name().essential());
            let mut found = names.chain([wanted]).map(|name| (name, Vec::new())).collect();
            // What a pass has found that ran out of steps is not all there is, so it is not kept.
            find_namesakes(btf, &mut found, budget)?;
            *known = found;
        }
        let namesakes = known.get(&wanted).map(Vec::as_slice).unwrap_or_default();
        if !namesakes.is_empty() {
            return Ok(namesakes.iter().filter_map(|id| btf.ty(*id)).map(near).collect());
        }
        let Some(pattern) = Pattern::new(wanted.as_bytes()) else { return Ok(Vec::new()) };
        let mut alike = Vec::new();
        for kind in kinds_like(root.kind()) {
            for (name, id) in self.of_kind(btf, kind, budget)? {
                budget.take(1)?;
                alike.extend(pattern.distance(name).map(|distance| (distance, *id)));
            }
        }
        alike.sort();
        let nearest = alike.into_iter().take(FEW);
        Ok(nearest.filter_map(|(_, id)| btf.ty(id)).map(near).collect())
    }

    fn of_kind(
        &mut self,
        btf: &'b Btf<'b>,
        kind: Kind,
        budget: &mut Budget,
    ) -> Result<&[(Bare<'b>, TypeId)], OutOfSteps> {
        if !self.of_kind.contains_key(&kind) {
            let mut named = Vec::new();
            for ty in btf.types() {
                budget.take(1)?;
                if ty.kind() == kind && !ty.name().is_empty() {
                    budget.take_name(ty.name())?;
                    named.extend(Bare::new(ty.name().essential().as_bytes()).map(|name| (name, ty.id())));
                }
            }
            self.of_kind.insert(kind, named);
        }
        Ok(self.of_kind.get(&kind).map(Vec::as_slice).unwrap_or_default())
    }
}

/// The kinds that are [compatible](Kind::compatible) with one.
fn kinds_like(kind: Kind) -> impl Iterator<Item = Kind> {
    let other = match kind {
        Kind::Enum => Some(Kind::Enum64),
        Kind::Enum64 => Some(Kind::Enum),
        _ => None,
    };
    [kind].into_iter().chain(other)
}

/// Adds to each name the first few types that bear it.
fn find_namesakes<'b>(
    btf: &'b Btf<'b>,
    names: &mut HashMap<Name<'b>, Vec<TypeId>>,
    budget: &mut Budget,
) -> Result<(), OutOfSteps> {
    for ty in btf.types() {
        budget.take_name(ty.name())?;
        let is_type = ty.kind().is_composite()
            || ty.kind().is_enum()
            || matches!(ty.kind(), Kind::Typedef | Kind::Fwd | Kind::Int);
        if is_type
            && let Some(found) = names.get_mut(&ty.name().essential())
            && found.len() < FEW
        {
            found.push(ty.id());
        }
    }
    Ok(())
}

fn near(ty: Type<'_>) -> Near {
    let id = format_args!("[{}]", ty.id());
    let c_type = CType::new(ty.btf(), ty.id());
    match ty.kind() {
        Kind::Typedef => Near::new(format_args!("typedef {}", ty.name().shortened()), id),
        Kind::Fwd => Near::new(format_args!("{c_type} (declared only)"), id),
        _ => Near::new(c_type, id),
    }
}
