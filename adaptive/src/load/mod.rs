//! The choice among the variants of an object: by verdict, then by trying.

mod adapt;
mod chooser;
mod error;
mod failed_part;
mod report;
mod skeleton;
#[cfg(test)]
mod tests;
mod verdicts;

pub use adapt::{AdaptiveLoad, AdaptiveLoader};
pub use error::{AdaptiveError, AttemptError};
pub use skeleton::{AdaptiveSkeletonError, attach_skeleton, load_skeleton};
