//! Maps from keys to values.
#![cfg(test)]

use crate::{
    live_test_support::{map, map_with},
    maps::{Entries, Flags, HashMap, LpmKey, LpmTrie, MapError, PerCpuHashMap, iter::Keys},
    sys::{self, Errno, MapCreate, MapFd, Pod as _, possible_cpus},
};
use alloc::collections::BTreeMap;
use core_relo_object::{map_flags, object::MapType};
use std::os::fd::AsFd as _;

fn hash(max_entries: u32) -> Option<HashMap<u32, u64>> {
    map(MapType::Hash, 4, 8, max_entries).map(|map| HashMap::new(map).unwrap())
}

fn entries_of(map: &HashMap<u32, u64>) -> BTreeMap<u32, u64> {
    map.iter().map(Result::unwrap).collect()
}

#[test]
fn entries_are_inserted_replaced_and_removed() {
    let Some(map) = hash(4) else { return };
    assert_eq!(map.get(&1), Ok(None));
    map.insert(&1, &10, Flags::ANY).unwrap();
    map.insert(&1, &11, Flags::EXIST).unwrap();
    assert_eq!(map.get(&1), Ok(Some(11)));
    map.insert(&2, &20, Flags::NO_EXIST).unwrap();
    assert_eq!(map.contains(&2), Ok(true));
    assert_eq!(map.take(&2), Ok(Some(20)));
    assert_eq!((map.take(&2), map.remove(&2)), (Ok(None), Ok(false)));
    assert_eq!(map.remove(&1), Ok(true));
    assert_eq!(entries_of(&map), BTreeMap::new());
    assert_eq!(map.max_entries(), 4);
}

#[test]
fn errors_of_writes_have_hints() {
    let Some(map) = hash(1) else { return };
    map.insert(&1, &10, Flags::ANY).unwrap();
    let text = |key, flags| map.insert(&key, &0, flags).unwrap_err().to_string();
    assert_eq!(
        text(2, Flags::ANY),
        "map test_map: cannot write an element: E2BIG: Argument list too long (the map is full, or the index is beyond max_entries)"
    );
    assert!(text(1, Flags::NO_EXIST).contains("EEXIST: File exists (the element exists already"));
    assert!(text(2, Flags::EXIST).contains("ENOENT: No such file or directory (there is no such element"));
    assert!(text(1, Flags(77)).contains("EINVAL"));
}

#[test]
fn types_and_sizes_are_checked() {
    let Some(map) = map(MapType::Hash, 4, 8, 1) else { return };
    let error = HashMap::<u64, u64>::open(&map).unwrap_err();
    assert_eq!(error, MapError::Size { map: "test_map".into(), part: "key", expected: 8, found: 4 });
    let error = HashMap::<[u8; 4], [u32; 3]>::open(&map).unwrap_err();
    assert_eq!(error.to_string(), "map test_map: wrong value size: 8 bytes, expected 12");
    let error = PerCpuHashMap::<u32, u64>::open(&map).unwrap_err();
    assert_eq!(
        error.to_string(),
        "map test_map: wrong map type: BPF_MAP_TYPE_HASH, expected BPF_MAP_TYPE_PERCPU_HASH or BPF_MAP_TYPE_LRU_PERCPU_HASH"
    );
    HashMap::<[u8; 4], [u32; 2]>::new(map).unwrap();
}

