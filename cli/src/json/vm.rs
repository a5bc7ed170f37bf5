//! The JSON lines of `vm`.

use crate::{
    cmd::vm::guest_load::{ProgramReality, Reality, Refusal},
    error::escape_path,
};
use core_relo_vm::GuestOutput;
use serde::Serialize;
use std::path::Path;

/// The outcome of loading a program on a kernel.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProgramOutcome<'l> {
    object: String,
    kernel: String,
    release: &'l str,
    program: &'l str,
    /// `loaded`, `refused` or `unknown`.
    reality: &'static str,
    /// The reason why the outcome is unknown.
    reason: Option<&'l str>,
    error: Option<&'l Refusal>,
}

impl<'l> ProgramOutcome<'l> {
    pub(crate) fn new(kernel: &Path, release: &'l str, program: &'l ProgramReality) -> Self {
        let (reason, error) = match &program.reality {
            Reality::Loaded => (None, None),
            Reality::Refused(refusal) => (None, Some(&**refusal)),
            Reality::Unknown(reason) => (Some(reason.as_str()), None),
        };
        Self {
            object: escape_path(&program.object),
            kernel: escape_path(kernel),
            release,
            program: &program.program,
            reality: program.reality.word(),
            reason,
            error,
        }
    }
}

/// The outcome of the user's own command on a kernel.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CommandOutcome<'l> {
    kernel: String,
    release: &'l str,
    exit_code: Option<i32>,
    stdout: &'l str,
    stderr: &'l str,
}

impl<'l> CommandOutcome<'l> {
    pub(crate) fn new(kernel: &Path, output: &'l GuestOutput) -> Self {
        Self {
            kernel: escape_path(kernel),
            release: &output.release,
            exit_code: output.exit_codes().last().copied(),
            stdout: &output.stdout,
            stderr: &output.stderr,
        }
    }
}
