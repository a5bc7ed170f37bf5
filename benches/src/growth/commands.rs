//! Time and memory of every command for growing inputs. A dimension is an element of the input whose number
//! grows: members, maps, symbols and so on.
//!
//! `cli/tests/growth.rs` counts instructions for the same inputs at two small sizes. The sizes here are
//! large.

use super::linear::{self, LONGEST_MS, Point};
use crate::child;
use core_relo_tests::growth::{Command, Dimension, Written, dimensions};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// The numbers of elements. A dimension may have a smaller maximum.
const COUNTS: [usize; 3] = [1_000, 10_000, 100_000];

/// A run that takes longer is not repeated.
const SHORT_MS: f64 = 500.0;

/// The maximum number of runs for a point. The shortest run counts.
const RUNS: usize = 3;

/// The measured points of one command with one output format in one dimension.
struct Series {
    command: Command,
    json: bool,
    points: Vec<Point>,
    /// The error that ended the series.
    error: Option<String>,
}

/// Measures all commands in all dimensions, and prints a line for each.
pub(super) fn run(dir: &Path) -> Result<Vec<Value>, String> {
    let program = child::sibling_program("core-relo")?;
    println!("\ncommands: {}", program.display());
    println!("{:<52} {:<24} {:>26} {:>9}  growth that is not linear", "", "ms at", "", "MiB");
    let mut rows = Vec::new();
    for dimension in dimensions() {
        let mut all_series = empty_series(&dimension);
        let mut counts: Vec<_> = COUNTS.into_iter().map(|n| n.min(dimension.max_count)).collect();
        counts.dedup();
        for n in counts {
            let input_dir = dir.join(format!("commands-{n}"));
            let error = |e: std::io::Error| format!("{}: {e}", input_dir.display());
            let input = (dimension.build)(n).write(&input_dir).map_err(error)?;
            for series in &mut all_series {
                series.measure(&program, n, &input)?;
            }
            fs::remove_dir_all(&input_dir).map_err(error)?;
        }
        for series in all_series {
            rows.extend(series.report(&dimension));
        }
    }
    Ok(rows)
}

/// Returns a series without points for each command and output format.
fn empty_series(dimension: &Dimension) -> Vec<Series> {
    let both_formats = |command: &Command| {
        [false, true].map(|json| Series { command: *command, json, points: Vec::new(), error: None })
    };
    dimension.commands.iter().flat_map(both_formats).collect()
}

impl Series {
    /// Measures one point, unless the command failed before or would take too long.
    fn measure(&mut self, program: &Path, n: usize, input: &Written) -> Result<(), String> {
        let is_too_long = linear::expected_ms(&self.points, n).is_some_and(|ms| ms > LONGEST_MS);
        if is_too_long || self.error.is_some() {
            return Ok(());
        }
        let args = self.command.args(input, self.json);
        let mut shortest: Option<Point> = None;
        for _ in 0..RUNS {
            let cost = child::cost(program, &args)?;
            // A refusal (1) and an unknown verdict (2 without a message) are results, too.
            let is_result =
                matches!(cost.exit, Some(0 | 1)) || (cost.exit == Some(2) && cost.error.is_empty());
            if !is_result {
                self.error =
                    Some(format!("{n} elements fail: {}", cost.error.lines().next().unwrap_or_default()));
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

    /// Prints the line of the series and returns its rows.
    fn report(&self, dimension: &Dimension) -> Vec<Value> {
        let command = format!("{}{}", self.command.name(), if self.json { " (JSON)" } else { "" });
        let (mut rows, mut remarks) = (Vec::new(), Vec::new());
        for (at, point) in self.points.iter().enumerate() {
            remarks = linear::remarks(&self.points[..at], point);
            rows.push(json!({
                "axis": format!("{}, {command}", dimension.name), "peer": "ours", "n": point.n,
                "ms": point.ms, "kib": point.kib, "not_linear": remarks,
            }));
        }
        let times: Vec<_> = self.points.iter().map(|p| format!("{:.1}", p.ms)).collect();
        let counts: Vec<_> = self.points.iter().map(|p| p.n.to_string()).collect();
        let mib = self.points.last().map_or(0.0, |p| p.kib / 1024.0);
        remarks.extend(self.error.clone());
        println!(
            "{:<52} {command:<24} {:>26} {mib:>9.1}  {}",
            format!("{} ({})", dimension.name, counts.join(", ")),
            times.join(" "),
            remarks.join("; ")
        );
        rows
    }
}
