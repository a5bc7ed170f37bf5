//! Members of the structs of struct_ops maps.

use core_relo::{
    ByteOffset, TypeId,
    btf::{Btf, Kind, Member, Type},
};

/// Returns the offset of a member, in bytes.
pub(super) const fn byte_offset(member: &Member<'_>) -> usize {
    ByteOffset(member.bit_offset.0 / 8).index()
}

/// Returns whether a type is a pointer to a function.
pub(super) fn is_function_pointer(btf: &Btf<'_>, id: TypeId) -> bool {
    let pointer = btf.strip(id).ok().filter(|t| t.kind() == Kind::Ptr);
    let target = pointer.and_then(Type::target).and_then(|target| btf.strip(target).ok());
    target.is_some_and(|t| t.kind() == Kind::FuncProto)
}
