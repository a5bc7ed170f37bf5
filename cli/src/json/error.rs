//! Errors about bad input as JSON.

use crate::error::BadInput;
use serde::Serialize;

/// A line with an error. `check` has its own lines for errors.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Failure<'a> {
    error: ErrorJson<'a>,
    /// The command's line in the file of `batch`.
    batch_line: Option<u32>,
    /// The object of a command that loads.
    object: Option<&'a str>,
    program: Option<&'a str>,
}

impl<'a> Failure<'a> {
    pub(crate) fn new(bad: &'a BadInput, batch_line: Option<u32>) -> Self {
        Self { error: ErrorJson::new(bad), batch_line, object: None, program: bad.program.as_deref() }
    }

    /// Names the object that the command was to load.
    pub(crate) fn for_object(self, object: &'a str) -> Self {
        Self { object: Some(object), ..self }
    }
}

/// The value of the key `error`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ErrorJson<'a> {
    file: &'a str,
    what: &'a str,
    help: Option<&'a str>,
}

impl<'a> ErrorJson<'a> {
    pub(crate) fn new(bad: &'a BadInput) -> Self {
        Self { file: &bad.file, what: &bad.what, help: bad.help.as_deref() }
    }
}
