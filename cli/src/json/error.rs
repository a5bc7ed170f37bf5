//! Errors about bad input as JSON.

use crate::error::BadInput;
use serde::Serialize;

/// A line with an error. `check` has its own lines for errors.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Failure<'a> {
    error: ErrorJson<'a>,
    /// The command's line in the file of `batch`.
    batch_line: Option<u32>,
}

impl<'a> Failure<'a> {
    pub(crate) fn new(bad: &'a BadInput, batch_line: Option<u32>) -> Self {
        Self { error: ErrorJson::new(bad), batch_line }
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
