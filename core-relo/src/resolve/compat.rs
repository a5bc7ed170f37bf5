//! Compatible types: what TYPE_EXISTS, TYPE_SIZE and TYPE_ID_TARGET ask for, and what a field's type must be.

use super::{CompareError, Key, MatchError, Steps, steps::cost_of_chain};
use crate::{
    btf::{Btf, Kind, Type},
    ids::TypeId,
    limits,
};

/// Whether a target type is compatible with a local one as a whole (libbpf: `bpf_core_types_are_compat`).
///
/// Names are not looked at, sizes neither, nor what is inside of composites and enumerations.
pub(super) fn types_are_compat(
    local_btf: &Btf<'_>,
    local: TypeId,
    target_btf: &Btf<'_>,
    target: TypeId,
    steps: &mut Steps,
) -> Result<bool, MatchError> {
    Comparison { local_btf, target_btf, steps }.types(local, target, limits::COMPARE_LEVELS)
}

struct Comparison<'c> {
    local_btf: &'c Btf<'c>,
    target_btf: &'c Btf<'c>,
    steps: &'c mut Steps,
}

impl Comparison<'_> {
    fn types(&mut self, mut local: TypeId, mut target: TypeId, level: u32) -> Result<bool, MatchError> {
        let kind_of = |btf: &Btf<'_>, id| btf.ty(id).map_or(Kind::Void, Type::kind);
        if !kind_of(self.local_btf, local).is_compatible_with(kind_of(self.target_btf, target)) {
            return Ok(false);
        }
        let mut target_btf = self.target_btf;
        for _ in 0..limits::COMPARE_HOPS {
            self.steps.take()?;
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
                Kind::Int => return Ok(is_whole(l) && is_whole(t)),
                Kind::Ptr => (local, target) = (TypeId(l.size_or_type()), TypeId(t.size_or_type())),
                Kind::Array => (local, target) = (element(l), element(t)),
                Kind::FuncProto => {
                    if l.vlen() != t.vlen() {
                        return Ok(false);
                    }
                    for (lp, tp) in l.params().zip(t.params()) {
                        let level = level.checked_sub(1).ok_or(MatchError::Compare(CompareError::TooDeep))?;
                        let lp = self.steps.strip(self.local_btf, lp.ty)?.id();
                        let tp = self.steps.strip(target_btf, tp.ty)?.id();
                        if !self.types(lp, tp, level)? {
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

/// Whether a target field's type may stand for a local field's (libbpf: `bpf_core_fields_are_compat`).
///
/// Any composite stands for any other, any pointer for any other; integers whatever their size and sign; enumerations and
/// forward declarations by essential name, where an anonymous one fits all; arrays by their elements.
///
/// What it reads of the local side stands in [`field_key`], too.
pub(super) fn fields_are_compat(
    local_btf: &Btf<'_>,
    mut local: TypeId,
    target_btf: &Btf<'_>,
    mut target: TypeId,
    steps: &mut Steps,
) -> Result<bool, MatchError> {
    let mut target_btf = target_btf;
    // libbpf follows arrays of arrays without a limit.
    for dimension in 0..limits::MODIFIER_HOPS {
        steps.take_many(dimension.min(1))?;
        let l = steps.strip(local_btf, local)?;
        let t = steps.strip(target_btf, target)?;
        target_btf = t.btf();
        if l.kind().is_composite() && t.kind().is_composite() {
            return Ok(true);
        }
        if !l.kind().is_compatible_with(t.kind()) {
            return Ok(false);
        }
        match l.kind() {
            Kind::Ptr | Kind::Float => return Ok(true),
            Kind::Fwd | Kind::Enum | Kind::Enum64 => {
                steps.take_two_names(l.name(), t.name())?;
                let anonymous = l.name().is_empty() || t.name().is_empty();
                return Ok(anonymous || l.name().same_essential(t.name()));
            }
            Kind::Int => return Ok(is_whole(l) && is_whole(t)),
            Kind::Array => (local, target) = (element(l), element(t)),
            _ => return Ok(false),
        }
    }
    Err(CompareError::TooDeep.into())
}

/// What [`fields_are_compat`] reads of the local side, and what its steps depend on.
pub(super) fn field_key(local_btf: &Btf<'_>, mut local: TypeId, key: &mut Key<'_>) -> Option<()> {
    for _ in 0..=limits::SHARED_DIMENSIONS {
        let mut hops = 0;
        let l = local_btf.strip_in(local, &mut hops).ok()?;
        key.word(cost_of_chain(hops))?;
        // All composites, and both enumerations, stand for each other.
        key.byte(match l.kind() {
            kind if kind.is_composite() => Kind::Struct.raw(),
            kind if kind.is_enum() => Kind::Enum.raw(),
            kind => kind.raw(),
        })?;
        match l.kind() {
            Kind::Array => local = element(l),
            Kind::Int => {
                return key.byte(u8::from(is_whole(l)));
            }
            Kind::Fwd | Kind::Enum | Kind::Enum64 => return key.name(l.name()),
            _ => return Some(()),
        }
    }
    None
}

/// Not an integer of old BTF that stands for a bitfield within its storage.
fn is_whole(int: Type<'_>) -> bool {
    int.int().is_some_and(|int| int.offset == 0)
}

fn element(array: Type<'_>) -> TypeId {
    array.array().map_or(TypeId::VOID, |array| array.element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{btf::Builder, endian::Endian};
    use alloc::vec::Vec;

    /// Else each of a hundred thousand records could walk through arrays of arrays whose modifiers nobody else passes.
    #[test]
    fn arrays_of_many_dimensions_have_no_key() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let mut nested = Vec::from([int]);
        for _ in 0..=limits::SHARED_DIMENSIONS {
            let inner = b.modifier(Kind::Const, nested.last().copied().unwrap());
            nested.push(b.array(inner, int, 2));
        }
        let btf = Btf::parse(b.finish()).unwrap();
        let has_key = |ty: &TypeId| field_key(&btf, *ty, &mut Key::new(&mut Vec::new())).is_some();
        let (many, few) = nested.split_last().unwrap();
        assert!(few.iter().all(has_key));
        assert!(!has_key(many));
    }
}
