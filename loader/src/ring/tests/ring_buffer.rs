//! Reading ring buffers that programs write.
#![cfg(test)]

use crate::{
    live_test_support::{
        add, call, exit, filter, insn, load_map, load_payload, map_with, mov, ring, run, set,
    },
    ring::{Consumed, RingBuffer, RingError},
    sys::{Epoll, Interest, MapCreate, MapFd, page_size},
};
use core::{
    ops::ControlFlow,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use core_relo::insn::Insn;
use core_relo_object::{map_flags, object::MapType};
use std::{
    os::fd::{AsFd as _, OwnedFd},
    sync::Mutex,
    thread,
    time::Instant,
};

/// Sends the first `len` bytes of the payload; returns 0 if there was room.
fn sender(map: &MapFd, len: i32) -> Option<OwnedFd> {
    sender_with_flags(map, len, 0)
}

fn sender_with_flags(map: &MapFd, len: i32, flags: i32) -> Option<OwnedFd> {
    let mut code = load_payload(len);
    code.extend(load_map(1, map));
    code.extend([mov(2, 10), add(2, -512), set(3, len), set(4, flags), call(130), exit()]);
    filter(&code)
}

/// Reserves `len` bytes and discards them.
fn discarder(map: &MapFd, len: i32) -> Option<OwnedFd> {
    let mut code: Vec<Insn> = load_map(1, map).into();
    code.extend([set(2, len), set(3, 0), call(131), insn(0x15, 0, 0, 3, 0), mov(1, 0), set(2, 0), call(133)]);
    code.extend([set(0, 0), exit()]);
    filter(&code)
}

fn records(n: usize) -> Consumed {
    Consumed { records: n, stopped: false }
}

#[test]
fn records_are_in_order_across_the_end_of_the_ring() {
    let Some(map) = ring(MapType::Ringbuf, 1) else { return };
    let Some(prog) = sender(&map, 100) else { return };
    let mut seen = Vec::new();
    let mut buffer = RingBuffer::new(&map, |record: &[u8]| seen.push(record.to_vec())).unwrap();
    assert_eq!(buffer.poll(Some(Duration::ZERO)).unwrap(), records(0));
    // 112 bytes each with the header: the ring of a page goes round several times.
    let payload = |i: u8| [i; 100];
    for i in 0..200u8 {
        assert_eq!(run(&prog, &payload(i), 1), 0);
        if i % 3 == 2 {
            assert_eq!(buffer.available(0), 336);
            assert_eq!(buffer.poll(None).unwrap(), records(3));
        }
    }
    assert_eq!(buffer.consume().unwrap(), records(2));
    assert_eq!((buffer.available(0), buffer.size(0)), (0, page_size()));
    drop(buffer);
    assert_eq!(seen.len(), 200);
    assert!(seen.iter().zip(0..).all(|(record, i)| *record == payload(i)));
}

#[test]
fn records_without_a_wakeup_are_read_at_intervals() {
    const NO_WAKEUP: i32 = 1;
    let (Some(a), Some(b)) = (ring(MapType::Ringbuf, 1), ring(MapType::Ringbuf, 1)) else { return };
    let (Some(quiet), Some(loud)) = (sender_with_flags(&a, 8, NO_WAKEUP), sender(&b, 8)) else { return };
    let mut buffer = RingBuffer::empty().unwrap();
    buffer.add(&a, |_: &[u8]| ()).unwrap();
    buffer.add(&b, |_: &[u8]| ()).unwrap();
    run(&quiet, &[0; 8], 2);
    assert_eq!(buffer.poll(None).unwrap(), records(2));
    run(&quiet, &[0; 8], 3);
    assert_eq!(buffer.poll(Some(Duration::from_millis(1))).unwrap(), records(3));
    // A ring that wakes the reader all the time does not keep it from the others.
    buffer.set_drain_interval(Some(Duration::from_millis(1)));
    run(&quiet, &[0; 8], 1);
    thread::sleep(Duration::from_millis(2));
    run(&loud, &[0; 8], 1);
    assert_eq!(buffer.poll(None).unwrap(), records(2));
    // As libbpf waits.
    buffer.set_drain_interval(None);
    run(&quiet, &[0; 8], 1);
    assert_eq!(buffer.poll(Some(Duration::from_millis(1))).unwrap(), records(0));
    assert_eq!(buffer.consume().unwrap(), records(1));
}

#[test]
fn new_records_overwrite_old_ones_and_the_lost_bytes_are_counted() {
    let request = MapCreate {
        max_entries: u32::try_from(page_size()).unwrap(),
        map_flags: map_flags::RB_OVERWRITE,
        ..Default::default()
    };
    let Some(map) = map_with(MapType::Ringbuf, &request) else { return };
    let Some(prog) = sender(&map, 120) else { return };
    let mut seen = Vec::new();
    let mut buffer = RingBuffer::new(&map, |record: &[u8]| seen.push(record.to_vec())).unwrap();
    assert_eq!(run(&prog, &[1; 120], 1), 0);
    assert_eq!((buffer.consume().unwrap(), buffer.lost_bytes(0)), (records(1), 0));
    for i in 0..100u8 {
        assert_eq!(run(&prog, &[i; 120], 1), 0);
    }
    assert!(buffer.available(0) <= page_size());
    let read = buffer.poll(None).unwrap().records;
    let lost = buffer.lost_bytes(0);
    assert!(read >= page_size() / 128 - 1 && lost > 0, "{read} {lost}");
    assert_eq!(u64::try_from(read).unwrap() + lost / 128, 100);
    // A reader in another thread gets only whole records, in order.
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..20_000u32 {
                run(&prog, &[u8::try_from(i % 251).unwrap(); 120], 1);
            }
            done.store(1, Ordering::Release);
        });
        while done.load(Ordering::Acquire) == 0 {
            buffer.consume().unwrap();
        }
    });
    buffer.consume().unwrap();
    let all = u64::try_from(read + 1 + 20_000).unwrap();
    let lost_later = (buffer.lost_bytes(0) - lost) / 128;
    drop(buffer);
    assert_eq!(u64::try_from(seen.len()).unwrap() + lost_later, all);
    assert!(seen.iter().all(|record| record.len() == 120 && record.iter().all(|byte| *byte == record[0])));
}

