//! The time from the stamp of a BPF program to the reader's callback, with the wakeup of a waiting reader.

use super::{
    cpus, heading, pin_to_cpu,
    producer::{Buffer, Producer},
    readers::{self, Work},
    row,
    throughput::{in_turns, thread_cpu_time},
};
use crate::peer::Peer;
use serde_json::{Map, Value};
use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// The rounds, unless the user sets their number.
const ROUNDS: usize = 5;
/// The records of a round. The 99.9th percentile has five of them above it.
const RECORDS: u32 = 5_000;
/// The time between two records, in which the reader falls asleep.
const INTERVAL: Duration = Duration::from_micros(100);

/// Measures and prints the latency.
pub fn run(object: &Path, peers: &[Peer], rounds: Option<usize>) -> Result<Vec<Map<String, Value>>, String> {
    let producers = peers.iter().map(|_| Producer::load(object)).collect::<Result<Vec<_>, _>>()?;
    let measured = in_turns(peers, rounds.unwrap_or(ROUNDS), |at| latency(peers[at], &producers[at]))?;
    println!("{}", heading("median (range) of the rounds", peers));
    let mut rows = Vec::new();
    for (title, unit, index) in [
        ("latency, 50th percentile", "µs", 0),
        ("latency, 99th percentile", "µs", 1),
        ("latency, 99.9th percentile", "µs", 2),
        ("latency, reader", "CPU µs/record", 3),
    ] {
        let figures: Vec<Vec<f64>> =
            measured.iter().map(|rounds| rounds.iter().map(|figures| figures[index]).collect()).collect();
        rows.push(row(title, unit, peers, &figures));
    }
    Ok(rows)
}

/// Sends one record at a time to a waiting reader. Returns three percentiles and the reader's CPU time per
/// record, in microseconds.
fn latency(peer: Peer, producer: &Producer) -> Result<[f64; 4], String> {
    let [sending_cpu, reading_cpu] = cpus();
    let work = Work::Times(Mutex::new(Vec::with_capacity(RECORDS as usize)));
    let (is_ready, is_stopped) = (AtomicBool::new(false), AtomicBool::new(false));
    let cpu = thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let result = read(peer, producer, &work, reading_cpu, &is_ready);
            is_stopped.store(true, Ordering::Relaxed);
            result
        });
        let sending = scope.spawn(|| {
            pin_to_cpu(sending_cpu)?;
            while !is_ready.load(Ordering::Acquire) && !is_stopped.load(Ordering::Relaxed) {
                thread::sleep(INTERVAL);
            }
            for _ in 0..RECORDS {
                if is_stopped.load(Ordering::Relaxed) {
                    break;
                }
                thread::sleep(INTERVAL);
                producer.run("stamp", 1)?;
            }
            Ok::<_, String>(())
        });
        sending.join().map_err(|_| "a thread panicked".to_owned())??;
        reading.join().map_err(|_| "a thread panicked".to_owned())?
    })?;
    let Work::Times(times) = work else { return Err("no times".to_owned()) };
    let mut times = times.into_inner().map_err(|_| "a thread panicked".to_owned())?;
    times.sort_unstable();
    let percentile = |thousandths: usize| {
        let index = (times.len() * thousandths / 1000).min(times.len().saturating_sub(1));
        times.get(index).map_or(f64::NAN, |ns| *ns as f64 / 1e3)
    };
    Ok([percentile(500), percentile(990), percentile(999), cpu.as_nanos() as f64 / 1e3 / f64::from(RECORDS)])
}

/// Reads all records. Returns the CPU time.
fn read(
    peer: Peer,
    producer: &Producer,
    work: &Work,
    cpu: usize,
    is_ready: &AtomicBool,
) -> Result<Duration, String> {
    pin_to_cpu(cpu)?;
    let mut reader = readers::open(peer, producer, Buffer::Ring, work)?;
    is_ready.store(true, Ordering::Release);
    let before = thread_cpu_time();
    let mut count = 0;
    while count < u64::from(RECORDS) {
        match reader.poll(Duration::from_secs(10))? {
            0 => return Err(format!("{}: {count} records of {RECORDS} after 10 s", peer.name())),
            read => count += read,
        }
    }
    Ok(thread_cpu_time().saturating_sub(before))
}
