//! Reading ring buffers.

use super::{
    error::{NO_NAME, RingError, TOKEN_IS_RING_INDEX},
    flow::{CallbackResult, Consumed},
    wait::{DRAIN_INTERVAL, WaitSlices, checked_interval},
};
use crate::{
    convert::to_u64,
    sys::{self, Epoll, Errno, Interest, KernelRing, RingFault, Waited},
};
use core::{fmt, hint, ops::ControlFlow, time::Duration};
use core_relo_object::object::MapType;
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};

/// A reader of one or more maps of type `BPF_MAP_TYPE_RINGBUF`, each with its callback.
///
/// The callback gets each record as a slice of the ring's memory, without a copy. A map has one reader per
/// process at a time. The reader is `Send`, so threads can share it behind a lock.
///
/// # Overwriting rings
///
/// In a map with the flag `BPF_F_RB_OVERWRITE` (kernels from 6.19), new records overwrite the oldest ones
/// when the ring is full. Then the callback gets a copy of each record, in order. The reader skips records
/// that were overwritten before it read them, and [`lost_bytes`](Self::lost_bytes) counts them.
///
/// The reader drops a copy if the kernel's position of overwriting has reached the record after the copy.
/// That makes every record whole on CPUs that keep the order of stores, such as x86-64 and s390x. On others,
/// such as arm64, riscv64 and ppc64le, a record that is overwritten during the copy may be torn. There, the
/// kernel (as of 6.19) has no barrier between the store of the position and the program's stores to the new
/// record, and no check of a reader can replace that barrier. A number at the beginning and the end of each
/// record, or a checksum, finds torn ones.
///
/// # The only reader
///
/// The reader must be the only reader in the whole system. The reader's position is part of the map, and
/// every process that may write the map can move the position. BPF programs would then overwrite records that
/// a callback is reading, and the kernel cannot prevent that. Give the map only to processes that are trusted
/// not to read it.
#[must_use = "dropping it ends the reading"]
pub struct RingBuffer<'cb> {
    rings: Vec<Ring<'cb>>,
    epoll: Epoll,
    ready: Vec<u64>,
    /// The index of the ring that is read first: the one after the ring in which the last call ended early,
    /// so that a ring that always has records does not keep the others from being read.
    first: usize,
    /// The time after which the rings are read without a wakeup.
    drain_interval: Option<Duration>,
    /// The time when the rings without a wakeup were read last because the interval had passed.
    last_drain: Instant,
}

struct Ring<'cb> {
    name: Box<str>,
    records: KernelRing,
    reader: Box<dyn ReadRecords + 'cb>,
    /// Keeps the map in the epoll set. epoll removes an entry when its last descriptor is closed.
    _map: OwnedFd,
}

/// The callback of a ring, with the loop over the records.
///
/// The compiler puts the callback into the loop. A call through a pointer for each record would take as long
/// as the rest of the loop.
trait ReadRecords: Send {
    /// Runs the callback on at most `n` records of a ring.
    fn read(&mut self, records: &mut KernelRing, n: usize) -> Result<Consumed, RingFault>;
}

impl<F: FnMut(&[u8]) -> ControlFlow<()> + Send> ReadRecords for F {
    fn read(&mut self, records: &mut KernelRing, n: usize) -> Result<Consumed, RingFault> {
        let mut consumed = Consumed::default();
        while let Some(left) = consumed.remaining(n) {
            let known = records.for_each_known(left, &mut *self)?;
            let (ControlFlow::Continue(count) | ControlFlow::Break(count)) = known;
            consumed.add(Consumed { records: count, stopped: known.is_break() });
            if consumed.remaining(n).is_none() {
                break;
            }
            let Some(record) = records.next()? else { break };
            let flow = self(record);
            records.release()?;
            consumed.add_record(flow);
        }
        Ok(consumed)
    }
}

impl<'cb> RingBuffer<'cb> {
    /// Opens a reader of one map.
    pub fn new<R: CallbackResult>(
        map: impl AsFd,
        on_record: impl FnMut(&[u8]) -> R + Send + 'cb,
    ) -> Result<Self, RingError> {
        let mut buffer = Self::empty()?;
        buffer.add(map, on_record)?;
        Ok(buffer)
    }

