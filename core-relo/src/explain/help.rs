//! Suggestions for fixing the program.

use super::{CType, near::NearMatch, text::text};
use crate::{
    btf::limits,
    ext::RelocKind,
    plan::{CandidateResult, CheckedCandidate, Decision, InsnError, PlannedReloc, PoisonReason, RelocError},
    relocs::Record,
    resolve::CandidateMismatch,
};
use alloc::{format, string::String, vec::Vec};

/// Returns suggestions for fixing the record's access. Returns none if there is nothing to fix.
pub(super) fn help(
    planned: &PlannedReloc<'_>,
    guard: Option<&Record<'_>>,
    results: &[CheckedCandidate<'_>],
    near: &[NearMatch],
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
        Ok(Decision::Poison { .. }) => missing_help(planned, guard, results, near),
        Err(error) => error_help(planned, error).map(Into::into).into_iter().collect(),
        Ok(_) => Vec::new(),
    }
}

fn missing_help(
    planned: &PlannedReloc<'_>,
    guard: Option<&Record<'_>>,
    results: &[CheckedCandidate<'_>],
    near: &[NearMatch],
) -> Vec<String> {
    let root = CType::new(planned.btf(), planned.record().relo.root);
    if let Some(guard) = guard {
        let check =
            format!("relocation {} of the same program checks that it exists", guard.index_in_section);
        return Vec::from([format!("nothing to fix if the instruction is behind its guard: {check}")]);
    }
    if results.is_empty() {
        let mut help = Vec::from([text(format_args!("guard it with bpf_core_type_exists({root})"))]);
        if planned.target().module_count() == 0 {
            help.push("if a module defines the type, give the module's BTF as well".into());
        }
        return help;
    }
    if planned.record().relo.kind == RelocKind::EnumvalValue {
        let accessor = planned.local_spec().and_then(|spec| spec.accessors.first());
        let name = accessor.and_then(|accessor| accessor.name(planned.btf()));
        let check = |name| text(format_args!("guard it with bpf_core_enum_value_exists({root}, {name})"));
        return name.map(|name| check(name.shortened())).into_iter().collect();
    }
    let mut help = Vec::from(["guard it with bpf_core_field_exists()".into()]);
    help.extend(flavour_help(results, near));
    help
}

/// Proposes a flavour that declares a similar member.
fn flavour_help(results: &[CheckedCandidate<'_>], near: &[NearMatch]) -> Option<String> {
    let ty = results.iter().find_map(|checked| match checked.result {
        CandidateResult::Mismatch(CandidateMismatch::NoMember { ty, .. }) => checked.target_btf.btf.ty(ty),
        _ => None,
    })?;
    let declaration = near.iter().find_map(|near| near.declaration.as_deref())?;
    let name = ty.name().essential();
    // Longer names are printed shortened. The declaration would not compile.
    if name.is_empty() || name.as_bytes().len() > limits::NAME_BYTES {
        return None;
    }
    Some(text(format_args!(
        "or add a flavour `{} {} {{ {declaration} }} __attribute__((preserve_access_index));`",
        ty.kind().keyword(),
        name.flavoured("other"),
    )))
}

/// Returns whether a value is the low 16 bits of another value.
const fn is_truncated(found: i64, expected: i64) -> bool {
    found != expected && found & 0xffff == expected & 0xffff
}

fn error_help(planned: &PlannedReloc<'_>, error: RelocError) -> Option<&'static str> {
    Some(match error {
        RelocError::Ambiguous(_) => {
            "access it through a local flavour with a member that only one of the candidates has, before this access"
        }
        RelocError::AnonymousRoot(_) => "give the type a name, or access it through one that has",
        error if error.is_sign_extension() && planned.record().relo.kind == RelocKind::EnumvalValue => {
            "for libbpf, use a 64-bit enum, or a constant"
        }
        RelocError::Insn(InsnError::UnexpectedValue { insn, found, expected })
            if insn.is_memory_access() && is_truncated(found, expected) =>
        {
            "the compiler cut off the offset, because a load or store has 16 bits for it: read the field with bpf_core_read() from its \
             address, whose offset may have 32 bits"
        }
        RelocError::Insn(InsnError::OffsetTooLarge { .. }) => {
            "read it with bpf_core_read() from the field's address, whose offset may have 32 bits"
        }
        RelocError::Insn(_) | RelocError::Misaligned { .. } => {
            "the instruction does not fit the record: compile the object again, and do not change its code afterwards"
        }
        RelocError::Spec(_) | RelocError::Local(_) => {
            "the record does not fit the object's own types: compile the object again"
        }
        RelocError::Match { .. } | RelocError::Target { .. } => {
            "the target's type is invalid: check the target's BTF"
        }
        RelocError::Internal(_) => return None,
    })
}
