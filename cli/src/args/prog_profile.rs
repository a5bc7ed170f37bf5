//! The arguments of `prog profile`.

use super::{events::parse_seconds, object_words::ProgramWords};
use crate::format::Format;
use clap::{Args, ValueEnum};
use std::time::Duration;

pub(super) const HELP: &str = "Examples:
  core-relo prog profile 42 --duration 5 cycles instructions
  core-relo prog profile --name handle_exec cycles llc_misses
  core-relo prog profile 42 --duration 5 task_clock page_faults --format json

Metrics of the processor: cycles, instructions, l1d_loads, llc_misses, itlb_misses, dtlb_misses. Metrics of the kernel, on every
machine: cpu_clock, task_clock, page_faults, context_switches.

Attaches two programs to PROGRAM (fentry and fexit, kernels from 5.7), which read the counters before and after each run. PROGRAM needs
BTF and must be JIT-compiled. Reading the counters is itself counted, so compare figures with each other. Without --duration, Ctrl-C
ends the measurement. `core-relo prog stats` measures time at less cost.
Exit status: 0; 1 if PROGRAM did not run; 2 if it cannot be profiled.";

#[derive(Debug, Args)]
#[command(
    override_usage = "core-relo prog profile [OPTIONS] <ID|--id N|--name NAME|--tag TAG|--pinned PATH> <METRIC>..."
)]
pub(crate) struct ProgProfileArgs {
    /// The program, and the metrics
    #[command(flatten)]
    pub(crate) program: ProgramWords,
    /// Measure for this time [default: until Ctrl-C]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) duration: Option<Duration>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// A metric of `prog profile`, under bpftool's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Metric {
    Cycles,
    Instructions,
    L1dLoads,
    LlcMisses,
    ItlbMisses,
    DtlbMisses,
    CpuClock,
    TaskClock,
    PageFaults,
    ContextSwitches,
}
