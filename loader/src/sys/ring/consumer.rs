//! A ring buffer (`BPF_MAP_TYPE_RINGBUF`), which BPF programs write and a process reads.
#![expect(unsafe_code, reason = "records are slices of memory that the kernel writes")]

use super::shared::{
    BUSY, Claim, DISCARDED, HEADER, OpenFault, PAGES_ARE_MAPPED, RingFault, RingSize, mapping_size,
    record_bytes, ring_size,
};
use crate::{
    convert::{to_u64, to_usize},
    sys::{
        bpf::MapInfo,
        mapping::{Access, Mapping},
        memory::page_size,
    },
};
use core::{
    ops::ControlFlow,
    sync::atomic::{Ordering, fence},
};
use std::os::fd::BorrowedFd;

/// The reader's side of a ring buffer.
#[derive(Debug)]
pub(crate) struct KernelRing {
    /// One page with the reader's position, which this process writes.
    reader: Mapping,
    /// A page with the writer's position, then the data. The data is mapped twice in a row, so that a record
    /// that wraps around is one slice.
    writer: Mapping,
    size: RingSize,
    /// The reader's position, as of the last look or release.
    consumer: usize,
    /// The writer's position at the last look. The writer changes its cache line all the time, so the reader
    /// looks there only when it has read up to the position, and after each [`LOOK_INTERVAL`] of the ring.
    producer: usize,
    /// The position after the record that a caller has got last.
    end_position: usize,
    /// Whether [`release`](Self::release) has to move the reader to that position.
    is_lent: bool,
    /// The state of a ring in which new records overwrite old ones; `None` for other rings.
    overwriting: Option<Overwriting>,
    fullness: Fullness,
    _claim: Claim,
}

/// The state of a ring in which new records overwrite old ones (`BPF_F_RB_OVERWRITE`).
#[derive(Debug, Default)]
struct Overwriting {
    /// The copy of the record that `next` returned last. A slice of the ring's memory could change at any
    /// time.
    record: Vec<u8>,
    /// The number of bytes that were overwritten before they were read, with headers.
    lost_bytes: u64,
}

/// `BPF_F_RB_OVERWRITE` of a map's flags.
const OVERWRITE: u32 = 1 << 19;

/// The offset in the writer's page of the position before which records are overwritten. The positions of the
/// newest and of the oldest incomplete record come before it (kernel: `struct bpf_ringbuf`).
const OVERWRITE_POSITION: usize = 2 * size_of::<usize>();

/// The number of attempts to read a record that is overwritten in the meantime. The record is read later if
/// all fail.
const ATTEMPTS: u32 = 64;

/// The part of the ring that is read between two looks at the writer's position: one of 64. A ring that was
/// full in between is noticed by the next look.
const LOOK_INTERVAL: usize = 64;
const LOOKS_ARE_CLOSE: RingFault = RingFault::Invariant("a part of the ring is read between two looks");

/// A count of the times when the ring was too full for another record.
#[derive(Debug, Default)]
struct Fullness {
    /// The bytes of the longest record so far, with its header.
    longest: usize,
    /// The bytes that were read since the last look at the writer's position.
    released: usize,
    is_full: bool,
    count: u64,
}

impl Fullness {
    /// Notes at a look whether another record as long as the longest one fitted since the last look (kernel:
    /// `bpf_ringbuf_has_space`).
    fn observe(&mut self, size: RingSize, available: usize, record: usize) {
        self.longest = self.longest.max(record);
        let filled = available.checked_add(self.released).and_then(|bytes| bytes.checked_add(self.longest));
        let is_full = filled.is_none_or(|bytes| bytes >= size.bytes());
        if is_full && !self.is_full {
            self.count = self.count.saturating_add(1);
        }
        (self.is_full, self.released) = (is_full, 0);
    }
}

impl KernelRing {
    pub(crate) fn open(map: BorrowedFd<'_>, info: &MapInfo) -> Result<Self, OpenFault> {
        let size = ring_size(info)?;
        let claim = Claim::new(info.id)?;
        Ok(Self {
            reader: Mapping::new(map, 0, page_size(), Access::Write)?,
            writer: Mapping::new(map, page_size(), mapping_size(size.bytes())?, Access::Read)?,
            // An empty ring, until the first look.
            consumer: 0,
            producer: 0,
            size,
            end_position: 0,
            is_lent: false,
            overwriting: (info.map_flags & OVERWRITE != 0).then(Overwriting::default),
            fullness: Fullness::default(),
            _claim: claim,
        })
    }

