//! Shared parts of the tests across the crates: paths of artifacts, skipped tests, and libbpf as the
//! reference implementation.

pub mod artifacts;
pub mod btf_rules;
#[cfg(feature = "libbpf")]
pub mod compare;
pub mod engine;
pub mod exceptions;
pub mod expect;
pub mod growth;
pub mod info_rules;
pub mod kernel_crashes;
#[cfg(feature = "libbpf")]
pub mod libbpf;
pub mod record;
pub mod sorted;
pub mod synthetic;
pub mod verdict_steps;
