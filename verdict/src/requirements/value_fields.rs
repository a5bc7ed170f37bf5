//! The fields of map values that the kernel manages, in the types of the values.

use crate::{kernel::SpecialField, limits};
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use hashbrown::HashSet;

/// Returns the fields that some kernel may find in values of a type: in the struct, and in the structs and arrays in it. Kernels do not look
/// into unions, nor at members with a qualifier or a typedef.
pub(super) fn possible_fields(btf: &Btf<'_>, value: Type<'_>) -> Vec<SpecialField> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut members = 0..limits::VALUE_MEMBERS;
    let mut pending = Vec::from_iter((value.kind() == Kind::Struct).then_some(value));
    while let Some(ty) = pending.pop() {
        for member in ty.members() {
            let (Ok(element), Some(_)) = (element(btf, member.ty), members.next()) else {
                return SpecialField::ALL.to_vec();
            };
            found.extend(field_of(btf, element).filter(|field| !found.contains(field)));
            if element.kind() == Kind::Struct && seen.insert(element.id()) {
                pending.push(element);
            }
        }
    }
    found
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

/// Returns the field for which some kernel may take a member of a type.
fn field_of(btf: &Btf<'_>, ty: Type<'_>) -> Option<SpecialField> {
    if ty.kind() != Kind::Struct {
        return may_be_kernel_pointer(btf, ty).then_some(SpecialField::KernelPointer);
    }
    let mut fields = SpecialField::ALL.into_iter().filter(|field| *field != SpecialField::KernelPointer);
    fields.find(|field| ty.name().as_bytes() == field.name().as_bytes())
}

/// Returns whether some kernel may take a member of a type for a kernel pointer. Kernels differ about the tags of pointers.
fn may_be_kernel_pointer(btf: &Btf<'_>, ty: Type<'_>) -> bool {
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
