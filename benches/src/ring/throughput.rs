//! The time per record, of a full ring and of a stream of records.

use super::{
    cpus, heading, pin_to_cpu,
    producer::{Buffer, Producer},
    readers::{self, Work},
    row,
};
use crate::peer::Peer;
use serde_json::{Map, Value};
use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The sizes of records in bytes, without the kernel's header.
const SIZES: [u64; 3] = [8, 64, 512];
/// The rounds, unless the user sets their number.
const ROUNDS: usize = 11;
/// The time of one stream.
const STREAM: Duration = Duration::from_millis(300);
/// The runs of the producer between two looks whether to stop.
const RUNS: u32 = 16;
/// The samples of a perf buffer that are read at once. They take 88 bytes each.
const SAMPLES: u32 = 40_000;

/// The figures of one stream.
struct Stream {
    /// Million records read per second.
    rate: f64,
    /// The reader's CPU time per record, in nanoseconds.
    cpu: f64,
    /// The share of records that the full ring refused, in percent.
    refused: f64,
}

/// Measures and prints the throughput.
pub fn run(object: &Path, peers: &[Peer], rounds: Option<usize>) -> Result<Vec<Map<String, Value>>, String> {
    let rounds = rounds.unwrap_or(ROUNDS);
    let producers = peers.iter().map(|_| Producer::load(object)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    println!("{}", heading("median (range) of the rounds", peers));
    for size in SIZES {
        let drained = in_turns(peers, rounds, |at| drain(peers[at], &producers[at], Buffer::Ring, size))?;
        rows.push(row(&format!("drain, {size} bytes"), "CPU ns/record", peers, &drained));
    }
    let drained = in_turns(peers, rounds, |at| drain(peers[at], &producers[at], Buffer::Perf, 64))?;
    rows.push(row("drain, perf buffer, 64 bytes", "CPU ns/record", peers, &drained));
    for size in SIZES {
        let streams = in_turns(peers, rounds, |at| stream(peers[at], &producers[at], size))?;
        for (name, unit, figure) in [
            ("stream", "million/s", (|s: &Stream| s.rate) as fn(&Stream) -> f64),
            ("stream", "CPU ns/record", |s| s.cpu),
            ("stream", "% refused, ring full", |s| s.refused),
        ] {
            let figures: Vec<Vec<f64>> =
                streams.iter().map(|streams| streams.iter().map(figure).collect()).collect();
            rows.push(row(&format!("{name}, {size} bytes"), unit, peers, &figures));
        }
    }
    Ok(rows)
}

/// Runs a measurement for each peer in turns, and once before. Returns the figures by peer.
pub(super) fn in_turns<T>(
    peers: &[Peer],
    rounds: usize,
    mut measure: impl FnMut(usize) -> Result<T, String>,
) -> Result<Vec<Vec<T>>, String> {
    let mut figures: Vec<Vec<T>> = peers.iter().map(|_| Vec::new()).collect();
    for at in 0..peers.len() {
        measure(at)?;
    }
    for round in 0..rounds {
        for turn in 0..peers.len() {
            let at = (turn + round) % peers.len();
            figures[at].push(measure(at)?);
        }
    }
    Ok(figures)
}

/// Fills a buffer and reads it. Returns the CPU time per record in nanoseconds.
fn drain(peer: Peer, producer: &Producer, buffer: Buffer, size: u64) -> Result<f64, String> {
    // All samples of a perf buffer go to the buffer of one CPU.
    thread::scope(|scope| {
        let drain = || -> Result<f64, String> {
            pin_to_cpu(cpus()[0])?;
            let work = Work::Sum(AtomicU64::new(0));
            let mut reader = readers::open(peer, producer, buffer, &work)?;
            let sent = match buffer {
                Buffer::Ring => producer.fill(size)?,
                Buffer::Perf => {
                    producer.run("sample", SAMPLES)?;
                    SAMPLES.into()
                }
            };
            let before = thread_cpu_time();
            let read = reader.consume()?;
            let took = thread_cpu_time().saturating_sub(before);
            if read != sent {
                return Err(format!("{}: {read} records read of {sent}", peer.name()));
            }
            Ok(took.as_nanos() as f64 / read as f64)
        };
        scope.spawn(drain).join().map_err(|_| "a thread panicked".to_owned())?
    })
}

/// Reads a stream of records while another CPU sends.
fn stream(peer: Peer, producer: &Producer, size: u64) -> Result<Stream, String> {
    let [sending_cpu, reading_cpu] = cpus();
    let is_stopped = AtomicBool::new(false);
    let (sent, dropped) = (producer.sent()?, producer.dropped()?);
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            pin_to_cpu(sending_cpu)?;
            let program = format!("send{size}");
            while !is_stopped.load(Ordering::Relaxed) {
                producer.run(&program, RUNS)?;
            }
            Ok::<_, String>(())
        });
        let reading = scope.spawn(|| {
            pin_to_cpu(reading_cpu)?;
            let work = Work::Sum(AtomicU64::new(0));
            let mut reader = readers::open(peer, producer, Buffer::Ring, &work)?;
            // The clock starts with the first record.
            let mut read = reader.poll(Duration::from_secs(5))?;
            let (start, cpu) = (Instant::now(), thread_cpu_time());
            let mut counted = 0;
            while start.elapsed() < STREAM {
                counted += reader.poll(Duration::from_millis(100))?;
            }
            let (took, cpu) = (start.elapsed(), thread_cpu_time().saturating_sub(cpu));
            is_stopped.store(true, Ordering::Relaxed);
            sending.join().map_err(|_| "a thread panicked")??;
            read += counted + reader.consume()?;
            let (sent, dropped) = (producer.sent()? - sent, producer.dropped()? - dropped);
            if read != sent {
                return Err(format!("{}: {read} records read of {sent}", peer.name()));
            }
            Ok(Stream {
                rate: counted as f64 / took.as_secs_f64() / 1e6,
                cpu: cpu.as_nanos() as f64 / counted.max(1) as f64,
                refused: dropped as f64 * 100.0 / (sent + dropped) as f64,
            })
        });
        let result = reading.join().map_err(|_| "a thread panicked".to_owned());
        // After an error of the reader, the sender still runs.
        is_stopped.store(true, Ordering::Relaxed);
        result?
    })
}

/// Returns the CPU time of the calling thread.
pub(super) fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
