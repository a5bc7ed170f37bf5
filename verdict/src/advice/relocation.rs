//! Advice on missing types, members and enumerators.

use super::{
    c_line::{CLine, MemberAccess, split_arguments},
    fix::{Fix, FixPlace},
};
use crate::source_line::SourceLine;
use core_relo::{
    Name,
    explain::{AlternativeMember, CType, Explanation},
    limits,
    plan::{Decision, PlannedReloc, PoisonReason},
};
use std::collections::HashSet;

/// The access of a poisoned relocation, as C names it.
struct Access {
    /// The root type: `struct task_struct`.
    root: String,
    /// The names of the members: `__state`, or several for a nested member.
    members: Vec<String>,
    /// The condition that the kernel has the access.
    condition: String,
}

/// Returns the fixes of a relocation that does not resolve.
pub(super) fn fixes(
    planned: &PlannedReloc<'_>,
    explanation: &Explanation,
    type_names: &HashSet<&[u8]>,
    source: Option<&SourceLine>,
) -> Vec<Fix> {
    match planned.decision() {
        Ok(Decision::Poison { why: PoisonReason::Width { .. }, .. }) => vec![Fix::without_code(
            "no guard tells the widths apart: read the field with BPF_CORE_READ_BITFIELD(), which uses the kernel's width, or declare it in a flavour with the kernel's type",
        )],
        Ok(Decision::Poison { .. }) => missing_fixes(planned, explanation, type_names, source),
        _ => explanation.help.iter().map(Fix::without_code).collect(),
    }
}

fn missing_fixes(
    planned: &PlannedReloc<'_>,
    explanation: &Explanation,
    type_names: &HashSet<&[u8]>,
    source: Option<&SourceLine>,
) -> Vec<Fix> {
    let Some(access) = Access::new(planned) else {
        return explanation.help.iter().map(Fix::without_code).collect();
    };
    let name = access.members.last().map_or(access.root.as_str(), String::as_str);
    let line = source.and_then(|source| CLine::new(&source.text)).filter(|line| line.mentions(name));
    let mut fixes = Vec::new();
    if let (Some(line), [member]) = (line, &*access.members) {
        let alternatives = explanation.alternatives.iter();
        fixes.extend(
            alternatives
                .filter_map(|alternative| alternative_fix(type_names, &access, &line, member, alternative)),
        );
    }
    fixes.push(guard_fix(&access, line.as_ref()));
    fixes.into_iter().map(|fix| fix.with_source(source)).collect()
}

/// Returns whether a source line has the access of a relocation.
pub(super) fn is_access_line(planned: &PlannedReloc<'_>, source: &SourceLine) -> bool {
    let access = Access::new(planned);
    let name = access.as_ref().and_then(|access| access.members.last());
    name.is_some_and(|name| CLine::new(&source.text).is_some_and(|line| line.mentions(name)))
}

impl Access {
    /// Returns the access of a relocation. Returns `None` if C cannot name the access.
    fn new(planned: &PlannedReloc<'_>) -> Option<Self> {
        let (btf, spec) = (planned.btf(), planned.local_spec()?);
        let root = CType::new(btf, spec.root).to_string();
        let is_named = btf.ty(spec.root).is_some_and(|ty| !ty.name().is_empty());
        if !is_named || root.contains(['{', '[', '(', '…']) {
            return None;
        }
        let names = spec.accessors.iter().filter_map(|accessor| accessor.name(btf));
        let members = names.map(identifier).collect::<Option<Vec<_>>>()?;
        let condition = if planned.candidate_count() == 0 {
            format!("bpf_core_type_exists({root})")
        } else if spec.kind.is_enumval() {
            format!("bpf_core_enum_value_exists({root}, {})", members.first()?)
        } else if members.is_empty() {
            return None;
        } else {
            format!("bpf_core_field_exists({root}, {})", members.join("."))
        };
        Some(Self { root, members, condition })
    }
}