    /// Returns the size of the ring's data in bytes.
    pub(crate) fn size(&self) -> usize {
        self.size.bytes()
    }

    /// Returns the number of bytes that are not read yet, with headers.
    pub(crate) fn available(&self) -> usize {
        let Ok((consumer, producer)) = self.positions() else { return 0 };
        let available = producer.wrapping_sub(consumer);
        // The reader of an overwriting ring may be behind by more than the ring's size.
        if self.overwriting.is_some() { available.min(self.size.bytes()) } else { available }
    }

    /// Returns the number of bytes that were overwritten before they were read, with headers. Returns 0 for a
    /// ring in which nothing is overwritten.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.overwriting.as_ref().map_or(0, |overwriting| overwriting.lost_bytes)
    }

    /// Returns how many times the ring became too full for another record, as far as the reader saw. The
    /// kernel does not count the records that it drops.
    pub(crate) fn full_count(&self) -> u64 {
        self.fullness.count
    }

    fn positions(&self) -> Result<(usize, usize), RingFault> {
        let consumer = self.reader.load_acquire(0).ok_or(PAGES_ARE_MAPPED)?;
        Ok((consumer, self.writer.load_acquire(0).ok_or(PAGES_ARE_MAPPED)?))
    }

    /// Releases the record that `next` returned last. The kernel may overwrite the record from then on.
    pub(crate) fn release(&mut self) -> Result<(), RingFault> {
        if self.is_lent {
            (self.is_lent, self.consumer) = (false, self.end_position);
            self.reader.store_release(0, self.end_position).ok_or(PAGES_ARE_MAPPED)?;
        }
        Ok(())
    }

    /// Releases the last record and returns the next record, if it is complete.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, RingFault> {
        self.release()?;
        if self.overwriting.is_some() {
            return self.next_copy();
        }
        let Some((at, len)) = self.find_next()? else { return Ok(None) };
        // SAFETY: the record lies between the positions of reader and writer (which only grows) and is not
        // busy, so the kernel does not write there until the reader's position moves on. In this process only
        // this reader moves it (see `Claim`), in methods that need `self` mutably, which do not run while the
        // slice lives. No process can map the records writable. One assumption cannot be enforced: no other
        // process with this map moves the position, by reading the ring or by writing to the reader's page.
        // The documentation of `RingBuffer` requires that of its callers.
        unsafe { self.writer.bytes(at, len) }.map(Some).ok_or(PAGES_ARE_MAPPED)
    }

    /// Copies the next complete record of an overwriting ring. Skips discarded and overwritten records.
    fn next_copy(&mut self) -> Result<Option<&[u8]>, RingFault> {
        let mut attempts = 0..ATTEMPTS;
        loop {
            let consumer = self.skip_overwritten()?;
            let mut record = self.peek_at(consumer)?;
            if record.is_none() {
                // See `find_next`.
                fence(Ordering::SeqCst);
                record = self.peek_at(consumer)?;
            }
            let bounds = match record {
                Some(Peeked::Record(bounds)) => bounds,
                Some(Peeked::Overwritten) if attempts.next().is_some() => continue,
                Some(Peeked::Overwritten) | None => return Ok(None),
            };
            let Some(overwriting) = &mut self.overwriting else { return Ok(None) };
            overwriting.record.resize(bounds.len, 0);
            self.writer.read(bounds.data, &mut overwriting.record).ok_or(PAGES_ARE_MAPPED)?;
            // The copy counts only if its bytes were not overwritten while they were read. The kernel stores
            // the position, then the program writes the new record (kernel: `__bpf_ringbuf_reserve`). CPUs
            // with weak ordering may show these stores in another order, see the documentation of
            // `RingBuffer`.
            fence(Ordering::Acquire);
            if self.is_overwritten(consumer)? {
                if attempts.next().is_none() {
                    return Ok(None);
                }
                continue;
            }
            self.reader.store_release(0, bounds.end).ok_or(PAGES_ARE_MAPPED)?;
            if !bounds.is_discarded {
                return Ok(self.overwriting.as_ref().map(|overwriting| &*overwriting.record));
            }
        }
    }

    /// Moves the reader to the oldest record that is not overwritten. Returns the reader's position.
    fn skip_overwritten(&mut self) -> Result<usize, RingFault> {
        let (consumer, _) = self.positions()?;
        let oldest = self.oldest_position()?;
        if !is_before(consumer, oldest) {
            return Ok(consumer);
        }
        if let Some(overwriting) = &mut self.overwriting {
            let lost = to_u64(oldest.wrapping_sub(consumer));
            // A process that writes to the reader's page can make the count as large as it wants.
            overwriting.lost_bytes = overwriting.lost_bytes.saturating_add(lost);
        }
        self.reader.store_release(0, oldest).ok_or(PAGES_ARE_MAPPED)?;
        Ok(oldest)
    }

    /// Returns the position of the oldest record that is not overwritten.
    fn oldest_position(&self) -> Result<usize, RingFault> {
        self.writer.load_acquire(OVERWRITE_POSITION).ok_or(PAGES_ARE_MAPPED)
    }

    /// Returns whether the record at a position is overwritten, or about to be.
    fn is_overwritten(&self, position: usize) -> Result<bool, RingFault> {
        Ok(is_before(position, self.oldest_position()?))
    }

    /// Reads the header of the record at a position of an overwriting ring, if the record is complete or
    /// overwritten.
    fn peek_at(&mut self, consumer: usize) -> Result<Option<Peeked>, RingFault> {
        match self.peek() {
            // What looks broken may be the new data of an overwritten record.
            Err(fault) if !self.is_overwritten(consumer)? => Err(fault),
            Err(_) => Ok(Some(Peeked::Overwritten)),
            // What looks incomplete, too.
            Ok(None) if self.is_overwritten(consumer)? => Ok(Some(Peeked::Overwritten)),
            Ok(record) => Ok(record.map(Peeked::Record)),
        }
    }

    /// Calls `on_record` with at most `n` records that the last look at the writer's position showed, and
    /// releases each. This is the short path for many records: it stops at everything that only
    /// [`next`](Self::next) handles, and when another look is due. Returns the number of records, as `Break`
    /// if the callback stopped.
    pub(crate) fn for_each_known(
        &mut self,
        n: usize,
        mut on_record: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<usize, usize>, RingFault> {
        self.release()?;
        let known = self.producer.wrapping_sub(self.consumer);
        let until_look = (self.size.bytes() / LOOK_INTERVAL).saturating_sub(self.fullness.released);
        let limit = known.min(until_look);
        if limit == 0 || known > self.size.bytes() || self.overwriting.is_some() {
            return Ok(ControlFlow::Continue(0));
        }
        // Few values live in the loop, so that what changes with each record stays in registers: the callback
        // may be any code.
        let (mut position, mut unread, mut left) = (self.consumer, limit, n);
        let (mut longest, mut flow) = (0, ControlFlow::Continue(()));
        // If the callback panics, the record counts as read.
        (self.is_lent, self.end_position) = (true, position);
        while left > 0 && flow.is_continue() {
            let at = self.size.mapping_offset(position)?;
            let header = self.writer.load_u32_acquire(at).ok_or(PAGES_ARE_MAPPED)?;
            if header & (BUSY | DISCARDED) != 0 {
                break;
            }
            let bytes = record_bytes(to_usize(header)).ok_or(PAGES_ARE_MAPPED)?;
            let Some(rest) = unread.checked_sub(bytes) else { break };
            (position, unread, left) = (position.wrapping_add(bytes), rest, left.wrapping_sub(1));
            longest = longest.max(bytes);
            self.end_position = position;
            let data = at.checked_add(HEADER).ok_or(PAGES_ARE_MAPPED)?;
            // SAFETY: as in `next`. The position moves after the callback, which cannot keep the slice.
            let record = unsafe { self.writer.bytes(data, to_usize(header)) };
            flow = on_record(record.ok_or(PAGES_ARE_MAPPED)?);
            self.reader.store_release(0, position).ok_or(PAGES_ARE_MAPPED)?;
        }
        (self.is_lent, self.consumer) = (false, position);
        self.fullness.longest = self.fullness.longest.max(longest);
        let released = self.fullness.released.checked_add(limit.wrapping_sub(unread));
        self.fullness.released = released.ok_or(LOOKS_ARE_CLOSE)?;
        let count = n.wrapping_sub(left);
        Ok(if flow.is_break() { ControlFlow::Break(count) } else { ControlFlow::Continue(count) })
    }

    /// Finds the offset and length of the next complete record's data. Skips discarded records.
    fn find_next(&mut self) -> Result<Option<(usize, usize)>, RingFault> {
        loop {
            let mut record = self.peek()?;
            if record.is_none() {
                // The kernel wakes a waiting process only if it sees that all earlier records were read. So
                // the reader's position must be visible before the second look: either this process sees the
                // new record, or the kernel sees the position.
                fence(Ordering::SeqCst);
                record = self.peek()?;
            }
            let Some(record) = record else {
                (self.fullness.is_full, self.fullness.released) = (false, 0);
                return Ok(None);
            };
            self.fullness.observe(self.size, record.available, record.bytes);
            self.fullness.released = record.bytes;
            (self.is_lent, self.end_position) = (true, record.end);
            if !record.is_discarded {
                return Ok(Some((record.data, record.len)));
            }
            self.release()?;
        }
    }

    /// Looks at both positions, and reads the header of the record at the reader's position, if the record is
    /// complete.
    fn peek(&mut self) -> Result<Option<RecordBounds>, RingFault> {
        let (consumer, producer) = self.positions()?;
        let available = producer.wrapping_sub(consumer);
        if available == 0 {
            return Ok(None);
        }
        if available > self.size.bytes() || !consumer.is_multiple_of(8) {
            return Err(RingFault::Positions { consumer, producer });
        }
        (self.consumer, self.producer) = (consumer, producer);
        let at = self.size.mapping_offset(consumer)?;
        let header = self.writer.load_u32_acquire(at).ok_or(PAGES_ARE_MAPPED)?;
        if header & BUSY != 0 {
            return Ok(None);
        }
        let len = to_usize(header & !DISCARDED);
        match record_bytes(len) {
            Some(bytes) if bytes <= available => Ok(Some(RecordBounds {
                data: at.checked_add(HEADER).ok_or(PAGES_ARE_MAPPED)?,
                len,
                end: consumer.wrapping_add(bytes),
                bytes,
                available,
                is_discarded: header & DISCARDED != 0,
            })),
            _ => Err(RingFault::Length { at: consumer, len, available }),
        }
    }
}

