//! Reading a perf event array.

use super::{Consumed, Flow, RingError, error::NAMELESS};
use crate::{
    object::MapType,
    sys::{self, Claim, Epoll, Errno, Interest, MapFd, PerfRecord, PerfRing, PerfWakeup, Pod as _},
};
use alloc::collections::BTreeSet;
use core::{fmt, ops::ControlFlow, time::Duration};
use std::{
    fs,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd},
};

/// When who waits for a perf buffer is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wakeup {
    /// After so many samples on one processor. More cost less and come later: the last ones only with
    /// [`consume`](PerfBuffer::consume).
    Samples(u32),
    /// After so many bytes on one processor.
    Bytes(u32),
}

/// How to read a perf event array.
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
    on_lost: OnLost<'cb>,
}

type OnLost<'cb> = Box<dyn FnMut(u32, u64) + Send + 'cb>;
type OnSample<'cb> = Box<dyn FnMut(u32, &[u8]) -> ControlFlow<()> + Send + 'cb>;

impl Default for PerfBufferOptions<'_> {
    fn default() -> Self {
        Self { pages: 8, wakeup: Wakeup::Samples(1), cpus: None, on_lost: Box::new(|_cpu, _n| {}) }
    }
}

impl<'cb> PerfBufferOptions<'cb> {
    /// 8 pages for each processor that is online, a wakeup for each sample.
    pub fn new() -> Self {
        Self::default()
    }

    /// Pages of each processor's ring, a power of two.
    pub fn pages(mut self, pages: usize) -> Self {
        self.pages = pages;
        self
    }

    /// When to wake who waits.
    pub fn wakeup(mut self, wakeup: Wakeup) -> Self {
        self.wakeup = wakeup;
        self
    }

    /// Reads these processors alone. With each goes the key of the map under which its ring is put, usually the same number.
    pub fn cpus(mut self, cpus_and_keys: impl IntoIterator<Item = (u32, u32)>) -> Self {
        self.cpus = Some(cpus_and_keys.into_iter().collect());
        self
    }

    /// Is told how many samples found no room, and on which processor.
    pub fn on_lost(mut self, on_lost: impl FnMut(u32, u64) + Send + 'cb) -> Self {
        self.on_lost = Box::new(on_lost);
        self
    }

    /// Opens the rings and puts them into the map. The callback gets the processor's number and the sample, which the kernel has padded
    /// with up to 7 bytes.
    pub fn open<R: Flow>(
        self,
        map: impl AsFd,
        mut on_sample: impl FnMut(u32, &[u8]) -> R + Send + 'cb,
    ) -> Result<PerfBuffer<'cb>, RingError> {
        let map = map.as_fd();
        let info = sys::map_info(&map).map_err(|e| RingError::kernel(NAMELESS, "ask for its info", e))?;
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
            None => online(info.max_entries).map_err(|e| failed("see which processors are online", e))?,
        };
        let mut buffer = PerfBuffer {
            rings: Vec::new(),
            epoll: Epoll::new().map_err(|e| failed("make an epoll instance", e))?,
            ready: Vec::new(),
            unserved: BTreeSet::new(),
            handlers: Handlers {
                on_sample: Box::new(move |cpu, sample| on_sample(cpu, sample).flow()),
                on_lost: self.on_lost,
            },
            name: name.clone(),
            map,
        };
        for (cpu, key) in cpus {
            let claim = Claim::of_place(info.id, key).map_err(|fault| RingError::open(&info, fault))?;
            buffer.add(cpu, key, self.pages, self.wakeup, claim)?;
        }
        Ok(buffer)
    }
}

impl fmt::Debug for PerfBufferOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pages, wakeup, cpus, on_lost: _ } = self;
        f.debug_struct("PerfBufferOptions")
            .field("pages", pages)
            .field("wakeup", wakeup)
            .field("cpus", cpus)
            .finish_non_exhaustive()
    }
}

/// Reads a map of type `BPF_MAP_TYPE_PERF_EVENT_ARRAY`. Dropping it takes its rings out of the map. A process has one reader of
/// each of the map's places at a time.
#[must_use = "dropping it ends the reading"]
pub struct PerfBuffer<'cb> {
    rings: Vec<CpuRing>,
    epoll: Epoll,
    ready: Vec<u64>,
    /// Rings that may have more, though the kernel told of it already: it does once.
    unserved: BTreeSet<usize>,
    handlers: Handlers<'cb>,
    name: Box<str>,
    map: MapFd,
}

