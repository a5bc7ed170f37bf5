//! The missing name elsewhere: in other composites, in other enumerations; and like it in the same enumeration.

use super::{Budget, FEW, Near, OutOfSteps, Pattern};
use crate::{
    btf::{Btf, Enumerator, Type},
    explain::{CType, is_missing, similar::Bare},
    ids::TypeId,
    name::Name,
    plan::Plan,
};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// Where in the main BTF the missing names of a plan are, found in one pass for all of them.
#[derive(Debug, Default)]
pub(super) struct Namesakes<'b> {
    members: Option<Places<'b>>,
    variants: Option<Places<'b>>,
}

/// For each name, the first types that have it, and the number of its member or enumerator there.
type Places<'b> = HashMap<Name<'b>, Vec<(TypeId, u32)>>;

/// Steps that it takes to prepare a name and compare it.
const COMPARED: u32 = 4;
/// How many places are kept: more than [`FEW`], to tell that there are more, and the very type that lacks the name in a module.
const PLACES: usize = FEW.saturating_add(2);

impl<'b> Namesakes<'b> {
    /// Named composites other than `ty` that have a member of the name; none if there are more than a few, for a name that
    /// everything has (`next`, `flags`) says nothing.
    pub(super) fn members(
        &mut self,
        plan: &'b Plan<'b>,
        ty: TypeId,
        name: Name<'b>,
        budget: &mut Budget,
    ) -> Result<Vec<Near>, OutOfSteps> {
        let btf = &*plan.target().main().btf;
        let known = self.members.get_or_insert_default();
        if !known.contains_key(&name) {
            // What a pass has found that ran out of steps is not all there is, so it is not kept.
            let mut found = wanted(plan, name);
            for composite in btf.types().filter(|t| t.kind().is_composite() && !t.name().is_empty()) {
                for member in composite.members() {
                    budget.take_name(member.name)?;
                    note(&mut found, member.name, (composite.id(), member.index));
                }
            }
            *known = found;
        }
        let places = known.get(&name).map(Vec::as_slice).unwrap_or_default();
        let others: Vec<_> = places.iter().filter(|(id, _)| *id != ty).collect();
        if others.len() > FEW {
            return Ok(Vec::new());
        }
        let near = |(id, index): &(TypeId, u32)| {
            let member = btf.ty(*id)?.member(*index)?;
            let detail = (CType::new(btf, member.ty), member.bit_offset.0 / 8);
            let what = format_args!("{}.{}", CType::new(btf, *id), name.shortened());
            Some(Near::new(what, format_args!("{}, offset {}", detail.0, detail.1)))
        };
        Ok(others.into_iter().filter_map(near).collect())
    }

    /// Enumerations other than `ty` that have an enumerator of the name.
    pub(super) fn variants(
        &mut self,
        plan: &'b Plan<'b>,
        ty: TypeId,
        name: Name<'b>,
        budget: &mut Budget,
    ) -> Result<Vec<Near>, OutOfSteps> {
        let (btf, name) = (&*plan.target().main().btf, name.essential());
        let known = self.variants.get_or_insert_default();
        if !known.contains_key(&name) {
            let mut found = wanted(plan, name);
            for enumeration in btf.types().filter(|t| t.kind().is_enum()) {
                for variant in enumeration.enumerators() {
                    budget.take_name(variant.name)?;
                    note(&mut found, variant.name.essential(), (enumeration.id(), variant.index));
                }
            }
            *known = found;
        }
        let places = known.get(&name).map(Vec::as_slice).unwrap_or_default();
        let others = places.iter().filter(|(id, _)| *id != ty);
        let near = |(id, index): &(TypeId, u32)| {
            let enumeration = btf.ty(*id)?;
            Some(near_variant(enumeration, enumeration.enumerator(*index)?))
        };
        Ok(others.take(FEW).filter_map(near).collect())
    }
}

/// The names of all members and enumerators that records without a match ask for, and `name`.
fn wanted<'b>(plan: &'b Plan<'b>, name: Name<'b>) -> Places<'b> {
    let specs = plan.iter().filter(is_missing).filter_map(|planned| planned.local_spec());
    let names = specs.flat_map(|spec| {
        let names =
            spec.accessors.iter().filter(|step| step.named).map(|step| step.name(plan.relocs().btf()));
        names.map(|name| if spec.kind.is_enumval() { name.essential() } else { name })
    });
    names.chain([name]).map(|name| (name, Vec::new())).collect()
}

/// Keeps a place if its name is wanted, and is the first in its type.
fn note<'b>(places: &mut Places<'b>, name: Name<'b>, (ty, index): (TypeId, u32)) {
    if let Some(places) = places.get_mut(&name)
        && places.len() < PLACES
        && places.last().is_none_or(|(last, _)| *last != ty)
    {
        places.push((ty, index));
    }
}

/// Enumerators of an enumeration with a name like `wanted`.
pub(super) fn similar_variants(
    btf: &Btf<'_>,
    ty: TypeId,
    wanted: Name<'_>,
    budget: &mut Budget,
) -> Result<Vec<Near>, OutOfSteps> {
    let Some(pattern) = Pattern::new(wanted.essential().as_bytes()) else { return Ok(Vec::new()) };
    let Some(enumeration) = btf.ty(ty) else { return Ok(Vec::new()) };
    let mut alike = Vec::new();
    for variant in enumeration.enumerators() {
        budget.take_name(variant.name)?;
        budget.take(COMPARED)?;
        let distance = Bare::new(variant.name.as_bytes()).and_then(|name| pattern.distance(&name));
        alike.extend(distance.map(|distance| (distance, variant)));
    }
    alike.sort_by_key(|(distance, variant)| (*distance, variant.index));
    Ok(alike.into_iter().take(FEW).map(|(_, variant)| near_variant(enumeration, variant)).collect())
}

fn near_variant(enumeration: Type<'_>, variant: Enumerator<'_>) -> Near {
    let of = CType::new(enumeration.btf(), enumeration.id());
    Near::new(format_args!("{of}::{}", variant.name.shortened()), variant.c_value().cast_signed())
}
