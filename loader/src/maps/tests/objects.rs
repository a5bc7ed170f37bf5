//! Maps of kernel objects, and local storage.
#![cfg(test)]

use crate::{
    live_test_support::{call, exit, filter, load_map, map, map_with, or_skip, program, run, set},
    maps::{
        ArrayOfMaps, CgroupArray, CgrpStorage, CpuMap, DevMap, DevMapHash, Flags, HashMap, HashOfMaps,
        InodeStorage, MapError, ProgArray, SkStorage, SockHash, SockMap, StackTraces, TaskStorage, XskMap,
    },
    sys::{self, BtfLoad, MapCreate, MapFd, ProgLoad, TestRun},
};
use core_relo::{Endian, btf::Builder};
use core_relo_object::object::{MapType, ProgramType};
use core_relo_test_support::skip;
use std::{
    fs::File,
    net::{TcpListener, TcpStream, UdpSocket},
    os::fd::AsFd as _,
};

/// Creates a map of maps and a map that fits its elements.
fn maps_in(map_type: MapType) -> Option<(MapFd, MapFd)> {
    let inner = map(MapType::Hash, 4, 8, 10)?;
    let shape = MapCreate {
        key_size: 4,
        value_size: 4,
        max_entries: 4,
        inner: Some(inner.as_fd()),
        ..MapCreate::default()
    };
    Some((map_with(map_type, &shape)?, inner))
}

#[test]
fn maps_of_maps_hold_maps_by_descriptor() {
    let Some((outer, inner)) = maps_in(MapType::ArrayOfMaps) else { return };
    let outer = ArrayOfMaps::new(outer).unwrap();
    assert_eq!(outer.id(1), Ok(None));
    outer.set(&1, &inner).unwrap();
    assert_eq!(outer.id(1), Ok(Some(sys::MapInfo::query(&inner).unwrap().id)));
    let inside = HashMap::<u32, u64>::new(outer.get(1).unwrap().unwrap()).unwrap();
    inside.insert(&1, &2, Flags::ANY).unwrap();
    assert_eq!(HashMap::<u32, u64>::new(inner).unwrap().get(&1), Ok(Some(2)));
    assert_eq!(outer.remove(&1), Ok(true));
    assert!(outer.get(1).unwrap().is_none());
    assert_eq!((outer.keys().count(), outer.max_entries()), (4, 4));
    let Some(other) = map(MapType::Array, 4, 8, 10) else { return };
    outer.set(&1, &other).unwrap_err();

    let Some((outer, inner)) = maps_in(MapType::HashOfMaps) else { return };
    let outer = HashOfMaps::<u32>::new(outer).unwrap();
    outer.set_with(&77, &inner, Flags::NO_EXIST).unwrap();
    assert_eq!(outer.keys().collect::<Vec<_>>(), [Ok(77)]);
    assert_eq!(outer.id(&77), Ok(Some(sys::MapInfo::query(&inner).unwrap().id)));
    assert!(outer.get(&78).unwrap().is_none());
    assert_eq!((outer.remove(&77), outer.remove(&77)), (Ok(true), Ok(false)));
}

#[test]
fn a_prog_array_holds_the_targets_of_tail_calls() {
    let Some(map) = map(MapType::ProgArray, 4, 4, 3) else { return };
    let Some(callee) = filter(&[set(0, 17), exit()]) else { return };
    let mut code = load_map(2, &map).to_vec();
    code.extend([set(3, 1), call(12), set(0, 99), exit()]);
    let Some(caller) = filter(&code) else { return };
    let progs = ProgArray::new(map).unwrap();
    assert_eq!(run(&caller, &[], 1), 99);
    progs.set(&1, &callee).unwrap();
    assert_eq!(run(&caller, &[], 1), 17);
    assert_eq!(progs.id(1), Ok(Some(sys::ProgramInfo::query(&callee).unwrap().id)));
    assert_eq!((progs.remove(&1), progs.id(1)), (Ok(true), Ok(None)));
    progs.set(&3, &callee).unwrap_err();
    progs.set(&1, File::open("/dev/null").unwrap()).unwrap_err();
}

