//! The writer for stdout and stderr.

use crate::text::{line::Line, log_command::is_read_by_runner};
use core_relo_report::json::{self, JsonLines};
use serde::Serialize;
use std::io::{self, Write};

/// The maximum length of the line of a value, in bytes. A longer value is printed on several lines.
pub(crate) const LINE_BYTES: usize = 100;

/// Stdout or stderr. Text from input gets to the terminal only as a [`Line`] or as [`JsonLines`], which
/// escape it.
pub(crate) struct Printer<'w> {
    writer: &'w mut dyn Write,
    has_colour: bool,
    /// Whether commands of CI runners are escaped in lines.
    escapes_commands: bool,
}

impl<'w> Printer<'w> {
    pub(crate) fn new(writer: &'w mut dyn Write, has_colour: bool) -> Self {
        Self { writer, has_colour, escapes_commands: is_read_by_runner() }
    }

    /// Prints a line with one `write`, because stderr is not buffered.
    pub(crate) fn line(&mut self, line: impl Into<Line>) -> io::Result<()> {
        let line = line.into();
        let line = if self.escapes_commands { line.without_commands() } else { line };
        self.writer.write_all(&line.into_bytes(self.has_colour))
    }

    /// Prints text of several lines. Names and strings in it are escaped already.
    pub(crate) fn formatted_lines(&mut self, text: &str) -> io::Result<()> {
        text.lines().try_for_each(|line| self.line(Line::new().formatted(line)))
    }

    /// Prints an object as a line of JSON.
    pub(crate) fn json(&mut self, object: &impl Serialize) -> io::Result<()> {
        json::write(&mut *self.writer, object)?;
        self.writer.write_all(b"\n")
    }

    /// Prints lines of JSON.
    pub(crate) fn json_lines(&mut self, lines: &JsonLines) -> io::Result<()> {
        self.writer.write_all(lines.as_bytes())
    }

    /// Prints bytes without escaping them: a completion script, a manual page, a report that has escaped the
    /// text from input itself.
    pub(crate) fn unescaped(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    /// Returns a writer of bytes that are not escaped, as [`unescaped`](Self::unescaped) prints them.
    pub(crate) fn unescaped_writer(&mut self) -> &mut dyn Write {
        &mut *self.writer
    }

    /// Writes out the buffer.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
