//! Time and memory of every command against every kind of thing of which its input may have many.
//!
//! The inputs are those of `cli/tests/growth.rs`, which counts instructions at two small sizes; these are sizes that hurt.

use super::{LONGEST_MS, linear, linear::Point};
use crate::child;
use core_relo_tests::growth::{Command, Dimension, Written, dimensions};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// How many there are of a thing, as far as it allows.
const COUNTS: [usize; 3] = [1_000, 10_000, 100_000];

/// A point that takes less is measured [`RUNS`] times, of which the shortest counts.
const SHORT_MS: f64 = 500.0;
const RUNS: usize = 3;

/// The points of one command, in one form, on one dimension.
struct Series {
    command: Command,
    json: bool,
    points: Vec<Point>,
    refused: Option<String>,
}

/// Measures all commands on all dimensions and prints a line for each.
pub(super) fn run(folder: &Path) -> Result<Vec<Value>, String> {
    let program = child::beside("core-relo")?;
    println!("\ncommands: {}", program.display());
    println!("{:<52} {:<24} {:>26} {:>9}  where it is not linear", "", "ms at", "", "MiB");
    let mut rows = Vec::new();
    for dimension in dimensions() {
        let mut all = series(&dimension);
        let mut counts: Vec<_> = COUNTS.into_iter().map(|n| n.min(dimension.most)).collect();
        counts.dedup();
        for n in counts {
            let within = folder.join(format!("commands-{n}"));
            let error = |e: std::io::Error| format!("{}: {e}", within.display());
            let input = (dimension.make)(n).write(&within).map_err(error)?;
            for one in &mut all {
                one.measure(&program, n, &input)?;
            }
            fs::remove_dir_all(&within).map_err(error)?;
        }
        for one in all {
            rows.extend(one.report(&dimension));
        }
    }
    Ok(rows)
}

fn series(dimension: &Dimension) -> Vec<Series> {
    let one = |command: &Command| {
        [false, true].map(|json| Series { command: *command, json, points: Vec::new(), refused: None })
    };
    dimension.commands.iter().flat_map(one).collect()
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
            // What the kernel lacks is an answer, too.
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
