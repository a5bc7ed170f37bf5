//! Maps in this process's memory.
#![cfg(test)]

use crate::{
    live_test_support::{call, exit, filter, insn, load_map, map, map_with, mov, run, set},
    maps::{Arena, Array, MapError, MappedMap},
    sys::{self, MapCreate, MapFd, page_size},
};
use core_relo_object::{map_flags, object::MapType};
use std::{
    os::fd::{AsFd as _, AsRawFd as _},
    thread,
};

fn globals(value_size: u32, max_entries: u32) -> Option<MapFd> {
    let shape = MapCreate {
        key_size: 4,
        value_size,
        max_entries,
        map_flags: map_flags::MMAPABLE,
        ..MapCreate::default()
    };
    map_with(MapType::Array, &shape)
}

#[test]
fn a_mapped_array_is_the_memory_of_the_program() {
    let Some(map) = globals(20, 1) else { return };
    // lock *(u64 *)(&value[0] + 8) += 1, by the address of the value as global variables are reached
    let mut code = vec![insn(0x18, 1, 2, 0, map.as_fd().as_raw_fd()), insn(0, 0, 0, 0, 8)];
    code.extend([set(2, 1), insn(0xdb, 1, 2, 0, 0), insn(0x79, 0, 1, 0, 0), exit()]);
    let Some(prog) = filter(&code) else { return };
    let memory = MappedMap::open(&map).unwrap();
    assert!(memory.is_writable());
    memory.write(8, &41u64).unwrap();
    assert_eq!(run(&prog, &[], 1), 42);
    assert_eq!(memory.read::<u64>(8), Ok(42));
    thread::scope(|scope| {
        let runs = scope.spawn(|| run(&prog, &[], 100_000));
        let mut last = 0;
        while !runs.is_finished() {
            let now: u64 = memory.read(8).unwrap();
            assert!(now >= last);
            last = now;
        }
    });
    assert_eq!(memory.read::<u64>(8), Ok(100_042));
    memory.write(3, b"bytes").unwrap();
    let mut bytes = [0; 20];
    memory.read_bytes(0, &mut bytes).unwrap();
    assert_eq!(&bytes[..8], b"\0\0\0bytes");
    let array = Array::<[u8; 20]>::open(&map).unwrap();
    assert_eq!(array.get(0), Ok(Some(bytes)));
}

#[test]
fn accesses_beyond_the_end_are_errors() {
    let Some(map) = globals(20, 3) else { return };
    let memory = MappedMap::new(map).unwrap();
    assert_eq!((memory.len(), memory.offset_of(2)), (72, 48));
    memory.write(64, &1u64).unwrap();
    assert_eq!(
        memory.write(65, &1u64),
        Err(MapError::Outside { map: "test_map".into(), offset: 65, len: 8, size: 72 })
    );
    memory.read::<u8>(72).unwrap_err();
    memory.read::<u8>(usize::MAX).unwrap_err();
    memory.read_bytes(memory.offset_of(u32::MAX), &mut [0; 100]).unwrap_err();
}

#[test]
fn frozen_globals_are_read_only_and_mapped_ones_cannot_be_frozen() {
    let Some(map) = globals(8, 1) else { return };
    let writable = MappedMap::open(&map).unwrap();
    writable.write(0, &7u64).unwrap();
    assert_eq!(sys::map_freeze(&map).unwrap_err(), sys::Errno::EBUSY);
    drop(writable);
    sys::map_freeze(&map).unwrap();
    let memory = MappedMap::new(map).unwrap();
    assert!(!memory.is_writable());
    assert_eq!(memory.read::<u64>(0), Ok(7));
    assert!(matches!(memory.write(0, &8u64), Err(MapError::Frozen { .. })));
}

#[test]
fn an_array_without_mmapable_cannot_be_mapped() {
    let Some(map) = map(MapType::Array, 4, 8, 1) else { return };
    let error = MappedMap::new(map).unwrap_err();
    assert_eq!(
        error.to_string(),
        "map test_map: the map was created without BPF_F_MMAPABLE, so it cannot be mapped"
    );
}

fn arena(map_extra: u64) -> Option<MapFd> {
    let shape =
        MapCreate { max_entries: 4, map_flags: map_flags::MMAPABLE, map_extra, ..MapCreate::default() };
    map_with(MapType::Arena, &shape)
}

#[test]
fn an_arena_is_mapped_at_the_requested_address() {
    let Some(anywhere) = arena(0) else { return };
    let memory = Arena::new(anywhere).unwrap();
    assert_eq!(memory.len(), 4 * page_size());
    memory.write(page_size() + 8, &7u64).unwrap();
    assert_eq!(memory.read::<u64>(page_size() + 8), Ok(7));
    memory.write(4 * page_size() - 7, &7u64).unwrap_err();
    let address = memory.address();
    assert_eq!(memory.offset_of(address + 9), Some(9));
    assert_eq!((memory.offset_of(address - 1), memory.offset_of(address + (1 << 32))), (None, None));

    // Now that the address is taken, another arena cannot have it.
    let Some(same) = arena(address) else { return };
    let error = Arena::open(&same).unwrap_err();
    assert_eq!(error.to_string(), "map test_map: something else is mapped at the address in its map_extra");
    drop(memory);
    let memory = Arena::new(same).unwrap();
    assert_eq!(memory.address(), address);
    assert_eq!(memory.read::<u64>(page_size() + 8), Ok(0), "it is another arena");
}

#[test]
fn writes_of_programs_are_visible_in_a_mapped_array() {
    let Some(map) = globals(8, 2) else { return };
    // *(u64 *)lookup(map, 1) = 5
    let mut code = vec![insn(0x62, 10, 0, -4, 1), mov(2, 10), crate::live_test_support::add(2, -4)];
    code.extend(load_map(1, &map));
    code.extend([call(1), insn(0x15, 0, 0, 2, 0), set(1, 5), insn(0x7b, 0, 1, 0, 0), set(0, 0), exit()]);
    let Some(prog) = filter(&code) else { return };
    let memory = MappedMap::new(map).unwrap();
    run(&prog, &[], 1);
    assert_eq!(memory.read::<u64>(memory.offset_of(1)), Ok(5));
}