#[test]
fn errors_name_frozen_and_read_only_maps() {
    let Some(map) = hash(2) else { return };
    map.insert(&1, &10, Flags::ANY).unwrap();
    sys::map_freeze(&map).unwrap();
    let error = map.insert(&1, &11, Flags::ANY).unwrap_err();
    assert_eq!(
        error.to_string(),
        "map test_map: cannot write an element: the map is frozen, as .rodata is after the load"
    );
    assert_eq!(map.insert_all(&[(1, 11)], Flags::ANY).unwrap_err(), error);
    assert_eq!(map.get(&1), Ok(Some(10)));

    for (flags, access) in [(1 << 3, "read-only"), (1 << 4, "write-only")] {
        let shape = MapCreate {
            key_size: 4,
            value_size: 8,
            max_entries: 2,
            map_flags: flags,
            ..MapCreate::default()
        };
        let Some(map) = map_with(MapType::Hash, &shape) else { return };
        let map = HashMap::<u32, u64>::new(map).unwrap();
        let refused = if access == "read-only" { map.remove(&1).map(drop) } else { map.get(&1).map(drop) };
        let text = refused.unwrap_err().to_string();
        assert!(text.ends_with(&format!("the map was opened {access}")), "{text}");
        if access == "write-only" {
            map.insert(&1, &1, Flags::ANY).unwrap();
            map.iter().next().unwrap().unwrap_err();
        } else {
            assert_eq!(map.iter().count(), 0);
            assert!(map.drain().unwrap_err().entries.is_empty());
        }
    }
}

#[test]
fn batches_of_any_size_are_written_read_and_removed() {
    // More than one batch, and more than one call.
    let Some(map) = hash(10_000) else { return };
    let entries: Vec<_> = (0..10_000u32).map(|i| (i, u64::from(i) * 3)).collect();
    map.insert_all(&entries, Flags::ANY).unwrap();
    assert_eq!(entries_of(&map), entries.iter().copied().collect());
    assert_eq!(map.iter().count(), 10_000);
    let own = MapFd::new(map.as_fd().try_clone_to_owned().unwrap()).unwrap();
    let raw = Entries::new(own).unwrap();
    let read = |(key, value): (Vec<u8>, Vec<u8>)| (u32::from_bytes(&key), u64::from_bytes(&value));
    let bytes: BTreeMap<_, _> = raw.iter().map(|entry| read(entry.unwrap())).collect();
    assert_eq!(bytes, entries.iter().map(|(key, value)| (Some(*key), Some(*value))).collect());
    let odd: Vec<_> = (0..20_000).step_by(2).map(|i| i + 1).collect();
    assert_eq!(map.remove_all(&odd), Ok(5000), "5000 of the keys exist");
    assert_eq!(map.remove_all(&[]), Ok(0));
    let mut drained = map.drain().unwrap();
    drained.sort_unstable();
    assert_eq!(drained, entries.into_iter().step_by(2).collect::<Vec<_>>());
    assert_eq!((map.iter().count(), map.drain()), (0, Ok(vec![])));
    map.insert_all(&[(1, 1), (2, 2)], Flags::NO_EXIST).unwrap();
    map.insert_all(&[(3, 1), (2, 2)], Flags::NO_EXIST).unwrap_err();
    assert_eq!(entries_of(&map), [(1, 1), (2, 2), (3, 1)].into());
}

#[test]
fn a_batch_that_does_not_fit_is_an_error() {
    let Some(map) = hash(3) else { return };
    let entries: Vec<_> = (0..5u32).map(|i| (i, 0)).collect();
    let error = map.insert_all(&entries, Flags::ANY).unwrap_err();
    assert!(matches!(error, MapError::Kernel { errno: Errno(libc::E2BIG), .. }), "{error}");
    assert_eq!(map.iter().count(), 3);
}

#[test]
fn a_full_lru_map_drops_the_least_recently_used_entries() {
    let Some(map) = map(MapType::LruHash, 4, 8, 16) else { return };
    let map = HashMap::<u32, u64>::new(map).unwrap();
    for i in 0..1000 {
        map.insert(&i, &1, Flags::ANY).unwrap();
    }
    let n = map.iter().map(Result::unwrap).count();
    assert!((1..=16).contains(&n), "{n}");
}

#[test]
fn resizable_hash_maps_support_all_operations() {
    let shape =
        MapCreate { key_size: 4, value_size: 8, max_entries: 1000, map_flags: 1, ..MapCreate::default() };
    let Some(map) = map_with(MapType::Rhash, &shape) else { return };
    let map = HashMap::<u32, u64>::new(map).unwrap();
    let entries: Vec<_> = (0..1000u32).map(|i| (i, 1)).collect();
    map.insert_all(&entries, Flags::ANY).unwrap();
    assert_eq!(entries_of(&map), entries.iter().copied().collect());
    assert_eq!(map.remove_all(&[1, 2, 5000]), Ok(2));
    assert_eq!((map.take(&3), map.take(&3)), (Ok(Some(1)), Ok(None)));
    assert_eq!((map.drain().unwrap().len(), map.iter().count()), (997, 0));
}

