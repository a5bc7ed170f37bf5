//! A line of C source, and expressions in it. Nothing here is a parser: what is not recognized stays
//! unchanged.

use core::ops::Range;

/// The words that begin a statement which is no expression.
const KEYWORDS: [&str; 12] =
    ["return", "goto", "break", "continue", "if", "else", "for", "while", "do", "case", "default", "switch"];

/// The macros of libbpf that ask for a property of a member, which is poisoned where the kernel lacks the
/// member.
const FIELD_INFO: [&str; 2] = ["bpf_core_field_offset", "bpf_core_field_size"];

/// The macro of libbpf that tells whether the kernel has a type.
const TYPE_EXISTS: &str = "bpf_core_type_exists";

/// The operators and macros whose argument is named, but not read.
const UNEVALUATED: [&str; 5] = [
    "sizeof",
    "bpf_core_field_exists",
    "bpf_core_field_offset",
    "bpf_core_field_size",
    "__builtin_preserve_field_info",
];

/// The functions that fill memory: of their first argument, with the bytes of their second.
const FILLS: [&str; 8] = [
    "bpf_core_read",
    "bpf_core_read_str",
    "bpf_core_read_user",
    "bpf_core_read_user_str",
    "bpf_probe_read",
    "bpf_probe_read_str",
    "bpf_probe_read_kernel",
    "bpf_probe_read_kernel_str",
];

/// The macros that fill the memory at their first argument, whose type has the size.
const FILLS_INTO: [&str; 5] = [
    "BPF_CORE_READ_INTO",
    "BPF_CORE_READ_STR_INTO",
    "BPF_CORE_READ_USER_INTO",
    "BPF_PROBE_READ_INTO",
    "BPF_PROBE_READ_STR_INTO",
];

/// The length of the longest line that is rewritten. Longer lines do not come from people.
const LINE_BYTES: usize = 256;

/// A complete line of C, without its comment at the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct CLine<'s>(&'s str);

/// A call in a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call<'s> {
    pub(super) range: Range<usize>,
    /// The text between the parentheses.
    pub(super) arguments: &'s str,
}

/// A member access by pointer in a line: `task->__state`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MemberAccess<'s> {
    pub(super) range: Range<usize>,
    /// The pointer: `task`.
    pub(super) base: &'s str,
}

impl<'s> CLine<'s> {
    /// Returns the line. Returns `None` for a text that is cut or empty.
    pub(super) fn new(text: &'s str) -> Option<Self> {
        let end = [text.find("//"), text.find("/*")].into_iter().flatten().min().unwrap_or(text.len());
        let line = text.get(..end)?.trim();
        let has_rest = !text.trim_end().ends_with("*/") && text.contains("/*");
        let is_short = line.len() <= LINE_BYTES;
        (is_short && !line.is_empty() && !text.contains('…') && !line.starts_with('#') && !has_rest)
            .then_some(Self(line))
    }

    /// Returns code that a fix has made of a line.
    pub(super) const fn of_code(code: &'s str) -> Self {
        Self(code)
    }

    /// Returns the line with an expression in place of a part.
    pub(super) fn replace(&self, range: &Range<usize>, expression: &str) -> Option<String> {
        Some(format!("{}{expression}{}", self.0.get(..range.start)?, self.0.get(range.end..)?))
    }

    /// Returns the line with a guard around each of the parts, which are in order.
    pub(super) fn guard_all(&self, parts: &[Range<usize>], condition: &str) -> Option<String> {
        let (mut code, mut rest) = (String::new(), 0);
        for part in parts {
            code.push_str(self.0.get(rest..part.start)?);
            code.extend(["(", condition, " ? ", self.get(part)?, " : 0)"]);
            rest = part.end;
        }
        code.push_str(self.0.get(rest..)?);
        (!parts.is_empty()).then_some(code)
    }

