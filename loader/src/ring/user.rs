//! Writing a user ring buffer.

use super::{RingError, error::NAMELESS};
use crate::{
    object::MapType,
    sys::{self, Epoll, Errno, Interest, Reserve, Slot, UserRing},
};
use core::{
    ops::{Deref, DerefMut},
    time::Duration,
};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};

/// Writes a map of type `BPF_MAP_TYPE_USER_RINGBUF`, which a BPF program drains (`bpf_user_ringbuf_drain`; kernels from 6.1).
///
/// Threads may share it: several samples can be reserved at once. A program reads them in the order in which they were reserved, up to the
/// first that is neither submitted nor discarded.
///
/// No other process may write the map at the same time: the kernel does not keep it from that, and samples lent out here could
/// change while they are written. What it does to the positions is noticed, and an error.
///
/// ```no_run
/// # fn example(ring: &core_relo_loader::ring::UserRingBuffer) -> Result<(), core_relo_loader::ring::RingError> {
/// let mut sample = ring.reserve(8)?;
/// sample.copy_from_slice(b"8 bytes!");
/// sample.submit();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct UserRingBuffer {
    name: Box<str>,
    ring: UserRing,
    epoll: Epoll,
    map: OwnedFd,
}

impl UserRingBuffer {
    /// Opens the map for writing. A process has one writer of a map at a time.
    pub fn new(map: impl AsFd) -> Result<Self, RingError> {
        let map = map.as_fd();
        let info = sys::map_info(&map).map_err(|e| RingError::kernel(NAMELESS, "ask for its info", e))?;
        RingError::check_type(&info, MapType::UserRingbuf)?;
        let name: Box<str> = info.name().into();
        let failed = |action| {
            let name = &name;
            move |errno| RingError::kernel(name, action, errno)
        };
        let ring = UserRing::open(map, &info).map_err(|fault| RingError::open(&info, fault))?;
        let map = map.try_clone_to_owned();
        let map = map.map_err(|e| Errno::from_io_error(&e)).map_err(failed("duplicate its descriptor"))?;
        let epoll = Epoll::new().map_err(failed("make an epoll instance"))?;
        epoll.add(map.as_fd(), 0, Interest::MoreRoom).map_err(failed("wait for it"))?;
        Ok(Self { name, ring, epoll, map })
    }

    /// Room for a sample of `len` bytes, if there is some now, else [`RingError::Full`].
    pub fn reserve(&self, len: usize) -> Result<Sample<'_>, RingError> {
        self.try_reserve(len)?.ok_or_else(|| RingError::Full { map: self.name.clone().into(), len })
    }

    /// Room for a sample, once a program has drained enough; with no timeout that may be never. After the timeout [`RingError::Full`].
    pub fn reserve_blocking(&self, len: usize, timeout: Option<Duration>) -> Result<Sample<'_>, RingError> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut ready = Vec::new();
        loop {
            if let Some(sample) = self.try_reserve(len)? {
                return Ok(sample);
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(RingError::Full { map: self.name.clone().into(), len });
            }
            // Threads may take each other's wakeup, so none sleeps for long.
            let wait = left.map_or(LONGEST_SLEEP, |left| left.min(LONGEST_SLEEP));
            let waited = self.epoll.wait(&mut ready, Some(wait));
            waited.map_err(|e| RingError::kernel(&self.name, "wait for it", e))?;
        }
    }

    /// Copies a sample in and submits it.
    pub fn send(&self, sample: &[u8]) -> Result<(), RingError> {
        let mut room = self.reserve(sample.len())?;
        room.copy_from_slice(sample);
        room.submit();
        Ok(())
    }

    fn try_reserve(&self, len: usize) -> Result<Option<Sample<'_>>, RingError> {
        let too_large = || RingError::TooLarge { map: self.name.clone().into(), len, size: self.ring.size() };
        let wanted = u32::try_from(len).map_err(|_large| too_large())?;
        let reserved = self.ring.reserve(wanted);
        match reserved.map_err(|cause| RingError::Corrupt { map: self.name.clone().into(), cause })? {
            Reserve::Done(slot) => Ok(Some(Sample(slot))),
            Reserve::Full => Ok(None),
            Reserve::TooLarge => Err(too_large()),
        }
    }
}

const LONGEST_SLEEP: Duration = Duration::from_millis(100);

impl AsFd for UserRingBuffer {
    /// The map, which is writable while there is any room.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

/// Room for a sample: bytes to be written. What they are at first is left over from earlier samples. Dropping it without
/// [`submit`](Self::submit) discards it.
#[derive(Debug)]
#[must_use = "a sample that is dropped is discarded"]
pub struct Sample<'r>(Slot<'r>);

impl Sample<'_> {
    /// Lets the program have it.
    pub fn submit(mut self) {
        self.0.submit = true;
    }

    /// Gives it up. The program does not see it.
    pub fn discard(self) {}
}

impl Deref for Sample<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.data()
    }
}

impl DerefMut for Sample<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.data_mut()
    }
}
