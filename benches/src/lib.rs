//! Benchmarks of core-relo against libbpf and aya-obj: the same jobs on the same files, in turns in one
//! process.
//!
//! `cargo xtask bench` builds and runs the benchmarks. Their output explains each figure.

pub mod args;
pub mod child;
pub mod corpus;
pub(crate) mod figures;
pub mod files;
pub mod growth;
pub mod job;
pub mod load;
pub mod measure;
pub mod once;
pub mod peer;
pub mod ring;
pub mod table;
pub mod verdicts;
