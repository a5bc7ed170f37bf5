//! Sending and reading events, and the proof that none is lost silently.

use crate::source::Source;
use core_relo_loader::{
    Errno, inventory,
    load::{Loaded, LoadedProgram, TestRun},
    ring::{Consumed, PerfBuffer, PerfBufferOptions, RingBuffer, RingError},
};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::{
    error::Error,
    fmt,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The map that takes the events.
pub const MAP: &str = "events";
/// The number of events that the sender sends with one system call.
const BURST: u32 = 10_000;
/// The CPU that sends. The kernel reports lost samples of a perf buffer with the next sample of the same CPU.
const SENDING_CPU: usize = 0;
const PERF_PAGES: usize = 64;
/// The bytes of an event in a ring: two numbers and the kernel's header.
const RING_RECORD_BYTES: u64 = 24;

/// The counts of one or more periods.
#[derive(Default)]
pub struct Counts {
    sent: u64,
    read: u64,
    lost: u64,
    /// The number of times that the reader found a ring full.
    full: u64,
    duration: Duration,
}

/// The events that the reader got. Each event has its number.
#[derive(Default)]
struct Received {
    count: AtomicU64,
    next_number: AtomicU64,
    /// The events whose numbers were left out.
    missing: AtomicU64,
    /// The events whose numbers had come before, or that were too short.
    wrong: AtomicU64,
}

impl Received {
    fn add(&self, record: &[u8]) {
        let number = record.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
        let expected = self.next_number.load(Ordering::Relaxed);
        match number.and_then(|number| number.checked_sub(expected)) {
            Some(missing) => {
                self.missing.fetch_add(missing, Ordering::Relaxed);
                self.next_number.store(expected + missing + 1, Ordering::Relaxed);
            }
            None => _ = self.wrong.fetch_add(1, Ordering::Relaxed),
        }
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

enum Reader<'cb> {
    Ring(RingBuffer<'cb>),
    Perf(PerfBuffer<'cb>),
}

impl<'cb> Reader<'cb> {
    fn open(sender: &Loaded, source: Source, received: &'cb Received) -> Result<Self, Box<dyn Error>> {
        Ok(match source {
            Source::RingBuffer | Source::OverwritingRing => {
                Self::Ring(sender.ring_buffer(MAP, |record: &[u8]| received.add(record))?)
            }
            Source::PerfBuffer => {
                let options = PerfBufferOptions::new().pages(PERF_PAGES);
                Self::Perf(options.open(sender.map_handle(MAP)?, |_cpu, sample: &[u8]| received.add(sample))?)
            }
        })
    }

    fn poll(&mut self, timeout: Duration) -> Result<Consumed, RingError> {
        match self {
            Self::Ring(ring) => ring.poll(Some(timeout)),
            Self::Perf(perf) => perf.poll(Some(timeout)),
        }
    }

    fn consume(&mut self) -> Result<Consumed, RingError> {
        match self {
            Self::Ring(ring) => ring.consume(),
            Self::Perf(perf) => perf.consume(),
        }
    }

    fn full_count(&self) -> u64 {
        match self {
            Self::Ring(ring) => ring.full_count(0),
            Self::Perf(_) => 0,
        }
    }
}

/// Reads events while a thread sends as many as it can. Returns an error if an event was neither read nor
/// counted as lost.
pub fn read_for(sender: &Loaded, source: Source, duration: Duration) -> Result<Counts, Box<dyn Error>> {
    let received = Received::default();
    let mut reader = Reader::open(sender, source, &received)?;
    let program = sender.program(source.program()).ok_or("the object lacks its program")?;
    let is_stopped = AtomicBool::new(false);
    let start = Instant::now();
    // A reader that is slower than the sender goes on until the sender ends.
    let is_over = || start.elapsed() >= duration || is_stopped.load(Ordering::Relaxed);
    let mut sent = thread::scope(|scope| -> Result<u64, Box<dyn Error>> {
        let sending = scope.spawn(|| send(program, BURST, is_over));
        let mut result = Ok(());
        while start.elapsed() < duration && result.is_ok() {
            result = reader.poll(Duration::from_millis(100)).map(drop);
        }
        is_stopped.store(true, Ordering::Relaxed);
        let sent = sending.join().map_err(|_| "the sending thread panicked")?;
        result?;
        Ok(sent?)
    })?;
    reader.consume()?;
    if source == Source::PerfBuffer {
        // The samples lost at the end are reported with the next one.
        sent += thread::scope(|scope| scope.spawn(|| send(program, 1, || true)).join())
            .map_err(|_| "the sending thread panicked")??;
        reader.consume()?;
    }
    let lost = match (&reader, source) {
        (Reader::Perf(perf), _) => perf.lost(),
        (Reader::Ring(ring), Source::OverwritingRing) => ring.lost_bytes(0) / RING_RECORD_BYTES,
        // The kernel does not count them, but the program does.
        (Reader::Ring(_), _) => sender.global("dropped")?,
    };
    let counts = Counts {
        sent,
        read: received.count.load(Ordering::Relaxed),
        lost,
        full: reader.full_count(),
        duration: start.elapsed(),
    };
    drop(reader);
    counts.check(source, &received)?;
    Ok(counts)
}

/// Sends bursts of events until `is_stopped`, at least one. Returns the number of events.
fn send(program: &LoadedProgram, burst: u32, is_stopped: impl Fn() -> bool) -> Result<u64, Errno> {
    let mut first = CpuSet::new();
    first.set(SENDING_CPU);
    sched_setaffinity(None, &first).map_err(|e| Errno(e.raw_os_error()))?;
    let mut sent = 0;
    loop {
        let mut run = TestRun { data_in: &[0; 64], repeat: burst, ..TestRun::default() };
        inventory::test_run(program, &mut run)?;
        sent += u64::from(burst);
        if is_stopped() {
            return Ok(sent);
        }
    }
}

impl Counts {
    /// Checks that each event was read or counted as lost, in order.
    fn check(&self, source: Source, received: &Received) -> Result<(), String> {
        let Self { sent, read, lost, full, .. } = self;
        let [missing, wrong] = [&received.missing, &received.wrong].map(|n| n.load(Ordering::Relaxed));
        // An overwriting ring loses events after they got their numbers, the other buffers before.
        let expected_missing = if source == Source::OverwritingRing { *lost } else { 0 };
        let problem = if *sent != read + lost {
            "events were lost silently"
        } else if missing != expected_missing || wrong != 0 {
            "events came twice, not at all or in another order"
        } else if *lost > 0 && *full == 0 && source == Source::RingBuffer {
            "events were lost, but the reader never saw the ring full"
        } else {
            return Ok(());
        };
        Err(format!(
            "{source:?}: {problem}: {sent} sent, {read} read, {lost} lost, ring full {full} times, {missing} numbers missing, \
             {wrong} wrong"
        ))
    }

    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.read += other.read;
        self.lost += other.lost;
        self.full += other.full;
        self.duration += other.duration;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, read, lost, full, duration } = self;
        let rate = *read as f64 / duration.as_secs_f64() / 1e6;
        write!(
            f,
            "{sent} events sent, {read} read ({rate:.2} million a second), {lost} lost and counted, ring full {full} times"
        )
    }
}
