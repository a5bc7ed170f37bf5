//! The match of one relocation with one target: candidates, the comparison with each, and the value that follows.

mod candidates;
mod compat;
mod enumerator;
mod error;
mod field;
mod field_compat;
mod match_candidate;
mod name_filter;
mod pattern;
mod step_budget;
mod type_matches;
mod value;

pub use candidates::Candidate;
pub use compat::TypeComparer;
pub use error::{Ambiguity, BrokenInvariant, CompareError, MatchError, Mismatch, ValueError};

pub(crate) use candidates::{CandidateQuery, CandidateSearch, QueryId};
pub(crate) use match_candidate::{MatchOutcome, match_candidate};
pub(crate) use pattern::{AccessPattern, KeyPart};
pub(crate) use step_budget::{OutOfSteps, StepBudget};
pub(crate) use value::{AccessValue, Resolution, access_value};
