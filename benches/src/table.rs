//! The table: each job's time, instructions, and the peak memory of a process that does one.

use crate::{
    args::Table,
    child,
    corpus::Corpus,
    job::Job,
    load,
    measure::{self, Times},
    once::Run,
    peer::Peer,
};
use serde_json::{Map, Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A figure of each peer, in the order of [`Peer::ALL`].
pub(crate) type Figures = [Option<f64>; 3];

/// Measures everything and prints it.
pub fn run(args: &Table) -> Result<(), String> {
    let skipped = skipped(args);
    let peers: Vec<Peer> = Peer::ALL.into_iter().filter(|p| skipped.iter().all(|(s, _)| s != p)).collect();
    for (peer, why) in &skipped {
        println!("SKIP {}: {why}", peer.name());
    }
    let corpus = Corpus::find(&args.btf, &args.objects, &peers)?;
    describe(&corpus, args);
    let mut rows = Vec::new();
    let mut disturbed = false;
    println!("\n{}", heading("ms, medians of the wall clock"));
    for job in Job::TABLE {
        let objects = job.objects(&corpus);
        let prepare = |peer: &Peer| Ok((*peer, job.prepare(*peer, &corpus.target, &objects)?));
        let ready = peers.iter().map(prepare).collect::<Result<Vec<_>, String>>()?;
        let times = measure::in_turns(&ready, args.rounds)?;
        disturbed |= times.iter().any(Times::was_disturbed);
        let all = |figure: fn(&Times) -> f64| spread(&peers, times.iter().map(figure));
        println!("{}", line(&job.title(&corpus), all(|t| t.wall), 2));
        let mut row = Map::from_iter([("job".to_owned(), json!(job.title(&corpus)))]);
        add(&mut row, "ms", all(|t| t.wall), "");
        add(&mut row, "cpu_ms", all(|t| t.cpu), "_cpu");
        add(&mut row, "shortest_ms", all(|t| t.shortest), "_shortest");
        row.insert("rounds".to_owned(), json!(times.first().map(|t| t.rounds)));
        rows.push(row);
    }
    if disturbed {
        println!("\nOthers used the processors meanwhile; the processor's time alone:\n");
        println!("{}", heading("ms, medians of the processor's time"));
        for (job, row) in Job::TABLE.iter().zip(&rows) {
            println!("{}", line(&job.title(&corpus), figures(row, "cpu_ms"), 2));
        }
    }
    let refused: String =
        corpus.refused.iter().map(|(peer, why)| format!("{}: {why}\n", peer.name())).collect();
    write_file(&folder(args)?.join("left-out.txt"), &refused)?;
    rows.extend(print_peaks(peaks(args, &corpus, &peers)?));
    if args.instructions {
        instructions(args, &corpus, &peers, &mut rows)?;
    }
    rows.extend(load::run(args, &corpus, &peers)?);
    write(args, &skipped, rows)
}

fn skipped(args: &Table) -> Vec<(Peer, String)> {
    let built_without = Peer::ALL.into_iter().filter_map(|p| Some((p, p.missing()?.to_owned())));
    let asked: Vec<_> = args.without.clone();
    let more: Vec<_> = built_without.filter(|(p, _)| asked.iter().all(|(a, _)| a != p)).collect();
    asked.into_iter().chain(more).collect()
}

fn describe(corpus: &Corpus, args: &Table) {
    let bytes = fs::metadata(&corpus.target).map_or(0, |meta| meta.len());
    println!("target   {} ({bytes} bytes)", corpus.target.display());
    let (folder, objects, records) = (args.objects.display(), corpus.objects.len(), corpus.records());
    println!("objects  {folder}: {objects} with {records} records");
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

/// Processes of which the peak memory's median is taken: it is not the same twice, by 0.1 MiB.
const PROCESSES: usize = 9;

/// Peak memory, in KiB: of a process that does nothing, and of one that does a job once.
///
/// Pages of a file in sysfs that is mapped are not counted by the kernel. So that they are not had for nothing, the same is
/// measured with the BTF in an ordinary file, which everybody reads.
fn peaks(args: &Table, corpus: &Corpus, peers: &[Peer]) -> Result<Vec<(String, Figures)>, String> {
    let mut rows = Vec::new();
    let mut add = |what: String, job, times, corpus: &Corpus| {
        let run = run_of(job, times, corpus);
        let peak = |peer: &Peer| {
            let peaks = (0..PROCESSES).map(|_| child::peak_kib(*peer, &run).map(|kib| kib as f64));
            peaks.collect::<Result<_, _>>().map(measure::median)
        };
        let found = peers.iter().map(peak).collect::<Result<Vec<_>, _>>()?;
        rows.push((what, spread(peers, found.into_iter())));
        Ok::<_, String>(())
    };
    add("no job at all".to_owned(), Job::Parse, 0, corpus)?;
    let jobs = [Job::Parse, Job::Few, Job::Many];
    jobs.into_iter().try_for_each(|job| add(job.title(corpus), job, 1, corpus))?;
    if corpus.target.starts_with("/sys") {
        let folder = folder(args)?;
        let target = folder.join("target.btf");
        let failed = |e| format!("{}: {e}", target.display());
        fs::copy(&corpus.target, &target).map_err(failed)?;
        let copied = Corpus { target: target.clone(), ..corpus.clone() };
        jobs.into_iter().try_for_each(|job| {
            let what = job.title(corpus).replace(", whole job", "");
            add(format!("{what}, BTF in a file"), job, 1, &copied)
        })?;
        fs::remove_file(&target).map_err(failed)?;
    }
    Ok(rows)
}

/// Where profiles and the like are put.
pub(crate) fn folder(args: &Table) -> Result<PathBuf, String> {
    let folder = args.out.join("bench");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

fn print_peaks(peaks: Vec<(String, Figures)>) -> Vec<Map<String, Value>> {
    println!("\n{}", heading("MiB, peak memory of a process that does it once"));
    let print = |(what, kib): (String, Figures)| {
        println!("{}", line(&what, kib.map(|f| f.map(|kib| kib / 1024.0)), 2));
        let mut row = Map::from_iter([("job".to_owned(), json!(format!("peak memory: {what}")))]);
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
    let folder = folder(args)?;
    println!("\n{}", heading("millions of instructions (callgrind)"));
    for (job, row) in Job::TABLE.into_iter().zip(rows) {
        let run = run_of(job, 1, corpus);
        let count = |peer: &Peer| child::instructions(*peer, &run, &folder);
        let found = peers.iter().map(count).collect::<Result<Vec<_>, _>>()?;
        let all = spread(peers, found.into_iter().map(|n| n as f64));
        println!("{}", line(&job.title(corpus), all.map(|f| f.map(|n| n / 1e6)), 2));
        add(row, "instructions", all, "_instructions");
    }
    println!("profiles: {}", folder.display());
    Ok(())
}

fn write(args: &Table, skipped: &[(Peer, String)], mut rows: Vec<Map<String, Value>>) -> Result<(), String> {
    for row in &mut rows {
        for (peer, why) in skipped {
            row.insert(format!("skipped_{}", peer.name()), json!(why));
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

/// Where somebody does more or less than another.
const NOTES: &str = "\
* whole job: the object's file is read and opened, its records relocated, its instructions patched; all is freed again.
* objects that a peer cannot relocate are left out for all (bench/left-out.txt): who stops half way does less.
* libbpf looks at every type's references and names while it parses; ours at the types' own, and at those of members,
  parameters and enumerators when a relocation reads them; the second row is ours with all of it done at once. aya-obj looks
  at none: its second row is its first.
* one shared target: ours opens all objects and looks for all their names in one pass; the others go object by object.
* libbpf does it by the functions behind bpf_object__prepare, which needs root and makes maps. Its records were read before,
  and it is spared finding their programs. It has no shared target: here its parsed BTF is used for all objects.
* aya-obj makes a value of each type while it parses; the fixing of the object's BTF in aya's loader is left out.
* loading: read, opened, loaded, closed, one object after the other on the running kernel; nothing is attached. The kernel's own
  types are parsed once a run by ours, once an object by libbpf. What the kernel can do both ask once a process.
  Time outside of the kernel is what getrusage says, all rounds together: most kernels only look at each tick of their clock.
* peak memory: the median of nine processes. Each is a program that has one peer's code and no other's: of ours what relocates and
  not what loads, as the linker leaves it to who only relocates; libbpf comes in one piece. libbpf's has what reads its records
  beforehand as well, 0.15 MiB of code and data in the rows with objects.
* instructions: one run of such a program, less a run that does all but the job; the kernel's are not counted.
* a mapped file in sysfs is not counted as memory by the kernel: for that the rows with the BTF in a file.";

pub(crate) fn run_of(job: Job, times: usize, corpus: &Corpus) -> Run {
    Run { job, times, btf: corpus.target.clone(), objects: job.objects(corpus) }
}

/// Figures of those measured, at the places of all.
pub(crate) fn spread(peers: &[Peer], figures: impl Iterator<Item = f64>) -> Figures {
    let mut found = [None; 3];
    for (peer, figure) in peers.iter().zip(figures) {
        if let Some(place) = Peer::ALL.iter().position(|p| p == peer).and_then(|at| found.get_mut(at)) {
            *place = Some(figure);
        }
    }
    found
}

/// Adds `ours_UNIT` and so on, and how many times ours the others' are.
pub(crate) fn add(row: &mut Map<String, Value>, unit: &str, figures: Figures, suffix: &str) {
    let ours = figures[0];
    for (peer, figure) in Peer::ALL.into_iter().zip(figures) {
        row.insert(format!("{}_{unit}", peer.name()), json!(figure));
        if peer != Peer::Ours {
            let ratio = figure.zip(ours).map(|(figure, ours)| figure / ours);
            row.insert(format!("ratio_{}{suffix}", peer.name()), json!(ratio));
        }
    }
}

fn figures(row: &Map<String, Value>, unit: &str) -> Figures {
    Peer::ALL.map(|peer| row.get(&format!("{}_{unit}", peer.name()))?.as_f64())
}

pub(crate) fn heading(what: &str) -> String {
    format!("{what:<44} {:>9} {:>9} {:>9} {:>9} {:>9}", "ours", "libbpf", "aya", "libbpf ÷", "aya ÷")
}

pub(crate) fn line(what: &str, [ours, libbpf, aya]: Figures, decimals: usize) -> String {
    let number = |figure: Option<f64>| figure.map_or("-".to_owned(), |n| format!("{n:.decimals$}"));
    let ratio = |figure: Option<f64>| number(figure.zip(ours).map(|(figure, ours)| figure / ours));
    let (ours_text, ratios) = (number(ours), [ratio(libbpf), ratio(aya)]);
    format!(
        "{what:<44} {ours_text:>9} {:>9} {:>9} {:>9} {:>9}",
        number(libbpf),
        number(aya),
        ratios[0],
        ratios[1]
    )
}
