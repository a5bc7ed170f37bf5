//! Reading perf event arrays.

use super::{
    error::{NO_NAME, RingError, TOKEN_IS_RING_INDEX},
    flow::{CallbackResult, Consumed},
    wait::{DRAIN_INTERVAL, WaitSlices, checked_interval},
};
use crate::{
    convert::to_u64,
    owner_process::OwnerProcess,
    sys::{
        self, Claim, Epoll, Errno, Interest, MapFd, PerfRecord, PerfRing, PerfWakeup, Pod as _, RingFault,
        Waited,
    },
};
use alloc::collections::BTreeSet;
use core::{
    fmt,
    ops::{Bound, ControlFlow},
    time::Duration,
};
use core_relo_object::object::MapType;
use std::{
    fs,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd},
    time::Instant,
};

/// The condition for waking a process that waits for a perf buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wakeup {
    /// A number of samples on one CPU. A larger number costs less, but delays samples. The last samples below
    /// the number do not wake the process; [`poll`](PerfBuffer::poll) reads them after an
    /// [interval](PerfBufferOptions::drain_interval).
    Samples(u32),
    /// A number of bytes on one CPU.
    Bytes(u32),
}

/// Options for reading a perf event array.
///
/// ```no_run
/// # fn example(map: std::os::fd::BorrowedFd<'_>) -> Result<(), core_relo_loader::ring::RingError> {
/// use core_relo_loader::ring::PerfBufferOptions;
/// let mut events = PerfBufferOptions::new()
///     .pages(64)
///     .on_lost(|cpu, n| eprintln!("{n} events lost on CPU {cpu}"))
///     .open(map, |cpu, sample: &[u8]| println!("CPU {cpu}: {} bytes", sample.len()))?;
/// events.poll(None)?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is opened before `open`"]
pub struct PerfBufferOptions<'cb> {
    pages: usize,
    wakeup: Wakeup,
    cpus: Option<Vec<(u32, u32)>>,
    drain_interval: Option<Duration>,
    on_lost: OnLost<'cb>,
}

type OnLost<'cb> = Box<dyn FnMut(u32, u64) + Send + 'cb>;

impl Default for PerfBufferOptions<'_> {
    fn default() -> Self {
        Self {
            pages: 8,
            wakeup: Wakeup::Samples(1),
            cpus: None,
            drain_interval: Some(DRAIN_INTERVAL),
            on_lost: Box::new(|_cpu, _n| {}),
        }
    }
}

impl<'cb> PerfBufferOptions<'cb> {
    /// Creates the default options: 8 pages for each online CPU, a wakeup for each sample.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of pages of each CPU's ring, a power of two.
    pub fn pages(mut self, pages: usize) -> Self {
        self.pages = pages;
        self
    }

    /// Sets the condition for waking a waiting process.
    pub fn wakeup(mut self, wakeup: Wakeup) -> Self {
        self.wakeup = wakeup;
        self
    }

    /// Sets the time after which [`poll`](PerfBuffer::poll) reads samples that do not fulfill the condition
    /// for waking, by default 500 ms. `None` waits for the condition alone, as libbpf does.
    pub fn drain_interval(mut self, interval: Option<Duration>) -> Self {
        self.drain_interval = checked_interval(interval);
        self
    }

    /// Reads only these CPUs. Each CPU comes with the key of its ring in the map, usually the same number.
    pub fn cpus(mut self, cpus_and_keys: impl IntoIterator<Item = (u32, u32)>) -> Self {
        self.cpus = Some(cpus_and_keys.into_iter().collect());
        self
    }

    /// Sets a callback for lost samples, which gets the CPU and the number of samples.
    pub fn on_lost(mut self, on_lost: impl FnMut(u32, u64) + Send + 'cb) -> Self {
        self.on_lost = Box::new(on_lost);
        self
    }

