//! Generated programs, and an interpreter that runs them: tests compare the analysis of reachability with
//! real runs. Objects on which loaders differ.
#![expect(clippy::arithmetic_side_effects, clippy::panic, reason = "test code may panic")]

mod check;
mod decisions;
mod generator;
mod interpreter;
mod kernel_numbers;
mod loader_objects;
mod memory;
mod program;

pub use check::{Agreement, check_reach};
#[cfg(test)]
pub(crate) use interpreter::{compute, holds};
pub use kernel_numbers::{KernelNumbers, check_kernel_numbers};
pub use loader_objects::{knows_aya_section, loader_object, section_words};
