//! Writing user ring buffers.

use super::error::{NO_NAME, RingError};
use crate::sys::{self, Epoll, Errno, Interest, Reservation, ReservedSample, UserRing};
use core::{
    ops::{Deref, DerefMut},
    time::Duration,
};
use core_relo_object::object::MapType;
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};

/// A writer of a map of type `BPF_MAP_TYPE_USER_RINGBUF`, which a BPF program drains
/// (`bpf_user_ringbuf_drain`; kernels from 6.1).
///
/// Threads can share the writer and reserve several samples at once. The program reads samples in the order
/// of reservation, up to the first one that is neither submitted nor discarded.
///
/// No other process may write the map at the same time. The kernel does not prevent that, and reserved
/// samples could change while they are written. A changed position is detected and reported as an error.
///
/// ```no_run
/// # use core_relo_loader::ring::{RingError, UserRingBuffer};
/// # fn example(ring: &UserRingBuffer) -> Result<(), RingError> {
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
        let info =
            sys::MapInfo::query(&map).map_err(|e| RingError::kernel(NO_NAME, "read its properties", e))?;
        RingError::check_type(&info, MapType::UserRingbuf)?;
        let name: Box<str> = info.name().into();
        let failed = |action| {
            let name = &name;
            move |errno| RingError::kernel(name, action, errno)
        };
        let ring = UserRing::open(map, &info).map_err(|fault| RingError::open(&info, fault))?;
        let map = map.try_clone_to_owned();
        let map = map.map_err(|e| Errno::from_io_error(&e)).map_err(failed("duplicate its descriptor"))?;
        let epoll = Epoll::new().map_err(failed("create an epoll instance"))?;
        epoll.add(map.as_fd(), 0, Interest::MoreRoom).map_err(failed("wait for it"))?;
        Ok(Self { name, ring, epoll, map })
    }

    /// Reserves a sample of `len` bytes. Returns [`RingError::Full`] if the ring has no room now.
    pub fn reserve(&self, len: usize) -> Result<Sample<'_>, RingError> {
        self.try_reserve(len)?.ok_or_else(|| RingError::Full { map: self.name.clone().into(), len })
    }

    /// Reserves a sample of `len` bytes, and waits until a program has drained enough. Returns
    /// [`RingError::Full`] after the timeout. Without a timeout, waits forever.
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
            // A thread may take the wakeup of another thread, so each wait is short.
            let wait = left.map_or(WAIT_SLICE, |left| left.min(WAIT_SLICE));
            let waited = self.epoll.wait(&mut ready, Some(wait));
            waited.map_err(|e| RingError::kernel(&self.name, "wait for it", e))?;
        }
    }

    /// Writes and submits a sample.
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
            Reservation::Reserved(sample) => Ok(Some(Sample(sample))),
            Reservation::Full => Ok(None),
            Reservation::TooLarge => Err(too_large()),
        }
    }
}

const WAIT_SLICE: Duration = Duration::from_millis(100);

impl AsFd for UserRingBuffer {
    /// Returns the map's descriptor, which is writable while the ring has room.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

/// A reserved sample: a slice to write. Its initial bytes are those of earlier samples. Dropping the sample
/// without [`submit`](Self::submit) discards it.
#[derive(Debug)]
#[must_use = "a sample that is dropped is discarded"]
pub struct Sample<'r>(ReservedSample<'r>);

impl Sample<'_> {
    /// Submits the sample to the program.
    pub fn submit(mut self) {
        self.0.submit = true;
    }

    /// Discards the sample. The program skips it.
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
