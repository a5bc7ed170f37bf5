//! The members and enumerators that TYPE_MATCHES compares.

use super::needs::Needs;
use crate::{
    TypeId,
    btf::{Btf, Kind, Type},
    limits,
    resolve::{OutOfSteps, StepBudget},
};

/// The types of a comparison, and the way to them.
#[derive(Clone, Copy)]
struct Pair {
    local: TypeId,
    target: TypeId,
    is_behind_pointer: bool,
    levels: u32,
}

/// The BTFs of a comparison.
#[derive(Clone, Copy)]
struct Sides<'o> {
    local: &'o Btf<'o>,
    btf_index: usize,
}

impl<'t> Needs<'t> {
    /// Adds everything of the target type that the comparison of its shape may read.
    ///
    /// The number of members and enumerators counts, so that all of them are needed. Types of members are
    /// compared only if a local member has the same name.
    pub(super) fn add_shape(
        &mut self,
        (local_btf, local): (&Btf<'_>, TypeId),
        (btf_index, target): (usize, TypeId),
        steps: &mut StepBudget,
    ) -> Result<(), OutOfSteps> {
        let pair = Pair { local, target, is_behind_pointer: false, levels: limits::COMPARE_LEVELS };
        self.add_pair(Sides { local: local_btf, btf_index }, pair, steps)
    }

    fn add_pair(
        &mut self,
        sides: Sides<'_>,
        mut pair: Pair,
        steps: &mut StepBudget,
    ) -> Result<(), OutOfSteps> {
        let Some(levels) = pair.levels.checked_sub(1) else { return Ok(()) };
        pair.levels = levels;
        for _ in 0..limits::COMPARE_HOPS {
            let target = self.add_stripped(sides.btf_index, pair.target, steps)?;
            let (Ok(local), Some(target)) = (sides.local.strip(pair.local), target) else { return Ok(()) };
            steps.take_name_pair(local.name(), target.name())?;
            match (local.kind(), target.kind()) {
                (Kind::Struct | Kind::Union, Kind::Struct | Kind::Union) if !pair.is_behind_pointer => {
                    return self.add_members(sides, (local, target), pair, steps);
                }
                (Kind::Enum | Kind::Enum64, Kind::Enum | Kind::Enum64) => {
                    if let Some(need) = self.add_record(sides.btf_index, target.id()) {
                        need.add_all_elements();
                    }
                    return Ok(());
                }
                (Kind::Ptr, Kind::Ptr) => pair.is_behind_pointer = true,
                (Kind::Array, Kind::Array) => {
                    let (Some(la), Some(ta)) = (local.array(), target.array()) else { return Ok(()) };
                    (pair.local, pair.target) = (la.element, ta.element);
                    continue;
                }
                (Kind::FuncProto, Kind::FuncProto) => {
                    for (lp, tp) in local.params().zip(target.params()) {
                        self.add_pair(sides, Pair { local: lp.ty, target: tp.ty, ..pair }, steps)?;
                    }
                }
                _ => return Ok(()),
            }
            (pair.local, pair.target) = (TypeId(local.size_or_type()), TypeId(target.size_or_type()));
        }
        Ok(())
    }

    fn add_members(
        &mut self,
        sides: Sides<'_>,
        (local, target): (Type<'_>, Type<'t>),
        pair: Pair,
        steps: &mut StepBudget,
    ) -> Result<(), OutOfSteps> {
        if let Some(need) = self.add_record(sides.btf_index, target.id()) {
            need.add_all_elements();
        }
        for member in target.members() {
            self.add_extent(sides.btf_index, member.ty);
            for local in local.members() {
                steps.take_name_pair(local.name, member.name)?;
                if local.name.same_essential(member.name) {
                    self.add_pair(sides, Pair { local: local.ty, target: member.ty, ..pair }, steps)?;
                }
            }
        }
        Ok(())
    }
}
