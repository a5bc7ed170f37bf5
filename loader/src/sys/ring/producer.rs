//! A ring that a process writes and a BPF program reads.
#![expect(unsafe_code, reason = "samples are lent out of memory that the kernel reads")]

use super::{BUSY, Claim, DISCARDED, HEADER, OpenFault, RingFault, ring_size, whole};
use crate::sys::{
    MapInfo,
    mapping::{Access, Mapping},
    page_size,
};
use alloc::collections::BTreeSet;
use std::{
    os::fd::BorrowedFd,
    sync::{Mutex, PoisonError},
};

/// The writer's side of a user ring buffer.
#[derive(Debug)]
pub(crate) struct UserRing {
    /// One page: the reader's position, which the kernel alone writes.
    reader: Mapping,
    /// A page with the writer's position, then the data twice.
    writer: Mapping,
    size: usize,
    state: Mutex<State>,
    _claim: Claim,
}

#[derive(Debug)]
struct State {
    /// The writer's position. What the shared page says is only compared.
    position: usize,
    /// Positions of the samples that are lent out.
    lent: BTreeSet<usize>,
}

/// What became of a reservation.
#[derive(Debug)]
pub(crate) enum Reserve<'r> {
    Done(Slot<'r>),
    /// There is too little room now.
    Full,
    /// There never will be enough.
    TooLarge,
}

impl UserRing {
    pub(crate) fn open(map: BorrowedFd<'_>, info: &MapInfo) -> Result<Self, OpenFault> {
        let size = ring_size(info)?;
        let claim = Claim::new(info.id)?;
        let both = size.saturating_mul(2).saturating_add(page_size());
        let writer = Mapping::new(map, page_size(), both, Access::Write)?;
        let position = writer.load_acquire(0).unwrap_or_default();
        Ok(Self {
            reader: Mapping::new(map, 0, page_size(), Access::Read)?,
            writer,
            size,
            state: Mutex::new(State { position, lent: BTreeSet::new() }),
            _claim: claim,
        })
    }

    /// Bytes of data it has room for, headers included.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Reserves room for a sample of `len` bytes. The lock is held for no longer than this takes.
    pub(crate) fn reserve(&self, len: u32) -> Result<Reserve<'_>, RingFault> {
        let wanted = usize::try_from(len).ok().and_then(|len| Some((len, whole(len)?)));
        let Some((len, whole)) = wanted.filter(|(_, whole)| *whole <= self.size) else {
            return Ok(Reserve::TooLarge);
        };
        if len >= usize::try_from(DISCARDED).unwrap_or(usize::MAX) {
            return Ok(Reserve::TooLarge);
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let start = state.position;
        let consumer = self.reader.load_acquire(0).unwrap_or_default();
        let used = start.wrapping_sub(consumer);
        let foreign = self.writer.load_acquire(0) != Some(start);
        if used > self.size || foreign || !start.is_multiple_of(8) {
            return Err(RingFault::Positions { consumer, producer: start });
        }
        // The kernel does not pass a busy sample. Should somebody else have written that it is not: what is lent out stays so.
        let lent = state.lent.iter().map(|at| start.wrapping_sub(*at)).max().unwrap_or_default();
        if self.size.saturating_sub(used.max(lent)) < whole {
            return Ok(Reserve::Full);
        }
        let at = page_size().saturating_add(start & self.size.saturating_sub(1));
        let flagged = u32::try_from(len).unwrap_or_default() | BUSY;
        self.writer.swap_u32(at, flagged).unwrap_or_default();
        self.writer.swap_u32(at.saturating_add(4), 0).unwrap_or_default();
        state.position = start.wrapping_add(whole);
        state.lent.insert(start);
        self.writer.store_release(0, state.position).unwrap_or_default();
        drop(state);
        // SAFETY: the place was free: neither unread by the kernel nor lent out (checked above, under the lock), and it stays
        // lent out until the slot is dropped. It is no longer than the ring, so it does not overlap itself. The kernel does not
        // read a busy sample. This process has no other writer (the claim); that no other process maps the ring writable is up to
        // whoever opens it, as `UserRingBuffer` says: the kernel lets any holder of the map do so.
        let data = unsafe { self.writer.bytes_mut(at.saturating_add(HEADER), len) };
        Ok(Reserve::Done(Slot { ring: self, start, at, data: data.unwrap_or_default(), submit: false }))
    }
}

/// A reserved sample. It is discarded when dropped, unless it is to be submitted.
#[derive(Debug)]
pub(crate) struct Slot<'r> {
    ring: &'r UserRing,
    start: usize,
    at: usize,
    data: &'r mut [u8],
    pub(crate) submit: bool,
}

