//! The arguments of `prog stats`.

use super::events::parse_seconds;
use crate::format::Format;
use clap::Args;
use std::{ffi::OsString, time::Duration};

pub(super) const HELP: &str = "Examples:
  core-relo prog stats
  core-relo prog stats 42 handle_exec --duration 10
  core-relo prog stats --follow
  core-relo prog stats --format json -- curl -s localhost

Turns on the kernel's run-time statistics (BPF_ENABLE_STATS, kernels from 5.8) while it measures, and prints the runs and the time of
programs. The statistics are off again afterwards, unless kernel.bpf_stats_enabled or another process keeps them on. They cost some
nanoseconds for each run. `core-relo prog profile` reads hardware counters (cycles, instructions). SIGTERM ends COMMAND too.
Exit status: 0; that of COMMAND, if it is not 0; 2 if the statistics cannot be read.";

#[derive(Debug, Args)]
pub(crate) struct ProgStatsArgs {
    /// The programs: ids, names or paths of pins [default: all that run]
    #[arg(value_name = "PROGRAM")]
    pub(crate) programs: Vec<String>,
    /// Measure for this time [default: 1]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, conflicts_with = "command")]
    pub(crate) duration: Option<Duration>,
    /// Measure again and again, until Ctrl-C
    #[arg(long, conflicts_with = "command")]
    pub(crate) follow: bool,
    /// Run this command, and measure until it ends
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