#[test]
fn a_full_ring_has_room_after_it_was_read() {
    let Some(map) = ring(MapType::Ringbuf, 1) else { return };
    let Some(prog) = sender(&map, 120) else { return };
    let mut buffer = RingBuffer::new(&map, |_: &[u8]| ()).unwrap();
    let fits = page_size() / 128;
    // The kernel keeps positions apart, so that one record less may fit.
    assert_ne!(run(&prog, &[1; 120], u32::try_from(fits + 1).unwrap()), 0);
    let first = buffer.consume().unwrap().records;
    assert!(first == fits || first == fits - 1, "{first}");
    assert_eq!(run(&prog, &[1; 120], 1), 0);
    assert_eq!(buffer.consume().unwrap(), records(1));
}

#[test]
fn a_callback_or_a_count_stops_the_call() {
    let Some(map) = ring(MapType::Ringbuf, 1) else { return };
    let Some(prog) = sender(&map, 8) else { return };
    let mut seen = Vec::new();
    let mut buffer = RingBuffer::new(&map, |record: &[u8]| {
        seen.push(record[0]);
        if record[0] == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    for i in 0..8 {
        run(&prog, &[i; 8], 1);
    }
    assert_eq!(buffer.consume_n(0).unwrap(), records(0));
    assert_eq!(buffer.consume_n(2).unwrap(), records(2));
    assert_eq!(buffer.poll(None).unwrap(), Consumed { records: 2, stopped: true });
    assert_eq!(buffer.poll(None).unwrap(), records(4), "the rest is still there");
    let mut asked = 0;
    let spun = buffer.spin(|| {
        asked += 1;
        run(&prog, &[asked; 8], 1);
        true
    });
    assert_eq!(spun.unwrap(), Consumed { records: 3, stopped: true });
    drop(buffer);
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3]);
}

