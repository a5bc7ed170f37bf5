//! Bad input: which file, where in it, what is wrong, and a way out. One line.

use core_relo::Escaped;
use std::{fmt, path::Path};

/// Something that could not be read or understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadInput {
    /// The file as it was named.
    pub(crate) file: String,
    /// What is wrong, and where in the file.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) help: Option<String>,
}

impl BadInput {
    pub(crate) fn new(file: impl Into<String>, what: impl fmt::Display) -> Self {
        Self { file: file.into(), what: what.to_string(), help: None }
    }

    pub(crate) fn at(path: &Path, what: impl fmt::Display) -> Self {
        Self::new(shown(path), what)
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Escaped(&self.file), Escaped(&self.what))?;
        self.help.iter().try_for_each(|help| write!(f, "; {}", Escaped(help)))
    }
}

/// A path fit to print on one line: what a terminal would obey is escaped.
pub(crate) fn shown(path: &Path) -> String {
    core_relo::Name::new(path.as_os_str().as_encoded_bytes()).to_string()
}
