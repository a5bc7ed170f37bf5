//! The output streams and the exit status of a command.

use crate::{
    error::{BadInput, CommandError},
    format::Format,
    json::error::Failure,
    text::{line::Line, printer::Printer, style},
};
use serde::Serialize;
use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

/// The exit status of the command. If results differ, the largest number counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExitStatus {
    /// 0: every relocation resolves, and everything was loaded, written or shown.
    #[default]
    Success,
    /// 1: the object does not fit the kernel. A relocation is poisoned or fails, or the kernel refused a
    /// request.
    Incompatible,
    /// 2: a result is missing, because of bad input, wrong usage, a lack of permissions, or an output that
    /// cannot be written.
    Error,
    /// The exit status of the user's command in a guest, if it is not 0.
    Command(u8),
}

impl ExitStatus {
    /// Returns the number that the process exits with.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Incompatible => 1,
            Self::Error => 2,
            Self::Command(code) => code,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

/// The output streams of a command, its output format, and its exit status so far.
pub(crate) struct Console<'w> {
    pub(crate) out: Printer<'w>,
    pub(crate) err: Printer<'w>,
    pub(crate) format: Format,
    pub(crate) exit: ExitStatus,
    /// The command's line in the file of `batch`; `None` for a command outside of a batch.
    pub(crate) batch_line: Option<u32>,
}

impl Console<'_> {
    /// Changes the exit status if the new one is worse.
    pub(crate) fn raise_exit(&mut self, status: ExitStatus) {
        self.exit = self.exit.max(status);
    }

    /// Reports bad input in one line on stderr, and raises the exit status to [`ExitStatus::Error`]. For
    /// commands that write their own JSON line about the input.
    pub(crate) fn report_error_on_stderr(&mut self, bad: &BadInput) -> io::Result<()> {
        self.raise_exit(ExitStatus::Error);
        self.err.line(Line::new().styled(style::ERROR, "core-relo").text(format_args!(": {bad}")))?;
        // Without the mark, a CI runner may take a line for a command.
        bad.details.lines().try_for_each(|line| self.err.line(format_args!("  | {line}")))
    }

    /// Reports bad input as [`Self::report_error_on_stderr`] does. In the JSON format, prints a line with the
    /// error on stdout as well.
    pub(crate) fn report_error(&mut self, bad: &BadInput) -> io::Result<()> {
        if self.format == Format::Json {
            self.out.json(&Failure::new(bad, self.batch_line))?;
        }
        self.report_error_on_stderr(bad)
    }

    /// Reports the error of a command, or of a part of it. An output that cannot be written ends the command.
    pub(crate) fn report(&mut self, error: CommandError) -> io::Result<()> {
        match error {
            CommandError::BadInput(bad) => self.report_error(&bad),
            CommandError::Output(e) => Err(e),
        }
    }

    /// Reports bad input as [`Self::report_error`] does, of a command that loads an object.
    pub(crate) fn report_load_error(&mut self, object: &str, bad: &BadInput) -> io::Result<()> {
        if self.format == Format::Json {
            self.out.json(&Failure::new(bad, self.batch_line).for_object(object))?;
        }
        self.report_error_on_stderr(bad)
    }

    /// Prints the report on a change in the running kernel: `report` as JSON, or the line. If it cannot be
    /// written, prints the line on stderr: the change stays, and a caller that repeats it would fail.
    pub(crate) fn report_change(
        &mut self,
        format: Format,
        report: &impl Serialize,
        line: &Line,
    ) -> io::Result<()> {
        let printed = match format {
            Format::Json => self.out.json(report),
            Format::Text => self.out.line(line.clone()),
        };
        let written = printed.and_then(|()| self.out.flush());
        if written.is_err() {
            self.err.line(Line::new().text("core-relo: the change was made: ").line(line))?;
        }
        written
    }

    /// Prints a warning on stderr. The exit status does not change.
    pub(crate) fn warn(&mut self, warning: &str) -> io::Result<()> {
        let line = Line::new().text("core-relo: ").styled(style::WARNING, "warning");
        self.err.line(line.text(format_args!(": {warning}")))
    }

    /// Prints a note on stderr. The exit status does not change.
    pub(crate) fn note(&mut self, note: &str) -> io::Result<()> {
        self.err.line(format_args!("core-relo: note: {note}"))
    }
}

/// Returns whether stderr is a terminal.
pub(crate) fn is_stderr_terminal() -> bool {
    io::stderr().is_terminal()
}
