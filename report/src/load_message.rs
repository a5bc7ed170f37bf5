//! The message of a refused load: a first line, the source line, the verifier's log behind a margin, hints.

/// The margin of the verifier's lines.
const LOG_MARGIN: &str = "   | ";

/// Returns the first line of a message. A heading of a list is followed by the first entry.
pub fn first_line(message: &str) -> String {
    let mut lines = message.lines().map(str::trim);
    match (lines.next(), lines.next()) {
        (Some(heading), Some(entry)) if heading.ends_with(':') => format!("{heading} {entry}"),
        (line, _) => line.unwrap_or("").to_owned(),
    }
}

/// Returns the lines of a message that follow its first line and decide: the source line, the verifier's last
/// line, and hints. A list, whose first line ends with `:`, has no such lines.
pub fn deciding_lines(message: &str) -> Vec<&str> {
    let mut lines = message.lines();
    if lines.next().is_none_or(|first| first.trim_end().ends_with(':')) {
        return Vec::new();
    }
    let lines: Vec<_> = lines.collect();
    let is_log = |line: &&str| line.starts_with(LOG_MARGIN);
    let last = lines.iter().rposition(is_log);
    let decides = |(index, line): &(usize, &str)| !is_log(line) || Some(*index) == last;
    lines.iter().copied().enumerate().filter(decides).map(|(_, line)| line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_line_and_the_last_line_of_the_log_decide() {
        let message = "p: EACCES\n  --> a.c:7: *p\n   | 1: (79) r1\n   | R4 unbounded\n  a hint";
        assert_eq!(deciding_lines(message), ["  --> a.c:7: *p", "   | R4 unbounded", "  a hint"]);
        assert_eq!(deciding_lines("p: EACCES"), [""; 0]);
        assert_eq!(deciding_lines("unresolved externs:\n  a: x\n  b: y"), [""; 0]);
    }

    #[test]
    fn a_heading_is_followed_by_its_first_entry() {
        assert_eq!(first_line("p: no\nmore"), "p: no");
        assert_eq!(first_line("unresolved externs:\n  a: x\n  b: y"), "unresolved externs: a: x");
        assert_eq!(first_line(""), "");
    }
}
