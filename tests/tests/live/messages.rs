//! What programs send and are sent: ring buffers, perf buffers, user ring buffers.

use super::harness::{Need, hits, live, load, load_with, run};
use core_relo_loader::{load::Loaded, ring::PerfBufferOptions};
use std::{ops::ControlFlow, time::Duration};

/// `number` and `tag` of a record.
fn record(bytes: &[u8]) -> (u64, u64) {
    let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
    (word(0), word(8))
}

fn tagged(name: &str) -> Loaded {
    let loaded = load(name);
    loaded.set_global("tag", &0xfeed_u64).unwrap();
    loaded
}

const PATIENCE: Option<Duration> = Some(Duration::from_secs(5));

#[test]
fn a_ring_buffer() {
    let Some(_live) = live("messages::a_ring_buffer", &[]) else { return };
    let loaded = tagged("ringbuf");
    let mut got = Vec::new();
    let mut ring = loaded.ring_buffer("events", |bytes: &[u8]| got.push(record(bytes))).unwrap();
    for program in ["reserve", "output", "discard", "reserve"] {
        run(&loaded, program);
    }
    assert_eq!(ring.poll(PATIENCE).unwrap().records, 3);
    assert_eq!(ring.consume().unwrap().records, 0);
    drop(ring);
    assert_eq!(got, [(0, 0xfeed), (1, 0xfeed), (2, 0xfeed)]);
}

#[test]
fn a_ring_buffer_that_is_full() {
    let Some(_live) = live("messages::a_ring_buffer_that_is_full", &[]) else { return };
    let loaded = load_with("ringbuf", |loader| loader.map("events").max_entries = Some(4096));
    // 24 bytes with its header.
    for _ in 0..200 {
        run(&loaded, "reserve");
    }
    let dropped = loaded.global::<u64>("dropped").unwrap();
    assert_eq!((hits(&loaded), dropped), (170, 30));
    let mut seen = 0u64;
    let stop_at = |bytes: &[u8]| {
        seen = record(bytes).0;
        if seen == 9 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut ring = loaded.ring_buffer("events", stop_at).unwrap();
    let first = ring.consume().unwrap();
    assert_eq!((first.records, first.stopped), (10, true));
    assert_eq!(ring.consume().unwrap().records, 160);
    drop(ring);
    assert_eq!(seen, 169);
}

#[test]
fn a_perf_buffer() {
    let Some(_live) = live("messages::a_perf_buffer", &[]) else { return };
    let loaded = tagged("perf_array");
    let mut got = Vec::new();
    let mut buffer = loaded.perf_buffer("events", |_cpu, bytes: &[u8]| got.push(record(bytes))).unwrap();
    for _ in 0..3 {
        run(&loaded, "output");
    }
    assert!(buffer.poll(PATIENCE).unwrap().records > 0);
    buffer.consume().unwrap();
    assert_eq!(buffer.lost(), 0);
    drop(buffer);
    // The order holds on one processor alone.
    got.sort_unstable();
    assert_eq!(got, [(0, 0xfeed), (1, 0xfeed), (2, 0xfeed)]);
}

#[test]
fn what_a_perf_buffer_loses_is_counted() {
    let Some(_live) = live("messages::what_a_perf_buffer_loses_is_counted", &[]) else { return };
    let loaded = tagged("perf_array");
    // The kernel tells of what was lost when it next can write to the same processor's ring.
    let mut first = rustix::thread::CpuSet::new();
    first.set(0);
    rustix::thread::sched_setaffinity(None, &first).unwrap();
    let (mut got, mut lost) = (0u64, 0u64);
    let options = PerfBufferOptions::new().pages(1).on_lost(|_cpu, number| lost += number);
    let mut buffer =
        options.open(loaded.map_handle("events").unwrap(), |_cpu, _bytes: &[u8]| got += 1).unwrap();
    // A page holds far fewer.
    for _ in 0..1000 {
        run(&loaded, "output");
    }
    buffer.consume().unwrap();
    run(&loaded, "output");
    buffer.consume().unwrap();
    let in_all = buffer.lost();
    drop(buffer);
    let dropped = loaded.global::<u64>("dropped").unwrap();
    assert_eq!((got, got + dropped, lost, in_all), (hits(&loaded), 1001, dropped, dropped));
    assert!(dropped > 500, "{dropped}");
}

#[test]
fn requests_to_a_program() {
    let needs = [Need::Enumerator("BPF_MAP_TYPE_USER_RINGBUF")];
    let Some(_live) = live("messages::requests_to_a_program", &needs) else { return };
    let loaded = load("user_ringbuf");
    let requests = loaded.user_ring_buffer("requests").unwrap();
    for value in [5u64, 6, 7] {
        let mut sample = requests.reserve(8).unwrap();
        sample.copy_from_slice(&value.to_ne_bytes());
        sample.submit();
    }
    requests.reserve(8).unwrap().discard();
    requests.send(&24u64.to_ne_bytes()).unwrap();
    run(&loaded, "drain");
    assert_eq!((hits(&loaded), loaded.global::<u64>("sum").unwrap()), (4, 42));
}
