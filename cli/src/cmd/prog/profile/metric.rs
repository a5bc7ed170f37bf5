//! The metrics of `prog profile`: their names, their perf counters, and the ratios between them.

use crate::{args::prog_profile::Metric, error::BadInput};
use clap::ValueEnum as _;
use core_relo::explain::{list_words, suggest_word};
use core_relo_loader::{
    Errno,
    attach::{self, PerfCounter, PerfCounterOptions},
};
use std::os::fd::OwnedFd;

/// The ratio of a metric to another one.
pub(super) struct Ratio {
    pub(super) to: Metric,
    pub(super) factor: f64,
    pub(super) unit: &'static str,
}

/// Parses the words after the program. Each metric is measured once.
pub(super) fn parse_metrics(words: &[String]) -> Result<Vec<Metric>, BadInput> {
    let names = || Metric::value_variants().iter().map(|known| known.name());
    let mut metrics = Vec::new();
    for word in words {
        let metric = Metric::from_str(word, false).map_err(|_unknown| {
            if word == "duration" {
                return BadInput::new(word, "it is no metric")
                    .help("the time is an option: `--duration SECONDS`");
            }
            let found = format!("unknown metric{}", suggest_word(word, names()));
            BadInput::new(word, found).help(format!("expected {}", list_words(names())))
        })?;
        if metrics.contains(&metric) {
            return Err(BadInput::new(word, "the metric is given twice, expected once"));
        }
        metrics.push(metric);
    }
    if metrics.is_empty() {
        return Err(BadInput::new(
            "prog profile",
            format_args!("no metric, expected {}", list_words(names())),
        ));
    }
    Ok(metrics)
}

impl Metric {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::L1dLoads => "l1d_loads",
            Self::LlcMisses => "llc_misses",
            Self::ItlbMisses => "itlb_misses",
            Self::DtlbMisses => "dtlb_misses",
            Self::CpuClock => "cpu_clock",
            Self::TaskClock => "task_clock",
            Self::PageFaults => "page_faults",
            Self::ContextSwitches => "context_switches",
        }
    }

    /// Returns the unit of a value that is no plain count.
    pub(super) fn unit(self) -> &'static str {
        if matches!(self, Self::CpuClock | Self::TaskClock) { " ns" } else { "" }
    }

    /// Returns the ratio that is printed if both metrics are measured, as bpftool prints it.
    pub(super) fn ratio(self) -> Option<Ratio> {
        let misses = |unit| Some(Ratio { to: Self::Instructions, factor: 1e6, unit });
        match self {
            Self::Instructions => Some(Ratio { to: Self::Cycles, factor: 1.0, unit: "insns per cycle" }),
            Self::LlcMisses => misses("LLC misses per million insns"),
            Self::ItlbMisses => misses("iTLB misses per million insns"),
            Self::DtlbMisses => misses("dTLB misses per million insns"),
            _ => None,
        }
    }

    /// Returns whether the kernel counts, so that every machine has the counter.
    fn is_software(self) -> bool {
        use Metric as M;
        matches!(self, M::CpuClock | M::TaskClock | M::PageFaults | M::ContextSwitches)
    }

    /// Returns the counter.
    fn counter(self) -> PerfCounter {
        match self {
            Self::Cycles => PerfCounter::CpuCycles,
            Self::Instructions => PerfCounter::Instructions,
            Self::L1dLoads => PerfCounter::L1dReads,
            Self::LlcMisses => PerfCounter::LastCacheReadMisses,
            Self::DtlbMisses => PerfCounter::DtlbReadMisses,
            Self::ItlbMisses => PerfCounter::ItlbReadMisses,
            Self::CpuClock => PerfCounter::CpuClock,
            Self::TaskClock => PerfCounter::TaskClock,
            Self::PageFaults => PerfCounter::PageFaults,
            Self::ContextSwitches => PerfCounter::ContextSwitches,
        }
    }

    /// Opens the counter of each processor. A processor that is offline has none.
    pub(super) fn open_counters(self, cpus: &[u32]) -> Result<Vec<(u32, OwnedFd)>, BadInput> {
        let mut counters = Vec::new();
        for &cpu in cpus {
            // Programs run in the kernel. A program that sleeps may be preempted, and what processes do
            // meanwhile does not count.
            let exclude_user = !self.is_software();
            let options =
                PerfCounterOptions { exclude_user, cpu: Some(cpu), ..PerfCounterOptions::default() };
            match attach::open_perf_counter(self.counter(), &options) {
                Ok(event) => counters.push((cpu, event)),
                Err(e) => match e.errno() {
                    Some(Errno::ENODEV) => {}
                    Some(errno) => {
                        let what = format_args!("cannot open the perf counter: {errno}");
                        return Err(self.missing(what, errno));
                    }
                    None => return Err(BadInput::new(self.name(), e)),
                },
            }
        }
        if counters.is_empty() {
            return Err(self.missing("no processor has this perf counter", Errno(0)));
        }
        Ok(counters)
    }

    /// Returns the error of a metric without a perf counter.
    fn missing(self, what: impl std::fmt::Display, e: Errno) -> BadInput {
        let bad = BadInput::new(self.name(), what);
        match e {
            Errno::EPERM | Errno::EACCES => {
                bad.help("needs CAP_PERFMON, or a lower kernel.perf_event_paranoid")
            }
            Errno::EMFILE | Errno::ENFILE => {
                bad.help("each processor needs a descriptor: raise the limit (`ulimit -n`)")
            }
            _ if self.is_software() => bad.help("the kernel needs CONFIG_PERF_EVENTS"),
            _ => {
                let software = Metric::value_variants().iter().filter(|metric| metric.is_software());
                let software: Vec<_> = software.map(|metric| format!("`{}`", metric.name())).collect();
                let software = software.join(", ");
                let help = format!(
                    "this machine lacks the hardware counter, as most virtual machines do; every machine has {software}"
                );
                bad.help(help)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn metrics_have_the_names_that_the_arguments_accept() {
        for metric in Metric::value_variants() {
            assert_eq!(metric.to_possible_value().unwrap().get_name(), metric.name());
        }
    }

    #[test]
    fn unknown_repeated_and_missing_metrics_are_named() {
        let parse = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            parse_metrics(&words).map_err(|bad| bad.to_string())
        };
        assert_eq!(parse(&["cycles", "l1d_loads"]), Ok(vec![Metric::Cycles, Metric::L1dLoads]));
        let unknown = parse(&["cycle"]).unwrap_err();
        assert!(
            unknown.starts_with("cycle: unknown metric; did you mean `cycles`?; expected `cycles`, "),
            "{unknown}"
        );
        // As bpftool writes it.
        assert_eq!(
            parse(&["duration", "1", "cycles"]).unwrap_err(),
            "duration: it is no metric; the time is an option: `--duration SECONDS`"
        );
        assert_eq!(
            parse(&["cycles", "cycles"]).unwrap_err(),
            "cycles: the metric is given twice, expected once"
        );
        assert!(parse(&[]).unwrap_err().starts_with("prog profile: no metric, expected `cycles`, "));
    }
}