#[test]
fn discarded_records_are_skipped() {
    let Some(map) = ring(MapType::Ringbuf, 1) else { return };
    let (Some(prog), Some(discard)) = (sender(&map, 8), discarder(&map, 40)) else { return };
    let mut n = 0;
    let mut buffer = RingBuffer::new(&map, |_: &[u8]| n += 1).unwrap();
    run(&discard, &[], 3);
    run(&prog, &[0; 8], 1);
    run(&discard, &[], 50);
    assert_eq!(buffer.consume().unwrap(), records(1));
    assert_eq!(buffer.available(0), 0, "the discarded ones are read, too");
    drop(buffer);
    assert_eq!(n, 1);
}

#[test]
fn one_reader_reads_several_maps() {
    let (Some(a), Some(b)) = (ring(MapType::Ringbuf, 1), ring(MapType::Ringbuf, 2)) else { return };
    let (Some(to_a), Some(to_b)) = (sender(&a, 8), sender(&b, 16)) else { return };
    let seen = Mutex::new(Vec::new());
    let mut buffer = RingBuffer::empty().unwrap();
    assert!(buffer.is_empty());
    assert_eq!(buffer.add(&a, |r: &[u8]| seen.lock().unwrap().push(('a', r.len()))), Ok(0));
    assert_eq!(buffer.add(&b, |r: &[u8]| seen.lock().unwrap().push(('b', r.len()))), Ok(1));
    assert_eq!((buffer.len(), buffer.size(1), buffer.size(2)), (2, 2 * page_size(), 0));
    run(&to_b, &[0; 16], 2);
    run(&to_a, &[0; 16], 1);
    assert_eq!(buffer.consume_n(2).unwrap(), records(2));
    // The descriptors of the maps may be closed meanwhile.
    drop((a, b));
    assert_eq!(buffer.poll(None).unwrap(), records(1));
    assert_eq!(*seen.lock().unwrap(), [('a', 8), ('b', 16), ('b', 16)]);
}

