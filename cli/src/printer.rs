//! What the commands print through: text by the line, JSON by the object, files by the byte.

use crate::{
    json::{self, Json},
    line::Line,
};
use serde::Serialize;
use std::io::{self, Write};

/// Stdout or stderr. Commands get no writer, so that text from input reaches a terminal only in a [`Line`] or in [`Json`].
pub(crate) struct Printer<'w> {
    to: &'w mut dyn Write,
    has_colour: bool,
}

impl<'w> Printer<'w> {
    pub(crate) fn new(to: &'w mut dyn Write, has_colour: bool) -> Self {
        Self { to, has_colour }
    }

    /// Prints a line in one piece, for stderr is not buffered.
    pub(crate) fn line(&mut self, line: impl Into<Line>) -> io::Result<()> {
        self.to.write_all(&line.into().bytes(self.has_colour))
    }

    /// Prints an object as a line of JSON.
    pub(crate) fn json(&mut self, object: &impl Serialize) -> io::Result<()> {
        json::write(&mut *self.to, object)?;
        self.to.write_all(b"\n")
    }

    /// Prints lines of JSON.
    pub(crate) fn json_lines(&mut self, lines: &Json) -> io::Result<()> {
        self.to.write_all(lines.as_bytes())
    }

    /// Prints a file made of nothing from input: a completion script, a manual page.
    pub(crate) fn file(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)
    }

    /// Hands on what is buffered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
