//! Time and memory of every command in every dimension of its input.
//!
//! `cli/tests/growth.rs` counts instructions for the same inputs at two small sizes. The sizes here are large.

use super::linear::{self, LONGEST_MS, Point};
use crate::child;
use core_relo_tests::growth::{Command, Dimension, Written, dimensions};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// The counts, limited by the maximum of each dimension.
const COUNTS: [usize; 3] = [1_000, 10_000, 100_000];

/// Points below this time are measured [`RUNS`] times, and the shortest run counts.
const SHORT_MS: f64 = 500.0;
const RUNS: usize = 3;

/// The points of one command with one output format in one dimension.
struct Series {
    command: Command,
    json: bool,
    points: Vec<Point>,
    refused: Option<String>,
}

/// Measures all commands on all dimensions and prints a line for each.
pub(super) fn run(folder: &Path) -> Result<Vec<Value>, String> {
    let program = child::sibling_program("core-relo")?;
    println!("\ncommands: {}", program.display());
    println!("{:<52} {:<24} {:>26} {:>9}  where it is not linear", "", "ms at", "", "MiB");
    let mut rows = Vec::new();
    for dimension in dimensions() {
        let mut all = series(&dimension);
        let mut counts: Vec<_> = COUNTS.into_iter().map(|n| n.min(dimension.max_count)).collect();
        counts.dedup();
        for n in counts {
            let within = folder.join(format!("commands-{n}"));
            let error = |e: std::io::Error| format!("{}: {e}", within.display());
            let input = (dimension.build)(n).write(&within).map_err(error)?;
            for series in &mut all {
                series.measure(&program, n, &input)?;
            }
            fs::remove_dir_all(&within).map_err(error)?;
        }
        for series in all {
            rows.extend(series.report(&dimension));
        }
    }
    Ok(rows)
}

fn series(dimension: &Dimension) -> Vec<Series> {
    let both_formats = |command: &Command| {
        [false, true].map(|json| Series { command: *command, json, points: Vec::new(), refused: None })
    };
    dimension.commands.iter().flat_map(both_formats).collect()
}

impl Series {
    fn measure(&mut self, program: &Path, n: usize, input: &Written) -> Result<(), String> {
        let is_long = linear::expected(&self.points, n).is_some_and(|ms| ms > LONGEST_MS);
        if is_long || self.refused.is_some() {
            return Ok(());
        }
        let words = self.command.words(input, self.json);
        let mut shortest: Option<Point> = None;
        for _ in 0..RUNS {
            let cost = child::cost(program, &words)?;
            // Exit status 1 is a valid result: the kernel lacks something.
            if !matches!(cost.exit, Some(0 | 1)) {
                self.refused = Some(format!("{n} are refused: {}", cost.error.lines().next().unwrap_or_default()));
                return Ok(());
            }
            if shortest.as_ref().is_none_or(|known| cost.ms < known.ms) {
                shortest = Some(Point { n, ms: cost.ms, kib: cost.kib });
            }
            if cost.ms > SHORT_MS {
                break;
            }
        }
        self.points.extend(shortest);
        Ok(())
    }

    fn report(&self, dimension: &Dimension) -> Vec<Value> {
        let command = format!("{}{}", self.command.name(), if self.json { " (JSON)" } else { "" });
        let (mut rows, mut last) = (Vec::new(), Vec::new());
        for (at, point) in self.points.iter().enumerate() {
            last = linear::remarks(&self.points[..at], point);
            rows.push(json!({
                "axis": format!("{}, {command}", dimension.name), "peer": "ours", "n": point.n,
                "ms": point.ms, "kib": point.kib, "not_linear": last,
            }));
        }
        let times: Vec<_> = self.points.iter().map(|p| format!("{:.1}", p.ms)).collect();
        let counts: Vec<_> = self.points.iter().map(|p| p.n.to_string()).collect();
        let mib = self.points.last().map_or(0.0, |p| p.kib / 1024.0);
        last.extend(self.refused.clone());
        println!(
            "{:<52} {command:<24} {:>26} {mib:>9.1}  {}",
            format!("{} ({})", dimension.name, counts.join(", ")),
            times.join(" "),
            last.join("; ")
        );
        rows
    }
}
