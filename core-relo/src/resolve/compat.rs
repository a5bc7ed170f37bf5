//! The compatibility of whole types, as TYPE_EXISTS, TYPE_SIZE and TYPE_ID_TARGET define it.

use super::{
    error::{CompareError, MatchError},
    step_budget::StepBudget,
};
use crate::{
    TypeId,
    btf::{Btf, Kind, Type},
    limits,
};

/// A comparer of an object's types with a kernel's types. All its comparisons share one budget of steps
/// ([`limits::PLAN_STEPS`]).
#[derive(Debug)]
pub struct TypeComparer {
    steps: StepBudget,
}

impl Default for TypeComparer {
    fn default() -> Self {
        Self { steps: StepBudget::new(limits::PLAN_STEPS) }
    }
}

impl TypeComparer {
    /// Returns whether the kernel's type is compatible with the object's type (libbpf:
    /// `bpf_core_types_are_compat`).
    ///
    /// Names, sizes and the content of composites are ignored.
    pub fn are_compatible(
        &mut self,
        local_btf: &Btf<'_>,
        local: TypeId,
        target_btf: &Btf<'_>,
        target: TypeId,
    ) -> Result<bool, MatchError> {
        let mut steps = self.steps.split_off(limits::RECORD_STEPS);
        let result = types_are_compat(local_btf, local, target_btf, target, &mut steps);
        self.steps.merge(steps);
        result
    }
}

/// Returns whether a target type is compatible with a local type as a whole (libbpf:
/// `bpf_core_types_are_compat`).
///
/// Names, sizes, and the content of composites and enums are ignored.
pub(super) fn types_are_compat(
    local_btf: &Btf<'_>,
    local: TypeId,
    target_btf: &Btf<'_>,
    target: TypeId,
    steps: &mut StepBudget,
) -> Result<bool, MatchError> {
    Comparison { local_btf, target_btf, steps }.compare(local, target, limits::COMPARE_LEVELS)
}

struct Comparison<'c> {
    local_btf: &'c Btf<'c>,
    target_btf: &'c Btf<'c>,
    steps: &'c mut StepBudget,
}

impl Comparison<'_> {
    fn compare(&mut self, mut local: TypeId, mut target: TypeId, level: u32) -> Result<bool, MatchError> {
        let kind_of = |btf: &Btf<'_>, id| btf.ty(id).map_or(Kind::Void, Type::kind);
        if !kind_of(self.local_btf, local).is_compatible_with(kind_of(self.target_btf, target)) {
            return Ok(false);
        }
        let mut target_btf = self.target_btf;
        for _ in 0..limits::COMPARE_HOPS {
            self.steps.take(1)?;
            let l = self.steps.strip(self.local_btf, local)?;
            let t = self.steps.strip(target_btf, target)?;
            target_btf = t.btf();
            if !l.kind().is_compatible_with(t.kind()) {
                return Ok(false);
            }
            match l.kind() {
                Kind::Void | Kind::Struct | Kind::Union | Kind::Enum | Kind::Fwd | Kind::Enum64 => {
                    return Ok(true);
                }
                Kind::Int => return Ok(is_whole_int(l) && is_whole_int(t)),
                Kind::Ptr => (local, target) = (TypeId(l.size_or_type()), TypeId(t.size_or_type())),
                Kind::Array => {
                    let (Some(la), Some(ta)) = (l.array(), t.array()) else { return Ok(false) };
                    (local, target) = (la.element, ta.element);
                }
                Kind::FuncProto => {
                    if l.vlen() != t.vlen() {
                        return Ok(false);
                    }
                    for (lp, tp) in l.params().zip(t.params()) {
                        let level = level.checked_sub(1).ok_or(MatchError::Compare(CompareError::TooDeep))?;
                        let lp = self.steps.strip(self.local_btf, lp.ty)?.id();
                        let tp = self.steps.strip(target_btf, tp.ty)?.id();
                        if !self.compare(lp, tp, level)? {
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
}

/// Returns whether a type is an integer without a bit offset. In old BTF an INT with an offset describes a
/// bitfield.
pub(super) fn is_whole_int(ty: Type<'_>) -> bool {
    ty.int().is_some_and(|int| int.offset == 0)
}
