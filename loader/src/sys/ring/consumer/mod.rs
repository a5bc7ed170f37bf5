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
use core_relo_object::map_flags;
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
            overwriting: (info.map_flags & map_flags::RB_OVERWRITE != 0).then(Overwriting::default),
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
    /// releases them together. This is the short path for many records: it stops at everything that only
    /// [`next`](Self::next) handles, and when another look is due. Returns the number of records, as `Break`
    /// if the callback stopped.
    ///
    /// The writer reads the reader's position for each new record. A store for each record would take the
    /// cache line away from the writer each time. So up to a 64th part of the ring is released late.
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
        // If the callback panics, its record and those before count as read.
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
        }
        self.release()?;
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

impl Drop for KernelRing {
    /// Releases the records that were read before a callback panicked.
    fn drop(&mut self) {
        if let Err(fault) = self.release() {
            log::debug!("the position of a ring buffer's reader is lost: {fault}");
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
mod tests;
