//! Reachability: which instructions of a program the verifier reaches.
//!
//! | module | contents |
//! |---|---|
//! | `interval`, `possible`, `scalar`, `value` | values: what every kernel knows of them, and what every kernel takes for possible |
//! | `alu`, `branch`, `memory`, `call`, `step` | the effect of instructions on values |
//! | `state`, `flow`, `explore`, `visits` | paths through the program |
//! | `postdominators`, `analyze` | conclusions from what all paths have in common |
//!
//! Kernels differ in what their verifiers know: newer ones know more of numbers, and less of zeros on the stack. The analysis keeps two
//! sets for a number. The bounds are what all verifiers since Linux 5.10 know. An instruction is [`Reach::Dead`] if the bounds exclude all paths to it. The possible values are those that no
//! verifier excludes. An instruction is [`Reach::Reachable`] if possible values lead to it. All other instructions are undecided.

mod alu;
mod analyze;
mod branch;
mod call;
mod explore;
mod flow;
mod interval;
mod memory;
mod possible;
mod postdominators;
mod program;
mod reachability;
mod scalar;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod value;
mod visits;

pub use analyze::analyze;
pub use program::{Function, LoadedValue, Program};
pub use reachability::{Reach, Reachability, Undecided};
