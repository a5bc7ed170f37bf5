//! The maps of a loaded object, with typed keys and values.

use super::Loaded;
use crate::{
    globals::rust_type,
    maps::{
        Array, ArrayOfMaps, BloomFilter, CgroupArray, CgrpStorage, CpuMap, DevMap, DevMapHash, HashMap,
        HashOfMaps, InodeStorage, LpmTrie, MapError, PerCpuArray, PerCpuHashMap, PerfEventArray, ProgArray,
        Queue, ReuseportArray, SkStorage, SockHash, SockMap, Stack, StackTraces, TaskStorage, XskMap,
    },
    sys::{LpmKey, MapFd, Pod},
};
use core_relo::{TypeId, btf::Btf};
use core_relo_object::globals::{LayoutMismatch, RustType, check_layout};

/// Maps by name, as typed handles. Each handle owns a descriptor.
///
/// Each method checks the map's type, and that keys and values in C have the size and the layout of the Rust
/// types, as far as the object's BTF and [`Pod::SHAPE`] describe them. An error names the map, what was
/// expected, and what was found. To skip the comparison of layouts, pass [`map_handle`](Loaded::map_handle)
/// to the constructor: `HashMap::new(loaded.map_handle("flows")?)`.
impl Loaded {
    /// Opens a hash map: `HASH`, `LRU_HASH` or `RHASH`.
    ///
    /// ```no_run
    /// # use core_relo_loader::{load::Loaded, maps::MapError};
    /// # fn example(loaded: &Loaded) -> Result<(), MapError> {
    /// use core_relo_loader::maps::Flags;
    /// let flows = loaded.hash_map::<[u8; 4], u64>("flows")?;
    /// flows.insert(&[10, 0, 0, 1], &0, Flags::ANY)?;
    /// for entry in flows.iter() {
    ///     let (address, bytes) = entry?;
    ///     println!("{address:?}: {bytes} bytes");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn hash_map<K: Pod, V: Pod>(&self, map: &str) -> Result<HashMap<K, V>, MapError> {
        HashMap::new(self.checked_handle::<K, V>(map)?)
    }

    /// Opens a hash map with a value for each CPU: `PERCPU_HASH` or `LRU_PERCPU_HASH`.
    pub fn per_cpu_hash_map<K: Pod, V: Pod>(&self, map: &str) -> Result<PerCpuHashMap<K, V>, MapError> {
        PerCpuHashMap::new(self.checked_handle::<K, V>(map)?)
    }

    /// Opens a trie of prefixes: `LPM_TRIE`. `K` is the data without the prefix length.
    pub fn lpm_trie<K: Pod, V: Pod>(&self, map: &str) -> Result<LpmTrie<K, V>, MapError> {
        LpmTrie::new(self.checked_handle::<LpmKey<K>, V>(map)?)
    }

    /// Opens an array: `ARRAY`.
    pub fn array<V: Pod>(&self, map: &str) -> Result<Array<V>, MapError> {
        Array::new(self.checked_handle::<[u8; 4], V>(map)?)
    }

    /// Opens an array with a value for each CPU: `PERCPU_ARRAY`.
    pub fn per_cpu_array<V: Pod>(&self, map: &str) -> Result<PerCpuArray<V>, MapError> {
        PerCpuArray::new(self.checked_handle::<[u8; 4], V>(map)?)
    }

    /// Opens a queue: `QUEUE`.
    pub fn queue<V: Pod>(&self, map: &str) -> Result<Queue<V>, MapError> {
        Queue::new(self.checked_handle::<[u8; 4], V>(map)?)
    }

    /// Opens a stack: `STACK`.
    pub fn stack<V: Pod>(&self, map: &str) -> Result<Stack<V>, MapError> {
        Stack::new(self.checked_handle::<[u8; 4], V>(map)?)
    }

    /// Opens a bloom filter: `BLOOM_FILTER`.
    pub fn bloom_filter<V: Pod>(&self, map: &str) -> Result<BloomFilter<V>, MapError> {
        BloomFilter::new(self.checked_handle::<[u8; 4], V>(map)?)
    }

    /// Opens an array of maps: `ARRAY_OF_MAPS`.
    pub fn array_of_maps(&self, map: &str) -> Result<ArrayOfMaps, MapError> {
        ArrayOfMaps::new(self.map_handle(map)?)
    }

    /// Opens a hash map of maps: `HASH_OF_MAPS`.
    pub fn hash_of_maps<K: Pod>(&self, map: &str) -> Result<HashOfMaps<K>, MapError> {
        HashOfMaps::new(self.checked_handle::<K, [u8; 4]>(map)?)
    }

    /// Opens an array of programs for tail calls: `PROG_ARRAY`.
    pub fn prog_array(&self, map: &str) -> Result<ProgArray, MapError> {
        ProgArray::new(self.map_handle(map)?)
    }

    /// Opens an array of perf events: `PERF_EVENT_ARRAY`. [`perf_buffer`](Self::perf_buffer) reads the
    /// samples.
    pub fn perf_event_array(&self, map: &str) -> Result<PerfEventArray, MapError> {
        PerfEventArray::new(self.map_handle(map)?)
    }

    /// Opens an array of cgroups: `CGROUP_ARRAY`.
    pub fn cgroup_array(&self, map: &str) -> Result<CgroupArray, MapError> {
        CgroupArray::new(self.map_handle(map)?)
    }

    /// Opens an array of sockets: `SOCKMAP`.
    pub fn sock_map(&self, map: &str) -> Result<SockMap, MapError> {
        SockMap::new(self.map_handle(map)?)
    }

    /// Opens a hash map of sockets: `SOCKHASH`.
    pub fn sock_hash<K: Pod>(&self, map: &str) -> Result<SockHash<K>, MapError> {
        SockHash::new(self.checked_handle::<K, [u8; 4]>(map)?)
    }

    /// Opens an array of AF_XDP sockets: `XSKMAP`.
    pub fn xsk_map(&self, map: &str) -> Result<XskMap, MapError> {
        XskMap::new(self.map_handle(map)?)
    }

    /// Opens an array of sockets that share a port: `REUSEPORT_SOCKARRAY`.
    pub fn reuseport_array(&self, map: &str) -> Result<ReuseportArray, MapError> {
        ReuseportArray::new(self.map_handle(map)?)
    }

    /// Opens an array of network devices: `DEVMAP`.
    pub fn dev_map(&self, map: &str) -> Result<DevMap, MapError> {
        DevMap::new(self.map_handle(map)?)
    }

    /// Opens a hash map of network devices: `DEVMAP_HASH`.
    pub fn dev_map_hash(&self, map: &str) -> Result<DevMapHash, MapError> {
        DevMapHash::new(self.map_handle(map)?)
    }

    /// Opens an array of CPUs: `CPUMAP`.
    pub fn cpu_map(&self, map: &str) -> Result<CpuMap, MapError> {
        CpuMap::new(self.map_handle(map)?)
    }

    /// Opens a map of stack traces: `STACK_TRACE`.
    pub fn stack_traces(&self, map: &str) -> Result<StackTraces, MapError> {
        StackTraces::new(self.map_handle(map)?)
    }

    /// Opens the storage of tasks: `TASK_STORAGE`.
    pub fn task_storage<V: Pod>(&self, map: &str) -> Result<TaskStorage<V>, MapError> {
        TaskStorage::new(self.checked_handle::<[u8; 4], V>(map)?)
    }

    /// Opens the storage of sockets: `SK_STORAGE`.
    pub fn sk_storage<V: Pod>(&self, map: &str) -> Result<SkStorage<V>, MapError> {
        SkStorage::new(self.checked_handle::<[u8; 4], V>(map)?)
    }

    /// Opens the storage of inodes: `INODE_STORAGE`.
    pub fn inode_storage<V: Pod>(&self, map: &str) -> Result<InodeStorage<V>, MapError> {
        InodeStorage::new(self.checked_handle::<[u8; 4], V>(map)?)
    }

    /// Opens the storage of cgroups: `CGRP_STORAGE`.
    pub fn cgrp_storage<V: Pod>(&self, map: &str) -> Result<CgrpStorage<V>, MapError> {
        CgrpStorage::new(self.checked_handle::<[u8; 4], V>(map)?)
    }
}

