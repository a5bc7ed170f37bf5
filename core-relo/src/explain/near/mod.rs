//! The search for names in the target that are similar to a missing one.

mod members;
mod namesakes;
mod near_match;
mod search;
mod types;

pub(super) use near_match::NearMatch;
pub(super) use search::NearSearch;