    /// Returns a part of the line.
    pub(super) fn get(&self, range: &Range<usize>) -> Option<&'s str> {
        self.0.get(range.clone())
    }

    /// Finds the first call of a function or macro.
    pub(super) fn find_call(&self, name: &str) -> Option<Call<'s>> {
        self.calls(name).next()
    }

    /// Finds the calls of a function or macro.
    pub(super) fn calls(&self, name: &str) -> impl Iterator<Item = Call<'s>> {
        self.identifiers(name).filter_map(|start| {
            let after = start.checked_add(name.len())?;
            let rest = self.0.get(after..)?;
            let open = after.checked_add(rest.len().checked_sub(rest.trim_start().len())?)?;
            let length = closing_parenthesis(self.0.get(open..)?)?;
            let close = open.checked_add(length)?;
            let arguments = self.0.get(open.checked_add(1)?..close)?;
            Some(Call { range: start..close.checked_add(1)?, arguments })
        })
    }

    /// Finds a read of a path of members by pointer. Of several, a read with the indices of the path comes
    /// first.
    pub(super) fn find_member_read(&self, path: &str) -> Option<MemberAccess<'s>> {
        self.prefer_path(self.member_reads(path), path)
    }

    /// Finds the reads of a path of members by pointer, such as `rss_stat[0].count`: not its address, not an
    /// assignment, not a part of a longer access, and not guarded.
    pub(super) fn member_reads(&self, path: &str) -> impl Iterator<Item = MemberAccess<'s>> {
        self.member_accesses(path).filter(move |access| {
            let Some((before, after)) = self.around(&access.range) else { return false };
            let is_address = before.ends_with('&') && !before.ends_with("&&");
            let is_assigned = (after.starts_with('=') && !after.starts_with("=="))
                || after.starts_with("++")
                || after.starts_with("--")
                || after
                    .get(1..)
                    .is_some_and(|r| r.starts_with('=') && !after.starts_with(['=', '!', '<', '>']));
            let is_unevaluated = UNEVALUATED
                .iter()
                .any(|name| before.strip_suffix('(').is_some_and(|before| before.trim_end().ends_with(name)));
            !is_address && !is_assigned && !is_unevaluated && !self.is_guarded(&access.range, path)
        })
    }

    /// Finds a call of a macro that asks for a member: `bpf_core_field_size(task->comm)`.
    pub(super) fn find_field_info(&self, path: &str) -> Option<Call<'s>> {
        FIELD_INFO.iter().flat_map(|name| self.calls(name)).find(|call| {
            let is_member = |argument: &&str| {
                path_end(argument, path) == Some(argument.len())
                    || CLine(argument).member_accesses(path).any(|access| access.range.end == argument.len())
            };
            split_arguments(call.arguments).iter().any(is_member)
        })
    }

    /// Returns the first access that is written with the indices of a path, or else the first.
    fn prefer_path(
        &self,
        accesses: impl Iterator<Item = MemberAccess<'s>>,
        path: &str,
    ) -> Option<MemberAccess<'s>> {
        let is_path =
            |access: &MemberAccess<'_>| self.get(&access.range).is_some_and(|text| text.ends_with(path));
        let mut first = None;
        for access in accesses {
            if is_path(&access) {
                return Some(access);
            }
            first.get_or_insert(access);
        }
        first
    }

    /// Finds the address of a path of members: `&task->rss_stat[0].count`. The range includes the operator.
    pub(super) fn find_member_address(&self, path: &str) -> Option<MemberAccess<'s>> {
        let addresses = self.member_accesses(path).filter_map(|access| {
            let (before, _) = self.around(&access.range)?;
            let before = before.strip_suffix('&').filter(|before| !before.ends_with('&'))?;
            Some(MemberAccess { range: before.len()..access.range.end, base: access.base })
        });
        self.prefer_path(addresses, path)
    }

    /// Finds the accesses to a path of members by pointer that are not parts of longer accesses.
    fn member_accesses(&self, path: &str) -> impl Iterator<Item = MemberAccess<'s>> {
        let first = path.split_once(['.', '[']).map_or(path, |(first, _)| first);
        self.identifiers(first).filter_map(move |start| {
            let end = start.checked_add(path_end(self.0.get(start..)?, path)?)?;
            let before = self.0.get(..start)?.trim_end().strip_suffix("->")?.trim_end();
            let base_start = postfix_start(before)?;
            let (_, after) = self.around(&(base_start..end))?;
            let is_longer = after.starts_with(['[', '(', '.']) || after.starts_with("->");
            (!is_longer).then_some(MemberAccess { range: base_start..end, base: before.get(base_start..)? })
        })
    }

    /// Returns whether a part is guarded as fixes guard it:
    /// `bpf_core_field_exists(struct task_struct, comm) ? task->comm : 0`.
    pub(super) fn is_guarded(&self, part: &Range<usize>, path: &str) -> bool {
        let Some((before, _)) = self.around(part) else { return false };
        let condition = before.strip_suffix('?').and_then(|before| before.trim_end().strip_suffix(')'));
        condition.is_some_and(|condition| {
            let is_type = || condition.rsplit_once('(').is_some_and(|(name, _)| name.ends_with(TYPE_EXISTS));
            condition.ends_with(&format!(", {path}")) || is_type()
        })
    }

    /// Returns whether the line has a guard of fixes.
    pub(super) fn has_guard(&self, condition: &str) -> bool {
        self.0.contains(condition)
    }

    /// Returns the text before and after a part, without the white space around the part; `None` if the range
    /// is no part of the line.
    fn around(&self, range: &Range<usize>) -> Option<(&'s str, &'s str)> {
        Some((self.0.get(..range.start)?.trim_end(), self.0.get(range.end..)?.trim_start()))
    }

    /// Returns the range of the statement around a part of the line, if an `if` can guard it.
    pub(super) fn statement_around(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let is_end = |c: char| matches!(c, ';' | '{' | '}');
        let before = self.0.get(..part.start)?;
        let after_other = before.rfind(is_end).map_or(Some(0), |at| at.checked_add(1))?;
        let start = before.len().checked_sub(before.get(after_other..)?.trim_start().len())?;
        let end = part.end.checked_add(self.0.get(part.end..)?.find(';')?)?.checked_add(1)?;
        let is_outside_parentheses = closes_parentheses(self.0.get(..start)?);
        let statement = CLine(self.0.get(start..end)?);
        (is_outside_parentheses && statement.as_statement().is_some()).then_some(start..end)
    }

    /// Returns the line with a text before a call that continues on the next line, if the call is all that
    /// follows an assignment or a `return`.
    pub(super) fn before_begun_call(&self, name: &str, inserted: &str) -> Option<String> {
        let start = self.identifiers(name).last()?;
        let (before, call) = self.0.split_at_checked(start)?;
        let open = call.get(name.len()..)?.trim_start();
        let is_begun = open.starts_with('(') && closing_parenthesis(open).is_none();
        let value_of = before.trim_end();
        let is_assigned =
            value_of.strip_suffix('=').is_some_and(|left| !left.ends_with(['=', '!', '<', '>']));
        (is_begun && (is_assigned || value_of == "return")).then(|| format!("{before}{inserted}{call}"))
    }

    /// Returns the line as a statement, if the line is a complete statement that an `if` can guard: no
    /// declaration and no jump.
    pub(super) fn as_statement(&self) -> Option<&'s str> {
        let body = self.0.strip_suffix(';')?.trim_end();
        if body.contains(';') || !is_balanced(body) {
            return None;
        }
        let start = body.trim_start_matches('*');
        let end = start.find(|c: char| !is_identifier_char(c)).unwrap_or(start.len());
        let (word, rest) = start.split_at_checked(end)?;
        // After the first word of a declaration comes another word or a pointer's star.
        let rest = rest.trim_start();
        let is_expression =
            rest.starts_with(['=', '-', '.', '[', '(', '+', '|', '&', '^', '<', '>', '/', '%']);
        let is_statement = !word.is_empty() && !KEYWORDS.contains(&word) && is_expression;
        is_statement.then_some(self.0)
    }

    /// Returns a statement that sets the memory to 0 which the line, one call, fills. Without it, memory that
    /// the call would fill stays as it is, which may be without a value.
    pub(super) fn as_zeroing(&self) -> Option<String> {
        let is_whole = |call: &Call<'_>| {
            let around = self.around(&call.range);
            around.is_some_and(|(before, after)| matches!(before, "" | "(void)") && after == ";")
        };
        let find = |names: &[&str]| names.iter().flat_map(|name| self.calls(name)).find(is_whole);
        if let Some(call) = find(&FILLS) {
            let arguments = split_arguments(call.arguments);
            let [target, size, _] = arguments.as_slice() else { return None };
            // clang needs a constant.
            let is_constant = size.bytes().all(|byte| byte.is_ascii_digit()) || is_sizeof(size);
            return is_constant.then(|| format!("__builtin_memset({target}, 0, {size});"));
        }
        let call = find(&FILLS_INTO)?;
        let target = *split_arguments(call.arguments).first()?;
        let object = match target.strip_prefix('&') {
            Some(object) => object.to_owned(),
            None => format!("*({target})"),
        };
        Some(format!("__builtin_memset({target}, 0, sizeof({object}));"))
    }

    /// Returns whether the line has an identifier.
    pub(super) fn mentions(&self, name: &str) -> bool {
        self.identifiers(name).next().is_some()
    }

    /// Returns the positions of an identifier.
    fn identifiers(&self, name: &str) -> impl Iterator<Item = usize> {
        self.0.match_indices(name).map(|(start, _)| start).filter(move |start| {
            let before = self.0.get(..*start).and_then(|text| text.chars().next_back());
            let after = start.checked_add(name.len()).and_then(|end| self.0.get(end..)?.chars().next());
            !name.is_empty()
                && !before.is_some_and(is_identifier_char)
                && !after.is_some_and(is_identifier_char)
        })
    }
}

