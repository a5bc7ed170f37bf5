//! The prototypes of global functions: the rules that they break, and the parameters that the kernel takes
//! for memory or the context.

use super::{
    need::{Need, NeedTable},
    object_parts::ObjectParts,
    parameter_tags::{ParameterTags, TagKind},
    site::Site,
};
use crate::{kernel::FunctionRule, limits};
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use core_relo_object::{
    link::LinkedProgram,
    load_plan::context_struct_name,
    object::{ProgramType, SecDef},
};

/// The meaning of a parameter of a global function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    /// The address of a value with a size, which the function may read and write.
    Memory,
    /// The context of the program.
    Context,
    /// A dynptr, whose struct is only declared.
    Dynptr,
    /// A number, something that a tag names, something that kernels differ about, or nothing that is known.
    Other,
}

/// The global functions of a program (kernel: `btf_prepare_func_args`, `check_mem_reg`).
pub(super) struct GlobalFunctions<'f> {
    code: &'f LinkedProgram,
    btf: &'f Btf<'f>,
    tags: &'f ParameterTags,
    program_type: Option<ProgramType>,
}

impl<'f> GlobalFunctions<'f> {
    pub(super) fn new(
        code: &'f LinkedProgram,
        btf: &'f Btf<'f>,
        tags: &'f ParameterTags,
        def: Option<&SecDef>,
    ) -> Self {
        Self { code, btf, tags, program_type: def.map(|def| def.program_type) }
    }

    /// Returns the meaning of a parameter of the function that begins at an instruction.
    pub(super) fn parameter(&self, start: u32, parameter: u32) -> Parameter {
        self.find_parameter(start, parameter).unwrap_or(Parameter::Other)
    }

    fn find_parameter(&self, start: u32, parameter: u32) -> Option<Parameter> {
        let function = TypeId(self.code.function_type(start)?);
        let pointee = self.pointee(self.prototype(function)?.param(parameter)?.ty)?;
        Some(match self.tags.get(self.btf, function, parameter) {
            Some(TagKind::Context) if self.has_context_type() => Parameter::Context,
            None if self.has_context_type() && self.is_named_context(pointee) => Parameter::Context,
            None if self.is_projected_context(pointee) => Parameter::Other,
            None if has_size(pointee) => Parameter::Memory,
            None if is_declared_dynptr(pointee) => Parameter::Dynptr,
            _ => Parameter::Other,
        })
    }

    fn prototype(&self, function: TypeId) -> Option<Type<'f>> {
        let function = self.btf.ty(function).filter(|ty| ty.kind() == Kind::Func)?;
        self.btf.ty(function.target()?).filter(|ty| ty.kind() == Kind::FuncProto)
    }

    /// Returns the type that a pointer points to. `None` for a type other than a pointer to a type; `void` is
    /// one.
    fn pointee(&self, ty: TypeId) -> Option<Type<'f>> {
        let pointer = self.btf.strip(ty).ok().filter(|ty| ty.kind() == Kind::Ptr)?;
        self.btf.strip(pointer.target()?).ok()
    }

    /// Returns whether all kernels know the context of the program's type by the name of a struct.
    pub(super) fn has_context_type(&self) -> bool {
        use ProgramType as P;
        self.program_type.is_some_and(|program_type| {
            let varies = matches!(
                program_type,
                P::Kprobe | P::PerfEvent | P::RawTracepoint | P::RawTracepointWritable
            );
            !varies && context_struct_name(program_type).is_some()
        })
    }

    fn is_named_context(&self, pointee: Type<'_>) -> bool {
        let name = self.program_type.and_then(context_struct_name);
        pointee.kind() == Kind::Struct && Some(pointee.name().as_bytes()) == name
    }

    /// Returns whether kernels since 6.3 take a pointer to a type for one to the context, because its name is
    /// that of the kernel's struct (kernel: `btf_is_projection_of`). Older kernels take it for memory.
    fn is_projected_context(&self, pointee: Type<'_>) -> bool {
        let projected: &[u8] = match self.program_type.and_then(context_struct_name) {
            Some(b"__sk_buff") => b"sk_buff",
            Some(b"xdp_md") => b"xdp_buff",
            _ => return false,
        };
        pointee.kind() == Kind::Struct && pointee.name().as_bytes() == projected
    }

    /// Returns whether Linux 5.10 may take a pointer to a type for one to the context.
    fn may_be_context(&self, pointee: Type<'_>) -> bool {
        // The architecture decides on the names of registers. An extension has the context of the program
        // that it extends.
        let is_of_any_type = matches!(self.program_type, None | Some(ProgramType::Ext | ProgramType::Kprobe));
        pointee.kind() == Kind::Struct
            && (is_of_any_type || pointee.name().as_bytes().is_empty() || self.is_named_context(pointee))
    }

    /// Returns the rules that the prototype of a function breaks.
    fn broken_rules(&self, function: TypeId) -> Vec<FunctionRule> {
        let Some(prototype) = self.prototype(function) else { return Vec::new() };
        let mut rules = Vec::new();
        for (parameter, index) in prototype.params().zip(0_u32..).take(limits::FUNCTION_PARAMETERS) {
            let Some(pointee) = self.pointee(parameter.ty) else { continue };
            let rule = if !has_size(pointee) && is_without_size(pointee) {
                FunctionRule::UnsizedParameter(index)
            } else if self.may_be_context(pointee) {
                continue;
            } else {
                FunctionRule::PointerParameter(index)
            };
            if self.tags.get(self.btf, function, index).is_none() {
                rules.push(rule);
            }
        }
        let result = prototype.target().and_then(|ty| self.btf.strip(ty).ok());
        rules.extend(result.and_then(|result| match result.kind() {
            Kind::Void => Some(FunctionRule::VoidResult),
            Kind::Ptr | Kind::Struct | Kind::Union => Some(FunctionRule::Result),
            _ => None,
        }));
        rules
    }

    /// Returns the first instructions of functions whose prototypes break rules.
    pub(super) fn broken_rule_sites(
        parts: ObjectParts<'f, '_>,
        code: &'f LinkedProgram,
        def: Option<&SecDef>,
        table: &mut NeedTable,
    ) -> Vec<Site> {
        let [_, functions @ ..] = code.functions.as_slice() else { return Vec::new() };
        let Some(btf) = parts.linker.object().btf() else { return Vec::new() };
        let global = Self::new(code, btf, parts.tags, def);
        let mut sites = Vec::new();
        for copy in functions.iter().filter(|copy| parts.linker.is_global(code, **copy)) {
            let Some(ty) = code.function_type(copy.start).and_then(|ty| btf.ty(TypeId(ty))) else { continue };
            for rule in global.broken_rules(ty.id()) {
                let function = core_relo::explain::text(ty.name().shortened()).into();
                sites.push(Site { insn: copy.start, need: table.add(Need::FunctionRule { function, rule }) });
            }
        }
        sites
    }
}

/// Returns whether a pointer to a type is one to memory of a size.
fn has_size(pointee: Type<'_>) -> bool {
    matches!(pointee.kind(), Kind::Int | Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64)
}

fn is_declared_dynptr(pointee: Type<'_>) -> bool {
    pointee.kind() == Kind::Fwd && pointee.name().as_bytes() == b"bpf_dynptr"
}

/// Returns whether no kernel knows the size of a type. Kernels since 6.8 take a dynptr for one whose struct
/// is only declared.
fn is_without_size(pointee: Type<'_>) -> bool {
    match pointee.kind() {
        Kind::Void | Kind::FuncProto => true,
        Kind::Fwd => !is_declared_dynptr(pointee),
        _ => false,
    }
}
