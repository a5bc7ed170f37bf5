//! Text of others (of objects, kernels, command lines) made fit for a terminal: what it would obey is escaped.
//!
//! All text output goes through here; JSON escapes by itself.

use core_relo::Name;

/// A text that stays on its line.
pub(crate) fn plain(text: &str) -> String {
    Name::new(text.as_bytes()).to_string()
}

/// The lines of a text of which no line is another's forgery: the verifier's log, what a library put together of escaped
/// parts. Tabs stay.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(|line| line.split('\t').map(plain).collect::<Vec<_>>().join("\t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_nothing_and_lines_are_not_forged() {
        assert_eq!(plain("a\nloaded\x1b[31m\u{9b}31m\x07\t"), "a\\nloaded\\u{1b}[31m\\u{9b}31m\\u{7}\\t");
        assert_eq!(lines("1\tr0\n\x1b[2J\r\n").collect::<Vec<_>>(), ["1\tr0", "\\u{1b}[2J"]);
    }
}
