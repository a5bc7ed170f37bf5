//! Decisions and mismatches, in words.

use super::{CType, text::text};
use crate::{
    btf::{Btf, Kind, Type},
    ids::TypeId,
    plan::{Decision, Planned, PoisonReason, SkipReason, Tried, Verdict},
    resolve::Mismatch,
};
use alloc::{
    format,
    string::{String, ToString as _},
};

/// Why the record came out as it did; `only` is its candidate, if it has just one and something is missing.
pub(super) fn of(planned: &Planned<'_>, only: Option<&Tried<'_>>) -> String {
    match planned.decision() {
        Err(error) => error.to_string(),
        Ok(Decision::Keep { value: 0 } | Decision::Patch { target: 0, .. })
            if planned.matched().is_none() && planned.asks_target() =>
        {
            missing(planned, only)
        }
        Ok(Decision::Keep { value }) => format!("the value is {value} in the target, too"),
        Ok(Decision::Patch { local, target, .. }) if local == target => {
            format!("the value is {target} in the target, too; the instruction's width changes")
        }
        Ok(Decision::Patch { local, target, .. }) => format!("{local} in the object, {target} in the target"),
        Ok(Decision::Poison { why: PoisonReason::Width { local, target }, .. }) => width(local, target),
        Ok(Decision::Poison { .. }) => missing(planned, only),
        Ok(Decision::Skip(SkipReason::NoFunction)) => {
            "no function covers the instruction (a weak function that the linker dropped)".into()
        }
        Ok(Decision::Skip(SkipReason::NoSection)) => "the object has no code section of that name".into(),
        Ok(Decision::Skip(SkipReason::NotSelected)) => "its program is not selected".into(),
    }
}

fn width(local: u32, target: u32) -> String {
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

/// What is missing: the type, or what is accessed in it.
fn missing(planned: &Planned<'_>, only: Option<&Tried<'_>>) -> String {
    let target = &planned.target().main().name;
    let root = CType::new(planned.btf(), planned.record().relo.root);
    let kind = planned.btf().ty(planned.record().relo.root).map_or(Kind::Void, Type::kind);
    let typedef = if kind == Kind::Typedef { "typedef " } else { "" };
    match (planned.candidate_count(), only) {
        (0, _) => {
            let modules = planned.target().module_count();
            let more = if modules > 0 { format!(" and its {modules} modules") } else { String::new() };
            text(format_args!("{target}{more} has no type `{typedef}{root}`"))
        }
        (1, Some(one)) => {
            text(format_args!("{} [{}]: {}", one.source.name, one.candidate.id, of_verdict(planned, one)))
        }
        (many, _) => text(format_args!("none of the {many} candidates for `{typedef}{root}` has it")),
    }
}

/// What became of a candidate.
pub(super) fn of_verdict(planned: &Planned<'_>, tried: &Tried<'_>) -> String {
    match &tried.verdict {
        Verdict::Match(spec) => {
            let spec = text(spec.text(&tried.source.btf));
            format!("match {}", spec.rsplit_once(" (").map_or("", |(_, place)| place.trim_end_matches(')')))
                .trim_end()
                .into()
        }
        Verdict::Mismatch(mismatch) => of_mismatch(planned, &tried.source.btf, tried.candidate.id, *mismatch),
        Verdict::Error(error) => error.to_string(),
        Verdict::PutOut { by } => match planned.place_of(*by) {
            Some((section, index)) => {
                let section = section.shortened();
                format!("out since relocation {index} of {section}, which it does not match")
            }
            None => "out since an earlier relocation, which it does not match".into(),
        },
    }
}

fn of_mismatch(planned: &Planned<'_>, btf: &Btf<'_>, root: TypeId, mismatch: Mismatch) -> String {
    let step = |step: usize| planned.local_spec().and_then(|spec| spec.accessors.get(step));
    let full_name = |at: usize| step(at).map(|s| s.name(planned.btf())).unwrap_or_default();
    let name = |at: usize| full_name(at).shortened();
    let within = |ty: TypeId| {
        if ty == root { String::new() } else { text(format_args!("{} has ", CType::new(btf, ty))) }
    };
    match mismatch {
        Mismatch::NoMember { step, ty } => text(format_args!("{}no member `{}`", within(ty), name(step))),
        Mismatch::MemberType { step: at, ty, member } => {
            let theirs = btf.ty(ty).and_then(|t| t.member(member)).map_or(TypeId::VOID, |m| m.ty);
            let local = step(at).and_then(|s| planned.btf().ty(s.ty)?.member(s.index));
            let ours = CType::new(planned.btf(), local.map_or(TypeId::VOID, |m| m.ty));
            let theirs = CType::new(btf, theirs);
            text(format_args!("member `{}` is `{theirs}`, incompatible with `{ours}`", name(at)))
        }
        Mismatch::NotComposite { step, ty, kind } => {
            let ty = CType::new(btf, ty);
            text(format_args!("`{}` is looked for in `{ty}` ({kind}), which has no members", name(step)))
        }
        Mismatch::NotArray { ty, kind, .. } => {
            let ty = CType::new(btf, ty);
            text(format_args!("an element is asked of `{ty}` ({kind}), which is no array"))
        }
        Mismatch::OutOfRange { index, nelems, .. } => {
            format!("index {index} is out of range, the array has {nelems} elements")
        }
        Mismatch::NotEnum { ty, kind } => {
            text(format_args!("`{}` ({kind}) is no enumeration", CType::new(btf, ty)))
        }
        Mismatch::NoVariant { .. } => {
            text(format_args!("no enumerator `{}`", full_name(0).essential().shortened()))
        }
        Mismatch::Type { .. } => match planned.record().relo.kind {
            crate::ext::RelocKind::TypeMatches => "not of the same shape".into(),
            _ => "not a compatible type".into(),
        },
    }
}
