//! The table of all jobs: time, instructions, and peak memory of one process per job.

use crate::{
    args::Table,
    child,
    corpus::Corpus,
    figures::{Figures, add, figures, heading, line, spread},
    job::Job,
    load,
    measure::{self, Times},
    once::Run,
    peer::Peer,
    verdicts,
};
use serde_json::{Map, Value, json};
use std::{fs, path::Path};

/// Measures everything and prints it.
pub fn run(args: &Table) -> Result<(), String> {
    let skipped = skipped(args);
    let peers: Vec<Peer> = Peer::ALL.into_iter().filter(|p| skipped.iter().all(|(s, _)| s != p)).collect();
    for (peer, reason) in &skipped {
        println!("SKIP {}: {reason}", peer.name());
    }
    let corpus = Corpus::find(&args.btf, &args.objects, &peers)?;
    describe(&corpus, args);
    let mut rows = Vec::new();
    let mut is_disturbed = false;
    println!("\n{}", heading("ms, medians of the wall clock"));
    for job in Job::TABLE {
        let objects = job.objects(&corpus);
        let prepare = |peer: &Peer| Ok((*peer, job.prepare(*peer, &corpus.target, &objects)?));
        let ready = peers.iter().map(prepare).collect::<Result<Vec<_>, String>>()?;
        let times = measure::in_turns(&ready, args.rounds)?;
        is_disturbed |= times.iter().any(Times::was_disturbed);
        let all = |figure: fn(&Times) -> f64| spread(&peers, times.iter().map(figure));
        println!("{}", line(&job.title(&corpus), all(|t| t.wall), 2));
        let mut row = Map::from_iter([("job".to_owned(), json!(job.title(&corpus)))]);
        add(&mut row, "ms", all(|t| t.wall), "");
        add(&mut row, "cpu_ms", all(|t| t.cpu), "_cpu");
        add(&mut row, "shortest_ms", all(|t| t.shortest), "_shortest");
        row.insert("rounds".to_owned(), json!(times.first().map(|t| t.rounds)));
        rows.push(row);
    }
    if is_disturbed {
        println!("\nOther processes used the CPUs meanwhile. CPU time only:\n");
        println!("{}", heading("ms, medians of the CPU time"));
        for (job, row) in Job::TABLE.iter().zip(&rows) {
            println!("{}", line(&job.title(&corpus), figures(row, "cpu_ms"), 2));
        }
    }
    let refused: String =
        corpus.refused.iter().map(|(peer, error)| format!("{}: {error}\n", peer.name())).collect();
    write_file(&args.profile_dir()?.join("left-out.txt"), &refused)?;
    let verdict_rows = verdicts::run(args, &corpus)?;
    rows.extend(print_peaks(peaks(args, &corpus, &peers)?));
    if args.instructions {
        instructions(args, &corpus, &peers, &mut rows)?;
    }
    rows.extend(verdict_rows);
    rows.extend(load::run(args, &corpus, &peers)?);
    write(args, &skipped, rows)
}

/// Returns the peers that are not measured, with the reasons.
fn skipped(args: &Table) -> Vec<(Peer, String)> {
    let built_without = Peer::ALL.into_iter().filter_map(|p| Some((p, p.missing_reason()?.to_owned())));
    let requested: Vec<_> = args.skipped.clone();
    let missing: Vec<_> = built_without.filter(|(p, _)| requested.iter().all(|(r, _)| r != p)).collect();
    requested.into_iter().chain(missing).collect()
}

/// Prints the target and the objects.
fn describe(corpus: &Corpus, args: &Table) {
    let bytes = fs::metadata(&corpus.target).map_or(0, |meta| meta.len());
    println!("target   {} ({bytes} bytes)", corpus.target.display());
    let (dir, objects, records) = (args.objects.display(), corpus.objects.len(), corpus.record_count());
    println!("objects  {dir}: {objects} with {records} records");
    let name = |path: &Path| path.strip_prefix(&args.objects).unwrap_or(path).display().to_string();
    println!("few      {} ({} records)", name(&corpus.few.path), corpus.few.records);
    println!("many     {} ({} records)", name(&corpus.many.path), corpus.many.records);
    for peer in Peer::ALL {
        let refused = corpus.refused.iter().filter(|(by, _)| *by == peer).count();
        if refused > 0 {
            println!("left out {refused} that {} cannot relocate", peer.name());
        }
    }
}

/// The number of processes per median of peak memory. Single results vary by 0.1 MiB.
const PROCESSES: usize = 9;

