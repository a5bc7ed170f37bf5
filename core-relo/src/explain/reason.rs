//! The texts that explain decisions and mismatches.

use super::{CType, text::text};
use crate::{
    Name,
    btf::{Kind, Type},
    ext::RelocKind,
    plan::{CandidateResult, CheckedCandidate, Decision, PlannedReloc, PoisonReason, SkipReason},
    resolve::{BrokenInvariant, CandidateMismatch},
};
use alloc::{
    format,
    string::{String, ToString as _},
};

/// The targets that a reason is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReasonScope {
    /// One target, whose name and type ids are in the reason.
    OneTarget,
    /// All targets that lack the same.
    AnyTarget,
}

/// Returns the reason for the decision about a record. If the target lacks the type or the access, and the
/// root type has a single candidate, `single` is the result of that candidate.
pub(super) fn record_reason(
    planned: &PlannedReloc<'_>,
    single: Option<&CheckedCandidate<'_>>,
    scope: ReasonScope,
) -> String {
    match planned.decision() {
        Err(error) => error.to_string(),
        Ok(Decision::Keep { value: 0 } | Decision::Patch { target: 0, .. })
            if planned.matched_candidate().is_none() && planned.needs_target() =>
        {
            missing_reason(planned, single, scope)
        }
        Ok(Decision::Keep { value }) => format!("the value is {value} in the target, too"),
        Ok(Decision::Patch { local, target, .. }) if local == target => {
            format!("the value is {target} in the target, too; the instruction's width changes")
        }
        Ok(Decision::Patch { local, target, .. }) => format!("{local} in the object, {target} in the target"),
        Ok(Decision::Poison { why: PoisonReason::Width { local, target }, .. }) => {
            width_reason(local, target)
        }
        Ok(Decision::Poison { .. }) => missing_reason(planned, single, scope),
        Ok(Decision::Skip(SkipReason::NoFunction)) => {
            "no function covers the instruction (a weak function that the linker dropped)".into()
        }
        Ok(Decision::Skip(SkipReason::NoSection)) => "the object has no code section of that name".into(),
        Ok(Decision::Skip(SkipReason::NotSelected)) => "its program is not selected".into(),
    }
}

fn width_reason(local: u32, target: u32) -> String {
    let bytes = |n: u32| match n {
        0 => "a bitfield".into(),
        1 => "1 byte".into(),
        n => format!("{n} bytes"),
    };
    format!(
        "the field is {} in the target, {} in the object, and a load or store can change its width only between pointers and between unsigned integers",
        bytes(target),
        bytes(local)
    )
}

/// Returns the reason for a missing type, or for a type that does not match.
fn missing_reason(
    planned: &PlannedReloc<'_>,
    single: Option<&CheckedCandidate<'_>>,
    scope: ReasonScope,
) -> String {
    let target = &planned.target().vmlinux().name;
    let root = CType::new(planned.btf(), planned.record().relo.root);
    let kind = planned.btf().ty(planned.record().relo.root).map_or(Kind::Void, Type::kind);
    let typedef = if kind == Kind::Typedef { "typedef " } else { "" };
    match (planned.candidate_count(), single) {
        (0, _) if scope == ReasonScope::AnyTarget => text(format_args!("no type `{typedef}{root}`")),
        (1, Some(single)) if scope == ReasonScope::AnyTarget => verdict_text(planned, single),
        (0, _) => {
            let modules = planned.target().module_count();
            let more = if modules > 0 { format!(" and its {modules} modules") } else { String::new() };
            text(format_args!("{target}{more} has no type `{typedef}{root}`"))
        }
        (1, Some(single)) => {
            let verdict = verdict_text(planned, single);
            text(format_args!("{} [{}]: {verdict}", single.target_btf.name, single.candidate.id))
        }
        (many, _) => match planned.eliminated_match() {
            Some((candidate, by_record)) => {
                let eliminated = format!("has it, but is {}", eliminated_text(planned, by_record));
                let source = planned.target().btf(candidate.btf_index);
                match source.filter(|_| scope == ReasonScope::OneTarget) {
                    Some(btf) => text(format_args!("{} [{}] {eliminated}", btf.name, candidate.id)),
                    None => {
                        text(format_args!("one of the {many} candidates for `{typedef}{root}` {eliminated}"))
                    }
                }
            }
            None => text(format_args!("none of the {many} candidates for `{typedef}{root}` has it")),
        },
    }
}

