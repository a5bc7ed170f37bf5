//! Messages between programs and user space: ring buffers, perf buffers, user ring buffers.

use super::harness::{Need, hits, live, load, load_with, run};
use core_relo_loader::{load::Loaded, ring::PerfBufferOptions};
use std::{ops::ControlFlow, time::Duration};

/// Returns the fields `number` and `tag` of a record.
fn parse_record(bytes: &[u8]) -> (u64, u64) {
    let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
    (word(0), word(8))
}

/// Loads an object and sets the tag of its records.
fn load_with_tag(name: &str) -> Loaded {
    let loaded = load(name);
    loaded.set_global("tag", &0xfeed_u64).unwrap();
    loaded
}

const PATIENCE: Option<Duration> = Some(Duration::from_secs(5));

#[test]
fn a_ring_buffer_delivers_records_in_order() {
    let Some(_live) = live("messages::a_ring_buffer_delivers_records_in_order", &[]) else { return };
    let loaded = load_with_tag("ringbuf");
    let mut received = Vec::new();
    let mut ring = loaded.ring_buffer("events", |bytes: &[u8]| received.push(parse_record(bytes))).unwrap();
    for program in ["reserve", "output", "discard", "reserve"] {
        run(&loaded, program);
    }
    assert_eq!(ring.poll(PATIENCE).unwrap().records, 3);
    assert_eq!(ring.consume().unwrap().records, 0);
    drop(ring);
    assert_eq!(received, [(0, 0xfeed), (1, 0xfeed), (2, 0xfeed)]);
}

#[test]
fn a_full_ring_buffer_drops_records() {
    let Some(_live) = live("messages::a_full_ring_buffer_drops_records", &[]) else { return };
    let loaded = load_with("ringbuf", |loader| loader.map_mut("events").max_entries = Some(4096));
    // The loader rounds the size up to a page. A record takes 24 bytes with its header.
    let capacity = u64::try_from(rustix::param::page_size()).unwrap() / 24;
    for _ in 0..capacity + 30 {
        run(&loaded, "reserve");
    }
    let dropped = loaded.global::<u64>("dropped").unwrap();
    assert_eq!((hits(&loaded), dropped), (capacity, 30));
    let mut seen = 0u64;
    let stop_at = |bytes: &[u8]| {
        seen = parse_record(bytes).0;
        if seen == 9 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut ring = loaded.ring_buffer("events", stop_at).unwrap();
    let first = ring.consume().unwrap();
    assert_eq!((first.records, first.stopped), (10, true));
    assert_eq!(u64::try_from(ring.consume().unwrap().records).unwrap(), capacity - 10);
    drop(ring);
    assert_eq!(seen, capacity - 1);
}

#[test]
fn a_perf_buffer_delivers_records() {
    let Some(_live) = live("messages::a_perf_buffer_delivers_records", &[]) else { return };
    let loaded = load_with_tag("perf_array");
    let mut received = Vec::new();
    let mut buffer =
        loaded.perf_buffer("events", |_cpu, bytes: &[u8]| received.push(parse_record(bytes))).unwrap();
    for _ in 0..3 {
        run(&loaded, "output");
    }
    assert!(buffer.poll(PATIENCE).unwrap().records > 0);
    buffer.consume().unwrap();
    assert_eq!(buffer.lost(), 0);
    drop(buffer);
    // The buffer keeps the order per CPU only.
    received.sort_unstable();
    assert_eq!(received, [(0, 0xfeed), (1, 0xfeed), (2, 0xfeed)]);
}

#[test]
fn lost_perf_records_are_counted() {
    let Some(_live) = live("messages::lost_perf_records_are_counted", &[]) else { return };
    let loaded = load_with_tag("perf_array");
    // The kernel reports lost records with the next successful write to the ring of the same CPU.
    let mut first = rustix::thread::CpuSet::new();
    first.set(0);
    rustix::thread::sched_setaffinity(None, &first).unwrap();
    let (mut got, mut lost) = (0u64, 0u64);
    let options = PerfBufferOptions::new().pages(1).on_lost(|_cpu, number| lost += number);
    let mut buffer =
        options.open(loaded.map_handle("events").unwrap(), |_cpu, _bytes: &[u8]| got += 1).unwrap();
    // One page has room for far fewer records.
    let records = u64::try_from(rustix::param::page_size()).unwrap() / 4;
    for _ in 0..records {
        run(&loaded, "output");
    }
    buffer.consume().unwrap();
    run(&loaded, "output");
    buffer.consume().unwrap();
    let total_lost = buffer.lost();
    drop(buffer);
    let dropped = loaded.global::<u64>("dropped").unwrap();
    assert_eq!((got, got + dropped, lost, total_lost), (hits(&loaded), records + 1, dropped, dropped));
    assert!(dropped > records / 2, "{dropped}");
}

#[test]
fn a_user_ring_buffer_sends_records_to_a_program() {
    let needs = [Need::Jit, Need::Enumerator("BPF_MAP_TYPE_USER_RINGBUF")];
    let Some(_live) = live("messages::a_user_ring_buffer_sends_records_to_a_program", &needs) else { return };
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
