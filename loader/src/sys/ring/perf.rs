//! The ring of one CPU in a perf event array.
#![expect(unsafe_code, reason = "records are slices of memory that the kernel writes")]

use super::shared::{PAGES_ARE_MAPPED, RingFault, RingSize};
use crate::{
    convert::to_usize,
    sys::{
        mapping::{Access, Mapping},
        memory::page_size,
        perf::{PERF_TYPE_SOFTWARE, PerfEventOpen, PerfSample, PerfWakeup, perf_event_open},
    },
};
use core::ops::ControlFlow;
use core_relo::Endian;
use core_relo_object::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A record of a perf ring.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PerfRecord<'r> {
    Sample(&'r [u8]),
    Lost(u64),
    Other,
}

/// The actions of [`PerfRing::open`] in error messages.
pub(crate) const PERF_OPEN: &str = "open a perf event";
pub(crate) const PERF_MAP: &str = "map its memory";

/// The offsets of `data_head`, the writer's position, and `data_tail`, the reader's position, in the first
/// page (`struct perf_event_mmap_page`).
const HEAD: usize = 1024 + LOW_WORD;
const TAIL: usize = 1032 + LOW_WORD;

/// The part of the ring that is read between two stores of the reader's position: one of 64. The writer reads
/// the position for each sample, and a store for each would take the cache line away from the writer.
const RELEASE_INTERVAL: usize = 64;

/// The offset of the low machine word in a number of eight bytes. The kernel compares positions modulo the
/// ring's size.
const LOW_WORD: usize = match Endian::native() {
    Endian::Little => 0,
    Endian::Big => 8 - size_of::<usize>(),
};

/// A perf event of one CPU that BPF programs write to, with its ring.
#[derive(Debug)]
pub(crate) struct PerfRing {
    memory: Mapping,
    size: RingSize,
    /// The writer's position at the last look. The reader looks again when it has read up to there.
    head: usize,
    event: OwnedFd,
    /// The reader's position, which only this process changes.
    tail: usize,
    /// The last record that wrapped around the ring's end, in one piece.
    joined: Vec<u8>,
}

impl PerfRing {
    /// Opens a ring of `pages` pages, a power of two. The ring gets samples once it is in a map. An error
    /// comes with the failed action.
    pub(crate) fn open(cpu: u32, pages: usize, wakeup: PerfWakeup) -> Result<Self, (&'static str, Errno)> {
        let too_many = (PERF_MAP, Errno(libc::EINVAL));
        let size = pages.checked_mul(page_size()).and_then(RingSize::new).ok_or(too_many)?;
        let len = size.bytes().checked_add(page_size()).ok_or(too_many)?;
        let event = bpf_output(cpu, wakeup).map_err(|errno| (PERF_OPEN, errno))?;
        // With a writable mapping, the kernel does not overwrite records that are not read yet.
        let memory = Mapping::new(event.as_fd(), 0, len, Access::Write).map_err(|errno| (PERF_MAP, errno))?;
        Ok(Self { memory, size, head: 0, event, tail: 0, joined: Vec::new() })
    }

    /// Calls `on_record` with each record until the callback stops or the ring is empty. The kernel may
    /// overwrite a record after its call. After an error, the records written so far are skipped.
    pub(crate) fn for_each(
        &mut self,
        mut on_record: impl FnMut(PerfRecord<'_>) -> ControlFlow<()>,
    ) -> Result<(), RingFault> {
        self.release(self.tail)?;
        loop {
            if self.tail == self.head {
                self.head = self.memory.load_acquire(HEAD).ok_or(PAGES_ARE_MAPPED)?;
            }
            if self.tail == self.head {
                return Ok(());
            }
            match self.for_each_unread(&mut on_record) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return Ok(()),
                Err(fault) => {
                    self.tail = self.head;
                    self.release(self.tail)?;
                    return Err(fault);
                }
            }
        }
    }

    /// Closes the descriptor in a child after `fork`. The kernel does not copy the ring's memory to a child,
    /// which may have other memory at the address by now.
    pub(crate) fn close_in_child(self) {
        core::mem::forget(self.memory);
    }

    /// Gives the memory before a position back to the kernel.
    fn release(&self, tail: usize) -> Result<(), RingFault> {
        self.memory.store_release(TAIL, tail).ok_or(PAGES_ARE_MAPPED)
    }