/// Returns the record that eliminated a candidate: its access and its program.
fn eliminated_text(planned: &PlannedReloc<'_>, by_record: usize) -> String {
    let relocs = planned.plan().relocs();
    let Some(record) = relocs.records().get(by_record) else {
        return "eliminated by an earlier relocation, which it does not match".into();
    };
    let access = match &record.spec {
        Ok(spec) => text(spec.access_text(relocs.btf())),
        Err(_) => text(CType::new(relocs.btf(), record.relo.root)),
    };
    match relocs.function(record) {
        Some(function) => {
            let program = Name::new(function.name).shortened();
            text(format_args!("eliminated by `{access}` in {program}, which it does not match"))
        }
        None => format!("eliminated by `{access}`, which it does not match"),
    }
}

/// Returns the text of a verdict.
pub(super) fn verdict_text(planned: &PlannedReloc<'_>, checked: &CheckedCandidate<'_>) -> String {
    match &checked.result {
        CandidateResult::Match(spec) => {
            let spec = text(spec.text(&checked.target_btf.btf));
            match spec.rsplit_once(" (") {
                Some((_, offsets)) => format!("match {}", offsets.trim_end_matches(')')),
                None => "match".into(),
            }
        }
        CandidateResult::Mismatch(mismatch) => {
            // A mismatch comes from an accessor of the local spec and from types of this BTF.
            let reason = mismatch_reason(planned, checked, *mismatch);
            reason.unwrap_or_else(|| BrokenInvariant::Accessor.to_string())
        }
        CandidateResult::Error(error) => error.to_string(),
        CandidateResult::Eliminated { by_record } => eliminated_text(planned, *by_record),
    }
}

fn mismatch_reason(
    planned: &PlannedReloc<'_>,
    checked: &CheckedCandidate<'_>,
    mismatch: CandidateMismatch,
) -> Option<String> {
    let btf = &*checked.target_btf.btf;
    let accessor = |step: usize| planned.local_spec()?.accessors.get(step);
    let name = |step: usize| Some(accessor(step)?.name(planned.btf())?.shortened());
    Some(match mismatch {
        CandidateMismatch::NoMember { step, ty } if ty == checked.candidate.id => {
            text(format_args!("no member `{}`", name(step)?))
        }
        CandidateMismatch::NoMember { step, ty } => {
            text(format_args!("{} has no member `{}`", CType::new(btf, ty), name(step)?))
        }
        CandidateMismatch::MemberType { step, ty, member } => {
            let local = accessor(step)?;
            let local = planned.btf().ty(local.ty)?.member(local.index)?;
            let local = CType::new(planned.btf(), local.ty);
            let target = CType::new(btf, btf.ty(ty)?.member(member)?.ty);
            text(format_args!("member `{}` is `{target}`, incompatible with `{local}`", name(step)?))
        }
        CandidateMismatch::NotComposite { step, ty, kind } => {
            let ty = CType::new(btf, ty);
            text(format_args!("`{}` is not found: `{ty}` ({kind}) has no members", name(step)?))
        }
        CandidateMismatch::NotArray { ty, kind, .. } => {
            let ty = CType::new(btf, ty);
            text(format_args!("`{ty}` ({kind}) has no elements: it is not an array"))
        }
        CandidateMismatch::OutOfRange { index, nelems, .. } => {
            format!("index {index} is out of range, the array has {nelems} elements")
        }
        CandidateMismatch::NotEnum { ty, kind } => {
            text(format_args!("`{}` ({kind}) is not an enumeration", CType::new(btf, ty)))
        }
        CandidateMismatch::NoEnumerator { .. } => {
            let name = accessor(0)?.name(planned.btf())?.essential();
            text(format_args!("no enumerator `{}`", name.shortened()))
        }
        CandidateMismatch::Type { .. } => match planned.record().relo.kind {
            RelocKind::TypeMatches => "not of the same shape".into(),
            _ => "not a compatible type".into(),
        },
    })
}
