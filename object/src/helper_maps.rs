//! The helpers that take a map, and the types of maps that each accepts.
//!
//! The table is what Linux 5.10, 6.1, 6.12, 6.18 and 7.2 did with a call of each helper for a map of each type. The kernels agree, as
//! far as they have the helper and the map type. The rows of inode storage and of `bpf_xdp_output` follow the kernel's source. Some
//! pairs need more than the right type: sockets are put into a map of sockets by some program types only.

use crate::object::MapType;
use MapType as M;

/// The map argument of a helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapArgument {
    /// The helper's number (`enum bpf_func_id`).
    pub helper: u32,
    /// The register of the map: 1 for the first argument.
    pub register: u8,
    /// The types of maps that some kernel accepts.
    pub map_types: &'static [MapType],
}

impl MapArgument {
    /// Returns whether some kernel accepts maps of a type.
    pub fn accepts(&self, map_type: MapType) -> bool {
        self.map_types.contains(&map_type)
    }
}

/// Returns the map argument of a helper. Returns `None` for a helper without, or whose map types are not known.
pub fn map_argument(helper: u32) -> Option<&'static MapArgument> {
    let position = MAP_ARGUMENTS.binary_search_by_key(&helper, |argument| argument.helper).ok()?;
    MAP_ARGUMENTS.get(position)
}

/// Returns whether a helper accepts maps of both types, so that a program may use a map of one in place of the other.
pub fn share_helper(one: MapType, other: MapType) -> bool {
    MAP_ARGUMENTS.iter().any(|argument| argument.accepts(one) && argument.accepts(other))
}

const fn argument(helper: u32, register: u8, map_types: &'static [MapType]) -> MapArgument {
    MapArgument { helper, register, map_types }
}

/// The map types whose elements programs update.
const ELEMENTS: &[MapType] = &[
    M::Hash,
    M::Array,
    M::PercpuHash,
    M::PercpuArray,
    M::LruHash,
    M::LruPercpuHash,
    M::LpmTrie,
    M::Sockmap,
    M::Sockhash,
    M::Rhash,
];

/// The map types whose elements programs look up.
const LOOKUP: &[MapType] = &[
    M::Hash,
    M::Array,
    M::PercpuHash,
    M::PercpuArray,
    M::LruHash,
    M::LruPercpuHash,
    M::LpmTrie,
    M::ArrayOfMaps,
    M::HashOfMaps,
    M::Devmap,
    M::DevmapHash,
    M::Xskmap,
    M::Sockmap,
    M::Sockhash,
    M::InsnArray,
    M::Rhash,
];

/// The map types that `bpf_for_each_map_elem` iterates over.
const FOR_EACH: &[MapType] =
    &[M::Hash, M::Array, M::PercpuHash, M::PercpuArray, M::LruHash, M::LruPercpuHash, M::Rhash];

const PERF_EVENTS: &[MapType] = &[M::PerfEventArray];
const CGROUPS: &[MapType] = &[M::CgroupArray];
const SOCKMAP: &[MapType] = &[M::Sockmap];
const SOCKHASH: &[MapType] = &[M::Sockhash];
const RINGBUF: &[MapType] = &[M::Ringbuf];
const SK_STORAGE: &[MapType] = &[M::SkStorage];
const INODE_STORAGE: &[MapType] = &[M::InodeStorage];
const TASK_STORAGE: &[MapType] = &[M::TaskStorage];
const CGRP_STORAGE: &[MapType] = &[M::CgrpStorage];

/// The arguments, sorted by helper.
static MAP_ARGUMENTS: [MapArgument; 39] = [
    argument(1, 1, LOOKUP),                                               // map_lookup_elem
    argument(2, 1, ELEMENTS),                                             // map_update_elem
    argument(3, 1, ELEMENTS),                                             // map_delete_elem
    argument(12, 2, &[M::ProgArray]),                                     // tail_call
    argument(22, 1, PERF_EVENTS),                                         // perf_event_read
    argument(25, 2, PERF_EVENTS),                                         // perf_event_output
    argument(27, 2, &[M::StackTrace]),                                    // get_stackid
    argument(33, 2, CGROUPS),                                             // skb_under_cgroup
    argument(37, 1, CGROUPS),                                             // current_task_under_cgroup
    argument(51, 1, &[M::Devmap, M::DevmapHash, M::Cpumap, M::Xskmap]),   // redirect_map
    argument(52, 2, SOCKMAP),                                             // sk_redirect_map
    argument(53, 2, SOCKMAP),                                             // sock_map_update
    argument(55, 1, PERF_EVENTS),                                         // perf_event_read_value
    argument(60, 2, SOCKMAP),                                             // msg_redirect_map
    argument(70, 2, SOCKHASH),                                            // sock_hash_update
    argument(71, 2, SOCKHASH),                                            // msg_redirect_hash
    argument(72, 2, SOCKHASH),                                            // sk_redirect_hash
    argument(81, 1, &[M::CgroupStorage, M::PercpuCgroupStorage]),         // get_local_storage
    argument(82, 2, &[M::ReuseportSockarray, M::Sockmap, M::Sockhash]),   // sk_select_reuseport
    argument(87, 1, &[M::Queue, M::Stack, M::BloomFilter]),               // map_push_elem
    argument(88, 1, &[M::Queue, M::Stack]),                               // map_pop_elem
    argument(89, 1, &[M::Queue, M::Stack, M::BloomFilter]),               // map_peek_elem
    argument(107, 1, SK_STORAGE),                                         // sk_storage_get
    argument(108, 1, SK_STORAGE),                                         // sk_storage_delete
    argument(111, 2, PERF_EVENTS),                                        // skb_output
    argument(121, 2, PERF_EVENTS),                                        // xdp_output
    argument(130, 1, RINGBUF),                                            // ringbuf_output
    argument(131, 1, RINGBUF),                                            // ringbuf_reserve
    argument(134, 1, RINGBUF),                                            // ringbuf_query
    argument(145, 1, INODE_STORAGE),                                      // inode_storage_get
    argument(146, 1, INODE_STORAGE),                                      // inode_storage_delete
    argument(156, 1, TASK_STORAGE),                                       // task_storage_get
    argument(157, 1, TASK_STORAGE),                                       // task_storage_delete
    argument(164, 1, FOR_EACH),                                           // for_each_map_elem
    argument(195, 1, &[M::PercpuHash, M::PercpuArray, M::LruPercpuHash]), // map_lookup_percpu_elem
    argument(198, 1, RINGBUF),                                            // ringbuf_reserve_dynptr
    argument(209, 1, &[M::UserRingbuf]),                                  // user_ringbuf_drain
    argument(210, 1, CGRP_STORAGE),                                       // cgrp_storage_get
    argument(211, 1, CGRP_STORAGE),                                       // cgrp_storage_delete
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_sorted_and_each_helper_has_one() {
        assert!(MAP_ARGUMENTS.windows(2).all(|pair| pair[0].helper < pair[1].helper));
    }

    #[test]
    fn maps_of_one_use_share_a_helper() {
        for (a, b) in [(M::Hash, M::LruHash), (M::Array, M::PercpuArray), (M::Queue, M::Stack)] {
            assert!(share_helper(a, b), "{a} {b}");
        }
        for (a, b) in [
            (M::Hash, M::Ringbuf),
            (M::Ringbuf, M::UserRingbuf),
            (M::Hash, M::Queue),
            (M::ProgArray, M::Array),
        ] {
            assert!(!share_helper(a, b), "{a} {b}");
        }
    }
}
