//! The arguments of traced functions and tracepoints.

use super::{
    model::{Difference, MismatchKind},
    prototype::{Prototype, target},
};
use crate::{
    limits,
    reads::ContextWord,
    requirements::{Hook, ObjectNeeds, ProgramNeeds, composite_name, pointee},
};
use core_relo::{
    ByteSize, Name, Plan, TypeId,
    btf::{Btf, Kind},
    explain::type_text,
    ext::RelocKind,
};

/// The registers of arguments in `struct pt_regs` of x86-64, in both spellings.
const X86_REGISTERS: [[&str; 2]; 6] =
    [["di", "rdi"], ["si", "rsi"], ["dx", "rdx"], ["cx", "rcx"], ["r8", "r8"], ["r9", "r9"]];

/// Returns the difference if the kernel's function does not have the argument that a program reads.
pub(super) fn missing_argument(
    needs: &ObjectNeeds<'_, '_>,
    plan: &Plan<'_>,
    prototype: &Prototype<'_>,
    hook: &Hook,
    word: ContextWord,
) -> Option<Difference> {
    let index = argument_index(needs, plan, hook, word)?;
    let text = prototype.missing_argument(index, matches!(hook, Hook::Function { has_result: true, .. }))?;
    let number = index.checked_add(1)?;
    let name = &prototype.name;
    let local = format!("argument {number} of {name}");
    if prototype.is_syscall_wrapper() {
        return Some(Difference {
            kind: MismatchKind::SyscallWrapper,
            text: format!(
                "argument {number} of {name} is read from the registers of a wrapper, whose only argument points to the registers of \
                 the system call"
            ),
            local,
            target: prototype.text(),
        });
    }
    Some(Difference { kind: MismatchKind::Prototype, text, local, target: prototype.text() })
}

/// Returns the difference if an argument does not point to the struct whose field a program reads.
pub(super) fn other_pointee(
    needs: &ObjectNeeds<'_, '_>,
    plan: &Plan<'_>,
    prototype: &Prototype<'_>,
    hook: &Hook,
    word: ContextWord,
    record: usize,
) -> Option<Difference> {
    let index = argument_index(needs, plan, hook, word)?;
    let param = prototype.params().nth(index)?;
    let planned = plan.get(record)?;
    if planned.record().relo.kind != RelocKind::FieldByteOffset {
        return None;
    }
    let local = planned.local_spec()?;
    let root = planned.btf().strip(local.root).ok()?;
    let local_name = composite_name(root)?;
    let kernel = prototype.ty.btf();
    let param_type = kernel.strip(param.ty).ok()?;
    let is_same = match param_type.kind() {
        Kind::Ptr => match pointee(kernel, param.ty).and_then(composite_name) {
            Some(name) if name != local_name => {
                // The record resolves, so that the kernel has the struct.
                let (target_btf, spec) = planned.target_spec()?;
                begins_with(&target_btf.btf, spec.root, name)
                    || begins_with(kernel, param_type.target()?, local_name)
            }
            // A pointer to void or to bytes says nothing.
            _ => true,
        },
        // Integers as wide as a pointer may be addresses.
        Kind::Int => kernel.size_of(param.ty).is_ok_and(|size| size == ByteSize(8)),
        _ => false,
    };
    let local = format!("{} {} *", root.kind().keyword(), Name::shortened(local_name));
    if is_same { None } else { prototype.other_type(index, param, local) }
}

/// Returns the arguments that a program declares with other structs than the kernel's function. `BPF_PROG`
/// and `BPF_KPROBE` declare the arguments of a program in a function `____NAME`, which is in the object's BTF
/// if the compiler does not inline it.
pub(super) fn declared_differently(
    needs: &ObjectNeeds<'_, '_>,
    program: &ProgramNeeds,
    prototype: &Prototype<'_>,
) -> Vec<Difference> {
    let declared = || {
        let btf = needs.object.btf()?;
        let function = needs.object.programs().get(program.index.0)?;
        let inner = btf.find(&[b"____", function.name()].concat(), Kind::Func)?;
        Some((btf, target(inner)?))
    };
    let Some((btf, proto)) = declared() else { return Vec::new() };
    // The first parameter is the context.
    let params = proto.params().skip(1).zip(prototype.params()).enumerate();
    let other = params.filter_map(|(index, (local, param))| {
        let kernel = prototype.ty.btf();
        let [local_type, kernel_type] = [pointee(btf, local.ty)?, pointee(kernel, param.ty)?];
        let (local_name, kernel_name) = (composite_name(local_type)?, composite_name(kernel_type)?);
        let is_same = local_name == kernel_name
            || begins_with(btf, local_type.id(), kernel_name)
            || begins_with(kernel, kernel_type.id(), local_name);
        if is_same { None } else { prototype.other_type(index, param, type_text(btf, local.ty)) }
    });
    other.collect()
}

/// Returns whether a struct begins with a struct of this name, as `struct tcp_sock` begins with
/// `struct sock`.
fn begins_with(btf: &Btf<'_>, id: TypeId, name: Name<'_>) -> bool {
    let Ok(mut ty) = btf.strip(id) else { return false };
    for _ in 0..limits::NESTED_STRUCTS {
        if composite_name(ty) == Some(name) {
            return true;
        }
        // Any member of a union is its first one.
        if ty.kind() == Kind::Union
            && ty.members().any(|m| btf.strip(m.ty).is_ok_and(|ty| composite_name(ty) == Some(name)))
        {
            return true;
        }
        let first = ty.members().find(|member| member.bit_offset.0 == 0);
        match first.and_then(|member| ty.btf().strip(member.ty).ok()) {
            Some(next) if next.kind().is_composite() => ty = next,
            _ => return false,
        }
    }
    false
}

/// Returns the index of the argument that a word of the context contains.
fn argument_index(
    needs: &ObjectNeeds<'_, '_>,
    plan: &Plan<'_>,
    hook: &Hook,
    word: ContextWord,
) -> Option<usize> {
    match (hook, word) {
        (Hook::Function { .. } | Hook::Tracepoint(_), ContextWord::Offset(offset)) => {
            let offset = usize::try_from(offset).ok()?;
            (offset % 8 == 0).then_some(offset / 8)
        }
        (Hook::Registers(_), ContextWord::Record(record)) => {
            let planned = plan.get(record)?;
            planned.target_value()?;
            let accessor = planned.local_spec()?.accessors.get(1).copied()?;
            let root = planned.btf().ty(accessor.ty)?;
            (root.name().as_bytes() == b"pt_regs").then_some(())?;
            register_index(accessor.name(planned.btf())?)
        }
        (Hook::Registers(_), ContextWord::Offset(offset)) => {
            let btf = needs.object.btf()?;
            let bits = u32::try_from(offset).ok()?.checked_mul(8)?;
            let registers = btf.find(b"pt_regs", Kind::Struct)?;
            register_index(registers.members().find(|member| member.bit_offset.0 == bits)?.name)
        }
        _ => None,
    }
}

fn register_index(name: Name<'_>) -> Option<usize> {
    X86_REGISTERS.iter().position(|names| names.iter().any(|known| known.as_bytes() == name.as_bytes()))
}
