//! Reachability: which instructions of a program the verifier reaches.

mod program;

pub use program::{Function, LoadedValue, Program, Reach, Reachability, Undecided, analyze};
