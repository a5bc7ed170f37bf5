//! The parameters of global functions that the kernel takes for memory.

use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use core_relo_object::link::LinkedProgram;
use hashbrown::{HashMap, HashSet};

/// The global functions of a program, whose parameters the kernel takes for memory that the function may read and write (kernel:
/// `btf_prepare_func_args`, `check_mem_reg`).
pub(super) struct GlobalFunctions<'f> {
    code: &'f LinkedProgram,
    btf: &'f Btf<'f>,
    /// The indices of the parameters with a tag that gives them another meaning, by function.
    tagged: HashMap<TypeId, HashSet<u32>>,
}

impl<'f> GlobalFunctions<'f> {
    pub(super) fn new(code: &'f LinkedProgram, btf: &'f Btf<'f>) -> Self {
        let mut tagged = HashMap::<_, HashSet<_>>::new();
        for tag in btf.types().filter(|ty| ty.kind() == Kind::DeclTag) {
            let is_argument = tag.name().as_bytes().starts_with(b"arg:");
            if let (Some(function), Some(index)) =
                (tag.target(), tag.component_index().and_then(|index| u32::try_from(index).ok()))
                && is_argument
                && tag.name().as_bytes() != b"arg:nonnull"
            {
                tagged.entry(function).or_default().insert(index);
            }
        }
        Self { code, btf, tagged }
    }

    /// Returns whether a parameter of the function that begins at an instruction is the address of a value with a size.
    pub(super) fn takes_memory(&self, start: u32, parameter: u32) -> bool {
        self.pointee(start, parameter).is_some_and(|pointee| {
            matches!(pointee.kind(), Kind::Int | Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64)
        })
    }

    fn pointee(&self, start: u32, parameter: u32) -> Option<Type<'f>> {
        let function = TypeId(self.code.function_type(start)?);
        if self.tagged.get(&function).is_some_and(|indices| indices.contains(&parameter)) {
            return None;
        }
        let prototype = self.btf.ty(self.btf.ty(function)?.target()?)?;
        let pointer = self.btf.strip(prototype.param(parameter)?.ty).ok()?;
        let target = pointer.target().filter(|_| pointer.kind() == Kind::Ptr)?;
        self.btf.strip(target).ok()
    }
}
