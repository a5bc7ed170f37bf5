//! The programs of a struct_ops map. In the value that the kernel returns, a function is the id of its
//! program.

use crate::cmd::map::MapElementType;
use core_relo::{
    Endian, TypeId,
    btf::{Btf, Kind, Type},
};
use core_relo_loader::inventory::ProgramNames;
use serde::Serialize;

/// A function of a struct_ops map, and the program that implements it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct StructOpsProgram {
    /// The member of the kernel's struct.
    pub(super) member: String,
    pub(super) id: u32,
    /// `None` if the program is gone.
    pub(super) name: Option<String>,
}

/// Returns the programs of a value.
pub(super) fn programs(ty: &MapElementType, value: &[u8], names: &mut ProgramNames) -> Vec<StructOpsProgram> {
    let Some(value_struct) = ty.btf.ty(ty.id) else { return Vec::new() };
    // The kernel's struct is the last member, after the state.
    let Some(data) = value_struct.members().last() else { return Vec::new() };
    let start = data.bit_offset.0 / 8;
    let kernel_struct = ty.btf.strip(data.ty).ok();
    let members = kernel_struct.into_iter().flat_map(Type::members);
    let functions = members.filter(|member| is_function(&ty.btf, member.ty));
    let ids = functions.filter_map(|member| {
        let at = usize::try_from(start.checked_add(member.bit_offset.0 / 8)?).ok()?;
        let id = u32::try_from(Endian::native().u64(value, at)?).ok().filter(|id| *id != 0)?;
        Some((member.name.to_string(), id))
    });
    ids.map(|(member, id)| StructOpsProgram { member, id, name: names.get(id).name }).collect()
}

/// Returns whether a type is a pointer to a function.
fn is_function(btf: &Btf<'_>, ty: TypeId) -> bool {
    let pointer = btf.strip(ty).ok().filter(|ty| ty.kind() == Kind::Ptr);
    let target = pointer.and_then(Type::target).and_then(|target| btf.strip(target).ok());
    target.is_some_and(|target| target.kind() == Kind::FuncProto)
}