impl Slot<'_> {
    pub(crate) fn data(&self) -> &[u8] {
        self.data
    }

    pub(crate) fn data_mut(&mut self) -> &mut [u8] {
        self.data
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let len = u32::try_from(self.data.len()).unwrap_or_default();
        let header = if self.submit { len } else { len | DISCARDED };
        // From here on the data is the kernel's: give up the reference first.
        self.data = &mut [];
        self.ring.writer.swap_u32(self.at, header).unwrap_or_default();
        self.ring.state.lock().unwrap_or_else(PoisonError::into_inner).lent.remove(&self.start);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::arithmetic_side_effects, reason = "small numbers")]

    use super::*;
    use crate::{
        object::MapType,
        sys::{Pod as _, mapping::memory_file},
    };
    use std::os::fd::AsFd as _;

    /// A ring of a page over plain memory, and that memory: the reader's page, the writer's page, the data.
    fn ring(id: u32) -> (UserRing, Mapping) {
        let page = page_size();
        let file = memory_file(page * 4);
        let mut info = MapInfo::default();
        (info.map_type, info.id) = (MapType::UserRingbuf.number(), id);
        info.max_entries = u32::try_from(page).unwrap();
        let memory = Mapping::new(file.as_fd(), 0, page * 4, Access::Write).unwrap();
        (UserRing::open(file.as_fd(), &info).unwrap(), memory)
    }

    fn slot(ring: &UserRing, len: u32) -> Option<Slot<'_>> {
        match ring.reserve(len).unwrap() {
            Reserve::Done(slot) => Some(slot),
            Reserve::Full => None,
            Reserve::TooLarge => panic!("{len} are too many"),
        }
    }

    fn header(memory: &Mapping, at: usize) -> u32 {
        memory.load_u32_acquire(page_size() * 2 + at).unwrap()
    }

    #[test]
    fn a_sample_is_busy_until_it_is_given_away() {
        let (ring, memory) = ring(u32::MAX - 10);
        let (mut first, second) = (slot(&ring, 5).unwrap(), slot(&ring, 0).unwrap());
        assert_eq!((header(&memory, 0), header(&memory, 16)), (5 | BUSY, BUSY));
        assert_eq!(memory.load_acquire(page_size()), Some(24));
        first.data_mut().copy_from_slice(b"hello");
        first.submit = true;
        drop((first, second));
        assert_eq!((header(&memory, 0), header(&memory, 16)), (5, DISCARDED));
        let mut data = [0; 5];
        memory.read(page_size() * 2 + 8, &mut data).unwrap();
        assert_eq!(&data, b"hello");
    }

    #[test]
    fn what_is_lent_out_is_not_given_twice() {
        let (ring, memory) = ring(u32::MAX - 11);
        let half = u32::try_from(page_size() / 2 - 8).unwrap();
        let held = slot(&ring, half).unwrap();
        drop(slot(&ring, half).unwrap());
        assert!(slot(&ring, 0).is_none(), "it is full");
        // Somebody says that all was read, though the first half is still held.
        memory.write(0, page_size().as_bytes()).unwrap();
        assert!(slot(&ring, 0).is_none());
        drop(held);
        assert!(slot(&ring, half).is_some());
    }

    #[test]
    fn positions_that_cannot_be_are_refused() {
        let (ring, memory) = ring(u32::MAX - 12);
        memory.write(0, 8usize.as_bytes()).unwrap();
        assert_eq!(ring.reserve(1).unwrap_err(), RingFault::Positions { consumer: 8, producer: 0 });
        memory.write(0, 0usize.as_bytes()).unwrap();
        memory.write(page_size(), 64usize.as_bytes()).unwrap();
        assert_eq!(ring.reserve(1).unwrap_err(), RingFault::Positions { consumer: 0, producer: 0 });
        memory.write(page_size(), 0usize.as_bytes()).unwrap();
        assert!(slot(&ring, 1).is_some());
        assert!(matches!(ring.reserve(u32::MAX), Ok(Reserve::TooLarge)));
        assert!(matches!(ring.reserve(DISCARDED), Ok(Reserve::TooLarge)));
    }

    #[test]
    fn samples_are_whole_and_in_order_while_another_thread_reads() {
        const SAMPLES: u8 = 9;
        let (ring, memory) = ring(u32::MAX - 13);
        let whole = ring.size() / 4;
        let data_len = whole - HEADER;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..SAMPLES {
                    let mut slot = loop {
                        match slot(&ring, u32::try_from(data_len).unwrap()) {
                            Some(slot) => break slot,
                            None => std::thread::yield_now(),
                        }
                    };
                    slot.data_mut()[..16].fill(n);
                    slot.submit = true;
                }
            });
            let mut consumer = 0;
            let mut data = [0; 16];
            for n in 0..SAMPLES {
                let at = consumer % ring.size();
                while memory.load_acquire(page_size()).unwrap() == consumer || header(&memory, at) & BUSY != 0
                {
                    std::thread::yield_now();
                }
                assert_eq!(header(&memory, at), u32::try_from(data_len).unwrap());
                memory.read(page_size() * 2 + at + HEADER, &mut data).unwrap();
                assert_eq!(data, [n; 16]);
                consumer += whole;
                memory.store_release(0, consumer).unwrap();
            }
        });
    }
}