    /// Opens the rings and writes them to the map. The callback gets the CPU and the sample. The kernel pads
    /// samples with up to 7 bytes.
    pub fn open<R: CallbackResult>(
        self,
        map: impl AsFd,
        mut on_sample: impl FnMut(u32, &[u8]) -> R + Send + 'cb,
    ) -> Result<PerfBuffer<'cb>, RingError> {
        let map = map.as_fd();
        let info =
            sys::MapInfo::query(&map).map_err(|e| RingError::kernel(NO_NAME, "read its properties", e))?;
        RingError::check_type(&info, MapType::PerfEventArray)?;
        let name: Box<str> = info.name().into();
        if !self.pages.is_power_of_two() {
            return Err(RingError::Pages { map: name.into(), pages: self.pages });
        }
        let failed = |action, errno| RingError::kernel(&name, action, errno);
        let map = map.try_clone_to_owned().map_err(|e| Errno::from_io_error(&e));
        let map = map.and_then(MapFd::new).map_err(|e| failed("duplicate its descriptor", e))?;
        let cpus = match self.cpus {
            Some(cpus) => cpus,
            None => online_cpus(info.max_entries).map_err(|e| failed("list the online CPUs", e))?,
        };
        let mut buffer = PerfBuffer {
            rings: Vec::new(),
            owner: OwnerProcess::current(),
            epoll: Epoll::new().map_err(|e| failed("create an epoll instance", e))?,
            ready: Vec::new(),
            pending: BTreeSet::new(),
            last: Bound::Unbounded,
            drain_interval: self.drain_interval.filter(|_| self.wakeup != Wakeup::Samples(1)),
            last_drain: Instant::now(),
            handlers: Handlers {
                reader: Box::new(move |cpu: u32, sample: &[u8]| on_sample(cpu, sample).flow()),
                on_lost: self.on_lost,
            },
            name: name.clone(),
            map,
        };
        for (cpu, key) in cpus {
            let claim = Claim::for_element(info.id, key).map_err(|fault| RingError::open(&info, fault))?;
            buffer.add_ring(cpu, key, self.pages, self.wakeup, claim)?;
        }
        Ok(buffer)
    }
}

impl fmt::Debug for PerfBufferOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pages, wakeup, cpus, drain_interval, on_lost: _ } = self;
        f.debug_struct("PerfBufferOptions")
            .field("pages", pages)
            .field("wakeup", wakeup)
            .field("cpus", cpus)
            .field("drain_interval", drain_interval)
            .finish_non_exhaustive()
    }
}

/// A reader of a map of type `BPF_MAP_TYPE_PERF_EVENT_ARRAY`. Dropping it removes its rings from the map.
/// Each element of the map has one reader per process at a time.
#[must_use = "dropping it ends the reading"]
pub struct PerfBuffer<'cb> {
    rings: Vec<CpuRing>,
    owner: OwnerProcess,
    epoll: Epoll,
    ready: Vec<u64>,
    /// The indices of rings that may have samples. The kernel reports a ring only once, so the index stays
    /// until the ring is empty.
    pending: BTreeSet<usize>,
    /// The index of the ring that was read last. The next one is read first, so that a ring that always has
    /// samples does not keep the others from being read.
    last: Bound<usize>,
    /// The time after which the rings are read without a wakeup; `None` if each sample wakes.
    drain_interval: Option<Duration>,
    /// The time when all rings were read last because the interval had passed.
    last_drain: Instant,
    handlers: Handlers<'cb>,
    name: Box<str>,
    map: MapFd,
}

struct Handlers<'cb> {
    reader: Box<dyn ReadSamples + 'cb>,
    on_lost: OnLost<'cb>,
}

