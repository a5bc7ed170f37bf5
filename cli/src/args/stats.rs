//! The arguments about the verifier's statistics, which `load --each`, `vm` and `check --boot` share.

use crate::output::{OutputKind, OutputPath};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// The verifier's statistics, and a budget for them
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StatsArgs {
    /// Print the verifier's statistics of each program: instructions, states, stack, time, size of the log
    #[arg(long, requires = "single_loads")]
    pub(crate) stats: bool,
    /// Compare the statistics with the budget in FILE. The exit status is 1 if a value grew, or if a program
    /// is missing on either side
    #[arg(long, value_name = "FILE", requires = "single_loads", value_hint = ValueHint::FilePath)]
    pub(crate) budget: Option<PathBuf>,
    /// Growth of a value that --budget accepts, in percent. The same kernel counts the same, so the default
    /// is 0
    #[arg(long, value_name = "PERCENT", default_value_t = 0, requires = "budget", value_parser = clap::value_parser!(u32).range(0..=10000))]
    pub(crate) budget_tolerance: u32,
    /// Write the statistics to FILE as the new budget; may be the FILE of --budget
    #[arg(long, value_name = "FILE", requires = "single_loads", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser_in_place_of("budget", OutputKind::Budget))]
    pub(crate) write_budget: Option<OutputPath>,
}

impl StatsArgs {
    /// Returns whether programs load with statistics.
    pub(crate) const fn needs_stats(&self) -> bool {
        self.stats || self.budget.is_some() || self.write_budget.is_some()
    }
}
