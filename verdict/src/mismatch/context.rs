//! Contexts of tracepoints that are read without CO-RE.

use super::model::{Difference, MismatchKind};
use crate::{
    limits,
    reads::ContextWord,
    requirements::{ObjectNeeds, ProgramNeeds, context_struct},
};
use core_relo::{
    Name,
    btf::{Btf, Kind, Type},
    explain::declare,
};

/// A member of a context struct.
struct ContextMember<'b> {
    name: Name<'b>,
    byte: u64,
    bytes: u64,
    text: String,
}

/// Returns the difference if the member that a program reads has moved, or is missing.
pub(super) fn moved_member(
    needs: &ObjectNeeds<'_, '_>,
    program: &ProgramNeeds,
    event: Type<'_>,
    word: ContextWord,
    bytes: u32,
) -> Option<Difference> {
    let ContextWord::Offset(offset) = word else { return None };
    let (start, btf) = (u64::try_from(offset).ok()?, needs.object.btf()?);
    let end = start.checked_add(bytes.into())?;
    let function = needs.object.programs().get(program.index.0)?;
    let context = context_struct(btf, function.name())?;
    let locals = members(btf, context);
    let local = locals.iter().find(|member| {
        member.byte <= start
            && member.byte.checked_add(member.bytes).is_some_and(|member_end| end <= member_end)
    })?;
    let targets = members(event.btf(), event);
    let target = targets.iter().find(|member| member.name == local.name);
    let is_declared = context.name().essential() == event.name().essential();
    let (name, event_name) = (local.name.shortened(), Name::shortened(event.name()));
    let describe = |member: &ContextMember<'_>| format!("{}; // offset {}", member.text, member.byte);
    let (problem, target) = match target {
        Some(target) if (target.byte, target.bytes) == (local.byte, local.bytes) => return None,
        Some(target) if target.byte == local.byte => {
            (format!("has {} bytes in the kernel, expected {}", target.bytes, local.bytes), describe(target))
        }
        Some(target) => {
            (format!("is at offset {} in the kernel, expected {}", target.byte, local.byte), describe(target))
        }
        // The names of a struct of the object's own need not be those of the kernel.
        None if !is_declared => return None,
        None => ("does not exist in the kernel".to_owned(), format!("struct {event_name}")),
    };
    let text = format!("{name} of struct {event_name} {problem}; the read has no CO-RE relocation");
    Some(Difference { kind: MismatchKind::Context, text, local: describe(local), target })
}

/// Returns the named members, with those of anonymous structs and unions.
fn members<'b>(btf: &'b Btf<'b>, ty: Type<'b>) -> Vec<ContextMember<'b>> {
    let (mut members, mut pending) = (Vec::new(), vec![(ty, 0u64)]);
    let mut budget = limits::CONTEXT_MEMBERS;
    while let Some((ty, base)) = pending.pop() {
        for member in ty.members().take(budget) {
            budget = budget.saturating_sub(1);
            let Ok(extent) = btf.member_extent(&member) else { continue };
            let bit = base.saturating_add(extent.bit_offset.0.into());
            if member.name.is_empty() {
                let inner = btf.strip(member.ty).ok();
                pending.extend(
                    inner.filter(|ty| matches!(ty.kind(), Kind::Struct | Kind::Union)).map(|ty| (ty, bit)),
                );
            } else if !extent.is_bitfield {
                let text = declare(btf, member.ty, &member.name.shortened().to_string());
                members.push(ContextMember {
                    name: member.name,
                    byte: bit / 8,
                    bytes: extent.bits / 8,
                    text,
                });
            }
        }
    }
    members
}
