//! Reachability: the instructions of a program that the verifier reaches.
//!
//! | module | contents |
//! |---|---|
//! | `interval`, `possible`, `scalar`, `value` | the values of registers and stack slots |
//! | `alu`, `comparison`, `branch`, `data`, `memory`, `call`, `step` | the effect of instructions on values |
//! | `flow`, `state`, `states`, `explore`, `visits` | paths through the program |
//! | `kernel_numbers`, `config` | the numbers that differ from kernel to kernel, and the ones that the result depends on |
//! | `postdominators`, `analyze` | conclusions from what all paths have in common |
//! | `reachability`, `cache` | the result of an analysis, kept for kernels on which the program is the same |
//!
//! # Bounds and possible values
//!
//! The analysis does not know which verifier will load the program. Verifiers differ in what they know about
//! a number: newer ones know more about arithmetic, and less about zeros on the stack. So the analysis keeps
//! two sets for each number:
//!
//! | set | contents | size | conclusion |
//! |---|---|---|---|
//! | bounds (`Interval`) | the values that some verifier since Linux 5.10 does not exclude | an upper bound: too large is safe | [`Reach::Dead`]: the bounds exclude all paths to the instruction |
//! | possible values (`Possible`) | the values that no verifier excludes | a lower bound: too small is safe | [`Reach::Reachable`]: possible values lead to the instruction |
//!
//! All other instructions are undecided: some verifiers may reach them. The two sets have the same names in
//! all modules:
//!
//! | name | bounds | possible values |
//! |---|---|---|
//! | `constant` | the number | the number: every verifier knows the number |
//! | `UNBOUNDED`, `unbounded` | all numbers (of a width) | the same: no verifier knows more |
//! | `UNKNOWN`, `unknown` | all numbers (of a width) | none, with the reason: the verifier may know more than the analysis |
//!
//! A run of the program on a CPU takes one of the paths that every sound verifier follows. So an instruction
//! that a run executes is never dead, unless the verifier refuses the program at an earlier instruction. The
//! tests compare the analysis with an interpreter.

mod alu;
mod analyze;
mod branch;
mod cache;
mod call;
mod comparison;
mod config;
mod data;
mod explore;
mod flow;
mod interval;
mod kernel_numbers;
mod memory;
mod possible;
mod postdominators;
mod program;
mod reachability;
mod scalar;
mod state;
mod states;
mod step;
#[cfg(test)]
mod tests;
mod value;
mod visits;

pub use analyze::analyze;
pub(crate) use analyze::analyze_relocated;
pub(crate) use cache::{AnalysisCache, AnalysisInput};
pub(crate) use config::ConfigData;
#[cfg(any(test, feature = "test-support"))]
pub(crate) use kernel_numbers::{UsedNumbers, split_number};
pub use program::{Function, ITERATOR_NEXT, LoadedValue, Program};
pub use reachability::{ContextOffset, Reach, Reachability, Returned, ReturnedValue, Undecided};
