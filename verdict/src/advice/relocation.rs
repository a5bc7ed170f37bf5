//! Advice on missing types, members and enumerators.

use super::{
    c_line::{CLine, Call, MemberAccess, path_end, split_arguments},
    fix::{Fix, FixPlace},
    line_guard::LineGuard,
};
use crate::source_line::SourceLine;
use core::ops::Range;
use core_relo::{
    ByteSize, Name,
    btf::limits,
    explain::{AlternativeMember, CType, Explanation},
    plan::{Decision, PlannedReloc, PoisonReason},
};
use hashbrown::HashSet;

/// The macros of libbpf that read a member through a path of members.
const READ_MACROS: [&str; 3] = ["BPF_CORE_READ", "BPF_CORE_READ_BITFIELD_PROBED", "BPF_CORE_READ_BITFIELD"];

/// The access of a poisoned relocation, as C names it.
pub(super) struct Access {
    /// The root type: `struct task_struct`.
    root: String,
    /// The path from the root to a member: `rss_stat[0].count`. The enumerator, for an access to an enum.
    /// Empty for a type.
    pub(super) path: String,
    /// The last name of the path: `count`.
    last: String,
    /// The size of the member in the object.
    size: Option<ByteSize>,
    /// The condition that the kernel has the access.
    pub(super) condition: String,
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

/// Returns the advice for an access to a type of the program's own, which no kernel has.
pub(super) fn own_type_fix(planned: &PlannedReloc<'_>) -> Fix {
    let root = CType::new(planned.btf(), planned.record().relo.root);
    Fix::without_code(format!(
        "`{root}` is the program's own type, which no kernel has: declare it without preserve_access_index. If a header turns that on for \
         all types, as vmlinux.h does, move the type behind its `#pragma clang attribute pop`. If other kernels have the type, guard the \
         access with bpf_core_type_exists({root}) instead"
    ))
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
    let line = source.and_then(|source| CLine::new(&source.text));
    let mut fixes = Vec::new();
    if let Some(line) = line.filter(|line| line.mentions(&access.last)) {
        let alternatives = explanation.alternatives.iter();
        fixes.extend(
            alternatives.filter_map(|alternative| alternative_fix(type_names, &access, &line, alternative)),
        );
    }
    fixes.push(guard_fix(&access, line.as_ref()));
    fixes.into_iter().map(|fix| fix.with_source(source)).collect()
}

impl Access {
    /// Returns the access of a relocation. Returns `None` if C cannot name the access.
    pub(super) fn new(planned: &PlannedReloc<'_>) -> Option<Self> {
        let (btf, spec) = (planned.btf(), planned.local_spec()?);
        let root = CType::new(btf, spec.root).to_string();
        let is_named = btf.ty(spec.root).is_some_and(|ty| !ty.name().is_empty());
        if !is_named || root.contains(['{', '[', '(', '…']) {
            return None;
        }
        let (mut path, mut last) = (String::new(), root.clone());
        for (position, accessor) in spec.accessors.iter().enumerate() {
            match accessor.name(btf) {
                Some(name) => {
                    last = identifier(name)?;
                    path.push_str(if path.is_empty() { "" } else { "." });
                    path.push_str(&last);
                }
                // The first index is that of the root.
                None if position > 0 => path.extend(["[", &accessor.index.to_string(), "]"]),
                None => {}
            }
        }
        let condition = if planned.candidate_count() == 0 {
            format!("bpf_core_type_exists({root})")
        } else if spec.kind.is_enumval() {
            format!("bpf_core_enum_value_exists({root}, {path})")
        } else if path.is_empty() {
            return None;
        } else {
            format!("bpf_core_field_exists({root}, {path})")
        };
        let member = spec.accessors.iter().rev().find(|accessor| accessor.named);
        let member = member.and_then(|accessor| btf.ty(accessor.ty)?.member(accessor.index));
        let size = member.and_then(|member| btf.size_of(member.ty).ok());
        Some(Self { root, path, last, size, condition })
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
    alternative: &AlternativeMember,
) -> Option<Fix> {
    let AlternativeMember { declaration, path, size, .. } = alternative;
    let flavour = new_flavour(type_names, &access.root)?;
    let Access { condition, path: wanted, .. } = access;
    let code = if let Some(MemberAccess { range, base }) = line.find_member_read(wanted) {
        let other = format!("(({flavour} *){})->{path}", parenthesized(base));
        line.replace(&range, &format!("({condition} ? {} : {other})", line.get(&range)?))?
    } else if let Some(MemberAccess { range, base }) = line.find_member_address(wanted) {
        // A read through the address has the size that the program gives.
        access.size.filter(|own| own == size)?;
        let statement = line.statement_around(&range)?;
        let original = line.get(&statement)?;
        let other = format!("&(({flavour} *){})->{path}", parenthesized(base));
        let other = original.replace(line.get(&range)?, &other);
        // Without the barrier, the compiler may compute both addresses before the branch.
        let branches = format!("if ({condition}) {{ {original} }} else {{ {other} asm volatile(\"\"); }}");
        line.replace(&statement, &branches)?
    } else {
        let call = line.find_call("BPF_CORE_READ").filter(|call| !line.is_guarded(&call.range, wanted))?;
        let arguments = split_arguments(call.arguments);
        let (_, others) = arguments
            .split_last()
            .filter(|(last, others)| is_same_path(last, wanted) && !others.is_empty())?;
        // Reads cannot be nested: clang refuses nested accesses that are recorded.
        let base = match others {
            [base] => (*base).to_owned(),
            _ => format!("BPF_CORE_READ({})", others.join(", ")),
        };
        let other = format!("({{ {flavour} *other_ = (void *)({base}); BPF_CORE_READ(other_, {path}); }})");
        line.replace(&call.range, &format!("({condition} ? {} : {other})", line.get(&call.range)?))?
    };
    let text =
        format!("if `{path}` has the meaning of `{wanted}`, read `{path}` where the kernel lacks `{wanted}`");
    let flavour = format!("{flavour} {{\n\t{declaration}\n}} __attribute__((preserve_access_index));");
    Some(Fix::c(FixPlace::Line, text, code).with_declaration(flavour))
}

/// Returns an expression in parentheses, unless it is a name.
fn parenthesized(expression: &str) -> String {
    let is_name = expression.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_name { expression.to_owned() } else { format!("({expression})") }
}

/// Returns whether an argument of a macro is a path of members, whatever its indices are written as.
fn is_same_path(argument: &str, path: &str) -> bool {
    path_end(argument, path) == Some(argument.len())
}

/// Returns the name of a flavour that the object does not have.
fn new_flavour(type_names: &HashSet<&[u8]>, root: &str) -> Option<String> {
    let (keyword, name) =
        root.split_once(' ').filter(|(keyword, _)| matches!(*keyword, "struct" | "union"))?;
    let flavours = ["other", "other2", "other3", "other4"].into_iter();
    let mut names = flavours.map(|flavour| Name::new(name.as_bytes()).flavoured(flavour));
    let free = names.find(|name| !type_names.contains(name.as_bytes()))?;
    Some(format!("{keyword} {free}"))
}

/// Returns a fix that skips the access where the kernel lacks it.
fn guard_fix(access: &Access, line: Option<&CLine<'_>>) -> Fix {
    let (condition, what) = (&access.condition, access.name());
    if let Some(guard) = line.and_then(|line| access.guard(*line)) {
        let text = if guard.skips_statement {
            format!("guard the statement, so that kernels without `{what}` skip it")
        } else {
            format!("guard the read; the value is 0 where the kernel lacks `{what}`")
        };
        return Fix::c(FixPlace::Line, text, guard.code);
    }
    let has_guard = line.is_some_and(|line| line.mentions(&access.last) && line.has_guard(condition));
    let text = if has_guard {
        format!(
            "the line has this guard, but the compiler takes the place of `{what}` before it, as out of a loop: put the condition around the \
             loop, or around the call of the function"
        )
    } else {
        format!("put the access to `{what}` into an `if` with this condition")
    };
    Fix::c(FixPlace::Condition, text, condition.clone())
}

impl Access {
    /// Returns the name of the access for messages: the path, or the type.
    pub(super) fn name(&self) -> &str {
        if self.path.is_empty() { &self.last } else { &self.path }
    }

