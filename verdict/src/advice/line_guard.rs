//! Guards of missing functions, fields and types in a source line.

use super::c_line::CLine;

/// The text between the condition and the statement of a guard.
const BODY: &str = ") {\n\t";

/// A source line with a guard.
pub(super) struct LineGuard {
    pub(super) code: String,
    /// Whether kernels that lack the element skip the statement. Otherwise the value is 0 there.
    pub(super) skips_statement: bool,
}

impl LineGuard {
    /// Returns a guard of an expression in a line.
    pub(super) fn value(code: String) -> Self {
        Self { code, skips_statement: false }
    }

    /// Returns a guard of a whole statement. `other` is the statement for kernels that lack the element.
    pub(super) fn statement(condition: &str, statement: &str, other: Option<&str>) -> Self {
        let other = other.map_or_else(String::new, |other| format!(" else {{\n\t{other}\n}}"));
        let code = format!("if ({condition}{BODY}{statement}\n}}{other}");
        Self { code, skips_statement: other.is_empty() }
    }

    /// Guards the call of a function. Returns `None` if the line has no such call, or has the guard.
    pub(super) fn call(line: CLine<'_>, function: &str, condition: &str) -> Option<Self> {
        if line.has_guard(condition) {
            return None;
        }
        if let Some(statement) = line.as_statement() {
            return Some(Self::statement(condition, statement, None));
        }
        let call = line.find_call(function)?;
        let guarded = format!("({condition} ? {} : 0)", line.get(&call.range)?);
        line.replace(&call.range, &guarded).map(Self::value)
    }
}

/// Returns the code of a guard with a guard of another element of the same line. `guard` guards the element
/// in a line. Returns `None` if nothing is left to guard.
pub(super) fn add_guard(
    code: &str,
    condition: &str,
    guard: impl FnOnce(CLine<'_>) -> Option<LineGuard>,
) -> Option<String> {
    let Some((head, rest)) = code.split_once(BODY).filter(|(head, _)| head.starts_with("if (")) else {
        return Some(guard(CLine::of_code(code))?.code);
    };
    let (statement, end) = rest.split_once("\n}").filter(|_| !head.contains(condition))?;
    let guarded = guard(CLine::of_code(statement))?.code;
    Some(if guarded.contains(BODY) {
        format!("{head} && {condition}{BODY}{rest}")
    } else {
        format!("{head}{BODY}{guarded}\n}}{end}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarded_call(code: &str, function: &str) -> Option<String> {
        let condition = format!("has({function})");
        add_guard(code, &condition, |line| LineGuard::call(line, function, &condition))
    }

    #[test]
    fn a_second_element_joins_the_guard_of_the_first() {
        let value = guarded_call("return (has(f) ? f() : 0) + g();", "g");
        assert_eq!(value.as_deref(), Some("return (has(f) ? f() : 0) + (has(g) ? g() : 0);"));
        let both = guarded_call("if (has(f)) {\n\tf(g());\n}", "g");
        assert_eq!(both.as_deref(), Some("if (has(f) && has(g)) {\n\tf(g());\n}"));
        let inner = guarded_call("if (has(f)) {\n\treturn f(g());\n}", "g");
        assert_eq!(inner.as_deref(), Some("if (has(f)) {\n\treturn f((has(g) ? g() : 0));\n}"));
        assert_eq!(guarded_call("if (has(f)) {\n\tf(g());\n}", "f"), None, "guarded already");
        assert_eq!(guarded_call("return h();", "g"), None);
    }
}
