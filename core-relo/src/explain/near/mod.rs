//! The search for names in the target that are similar to a missing one.

mod alternative;
mod members;
mod namesakes;
mod near_match;
mod other_shape;
mod results_by_name;
mod search;
mod types;

pub use alternative::AlternativeMember;
pub(super) use near_match::NearMatch;
pub(super) use other_shape::find_other_shapes;
pub(super) use search::NearSearch;
