//! The load job: many objects in one process on the running kernel.

use crate::{
    args::Table,
    child,
    corpus::{Corpus, OBJECTS, Subject},
    figures::{add, heading, line, spread},
    files::files_below,
    job::Job,
    measure::{self, Times},
    once::Run,
    peer::Peer,
};
use core_relo::{Endian, ext::BtfExt};
use core_relo_loader::{features, object::Object};
use core_relo_tests::kernel_crashes;
use serde_json::{Map, Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// The time for all rounds. It is longer than for other jobs, because the time outside the kernel is a small
/// part with a coarse clock.
const BUDGET: Duration = Duration::from_secs(30);

/// Measures and prints the load job, if this process may load programs.
pub fn run(args: &Table, corpus: &Corpus, peers: &[Peer]) -> Result<Vec<Map<String, Value>>, String> {
    println!();
    if let Err(errno) = features::running().check_permission() {
        println!("SKIP load: this process may not load programs: {errno}");
        return Ok(Vec::new());
    }
    // The aya peer is aya-obj, which does not load.
    let peers: Vec<Peer> = peers.iter().copied().filter(|peer| *peer != Peer::Aya).collect();
    let (objects, refused) = loadable(&corpus.target, &args.objects, &peers);
    write_refused(args, &refused)?;
    if objects.is_empty() {
        println!("SKIP load: {}: no object that all peers can load", args.objects.display());
        return Ok(Vec::new());
    }
    for peer in &peers {
        let left_out = refused.iter().filter(|(by, _)| by == peer).count();
        println!("load: left out {left_out} that {} cannot load here", peer.name());
    }
    let corpus = Corpus { objects, ..corpus.clone() };
    let paths = Job::Load.objects(&corpus);
    let prepare = |peer: &Peer| Ok((*peer, Job::Load.prepare(*peer, &corpus.target, &paths)?));
    let ready = peers.iter().map(prepare).collect::<Result<Vec<_>, String>>()?;
    let times = measure::in_turns_within(BUDGET, &ready, args.rounds)?;
    let all = |figure: fn(&Times) -> f64| spread(&peers, times.iter().map(figure));
    let title = Job::Load.title(&corpus);
    let mut row = Map::from_iter([("job".to_owned(), json!(title))]);
    println!("{}", heading("ms, on the running kernel"));
    for (name, figures, unit, suffix) in [
        ("wall clock", all(|t| t.wall), "ms", ""),
        ("shortest", all(|t| t.shortest), "shortest_ms", "_shortest"),
        ("CPU", all(|t| t.cpu), "cpu_ms", "_cpu"),
        ("outside the kernel", all(|t| t.user), "user_ms", "_user"),
    ] {
        println!("{}", line(&format!("{title}, {name}"), figures, 2));
        add(&mut row, unit, figures, suffix);
    }
    row.insert("rounds".to_owned(), json!(times.first().map(|t| t.rounds)));
    if args.instructions {
        let dir = args.profile_dir()?;
        let run = Run::new(Job::Load, 1, &corpus);
        let count = |peer: &Peer| child::instructions(*peer, &run, &dir);
        let found = peers.iter().map(count).collect::<Result<Vec<_>, _>>()?;
        let all = spread(&peers, found.into_iter().map(|n| n as f64));
        let title = format!("{title}, M instructions");
        println!("{}", line(&title, all.map(|f| f.map(|n| n / 1e6)), 2));
        add(&mut row, "instructions", all, "_instructions");
    }
    Ok(vec![row])
}

/// Returns the objects below a directory that all `peers` load, at most [`OBJECTS`], and the refusals of the
/// others.
///
/// Skips objects of the other byte order, without programs, and with pinned maps, because pins would stay.
fn loadable(target: &Path, dir: &Path, peers: &[Peer]) -> (Vec<Subject>, Vec<(Peer, String)>) {
    let (mut with_records, mut without, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let is_subject =
        |path: &PathBuf| path.extension().is_some_and(|e| e == "o") && kernel_crashes::may_be_loaded(path);
    for path in files_below(dir).into_iter().filter(is_subject) {
        let Some(records) = fs::read(&path).ok().and_then(|bytes| record_count_if_loadable(&bytes)) else {
            continue;
        };
        let result =
            peers.iter().try_for_each(|peer| try_load(*peer, target, &path).map_err(|error| (*peer, error)));
        match result {
            Ok(()) if records > 0 => with_records.push(Subject { path, records }),
            Ok(()) => without.push(Subject { path, records }),
            Err((peer, error)) => refused.push((peer, format!("{}: {error}", path.display()))),
        }
    }
    with_records.append(&mut without);
    with_records.truncate(OBJECTS);
    (with_records, refused)
}

/// Returns the number of CO-RE records of an object, or `None` if the object is skipped.
fn record_count_if_loadable(bytes: &[u8]) -> Option<usize> {
    let object = Object::parse(bytes).ok().filter(|object| object.endian() == Endian::native())?;
    let is_pinned = object.maps().iter().any(|m| m.def.as_ref().is_ok_and(|def| def.pin_by_name));
    let has_program = object.programs().iter().any(|p| !p.is_subprogram);
    let records = object.ext().map_or(0, |ext| BtfExt::core_relos(ext).map(|g| g.records().count()).sum());
    (has_program && !is_pinned).then_some(records)
}

/// Loads an object once.
fn try_load(peer: Peer, target: &Path, path: &Path) -> Result<(), String> {
    peer.prepare(target, &[PathBuf::from(path)])?.load()
}

fn write_refused(args: &Table, refused: &[(Peer, String)]) -> Result<(), String> {
    let text: String = refused.iter().map(|(peer, error)| format!("{}: {error}\n", peer.name())).collect();
    let path = args.profile_dir()?.join("not-loaded.txt");
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}
