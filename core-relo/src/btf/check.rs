//! Every id and name that a type refers to exists (libbpf: `btf_sanity_check`).

use super::{Btf, BtfError, Kind, Type};
use crate::ids::{StrOffset, TypeId};

/// Checks all own types of `btf`.
pub(crate) fn references(btf: &Btf<'_>) -> Result<(), BtfError> {
    btf.types().try_for_each(|ty| references_of(btf, ty))
}

fn references_of(btf: &Btf<'_>, ty: Type<'_>) -> Result<(), BtfError> {
    let id = |target| check_id(btf, ty, target);
    let name = |offset| check_name(btf, ty, offset);
    name(ty.name_offset())?;
    if let Some(target) = ty.target() {
        id(target)?;
        if ty.kind() == Kind::Func {
            let kind = btf.ty(target).map_or(Kind::Void, Type::kind);
            if kind != Kind::FuncProto {
                return Err(BtfError::FuncWithoutProto { id: ty.id(), target, kind });
            }
        }
    }
    if let Some(array) = ty.array() {
        id(array.element)?;
        id(array.index)?;
    }
    for member in ty.members() {
        name(member.name_offset)?;
        id(member.ty)?;
    }
    for variant in ty.variants() {
        name(variant.name_offset)?;
    }
    for param in ty.params() {
        name(param.name_offset)?;
        id(param.ty)?;
    }
    ty.secinfos().try_for_each(|info| id(info.ty))
}

fn check_id(btf: &Btf<'_>, ty: Type<'_>, target: TypeId) -> Result<(), BtfError> {
    if target < btf.end_id() {
        return Ok(());
    }
    Err(BtfError::TypeRef {
        id: ty.id(),
        kind: ty.kind(),
        target,
        last: TypeId(btf.end_id().0.saturating_sub(1)),
        split_without_base: btf.base().is_none(),
    })
}

fn check_name(btf: &Btf<'_>, ty: Type<'_>, offset: StrOffset) -> Result<(), BtfError> {
    if offset.0 == 0 || offset.0 < btf.string_end() {
        return Ok(());
    }
    Err(BtfError::NameRef {
        id: ty.id(),
        kind: ty.kind(),
        offset: offset.0,
        end: btf.string_end(),
        split_without_base: btf.base().is_none(),
    })
}
