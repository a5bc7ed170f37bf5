//! The writer for stdout and stderr.

use crate::{
    json::writer::{self, JsonLines},
    text::line::Line,
};
use serde::Serialize;
use std::io::{self, Write};

/// Stdout or stderr. Text from input gets to the terminal only as a [`Line`] or as [`JsonLines`], which escape it.
pub(crate) struct Printer<'w> {
    writer: &'w mut dyn Write,
    has_colour: bool,
}

impl<'w> Printer<'w> {
    pub(crate) fn new(writer: &'w mut dyn Write, has_colour: bool) -> Self {
        Self { writer, has_colour }
    }

    /// Prints a line with one `write`, because stderr is not buffered.
    pub(crate) fn line(&mut self, line: impl Into<Line>) -> io::Result<()> {
        self.writer.write_all(&line.into().to_bytes(self.has_colour))
    }

    /// Prints an object as a line of JSON.
    pub(crate) fn json(&mut self, object: &impl Serialize) -> io::Result<()> {
        writer::write(&mut *self.writer, object)?;
        self.writer.write_all(b"\n")
    }

    /// Prints lines of JSON.
    pub(crate) fn json_lines(&mut self, lines: &JsonLines) -> io::Result<()> {
        self.writer.write_all(lines.as_bytes())
    }

    /// Prints bytes without escaping them: a completion script, a manual page, a report that has escaped the text from input itself.
    pub(crate) fn unescaped(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    /// Writes out the buffer.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
