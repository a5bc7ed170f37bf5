//! Every id and name that a type refers to exists (libbpf: `btf_sanity_check`).

use super::{
    Btf, BtfError, Kind, Type,
    kind::Info,
    reference::{self, Reference},
};
use crate::{
    endian::Endian,
    ids::{StrOffset, TypeId, to_usize},
};

/// Checks all own types of `btf`.
pub(crate) fn references(btf: &Btf<'_>) -> Result<(), BtfError> {
    // Two functions, so that the byte order is decided outside of the loop.
    match btf.endian() {
        Endian::Little => references_in::<false>(btf),
        Endian::Big => references_in::<true>(btf),
    }
}

fn references_in<const BIG: bool>(btf: &Btf<'_>) -> Result<(), BtfError> {
    let endian = if BIG { Endian::Big } else { Endian::Little };
    let data = btf.as_bytes().get(..btf.header.types.end).unwrap_or_default();
    let (end_id, string_end) = (btf.end_id(), btf.string_end());
    for (at, id) in btf.offsets.iter().zip(btf.first_id.0..) {
        let record = data.get(to_usize(*at)..).unwrap_or_default();
        let Some(ty) = Type::of(btf, endian, TypeId(id), record) else { continue };
        let (mut last_id, mut last_name) = (TypeId::VOID, StrOffset(0));
        reference::each(ty, endian, |_, to| match to {
            Reference::Id(id) => last_id = last_id.max(id),
            Reference::Name(name) => last_name = last_name.max(name),
        });
        if last_id >= end_id || is_outside(last_name, string_end) {
            first_wrong(btf, ty)?;
        }
        if ty.kind() == Kind::Func {
            has_proto(btf, data, endian, ty)?;
        }
    }
    Ok(())
}

/// The empty name is there even if the strings are not (in a split BTF).
fn is_outside(name: StrOffset, string_end: u32) -> bool {
    name.0 != 0 && name.0 >= string_end
}

/// The error for the first reference of `ty` to something that is not there.
#[cold]
fn first_wrong(btf: &Btf<'_>, ty: Type<'_>) -> Result<(), BtfError> {
    let (end_id, string_end) = (btf.end_id(), btf.string_end());
    let split_without_base = btf.base().is_none();
    let (id, kind) = (ty.id(), ty.kind());
    let mut result = Ok(());
    reference::each(ty, btf.endian(), |_, to| {
        let error = match to {
            Reference::Id(target) if target >= end_id => {
                let last = TypeId(end_id.0.saturating_sub(1));
                BtfError::TypeRef { id, kind, target, last, split_without_base }
            }
            Reference::Name(name) if is_outside(name, string_end) => {
                BtfError::NameRef { id, kind, offset: name.0, end: string_end, split_without_base }
            }
            _ => return,
        };
        if result.is_ok() {
            result = Err(error);
        }
    });
    result
}

/// A FUNC refers to a FUNC_PROTO.
fn has_proto(btf: &Btf<'_>, data: &[u8], endian: Endian, func: Type<'_>) -> Result<(), BtfError> {
    let target = TypeId(func.size_or_type());
    let own = target.0.checked_sub(btf.first_id.0).and_then(|own| btf.offsets.get(to_usize(own)));
    let kind = match own {
        Some(at) => endian.u32(data, to_usize(*at).saturating_add(4)).map(|info| Info(info).kind()),
        None => btf.ty(target).map(Type::kind),
    };
    match kind {
        Some(Kind::FuncProto) => Ok(()),
        kind => {
            let kind = kind.unwrap_or(Kind::Void);
            Err(BtfError::FuncWithoutProto { id: func.id(), target, kind })
        }
    }
}
