//! The errors of commands: bad input, with the file, its defect, and a remedy; and an output that cannot be
//! written.

use core_relo::{Escaped, Name};
use core_relo_report::UnjudgedInput;
use std::{fmt, io, path::Path};

/// The error that ends a command, or a part of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CommandError {
    #[error("{0}")]
    BadInput(BadInput),
    /// An output stream cannot be written.
    #[error("{0}")]
    Output(#[from] io::Error),
}

/// The result of a command, or of a part of it.
pub(crate) type CommandResult<T = ()> = Result<T, CommandError>;

impl<B: Into<BadInput>> From<B> for CommandError {
    fn from(bad: B) -> Self {
        Self::BadInput(bad.into())
    }
}

/// An input that could not be read or understood. It prints as one line; the details are further lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadInput {
    /// The file's path as the user gave it, or the name of another input: `BTF 12`, `--module`.
    pub(crate) file: String,
    /// The defect, and its position in the file.
    pub(crate) what: String,
    /// A remedy.
    pub(crate) help: Option<String>,
    /// The object's program that the defect is about.
    pub(crate) program: Option<String>,
    /// What another program has printed about the input.
    pub(crate) details: String,
}

impl BadInput {
    pub(crate) fn new(file: impl Into<String>, what: impl fmt::Display) -> Self {
        Self { file: file.into(), what: what.to_string(), help: None, program: None, details: String::new() }
    }

    /// Creates the error for a file.
    pub(crate) fn for_path(path: &Path, what: impl fmt::Display) -> Self {
        Self::new(escape_path(path), what)
    }

    /// Names the program of the object.
    pub(crate) fn for_program(mut self, program: &str) -> Self {
        self.program = Some(program.to_owned());
        self
    }

    /// Adds the output of another program, in lines.
    pub(crate) fn details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    /// Adds a remedy. An empty one is left out.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into()).filter(|help| !help.is_empty());
        self
    }
}

/// The defect and the remedy, for reports.
impl From<&BadInput> for UnjudgedInput {
    fn from(bad: &BadInput) -> Self {
        Self::new(&*bad.file, &bad.what).with_help(bad.help.clone())
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Escaped(&self.file), Escaped(&self.what))?;
        self.help.iter().try_for_each(|help| write!(f, "; {}", Escaped(help)))
    }
}

/// Returns a path as one line of text, with control characters and invisible characters escaped.
pub(crate) fn escape_path(path: &Path) -> String {
    Name::new(path.as_os_str().as_encoded_bytes()).to_string()
}