/// Returns the length of a path of members at the start of a text. The indices of the text may be any
/// expressions, and white space may surround its parts.
pub(super) fn path_end(text: &str, path: &str) -> Option<usize> {
    let (mut rest, mut path) = (text, path);
    while let Some(c) = path.chars().next() {
        rest = if c == '[' {
            path = path.get(path.find(']')?.checked_add(1)?..)?;
            let open = rest.trim_start();
            let close = open.starts_with('[').then(|| closing_bracket(open)).flatten()?;
            open.get(close.checked_add(1)?..)?
        } else if c == '.' {
            path = path.get(1..)?;
            rest.trim_start().strip_prefix('.')?.trim_start()
        } else {
            let (name, others) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
            path = others;
            rest.strip_prefix(name).filter(|rest| !rest.starts_with(is_identifier_char))?
        };
    }
    text.len().checked_sub(rest.len())
}

/// Returns the position of the bracket that closes the first one. The text begins with a bracket.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth = depth.checked_add(1)?,
            ']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Splits arguments at the commas outside of parentheses.
pub(super) fn split_arguments(arguments: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let separates = |c| {
        match c {
            '(' | '[' | '{' => depth = depth.saturating_add(1),
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    arguments.split(separates).map(str::trim).collect()
}

const fn is_identifier_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns whether an expression is a `sizeof` with parentheses, and nothing else.
fn is_sizeof(text: &str) -> bool {
    let operand = text.strip_prefix("sizeof").map(str::trim_start).filter(|operand| operand.starts_with('('));
    operand.is_some_and(|operand| closing_parenthesis(operand) == operand.len().checked_sub(1))
}

/// Returns the position of the parenthesis that closes the first one. The text begins with a parenthesis.
fn closing_parenthesis(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth = depth.checked_add(1)?,
            ')' => depth = depth.checked_sub(1)?,
            '"' | '\'' => return None,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then_some(at);
        }
    }
    None
}

