//! The JSON lines of `vm`.

use crate::{
    budget::stats::ProgramStats,
    cmd::check::booted::{BootedLoad, LoadVerdict},
    guest::load::{ProgramReality, Reality, Refusal},
    json::reality::RealityJson,
};
use core_relo_verdict::judge::{Reason, Verdict};
use core_relo_vm::GuestOutput;
use serde::Serialize;

/// The outcome of loading a program on a kernel, beside the verdict.
#[derive(Debug, Serialize)]
pub(crate) struct ProgramOutcome<'l> {
    object: &'l str,
    kernel: &'l str,
    release: &'l str,
    program: &'l str,
    /// `loaded`, `refused` or `unknown`.
    reality: &'static str,
    /// The reason why the outcome is unknown.
    reason: Option<&'l str>,
    error: Option<&'l Refusal>,
    verdict: Option<Verdict>,
    reasons: Vec<&'l Reason>,
    /// Whether the outcome is that of the verdict; `None` if one of them is unknown.
    agrees: Option<bool>,
    stats: Option<ProgramStats>,
    /// The real load of the object's programs together.
    object_reality: Option<RealityJson<'l>>,
}

impl<'l> ProgramOutcome<'l> {
    /// Creates the line of a program. `default_load` is that of the program's object.
    pub(crate) fn new(
        kernel: &'l str,
        release: &'l str,
        load: &BootedLoad<'l>,
        program: &'l ProgramReality,
        default_load: Option<BootedLoad<'l>>,
    ) -> Self {
        let (reason, error) = match load.reality {
            Reality::Loaded => (None, None),
            Reality::Refused(refusal) => (None, Some(&**refusal)),
            Reality::Unknown(reason) => (Some(reason.as_str()), None),
        };
        Self {
            object: load.object,
            kernel,
            release,
            program: &program.program,
            reality: load.reality.word(),
            reason,
            error,
            verdict: load.verdict.map(|verdict| verdict.verdict()),
            reasons: load.verdict.into_iter().flat_map(LoadVerdict::reasons).collect(),
            agrees: load.agreement().is_agreed(),
            stats: program.stats,
            object_reality: default_load.map(|load| load.reality_json(Some(release))),
        }
    }
}

/// The outcome of the user's own command on a kernel.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CommandOutcome<'l> {
    kernel: &'l str,
    release: &'l str,
    exit_code: Option<i32>,
    stdout: &'l str,
    stderr: &'l str,
}

impl<'l> CommandOutcome<'l> {
    pub(crate) fn new(kernel: &'l str, output: &'l GuestOutput) -> Self {
        Self {
            kernel,
            release: &output.release,
            exit_code: output.exit_codes().last().copied(),
            stdout: &output.stdout,
            stderr: &output.stderr,
        }
    }
}
