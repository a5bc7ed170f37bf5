//! The structs of programs' contexts.

use super::facts::KernelFacts;
use core_relo::{
    ByteSize, Name,
    btf::{Kind, Type},
};
use core_relo_object::object::ProgramType;

impl<'k> KernelFacts<'k> {
    /// Returns the struct that programs of a type have as their context, and its size in bytes. `None` if the
    /// BTF does not tell.
    pub(crate) fn context_struct(&self, program_type: ProgramType) -> Option<(Name<'k>, u32)> {
        // The kernel compares with its own struct of registers, which is larger than that of user space
        // (`kprobe_prog_is_valid_access`).
        let suffix = if program_type == ProgramType::Kprobe { "_kern" } else { "_prog" };
        let member = self.contexts?.members().find(|member| {
            let name = member.name.as_bytes().strip_suffix(suffix.as_bytes());
            name == Some(program_type.name().as_bytes())
        })?;
        let btf = self.vmlinux.btf;
        let context: Type<'k> = btf.strip(member.ty).ok().filter(|ty| ty.kind() == Kind::Struct)?;
        let ByteSize(bytes) = btf.size_of(context.id()).ok()?;
        Some((context.name(), bytes))
    }
}