/// Measures peak memory in KiB: of a process without a job, and of a process that runs a job once.
///
/// The kernel does not count pages of a mapped sysfs file. For a fair comparison, the jobs run with the BTF
/// in an ordinary file as well.
fn peaks(args: &Table, corpus: &Corpus, peers: &[Peer]) -> Result<Vec<(String, Figures)>, String> {
    let mut rows = Vec::new();
    let mut add_row = |title: String, job, times, corpus: &Corpus| {
        let run = Run::new(job, times, corpus);
        let peak = |peer: &Peer| {
            let peaks = (0..PROCESSES).map(|_| child::peak_kib(*peer, &run).map(|kib| kib as f64));
            peaks.collect::<Result<_, _>>().map(measure::median)
        };
        let found = peers.iter().map(peak).collect::<Result<Vec<_>, _>>()?;
        rows.push((title, spread(peers, found.into_iter())));
        Ok::<_, String>(())
    };
    add_row("no job at all".to_owned(), Job::Parse, 0, corpus)?;
    let jobs = [Job::Parse, Job::Few, Job::Many];
    jobs.into_iter().try_for_each(|job| add_row(job.title(corpus), job, 1, corpus))?;
    if corpus.target.starts_with("/sys") {
        let dir = args.profile_dir()?;
        let target = dir.join("target.btf");
        let failed = |e| format!("{}: {e}", target.display());
        fs::copy(&corpus.target, &target).map_err(failed)?;
        let copied = Corpus { target: target.clone(), ..corpus.clone() };
        jobs.into_iter().try_for_each(|job| {
            let title = job.title(corpus).replace(", whole job", "");
            add_row(format!("{title}, BTF in a file"), job, 1, &copied)
        })?;
        fs::remove_file(&target).map_err(failed)?;
    }
    Ok(rows)
}

fn print_peaks(peaks: Vec<(String, Figures)>) -> Vec<Map<String, Value>> {
    println!("\n{}", heading("MiB, peak memory of a process that runs the job once"));
    let print = |(title, kib): (String, Figures)| {
        println!("{}", line(&title, kib.map(|f| f.map(|kib| kib / 1024.0)), 2));
        let mut row = Map::from_iter([("job".to_owned(), json!(format!("peak memory: {title}")))]);
        add(&mut row, "kib", kib, "");
        row
    };
    peaks.into_iter().map(print).collect()
}

fn instructions(
    args: &Table,
    corpus: &Corpus,
    peers: &[Peer],
    rows: &mut [Map<String, Value>],
) -> Result<(), String> {
    let dir = args.profile_dir()?;
    println!("\n{}", heading("millions of instructions (callgrind)"));
    for (job, row) in Job::TABLE.into_iter().zip(rows) {
        let run = Run::new(job, 1, corpus);
        let count = |peer: &Peer| child::instructions(*peer, &run, &dir);
        let found = peers.iter().map(count).collect::<Result<Vec<_>, _>>()?;
        let all = spread(peers, found.into_iter().map(|n| n as f64));
        println!("{}", line(&job.title(corpus), all.map(|f| f.map(|n| n / 1e6)), 2));
        add(row, "instructions", all, "_instructions");
    }
    println!("profiles: {}", dir.display());
    Ok(())
}

fn write(args: &Table, skipped: &[(Peer, String)], mut rows: Vec<Map<String, Value>>) -> Result<(), String> {
    for row in &mut rows {
        for (peer, reason) in skipped {
            row.insert(format!("skipped_{}", peer.name()), json!(reason));
        }
    }
    let path = args.out.join("bench.json");
    let text = serde_json::to_string_pretty(&rows).map_err(|e| e.to_string())?;
    write_file(&path, &(text + "\n"))?;
    println!("\n{NOTES}\n\n{}", path.display());
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Explanations below the table: differences between the peers' work.
const NOTES: &str = "\
* \"ours\" is core-relo.
* Whole job: read and open the object file, relocate its records, patch its instructions, free everything.
* Objects that a peer cannot relocate are left out for all peers (bench/left-out.txt), because a failing peer does less work.
* Validation: libbpf checks all references and names while it parses. core-relo checks those of the types while it parses, and those of
  members, parameters and enumerators when a relocation reads them. The second row is core-relo with full validation. aya-obj
  checks nothing, so its second row equals its first.
* One shared target: core-relo opens all objects and searches for all their names in one pass. The others process object by object.
* libbpf: the functions behind bpf_object__prepare, which itself needs root and creates maps. The records are read before the run, and
  libbpf does not search for their programs. libbpf has no shared target: the benchmark uses its parsed BTF for all objects.
* aya-obj creates a value for each type while it parses. The BTF fixups of aya's loader are left out.
* Requirements: the objects are parsed before the run. Reachability: all instructions of all programs, before relocation. A verdict
  analyzes only programs that have an unmet requirement at an instruction.
* Verdicts: the facts of a parsed kernel, plans and verdicts of all objects. The fleet also reads and parses each kernel; the kernels
  are those that `cargo xtask kernels` fetched. The rate is of CPU time.
* Load: read, open, load and close one object after the other on the running kernel, without attaching. core-relo parses the kernel's
  types once per run, libbpf once per object. Both probe kernel features once per process. The time outside the kernel is that of
  getrusage(2) over all rounds: most kernels only sample it at each timer tick.
* Peak memory: the median of nine processes, each with the code of one peer. core-relo's process has no loader code. libbpf's process
  has the code that reads the records, 0.15 MiB in the rows with objects.
* Instructions: one run of such a program, minus a run without the job. Instructions in the kernel are not counted.
* The kernel does not count a mapped sysfs file as memory, hence the rows with the BTF in a file.";
