//! Reading perf buffers that programs write.
#![cfg(test)]

use crate::{
    live_test_support::{add, call, exit, filter, insn, load_map, load_payload, map, mov, run, set},
    ring::{PerfBuffer, PerfBufferOptions, RingError, Wakeup},
    sys::{self, MapFd, Pod as _, page_size, possible_cpus},
};
use core::{ops::ControlFlow, time::Duration};
use core_relo_object::object::MapType;
use std::{os::fd::OwnedFd, sync::Mutex, thread};

/// Sends the first `len` bytes of the payload; returns 0 if there was room.
fn sender(map: &MapFd, len: i32) -> Option<OwnedFd> {
    const CURRENT_CPU: i32 = -1;
    sender_to(map, len, CURRENT_CPU)
}

/// Sends as [`sender`] does, to the ring at a key of the map.
fn sender_to(map: &MapFd, len: i32, key: i32) -> Option<OwnedFd> {
    let mut code = load_payload(len);
    code.push(mov(1, 6));
    code.extend(load_map(2, map));
    // The upper half of r3 is 0, as the helper's flags need it.
    code.extend([insn(0xb4, 3, 0, 0, key), mov(4, 10), add(4, -512), set(5, len), call(25), exit()]);
    filter(&code)
}

fn events() -> Option<MapFd> {
    map(MapType::PerfEventArray, 4, 4, possible_cpus().unwrap())
}

/// Runs a function on one CPU.
fn on_one_cpu<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        scope
            .spawn(|| {
                sys::pin_to_first_cpu();
                f()
            })
            .join()
            .unwrap()
    })
}

#[test]
fn samples_are_in_order_across_the_end_of_the_ring() {
    let Some(map) = events() else { return };
    let Some(prog) = sender(&map, 300) else { return };
    let seen = Mutex::new(Vec::new());
    let mut buffer = PerfBufferOptions::new()
        .pages(1)
        .open(&map, |_cpu, s: &[u8]| seen.lock().unwrap().push(s.to_vec()))
        .unwrap();
    assert!(buffer.cpus().count() > 0);
    assert_eq!(buffer.poll(Some(Duration::ZERO)).unwrap().records, 0);
    let cut = on_one_cpu(|| {
        for i in 0..200u8 {
            assert_eq!(run(&prog, &[i; 300], 1), 0, "{i}");
            if i % 4 == 3 {
                assert_eq!(buffer.poll(None).unwrap().records, 4);
            }
        }
        200 * 320 / page_size()
    });
    assert!(cut > 3, "the ring went round");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 200);
    for (sample, i) in seen.iter().zip(0..) {
        assert!(sample.len() >= 300 && sample.len() < 308 && sample[..300] == [i; 300], "{i}: {sample:?}");
    }
    assert_eq!(buffer.lost(), 0);
}

#[test]
fn lost_samples_are_counted() {
    let Some(map) = events() else { return };
    let Some(prog) = sender(&map, 100) else { return };
    let lost = Mutex::new(Vec::new());
    let mut n = 0usize;
    let mut buffer = PerfBufferOptions::new()
        .pages(1)
        .on_lost(|cpu, count| lost.lock().unwrap().push((cpu, count)))
        .open(&map, |_cpu, _: &[u8]| n += 1)
        .unwrap();
    on_one_cpu(|| {
        run(&prog, &[0; 100], 200);
        buffer.consume().unwrap();
        run(&prog, &[0; 100], 1);
        buffer.consume().unwrap();
    });
    let total = buffer.lost();
    drop(buffer);
    let lost = lost.lock().unwrap();
    assert!(total > 100 && lost.len() == 1 && lost[0].1 == total, "{lost:?} {total}");
    assert_eq!(u64::try_from(n).unwrap() + total, 201);
}

