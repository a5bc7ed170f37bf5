//! The result of one comparison.

use super::error::CandidateMismatch;
use crate::spec::Spec;

/// The result of comparing a local access with a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MatchOutcome {
    /// The candidate matches; the spec is the access in the candidate.
    Match(Spec),
    /// The candidate does not match.
    Mismatch(CandidateMismatch),
}