impl Loaded {
    /// Returns a handle of a map whose keys and values have the layouts of two Rust types.
    fn checked_handle<K: Pod, V: Pod>(&self, name: &str) -> Result<MapFd, MapError> {
        let handle = self.map_handle(name)?;
        if let Some((btf, map)) = self.types.btf().zip(self.map(name)) {
            let types = [
                ("key", map.plan.key_type(), rust_type::<K>()),
                ("value", map.plan.value_type(), rust_type::<V>()),
            ];
            for (part, declared, found) in types {
                check_part(btf, declared, &found).map_err(|mismatch| MapError::Layout {
                    map: name.into(),
                    part,
                    found: found.name,
                    mismatch: Box::new(mismatch),
                })?;
            }
        }
        Ok(handle)
    }
}

/// Compares the layouts of a C type and a Rust type of the same size. The constructors of maps compare sizes.
fn check_part(btf: &Btf<'_>, declared: TypeId, found: &RustType) -> Result<(), LayoutMismatch> {
    let size = btf.size_of(declared).ok().and_then(|size| usize::try_from(size.0).ok());
    if declared == TypeId::VOID || size != Some(found.size) {
        Ok(())
    } else {
        check_layout(btf, declared, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{loader::Loader, maps::Flags};
    use core_relo_object::{
        object::Object,
        test_support::{TestObject, returns},
    };
    use core_relo_test_support::skip;

    const HASH: u32 = 1;
    const ARRAY: u32 = 2;

    /// Loads an object with a hash map and an array. `None` where nothing can be loaded.
    fn load() -> Option<Loaded> {
        let mut m = TestObject::new();
        for (name, map_type) in [("flows_by_address", HASH), ("counts", ARRAY)] {
            let fields = [("type", map_type), ("key_size", 4), ("value_size", 8), ("max_entries", 3)];
            m.map(name, &fields, None);
        }
        m.program("main", "socket", &returns(0));
        let bytes = m.bytes();
        let object = Object::parse(&bytes).unwrap();
        Loader::new(&object).load().map_err(|e| skip!(Root, "nothing can be loaded here: {e}")).ok()
    }

    #[test]
    fn maps_are_opened_by_name_and_type() {
        let Some(loaded) = load() else { return };
        let flows = loaded.hash_map::<[u8; 4], u64>("flows_by_address").unwrap();
        flows.insert(&[10, 0, 0, 1], &7, Flags::ANY).unwrap();
        let again = loaded.hash_map::<u32, [u32; 2]>("flows_by_address").unwrap();
        assert_eq!(again.iter().count(), 1);
        let counts = loaded.array::<u64>("counts").unwrap();
        counts.set(2, &5).unwrap();
        assert_eq!(counts.values(), Ok(vec![0, 0, 5]));
    }

    #[test]
    fn errors_name_the_map_as_the_object_does() {
        let Some(loaded) = load() else { return };
        let text = |error: MapError| error.to_string();
        assert_eq!(
            text(loaded.array::<u64>("flows_by_address").unwrap_err()),
            "map flows_by_address: wrong map type: BPF_MAP_TYPE_HASH, expected BPF_MAP_TYPE_ARRAY",
            "the kernel has only 15 bytes of the name"
        );
        assert_eq!(
            text(loaded.hash_map::<u32, u32>("flows_by_address").unwrap_err()),
            "map flows_by_address: wrong value size: 8 bytes, expected 4"
        );
        assert_eq!(
            text(loaded.queue::<u64>("counts").unwrap_err()),
            "map counts: wrong map type: BPF_MAP_TYPE_ARRAY, expected BPF_MAP_TYPE_QUEUE"
        );
        let missing = text(loaded.prog_array("jumps").unwrap_err());
        assert!(missing.starts_with("map jumps: cannot find it in the loaded object: ENOENT"), "{missing}");
        let flows = loaded.hash_map::<u32, u64>("flows_by_address").unwrap();
        let refused = text(flows.insert(&1, &1, Flags(77)).unwrap_err());
        assert!(refused.starts_with("map flows_by_address: cannot write an element: EINVAL"), "{refused}");
    }
}