/// Returns whether a position is before another one. Positions go on after the largest number.
fn is_before(position: usize, other: usize) -> bool {
    other.wrapping_sub(position).cast_signed() > 0
}

/// A record of an overwriting ring.
enum Peeked {
    Record(RecordBounds),
    /// New data has overwritten the record.
    Overwritten,
}

/// The bounds of a complete record.
struct RecordBounds {
    /// The offset of the data in the mapping.
    data: usize,
    len: usize,
    /// The position after the record.
    end: usize,
    /// The length with header and padding.
    bytes: usize,
    /// The unread bytes in the ring, including this record.
    available: usize,
    is_discarded: bool,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::arithmetic_side_effects, reason = "small numbers")]

    use super::*;
    use crate::sys::{Pod as _, mapping::memory_file, ring::shared::unused_map_id};
    use core_relo_object::object::MapType;
    use std::os::fd::AsFd as _;

    const LEN: usize = 4096;

    /// A ring over plain memory, and that memory: the reader's page, the writer's page, the data.
    fn ring() -> (KernelRing, Mapping) {
        let page = page_size();
        let size = page.max(LEN);
        let file = memory_file(page * 2 + size * 2);
        let mut info = MapInfo::default();
        (info.map_type, info.id) = (MapType::Ringbuf.number(), unused_map_id());
        info.max_entries = u32::try_from(size).unwrap();
        let memory = Mapping::new(file.as_fd(), 0, page * 2 + size * 2, Access::Write).unwrap();
        (KernelRing::open(file.as_fd(), &info).unwrap(), memory)
    }

    fn put(memory: &Mapping, producer: usize, at: usize, header: u32) {
        memory.write(page_size(), producer.as_bytes()).unwrap();
        memory.write(page_size() * 2 + at, header.as_bytes()).unwrap();
    }

    #[test]
    fn the_short_path_crosses_the_end_of_the_positions_and_a_panic_counts_as_read() {
        let (mut ring, memory) = ring();
        let start = usize::MAX - 31;
        memory.write(0, start.as_bytes()).unwrap();
        for n in 0..4 {
            let at = start.wrapping_add(n * 16) & (page_size().max(LEN) - 1);
            put(&memory, start.wrapping_add(64), at, 8);
        }
        assert!(ring.next().unwrap().is_some());
        let panics = core::panic::AssertUnwindSafe(|| ring.for_each_known(9, |_| panic!("a callback")));
        std::panic::catch_unwind(panics).unwrap_err();
        assert_eq!(ring.for_each_known(9, |_| ControlFlow::Continue(())), Ok(ControlFlow::Continue(2)));
        assert_eq!(ring.next(), Ok(None));
    }

    #[test]
    fn the_short_path_leaves_busy_and_discarded_records_to_the_other() {
        for flag in [BUSY, DISCARDED] {
            let (mut ring, memory) = ring();
            for (at, header) in [(0, 8), (16, 8), (32, 8 | flag), (48, 8)] {
                put(&memory, 64, at, header);
            }
            assert!(ring.next().unwrap().is_some());
            assert_eq!(ring.for_each_known(9, |_| ControlFlow::Break(())), Ok(ControlFlow::Break(1)));
            assert_eq!(ring.for_each_known(9, |_| ControlFlow::Continue(())), Ok(ControlFlow::Continue(0)));
            assert_eq!(ring.next().unwrap().is_some(), flag == DISCARDED);
        }
    }

    #[test]
    fn a_record_is_returned_once() {
        let (mut ring, memory) = ring();
        put(&memory, 16, 0, 5);
        memory.write(page_size() * 2 + HEADER, b"hello").unwrap();
        assert_eq!(ring.next(), Ok(Some(&b"hello"[..])));
        assert_eq!(ring.next(), Ok(None));
        put(&memory, 24, 16, BUSY);
        assert_eq!(ring.next(), Ok(None));
        put(&memory, 24, 16, 0);
        assert_eq!(ring.next(), Ok(Some(&[][..])), "an empty record is a record");
        assert_eq!(ring.next(), Ok(None));
        assert_eq!(ring.available(), 0);
    }

    /// A ring whose map has the flag for overwriting.
    fn overwriting_ring() -> (KernelRing, Mapping) {
        let (mut ring, memory) = ring();
        ring.overwriting = Some(Overwriting::default());
        (ring, memory)
    }

    #[test]
    fn overwritten_records_are_skipped_and_counted() {
        let (mut ring, memory) = overwriting_ring();
        let size = ring.size();
        put(&memory, 16, 0, 5);
        memory.write(page_size() * 2 + HEADER, b"hello").unwrap();
        assert_eq!(ring.next(), Ok(Some(&b"hello"[..])));
        assert_eq!(ring.next(), Ok(None));
        assert_eq!(ring.lost_bytes(), 0);
        // The writer is ahead by two rings; the oldest record begins at 24 after the first of them.
        put(&memory, 2 * size + 24, 24, 3);
        memory.write(page_size() * 2 + 24 + HEADER, b"old").unwrap();
        memory.write(page_size() + OVERWRITE_POSITION, (size + 24).as_bytes()).unwrap();
        memory.write(page_size() * 2 + 40, (u32::try_from(size - 16 - HEADER).unwrap()).as_bytes()).unwrap();
        assert_eq!(ring.available(), size);
        assert_eq!(ring.next(), Ok(Some(&b"old"[..])));
        assert_eq!(ring.lost_bytes(), u64::try_from(size + 24 - 16).unwrap());
        assert_eq!(ring.next().map(|record| record.map(<[u8]>::len)), Ok(Some(size - 16 - HEADER)));
        assert_eq!(ring.next(), Ok(None));
        // A record without an end is a fault, unless it is overwritten.
        put(&memory, 2 * size + 40, 24, 4096);
        assert!(matches!(ring.next(), Err(RingFault::Length { .. })));
        memory.write(page_size() + OVERWRITE_POSITION, (2 * size + 40).as_bytes()).unwrap();
        assert_eq!(ring.next(), Ok(None));
    }

    #[test]
    fn a_ring_without_room_for_another_record_is_counted() {
        let (mut ring, memory) = ring();
        let whole = ring.size() / 4;
        let header = u32::try_from(whole - HEADER).unwrap();
        let fill = |producer: usize| {
            (0..4).for_each(|n| put(&memory, producer, n * whole, header));
        };
        let read_all = |ring: &mut KernelRing| while ring.next().unwrap().is_some() {};
        fill(2 * whole);
        read_all(&mut ring);
        assert_eq!(ring.full_count(), 0, "a third record fits");
        // The kernel fills a ring up to one byte less than its size.
        fill(5 * whole);
        read_all(&mut ring);
        assert_eq!(ring.full_count(), 1);
        fill(8 * whole);
        read_all(&mut ring);
        assert_eq!(ring.full_count(), 2, "it was empty in between");
        // The ring became full while the first record was read.
        fill(10 * whole);
        assert!(ring.next().unwrap().is_some());
        fill(11 * whole);
        read_all(&mut ring);
        assert_eq!(ring.full_count(), 3);
    }

    #[test]
    fn discarded_records_of_an_overwriting_ring_do_not_hide_the_next_record() {
        let (mut ring, memory) = overwriting_ring();
        let discarded = usize::try_from(ATTEMPTS).unwrap() + 1;
        for n in 0..discarded {
            put(&memory, 0, n * HEADER, DISCARDED);
        }
        put(&memory, (discarded + 2) * HEADER, discarded * HEADER, 5);
        memory.write(page_size() * 2 + (discarded + 1) * HEADER, b"hello").unwrap();
        assert_eq!(ring.next(), Ok(Some(&b"hello"[..])));
        assert_eq!(ring.next(), Ok(None));
    }

    /// The kernel overwrites a record between the reader's look at the oldest position and its look at the
    /// header.
    #[test]
    fn an_overwritten_record_that_looks_incomplete_is_not_waited_for() {
        let (mut ring, memory) = overwriting_ring();
        put(&memory, 16, 0, 5 | BUSY);
        assert!(matches!(ring.peek_at(0), Ok(None)));
        memory.write(page_size() + OVERWRITE_POSITION, 8usize.as_bytes()).unwrap();
        assert!(matches!(ring.peek_at(0), Ok(Some(Peeked::Overwritten))));
    }

    #[test]
    fn records_that_reach_too_far_are_refused() {
        let (mut ring, memory) = ring();
        for len in [9, 4096, 0x3fff_ffff, 0x3fff_ffff | DISCARDED] {
            put(&memory, 16, 0, len);
            let len = usize::try_from(len & !DISCARDED).unwrap();
            assert_eq!(ring.next(), Err(RingFault::Length { at: 0, len, available: 16 }));
        }
    }

    #[test]
    fn positions_that_cannot_be_are_refused() {
        let (mut ring, memory) = ring();
        let size = ring.size();
        put(&memory, size + 8, 0, 0);
        assert_eq!(ring.next(), Err(RingFault::Positions { consumer: 0, producer: size + 8 }));
        memory.write(0, 8usize.as_bytes()).unwrap();
        memory.write(page_size(), 0usize.as_bytes()).unwrap();
        assert_eq!(ring.next(), Err(RingFault::Positions { consumer: 8, producer: 0 }), "behind the reader");
        memory.write(0, 3usize.as_bytes()).unwrap();
        memory.write(page_size(), 19usize.as_bytes()).unwrap();
        assert_eq!(ring.next(), Err(RingFault::Positions { consumer: 3, producer: 19 }));
    }

    #[test]
    fn positions_go_on_after_the_largest() {
        let (mut ring, memory) = ring();
        let last = usize::MAX - 15;
        memory.write(0, last.as_bytes()).unwrap();
        put(&memory, 0, last & (ring.size() - 1), 1);
        assert_eq!(ring.next().unwrap().map(<[u8]>::len), Some(1));
        assert_eq!(ring.next(), Ok(None));
    }

    #[test]
    fn records_arrive_whole_and_in_order_while_another_thread_writes() {
        const RECORDS: u8 = 9;
        let (mut ring, memory) = ring();
        let (size, whole) = (ring.size(), ring.size() / 4);
        let data_len = whole - HEADER;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut producer = 0;
                for n in 0..RECORDS {
                    while producer - memory.load_acquire(0).unwrap() == size {
                        std::thread::yield_now();
                    }
                    // In the kernel's order: the header, the position, the data, the header again.
                    let at = page_size() * 2 + producer % size;
                    memory.swap_u32(at, BUSY).unwrap();
                    producer += whole;
                    memory.store_release(page_size(), producer).unwrap();
                    memory.write(at + HEADER, &[n; 16]).unwrap();
                    memory.swap_u32(at, u32::try_from(data_len).unwrap()).unwrap();
                }
            });
            for n in 0..RECORDS {
                loop {
                    if let Some(record) = ring.next().unwrap() {
                        assert_eq!((record.len(), &record[..16]), (data_len, &[n; 16][..]));
                        break;
                    }
                    std::thread::yield_now();
                }
            }
        });
        assert_eq!(ring.next(), Ok(None));
    }
}
