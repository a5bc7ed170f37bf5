//! Growth of time and memory with the size of the input.

mod commands;
mod inputs;
mod linear;

use crate::{args::Table, child, corpus::Corpus, job::Job, once::Run, peer::Peer};
use linear::{LONGEST_MS, Point};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// One table: a quantity that grows, and the input for each size.
struct Axis {
    name: &'static str,
    job: Job,
    peers: Vec<Peer>,
    points: Vec<(usize, Input)>,
}

/// The input of one size.
struct Input {
    btf: PathBuf,
    objects: Vec<PathBuf>,
}

/// Measures and prints all growth tables.
pub fn run(args: &Table) -> Result<(), String> {
    let dir = args.out.join("bench/growth");
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let result = measure_all(args, &dir);
    // The generated inputs take half a gigabyte.
    let removed = fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()));
    result.and(removed)
}

fn measure_all(args: &Table, dir: &Path) -> Result<(), String> {
    let is_measured =
        |peer: &Peer| peer.missing_reason().is_none() && args.skipped.iter().all(|(other, _)| other != peer);
    for (peer, reason) in &args.skipped {
        println!("SKIP {}: {reason}", peer.name());
    }
    let both: Vec<Peer> = [Peer::Ours, Peer::Libbpf].into_iter().filter(is_measured).collect();
    let corpus = Corpus::find(&args.btf, &args.objects, &both)?;
    let kernel = fs::read(&corpus.target).map_err(|e| format!("{}: {e}", corpus.target.display()))?;
    println!("target   {} ({} bytes)", corpus.target.display(), kernel.len());
    println!("objects  {}: {}", args.objects.display(), corpus.objects.len());
    println!(
        "Time is the shortest CPU time of a few runs, memory the peak of a process that runs the job once."
    );
    let mut rows = Vec::new();
    for axis in axes(&corpus, &kernel, &both, dir)? {
        rows.extend(axis.measure()?);
    }
    rows.extend(commands::run(dir)?);
    let path = args.out.join("bench-growth.json");
    let text = serde_json::to_string_pretty(&rows).map_err(|e| e.to_string())?;
    fs::write(&path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))?;
    println!("\n{}", path.display());
    Ok(())
}

/// Returns all tables. Writes the generated inputs to `dir`.
fn axes(corpus: &Corpus, kernel: &[u8], both: &[Peer], dir: &Path) -> Result<Vec<Axis>, String> {
    let (few, objects) = (&corpus.few.path, Job::Shared.objects(corpus));
    let ours = vec![Peer::Ours];
    let multiples = [1, 2, 5, 10, 20, 45];
    let multiplied = inputs::multiplied_kernels(kernel, &multiples, dir)?;
    let points_on_multiplied = |objects: &[PathBuf]| {
        let input = |btf: &PathBuf| Input { btf: btf.clone(), objects: objects.to_vec() };
        multiples.into_iter().zip(multiplied.iter().map(input)).collect::<Vec<_>>()
    };
    let endian = core_relo::btf::Btf::parse(kernel).map_err(|e| e.to_string())?.endian();
    let missing = inputs::missing_type(endian, dir)?;
    let kernels = Some(kernels()).filter(|found| !found.is_empty()).unwrap_or(vec![corpus.target.clone()]);
    println!("kernels  {} different", kernels.len());
    let points = |sizes: &[usize], input: &dyn Fn(usize) -> Result<Input, String>| {
        sizes.iter().map(|n| Ok((*n, input(*n)?))).collect::<Result<Vec<_>, String>>()
    };
    Ok(vec![
        Axis {
            name: "types of N kernels in one BTF: parse",
            job: Job::Parse,
            peers: both.to_vec(),
            points: points_on_multiplied(&[]),
        },
        Axis {
            name: "types of N kernels in one BTF: one object, whole job",
            job: Job::Few,
            peers: both.to_vec(),
            points: points_on_multiplied(std::slice::from_ref(few)),
        },
        Axis {
            name: "types of N kernels in one BTF: all objects, one shared target",
            job: Job::Shared,
            peers: both.to_vec(),
            points: points_on_multiplied(&objects),
        },
        Axis {
            name: "records of one object, whole job",
            job: Job::Few,
            peers: both.to_vec(),
            points: points(&[10, 100, 1_000, 10_000, 100_000], &|n| {
                Ok(Input {
                    btf: corpus.target.clone(),
                    objects: vec![inputs::object_with_records(kernel, n, dir)?],
                })
            })?,
        },
        Axis {
            name: "modules that all must be searched, one object, whole job",
            job: Job::Few,
            peers: ours.clone(),
            points: points(&[0, 1, 10, 50, 100, 200], &|n| {
                Ok(Input { btf: inputs::dir_with_modules(kernel, n, dir)?, objects: vec![missing.clone()] })
            })?,
        },
        Axis {
            name: "objects, one shared target",
            job: Job::Shared,
            peers: both.to_vec(),
            points: points(&[1, 10, 100, 1_000], &|n| {
                let objects = objects.iter().cycle().take(n).cloned().collect();
                Ok(Input { btf: corpus.target.clone(), objects })
            })?,
        },
        Axis {
            name: "kernels, all objects on each, one thread",
            job: Job::Kernels,
            peers: ours,
            points: points(&[1, 10, 100, 1_000], &|n| {
                Ok(Input { btf: inputs::kernel_list(&kernels, n, dir)?, objects: objects.clone() })
            })?,
        },
    ])
}

/// Returns the kernels that `cargo xtask kernels` fetched.
fn kernels() -> Vec<PathBuf> {
    core_relo_tests::artifacts::kernel_btfs()
}

impl Axis {
    fn measure(&self) -> Result<Vec<Value>, String> {
        println!("\n{}", self.name);
        println!("{:>9} {:>8} {:>10} {:>10}  growth that is not linear", "", "peer", "ms", "MiB");
        let mut rows = Vec::new();
        for peer in &self.peers {
            let mut previous: Vec<Point> = Vec::new();
            for (n, input) in &self.points {
                if let Some(expected) = linear::expected_ms(&previous, *n).filter(|ms| *ms > LONGEST_MS) {
                    println!("{n:>9} {:>8} skipped: would take about {:.0} s", peer.name(), expected / 1e3);
                    continue;
                }
                let (btf, objects) = (input.btf.clone(), input.objects.clone());
                let run = Run { job: self.job, times: 1, btf, objects };
                let (ms, kib) = (child::shortest_ms(*peer, &run)?, child::peak_kib(*peer, &run)?);
                let point = Point { n: *n, ms, kib: kib as f64 };
                let remarks = linear::remarks(&previous, &point);
                let mib = point.kib / 1024.0;
                println!("{n:>9} {:>8} {:>10.2} {mib:>10.2}  {}", peer.name(), point.ms, remarks.join("; "));
                rows.push(json!({
                    "axis": self.name, "peer": peer.name(), "n": n,
                    "ms": point.ms, "kib": point.kib, "not_linear": remarks,
                }));
                previous.push(point);
            }
        }
        Ok(rows)
    }
}
