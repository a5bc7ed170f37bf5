//! The outcome of a program's real load in a guest.

use crate::{
    budget::stats::ProgramStats,
    guest::load::{ProgramReality, Reality, Refusal},
};
use serde::Serialize;

/// The outcome of a program's real load, in the lines of `check --boot`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RealityJson<'l> {
    /// `loaded`, `refused` or `unknown`.
    status: &'static str,
    release: Option<&'l str>,
    /// The reason of a refusal, or why the outcome is unknown.
    reason: Option<&'l str>,
    /// Whether the outcome is that of the verdict; `None` if one of them is unknown.
    agrees: Option<bool>,
    error: Option<&'l Refusal>,
    stats: Option<ProgramStats>,
}

impl<'l> RealityJson<'l> {
    pub(crate) fn new(release: Option<&'l str>, load: &'l ProgramReality, agrees: Option<bool>) -> Self {
        Self { stats: load.stats, ..Self::of_default_load(release, &load.reality, agrees) }
    }

    /// Creates the outcome of a load of several programs, which has no statistics.
    pub(crate) fn of_default_load(
        release: Option<&'l str>,
        reality: &'l Reality,
        agrees: Option<bool>,
    ) -> Self {
        let error = match reality {
            Reality::Refused(refusal) => Some(&**refusal),
            Reality::Loaded | Reality::Unknown(_) => None,
        };
        Self { status: reality.word(), release, reason: reality.reason(), agrees, error, stats: None }
    }
}
