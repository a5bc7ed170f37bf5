//! The user ring buffer (`BPF_MAP_TYPE_USER_RINGBUF`): a process writes samples, and a BPF program reads
//! them.
#![expect(unsafe_code, reason = "reserved samples are slices of memory that the kernel reads")]

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
    /// The writer's position. A different position in the shared page means that another process writes to
    /// the ring.
    position: usize,
    /// The positions of the samples that are reserved, and neither submitted nor discarded.
    reserved: BTreeSet<usize>,
}

/// The invariant that the ring has room for all reserved samples.
const RESERVED_SAMPLES_FIT: RingFault = RingFault::Invariant("reserved samples fit the ring");

/// The result of a reservation.
#[derive(Debug)]
pub(crate) enum Reservation<'r> {
    Reserved(ReservedSample<'r>),
    /// The ring has too little room until the program reads earlier samples.
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
            state: Mutex::new(State { position, reserved: BTreeSet::new() }),
            _claim: claim,
        })
    }

    /// Returns the size of the ring's data in bytes, with headers.
    pub(crate) fn size(&self) -> usize {
        self.size.bytes()
    }

    /// Reserves a sample of `len` bytes (libbpf: `user_ring_buffer__reserve`). Holds the lock only during the
    /// call.
    pub(crate) fn reserve(&self, len: u32) -> Result<Reservation<'_>, RingFault> {
        // The header stores the length and two flags in 32 bits.
        if len >= DISCARDED {
            return Ok(Reservation::TooLarge);
        }
        let data_len = to_usize(len);
        let Some(record_len) = record_bytes(data_len).filter(|len| *len <= self.size.bytes()) else {
            return Ok(Reservation::TooLarge);
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let start = state.position;
        let consumer = self.reader.load_acquire(0).ok_or(PAGES_ARE_MAPPED)?;
        let used = start.wrapping_sub(consumer);
        let has_other_writer = self.writer.load_acquire(0) != Some(start);
        if used > self.size.bytes() || has_other_writer || !start.is_multiple_of(8) {
            return Err(RingFault::Positions { consumer, producer: start });
        }
        // The kernel stops at a reserved sample, because its header is busy. The reader's position alone does
        // not prove that the memory is free: another process could clear the busy flag, or write the
        // position.
        let distances = state.reserved.iter().map(|position| start.wrapping_sub(*position));
        let taken = distances.fold(used, usize::max);
        if self.size.bytes().checked_sub(taken).ok_or(RESERVED_SAMPLES_FIT)? < record_len {
            return Ok(Reservation::Full);
        }
        let header = self.size.mapping_offset(start)?;
        // The header's second field (`pg_off`) is unused in user ring buffers.
        let [page_offset, data_start] = [4, HEADER].map(|bytes| header.checked_add(bytes));
        let (page_offset, data_start) = page_offset.zip(data_start).ok_or(PAGES_ARE_MAPPED)?;
        self.writer.swap_u32(header, len | BUSY).ok_or(PAGES_ARE_MAPPED)?;
        self.writer.swap_u32(page_offset, 0).ok_or(PAGES_ARE_MAPPED)?;
        state.position = start.wrapping_add(record_len);
        state.reserved.insert(start);
        self.writer.store_release(0, state.position).ok_or(PAGES_ARE_MAPPED)?;
        drop(state);
        // SAFETY: the memory of the sample was free, that is neither unread by the kernel nor reserved
        // (checked above, under the lock). The memory stays reserved until the sample is dropped. The sample
        // is no longer than the ring, so its memory does not overlap itself. The kernel does not read a busy
        // sample. This process has no other writer (see `Claim`). The kernel lets every process with a
        // descriptor of the map write to the ring; the documentation of `UserRingBuffer` requires of its
        // callers that no other process does.
        let data = unsafe { self.writer.bytes_mut(data_start, data_len) };
        let data = data.ok_or(PAGES_ARE_MAPPED)?;
        Ok(Reservation::Reserved(ReservedSample {
            ring: self,
            position: start,
            header,
            len,
            data,
            submit: false,
        }))
    }
}

/// A reserved sample. Dropping it submits or discards the sample.
#[derive(Debug)]
pub(crate) struct ReservedSample<'r> {
    ring: &'r UserRing,
    /// The sample's position in the ring.
    position: usize,
    /// The offset of the header in the mapping, in bytes.
    header: usize,
    len: u32,
    data: &'r mut [u8],
    /// Whether dropping submits the sample. Otherwise dropping discards the sample.
    pub(crate) submit: bool,
}

