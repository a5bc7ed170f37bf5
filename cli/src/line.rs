//! A line of text output: escaped when it is put together, coloured when it is printed.

use anstyle::Style;
use core_relo::Escaped;
use std::fmt::{self, Write as _};

/// One line of text in which every character that a terminal obeys, or that nobody sees, is escaped, whoever it comes from.
///
/// There is no way to put a raw character or an escape sequence into a line: styles are kept beside the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    text: String,
    /// The styled parts: from where to where in `text`, in order.
    styled: Vec<(usize, usize, Style)>,
}

/// Anything that is printed becomes a line without style. (`Line` itself is not `Display`, so that it cannot be escaped twice.)
impl<T: fmt::Display> From<T> for Line {
    fn from(text: T) -> Self {
        Self::new().text(text)
    }
}

impl Line {
    /// An empty line.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds text.
    pub(crate) fn text(mut self, text: impl fmt::Display) -> Self {
        // Writing to a string does not fail.
        let _ = write!(self.text, "{}", Escaped(text));
        self
    }

    /// Adds text of a style.
    pub(crate) fn styled(mut self, style: Style, text: impl fmt::Display) -> Self {
        let start = self.text.len();
        self = self.text(text);
        if self.text.len() > start {
            self.styled.push((start, self.text.len(), style));
        }
        self
    }

    /// Adds another line's text and styles.
    pub(crate) fn line(mut self, other: &Self) -> Self {
        let start = self.text.len();
        self.text.push_str(&other.text);
        let moved = |(from, to, style): &(usize, usize, Style)| (start + from, start + to, *style);
        self.styled.extend(other.styled.iter().map(moved));
        self
    }

    /// Adds text, then spaces until it is `width` characters wide.
    pub(crate) fn column(mut self, width: usize, text: impl fmt::Display) -> Self {
        let start = self.text.len();
        self = self.text(text);
        let shown = self.text.get(start..).map_or(0, |text| text.chars().count());
        self.text.extend(std::iter::repeat_n(' ', width.saturating_sub(shown)));
        self
    }

    /// Adds a line of a text that is laid out already: tabs at its beginning stay, others become a space.
    pub(crate) fn laid_out(mut self, line: &str) -> Self {
        let rest = line.trim_start_matches('\t');
        self.text.extend(std::iter::repeat_n('\t', line.len() - rest.len()));
        let mut parts = rest.split('\t');
        self = self.text(parts.next().unwrap_or_default());
        parts.fold(self, |line, part| line.text(" ").text(part))
    }

    /// Returns how many bytes the line takes in memory.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>().saturating_add(self.text.len()).saturating_add(size_of_val(&*self.styled))
    }

    /// Returns the bytes to print, with or without the styles' escape sequences, and a line feed.
    pub(crate) fn bytes(&self, has_colour: bool) -> Vec<u8> {
        let mut bytes = String::with_capacity(self.text.len() + 1);
        let mut at = 0;
        for (from, to, style) in self.styled.iter().filter(|_| has_colour) {
            let (before, text) = (self.text.get(at..*from), self.text.get(*from..*to));
            // Writing to a string does not fail.
            let _ =
                write!(bytes, "{}{style}{}{style:#}", before.unwrap_or_default(), text.unwrap_or_default());
            at = *to;
        }
        bytes.push_str(self.text.get(at..).unwrap_or_default());
        bytes.push('\n');
        bytes.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::render::style::{BOLD, DIM};

    fn printed(line: &Line, has_colour: bool) -> String {
        String::from_utf8(line.bytes(has_colour)).unwrap()
    }

    #[test]
    fn nothing_that_a_terminal_obeys_gets_into_a_line() {
        let hostile = "a\nloaded\x1b[31m\u{9b}31m\x07\t\u{202e}";
        let escaped = "a\\nloaded\\u{1b}[31m\\u{9b}31m\\u{7}\\t\\u{202e}";
        assert_eq!(printed(&hostile.into(), true), format!("{escaped}\n"));
        let line = Line::new().styled(BOLD, hostile).column(3, hostile);
        assert_eq!(printed(&line, false), format!("{escaped}{escaped}\n"));
        assert_eq!(printed(&line, true), format!("{BOLD}{escaped}{BOLD:#}{escaped}\n"));
        let laid_out = Line::new().laid_out("\t\t1\tr0\x1b[2J\r\u{85}x");
        assert_eq!(printed(&laid_out, true), "\t\t1 r0\\u{1b}[2J\\r\\u{85}x\n");
    }

    #[test]
    fn styles_are_where_they_were_put() {
        let inner = Line::new().text("x").styled(DIM, "y").styled(DIM, "");
        let line = Line::new().text("ä ").column(4, "é").line(&inner).styled(BOLD, "z").text(".");
        assert_eq!(printed(&line, false), "ä é   xyz.\n");
        assert_eq!(printed(&line, true), format!("ä é   x{DIM}y{DIM:#}{BOLD}z{BOLD:#}.\n"));
        assert_eq!(printed(&Line::new(), true), "\n");
    }
}
