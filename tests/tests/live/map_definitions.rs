//! The rules for definitions of maps, against the running kernel: which maps it creates.

use super::harness::{Need, live};
use core_relo_loader::{
    Errno,
    load::{Kernel as _, MapCreate, RunningKernel},
    object::{MapDef, MapType},
    running_kernel,
};
use core_relo_object::{map_limits::find_map_limits, map_rules::find_map_errors};
use core_relo_verdict::kernel::{Answer, KernelFacts, KernelInputs, NameQuery};
use std::os::fd::OwnedFd;

/// The errors of rules. Others, such as `ENOMEM`, depend on the state of the machine.
const RULES: [i32; 3] = [libc::EINVAL, libc::E2BIG, 524 /* ENOTSUPP */];

/// A valid definition of each type that needs no types and no privileges: key, value, entries, flags.
const VALID: [(MapType, [u32; 4]); 25] = [
    (MapType::Hash, [4, 8, 4, 0]),
    (MapType::Array, [4, 8, 4, 0]),
    (MapType::ProgArray, [4, 4, 4, 0]),
    (MapType::PerfEventArray, [4, 4, 4, 0]),
    (MapType::PercpuHash, [4, 8, 4, 0]),
    (MapType::PercpuArray, [4, 8, 4, 0]),
    (MapType::StackTrace, [4, 64, 4, 0]),
    (MapType::CgroupArray, [4, 4, 4, 0]),
    (MapType::LruHash, [4, 8, 4, 0]),
    (MapType::LruPercpuHash, [4, 8, 4, 0]),
    (MapType::LpmTrie, [8, 8, 4, 1]),
    (MapType::Devmap, [4, 4, 4, 0]),
    (MapType::DevmapHash, [4, 8, 4, 0]),
    (MapType::Sockmap, [4, 4, 4, 0]),
    (MapType::Sockhash, [4, 4, 4, 0]),
    (MapType::Cpumap, [4, 4, 1, 0]),
    (MapType::Xskmap, [4, 4, 4, 0]),
    (MapType::CgroupStorage, [8, 8, 0, 0]),
    (MapType::PercpuCgroupStorage, [8, 8, 0, 0]),
    (MapType::ReuseportSockarray, [4, 8, 4, 0]),
    (MapType::Queue, [0, 8, 4, 0]),
    (MapType::Stack, [0, 8, 4, 0]),
    (MapType::BloomFilter, [0, 8, 4, 0]),
    (MapType::Ringbuf, [0, 0, 65536, 0]),
    (MapType::UserRingbuf, [0, 0, 65536, 0]),
];

const KEYS: [u32; 12] = [1, 3, 4, 5, 8, 16, 260, 261, 512, 513, 600, 4096];
const VALUES: [u32; 17] =
    [1, 4, 8, 12, 16, 32, 64, 1016, 1024, 4064, 4096, 4097, 32768, 32769, 40000, 65536, 65537];
const ENTRIES: [u32; 8] = [1, 2, 64, 257, 4096, 8193, 65536, u32::MAX];
const EXTRAS: [u64; 4] = [1, 15, 16, 1 << 32];
/// Memory nodes. The last number chooses none.
const NODES: [u32; 5] = [0, 1, 1023, 1024, u32::MAX];
/// `BPF_F_NUMA_NODE`.
const NUMA_NODE: u32 = 1 << 2;
/// The types whose numbers of entries have a limit that no memory is allocated for.
const LIMITED: [MapType; 7] = [
    MapType::Hash,
    MapType::PercpuHash,
    MapType::LruHash,
    MapType::Sockhash,
    MapType::DevmapHash,
    MapType::Ringbuf,
    MapType::UserRingbuf,
];

