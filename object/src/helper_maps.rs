//! The helpers that take a map, and the types of maps that each accepts.
//!
//! The table is what Linux 5.10, 6.1, 6.12, 6.18 and 7.2 did with a call of each helper for a map of each
//! type. The kernels agree, as far as they have the helper and the map type. The rows of inode storage and of
//! `bpf_xdp_output` follow the kernel's source. Some pairs need more than the right type: sockets are put
//! into a map of sockets by some program types only.

use crate::object::MapType;
use MapType as M;
use core_relo::insn::Helper;

/// The map argument of a helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapArgument {
    /// The helper.
    pub helper: Helper,
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

/// Returns the map argument of a helper. Returns `None` for a helper without, or whose map types are not
/// known.
pub fn map_argument(helper: Helper) -> Option<&'static MapArgument> {
    let position = MAP_ARGUMENTS.binary_search_by_key(&helper, |argument| argument.helper).ok()?;
    MAP_ARGUMENTS.get(position)
}

/// Returns whether a helper accepts maps of both types, so that a program may use a map of one in place of
/// the other.
pub fn share_helper(one: MapType, other: MapType) -> bool {
    MAP_ARGUMENTS.iter().any(|argument| argument.accepts(one) && argument.accepts(other))
}

const fn argument(helper: Helper, register: u8, map_types: &'static [MapType]) -> MapArgument {
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
    argument(Helper::MAP_LOOKUP_ELEM, 1, LOOKUP),
    argument(Helper::MAP_UPDATE_ELEM, 1, ELEMENTS),
    argument(Helper::MAP_DELETE_ELEM, 1, ELEMENTS),
    argument(Helper::TAIL_CALL, 2, &[M::ProgArray]),
    argument(Helper::PERF_EVENT_READ, 1, PERF_EVENTS),
    argument(Helper::PERF_EVENT_OUTPUT, 2, PERF_EVENTS),
    argument(Helper::GET_STACKID, 2, &[M::StackTrace]),
    argument(Helper::SKB_UNDER_CGROUP, 2, CGROUPS),
    argument(Helper::CURRENT_TASK_UNDER_CGROUP, 1, CGROUPS),
    argument(Helper::REDIRECT_MAP, 1, &[M::Devmap, M::DevmapHash, M::Cpumap, M::Xskmap]),
    argument(Helper::SK_REDIRECT_MAP, 2, SOCKMAP),
    argument(Helper::SOCK_MAP_UPDATE, 2, SOCKMAP),
    argument(Helper::PERF_EVENT_READ_VALUE, 1, PERF_EVENTS),
    argument(Helper::MSG_REDIRECT_MAP, 2, SOCKMAP),
    argument(Helper::SOCK_HASH_UPDATE, 2, SOCKHASH),
    argument(Helper::MSG_REDIRECT_HASH, 2, SOCKHASH),
    argument(Helper::SK_REDIRECT_HASH, 2, SOCKHASH),
    argument(Helper::GET_LOCAL_STORAGE, 1, &[M::CgroupStorage, M::PercpuCgroupStorage]),
    argument(Helper::SK_SELECT_REUSEPORT, 2, &[M::ReuseportSockarray, M::Sockmap, M::Sockhash]),
    argument(Helper::MAP_PUSH_ELEM, 1, &[M::Queue, M::Stack, M::BloomFilter]),
    argument(Helper::MAP_POP_ELEM, 1, &[M::Queue, M::Stack]),
    argument(Helper::MAP_PEEK_ELEM, 1, &[M::Queue, M::Stack, M::BloomFilter]),
    argument(Helper::SK_STORAGE_GET, 1, SK_STORAGE),
    argument(Helper::SK_STORAGE_DELETE, 1, SK_STORAGE),
    argument(Helper::SKB_OUTPUT, 2, PERF_EVENTS),
    argument(Helper::XDP_OUTPUT, 2, PERF_EVENTS),
    argument(Helper::RINGBUF_OUTPUT, 1, RINGBUF),
    argument(Helper::RINGBUF_RESERVE, 1, RINGBUF),
    argument(Helper::RINGBUF_QUERY, 1, RINGBUF),
    argument(Helper::INODE_STORAGE_GET, 1, INODE_STORAGE),
    argument(Helper::INODE_STORAGE_DELETE, 1, INODE_STORAGE),
    argument(Helper::TASK_STORAGE_GET, 1, TASK_STORAGE),
    argument(Helper::TASK_STORAGE_DELETE, 1, TASK_STORAGE),
    argument(Helper::FOR_EACH_MAP_ELEM, 1, FOR_EACH),
    argument(Helper::MAP_LOOKUP_PERCPU_ELEM, 1, &[M::PercpuHash, M::PercpuArray, M::LruPercpuHash]),
    argument(Helper::RINGBUF_RESERVE_DYNPTR, 1, RINGBUF),
    argument(Helper::USER_RINGBUF_DRAIN, 1, &[M::UserRingbuf]),
    argument(Helper::CGRP_STORAGE_GET, 1, CGRP_STORAGE),
    argument(Helper::CGRP_STORAGE_DELETE, 1, CGRP_STORAGE),
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
