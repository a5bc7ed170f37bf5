//! core-relo beside libbpf and aya-obj: the same jobs on the same files, in one process, in turns.
//!
//! `cargo xtask bench` builds and runs this; what it prints says what each figure is.

pub mod args;
pub mod child;
pub mod corpus;
pub mod growth;
pub mod job;
pub mod load;
pub mod measure;
pub mod once;
pub mod peer;
pub mod table;
