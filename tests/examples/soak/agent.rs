//! One life of the agent: from the load to the removal of its pins.

use core_relo_loader::{
    Loader,
    attach::Link,
    load::{Loaded, Pins, RunningKernel},
    object::Object,
    sys::{self, TestRun},
};
use core_relo_tests::artifacts;
use std::{
    error::Error,
    fmt, fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The ring buffer, and its size.
const EVENTS: &str = "events";
const RING_BYTES: u32 = 1 << 20;
/// The number of events that the writer sends with one system call.
const BURST: u32 = 10_000;

/// The agent: an object that sends events to a ring buffer, and one that is attached to each system call.
pub struct Agent {
    pub sender: Loaded,
    /// The object that is attached.
    pub attached: Loaded,
    pub links: Vec<Link>,
    pins: [Pins; 2],
}

/// The figures of one or more periods.
#[derive(Default)]
pub struct Period {
    read: u64,
    lost: u64,
    /// How many times the reader found the ring full.
    full: u64,
    reading_time: Duration,
}

impl Agent {
    /// Loads and attaches the objects, and pins them in a directory.
    pub fn start(dir: &Path) -> Result<Self, Box<dyn Error>> {
        let sender = load("ringbuf.bpf.o", None)?;
        let attached = load("raw_tp.bpf.o", Some(std::process::id()))?;
        let mut links = attached.attach_all()?;
        let sender_pins = sender.pin_all(&RunningKernel, dir, &mut [])?;
        let attached_pins = attached.pin_all(&RunningKernel, &dir.join("attached"), &mut links)?;
        Ok(Self { sender, attached, links, pins: [sender_pins, attached_pins] })
    }

    /// Reads events while a thread sends as many as it can. Checks that each event was read or counted as lost.
    pub fn read_for(&mut self, duration: Duration) -> Result<Period, Box<dyn Error>> {
        // The reader may run on another thread, so its callback owns its counter.
        let counter = Arc::new(AtomicU64::new(0));
        let read = Arc::clone(&counter);
        let mut reader = self.sender.ring_buffer(EVENTS, move |_record: &[u8]| {
            counter.fetch_add(1, Ordering::Relaxed);
        })?;
        let program = self.sender.program("reserve").ok_or("the object has no program `reserve`")?;
        let is_stopped = AtomicBool::new(false);
        let start = Instant::now();
        thread::scope(|scope| -> Result<(), Box<dyn Error>> {
            let sending = scope.spawn(|| {
                while !is_stopped.load(Ordering::Relaxed) {
                    let mut run = TestRun { data_in: &[0; 64], repeat: BURST, ..TestRun::default() };
                    sys::prog_test_run(program, &mut run)?;
                }
                Ok::<_, sys::Errno>(())
            });
            let mut result = Ok(());
            while start.elapsed() < duration && result.is_ok() {
                result = reader.poll(Some(Duration::from_millis(100))).map(drop);
            }
            is_stopped.store(true, Ordering::Relaxed);
            sending.join().map_err(|_| "the sending thread panicked")??;
            result?;
            Ok(reader.consume().map(drop)?)
        })?;
        let (sent, lost): (u64, u64) = (self.sender.global("hits")?, self.sender.global("dropped")?);
        let period = Period {
            read: read.load(Ordering::Relaxed),
            lost,
            full: reader.full_count(0),
            reading_time: start.elapsed(),
        };
        if period.read != sent {
            return Err(format!("{} events read, {sent} sent", period.read).into());
        }
        if lost > 0 && period.full == 0 {
            return Err(format!("{lost} events lost, but the reader never saw the ring full").into());
        }
        if self.attached.global::<u64>("hits")? == 0 {
            return Err("the attached program did not run".into());
        }
        Ok(period)
    }

    /// Removes the pins, detaches and unloads.
    pub fn stop(mut self) -> Result<(), Box<dyn Error>> {
        let [sender, attached] = self.pins;
        attached.remove(&mut self.links);
        sender.remove(&mut []);
        self.links.into_iter().try_for_each(Link::detach)?;
        Ok(())
    }
}

fn load(name: &str, only_process: Option<u32>) -> Result<Loaded, Box<dyn Error>> {
    let path = artifacts::root().join("bpf-progs/prebuilt/el/live").join(name);
    let bytes = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let object = Object::parse(&bytes)?;
    let mut loader = Loader::new(&object).name("soak");
    if object.maps().iter().any(|map| map.name == EVENTS.as_bytes()) {
        loader.map_mut(EVENTS).max_entries = Some(RING_BYTES);
    }
    if let Some(process) = only_process {
        loader.set_global("only_pid", &process)?;
    }
    Ok(loader.load()?)
}

impl Period {
    pub fn add(&mut self, other: &Self) {
        self.read += other.read;
        self.lost += other.lost;
        self.full += other.full;
        self.reading_time += other.reading_time;
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { read, lost, full, reading_time } = self;
        let rate = *read as f64 / reading_time.as_secs_f64() / 1e6;
        write!(
            f,
            "{read} events read ({rate:.2} million a second), {lost} lost and counted, ring full {full} times"
        )
    }
}