/// Returns the definitions that differ from a valid one in one attribute, or in two flags.
fn definitions(map_type: MapType, [key, value, entries, flags]: [u32; 4]) -> Vec<MapDef> {
    let mut valid = MapDef::default();
    valid.map_type = map_type.number();
    (valid.key_size, valid.value_size) = (key, value);
    (valid.max_entries, valid.map_flags) = (entries, flags);
    let mut definitions = vec![valid.clone()];
    let mut add = |change: &dyn Fn(&mut MapDef)| {
        let mut changed = valid.clone();
        change(&mut changed);
        definitions.push(changed);
    };
    for size in KEYS {
        add(&|def| def.key_size = size);
    }
    for size in VALUES {
        add(&|def| def.value_size = size);
    }
    let entries = ENTRIES.into_iter().filter(|entries| *entries != u32::MAX || LIMITED.contains(&map_type));
    // A definition without entries has none, and libbpf rounds the size of a ring buffer.
    let is_rounded = matches!(map_type, MapType::Ringbuf | MapType::UserRingbuf);
    for entries in
        entries.filter(|entries| !is_rounded || entries.is_multiple_of(65536) || *entries == u32::MAX)
    {
        add(&|def| def.max_entries = entries);
    }
    for extra in EXTRAS {
        add(&|def| def.map_extra = extra);
    }
    for node in NODES {
        add(&|def| {
            def.map_flags |= NUMA_NODE;
            def.numa_node = Some(node);
        });
    }
    // The first 13 flags are those of all kernels. BPF_F_NUMA_NODE is valid with node 0.
    for one in 0..13 {
        for other in one..13 {
            add(&|def| def.map_flags |= 1 << one | 1 << other);
        }
    }
    definitions
}

fn create(def: &MapDef) -> Result<OwnedFd, Errno> {
    RunningKernel.map_create(&MapCreate {
        map_type: def.map_type,
        key_size: def.key_size,
        value_size: def.value_size,
        max_entries: def.max_entries,
        map_flags: def.map_flags,
        map_extra: def.map_extra,
        numa_node: def.numa_node.unwrap_or(0),
        ..MapCreate::default()
    })
}

#[test]
fn the_kernel_follows_the_rules_for_definitions() {
    const TEST: &str = "map_definitions::the_kernel_follows_the_rules_for_definitions";
    let Some(_live) = live(TEST, &[Need::Btf]) else { return };
    let kernel = running_kernel();
    let target = kernel.btf.target().unwrap();
    let kconfig = kernel.read_kconfig().ok();
    let memory_nodes = kernel.system.as_ref().and_then(|system| system.memory_nodes());
    let inputs = KernelInputs { kconfig, memory_nodes, ..KernelInputs::default() };
    let query = NameQuery::default();
    let facts = KernelFacts::new(&target, &query, &inputs);
    let (mut wrong, mut counts) = (Vec::new(), [0usize; 3]);
    for (map_type, numbers) in VALID {
        if !facts.map_type(map_type.number()).is_present() {
            continue;
        }
        for def in definitions(map_type, numbers) {
            let limits: Vec<_> =
                find_map_limits(&def).iter().map(|exceeded| facts.map_limit(exceeded.limit)).collect();
            let is_refused = !find_map_errors(&def).is_empty()
                || limits.iter().any(|answer| matches!(answer, Answer::Absent(_)));
            let is_unknown = limits.iter().any(|answer| matches!(answer, Answer::Unknown(_)));
            let created = create(&def);
            let is_rule = created.as_ref().err().is_some_and(|errno| RULES.contains(&errno.0));
            let place = match (is_refused, is_unknown) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2,
            };
            counts[place] += 1;
            if (is_refused && created.is_ok()) || (is_rule && !is_refused && !is_unknown) {
                let result = created.map(|_fd| "created");
                wrong.push(format!("{map_type}: {def:?}: {result:?}, refused: {is_refused}"));
            }
        }
    }
    println!("{} refused, {} unknown, {} accepted", counts[0], counts[1], counts[2]);
    assert!(wrong.is_empty(), "{} of {counts:?}:\n{}", wrong.len(), wrong.join("\n"));
}
