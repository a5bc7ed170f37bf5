//! Reading ring buffers.

use super::{Consumed, Flow, RingError, error::NAMELESS};
use crate::{
    object::MapType,
    sys::{self, Epoll, Errno, Interest, KernelRing},
};
use core::{fmt, hint, ops::ControlFlow, time::Duration};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Reads one or more maps of type `BPF_MAP_TYPE_RINGBUF`, each with its callback.
///
/// The callback gets each record where it lies. A process has one reader of a map at a time; it is `Send`, and may be shared behind a
/// lock.
///
/// It must be the only reader in the whole system: the reader's position belongs to the map, and any process that has the map
/// and may write it can move that, upon which the kernel writes over records that are lent out here. The kernel has no means
/// to keep others away. Give the map only to processes that are trusted not to read it, as for every shared mapping.
#[must_use = "dropping it ends the reading"]
pub struct RingBuffer<'cb> {
    rings: Vec<Ring<'cb>>,
    epoll: Epoll,
    ready: Vec<u64>,
}

struct Ring<'cb> {
    name: Box<str>,
    records: KernelRing,
    on_record: OnRecord<'cb>,
    /// Keeps the epoll entry, which ends with the last descriptor.
    _map: OwnedFd,
}

type OnRecord<'cb> = Box<dyn FnMut(&[u8]) -> ControlFlow<()> + Send + 'cb>;

impl<'cb> RingBuffer<'cb> {
    /// Reads one map.
    pub fn new<R: Flow>(
        map: impl AsFd,
        on_record: impl FnMut(&[u8]) -> R + Send + 'cb,
    ) -> Result<Self, RingError> {
        let mut buffer = Self::empty()?;
        buffer.add(map, on_record)?;
        Ok(buffer)
    }

    /// Reads no map yet.
    pub fn empty() -> Result<Self, RingError> {
        let epoll = Epoll::new().map_err(|e| RingError::kernel(NAMELESS, "make an epoll instance", e))?;
        Ok(Self { rings: Vec::new(), epoll, ready: Vec::new() })
    }

    /// Reads another map, too; gives its number, beginning with 0.
    pub fn add<R: Flow>(
        &mut self,
        map: impl AsFd,
        mut on_record: impl FnMut(&[u8]) -> R + Send + 'cb,
    ) -> Result<usize, RingError> {
        let map = map.as_fd();
        let info = sys::map_info(&map).map_err(|e| RingError::kernel(NAMELESS, "ask for its info", e))?;
        RingError::check_type(&info, MapType::Ringbuf)?;
        let name: Box<str> = info.name().into();
        let records = KernelRing::open(map, &info).map_err(|fault| RingError::open(&info, fault))?;
        let map = map
            .try_clone_to_owned()
            .map_err(|e| RingError::kernel(&name, "duplicate its descriptor", Errno::from_io_error(&e)))?;
        let number = self.rings.len();
        self.epoll
            .add(map.as_fd(), u64::try_from(number).unwrap_or(u64::MAX), Interest::Readable)
            .map_err(|e| RingError::kernel(&name, "wait for it", e))?;
        let on_record = Box::new(move |record: &[u8]| on_record(record).flow());
        self.rings.push(Ring { name, records, on_record, _map: map });
        Ok(number)
    }

    /// Those it reads, for errors about all of them.
    #[cold]
    fn names(&self) -> String {
        self.rings.iter().map(|ring| &*ring.name).collect::<Vec<_>>().join(", ")
    }

    /// Waits until there are records, with no timeout for ever, and runs the callbacks on them until nothing is left. A signal ends the
    /// wait early, without an error.
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<Consumed, RingError> {
        let waited = self.epoll.wait(&mut self.ready, timeout);
        waited.map_err(|e| RingError::kernel(&self.names(), "wait", e))?;
        let mut all = Consumed::default();
        for number in &self.ready {
            let ring = usize::try_from(*number).ok().and_then(|n| self.rings.get_mut(n));
            let Some(ring) = ring else { continue };
            all.add(ring.consume(usize::MAX)?);
            if all.stopped {
                break;
            }
        }
        Ok(all)
    }

    /// Runs the callbacks on what there is, until nothing is left. Does not wait.
    pub fn consume(&mut self) -> Result<Consumed, RingError> {
        self.consume_n(usize::MAX)
    }

    /// The same with `n` records at most.
    pub fn consume_n(&mut self, n: usize) -> Result<Consumed, RingError> {
        let mut all = Consumed::default();
        for ring in &mut self.rings {
            all.add(ring.consume(n.saturating_sub(all.records))?);
            if all.stopped || all.records >= n {
                break;
            }
        }
        Ok(all)
    }

    /// Runs the callbacks without ever sleeping, for the shortest delay at the price of a processor, until one of them says to stop or
    /// `go_on` returns false. It is asked each time the rings are empty.
    pub fn spin(&mut self, mut go_on: impl FnMut() -> bool) -> Result<Consumed, RingError> {
        let mut all = Consumed::default();
        loop {
            let now = self.consume()?;
            all.add(now);
            if all.stopped || !go_on() {
                return Ok(all);
            }
            if now.records == 0 {
                hint::spin_loop();
            }
        }
    }

    /// How many maps it reads.
    pub fn len(&self) -> usize {
        self.rings.len()
    }

    /// Whether it reads no map.
    pub fn is_empty(&self) -> bool {
        self.rings.is_empty()
    }

    /// Bytes of a map's ring that have been written and not yet read, headers included; 0 of a number that is not there.
    pub fn available(&self, number: usize) -> usize {
        self.rings.get(number).map_or(0, |ring| ring.records.available())
    }

    /// Bytes a map's ring has room for; 0 of a number that is not there.
    pub fn size(&self, number: usize) -> usize {
        self.rings.get(number).map_or(0, |ring| ring.records.size())
    }
}

impl Ring<'_> {
    fn consume(&mut self, n: usize) -> Result<Consumed, RingError> {
        let mut done = Consumed::default();
        while done.records < n {
            let record = self.records.next();
            let record =
                record.map_err(|cause| RingError::Corrupt { map: self.name.clone().into(), cause })?;
            let Some(record) = record else { break };
            let flow = (self.on_record)(record);
            self.records.release();
            done.records = done.records.saturating_add(1);
            if flow.is_break() {
                done.stopped = true;
                break;
            }
        }
        Ok(done)
    }
}

impl AsFd for RingBuffer<'_> {
    /// An epoll instance that is readable while any of the maps has records.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl fmt::Debug for RingBuffer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rings.iter().map(|ring| (&ring.name, &ring.records))).finish()
    }
}