struct Handlers<'cb> {
    on_sample: OnSample<'cb>,
    on_lost: OnLost<'cb>,
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
    /// Reads with 8 pages for each processor that is online; [`PerfBufferOptions`] has more to choose.
    pub fn new<R: Flow>(
        map: impl AsFd,
        on_sample: impl FnMut(u32, &[u8]) -> R + Send + 'cb,
    ) -> Result<Self, RingError> {
        PerfBufferOptions::new().open(map, on_sample)
    }

    fn add(
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
        let token = u64::try_from(self.rings.len()).unwrap_or(u64::MAX);
        self.epoll.add(ring.as_fd(), token, Interest::Readable).map_err(|e| failed("wait for it", e))?;
        let event = ring.as_fd().as_raw_fd();
        sys::map_update(self.map.shape(), key.as_bytes(), event.as_bytes(), 0)
            .map_err(|e| failed("put a processor's ring into it", e))?;
        // In the list first: dropping it takes the ring out of the map again.
        let enabled = sys::perf_enable(&ring).map_err(|e| failed("enable a perf event", e));
        self.rings.push(CpuRing { cpu, key, ring, lost: 0, _claim: claim });
        enabled
    }

    /// Waits until there are samples, with no timeout for ever, and runs the callbacks on them until nothing is left. A signal ends the
    /// wait early, without an error.
    ///
    /// What a callback that said to stop, or an error, left behind comes first the next time, without waiting.
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<Consumed, RingError> {
        let left = self.serve(usize::MAX)?;
        if left.stopped || left.records > 0 {
            return Ok(left);
        }
        let waited = self.epoll.wait(&mut self.ready, timeout);
        waited.map_err(|e| RingError::kernel(&self.name, "wait for it", e))?;
        self.unserved.extend(self.ready.iter().filter_map(|number| usize::try_from(*number).ok()));
        self.serve(usize::MAX)
    }

    /// Serves those that wait for it, `n` samples at most.
    fn serve(&mut self, n: usize) -> Result<Consumed, RingError> {
        let mut all = Consumed::default();
        while let Some(number) = self.unserved.first().copied()
            && all.records < n
            && !all.stopped
        {
            let Some(ring) = self.rings.get_mut(number) else {
                self.unserved.remove(&number);
                continue;
            };
            let left = n.saturating_sub(all.records);
            let served = ring.consume(left, &mut self.handlers, &self.name);
            // After an error, what the ring had is passed over.
            if !matches!(&served, Ok(done) if done.stopped || done.records >= left) {
                self.unserved.remove(&number);
            }
            all.add(served?);
        }
        Ok(all)
    }

    /// Runs the callbacks on what there is, until nothing is left. Does not wait.
    pub fn consume(&mut self) -> Result<Consumed, RingError> {
        self.consume_n(usize::MAX)
    }

    /// The same with `n` samples at most.
    pub fn consume_n(&mut self, n: usize) -> Result<Consumed, RingError> {
        self.unserved.extend(0..self.rings.len());
        self.serve(n)
    }

    /// How many samples found no room so far, as far as the kernel has told: it does with the first sample that finds room again.
    pub fn lost(&self) -> u64 {
        self.rings.iter().fold(0, |sum, ring| sum.saturating_add(ring.lost))
    }

    /// The processors it reads.
    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        self.rings.iter().map(|ring| ring.cpu)
    }
}

impl CpuRing {
    fn consume(&mut self, n: usize, to: &mut Handlers<'_>, map: &str) -> Result<Consumed, RingError> {
        let mut done = Consumed::default();
        while done.records < n && !done.stopped {
            let record = self.ring.next().map_err(|cause| RingError::Corrupt { map: map.into(), cause })?;
            match record {
                None => break,
                Some(PerfRecord::Sample(sample)) => {
                    done.stopped = (to.on_sample)(self.cpu, sample).is_break();
                    done.records = done.records.saturating_add(1);
                }
                Some(PerfRecord::Lost(count)) => {
                    self.lost = self.lost.saturating_add(count);
                    (to.on_lost)(self.cpu, count);
                }
                Some(PerfRecord::Other) => {}
            }
            self.ring.release();
        }
        Ok(done)
    }
}

impl AsFd for PerfBuffer<'_> {
    /// An epoll instance that is readable while a processor's ring has samples, as far as [`Wakeup`] says.
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
        for ring in &self.rings {
            if let Err(errno) = sys::map_delete(self.map.shape(), ring.key.as_bytes()) {
                log::debug!("map {}: ring of CPU {} stays until it is closed: {errno}", self.name, ring.cpu);
            }
        }
    }
}

/// Processors that are online and have a place in the map, each under its own number.
fn online(max_entries: u32) -> Result<Vec<(u32, u32)>, Errno> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").map_err(|e| Errno::from_io_error(&e))?;
    let cpus = sys::cpu_list(&text, max_entries).ok_or(Errno(libc::EINVAL))?;
    Ok(cpus.into_iter().map(|cpu| (cpu, cpu)).collect())
}