#[test]
fn per_cpu_hash_maps_have_a_value_for_each_cpu() {
    let cpus = usize::try_from(possible_cpus().unwrap()).unwrap();
    for (map_type, size) in [(MapType::PercpuHash, 12), (MapType::LruPercpuHash, 12)] {
        let Some(map) = map(map_type, 4, size, 100) else { return };
        let map = PerCpuHashMap::<u32, [u32; 3]>::new(map).unwrap();
        let values: Vec<_> = (0..cpus).map(|cpu| [1, 2, u32::try_from(cpu).unwrap()]).collect();
        map.insert(&7, &values, Flags::ANY).unwrap();
        assert_eq!(map.get(&7), Ok(Some(values.clone())));
        assert_eq!(map.iter().collect::<Vec<_>>(), [Ok((7, values.clone()))]);
        map.insert_all(&[(8, values.clone())], Flags::ANY).unwrap();
        assert_eq!(map.take(&8), Ok(Some(values.clone())));
        assert_eq!(map.drain(), Ok(vec![(7, values)]));
        assert_eq!(
            map.insert(&7, &[], Flags::ANY),
            Err(MapError::Cpus { map: "test_map".into(), expected: cpus, found: 0 })
        );
    }
}

fn trie(max_entries: u32) -> Option<MapFd> {
    map_with(
        MapType::LpmTrie,
        &MapCreate {
            key_size: 8,
            value_size: 4,
            max_entries,
            map_flags: map_flags::NO_PREALLOC,
            ..MapCreate::default()
        },
    )
}

#[test]
fn a_trie_returns_the_value_of_the_longest_prefix() {
    let Some(map) = trie(100) else { return };
    let routes = LpmTrie::<[u8; 4], u32>::new(map).unwrap();
    routes.insert(&LpmKey::new(8, [10, 0, 0, 0]), &8, Flags::ANY).unwrap();
    routes.insert(&LpmKey::new(24, [10, 1, 2, 0]), &24, Flags::ANY).unwrap();
    let find = |address| routes.get(&LpmKey::new(32, address)).unwrap();
    assert_eq!((find([10, 9, 9, 9]), find([10, 1, 2, 3]), find([11, 0, 0, 0])), (Some(8), Some(24), None));
    let mut keys: Vec<_> = routes.iter().map(|e| e.unwrap().0.prefix_len()).collect();
    keys.sort_unstable();
    assert_eq!(keys, [8, 24]);
    assert_eq!(routes.remove_all(&[LpmKey::new(24, [10, 1, 2, 0]), LpmKey::new(9, [0; 4])]), Ok(1));
    assert_eq!(find([10, 1, 2, 3]), Some(8));
    assert_eq!(routes.drain(), Ok(vec![(LpmKey::new(8, [10, 0, 0, 0]), 8)]));
    assert!(routes.insert(&LpmKey::new(33, [0; 4]), &0, Flags::ANY).is_err(), "33 bits");
}

#[test]
fn iterating_by_key_returns_each_key_once() {
    let Some(map) = hash(1000) else { return };
    let entries: Vec<_> = (0..1000u32).map(|i| (i, 1)).collect();
    map.insert_all(&entries, Flags::ANY).unwrap();
    let keys: Vec<_> = Keys::new(&map.raw).map(Result::unwrap).collect();
    assert_eq!(keys.len(), 1000);
    // Removing the last key sends the iteration back to the first key.
    let mut n = 0;
    for key in Keys::new(&map.raw) {
        assert!(map.raw.remove(&key.unwrap()).unwrap());
        n += 1;
    }
    assert_eq!((n, map.iter().count()), (1000, 0));
}