#[test]
fn socket_maps_hold_sockets_by_descriptor() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let Some(array) = map(MapType::Sockmap, 4, 8, 2) else { return };
    let array = SockMap::new(array).unwrap();
    array.set(&1, &socket).unwrap();
    assert!(array.cookie(1).unwrap().is_some_and(|cookie| cookie != 0));
    assert_eq!(array.cookie(0), Ok(None));
    assert_eq!(array.remove(&1), Ok(true));
    array.set(&1, File::open("/dev/null").unwrap()).unwrap_err();

    let Some(hash) = map(MapType::Sockhash, 8, 4, 2) else { return };
    let hash = SockHash::<u64>::new(hash).unwrap();
    hash.set(&5, &socket).unwrap();
    assert_eq!(hash.keys().collect::<Vec<_>>(), [Ok(5)]);
    assert!(matches!(hash.cookie(&5), Err(MapError::Unfit { .. })));
    assert_eq!(hash.remove(&5), Ok(true));

    let Some(xsk) = map(MapType::Xskmap, 4, 4, 2) else { return };
    let xsk = XskMap::new(xsk).unwrap();
    xsk.set(&0, &socket).unwrap_err();
}

#[test]
fn redirect_maps_hold_interfaces_and_cpus() {
    const LOOPBACK: u32 = 1;
    let Some(array) = map(MapType::Devmap, 4, 8, 4) else { return };
    let array = DevMap::new(array).unwrap();
    array.set(2, LOOPBACK, None, Flags::ANY).unwrap();
    let entry = array.get(2).unwrap().unwrap();
    assert_eq!((entry.ifindex, entry.prog_id), (LOOPBACK, None));
    assert_eq!(array.get(1), Ok(None));
    assert_eq!(array.iter().collect::<Vec<_>>(), [Ok((2, entry))]);
    array.set(1, u32::MAX, None, Flags::ANY).unwrap_err();
    assert_eq!(array.remove(2), Ok(true));
    assert_eq!(array.iter().count(), 0);

    let xdp = ProgLoad { expected_attach_type: 33, ..ProgLoad::default() };
    if let Some(prog) = program(ProgramType::Xdp, &[set(0, 2), exit()], &xdp) {
        array.set(0, LOOPBACK, Some(prog.as_fd()), Flags::ANY).unwrap();
        let id = sys::ProgramInfo::query(&prog).unwrap().id;
        assert_eq!(array.get(0).unwrap().unwrap().prog_id, Some(id));
    }

    let Some(hash) = map(MapType::DevmapHash, 4, 4, 4) else { return };
    DevMap::open(&hash).unwrap_err();
    let hash = DevMapHash::new(hash).unwrap();
    hash.set(1000, LOOPBACK, None, Flags::ANY).unwrap();
    assert_eq!(hash.get(1000).unwrap().map(|e| e.ifindex), Some(LOOPBACK));
    assert_eq!((hash.remove(1000), hash.remove(1000)), (Ok(true), Ok(false)));
    let null = File::open("/dev/null").unwrap();
    assert!(matches!(hash.set(1, 1, Some(null.as_fd()), Flags::ANY), Err(MapError::Unfit { .. })));

    let Some(cpus) = map(MapType::Cpumap, 4, 4, 1) else { return };
    let cpus = CpuMap::new(cpus).unwrap();
    cpus.set(0, 192, None, Flags::ANY).unwrap();
    assert_eq!(cpus.get(0).unwrap().map(|e| e.queue_size), Some(192));
    assert_eq!(cpus.remove(0), Ok(true));
}

/// Creates a map of local storage. The kernel requires BTF types for it.
fn storage(map_type: MapType) -> Option<MapFd> {
    let mut types = Builder::new(Endian::native());
    let key = types.int("int", 4, 1);
    let value = types.int("long", 8, 1);
    let types = types.finish();
    let btf = or_skip("load BTF", sys::btf_load(&BtfLoad { btf: &types, token: None }, &mut []))?;
    let shape = MapCreate {
        key_size: 4,
        value_size: 8,
        map_flags: 1,
        btf: Some(btf.as_fd()),
        key_type: key.0,
        value_type: value.0,
        ..MapCreate::default()
    };
    map_with(map_type, &shape)
}

