//! The fields of map values that the kernel manages, in the types of the values.

use crate::{kernel::SpecialField, limits};
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use hashbrown::HashSet;

/// Returns whether no kernel finds a field in values of a type: neither in the struct, nor in the structs and arrays in it. Kernels do not
/// look into unions, nor at members with a qualifier or a typedef.
pub(super) fn lacks_field(btf: &Btf<'_>, value: Type<'_>, field: SpecialField) -> bool {
    let mut seen = HashSet::new();
    let mut members = 0..limits::VALUE_MEMBERS;
    let mut pending = Vec::from_iter((value.kind() == Kind::Struct).then_some(value));
    while let Some(ty) = pending.pop() {
        for member in ty.members() {
            let Ok(element) = element(btf, member.ty) else { return false };
            if may_be_field(btf, element, field) || members.next().is_none() {
                return false;
            }
            if element.kind() == Kind::Struct && seen.insert(element.id()) {
                pending.push(element);
            }
        }
    }
    true
}

/// Returns the type of the elements of an array in all dimensions, or a type itself. Fails for a type that is missing or in itself.
fn element<'b>(btf: &'b Btf<'b>, ty: TypeId) -> Result<Type<'b>, NoType> {
    let mut ty = btf.ty(ty).ok_or(NoType)?;
    for _ in 0..limits::NESTED_STRUCTS {
        match ty.array() {
            Some(array) => ty = btf.ty(array.element).ok_or(NoType)?,
            None => return Ok(ty),
        }
    }
    Err(NoType)
}

/// A type that cannot be followed.
struct NoType;

/// Returns whether some kernel may take a member of a type for a field. Kernels differ about the tags of pointers.
fn may_be_field(btf: &Btf<'_>, ty: Type<'_>, field: SpecialField) -> bool {
    if field != SpecialField::KernelPointer {
        return ty.kind() == Kind::Struct && ty.name().as_bytes() == field.name().as_bytes();
    }
    let Ok(pointer) = btf.strip(ty.id()) else { return true };
    let mut target = pointer.target().filter(|_| pointer.kind() == Kind::Ptr);
    for _ in 0..limits::NESTED_STRUCTS {
        match target.and_then(|id| btf.ty(id)) {
            Some(ty) if ty.kind() == Kind::TypeTag => return true,
            Some(ty) if ty.kind().is_modifier_or_typedef() => target = ty.target(),
            _ => return false,
        }
    }
    true
}
