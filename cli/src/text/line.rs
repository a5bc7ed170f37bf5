//! A line of text output: escaped when it is built, coloured when it is printed.

use anstyle::Style;
use core_relo::Escaped;
use core_relo_report::ci_log::command_positions;
use std::fmt::{self, Write as _};

/// A line of text in which every control character and every invisible character is escaped.
///
/// No method adds raw text or an escape sequence: styles are stored beside the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    text: String,
    /// The styled parts in order: start and end in `text`, and the style.
    styled: Vec<(usize, usize, Style)>,
}

/// Any displayable value becomes a line without style. `Line` itself is not `Display`, so that no text is
/// escaped twice.
impl<T: fmt::Display> From<T> for Line {
    fn from(text: T) -> Self {
        Self::new().text(text)
    }
}

impl Line {
    /// Creates an empty line.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds text.
    pub(crate) fn text(mut self, text: impl fmt::Display) -> Self {
        // Writing to a string does not fail.
        let _ = write!(self.text, "{}", Escaped(text));
        self
    }

    /// Adds text with a style.
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

    /// Adds text, padded with spaces to `width` characters.
    pub(crate) fn column(mut self, width: usize, text: impl fmt::Display) -> Self {
        let start = self.text.len();
        self = self.text(text);
        let shown = self.text.get(start..).map_or(0, |text| text.chars().count());
        self.text.extend(std::iter::repeat_n(' ', width.saturating_sub(shown)));
        self
    }

    /// Adds a line of preformatted text: tabs at its start stay, other tabs become a space.
    pub(crate) fn formatted(mut self, line: &str) -> Self {
        let rest = line.trim_start_matches('\t');
        if rest.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            // Room for the line feed.
            self.text.reserve(line.len() + 1);
            self.text.push_str(line);
            return self;
        }
        self.text.extend(std::iter::repeat_n('\t', line.len() - rest.len()));
        self.text(rest.replace('\t', " "))
    }

    /// Escapes commands of CI runners in the text.
    pub(crate) fn without_commands(self) -> Self {
        let positions = command_positions(&self.text);
        if positions.is_empty() {
            return self;
        }
        let mut text = String::with_capacity(self.text.len());
        // The old end and the new end of the text before each escaped character, and of that character.
        let mut ends = Vec::new();
        let mut rest = &*self.text;
        for at in positions {
            let (before, from) = rest.split_at(at - (self.text.len() - rest.len()));
            text.push_str(before);
            let mut chars = from.chars();
            let escaped = chars.next().into_iter().flat_map(char::escape_unicode);
            text.extend(escaped);
            rest = chars.as_str();
            ends.push((self.text.len() - rest.len(), text.len()));
        }
        text.push_str(rest);
        let moved = |position: usize| {
            let before = ends.partition_point(|(old, _)| *old <= position).checked_sub(1);
            let end = before.and_then(|index| ends.get(index));
            end.map_or(position, |(old, new)| new + (position - old))
        };
        let styled = self.styled.iter().map(|(from, to, style)| (moved(*from), moved(*to), *style)).collect();
        Self { text, styled }
    }

    /// Returns the memory that the line takes, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>().saturating_add(self.text.len()).saturating_add(size_of_val(&*self.styled))
    }

    /// Returns the bytes to print: the text, with the escape sequences of the styles if `has_colour`, and a
    /// line feed.
    pub(crate) fn into_bytes(mut self, has_colour: bool) -> Vec<u8> {
        if !has_colour || self.styled.is_empty() {
            self.text.push('\n');
            return self.text.into_bytes();
        }
        let mut bytes = String::with_capacity(self.text.len() + 1);
        let (mut rest, mut end) = (&*self.text, 0);
        for (from, to, style) in &self.styled {
            let (before, styled) = rest.split_at(from - end);
            let (text, after) = styled.split_at(to - from);
            // Writing to a string does not fail.
            let _ = write!(bytes, "{before}{style}{text}{style:#}");
            (rest, end) = (after, *to);
        }
        bytes.push_str(rest);
        bytes.push('\n');
        bytes.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::text::style::{BOLD, DIM};

    fn printed(line: &Line, has_colour: bool) -> String {
        String::from_utf8(line.clone().into_bytes(has_colour)).unwrap()
    }

    #[test]
    fn lines_have_no_raw_control_characters() {
        let hostile = "a\nloaded\x1b[31m\u{9b}31m\x07\t\u{202e}";
        let escaped = "a\\nloaded\\u{1b}[31m\\u{9b}31m\\u{7}\\t\\u{202e}";
        assert_eq!(printed(&hostile.into(), true), format!("{escaped}\n"));
        let line = Line::new().styled(BOLD, hostile).column(3, hostile);
        assert_eq!(printed(&line, false), format!("{escaped}{escaped}\n"));
        assert_eq!(printed(&line, true), format!("{BOLD}{escaped}{BOLD:#}{escaped}\n"));
        let formatted = Line::new().formatted("\t\t1\tr0\x1b[2J\r\u{85}x");
        assert_eq!(printed(&formatted, true), "\t\t1 r0\\u{1b}[2J\\r\\u{85}x\n");
    }

    /// A runner of CI jobs reads commands from lines.
    #[test]
    fn commands_of_runners_are_escaped_and_styles_stay() {
        let line = Line::new().text("  ").styled(BOLD, "::set-output").text(" ##[a]").styled(DIM, "##vso[b]");
        let escaped = "  {B}\\u{3a}:set-output{B:#} \\u{23}#[a]{D}\\u{23}#vso[b]{D:#}\n";
        let expected = escaped.replace("{B}", &BOLD.to_string()).replace("{B:#}", &format!("{BOLD:#}"));
        let expected = expected.replace("{D}", &DIM.to_string()).replace("{D:#}", &format!("{DIM:#}"));
        assert_eq!(printed(&line.without_commands(), true), expected);
        let plain = Line::from("a::b # c");
        assert_eq!(plain.clone().without_commands(), plain);
    }

    /// A search among all commands for each styled part would take minutes.
    #[test]
    fn a_line_of_many_styled_commands_is_escaped_in_linear_time() {
        const COMMANDS: usize = 200_000;
        let line = (0..COMMANDS).fold(Line::new(), |line, _| line.styled(BOLD, "##["));
        let expected = format!("{BOLD}\\u{{23}}#[{BOLD:#}").repeat(COMMANDS);
        assert!(printed(&line.without_commands(), true) == expected + "\n");
    }

    #[test]
    fn styles_apply_to_their_text() {
        let inner = Line::new().text("x").styled(DIM, "y").styled(DIM, "");
        let line = Line::new().text("ä ").column(4, "é").line(&inner).styled(BOLD, "z").text(".");
        assert_eq!(printed(&line, false), "ä é   xyz.\n");
        assert_eq!(printed(&line, true), format!("ä é   x{DIM}y{DIM:#}{BOLD}z{BOLD:#}.\n"));
        assert_eq!(printed(&Line::new(), true), "\n");
    }
}
