//! The match of one relocation with one target: candidates, the comparison with each, and the value that
//! follows.

mod candidate_query;
mod candidates;
mod compat;
mod enumerator;
mod error;
mod field;
mod field_compat;
mod match_candidate;
mod match_outcome;
mod pattern;
mod step_budget;
mod type_matches;
mod value;

pub use candidates::Candidate;
pub use compat::TypeComparer;
pub use error::{
    Ambiguity, BrokenInvariant, CandidateMismatch, CompareError, MatchError, RelocationValueError,
};

pub(crate) use candidate_query::CandidateQuery;
pub(crate) use candidates::{CandidateSearch, QueryId};
pub(crate) use match_candidate::match_candidate;
pub(crate) use match_outcome::MatchOutcome;
#[cfg(feature = "minimise")]
pub(crate) use pattern::FieldStep;
pub(crate) use pattern::{AccessPattern, KeyPart};
pub(crate) use step_budget::{OutOfSteps, StepBudget};
pub(crate) use value::{AccessValue, Resolution, access_value};
