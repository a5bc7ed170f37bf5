//! What the tests across the crates share: where artifacts are, how a test says SKIP, and libbpf as the judge.

pub mod artifacts;
#[cfg(feature = "libbpf")]
pub mod compare;
pub mod exceptions;
pub mod expect;
pub mod growth;
#[cfg(feature = "libbpf")]
pub mod judge;
pub mod kernel_crashes;
pub mod made;
pub mod ours;
pub mod record;
pub mod skip;
pub mod sorted;
