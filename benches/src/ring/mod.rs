//! Readers of ring buffers and perf buffers beside each other: core-relo, libbpf's C functions, aya.
//!
//! Each reader has a copy of the same object, so each has the same producer. Readers take turns, and the
//! first one changes each round.
//!
//! * `drain`: a full ring is read, with nothing else running. The figure is the CPU time of the reader per
//!   record.
//! * `stream`: one CPU sends as fast as it can while a thread on another CPU waits and reads.
//! * `latency`: one record at a time, from the time stamp that the BPF program writes to the reader's
//!   callback, wakeup included.

mod latency;
mod producer;
mod readers;
mod throughput;

use crate::{args::Table, peer::Peer};
use core_relo_loader::features;
use serde_json::{Map, Value, json};
use std::fs;

/// Measures and prints everything.
pub fn run(args: &Table) -> Result<(), String> {
    if let Err(errno) = features::running().check_permission() {
        println!("SKIP rings: this process may not load programs: {errno}");
        return Ok(());
    }
    for (peer, reason) in &args.skipped {
        println!("SKIP {}: {reason}", peer.name());
    }
    let is_measured = |peer: &Peer| {
        peer.missing_reason().is_none() && args.skipped.iter().all(|(skipped, _)| skipped != peer)
    };
    let peers: Vec<Peer> = Peer::ALL.into_iter().filter(is_measured).collect();
    let object = args.objects.join(producer::OBJECT);
    let mut rows = throughput::run(&object, &peers, args.rounds)?;
    rows.extend(latency::run(&object, &peers, args.rounds)?);
    let path = args.out.join("bench-ring.json");
    let text = serde_json::to_string_pretty(&rows).map_err(|e| e.to_string())?;
    fs::write(&path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))?;
    println!("\n{}", path.display());
    Ok(())
}

/// The median of a figure, and its range.
#[derive(Clone, Copy)]
struct Spread {
    median: f64,
    lowest: f64,
    highest: f64,
}

impl Spread {
    fn new(figures: &[f64]) -> Self {
        Self {
            median: crate::measure::median(figures.to_vec()),
            lowest: figures.iter().copied().fold(f64::INFINITY, f64::min),
            highest: figures.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Prints a row of the table and returns it as JSON. Each peer has the figures of all rounds.
fn row(title: &str, unit: &str, peers: &[Peer], figures: &[Vec<f64>]) -> Map<String, Value> {
    let mut row = Map::from_iter([("figure".to_owned(), json!(title)), ("unit".to_owned(), json!(unit))]);
    let mut line = format!("{:<44}", format!("{title}, {unit}"));
    for (peer, figures) in peers.iter().zip(figures) {
        let Spread { median, lowest, highest } = Spread::new(figures);
        let range = format!("{median:.2} ({lowest:.2} to {highest:.2})");
        line += &format!(" {range:>27}");
        row.insert(peer.name().to_owned(), json!({"median": median, "lowest": lowest, "highest": highest}));
    }
    row.insert("rounds".to_owned(), json!(figures.first().map(Vec::len)));
    println!("{line}");
    row
}

fn heading(title: &str, peers: &[Peer]) -> String {
    let names: String = peers.iter().map(|peer| format!(" {:>27}", peer.name())).collect();
    format!("\n{title:<44}{names}")
}

/// Runs the calling thread on one CPU only.
fn pin_to_cpu(cpu: usize) -> Result<(), String> {
    // SAFETY: all bits of the set are zero, which is a valid set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the number of the CPU is below that of the set's bits.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set is valid for reads.
    let result = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
    if result == 0 { Ok(()) } else { Err(format!("CPU {cpu}: {}", std::io::Error::last_os_error())) }
}

/// Returns the CPUs of the sender and of the reader.
fn cpus() -> [usize; 2] {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    [0, usize::from(count > 1)]
}
