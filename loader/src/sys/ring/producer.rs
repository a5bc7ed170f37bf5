//! A ring that a process writes and a BPF program reads.
#![expect(unsafe_code, reason = "samples are lent out of memory that the kernel reads")]

use super::shared::{
    BUSY, Claim, DISCARDED, HEADER, OpenFault, PAGES_ARE_MAPPED, RingFault, RingSize, mapping_size,
    record_bytes, ring_size,
};
use crate::{
    convert::to_usize,
    sys::{
        bpf::MapInfo,
        mapping::{Access, Mapping},
        memory::page_size,
    },
};
use alloc::collections::BTreeSet;
use core_relo_object::Errno;
use std::{
    os::fd::BorrowedFd,
    sync::{Mutex, PoisonError},
};

/// The writer's side of a user ring buffer.
#[derive(Debug)]
pub(crate) struct UserRing {
    /// One page with the reader's position, which only the kernel writes.
    reader: Mapping,
    /// A page with the writer's position, then the data twice.
    writer: Mapping,
    size: RingSize,
    state: Mutex<State>,
    _claim: Claim,
}

#[derive(Debug)]
struct State {
    /// The writer's position. The position in the shared page is only compared with it.
    position: usize,
    /// Positions of the samples that are lent out.
    lent: BTreeSet<usize>,
}

/// The invariant that samples are lent out only while the ring has room for them.
const SAMPLES_ARE_IN_THE_RING: RingFault = RingFault::Invariant("lent samples fit the ring");

/// The result of a reservation.
#[derive(Debug)]
pub(crate) enum Reservation<'r> {
    Reserved(Slot<'r>),
    /// The ring has too little room now.
    Full,
    /// The ring is smaller than the sample.
    TooLarge,
}

impl UserRing {
    pub(crate) fn open(map: BorrowedFd<'_>, info: &MapInfo) -> Result<Self, OpenFault> {
        let size = ring_size(info)?;
        let claim = Claim::new(info.id)?;
        let writer = Mapping::new(map, page_size(), mapping_size(size.bytes())?, Access::Write)?;
        let position = writer.load_acquire(0).ok_or(OpenFault::Errno(Errno(libc::EFAULT)))?;
        Ok(Self {
            reader: Mapping::new(map, 0, page_size(), Access::Read)?,
            writer,
            size,
            state: Mutex::new(State { position, lent: BTreeSet::new() }),
            _claim: claim,
        })
    }

    /// Returns the size of the ring's data in bytes, with headers.
    pub(crate) fn size(&self) -> usize {
        self.size.bytes()
    }

    /// Reserves a sample of `len` bytes. Holds the lock only during the call.
    pub(crate) fn reserve(&self, len: u32) -> Result<Reservation<'_>, RingFault> {
        // Larger lengths would collide with the flags in the header.
        if len >= DISCARDED {
            return Ok(Reservation::TooLarge);
        }
        let data_len = to_usize(len);
        let Some(whole) = record_bytes(data_len).filter(|whole| *whole <= self.size.bytes()) else {
            return Ok(Reservation::TooLarge);
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let start = state.position;
        let consumer = self.reader.load_acquire(0).ok_or(PAGES_ARE_MAPPED)?;
        let used = start.wrapping_sub(consumer);
        let foreign = self.writer.load_acquire(0) != Some(start);
        if used > self.size.bytes() || foreign || !start.is_multiple_of(8) {
            return Err(RingFault::Positions { consumer, producer: start });
        }
        // The kernel stops at a busy sample. If another process clears that flag, the reserved samples are still not reused.
        let reserved = state.lent.iter().map(|at| start.wrapping_sub(*at));
        let taken = reserved.fold(used, usize::max);
        if self.size.bytes().checked_sub(taken).ok_or(SAMPLES_ARE_IN_THE_RING)? < whole {
            return Ok(Reservation::Full);
        }
        let at = self.size.mapping_offset(start)?;
        // The header's second half is the kernel's page offset, which user rings do not use.
        let [second_half, data_start] = [4, HEADER].map(|bytes| at.checked_add(bytes));
        let (second_half, data_start) = second_half.zip(data_start).ok_or(PAGES_ARE_MAPPED)?;
        self.writer.swap_u32(at, len | BUSY).ok_or(PAGES_ARE_MAPPED)?;
        self.writer.swap_u32(second_half, 0).ok_or(PAGES_ARE_MAPPED)?;
        state.position = start.wrapping_add(whole);
        state.lent.insert(start);
        self.writer.store_release(0, state.position).ok_or(PAGES_ARE_MAPPED)?;
        drop(state);
        // SAFETY: the place was free: neither unread by the kernel nor lent out (checked above, under the lock), and it stays
        // lent out until the slot is dropped. It is no longer than the ring, so it does not overlap itself. The kernel does not
        // read a busy sample. This process has no other writer (the claim). The documentation of `UserRingBuffer` requires of its
        // callers that no other process maps the ring writable, because the kernel allows that to any holder of the map.
        let data = unsafe { self.writer.bytes_mut(data_start, data_len) };
        let data = data.ok_or(PAGES_ARE_MAPPED)?;
        Ok(Reservation::Reserved(Slot { ring: self, start, at, len, data, submit: false }))
    }
}

/// A reserved sample. Dropping it submits or discards the sample.
#[derive(Debug)]
pub(crate) struct Slot<'r> {
    ring: &'r UserRing,
    /// The sample's position.
    start: usize,
    /// The offset of the header in the mapping.
    at: usize,
    len: u32,
    data: &'r mut [u8],
    /// Whether dropping the slot submits the sample.
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
        let header = if self.submit { self.len } else { self.len | DISCARDED };
        // The kernel may read the data as soon as the header is not busy, so the reference ends before that.
        self.data = &mut [];
        if self.ring.writer.swap_u32(self.at, header).is_none() {
            log::error!("{PAGES_ARE_MAPPED}");
        }
        self.ring.state.lock().unwrap_or_else(PoisonError::into_inner).lent.remove(&self.start);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::arithmetic_side_effects, reason = "small numbers")]

    use super::*;
    use crate::sys::{Pod as _, mapping::memory_file};
    use core_relo_object::object::MapType;
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
            Reservation::Reserved(slot) => Some(slot),
            Reservation::Full => None,
            Reservation::TooLarge => panic!("{len} are too many"),
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
        assert!(matches!(ring.reserve(u32::MAX), Ok(Reservation::TooLarge)));
        assert!(matches!(ring.reserve(DISCARDED), Ok(Reservation::TooLarge)));
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
