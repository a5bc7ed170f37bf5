//! Types of the same shape: what TYPE_MATCHES asks for.

use super::{CompareError, MatchError, Steps};
use crate::{
    btf::{Btf, IntInfo, Kind, Type},
    ids::TypeId,
    limits,
    name::Name,
};

/// Whether a target type has all that the local one has (libbpf: `bpf_core_types_match`): members and enumerators by
/// essential name, recursively, but behind a pointer only names and kinds; integers of equal size and sign.
pub(super) fn types_match(
    local_btf: &Btf<'_>,
    local: TypeId,
    target_btf: &Btf<'_>,
    target: TypeId,
    steps: &mut Steps,
) -> Result<bool, MatchError> {
    let mut matching = Matching { local_btf, steps };
    matching.types(local, (target_btf, target), false, limits::COMPARE_LEVELS)
}

struct Matching<'c> {
    local_btf: &'c Btf<'c>,
    steps: &'c mut Steps,
}

impl Matching<'_> {
    fn types(
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
            self.steps.take_two_names(l.name(), t.name())?;
            target_btf = t.btf();
            if !names_match(l.name(), t.name()) {
                return Ok(false);
            }
            let same_kind = l.kind() == t.kind();
            match l.kind() {
                Kind::Void => return Ok(same_kind),
                Kind::Fwd if same_kind => return Ok(l.kflag() == t.kflag()),
                Kind::Fwd => return Ok(behind_pointer && forward_of(l, t.kind())),
                Kind::Enum | Kind::Enum64 => return Ok(t.kind().is_enum() && self.enums(l, t)?),
                Kind::Struct | Kind::Union if behind_pointer => {
                    return Ok(same_kind || (t.kind() == Kind::Fwd && forward_of(t, l.kind())));
                }
                _ if !same_kind => return Ok(false),
                Kind::Struct | Kind::Union => return self.composites(l, t, below),
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
                        if !self.types(lp.ty, (target_btf, tp.ty), behind_pointer, below)? {
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

    /// Every local member has one in the target, of the same essential name and matching type.
    fn composites(&mut self, local: Type<'_>, target: Type<'_>, level: u32) -> Result<bool, MatchError> {
        if local.vlen() > target.vlen() {
            return Ok(false);
        }
        for lm in local.members() {
            let mut found = false;
            for tm in target.members() {
                target.check_element_name(tm.name, tm.name_offset)?;
                self.steps.take_two_names(lm.name, tm.name)?;
                if names_match(lm.name, tm.name) && self.types(lm.ty, (target.btf(), tm.ty), false, level)? {
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

    /// Equal size, and every local enumerator's name is there; values may differ.
    fn enums(&mut self, local: Type<'_>, target: Type<'_>) -> Result<bool, MatchError> {
        if local.size() != target.size() || local.vlen() > target.vlen() {
            return Ok(false);
        }
        for lv in local.enumerators() {
            let mut found = false;
            for tv in target.enumerators() {
                target.check_element_name(tv.name, tv.name_offset)?;
                self.steps.take_two_names(lv.name, tv.name)?;
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

/// By essential name; anonymous only with anonymous (libbpf: `bpf_core_names_match`).
fn names_match(local: Name<'_>, target: Name<'_>) -> bool {
    if target.is_empty() { local.is_empty() } else { local.same_essential(target) }
}

/// Whether a forward declaration is of this kind of composite.
fn forward_of(forward: Type<'_>, kind: Kind) -> bool {
    kind == if forward.kflag() { Kind::Union } else { Kind::Struct }
}

fn is_signed(int: Type<'_>) -> bool {
    int.int().is_some_and(IntInfo::is_signed)
}
