//! Names in texts of several lines: a name may not begin a line of its own, nor do what a terminal obeys.

use core::fmt;
use core_relo::Name;

/// A text of one line, in which everything that is not for printing is escaped.
pub(crate) fn plain(text: &str) -> Name<'_> {
    Name::new(text.as_bytes())
}

/// A text of several lines, which keeps them, and its tabs.
pub(crate) fn plain_lines(text: &str) -> PlainLines<'_> {
    PlainLines(text)
}

/// See [`plain_lines`].
#[derive(Debug)]
pub(crate) struct PlainLines<'t>(&'t str);

impl fmt::Display for PlainLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in self.0.split_inclusive(['\n', '\t']) {
            let end = part.trim_end_matches(['\n', '\t']);
            write!(f, "{}{}", plain(end), part.strip_prefix(end).unwrap_or_default())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_stay_lines() {
        assert_eq!(plain("a\nb\t\x1b[2J").to_string(), "a\\nb\\t\\u{1b}[2J");
        assert_eq!(plain_lines("a\n\nb\tc\x1b\r\n").to_string(), "a\n\nb\tc\\u{1b}\\r\n");
        assert_eq!(plain_lines("").to_string(), "");
    }
}