    /// Guards the access in a line. Returns `None` if the line does not have the access, or has the guard.
    pub(super) fn guard(&self, line: CLine<'_>) -> Option<LineGuard> {
        let Self { condition, path, last, .. } = self;
        // The rest of the call, on the next line, needs no change.
        let begun = || {
            let inserted = format!("!{condition} ? 0 : ");
            READ_MACROS.iter().find_map(|name| line.before_begun_call(name, &inserted))
        };
        let is_mentioned = line.mentions(last);
        if is_mentioned && let Some(code) = line.guard_all(&self.reads(line), condition) {
            return Some(LineGuard::value(code));
        }
        if is_mentioned && line.has_guard(condition) {
            return None;
        }
        if let Some(code) = begun() {
            return Some(LineGuard::value(code));
        }
        if is_mentioned && let Some(statement) = line.as_statement() {
            return Some(LineGuard::statement(condition, statement, line.as_zeroing().as_deref()));
        }
        let range = line.statement_around(&line.find_member_address(path)?.range)?;
        let statement = line.get(&range)?;
        let zeroing = CLine::new(statement).and_then(|statement| statement.as_zeroing());
        let other = zeroing.as_ref().map_or_else(String::new, |zeroing| format!(" else {{ {zeroing} }}"));
        let code = line.replace(&range, &format!("if ({condition}) {{ {statement} }}{other}"))?;
        Some(LineGuard { code, skips_statement: zeroing.is_none() })
    }

