//! The prototypes of traced functions and tracepoints.

use super::model::{Difference, MismatchKind};
use crate::requirements::{Hook, pointee};
use core_relo::{
    ByteSize, Name,
    btf::{Kind, Param, Type},
    explain::{declare_function, type_text},
};

/// The prototype of a traced function or tracepoint in the kernel.
pub(crate) struct Prototype<'k> {
    /// The name of the function or typedef.
    function: Name<'k>,
    /// The name for messages.
    pub(super) name: String,
    pub(super) ty: Type<'k>,
    /// The parameters that a program does not see: the data of a tracepoint's registration.
    skipped: usize,
}

impl<'k> Prototype<'k> {
    /// Returns the prototype of a FUNC, or of a typedef `btf_trace_*`. Returns `None` if the parameters are
    /// not one word each.
    pub(crate) fn new(hook: &Hook, ty: Type<'k>) -> Option<Self> {
        let (function, mut name) = (ty.name(), Name::shortened(ty.name()).to_string());
        if let Hook::StructOpsMember { member, .. } = hook {
            name = format!("{name}.{}", Name::shortened(Name::new(member.as_bytes())));
        }
        let (proto, skipped) = declaration(hook, ty)?;
        let is_word = |param: Param<'_>| {
            let ty = proto.btf().strip(param.ty).ok();
            ty.is_some_and(|ty| {
                let is_register =
                    ty.kind() != Kind::Void && !ty.kind().is_composite() && ty.kind() != Kind::Float;
                is_register && proto.btf().size_of(ty.id()).is_ok_and(|ByteSize(bytes)| bytes <= 8)
            })
        };
        let has_words = proto.btf().pointer_size() == ByteSize(8) && proto.params().all(is_word);
        (proto.kind() == Kind::FuncProto && has_words).then_some(Self { function, name, ty: proto, skipped })
    }

    /// Returns the number of arguments that a program sees of a FUNC, or of a typedef `btf_trace_*`.
    pub(crate) fn argument_count(hook: &Hook, ty: Type<'_>) -> Option<usize> {
        let (proto, skipped) = declaration(hook, ty)?;
        proto.params().len().checked_sub(skipped)
    }

    pub(super) fn params(&self) -> impl ExactSizeIterator<Item = Param<'k>> + use<'k> {
        self.ty.params().skip(self.skipped)
    }

    /// Returns whether the kernel has several functions of this name.
    pub(super) fn has_namesakes(&self) -> bool {
        let mut count = 0u32;
        self.ty.btf().visit_kind(Kind::Func, |function| {
            count = count.saturating_add(u32::from(function.name() == self.function));
        });
        count > 1
    }

    pub(crate) fn text(&self) -> String {
        declare_function(self.ty.btf(), self.ty, &self.name, self.skipped)
    }

    /// Returns the text of the problem if the function does not have an argument, or a result that counts as
    /// the one after the last.
    pub(crate) fn missing_argument(&self, index: usize, has_result: bool) -> Option<String> {
        let count = self.params().len();
        let is_result = index == count && has_result;
        if index < count || is_result && self.has_result() {
            return None;
        }
        let (number, name) = (index.checked_add(1)?, &self.name);
        if is_result {
            return Some(format!("{name} has no result: the kernel's declaration returns void"));
        }
        let has = if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") };
        Some(format!("argument {number} of {name} does not exist: the kernel's declaration has {has}"))
    }

    /// Returns whether an argument is a pointer.
    pub(crate) fn is_pointer(&self, index: usize) -> bool {
        let ty = self.params().nth(index).and_then(|param| self.ty.btf().strip(param.ty).ok());
        ty.is_some_and(|ty| ty.kind() == Kind::Ptr)
    }

    /// Returns whether the function returns a value.
    fn has_result(&self) -> bool {
        let result = self.ty.target().and_then(|result| self.ty.btf().strip(result).ok());
        result.is_none_or(|result| result.kind() != Kind::Void)
    }

    /// Returns whether the result takes more than one word, so that the words after it are not known.
    pub(crate) fn has_large_result(&self) -> bool {
        let result = self.ty.target().and_then(|result| self.ty.btf().size_of(result).ok());
        result.is_some_and(|ByteSize(bytes)| bytes > 8)
    }

    /// Returns the difference of an argument's type.
    pub(super) fn other_type(&self, index: usize, param: Param<'_>, local: String) -> Option<Difference> {
        let (number, name, found) = (index.checked_add(1)?, &self.name, type_text(self.ty.btf(), param.ty));
        let text = format!(
            "argument {number} of {name} has another type in the kernel: `{found}`, expected `{local}`"
        );
        Some(Difference { kind: MismatchKind::Prototype, text, local, target: self.text() })
    }

    /// Returns whether the function is a wrapper of a system call: its only parameter points to the registers
    /// of the call.
    pub(super) fn is_syscall_wrapper(&self) -> bool {
        let mut params = self.params();
        let registers = params.next().and_then(|param| pointee(self.ty.btf(), param.ty));
        let is_registers = registers.is_some_and(|ty| ty.name().as_bytes() == b"pt_regs");
        is_registers && params.len() == 0 && self.name.contains("sys_")
    }
}

/// Returns the FUNC_PROTO of a hook's declaration, and the number of its parameters that a program does not
/// see.
fn declaration<'k>(hook: &Hook, ty: Type<'k>) -> Option<(Type<'k>, usize)> {
    match hook {
        Hook::Tracepoint(_) => Some((target(target(ty)?)?, 1)),
        Hook::StructOpsMember { member, .. } => {
            let member = ty.members().find(|known| known.name.as_bytes() == member.as_bytes())?;
            Some((pointee(ty.btf(), member.ty).filter(|proto| proto.kind() == Kind::FuncProto)?, 0))
        }
        _ => Some((target(ty)?, 0)),
    }
}

/// Returns the type that a FUNC, TYPEDEF or PTR refers to.
pub(super) fn target(ty: Type<'_>) -> Option<Type<'_>> {
    ty.btf().ty(ty.target()?)
}