/// Returns a name that is an identifier and not cut.
fn identifier(name: Name<'_>) -> Option<String> {
    let name = core::str::from_utf8(name.as_bytes()).ok()?;
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_plain && !name.is_empty() && name.len() <= limits::NAME_BYTES).then(|| name.to_owned())
}

/// Returns a fix that reads another member where the kernel lacks the access.
fn alternative_fix(
    type_names: &HashSet<&[u8]>,
    access: &Access,
    line: &CLine<'_>,
    member: &str,
    alternative: &AlternativeMember,
) -> Option<Fix> {
    let AlternativeMember { declaration, path, .. } = alternative;
    let flavour = new_flavour(type_names, &access.root)?;
    let condition = &access.condition;
    let code = if let Some(MemberAccess { range, base }) = line.find_member_read(member) {
        let is_name = base.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let base = if is_name { base.to_owned() } else { format!("({base})") };
        let other = format!("(({flavour} *){base})->{path}");
        line.replace(&range, &format!("({condition} ? {} : {other})", line.get(&range)?))?
    } else {
        let call = line.find_call("BPF_CORE_READ")?;
        let arguments = split_arguments(call.arguments);
        let (last, others) =
            arguments.split_last().filter(|(last, others)| **last == member && !others.is_empty())?;
        debug_assert_eq!(*last, member, "filtered");
        // Reads cannot be nested: clang refuses nested accesses that are recorded.
        let base = match others {
            [base] => (*base).to_owned(),
            _ => format!("BPF_CORE_READ({})", others.join(", ")),
        };
        let other = format!("({{ {flavour} *other_ = (void *)({base}); BPF_CORE_READ(other_, {path}); }})");
        line.replace(&call.range, &format!("({condition} ? {} : {other})", line.get(&call.range)?))?
    };
    let text =
        format!("if `{path}` has the meaning of `{member}`, read `{path}` where the kernel lacks `{member}`");
    let flavour = format!("{flavour} {{\n\t{declaration}\n}} __attribute__((preserve_access_index));");
    Some(Fix::c(FixPlace::Line, text, code).with_declaration(flavour))
}

/// Returns the name of a flavour that the object does not have.
fn new_flavour(type_names: &HashSet<&[u8]>, root: &str) -> Option<String> {
    let (keyword, name) =
        root.split_once(' ').filter(|(keyword, _)| matches!(*keyword, "struct" | "union"))?;
    let name = name.split("___").next()?;
    let suffixes = ["other", "other2", "other3", "other4"].into_iter();
    let mut names = suffixes.map(|suffix| format!("{name}___{suffix}"));
    let free = names.find(|name| !type_names.contains(name.as_bytes()))?;
    Some(format!("{keyword} {free}"))
}

/// Returns a fix that skips the access where the kernel lacks it.
fn guard_fix(access: &Access, line: Option<&CLine<'_>>) -> Fix {
    let Access { condition, members, root } = access;
    let what = members.last().map_or(root.as_str(), String::as_str);
    let read = line.and_then(|line| {
        let read = members.last().and_then(|member| line.find_member_read(member));
        let in_macro = || {
            let call = line.find_call("BPF_CORE_READ")?;
            let path = members.join(".");
            split_arguments(call.arguments).last().is_some_and(|last| *last == path).then_some(call.range)
        };
        let enumerator = || Some(line.find_call("bpf_core_enum_value")?.range);
        let range = read.map(|read| read.range).or_else(in_macro).or_else(enumerator)?;
        line.replace(&range, &format!("({condition} ? {} : 0)", line.get(&range)?))
    });
    if let Some(code) = read {
        return Fix::c(
            FixPlace::Line,
            format!("guard the read; the value is 0 where the kernel lacks `{what}`"),
            code,
        );
    }
    if let Some(statement) = line.and_then(CLine::as_statement) {
        let text = format!("guard the statement, so that kernels without `{what}` skip it");
        return Fix::c(FixPlace::Line, text, format!("if ({condition}) {{\n\t{statement}\n}}"));
    }
    let text = format!("put the access to `{what}` into an `if` with this condition");
    Fix::c(FixPlace::Condition, text, condition.clone())
}