    /// Creates a reader without maps.
    pub fn empty() -> Result<Self, RingError> {
        let epoll = Epoll::new().map_err(|e| RingError::kernel(NO_NAME, "create an epoll instance", e))?;
        let (rings, ready) = (Vec::new(), Vec::new());
        let (drain_interval, last_drain) = (Some(DRAIN_INTERVAL), Instant::now());
        Ok(Self { rings, epoll, ready, first: 0, drain_interval, last_drain })
    }

    /// Sets the time after which [`poll`](Self::poll) reads the rings although no wakeup arrived, by default
    /// 500 ms. `None` waits for wakeups alone, as libbpf does.
    ///
    /// A record that a program sends with `BPF_RB_NO_WAKEUP` wakes nobody. Unread, it also keeps later
    /// records without flags from waking: the kernel wakes a reader that has read all earlier records.
    pub fn set_drain_interval(&mut self, interval: Option<Duration>) {
        self.drain_interval = checked_interval(interval);
    }

    /// Adds a map. Returns the map's index in this reader, beginning with 0.
    pub fn add<R: CallbackResult>(
        &mut self,
        map: impl AsFd,
        mut on_record: impl FnMut(&[u8]) -> R + Send + 'cb,
    ) -> Result<usize, RingError> {
        let map = map.as_fd();
        let info =
            sys::MapInfo::query(&map).map_err(|e| RingError::kernel(NO_NAME, "read its properties", e))?;
        RingError::check_type(&info, MapType::Ringbuf)?;
        let name: Box<str> = info.name().into();
        let records = KernelRing::open(map, &info).map_err(|fault| RingError::open(&info, fault))?;
        let map = map
            .try_clone_to_owned()
            .map_err(|e| RingError::kernel(&name, "duplicate its descriptor", Errno::from_io_error(&e)))?;
        let index = self.rings.len();
        self.epoll
            .add(map.as_fd(), to_u64(index), Interest::Readable)
            .map_err(|e| RingError::kernel(&name, "wait for it", e))?;
        let reader = Box::new(move |record: &[u8]| on_record(record).flow());
        self.rings.push(Ring { name, records, reader, _map: map });
        Ok(index)
    }

    /// Returns the names of all maps, for errors.
    #[cold]
    fn names(&self) -> String {
        self.rings.iter().map(|ring| &*ring.name).collect::<Vec<_>>().join(", ")
    }

    /// Waits for records and runs the callbacks until the rings are empty. Without a timeout, waits forever.
    /// A signal ends the wait early, without an error. Records that were sent without a wakeup are read at
    /// [intervals](Self::set_drain_interval).
    ///
    /// As in libbpf, the call goes on as long as programs send records faster than the callbacks process
    /// them. A callback that returns [`ControlFlow::Break`] ends it, and [`consume_n`](Self::consume_n) has a
    /// limit.
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<Consumed, RingError> {
        for slice in WaitSlices::new(timeout, self.drain_interval) {
            let waited = self.epoll.wait(&mut self.ready, slice);
            match waited.map_err(|e| RingError::kernel(&self.names(), "wait", e))? {
                Waited::Ready => return self.consume_ready(),
                Waited::Interrupted => break,
                Waited::TimedOut if self.drain_interval.is_none() => {}
                Waited::TimedOut => {
                    let consumed = self.consume()?;
                    if consumed.stopped || consumed.records > 0 {
                        return Ok(consumed);
                    }
                }
            }
        }
        Ok(Consumed::default())
    }

    /// Reads the rings that are ready, and after an interval the others.
    fn consume_ready(&mut self) -> Result<Consumed, RingError> {
        let mut all = Consumed::default();
        if self.first > 0 {
            let first = to_u64(self.first);
            self.ready.sort_unstable_by_key(|index| (*index < first, *index));
        }
        for index in &self.ready {
            let known =
                usize::try_from(*index).ok().and_then(|n| Some((n.checked_add(1)?, self.rings.get_mut(n)?)));
            let Some((next, ring)) = known else {
                return Err(RingError::Corrupt { map: self.names().into(), cause: TOKEN_IS_RING_INDEX });
            };
            let consumed = ring.consume(usize::MAX);
            if !matches!(&consumed, Ok(consumed) if !consumed.stopped) {
                self.first = next;
            }
            all.add(consumed?);
            if all.stopped {
                return Ok(all);
            }
        }
        if self.ready.len() < self.rings.len()
            && self.drain_interval.is_some_and(|interval| self.last_drain.elapsed() >= interval)
        {
            self.last_drain = Instant::now();
            all.add(self.consume()?);
        }
        Ok(all)
    }

