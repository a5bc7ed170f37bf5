//! The comparison of two types' shapes: the rule of TYPE_MATCHES.

use super::{
    error::{CompareError, MatchError},
    step_budget::StepBudget,
};
use crate::{
    Name, TypeId,
    btf::{Btf, IntInfo, Kind, Type},
    limits,
};

/// Returns whether a target type has everything that the local type has (libbpf: `bpf_core_types_match`).
///
/// Members and enumerators match by essential name, recursively. Behind a pointer only names and kinds are
/// compared. Integers must be of equal size and sign.
pub(super) fn types_match(
    local_btf: &Btf<'_>,
    local: TypeId,
    target_btf: &Btf<'_>,
    target: TypeId,
    steps: &mut StepBudget,
) -> Result<bool, MatchError> {
    let mut comparison = ShapeComparison { local_btf, steps };
    comparison.types_match(local, (target_btf, target), false, limits::COMPARE_LEVELS)
}

struct ShapeComparison<'c> {
    local_btf: &'c Btf<'c>,
    steps: &'c mut StepBudget,
}

impl ShapeComparison<'_> {
    fn types_match(
        &mut self,
        mut local: TypeId,
        (mut target_btf, mut target): (&Btf<'_>, TypeId),
        mut behind_pointer: bool,
        level: u32,
    ) -> Result<bool, MatchError> {
        let below = level.checked_sub(1).ok_or(MatchError::Compare(CompareError::TooDeep))?;
        for _ in 0..limits::COMPARE_HOPS {
            let l = self.steps.strip(self.local_btf, local)?;
            let t = self.steps.strip(target_btf, target)?;
            self.steps.take_name_pair(l.name(), t.name())?;
            target_btf = t.btf();
            if !names_match(l.name(), t.name()) {
                return Ok(false);
            }
            let same_kind = l.kind() == t.kind();
            match l.kind() {
                Kind::Void => return Ok(same_kind),
                Kind::Fwd if same_kind => return Ok(l.kflag() == t.kflag()),
                Kind::Fwd => return Ok(behind_pointer && is_forward_of(l, t.kind())),
                Kind::Enum | Kind::Enum64 => return Ok(t.kind().is_enum() && self.enums_match(l, t)?),
                Kind::Struct | Kind::Union if behind_pointer => {
                    return Ok(same_kind || (t.kind() == Kind::Fwd && is_forward_of(t, l.kind())));
                }
                _ if !same_kind => return Ok(false),
                Kind::Struct | Kind::Union => return self.composites_match(l, t, below),
                Kind::Int => return Ok(l.size() == t.size() && is_signed(l) == is_signed(t)),
                Kind::Ptr => {
                    behind_pointer = true;
                    (local, target) = (TypeId(l.size_or_type()), TypeId(t.size_or_type()));
                }
                Kind::Array => {
                    let (Some(la), Some(ta)) = (l.array(), t.array()) else { return Ok(false) };
                    if la.nelems != ta.nelems {
                        return Ok(false);
                    }
                    (local, target) = (la.element, ta.element);
                }
                Kind::FuncProto => {
                    if l.vlen() != t.vlen() {
                        return Ok(false);
                    }
                    for (lp, tp) in l.params().zip(t.params()) {
                        if !self.types_match(lp.ty, (target_btf, tp.ty), behind_pointer, below)? {
                            return Ok(false);
                        }
                    }
                    (local, target) = (TypeId(l.size_or_type()), TypeId(t.size_or_type()));
                }
                _ => return Ok(false),
            }
        }
        Err(CompareError::TooDeep.into())
    }

    /// Returns whether every local member has a target member of the same essential name and a matching type.
    fn composites_match(
        &mut self,
        local: Type<'_>,
        target: Type<'_>,
        level: u32,
    ) -> Result<bool, MatchError> {
        if local.vlen() > target.vlen() {
            return Ok(false);
        }
        for lm in local.members() {
            let mut found = false;
            for tm in target.members() {
                target.check_element_name(tm.name, tm.name_offset)?;
                self.steps.take_name_pair(lm.name, tm.name)?;
                if names_match(lm.name, tm.name)
                    && self.types_match(lm.ty, (target.btf(), tm.ty), false, level)?
                {
                    found = true;
                    break;
                }
            }
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether the sizes are equal and the target has every local enumerator's name. Values may
    /// differ.
    fn enums_match(&mut self, local: Type<'_>, target: Type<'_>) -> Result<bool, MatchError> {
        if local.size() != target.size() || local.vlen() > target.vlen() {
            return Ok(false);
        }
        for lv in local.enumerators() {
            let mut found = false;
            for tv in target.enumerators() {
                target.check_element_name(tv.name, tv.name_offset)?;
                self.steps.take_name_pair(lv.name, tv.name)?;
                if names_match(lv.name, tv.name) {
                    found = true;
                    break;
                }
            }
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns whether two names match: by essential name, and anonymous only with anonymous (libbpf:
/// `bpf_core_names_match`).
fn names_match(local: Name<'_>, target: Name<'_>) -> bool {
    if target.is_empty() { local.is_empty() } else { local.same_essential(target) }
}

/// Returns whether a forward declaration declares a composite of this kind.
fn is_forward_of(forward: Type<'_>, kind: Kind) -> bool {
    kind == if forward.kflag() { Kind::Union } else { Kind::Struct }
}

fn is_signed(int: Type<'_>) -> bool {
    int.int().is_some_and(IntInfo::is_signed)
}
