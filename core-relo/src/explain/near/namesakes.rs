//! The search for the missing name in other composites and enums, and for similar names in the same enum.

use super::{
    near_match::{NearMatch, RESULTS_PER_SORT},
    results_by_name::ResultsByName,
};
use crate::{
    Name, TypeId,
    btf::{Btf, Enumerator, Type},
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

/// A search in the vmlinux BTF. One pass serves all missing names of a plan.
#[derive(Debug, Default)]
pub(super) struct NamesakeSearch<'b> {
    members: ResultsByName<'b, Namesake>,
    enumerators: ResultsByName<'b, Namesake>,
}

/// A type with a member or enumerator of a missing name, and the index of the member or enumerator.
type Namesake = (TypeId, u32);

/// The steps for preparing and comparing a name.
const COMPARE_STEPS: u32 = 4;
/// The maximum number of types that are stored for a name.
///
/// One more than [`RESULTS_PER_SORT`] shows that there are more. The other is for the composite of a module
/// that lacks the name.
const TYPES_PER_NAME: usize = RESULTS_PER_SORT + 2;

impl<'b> NamesakeSearch<'b> {
    /// Finds named composites other than `ty` that have a member of the name.
    ///
    /// Returns none if there are more than [`RESULTS_PER_SORT`], as for a common name such as `next` or
    /// `flags`.
    pub(super) fn find_members(
        &mut self,
        plan: &'b Plan<'b>,
        ty: TypeId,
        name: Name<'b>,
        steps: &mut StepBudget,
    ) -> Result<Vec<NearMatch>, OutOfSteps> {
        let btf = &*plan.target().vmlinux().btf;
        let namesakes = self.members.get_or_search(
            name,
            || missing_names(plan),
            |found| {
                for composite in btf.types().filter(|t| t.kind().is_composite() && !t.name().is_empty()) {
                    for member in composite.members() {
                        steps.take_name(member.name)?;
                        add_namesake(found, member.name, (composite.id(), member.index));
                    }
                }
                Ok(())
            },
        )?;
        let others: Vec<_> = namesakes.iter().filter(|(id, _)| *id != ty).collect();
        if others.len() > RESULTS_PER_SORT {
            return Ok(Vec::new());
        }
        let near = |(id, index): &Namesake| {
            let member = btf.ty(*id)?.member(*index)?;
            let detail = (CType::new(btf, member.ty), member.bit_offset.0 / 8);
            let what = format_args!("{}.{}", CType::new(btf, *id), name.shortened());
            Some(NearMatch::new(what, format_args!("{}, offset {}", detail.0, detail.1)))
        };
        Ok(others.into_iter().filter_map(near).collect())
    }

    /// Finds enums other than `ty` that have an enumerator of the name.
    pub(super) fn find_enumerators(
        &mut self,
        plan: &'b Plan<'b>,
        ty: TypeId,
        name: Name<'b>,
        steps: &mut StepBudget,
    ) -> Result<Vec<NearMatch>, OutOfSteps> {
        let (btf, name) = (&*plan.target().vmlinux().btf, name.essential());
        let namesakes = self.enumerators.get_or_search(
            name,
            || missing_names(plan),
            |found| {
                for enumeration in btf.types().filter(|t| t.kind().is_enum()) {
                    for enumerator in enumeration.enumerators() {
                        steps.take_name(enumerator.name)?;
                        let namesake = (enumeration.id(), enumerator.index);
                        add_namesake(found, enumerator.name.essential(), namesake);
                    }
                }
                Ok(())
            },
        )?;
        let others = namesakes.iter().filter(|(id, _)| *id != ty);
        let near = |(id, index): &Namesake| {
            let enumeration = btf.ty(*id)?;
            Some(enumerator_match(enumeration, enumeration.enumerator(*index)?))
        };
        Ok(others.take(RESULTS_PER_SORT).filter_map(near).collect())
    }
}

/// Returns the names of members and enumerators in the accesses of records without a match.
fn missing_names<'b>(plan: &'b Plan<'b>) -> impl Iterator<Item = Name<'b>> {
    let specs = plan.iter().filter(is_missing).filter_map(|planned| planned.local_spec());
    specs.flat_map(|spec| {
        let names = spec.accessors.iter().filter_map(|accessor| accessor.name(plan.relocs().btf()));
        names.map(|name| if spec.kind.is_enumval() { name.essential() } else { name })
    })
}

/// Adds a member or enumerator if its name is one of the missing names and its type is not added yet.
fn add_namesake<'b>(namesakes: &mut HashMap<Name<'b>, Vec<Namesake>>, name: Name<'b>, (ty, index): Namesake) {
    if let Some(types) = namesakes.get_mut(&name)
        && types.len() < TYPES_PER_NAME
        && types.last().is_none_or(|(last, _)| *last != ty)
    {
        types.push((ty, index));
    }
}

/// Finds enumerators of an enum with a name similar to `wanted`.
pub(super) fn find_similar_enumerators(
    btf: &Btf<'_>,
    ty: TypeId,
    wanted: Name<'_>,
    steps: &mut StepBudget,
) -> Result<Vec<NearMatch>, OutOfSteps> {
    let Some(pattern) = NamePattern::new(wanted.essential().as_bytes()) else { return Ok(Vec::new()) };
    let Some(enumeration) = btf.ty(ty) else { return Ok(Vec::new()) };
    let mut similar = Vec::new();
    for enumerator in enumeration.enumerators() {
        steps.take_name(enumerator.name)?;
        steps.take(COMPARE_STEPS)?;
        let distance = BareName::new(enumerator.name.as_bytes()).and_then(|name| pattern.distance(&name));
        similar.extend(distance.map(|distance| (distance, enumerator)));
    }
    similar.sort_by_key(|(distance, enumerator)| (*distance, enumerator.index));
    Ok(similar
        .into_iter()
        .take(RESULTS_PER_SORT)
        .map(|(_, enumerator)| enumerator_match(enumeration, enumerator))
        .collect())
}

fn enumerator_match(enumeration: Type<'_>, enumerator: Enumerator<'_>) -> NearMatch {
    let ty = CType::new(enumeration.btf(), enumeration.id());
    NearMatch::new(format_args!("{ty}::{}", enumerator.name.shortened()), enumerator.c_value().cast_signed())
}