impl ReservedSample<'_> {
    pub(crate) fn data(&self) -> &[u8] {
        self.data
    }

    pub(crate) fn data_mut(&mut self) -> &mut [u8] {
        self.data
    }
}

impl Drop for ReservedSample<'_> {
    fn drop(&mut self) {
        let header = if self.submit { self.len } else { self.len | DISCARDED };
        // The kernel may read the data as soon as the header is not busy, so the slice must end first.
        self.data = &mut [];
        if self.ring.writer.swap_u32(self.header, header).is_none() {
            log::error!("{PAGES_ARE_MAPPED}");
        }
        self.ring.state.lock().unwrap_or_else(PoisonError::into_inner).reserved.remove(&self.position);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::arithmetic_side_effects, reason = "small numbers")]

    use super::*;
    use crate::sys::{Pod as _, mapping::memory_file, ring::shared::unused_map_id};
    use core_relo_object::object::MapType;
    use std::os::fd::AsFd as _;

    /// Returns a ring of one page in a memory file, and a mapping of that file: the reader's page, the
    /// writer's page, the data.
    fn ring() -> (UserRing, Mapping) {
        let page = page_size();
        let file = memory_file(page * 4);
        let mut info = MapInfo::default();
        (info.map_type, info.id) = (MapType::UserRingbuf.number(), unused_map_id());
        info.max_entries = u32::try_from(page).unwrap();
        let memory = Mapping::new(file.as_fd(), 0, page * 4, Access::Write).unwrap();
        (UserRing::open(file.as_fd(), &info).unwrap(), memory)
    }

    fn reserve(ring: &UserRing, len: u32) -> Option<ReservedSample<'_>> {
        match ring.reserve(len).unwrap() {
            Reservation::Reserved(sample) => Some(sample),
            Reservation::Full => None,
            Reservation::TooLarge => panic!("{len} bytes are too large"),
        }
    }

    fn header(memory: &Mapping, at: usize) -> u32 {
        memory.load_u32_acquire(page_size() * 2 + at).unwrap()
    }

    #[test]
    fn a_sample_is_busy_until_it_is_submitted_or_discarded() {
        let (ring, memory) = ring();
        let (mut first, second) = (reserve(&ring, 5).unwrap(), reserve(&ring, 0).unwrap());
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
    fn memory_of_a_reserved_sample_is_not_reserved_again() {
        let (ring, memory) = ring();
        let half = u32::try_from(page_size() / 2 - 8).unwrap();
        let first_half = reserve(&ring, half).unwrap();
        drop(reserve(&ring, half).unwrap());
        assert!(reserve(&ring, 0).is_none(), "the ring is full");
        // Another process moves the reader's position past the first half, which is still reserved.
        memory.write(0, page_size().as_bytes()).unwrap();
        assert!(reserve(&ring, 0).is_none());
        drop(first_half);
        assert!(reserve(&ring, half).is_some());
    }

    #[test]
    fn inconsistent_positions_are_refused() {
        let (ring, memory) = ring();
        memory.write(0, 8usize.as_bytes()).unwrap();
        assert_eq!(ring.reserve(1).unwrap_err(), RingFault::Positions { consumer: 8, producer: 0 });
        memory.write(0, 0usize.as_bytes()).unwrap();
        memory.write(page_size(), 64usize.as_bytes()).unwrap();
        assert_eq!(ring.reserve(1).unwrap_err(), RingFault::Positions { consumer: 0, producer: 0 });
        memory.write(page_size(), 0usize.as_bytes()).unwrap();
        assert!(reserve(&ring, 1).is_some());
        assert!(matches!(ring.reserve(u32::MAX), Ok(Reservation::TooLarge)));
        assert!(matches!(ring.reserve(DISCARDED), Ok(Reservation::TooLarge)));
    }

    #[test]
    fn samples_are_whole_and_in_order_while_another_thread_reads() {
        const SAMPLES: u8 = 9;
        let (ring, memory) = ring();
        let record_len = ring.size() / 4;
        let data_len = record_len - HEADER;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..SAMPLES {
                    let mut sample = loop {
                        match reserve(&ring, u32::try_from(data_len).unwrap()) {
                            Some(sample) => break sample,
                            None => std::thread::yield_now(),
                        }
                    };
                    sample.data_mut()[..16].fill(n);
                    sample.submit = true;
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
                consumer += record_len;
                memory.store_release(0, consumer).unwrap();
            }
        });
    }
}