    /// Runs the callbacks until the rings are empty. Does not wait.
    pub fn consume(&mut self) -> Result<Consumed, RingError> {
        self.consume_n(usize::MAX)
    }

    /// Runs the callbacks on at most `n` records. Does not wait.
    ///
    /// The call begins with the ring after the one in which the last call ended. `ring_buffer__consume_n` of
    /// libbpf always begins with the first ring, which then keeps the others from being read if it always has
    /// `n` records.
    pub fn consume_n(&mut self, n: usize) -> Result<Consumed, RingError> {
        let mut all = Consumed::default();
        let first = if self.first < self.rings.len() { self.first } else { 0 };
        let (before, after) = self.rings.split_at_mut(first);
        for (next, ring) in (1..).skip(first).zip(after).chain((1..).zip(before)) {
            let Some(left) = all.remaining(n) else { break };
            self.first = next;
            all.add(ring.consume(left)?);
        }
        Ok(all)
    }

    /// Runs the callbacks in a loop that never sleeps, until a callback stops the loop or `keep_running`
    /// returns `false`. The loop has the shortest latency, and uses a whole CPU. The loop calls
    /// `keep_running` each time the rings are empty.
    pub fn spin(&mut self, mut keep_running: impl FnMut() -> bool) -> Result<Consumed, RingError> {
        let mut all = Consumed::default();
        loop {
            let now = self.consume()?;
            all.add(now);
            if all.stopped || !keep_running() {
                return Ok(all);
            }
            if now.records == 0 {
                hint::spin_loop();
            }
        }
    }

    /// Returns the number of maps.
    pub fn len(&self) -> usize {
        self.rings.len()
    }

    /// Returns whether the reader has no maps.
    pub fn is_empty(&self) -> bool {
        self.rings.is_empty()
    }

    /// Returns the number of unread bytes in a map's ring, with headers. Returns 0 for an unknown index.
    pub fn available(&self, index: usize) -> usize {
        self.rings.get(index).map_or(0, |ring| ring.records.available())
    }

    /// Returns the number of bytes of a map's ring that were overwritten before they were read, with headers.
    /// Only a map with the flag `BPF_F_RB_OVERWRITE` loses records this way. Returns 0 for an unknown index.
    pub fn lost_bytes(&self, index: usize) -> u64 {
        self.rings.get(index).map_or(0, |ring| ring.records.lost_bytes())
    }

    /// Returns how many times the reader found a map's ring too full for another record as long as the
    /// longest one so far. Returns 0 for an unknown index.
    ///
    /// The kernel does not count the records that a full ring refuses: the helper fails, and only the BPF
    /// program knows. A number above 0 therefore means that records may be lost. An exact count needs a
    /// counter in the program.
    ///
    /// The reader looks at the writer's position after each 64th part of the ring. A full ring is always
    /// noticed, but several times between two looks count as one. A ring that had up to a 64th part free may
    /// count too.
    pub fn full_count(&self, index: usize) -> u64 {
        self.rings.get(index).map_or(0, |ring| ring.records.full_count())
    }

    /// Returns the size of a map's ring in bytes. Returns 0 for an unknown index.
    pub fn size(&self, index: usize) -> usize {
        self.rings.get(index).map_or(0, |ring| ring.records.size())
    }
}

impl Ring<'_> {
    fn consume(&mut self, n: usize) -> Result<Consumed, RingError> {
        let consumed = self.reader.read(&mut self.records, n);
        consumed.map_err(|cause| RingError::Corrupt { map: self.name.clone().into(), cause })
    }
}

impl AsFd for RingBuffer<'_> {
    /// Returns an epoll instance that is readable while a map has records.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl fmt::Debug for RingBuffer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rings.iter().map(|ring| (&ring.name, &ring.records))).finish()
    }
}
