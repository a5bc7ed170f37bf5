//! Silent mismatches: declarations of an object that differ from those of a kernel, although the programs
//! load.
//!
//! A mismatch is reported only at an instruction that the verifier reaches, and never changes a verdict. What
//! the types leave open is not reported: a false alarm costs more than an omission.

mod arguments;
mod context;
mod field;
mod find;
mod model;
mod prototype;
#[cfg(test)]
mod tests;

pub use model::{Declarations, Mismatch, MismatchKind};

pub(crate) use find::find_mismatches;
pub(crate) use prototype::Prototype;
