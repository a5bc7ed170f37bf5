//! Iteration over maps during concurrent writes.
#![cfg(test)]

use crate::{
    live_test_support::{map, map_with},
    maps::{Flags, HashMap, LpmKey, LpmTrie, MapError, Table, iter::Keys, kinds},
    sys::{MapCreate, Pod},
};
use core::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use core_relo_object::object::MapType;
use std::{thread, time::Instant};

/// Keys below this number are never removed. Keys above are inserted and removed.
const STABLE: u32 = 500;

/// Runs `walk` repeatedly while two threads insert and remove entries.
fn while_others_write(put: impl Fn(u32) + Sync, take: impl Fn(u32) + Sync, mut walk: impl FnMut()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for part in 0..2 {
            let (put, take, done) = (&put, &take, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let mine = (STABLE..STABLE * 3).filter(|key| key % 2 == part);
                    mine.clone().for_each(put);
                    mine.for_each(take);
                }
            });
        }
        let end = Instant::now() + Duration::from_millis(500);
        let mut walks = 0;
        while Instant::now() < end || walks < 3 {
            walk();
            walks += 1;
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Checks that all stable keys are present and that no key occurs twice.
fn check_keys(mut keys: Vec<u32>) {
    let total = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), total, "no key occurs twice");
    assert_eq!(keys.iter().filter(|key| **key < STABLE).count(), usize::try_from(STABLE).unwrap());
}

fn fill<K: Pod, T: kinds_value::Single>(map: &Table<K, u32, T>, key: impl Fn(u32) -> K) {
    for i in 0..STABLE {
        map.insert(&key(i), &i, Flags::ANY).unwrap();
    }
}

/// Map types with one value per key.
mod kinds_value {
    use crate::maps::MapKind;

    pub(super) trait Single: MapKind<u32, Value = u32, Input = u32> {}

    impl<T: MapKind<u32, Value = u32, Input = u32>> Single for T {}
}

#[test]
fn iterating_over_a_hash_map_during_writes_returns_each_key_once() {
    let Some(map) = map(MapType::Hash, 4, 4, STABLE * 4) else { return };
    let map = HashMap::<u32, u32>::new(map).unwrap();
    fill::<_, kinds::Hash>(&map, |i| i);
    let put = |i| map.insert(&i, &i, Flags::ANY).unwrap();
    let take = |i| assert!(map.remove(&i).unwrap());
    while_others_write(put, take, || check_keys(map.iter().map(|entry| entry.unwrap().0).collect()));
    let mut restarts = 0;
    while_others_write(put, take, || {
        let keys: Result<Vec<_>, _> =
            Keys::new(&map.raw).map(|key| key.map(|key| u32::from_bytes(&key).unwrap())).collect();
        match keys {
            Ok(keys) => check_keys(keys),
            Err(MapError::Restarts { .. }) => restarts += 1,
            Err(e) => panic!("{e}"),
        }
    });
    println!("{restarts} iterations restarted too often");
}

#[test]
fn iterating_over_a_trie_during_writes_returns_each_key_once() {
    let shape = MapCreate {
        key_size: 8,
        value_size: 4,
        max_entries: STABLE * 4,
        map_flags: 1,
        ..MapCreate::default()
    };
    let Some(map) = map_with(MapType::LpmTrie, &shape) else { return };
    let map = LpmTrie::<u32, u32>::new(map).unwrap();
    fill::<_, kinds::Lpm>(&map, |i| LpmKey::new(32, i));
    let put = |i| map.insert(&LpmKey::new(32, i), &i, Flags::ANY).unwrap();
    let take = |i| assert!(map.remove(&LpmKey::new(32, i)).unwrap());
    let mut restarts = 0;
    while_others_write(put, take, || {
        let keys: Result<Vec<_>, _> = map.iter().map(|entry| entry.map(|(key, _)| key.data())).collect();
        match keys {
            Ok(keys) => check_keys(keys),
            Err(MapError::Restarts { .. }) => restarts += 1,
            Err(e) => panic!("{e}"),
        }
    });
    println!("{restarts} iterations restarted too often");
}

#[test]
fn draining_during_writes_loses_and_doubles_no_entry() {
    let Some(map) = map(MapType::Hash, 4, 4, 20_000) else { return };
    let map = HashMap::<u32, u32>::new(map).unwrap();
    let mut keys = thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|part| {
                let map = &map;
                scope.spawn(move || {
                    (0..20_000)
                        .filter(|i| i % 2 == part)
                        .for_each(|i| map.insert(&i, &i, Flags::ANY).unwrap());
                })
            })
            .collect();
        let mut keys = Vec::new();
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            keys.extend(map.drain().unwrap().into_iter().map(|(key, _)| key));
        }
        keys.extend(map.drain().unwrap().into_iter().map(|(key, _)| key));
        keys
    });
    keys.sort_unstable();
    assert!(keys.into_iter().eq(0..20_000));
}