    /// Guards all calls of macros that read the access. Returns `None` if none is left.
    pub(super) fn guard_calls(&self, line: CLine<'_>) -> Option<LineGuard> {
        let reads = |call: &Call<'_>| {
            split_arguments(call.arguments).iter().skip(1).any(|argument| *argument == self.path)
                && !line.is_guarded(&call.range, &self.path)
        };
        let calls = READ_MACROS.iter().flat_map(|name| line.calls(name));
        let mut ranges: Vec<_> = calls.filter(reads).map(|call| call.range).collect();
        ranges.sort_by_key(|range| range.start);
        line.guard_all(&ranges, &self.condition).map(LineGuard::value)
    }

    /// Returns the parts of a line that read the access: one without a guard, and those with the same text.
    fn reads(&self, line: CLine<'_>) -> Vec<Range<usize>> {
        let path = &self.path;
        let with_text = |ranges: &mut dyn Iterator<Item = Range<usize>>, found: &Range<usize>| {
            ranges.filter(|range| line.get(range) == line.get(found)).collect()
        };
        if let Some(read) = line.find_member_read(path) {
            return with_text(&mut line.member_reads(path).map(|read| read.range), &read.range);
        }
        let calls = |name| line.calls(name).filter(|call| !line.is_guarded(&call.range, path));
        let macros = || READ_MACROS.iter().flat_map(|name| calls(name));
        let has = |call: &Call<'_>, is_path: &dyn Fn(&str) -> bool| {
            split_arguments(call.arguments).iter().skip(1).any(|argument| is_path(argument))
        };
        let exact = macros().find(|call| has(call, &|argument| argument == path));
        if let Some(call) =
            exact.or_else(|| macros().find(|call| has(call, &|text| is_same_path(text, path))))
        {
            let mut ranges = macros().map(|call| call.range);
            let mut found: Vec<_> = with_text(&mut ranges, &call.range);
            found.sort_by_key(|range| range.start);
            return found;
        }
        let enumerator = || calls("bpf_core_enum_value").find(|call| has(call, &|argument| argument == path));
        line.find_field_info(path).or_else(enumerator).map(|call| call.range).into_iter().collect()
    }
}
