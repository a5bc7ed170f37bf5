//! Writing user ring buffers that programs drain.
#![cfg(test)]

use crate::{
    live_test_support::{add, call, exit, filter_with, insn, load_map, mov, or_skip, ring, run, set},
    ring::{RingError, UserRingBuffer},
    sys::{self, BtfLoad, MapFd, Pod as _, ProgLoad, page_size},
};
use core::time::Duration;
use core_relo::{Endian, btf::Builder, insn::Insn};
use core_relo_object::object::MapType;
use std::{
    os::fd::{AsFd as _, OwnedFd},
    thread,
    time::Instant,
};

/// A program that drains the ring and returns how many samples there were, and the array with the sum of
/// their first eight bytes.
fn drainer(map: &MapFd) -> Option<(OwnedFd, MapFd)> {
    let sum = crate::live_test_support::map(MapType::Array, 4, 8, 1)?;
    let mut types = Builder::new(Endian::native());
    let int = types.int("int", 4, 1);
    let main_proto = types.func_proto(int, &[]);
    let callback_proto = types.func_proto(int, &[]);
    let main = types.func("drain", main_proto, 1);
    let callback = types.func("on_sample", callback_proto, 0);
    let types = types.finish();
    let btf = or_skip("load BTF", sys::btf_load(&BtfLoad { btf: &types, token: None }, &mut []))?;

    let mut code: Vec<Insn> = load_map(1, map).into();
    // r2 = on_sample; r3 = r4 = 0
    code.extend([insn(0x18, 2, 4, 0, 5), Insn::default(), set(3, 0), set(4, 0), call(209), exit()]);
    let start = code.len();
    // on_sample(r1 = dynptr): bpf_dynptr_read(r10 - 8, 8, r1, 0, 0)
    code.extend([mov(3, 1), mov(1, 10), add(1, -8), set(2, 8), set(4, 0), set(5, 0), call(201)]);
    // r0 = lookup(sum, 0)
    code.extend([insn(0x62, 10, 0, -12, 0), mov(2, 10), add(2, -12)]);
    code.extend(load_map(1, &sum));
    code.extend([call(1), insn(0x15, 0, 0, 2, 0), insn(0x79, 1, 10, -8, 0), insn(0xdb, 0, 1, 0, 0)]);
    code.extend([set(0, 0), exit()]);
    assert_eq!(start, 8);

    let e = Endian::native();
    let mut functions = Vec::new();
    for v in [0, main.0, 8, callback.0] {
        e.put_u32(&mut functions, v);
    }
    let more = ProgLoad {
        btf: Some(btf.as_fd()),
        func_info: &functions,
        func_info_rec_size: 8,
        ..ProgLoad::default()
    };
    Some((filter_with(&code, &more)?, sum))
}

fn sum(map: &MapFd) -> u64 {
    let mut value = [0; 8];
    map.shape().lookup(0u32.as_bytes(), &mut value, 0).unwrap();
    u64::from_bytes(&value).unwrap()
}

fn user_ring() -> Option<(MapFd, OwnedFd, MapFd)> {
    let map = ring(MapType::UserRingbuf, 1)?;
    let (prog, sum) = drainer(&map)?;
    Some((map, prog, sum))
}

#[test]
fn samples_arrive_unless_discarded_across_the_end_of_the_ring() {
    let Some((map, prog, total)) = user_ring() else { return };
    let ring = UserRingBuffer::new(&map).unwrap();
    let mut expected = 0;
    for round in 0..100u64 {
        for i in 0..3 {
            let mut sample = ring.reserve(200).unwrap();
            assert_eq!(sample.len(), 200);
            sample[..8].copy_from_slice((round * 3 + i).as_bytes());
            sample[8..].fill(0xff);
            if i == 1 {
                sample.discard();
            } else {
                expected += round * 3 + i;
                sample.submit();
            }
        }
        assert_eq!(run(&prog, &[], 1), 2, "round {round}");
    }
    assert_eq!(sum(&total), expected);
}

#[test]
fn samples_are_read_in_order_of_reservation() {
    let Some((map, prog, total)) = user_ring() else { return };
    let ring = UserRingBuffer::new(&map).unwrap();
    let mut samples: Vec<_> = (0..4).map(|_| ring.reserve(8).unwrap()).collect();
    for (sample, i) in samples.iter_mut().zip(1u64..) {
        sample.copy_from_slice(i.as_bytes());
    }
    let first = samples.remove(0);
    samples.into_iter().rev().for_each(crate::ring::Sample::submit);
    assert!(run(&prog, &[], 1) <= 0, "the first one is not submitted");
    assert_eq!(sum(&total), 0);
    first.submit();
    assert_eq!(run(&prog, &[], 1), 4);
    assert_eq!(sum(&total), 10);
}

#[test]
fn a_full_ring_refuses_and_a_blocking_writer_waits() {
    let Some((map, prog, total)) = user_ring() else { return };
    let ring = UserRingBuffer::new(&map).unwrap();
    let mut n = 0u64;
    let full = loop {
        match ring.send(1u64.as_bytes()) {
            Ok(()) => n += 1,
            Err(e) => break e,
        }
    };
    assert_eq!(full, RingError::Full { map: "test_map".into(), len: 8 });
    assert_eq!(n, u64::try_from(page_size() / 16).unwrap());
    let begun = Instant::now();
    ring.reserve_blocking(8, Some(Duration::from_millis(30))).unwrap_err();
    assert!(begun.elapsed() >= Duration::from_millis(30));
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut sample = ring.reserve_blocking(8, Some(Duration::from_secs(30))).unwrap();
            sample.copy_from_slice(1u64.as_bytes());
            sample.submit();
        });
        thread::sleep(Duration::from_millis(20));
        assert_eq!(u64::try_from(run(&prog, &[], 1)).unwrap(), n);
        writer.join().unwrap();
    });
    assert_eq!(run(&prog, &[], 1), 1);
    assert_eq!(sum(&total), n + 1);
}

#[test]
fn threads_share_the_writer() {
    let Some((map, prog, total)) = user_ring() else { return };
    let ring = UserRingBuffer::new(&map).unwrap();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    for i in 1..=1000u64 {
                        let mut sample = ring.reserve_blocking(8, Some(Duration::from_secs(30))).unwrap();
                        sample.copy_from_slice(i.as_bytes());
                        sample.submit();
                    }
                })
            })
            .collect();
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            run(&prog, &[], 1);
        }
    });
    run(&prog, &[], 1);
    assert_eq!(sum(&total), 3 * 500_500);
}

#[test]
fn oversized_samples_and_second_writers_are_errors() {
    let Some(map) = ring(MapType::UserRingbuf, 1) else { return };
    let ring = UserRingBuffer::new(&map).unwrap();
    let size = page_size();
    assert_eq!(
        ring.reserve(size - 7).unwrap_err(),
        RingError::TooLarge { map: "test_map".into(), len: size - 7, size }
    );
    ring.reserve(usize::MAX).unwrap_err();
    let all = ring.reserve(size - 8).unwrap();
    assert_eq!(UserRingBuffer::new(&map).unwrap_err(), RingError::InUse { map: "test_map".into() });
    core::mem::forget(all);
    ring.reserve(0).unwrap_err();
    drop(ring);
    UserRingBuffer::new(&map).unwrap();
    let Some(other) = crate::live_test_support::ring(MapType::Ringbuf, 1) else { return };
    UserRingBuffer::new(&other).unwrap_err();
}
