//! Readers of the buffers. They copy records to a queue of limited size.

use super::source::{BufferKind, EventSource};
use crate::error::BadInput;
use core_relo_loader::{
    load::Loaded,
    ring::{Consumed, PerfBuffer, RingBuffer, RingError},
};
use std::{
    collections::VecDeque,
    mem,
    ops::ControlFlow,
    os::fd::AsFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The bytes of records that the queue takes before the readers stop.
const QUEUE_BYTES: usize = 1 << 20;

/// The longest wait for one of several buffers.
const WAIT_FOR_ONE: Duration = Duration::from_millis(20);

/// The longest wait for the only buffer. A signal that arrives just before the wait is noticed after it.
const WAIT_FOR_ONLY: Duration = Duration::from_millis(200);

/// A record, and where it comes from.
#[derive(Debug)]
pub(super) struct Record {
    /// The index of the source.
    pub(super) source: usize,
    pub(super) cpu: Option<u32>,
    pub(super) bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Queue {
    records: VecDeque<Record>,
    bytes: usize,
    /// The number of records at which the reader stops. Later records stay in the buffer.
    max_records: usize,
}

/// The open buffers of a loaded object.
#[derive(Debug)]
pub(crate) struct EventReaders {
    readers: Vec<Reader>,
    pub(super) sources: Vec<EventSource>,
}

#[derive(Debug)]
struct Reader {
    buffer: Buffer,
    queue: Arc<Mutex<Queue>>,
    /// Whether the queue was full before the buffer was empty.
    is_behind: bool,
}

#[derive(Debug)]
enum Buffer {
    Ring(RingBuffer<'static>),
    Perf(PerfBuffer<'static>),
}

impl EventReaders {
    /// Opens the buffers. A perf event array takes samples only from then on.
    pub(crate) fn open(loaded: &Loaded, sources: &[EventSource]) -> Result<Self, BadInput> {
        let open = |(index, source): (usize, &EventSource)| {
            let map = loaded.map_handle(&source.map).map_err(|e| BadInput::new(loaded.name(), e))?;
            let refused = |e: RingError| BadInput::new(loaded.name(), format!("--print: {e}"));
            Reader::open(map, index, source.buffer).map_err(refused)
        };
        let readers: Result<_, _> = sources.iter().enumerate().map(open).collect();
        Ok(Self { readers: readers?, sources: sources.to_vec() })
    }

    /// Opens the buffer of a map in the running kernel.
    pub(crate) fn open_map(map: impl AsFd, source: EventSource) -> Result<Self, RingError> {
        Ok(Self { readers: vec![Reader::open(map, 0, source.buffer)?], sources: vec![source] })
    }

    /// Waits for records at most until `deadline`, and returns at most `max_records` records, at least 1.
    /// Without a deadline, the wait is short.
    pub(super) fn wait(
        &mut self,
        deadline: Option<Instant>,
        max_records: usize,
    ) -> Result<VecDeque<Record>, RingError> {
        let longest = if self.readers.len() > 1 { WAIT_FOR_ONE } else { WAIT_FOR_ONLY };
        let mut records = VecDeque::new();
        for reader in &mut self.readers {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            // A record of one buffer must not wait for another buffer.
            let timeout =
                if records.is_empty() { left.unwrap_or(longest).min(longest) } else { Duration::ZERO };
            let wanted = max_records.saturating_sub(records.len());
            if wanted == 0 {
                break;
            }
            records.append(&mut reader.read(timeout, wanted)?);
        }
        Ok(records)
    }

    /// Returns the losses so far, by map.
    pub(super) fn losses(&self) -> impl Iterator<Item = (&str, Loss)> {
        let loss = |reader: &Reader| match &reader.buffer {
            // The reader has one ring. New records of a ring either overwrite old ones or are refused.
            Buffer::Ring(buffer) if buffer.lost_bytes(0) > 0 => Loss::OverwrittenBytes(buffer.lost_bytes(0)),
            Buffer::Ring(buffer) => Loss::RingWasFull(buffer.full_count(0)),
            Buffer::Perf(buffer) => Loss::Samples(buffer.lost()),
        };
        let losses = self.sources.iter().map(|source| &*source.map).zip(self.readers.iter().map(loss));
        losses.filter(|(_, loss)| loss.count() > 0)
    }
}

/// What is known about lost events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// The number of samples that a perf event array had no room for.
    Samples(u64),
    /// How many times a ring buffer was full. The kernel does not count the events that a full ring buffer
    /// refuses.
    RingWasFull(u64),
    /// The bytes of events in an overwriting ring buffer that new events replaced before they were read, with
    /// headers.
    OverwrittenBytes(u64),
}

impl Loss {
    pub(super) const fn count(self) -> u64 {
        match self {
            Self::Samples(count) | Self::RingWasFull(count) | Self::OverwrittenBytes(count) => count,
        }
    }
}

impl Reader {
    fn open(map: impl AsFd, source: usize, kind: BufferKind) -> Result<Self, RingError> {
        let queue = Arc::new(Mutex::new(Queue::default()));
        let to = Arc::clone(&queue);
        let buffer = match kind {
            BufferKind::Ring => {
                let on_record =
                    move |bytes: &[u8]| push(&to, Record { source, cpu: None, bytes: bytes.to_vec() });
                Buffer::Ring(RingBuffer::new(map, on_record)?)
            }
            BufferKind::Perf => {
                let on_sample = move |cpu, bytes: &[u8]| {
                    push(&to, Record { source, cpu: Some(cpu), bytes: bytes.to_vec() })
                };
                Buffer::Perf(PerfBuffer::new(map, on_sample)?)
            }
        };
        Ok(Self { buffer, queue, is_behind: false })
    }

    fn read(&mut self, timeout: Duration, max_records: usize) -> Result<VecDeque<Record>, RingError> {
        lock(&self.queue).max_records = max_records;
        let consumed = match (&mut self.buffer, self.is_behind || timeout.is_zero()) {
            (Buffer::Ring(buffer), true) => buffer.consume(),
            (Buffer::Ring(buffer), false) => buffer.poll(Some(timeout)),
            (Buffer::Perf(buffer), true) => buffer.consume(),
            (Buffer::Perf(buffer), false) => buffer.poll(Some(timeout)),
        };
        let Consumed { stopped, .. } = consumed?;
        self.is_behind = stopped;
        let mut queue = lock(&self.queue);
        queue.bytes = 0;
        Ok(mem::take(&mut queue.records))
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a record to the queue. Stops the reader when the queue is full.
fn push(queue: &Mutex<Queue>, record: Record) -> ControlFlow<()> {
    let mut queue = lock(queue);
    // Records without bytes take memory, too.
    queue.bytes = queue.bytes.saturating_add(record.bytes.len()).saturating_add(size_of::<Record>());
    queue.records.push_back(record);
    let has_room = queue.bytes < QUEUE_BYTES && queue.records.len() < queue.max_records;
    if has_room { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}