/// The callback for samples, with the loop over the records. As for ring buffers, the compiler puts the
/// callback into the loop.
trait ReadSamples: Send {
    /// Runs the callbacks on at most `n` samples of a CPU's ring.
    fn read(&mut self, ring: &mut CpuRing, on_lost: &mut OnLost<'_>, n: usize)
    -> Result<Consumed, RingFault>;
}

impl<F: FnMut(u32, &[u8]) -> ControlFlow<()> + Send> ReadSamples for F {
    fn read(
        &mut self,
        ring: &mut CpuRing,
        on_lost: &mut OnLost<'_>,
        n: usize,
    ) -> Result<Consumed, RingFault> {
        if n == 0 {
            return Ok(Consumed::default());
        }
        let CpuRing { cpu, ring, lost, .. } = ring;
        let (mut left, mut stopped) = (n, false);
        ring.for_each(|record| {
            match record {
                PerfRecord::Sample(sample) => {
                    stopped = self(*cpu, sample).is_break();
                    // At least one is left: the loop ends with the last one.
                    left = left.wrapping_sub(1);
                }
                PerfRecord::Lost(count) => {
                    // The count comes from memory that the kernel writes.
                    *lost = lost.saturating_add(count);
                    on_lost(*cpu, count);
                }
                PerfRecord::Other => {}
            }
            if stopped || left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(Consumed { records: n.wrapping_sub(left), stopped })
    }
}

#[derive(Debug)]
struct CpuRing {
    cpu: u32,
    key: u32,
    ring: PerfRing,
    lost: u64,
    _claim: Claim,
}

impl<'cb> PerfBuffer<'cb> {
    /// Opens a reader with 8 pages for each online CPU. [`PerfBufferOptions`] has further options.
    pub fn new<R: CallbackResult>(
        map: impl AsFd,
        on_sample: impl FnMut(u32, &[u8]) -> R + Send + 'cb,
    ) -> Result<Self, RingError> {
        PerfBufferOptions::new().open(map, on_sample)
    }

    fn add_ring(
        &mut self,
        cpu: u32,
        key: u32,
        pages: usize,
        wakeup: Wakeup,
        claim: Claim,
    ) -> Result<(), RingError> {
        let failed = |action, errno| RingError::kernel(&self.name, action, errno);
        let wakeup = match wakeup {
            Wakeup::Samples(n) => PerfWakeup::Samples(n.max(1)),
            Wakeup::Bytes(n) => PerfWakeup::Bytes(n.max(1)),
        };
        let ring = PerfRing::open(cpu, pages, wakeup).map_err(|(action, e)| failed(action, e))?;
        let token = to_u64(self.rings.len());
        self.epoll.add(ring.as_fd(), token, Interest::Readable).map_err(|e| failed("wait for it", e))?;
        let event = ring.as_fd().as_raw_fd();
        self.map
            .shape()
            .update(key.as_bytes(), event.as_bytes(), 0)
            .map_err(|e| failed("put a processor's ring into it", e))?;
        // The ring is added to `rings` even after an error, so that dropping `self` removes it from the map.
        let enabled = sys::perf_enable(&ring).map_err(|e| failed("enable a perf event", e));
        self.rings.push(CpuRing { cpu, key, ring, lost: 0, _claim: claim });
        enabled
    }

    /// Waits for samples and runs the callbacks until the rings are empty. Without a timeout, waits forever.
    /// A signal ends the wait early, without an error.
    ///
    /// If a callback or an error stopped the previous call, this call begins with the remaining samples and
    /// does not wait.
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<Consumed, RingError> {
        let consumed = self.consume_pending(usize::MAX)?;
        if consumed.stopped || consumed.records > 0 {
            return self.drain_if_due(consumed);
        }
        for slice in WaitSlices::new(timeout, self.drain_interval) {
            let waited = self.epoll.wait(&mut self.ready, slice);
            match waited.map_err(|e| RingError::kernel(&self.name, "wait for it", e))? {
                Waited::Ready => {
                    self.pending.extend(self.ready.iter().filter_map(|index| usize::try_from(*index).ok()));
                    let consumed = self.consume_pending(usize::MAX)?;
                    return self.drain_if_due(consumed);
                }
                Waited::Interrupted => break,
                Waited::TimedOut => {
                    let consumed = self.drain_if_due(Consumed::default())?;
                    if consumed.stopped || consumed.records > 0 {
                        return Ok(consumed);
                    }
                }
            }
        }
        Ok(Consumed::default())
    }

    /// Reads all rings if the interval has passed since they were read last. The caller chose to wait for
    /// several samples, so samples wait at least for the interval. Returns the samples of the call so far and
    /// those read here. If a callback stopped the call, the next call reads the rings.
    fn drain_if_due(&mut self, mut consumed: Consumed) -> Result<Consumed, RingError> {
        if self.drain_interval.is_none_or(|interval| self.last_drain.elapsed() < interval) {
            return Ok(consumed);
        }
        self.last_drain = Instant::now();
        self.pending.extend(0..self.rings.len());
        if !consumed.stopped {
            consumed.add(self.consume_pending(usize::MAX)?);
        }
        Ok(consumed)
    }

    /// Reads the pending rings, at most `n` samples.
    fn consume_pending(&mut self, n: usize) -> Result<Consumed, RingError> {
        let mut all = Consumed::default();
        while let Some(index) =
            self.pending.range((self.last, Bound::Unbounded)).next().or(self.pending.first()).copied()
            && let Some(left) = all.remaining(n)
        {
            self.last = Bound::Excluded(index);
            let Some(ring) = self.rings.get_mut(index) else {
                self.pending.remove(&index);
                return Err(RingError::Corrupt { map: self.name.clone().into(), cause: TOKEN_IS_RING_INDEX });
            };
            let Handlers { reader, on_lost } = &mut self.handlers;
            let consumed = reader.read(ring, on_lost, left);
            // After an error, the rest of the ring is skipped.
            if !matches!(&consumed, Ok(consumed) if consumed.stopped || consumed.records >= left) {
                self.pending.remove(&index);
            }
            all.add(consumed.map_err(|cause| RingError::Corrupt { map: self.name.clone().into(), cause })?);
        }
        Ok(all)
    }

    /// Runs the callbacks until the rings are empty. Does not wait.
    pub fn consume(&mut self) -> Result<Consumed, RingError> {
        self.consume_n(usize::MAX)
    }

    /// Runs the callbacks on at most `n` samples. Does not wait. The call begins with the ring after the one
    /// in which the last call ended.
    pub fn consume_n(&mut self, n: usize) -> Result<Consumed, RingError> {
        self.pending.extend(0..self.rings.len());
        self.consume_pending(n)
    }

    /// Returns the number of samples lost so far; the number stops at `u64::MAX`. The kernel reports lost
    /// samples with the first sample that fits again.
    pub fn lost(&self) -> u64 {
        self.rings.iter().fold(0, |sum, ring| sum.saturating_add(ring.lost))
    }

    /// Returns the CPUs that the buffer reads.
    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        self.rings.iter().map(|ring| ring.cpu)
    }
}

impl AsFd for PerfBuffer<'_> {
    /// Returns an epoll instance that becomes readable when a CPU's ring fulfills the condition in
    /// [`Wakeup`].
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl fmt::Debug for PerfBuffer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerfBuffer")
            .field("map", &self.name)
            .field("rings", &self.rings)
            .finish_non_exhaustive()
    }
}

impl Drop for PerfBuffer<'_> {
    fn drop(&mut self) {
        if !self.owner.is_current() {
            self.rings.drain(..).for_each(|ring| ring.ring.close_in_child());
            return;
        }
        for ring in &self.rings {
            if let Err(errno) = self.map.shape().delete(ring.key.as_bytes()) {
                log::debug!(
                    "map {}: the ring of CPU {} stays in the map until it is closed: {errno}",
                    self.name,
                    ring.cpu
                );
            }
        }
    }
}

/// Lists the online CPUs below `max_entries`, each with its number as the key in the map.
fn online_cpus(max_entries: u32) -> Result<Vec<(u32, u32)>, Errno> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").map_err(|e| Errno::from_io_error(&e))?;
    let cpus = sys::cpu_list(&text, max_entries).ok_or(Errno(libc::EINVAL))?;
    Ok(cpus.into_iter().map(|cpu| (cpu, cpu)).collect())
}
