//! Tests of the reader of ring buffers: positions, broken and overwritten records.
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
