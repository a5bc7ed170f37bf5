//! Lines of JSON whose text is safe to print: the characters that [`needs_escape`] finds are escaped, and
//! commands of CI runners.

use crate::ci_log::command_positions;
use core_relo::escape::needs_escape;
use serde::Serialize;
use serde_json::{Serializer, ser::Formatter};
use std::io::{self, Write};

/// Writes a value as JSON. Control characters and invisible characters become `\u` and four hexadecimal
/// digits.
pub fn write(out: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, EscapingFormatter)).map_err(io::Error::from)
}

/// Lines of JSON, written by [`write()`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonLines(Vec<u8>);

impl JsonLines {
    /// Adds an object on a line of its own.
    pub fn push(&mut self, object: &(impl Serialize + ?Sized)) -> io::Result<()> {
        write(&mut self.0, object)?;
        self.0.push(b'\n');
        Ok(())
    }

    /// Returns the text of the lines.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Escapes what serde_json does not: it escapes only quotes, backslashes and the control characters below the
/// space.
struct EscapingFormatter;

impl Formatter for EscapingFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        // Most text is printable ASCII, which needs no escape.
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'#') {
            return out.write_all(text.as_bytes());
        }
        // A line of JSON does not begin with text from input.
        let mut commands = command_positions(text).into_iter().peekable();
        let mut plain_start = 0;
        for (at, c) in text.char_indices() {
            let is_command = commands.next_if_eq(&at).is_some() && c == '#';
            if !is_command && !needs_escape(c) {
                continue;
            }
            out.write_all(slice(text, plain_start, at)?)?;
            // A character beyond U+FFFF becomes a pair of surrogates.
            c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))?;
            plain_start = at + c.len_utf8();
        }
        out.write_all(slice(text, plain_start, text.len())?)
    }
}

fn slice(text: &str, start: usize, end: usize) -> io::Result<&[u8]> {
    let slice = text.get(start..end).map(str::as_bytes);
    slice.ok_or_else(|| io::Error::other("JSON: an escape does not end at a character boundary"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn characters_that_a_terminal_obeys_are_escaped() {
        let mut lines = JsonLines::default();
        lines.push("plain \"quoted\"").unwrap();
        lines.push("a\u{7f}b\u{202e}c\u{e9}\u{e0001}").unwrap();
        let expected = "\"plain \\\"quoted\\\"\"\n\"a\\u007fb\\u202ecé\\udb40\\udc01\"\n";
        assert_eq!(std::str::from_utf8(lines.as_bytes()).unwrap(), expected);
        let mut command = JsonLines::default();
        command.push("# a ##[add-path]b").unwrap();
        assert_eq!(command.as_bytes(), b"\"# a \\u0023#[add-path]b\"\n");
    }

    /// A search among all commands for each of them would take minutes.
    #[test]
    fn a_text_of_many_commands_is_escaped_in_linear_time() {
        const COMMANDS: usize = 1_000_000;
        let mut lines = JsonLines::default();
        lines.push(&"##[".repeat(COMMANDS)).unwrap();
        let expected = format!("\"{}\"\n", "\\u0023#[".repeat(COMMANDS));
        assert!(lines.as_bytes() == expected.as_bytes());
    }
}
