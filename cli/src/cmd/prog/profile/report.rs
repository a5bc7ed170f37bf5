//! The output of `prog profile`, as bpftool prints it.

use super::profiler::{Profile, Total};
use crate::{
    args::prog_profile::Metric,
    cmd::prog::stats::to_f64,
    console::Console,
    format::Format,
    text::table::{AlignedTable, left_cell, right_cell},
};
use serde::Serialize;
use std::io;

/// The measurement of a program.
pub(super) struct Report {
    pub(super) prog_id: u32,
    pub(super) name: String,
    pub(super) metrics: Vec<Metric>,
    pub(super) profile: Profile,
}

/// The JSON line of a metric.
#[derive(Serialize)]
struct MetricLine<'r> {
    prog_id: u32,
    name: &'r str,
    metric: &'static str,
    run_cnt: u64,
    value: u64,
    enabled: u64,
    running: u64,
}

impl Report {
    /// Prints a line per metric; in the text format after a line with the number of runs.
    pub(super) fn write(&self, console: &mut Console<'_>, format: Format) -> io::Result<()> {
        let Profile { run_count, totals, .. } = &self.profile;
        let mut rows = self.metrics.iter().zip(totals);
        if format == Format::Json {
            let (prog_id, name, run_cnt) = (self.prog_id, &*self.name, *run_count);
            return rows.try_for_each(|(metric, total)| {
                let Total { counter: value, enabled, running } = *total;
                let metric = metric.name();
                console.out.json(&MetricLine { prog_id, name, metric, run_cnt, value, enabled, running })
            });
        }
        let mut table = AlignedTable::new();
        let empty = || left_cell("");
        table.row([right_cell(run_count), left_cell("run_cnt"), empty(), empty(), empty()]);
        for (metric, total) in rows {
            let per_run = if *run_count == 0 {
                String::new()
            } else {
                format!("{:.1}{} per run", to_f64(total.counter) / to_f64(*run_count), metric.unit())
            };
            table.row([
                right_cell(total.counter),
                left_cell(metric.name()),
                right_cell(per_run),
                left_cell(self.ratio(*metric, total)),
                left_cell(counted_share(total)),
            ]);
        }
        table.lines().into_iter().try_for_each(|line| console.out.line(line))
    }

    /// Returns the ratio of a metric to another one that was measured too.
    fn ratio(&self, metric: Metric, total: &Total) -> String {
        let Some(ratio) = metric.ratio() else { return String::new() };
        let mut rows = self.metrics.iter().zip(&self.profile.totals);
        match rows.find(|(other, _)| **other == ratio.to) {
            Some((_, other)) if other.counter > 0 => {
                let quotient = to_f64(total.counter) / to_f64(other.counter) * ratio.factor;
                format!("# {quotient:.2} {}", ratio.unit)
            }
            _ => String::new(),
        }
    }
}

/// Returns the share of the time during which a counter counted. Counters take turns if the processor has too
/// few.
fn counted_share(total: &Total) -> String {
    if total.running >= total.enabled {
        return String::new();
    }
    format!("({:.2}%)", to_f64(total.running) / to_f64(total.enabled) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_and_shares_are_those_of_bpftool() {
        let total = |counter| Total { counter, enabled: 100, running: 100 };
        let profile =
            Profile { run_count: 10, unreadable_count: 0, totals: vec![total(400), total(500), total(2)] };
        let metrics = vec![Metric::Cycles, Metric::Instructions, Metric::LlcMisses];
        let report = Report { prog_id: 1, name: "handle".into(), metrics, profile };
        assert_eq!(report.ratio(Metric::Cycles, &total(400)), "");
        assert_eq!(report.ratio(Metric::Instructions, &total(500)), "# 1.25 insns per cycle");
        assert_eq!(report.ratio(Metric::LlcMisses, &total(2)), "# 4000.00 LLC misses per million insns");
        assert_eq!(counted_share(&total(1)), "");
        assert_eq!(counted_share(&Total { counter: 1, enabled: 400, running: 332 }), "(83.00%)");
    }
}