    /// Calls `on_record` with each record up to the writer's position or the ring's end, until the callback
    /// stops. There is at least one record.
    fn for_each_unread(
        &mut self,
        on_record: &mut impl FnMut(PerfRecord<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, RingFault> {
        let e = Endian::native();
        let Self { memory, size, head, tail: read_to, joined, .. } = self;
        // The position stays in a register: the callback may be any code.
        let mut tail = *read_to;
        let (mut released, release_interval) = (tail, size.bytes() / RELEASE_INTERVAL);
        let available = head.wrapping_sub(tail);
        if available > size.bytes() || !(available | tail).is_multiple_of(8) {
            return Err(RingFault::Positions { consumer: tail, producer: *head });
        }
        let until_end = size.bytes().checked_sub(size.offset(tail)).ok_or(PAGES_ARE_MAPPED)?;
        // SAFETY: the bytes lie between the positions of reader and writer, and the kernel does not write
        // there until the reader's position moves on, because the mapping is writable. The position moves on
        // record by record, after the callback, which cannot keep the record; `unread` has none of the
        // records before it. Nobody else has the event of this ring.
        let unread = unsafe { memory.bytes(size.mapping_offset(tail)?, available.min(until_end)) };
        let mut unread = unread.ok_or(PAGES_ARE_MAPPED)?;
        // Records are multiples of 8, so a header does not wrap around the end.
        while let Some(header) = unread.first_chunk::<8>() {
            let (kind, len) = (e.u32(header, 0), e.u16(header, 6).map(usize::from));
            let (kind, len) = kind.zip(len).ok_or(PAGES_ARE_MAPPED)?;
            let available = head.wrapping_sub(tail);
            if len < 8 || len > available || !len.is_multiple_of(8) {
                return Err(RingFault::Length { at: tail, len, available });
            }
            let record = if let Some((record, rest)) = unread.split_at_checked(len) {
                unread = rest;
                record
            } else {
                join(memory, *size, unread, len, joined)?;
                unread = &[];
                joined.as_slice()
            };
            tail = tail.wrapping_add(len);
            // If the callback panics, the record counts as read.
            *read_to = tail;
            let flow = on_record(parse(kind, record.get(8..).ok_or(PAGES_ARE_MAPPED)?));
            if flow.is_break() {
                memory.store_release(TAIL, tail).ok_or(PAGES_ARE_MAPPED)?;
                return Ok(flow);
            }
            if tail.wrapping_sub(released) >= release_interval {
                memory.store_release(TAIL, tail).ok_or(PAGES_ARE_MAPPED)?;
                released = tail;
            }
        }
        memory.store_release(TAIL, tail).ok_or(PAGES_ARE_MAPPED)?;
        Ok(ControlFlow::Continue(()))
    }
}

/// Copies a record of `len` bytes that wraps around the ring's end. `first` is the part before the end.
#[cold]
fn join(
    memory: &Mapping,
    size: RingSize,
    first: &[u8],
    len: usize,
    joined: &mut Vec<u8>,
) -> Result<(), RingFault> {
    joined.resize(len, 0);
    let (head, rest) = joined.split_at_mut_checked(first.len()).ok_or(PAGES_ARE_MAPPED)?;
    head.copy_from_slice(first);
    memory.read(size.data_offset(), rest).ok_or(PAGES_ARE_MAPPED)
}

impl AsFd for PerfRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// Parses a record without its header.
#[inline]
fn parse(kind: u32, body: &[u8]) -> PerfRecord<'_> {
    const LOST: u32 = 2;
    const SAMPLE: u32 = 9;
    let e = Endian::native();
    // A record that is too short for its data is skipped, as a record of another kind.
    let record = match kind {
        SAMPLE => e.u32(body, 0).and_then(|len| body.get(4..)?.get(..to_usize(len))).map(PerfRecord::Sample),
        LOST => e.u64(body, 8).map(PerfRecord::Lost),
        _ => None,
    };
    record.unwrap_or(PerfRecord::Other)
}

/// Opens the perf event for samples of BPF programs on one CPU, in any process.
fn bpf_output(cpu: u32, wakeup: PerfWakeup) -> Result<OwnedFd, Errno> {
    /// `PERF_COUNT_SW_BPF_OUTPUT`.
    const BPF_OUTPUT: u64 = 10;
    perf_event_open(&PerfEventOpen {
        kind: PERF_TYPE_SOFTWARE,
        config: BPF_OUTPUT,
        sample: PerfSample::Period(1),
        cpu: Some(cpu),
        wakeup: Some(wakeup),
        ..PerfEventOpen::default()
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::arithmetic_side_effects, reason = "small numbers")]

    use super::*;
    use crate::sys::{Pod as _, mapping::memory_file};

    /// A ring of a page over plain memory.
    fn ring() -> PerfRing {
        let page = page_size();
        let file = memory_file(page * 2);
        let memory = Mapping::new(file.as_fd(), 0, page * 2, Access::Write).unwrap();
        PerfRing {
            memory,
            size: RingSize::new(page).unwrap(),
            head: 0,
            event: file.into(),
            tail: 0,
            joined: Vec::new(),
        }
    }

    /// Returns the samples that a look finds.
    fn samples(ring: &mut PerfRing) -> Result<Vec<Vec<u8>>, RingFault> {
        let mut found = Vec::new();
        ring.for_each(|record| {
            if let PerfRecord::Sample(sample) = record {
                found.push(sample.to_vec());
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    fn header(kind: u32, len: u16) -> [u8; 8] {
        let mut header = Vec::new();
        Endian::native().put_u32(&mut header, kind);
        Endian::native().put_u16(&mut header, 0);
        Endian::native().put_u16(&mut header, len);
        header.try_into().unwrap()
    }

    #[test]
    fn invalid_records_are_skipped() {
        let mut ring = ring();
        let page = page_size();
        for (len, tail) in [(0, 0), (4, 16), (32, 32), (12, 48)] {
            ring.memory.write(page + tail, &header(9, len)).unwrap();
            ring.memory.write(HEAD, (tail + 16).as_bytes()).unwrap();
            let fault = RingFault::Length { at: tail, len: usize::from(len), available: 16 };
            assert_eq!(samples(&mut ring), Err(fault));
            assert_eq!(samples(&mut ring), Ok(vec![]), "reading continues after the record");
        }
        ring.memory.write(HEAD, (64 + page + 8).as_bytes()).unwrap();
        let fault = RingFault::Positions { consumer: 64, producer: 64 + page + 8 };
        assert_eq!(samples(&mut ring), Err(fault));
        assert_eq!(samples(&mut ring), Ok(vec![]));
    }

    #[test]
    fn a_writer_between_two_records_is_a_fault() {
        let mut ring = ring();
        ring.memory.write(page_size(), &header(9, 8)).unwrap();
        ring.memory.write(HEAD, 12usize.as_bytes()).unwrap();
        assert_eq!(samples(&mut ring), Err(RingFault::Positions { consumer: 0, producer: 12 }));
        assert_eq!(samples(&mut ring), Ok(vec![]));
    }

    #[test]
    fn records_go_on_after_the_end_of_the_ring() {
        // The first record ends at the end, or wraps around.
        for before in [16, 8] {
            let mut ring = ring();
            let page = page_size();
            let tail = page - before;
            (ring.tail, ring.head) = (tail, tail);
            let record = [&header(9, 16)[..], 4u32.as_bytes(), b"abcd"].concat();
            let (first, rest) = record.split_at(before);
            ring.memory.write(page + tail, first).unwrap();
            ring.memory.write(page, rest).unwrap();
            ring.memory.write(page + rest.len(), &record).unwrap();
            ring.memory.write(HEAD, (tail + 32).as_bytes()).unwrap();
            assert_eq!(samples(&mut ring), Ok(vec![b"abcd".to_vec(); 2]), "{before}");
            assert_eq!(samples(&mut ring), Ok(vec![]));
        }
    }

    #[test]
    fn a_record_cut_by_the_end_is_joined() {
        let mut ring = ring();
        let page = page_size();
        let tail = page * 5 - 16;
        (ring.tail, ring.head) = (tail, tail);
        ring.memory.write(HEAD, (tail + 24).as_bytes()).unwrap();
        ring.memory.write(page * 2 - 16, &header(9, 24)).unwrap();
        ring.memory.write(page * 2 - 8, 12u32.as_bytes()).unwrap();
        ring.memory.write(page * 2 - 4, b"abcd").unwrap();
        ring.memory.write(page, b"efghijkl").unwrap();
        assert_eq!(samples(&mut ring), Ok(vec![b"abcdefghijkl".to_vec()]));
        assert_eq!(samples(&mut ring), Ok(vec![]));
    }

    #[test]
    fn a_record_is_read_once_even_if_its_callback_stops_or_panics() {
        let mut ring = ring();
        for n in 0..4u8 {
            let at = page_size() + usize::from(n) * 16;
            ring.memory.write(at, &header(9, 16)).unwrap();
            ring.memory.write(at + 8, 1u32.as_bytes()).unwrap();
            ring.memory.write(at + 12, &[n]).unwrap();
        }
        ring.memory.write(HEAD, 64usize.as_bytes()).unwrap();
        let released = |ring: &PerfRing| ring.memory.load_acquire(TAIL).unwrap();
        let mut calls = 0;
        ring.for_each(|_| {
            calls += 1;
            ControlFlow::Break(())
        })
        .unwrap();
        assert_eq!((calls, released(&ring)), (1, 16));
        let panics = core::panic::AssertUnwindSafe(|| ring.for_each(|_| panic!("a callback")));
        std::panic::catch_unwind(panics).unwrap_err();
        assert_eq!(released(&ring), 16, "the callback may still have had the record");
        assert_eq!(samples(&mut ring), Ok(vec![vec![2], vec![3]]));
        assert_eq!(released(&ring), 64);
    }

    #[test]
    fn records() {
        let e = Endian::native();
        let mut body = Vec::new();
        e.put_u32(&mut body, 4);
        body.extend(*b"abcdefgh");
        assert_eq!(parse(9, &body), PerfRecord::Sample(b"abcd"));
        assert_eq!(parse(9, &body[..6]), PerfRecord::Other, "longer than the record");
        assert_eq!(parse(9, &[]), PerfRecord::Other);
        assert_eq!(parse(5, &body), PerfRecord::Other);
        body.truncate(0);
        e.put_u64(&mut body, 1);
        e.put_u64(&mut body, 77);
        assert_eq!(parse(2, &body), PerfRecord::Lost(77));
        assert_eq!(parse(2, &body[..8]), PerfRecord::Other);
    }
}
