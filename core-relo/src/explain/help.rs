//! Ways out.

use super::{CType, near::Near, text::text};
use crate::{
    btf::{Kind, Type},
    ext::RelocKind,
    plan::{Decision, InsnError, Planned, PoisonReason, RelocError, Tried, Verdict},
    relocs::Record,
    resolve::Mismatch,
};
use alloc::{format, string::String, vec::Vec};

/// What would mend the record; nothing if it needs no mending.
pub(super) fn of(
    planned: &Planned<'_>,
    guard: Option<&Record<'_>>,
    tried: &[Tried<'_>],
    near: &[Near],
) -> Vec<String> {
    match planned.decision() {
        Ok(Decision::Poison { why: PoisonReason::Width { .. }, .. }) => {
            let access =
                "read it with bpf_core_read() and bpf_core_field_size(), or through BPF_CORE_READ_BITFIELD()";
            Vec::from([
                access.into(),
                "or declare the local field with the target's type in a flavour".into(),
            ])
        }
        Ok(Decision::Poison { .. }) => missing(planned, guard, tried, near),
        Err(error) => of_error(planned, error),
        Ok(_) => Vec::new(),
    }
}

fn missing(
    planned: &Planned<'_>,
    guard: Option<&Record<'_>>,
    tried: &[Tried<'_>],
    near: &[Near],
) -> Vec<String> {
    let root = CType::new(planned.btf(), planned.record().relo.root);
    if let Some(guard) = guard {
        let asked = format!("relocation {} of the same program asks whether it exists", guard.index);
        return Vec::from([format!("none is needed if this instruction lies behind a guard: {asked}")]);
    }
    if tried.is_empty() {
        let mut help = Vec::from([text(format_args!("guard it with bpf_core_type_exists({root})"))]);
        if planned.target().module_count() == 0 {
            help.push("if a module defines the type, give the module's BTF as well".into());
        }
        return help;
    }
    if planned.record().relo.kind == RelocKind::EnumvalValue {
        let name = planned.local_spec().and_then(|s| s.accessors.first()).map(|s| s.name(planned.btf()));
        let name = name.unwrap_or_default().shortened();
        return Vec::from([text(format_args!("guard it with bpf_core_enum_value_exists({root}, {name})"))]);
    }
    let mut help = Vec::from(["guard it with bpf_core_field_exists()".into()]);
    let holder = tried.iter().find_map(|t| match t.verdict {
        Verdict::Mismatch(Mismatch::NoMember { ty, .. }) => Some((t, ty)),
        _ => None,
    });
    let declaration = near.iter().find_map(|near| near.declaration.as_deref());
    if let (Some((tried, ty)), Some(declaration)) = (holder, declaration) {
        let kind = tried.source.btf.ty(ty).map_or(Kind::Void, Type::kind);
        let name = tried.source.btf.ty(ty).map(|t| t.name().essential()).unwrap_or_default();
        // A name that would be cut is none to be written into a program.
        if !name.is_empty() && name.as_bytes().len() <= crate::limits::NAME_BYTES {
            let flavour = crate::name::flavoured(name, "other");
            help.push(text(format_args!(
                "or add a flavour `{} {flavour} {{ {declaration} }} __attribute__((preserve_access_index));`",
                kind.keyword()
            )));
        }
    }
    help
}

fn of_error(planned: &Planned<'_>, error: RelocError) -> Vec<String> {
    let one = |text: &str| Vec::from([text.into()]);
    match error {
        RelocError::Ambiguous(_) => one(
            "access it through a local flavour with a member that only one of the candidates has, before this access",
        ),
        RelocError::AnonymousRoot(_) => one("give the type a name, or access it through one that has"),
        RelocError::Insn(InsnError::UnexpectedValue { .. })
            if planned.record().relo.kind == RelocKind::EnumvalValue =>
        {
            one(
                "libbpf reads an unsigned 32-bit enumerator from 0x80000000 on as negative, and so do we unless told to zero-extend: use a 64-bit enum, or a constant",
            )
        }
        RelocError::Insn(InsnError::OffsetTooLarge { .. }) => {
            one("read it with bpf_core_read() from the field's address, whose offset may have 32 bits")
        }
        RelocError::Insn(_) | RelocError::Misaligned { .. } => one(
            "the instruction is not what the record was made for: was the object changed after compilation?",
        ),
        RelocError::Spec(_) | RelocError::Local(_) => {
            one("the record makes no sense on the object's own types: compile it anew")
        }
        RelocError::Match { .. } | RelocError::Target { .. } => {
            one("the target's type is at fault: is its BTF whole?")
        }
    }
}