#[test]
fn a_callback_stops_the_call_and_a_sample_count_wakes_the_reader() {
    let Some(map) = events() else { return };
    let Some(prog) = sender(&map, 8) else { return };
    let mut n = 0;
    let mut buffer = PerfBufferOptions::new()
        .wakeup(Wakeup::Samples(4))
        .drain_interval(None)
        .open(&map, |_cpu, _: &[u8]| {
            n += 1;
            if n == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    on_one_cpu(|| {
        run(&prog, &[0; 8], 3);
        assert_eq!(buffer.poll(Some(Duration::ZERO)).unwrap().records, 0, "three do not wake");
        run(&prog, &[0; 8], 1);
        let done = buffer.poll(Some(Duration::from_secs(5))).unwrap();
        assert_eq!((done.records, done.stopped), (2, true));
        assert_eq!(buffer.consume_n(1).unwrap().records, 1);
        // The kernel reports the ring once. The remaining samples are read nevertheless.
        assert_eq!(buffer.poll(Some(Duration::ZERO)).unwrap().records, 1);
        assert_eq!(buffer.poll(Some(Duration::ZERO)).unwrap().records, 0);
        assert_eq!(buffer.consume().unwrap().records, 0);
    });
}

#[test]
fn samples_below_the_number_that_wakes_are_read_after_an_interval() {
    let Some(map) = events() else { return };
    let Some(prog) = sender(&map, 8) else { return };
    let mut buffer = PerfBufferOptions::new()
        .wakeup(Wakeup::Samples(4))
        .drain_interval(Some(Duration::from_millis(1)))
        .open(&map, |_cpu, _: &[u8]| ())
        .unwrap();
    on_one_cpu(|| {
        run(&prog, &[0; 8], 3);
        assert_eq!(buffer.poll(None).unwrap().records, 3);
    });
}

#[test]
fn a_busy_ring_does_not_keep_the_reader_from_the_others() {
    let Some(map) = map(MapType::PerfEventArray, 4, 4, 2) else { return };
    let (Some(quiet), Some(busy)) = (sender_to(&map, 8, 0), sender_to(&map, 8, 1)) else { return };
    let mut n = 0;
    let mut buffer = PerfBufferOptions::new()
        .cpus([(0, 0), (0, 1)])
        .wakeup(Wakeup::Samples(4))
        .drain_interval(Some(Duration::from_millis(1)))
        .open(&map, |_cpu, _: &[u8]| {
            n += 1;
            if n == 6 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    on_one_cpu(|| {
        // The busy ring wakes the reader.
        run(&quiet, &[0; 8], 1);
        thread::sleep(Duration::from_millis(2));
        run(&busy, &[0; 8], 4);
        assert_eq!(buffer.poll(None).unwrap().records, 5);
        // The busy ring has samples from an earlier call.
        run(&busy, &[0; 8], 4);
        let stopped = buffer.poll(None).unwrap();
        assert_eq!((stopped.records, stopped.stopped), (1, true));
        run(&quiet, &[0; 8], 1);
        thread::sleep(Duration::from_millis(2));
        assert_eq!(buffer.poll(None).unwrap().records, 4);
    });
}

#[test]
fn a_map_element_has_one_reader_at_a_time() {
    let Some(map) = events() else { return };
    let none = |_cpu: u32, _: &[u8]| ();
    let first = PerfBufferOptions::new().cpus([(0, 0)]).open(&map, none).unwrap();
    assert!(matches!(PerfBuffer::new(&map, none), Err(RingError::InUse { .. })));
    let _other_place = PerfBufferOptions::new().cpus([(0, 1)]).open(&map, none).unwrap();
    drop(first);
    let _again = PerfBufferOptions::new().cpus([(0, 0)]).open(&map, none).unwrap();
}

#[test]
fn a_byte_count_wakes_the_reader() {
    let Some(map) = events() else { return };
    let Some(prog) = sender(&map, 100) else { return };
    let mut buffer = PerfBufferOptions::new()
        .drain_interval(None)
        .wakeup(Wakeup::Bytes(1000))
        .open(&map, |_cpu, _: &[u8]| ())
        .unwrap();
    on_one_cpu(|| {
        run(&prog, &[0; 100], 5);
        assert_eq!(buffer.poll(Some(Duration::ZERO)).unwrap().records, 0);
        run(&prog, &[0; 100], 7);
        assert_eq!(buffer.poll(Some(Duration::from_secs(5))).unwrap().records, 12);
    });
}

#[test]
fn a_reader_of_one_cpu_leaves_the_map_on_drop() {
    let Some(map) = events() else { return };
    let Some(prog) = sender(&map, 8) else { return };
    let mut buffer = PerfBufferOptions::new().cpus([(0, 0)]).open(&map, |_cpu, _: &[u8]| ()).unwrap();
    assert_eq!(buffer.cpus().collect::<Vec<_>>(), [0]);
    on_one_cpu(|| {
        assert_eq!(run(&prog, &[0; 8], 1), 0);
        assert_eq!(buffer.consume().unwrap().records, 1);
        drop(buffer);
        assert_eq!(run(&prog, &[0; 8], 1), -libc::ENOENT);
    });
    map.shape().delete(0u32.as_bytes()).unwrap_err();
}

/// A child has no copy of a ring's memory, and may have other memory at the same address.
#[test]
fn a_child_that_drops_a_buffer_keeps_its_own_memory() {
    const PAGES: usize = 256;
    let Some(map) = map(MapType::PerfEventArray, 4, 4, 1) else { return };
    let buffer =
        PerfBufferOptions::new().pages(PAGES).cpus([(0, 0)]).open(&map, |_cpu, _: &[u8]| ()).unwrap();
    let mut buffer = Some(buffer);
    sys::in_child(|| {
        let mut memory: Vec<_> = (0..64).map(|_| vec![1u8; PAGES * page_size()]).collect();
        drop(buffer.take());
        for bytes in &mut memory {
            bytes.fill(2);
        }
    });
}

#[test]
fn invalid_options_are_errors() {
    let Some(map) = events() else { return };
    let pages = PerfBufferOptions::new().pages(3).open(&map, |_cpu, _: &[u8]| ()).unwrap_err();
    assert_eq!(pages, RingError::Pages { map: "test_map".into(), pages: 3 });
    let cpu = PerfBufferOptions::new().cpus([(u32::MAX, 0)]).open(&map, |_cpu, _: &[u8]| ()).unwrap_err();
    assert!(cpu.to_string().starts_with("map test_map: cannot open a perf event: EINVAL"), "{cpu}");
    let key = PerfBufferOptions::new().cpus([(0, u32::MAX)]).open(&map, |_cpu, _: &[u8]| ()).unwrap_err();
    assert!(key.to_string().contains("cannot put a processor's ring into it: E2BIG"), "{key}");
    let Some(array) = crate::live_test_support::map(MapType::Array, 4, 4, 1) else { return };
    PerfBuffer::new(&array, |_cpu, _: &[u8]| ()).unwrap_err();
}