/// `ring_buffer__consume_n` of libbpf begins with the first ring each time.
#[test]
fn a_ring_that_always_has_records_does_not_starve_the_others() {
    let maps = [1, 1, 1].map(|pages| ring(MapType::Ringbuf, pages));
    let [Some(a), Some(b), Some(c)] = &maps else { return };
    let senders = [a, b, c].map(|map| sender(map, 8));
    let [Some(to_a), Some(to_b), Some(to_c)] = &senders else { return };
    let seen = Mutex::new(String::new());
    let mut buffer = RingBuffer::empty().unwrap();
    let seen_by_all = &seen;
    for (map, name) in [(a, 'a'), (b, 'b'), (c, 'c')] {
        buffer
            .add(map, move |r: &[u8]| {
                seen_by_all.lock().unwrap().push(name);
                if r[0] == 9 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .unwrap();
    }
    let take = || core::mem::take(&mut *seen.lock().unwrap());
    run(to_a, &[0; 8], 40);
    run(to_b, &[0; 8], 3);
    run(to_c, &[0; 8], 1);
    for _ in 0..5 {
        assert_eq!(buffer.consume_n(2).unwrap(), records(2));
    }
    assert_eq!(take(), "aabbcabaaa", "the others have their turn");
    while buffer.consume_n(7).unwrap().records > 0 {}
    take();
    // A callback that stops each call, too.
    run(to_a, &[9; 8], 3);
    run(to_b, &[9; 8], 1);
    run(to_c, &[9; 8], 1);
    for _ in 0..3 {
        assert_eq!(buffer.poll(None).unwrap(), Consumed { records: 1, stopped: true });
    }
    let mut polled: Vec<_> = take().chars().collect();
    polled.sort_unstable();
    assert_eq!(polled, ['a', 'b', 'c']);
}

#[test]
fn a_waiting_reader_is_woken_and_sees_every_record_of_every_writer() {
    const EACH: u32 = 4000;
    let Some(map) = ring(MapType::Ringbuf, 256) else { return };
    let Some(prog) = sender(&map, 8) else { return };
    let mut next = [0u32; 2];
    let total = AtomicUsize::new(0);
    let mut buffer = RingBuffer::new(&map, |record: &[u8]| {
        let writer = usize::from(record[4]);
        let number = core_relo::Endian::native().u32(record, 0).unwrap();
        assert_eq!(number, next[writer], "of writer {writer}");
        next[writer] += 1;
        total.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap();
    let all = usize::try_from(EACH).unwrap() * 2;
    let end = Instant::now() + Duration::from_secs(60);
    thread::scope(|scope| {
        for writer in 0..2 {
            let prog = prog.as_fd();
            scope.spawn(move || {
                for number in 0..EACH {
                    let mut payload = [0, 0, 0, 0, writer, 0, 0, 0];
                    payload[..4].copy_from_slice(&core_relo::Endian::native().u32_bytes(number));
                    while run(prog, &payload, 1) != 0 {
                        thread::yield_now();
                    }
                }
            });
        }
        while total.load(Ordering::Relaxed) < all {
            // A wakeup that was missed would show as a wait to the end. One for a record that is still being
            // written finds none.
            let (begin, most) = (Instant::now(), Duration::from_secs(20));
            let done = buffer.poll(Some(most)).unwrap();
            let is_woken = done.records > 0 || begin.elapsed() < most;
            assert!(is_woken && Instant::now() < end, "{total:?} of {all}");
        }
    });
    drop(buffer);
    assert_eq!(next, [EACH; 2]);
}

#[test]
fn an_edge_triggered_reactor_misses_no_record() {
    const ALL: usize = 5000;
    let Some(map) = ring(MapType::Ringbuf, 256) else { return };
    let Some(prog) = sender(&map, 8) else { return };
    let mut buffer = RingBuffer::new(&map, |_: &[u8]| ()).unwrap();
    let reactor = Epoll::new().unwrap();
    reactor.add(buffer.as_fd(), 7, Interest::MoreToRead).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..ALL {
                assert_eq!(run(&prog, &[0; 8], 1), 0);
            }
        });
        let (mut seen, mut ready) = (0, Vec::new());
        while seen < ALL {
            reactor.wait(&mut ready, Some(Duration::from_secs(20))).unwrap();
            assert_eq!(ready, [7], "after {seen} records");
            seen += buffer.consume().unwrap().records;
        }
        reactor.wait(&mut ready, Some(Duration::ZERO)).unwrap();
    });
    assert_eq!(buffer.consume().unwrap(), records(0));
}

#[test]
fn a_caught_panic_leaves_the_buffer_usable() {
    let Some(map) = ring(MapType::Ringbuf, 1) else { return };
    let Some(prog) = sender(&map, 8) else { return };
    let mut n = 0;
    let mut buffer = RingBuffer::new(&map, |_: &[u8]| {
        n += 1;
        assert!(n != 1, "the first record panics");
    })
    .unwrap();
    run(&prog, &[0; 8], 3);
    let caught = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| buffer.consume()));
    caught.unwrap_err();
    assert_eq!(buffer.consume().unwrap(), records(2));
}

#[test]
fn a_map_has_one_reader_and_the_right_type() {
    let Some(map) = ring(MapType::Ringbuf, 1) else { return };
    let first = RingBuffer::new(&map, |_: &[u8]| ()).unwrap();
    let second = RingBuffer::new(&map, |_: &[u8]| ()).unwrap_err();
    assert_eq!(second, RingError::InUse { map: "test_map".into() });
    drop(first);
    let _again = RingBuffer::new(&map, |_: &[u8]| ()).unwrap();
    let Some(array) = crate::live_test_support::map(MapType::Array, 4, 4, 1) else { return };
    let refused = RingBuffer::new(&array, |_: &[u8]| ()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "map test_map: wrong map type: BPF_MAP_TYPE_ARRAY, expected BPF_MAP_TYPE_RINGBUF"
    );
    RingBuffer::new(std::fs::File::open("/dev/null").unwrap(), |_: &[u8]| ()).unwrap_err();
}
