//! The rows of the table for verdicts, which libbpf and aya-obj do not give: requirements, facts,
//! reachability, verdicts, a fleet.

use crate::{args::Table, corpus::Corpus, measure, peer::ours};
use core_relo::{Relocs, Target};
use core_relo_loader::object::Object;
use core_relo_tests::{artifacts, verdict_steps::Requirements};
use serde_json::{Map, Value, json};
use std::{fs, hint::black_box, path::PathBuf};

/// Measures the steps of a verdict, prints a line for each, and returns the rows.
pub(crate) fn run(args: &Table, corpus: &Corpus) -> Result<Vec<Map<String, Value>>, String> {
    let read = |path: &PathBuf| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let files = corpus.objects.iter().map(|object| read(&object.path)).collect::<Result<Vec<_>, _>>()?;
    let objects = files.iter().map(|bytes| Object::parse(bytes)).collect::<Result<Vec<_>, _>>();
    let objects = objects.map_err(|e| e.to_string())?;
    let relocs = objects.iter().map(Object::relocs).collect::<Result<Vec<_>, _>>();
    let relocs = relocs.map_err(|e| e.to_string())?;
    let objects: Vec<_> = objects.iter().zip(&relocs).collect();
    Steps { args, corpus, objects: &objects }.measure()
}

/// The measured steps.
struct Steps<'a, 'o> {
    args: &'a Table,
    corpus: &'a Corpus,
    objects: &'o [(&'o Object<'o>, &'o Relocs<'o>)],
}

impl Steps<'_, '_> {
    fn measure(&self) -> Result<Vec<Map<String, Value>>, String> {
        let needs = Requirements::collect(self.objects);
        let target = ours::target(&self.corpus.target)?;
        let kernels = fleet(self.corpus);
        println!("\n{:<44} {:>9} {:>9}", "ms, medians", "wall", "CPU");
        let count = self.objects.len();
        let mut rows = vec![
            self.row(&format!("{count} objects, requirements"), || {
                Ok(Requirements::collect(self.objects).need_count())
            })?,
            self.row("facts of the kernel for them", || Ok(needs.look_up(&target)))?,
            self.row("reachability in all their programs", || Ok(needs.analyze()))?,
            self.row(&format!("{count} objects, verdicts"), || Ok(needs.judge(&target)))?,
        ];
        let title = format!("fleet, verdicts (kernels: {})", kernels.len());
        let mut fleet = self.row(&title, || judge_fleet(&needs, &kernels))?;
        if let Some(ms) = fleet.get("ours_cpu_ms").and_then(Value::as_f64) {
            let per_second = kernels.len() as f64 / ms * 1e3;
            println!("{:<44} {per_second:>9.0}", "kernels per second and core");
            fleet.insert("kernels_per_second".to_owned(), json!(per_second));
        }
        rows.push(fleet);
        Ok(rows)
    }

    /// Measures a step, which returns the number of its results, and prints its line.
    fn row(
        &self,
        title: &str,
        mut step: impl FnMut() -> Result<usize, String>,
    ) -> Result<Map<String, Value>, String> {
        let times = measure::repeat(self.args.rounds, || step().map(|count| _ = black_box(count)))?;
        println!("{title:<44} {:>9.2} {:>9.2}", times.wall, times.cpu);
        let mut row = Map::from_iter([("job".to_owned(), json!(title))]);
        for (unit, ms) in [("ms", times.wall), ("cpu_ms", times.cpu), ("shortest_ms", times.shortest)] {
            row.insert(format!("ours_{unit}"), json!(ms));
        }
        row.insert("rounds".to_owned(), json!(times.rounds));
        Ok(row)
    }
}

/// Returns the kernels of the fleet: those that `cargo xtask kernels` fetched, or the target alone.
pub fn fleet(corpus: &Corpus) -> Vec<PathBuf> {
    let mut kernels = artifacts::kernel_btfs();
    kernels.retain(|path| ours::target(path).is_ok());
    if kernels.is_empty() { vec![corpus.target.clone()] } else { kernels }
}

/// Reads, parses and judges each kernel. Returns the number of programs on all of them.
pub fn judge_fleet(needs: &Requirements<'_>, kernels: &[PathBuf]) -> Result<usize, String> {
    let judge = |path: &PathBuf| ours::target(path).map(|target: Target<'_>| needs.judge(&target));
    kernels.iter().map(judge).sum()
}
