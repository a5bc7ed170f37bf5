//! The output streams and the exit status of a command.

use crate::{
    args::format::Format,
    error::BadInput,
    json::error::Failure,
    text::{line::Line, printer::Printer, style},
};
use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

/// The exit status of the command. A later variant is worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExitStatus {
    /// 0: every relocation resolves, or everything was loaded.
    #[default]
    Resolved,
    /// 1: a relocation is poisoned or fails, or the kernel refused a program or map.
    Unresolved,
    /// 2: the result is unknown, because of bad input or an output that cannot be written.
    Unknown,
    /// The exit status of the user's command in a guest, if it is not 0.
    Command(u8),
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Resolved => Self::SUCCESS,
            ExitStatus::Unresolved => Self::from(1),
            ExitStatus::Unknown => Self::from(2),
            ExitStatus::Command(code) => Self::from(code),
        }
    }
}

/// The output streams of a command, its output format, and its exit status so far.
pub(crate) struct Console<'w> {
    pub(crate) out: Printer<'w>,
    pub(crate) err: Printer<'w>,
    pub(crate) format: Format,
    pub(crate) exit: ExitStatus,
}

impl Console<'_> {
    /// Changes the exit status if the new one is worse.
    pub(crate) fn raise_exit(&mut self, status: ExitStatus) {
        self.exit = self.exit.max(status);
    }

    /// Reports bad input on stderr, in one line.
    pub(crate) fn error(&mut self, bad: &BadInput) -> io::Result<()> {
        self.raise_exit(ExitStatus::Unknown);
        self.err.line(Line::new().styled(style::ERROR, "core-relo").text(format_args!(": {bad}")))
    }

    /// Reports bad input on stderr in one line. If the format is JSON, stdout gets a line, too.
    pub(crate) fn fail(&mut self, bad: &BadInput) -> io::Result<()> {
        if self.format == Format::Json {
            self.out.json(&Failure::new(bad))?;
        }
        self.error(bad)
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
