//! The plan of an object's relocations on one target: a decision for each record, and nothing changed yet.
//!
//! [`Plan::new`] never fails as a whole. Each record gets a [`Decision`] or a [`RelocError`], and a bad
//! record does not stop the plan. Every check that can refuse a record happens here, including those that
//! libbpf makes while patching. [`Plan::patched`] only copies.

mod candidate_lists;
mod code_overlay;
mod decide;
mod decision;
mod entries;
mod error;
mod loads;
mod local_access;
mod match_cache;
mod objects;
mod options;
mod patch;
mod patched;
mod planned;
mod summary;

pub use decision::{Decision, PoisonReason, SkipReason, Warning};
pub use entries::Plan;
pub use error::{InsnError, PlanError, RelocError};
pub use objects::Objects;
pub use options::Options;
pub use patched::PatchedCode;
pub use planned::{CandidateResult, CheckedCandidate, PlannedReloc};
pub use summary::Summary;

#[cfg(test)]
mod tests;