#[test]
fn socket_storage_holds_a_value_per_socket() {
    let Some(map) = storage(MapType::SkStorage) else { return };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let storage = SkStorage::<u64>::new(map).unwrap();
    assert_eq!(storage.get(&socket), Ok(None));
    storage.insert(&socket, &7, Flags::NO_EXIST).unwrap();
    storage.insert(&socket, &8, Flags::NO_EXIST).unwrap_err();
    assert_eq!(storage.get(&socket), Ok(Some(7)));
    assert_eq!((storage.remove(&socket), storage.remove(&socket)), (Ok(true), Ok(false)));
    storage.insert(File::open("/dev/null").unwrap(), &1, Flags::ANY).unwrap_err();
}

#[test]
fn local_storage_holds_a_value_per_inode_task_and_cgroup() {
    if let Some(map) = storage(MapType::InodeStorage) {
        let file = File::open("/").unwrap();
        let storage = InodeStorage::<u64>::new(map).unwrap();
        storage.insert(&file, &7, Flags::ANY).unwrap();
        assert_eq!((storage.get(&file), storage.remove(&file)), (Ok(Some(7)), Ok(true)));
    }
    if let Some(map) = storage(MapType::TaskStorage) {
        let task = sys::own_pidfd();
        let storage = TaskStorage::<u64>::new(map).unwrap();
        storage.insert(&task, &7, Flags::ANY).unwrap();
        assert_eq!((storage.get(&task), storage.remove(&task)), (Ok(Some(7)), Ok(true)));
    }
    let Some(cgroup) = cgroup() else { return skip!("no cgroup2 is mounted") };
    if let Some(map) = storage(MapType::CgrpStorage) {
        let storage = CgrpStorage::<u64>::new(map).unwrap();
        storage.insert(&cgroup, &7, Flags::ANY).unwrap();
        assert_eq!((storage.get(&cgroup), storage.remove(&cgroup)), (Ok(Some(7)), Ok(true)));
    }
    if let Some(map) = map(MapType::CgroupArray, 4, 4, 1) {
        let array = CgroupArray::new(map).unwrap();
        array.set(&0, &cgroup).unwrap();
        assert_eq!(array.remove(&0), Ok(true));
    }
}

/// Opens the root of the cgroup2 file system.
fn cgroup() -> Option<File> {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    let root = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let path = words.next()?;
        (words.next() == Some("cgroup2")).then_some(path)
    });
    File::open(root?).ok()
}

#[test]
fn stack_traces_are_read_by_id() {
    let Some(map) = map(MapType::StackTrace, 4, 8 * 16, 100) else { return };
    let mut code = load_map(2, &map).to_vec();
    code.extend([set(3, 0), call(27), exit()]);
    let Some(prog) = program(ProgramType::RawTracepoint, &code, &ProgLoad::default()) else { return };
    let stacks = StackTraces::new(map).unwrap();
    let ran = sys::test_run(&prog, &mut TestRun::default());
    let Some(ran) = or_skip("run a raw tracepoint program", ran) else { return };
    let id = ran.retval;
    if id.cast_signed() < 0 {
        return skip!("no stack: {}", sys::Errno(-id.cast_signed()));
    }
    let addresses = stacks.get(id).unwrap().unwrap();
    assert!(!addresses.is_empty() && addresses.len() <= 16 && addresses[0] > 1 << 63, "{addresses:x?}");
    assert_eq!(stacks.ids().collect::<Vec<_>>(), [Ok(id)]);
    assert!(matches!(stacks.get_build_ids(id), Err(MapError::Unfit { .. })));
    assert_eq!(stacks.remove(id), Ok(true));
    assert_eq!((stacks.get(id), stacks.remove(id)), (Ok(None), Ok(false)));
}