/// Returns whether a text closes each parenthesis that it opens.
fn closes_parentheses(text: &str) -> bool {
    let count = |wanted: char| text.matches(wanted).count();
    count('(') == count(')') && count('[') == count(']')
}

/// Returns whether every parenthesis is closed. Texts with braces or literals are not balanced.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0i32;
    for c in text.chars() {
        match c {
            '(' | '[' => depth = depth.saturating_add(1),
            ')' | ']' => depth = depth.saturating_sub(1),
            '{' | '}' | '\'' => return false,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// Returns the start of the postfix expression that ends a text: names, calls, indices and parentheses,
/// joined by `->` and `.`.
fn postfix_start(text: &str) -> Option<usize> {
    let mut rest = text;
    loop {
        while let Some(close) = rest.chars().next_back().filter(|c| matches!(c, ')' | ']')) {
            let open = opening(rest, close)?;
            rest = rest.get(..open)?;
        }
        rest = rest.trim_end_matches(is_identifier_char);
        let joined = rest.strip_suffix("->").or_else(|| rest.strip_suffix('.'));
        match joined {
            Some(before) => rest = before,
            None => return (rest.len() < text.len()).then_some(rest.len()),
        }
    }
}

/// Returns the position of the parenthesis or bracket that the last character closes.
fn opening(text: &str, close: char) -> Option<usize> {
    let open = if close == ')' { '(' } else { '[' };
    let mut depth = 0u32;
    for (at, c) in text.char_indices().rev() {
        if c == close {
            depth = depth.checked_add(1)?;
        } else if c == open {
            depth = depth.checked_sub(1)?;
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base_of<'s>(line: &'s str, member: &str) -> Option<&'s str> {
        Some(CLine::new(line)?.find_member_read(member)?.base)
    }

    #[test]
    fn reads_of_members_are_found_with_their_pointers() {
        assert_eq!(base_of("event->state = task->__state;", "__state"), Some("task"));
        assert_eq!(base_of("x = (u64)task->robust_list; // why", "robust_list"), Some("task"));
        assert_eq!(base_of("if (a && get(x)->in[2].b->c == 3) {", "c"), Some("get(x)->in[2].b"));
        assert_eq!(base_of("return ((struct s *)p)->c;", "c"), Some("((struct s *)p)"));
        for line in [
            "f(&task->a);",
            "task->a = 1;",
            "task->a += 1;",
            "task->a->b;",
            "task.a;",
            "sizeof(t->a)",
            "t->ab",
        ] {
            assert_eq!(base_of(line, "a"), None, "{line}");
        }
    }

    #[test]
    fn calls_are_found_with_their_arguments() {
        let line = CLine::new("u64 t = BPF_CORE_READ(f(a, b), mm, x) + 1;").unwrap();
        let call = line.find_call("BPF_CORE_READ").unwrap();
        assert_eq!(line.get(&call.range), Some("BPF_CORE_READ(f(a, b), mm, x)"));
        assert_eq!(split_arguments(call.arguments), ["f(a, b)", "mm", "x"]);
        assert_eq!(line.find_call("CORE_READ"), None);
        assert_eq!(CLine::new("f(a,").unwrap().find_call("f"), None);
    }

    #[test]
    fn only_complete_statements_can_be_guarded() {
        let statement = |text| CLine::new(text).and_then(|line| line.as_statement());
        for line in ["f(a, b);", "x = f();", "*p = 1;", "e->a[1] |= f(x);"] {
            assert_eq!(statement(line), Some(line));
        }
        for line in [
            "u64 x = f();",
            "struct s *p = f();",
            "return f();",
            "b);",
            "if (f())",
            "x = (a",
            "} while (f());",
        ] {
            assert_eq!(statement(line), None, "{line}");
        }
    }

    #[test]
    fn paths_of_members_are_found_whatever_their_indices_are_written_as() {
        assert_eq!(base_of("x = p->mm->stat[FILES].count;", "stat[0].count"), Some("p->mm"));
        assert_eq!(base_of("x = p->stat [ a[1] ] . count + 1;", "stat[0].count"), Some("p"));
        assert_eq!(base_of("x = p->stat[0].count.rest;", "stat[0].count"), None);
        assert_eq!(base_of("x = p->stat[0];", "stat[0].count"), None);
        assert_eq!(path_end("stat[MM].count", "stat[3].count"), Some(14));
        assert_eq!(path_end("stat.count", "stat[3].count"), None);
        assert_eq!(path_end("state", "stat"), None);
    }

    /// A guard of `p->a[2]` would guard the other element, which stays a read of a member that the kernel
    /// lacks.
    #[test]
    fn of_several_elements_the_one_of_the_path_is_found() {
        let read = |path| {
            let line = CLine::new("x = p->a[1] + p->a[ 3 ] + p->a[2];")?;
            line.get(&line.find_member_read(path)?.range)
        };
        assert_eq!(read("a[2]"), Some("p->a[2]"));
        assert_eq!(read("a[7]"), Some("p->a[1]"), "any index, as of a loop");
        let line = CLine::new("f(&p->a[1], &p->a[2]);").unwrap();
        assert_eq!(line.get(&line.find_member_address("a[2]").unwrap().range), Some("&p->a[2]"));
    }

    #[test]
    fn a_guarded_read_needs_no_second_guard() {
        let line = "x = (bpf_core_field_exists(struct s, a) ? s->a : 0) + t->a;";
        assert_eq!(base_of(line, "a"), Some("t"));
        assert_eq!(base_of("x = (s->b ? s->a : 0);", "a"), Some("s"));
    }

    #[test]
    fn a_question_about_a_member_is_no_read() {
        let line =
            CLine::new("x = bpf_core_field_size(p->a) + bpf_core_field_offset(struct s, b.c);").unwrap();
        assert_eq!(line.find_member_read("a"), None);
        let call = |path| line.find_field_info(path).and_then(|call| line.get(&call.range));
        assert_eq!(call("a"), Some("bpf_core_field_size(p->a)"));
        assert_eq!(call("b.c"), Some("bpf_core_field_offset(struct s, b.c)"));
        assert_eq!(call("b"), None);
    }

    #[test]
    fn memory_that_a_call_fills_is_set_to_zero() {
        let zeroing = |text| CLine::new(text).and_then(|line| line.as_zeroing());
        for (line, expected) in [
            ("bpf_core_read(&v, sizeof(v), &p->a);", Some("__builtin_memset(&v, 0, sizeof(v));")),
            ("(void)bpf_probe_read_kernel(buf, 8, p->a);", Some("__builtin_memset(buf, 0, 8);")),
            ("BPF_CORE_READ_INTO(&v, p, b, a);", Some("__builtin_memset(&v, 0, sizeof(v));")),
            ("BPF_CORE_READ_STR_INTO(to, p, a);", Some("__builtin_memset(to, 0, sizeof(*(to)));")),
            ("bpf_core_read(&v, len, &p->a);", None),
            ("bpf_core_read(&v, sizeof(v) - len, &p->a);", None),
            ("bpf_core_read(&v, sizeof(v) * f(n), &p->a);", None),
            ("bpf_core_read(&v, sizeof(*(v)), &p->a);", Some("__builtin_memset(&v, 0, sizeof(*(v)));")),
            ("err = bpf_core_read(&v, sizeof(v), &p->a);", None),
            ("f(&p->a);", None),
        ] {
            assert_eq!(zeroing(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn the_statement_around_an_address_is_found() {
        let statement = |text: &'static str| {
            let line = CLine::new(text)?;
            let range = line.statement_around(&line.find_member_address("a.b")?.range)?;
            line.get(&range)
        };
        assert_eq!(statement("f(&p->a.b);"), Some("f(&p->a.b);"));
        assert_eq!(statement("int g(void) { x = 1; f(8, &p->a.b); return 0; }"), Some("f(8, &p->a.b);"));
        assert_eq!(statement("for (i = 0; f(&p->a.b); i++) {"), None, "a part of a loop");
        assert_eq!(statement("return f(&p->a.b);"), None);
        assert_eq!(statement("if (f(&p->a.b)) g();"), None);
    }

    #[test]
    fn a_call_that_continues_on_the_next_line_is_guarded_where_it_is_the_whole_value() {
        let guarded = |text| CLine::new(text).and_then(|line| line.before_begun_call("READ", "c ? 0 : "));
        assert_eq!(guarded("x = READ(p,").as_deref(), Some("x = c ? 0 : READ(p,"));
        assert_eq!(guarded("u64 x += READ(f(p),").as_deref(), Some("u64 x += c ? 0 : READ(f(p),"));
        assert_eq!(guarded("return READ(p,").as_deref(), Some("return c ? 0 : READ(p,"));
        for line in ["x = READ(p);", "x = 1 + READ(p,", "if (x == READ(p,", "f(READ(p,", "x = 1;"] {
            assert_eq!(guarded(line), None, "{line}");
        }
    }
}
