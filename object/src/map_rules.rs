//! The rules of the kernel for the definition of a map, by map type.
//!
//! The rules are those of each type's `map_alloc_check` and `map_alloc`. Every rule holds on Linux 5.10, 6.1,
//! 6.12, 6.18 and 7.2, as far as the kernel has the type: maps that break the rule were created there, and
//! refused.

use crate::{
    map_flags::{
        CLONE, INNER_MAP, MMAPABLE, NAMES, NO_COMMON_LRU, NO_PREALLOC, NO_USER_CONV, NUMA_NODE,
        PRESERVE_ELEMS, RB_OVERWRITE, RDONLY, RDONLY_PROG, SEGV_ON_FAULT, STACK_BUILD_ID, TOKEN_FD, WRONLY,
        WRONLY_PROG, ZERO_SEED,
    },
    object::{MapDef, MapType},
};
use core::fmt;

/// An attribute of a map's definition that no kernel accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an error is a place, the map type and the rule")]
pub struct MapDefError {
    /// Whether the definition is that of the inner maps.
    pub is_inner: bool,
    /// The type of the map.
    pub map_type: MapType,
    /// The broken rule.
    pub rule: MapRule,
}

/// A rule that the definition of a map breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the judge has a message for each")]
pub enum MapRule {
    /// The map type does not accept both flags.
    FlagsExclude(&'static str, &'static str),
    /// The map type does not accept the value of `map_extra`.
    Extra {
        /// The number in the definition.
        found: u64,
        /// The accepted numbers, as a noun phrase.
        expected: &'static str,
    },
    /// No machine has the memory node of the definition, which `BPF_F_NUMA_NODE` demands.
    NumaNode {
        /// The number in the definition.
        found: u32,
    },
    /// The map type demands types of keys and values, and the definition has sizes.
    TypesMissing,
    /// The map type demands keys that are integers of 32 bits, and the type of the keys is another.
    KeyType,
    /// No map of maps holds maps of the type.
    NotInner,
    /// The kernel creates a map of the type only for a struct of its own, which is defined in a section
    /// `.struct_ops`.
    NotStructOps,
    /// The map type demands the flag.
    FlagMissing(&'static str),
    /// The map type does not accept the flag.
    FlagRefused(&'static str),
    /// No known kernel has a flag with this bit.
    FlagUnknown(u32),
    /// The definition of inner maps lacks an attribute.
    Missing(MapInput),
    /// The map type does not accept the size of keys or values, or the number of entries.
    Size {
        /// The attribute.
        attribute: MapInput,
        /// The number in the definition.
        found: u32,
        /// The accepted numbers, as a noun phrase.
        expected: &'static str,
    },
}

impl fmt::Display for MapDefError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_inner, map_type, rule } = *self;
        f.write_str(if is_inner { "inner map: " } else { "" })?;
        match rule {
            MapRule::FlagMissing(flag) => write!(f, "no flag {flag}, which {map_type} demands"),
            MapRule::FlagRefused(flag) => write!(f, "flag {flag}, which {map_type} does not accept"),
            MapRule::FlagUnknown(bit) => write!(f, "flag 1 << {bit}, which no known kernel has"),
            MapRule::FlagsExclude(one, other) => {
                write!(f, "flags {one} and {other}, which exclude each other")
            }
            MapRule::Extra { found, expected } => {
                write!(f, "map_extra does not fit {map_type}: {found}, expected {expected}")
            }
            MapRule::NumaNode { found } => write!(f, "numa_node is {found}, expected at most {LAST_NODE}"),
            MapRule::TypesMissing => write!(f, "no types of key and value, which {map_type} demands"),
            MapRule::KeyType => {
                write!(f, "the type of its keys does not fit {map_type}, expected an integer of 32 bits")
            }
            MapRule::NotInner => write!(f, "{map_type}, which no map of maps holds"),
            MapRule::NotStructOps => {
                write!(
                    f,
                    "{map_type} in a map definition, expected a variable of the kernel's struct in `.struct_ops`"
                )
            }
            MapRule::Missing(attribute) => {
                write!(f, "{} is 0, which user space must set", attribute.name())
            }
            MapRule::Size { attribute, found, expected } => {
                write!(f, "{} does not fit {map_type}: {found}, expected {expected}", attribute.name())
            }
        }
    }
}

/// An attribute of a map that objects may leave to user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the judge acts on each")]
pub enum MapInput {
    /// `max_entries` is 0.
    MaxEntries,
    /// The size of a key is 0.
    KeySize,
    /// The size of a value is 0.
    ValueSize,
    /// The map of maps has no definition of its inner maps.
    InnerMap,
}

impl MapInput {
    /// Returns the attribute's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MaxEntries => "max_entries",
            Self::KeySize => "key_size",
            Self::ValueSize => "value_size",
            Self::InnerMap => "inner map",
        }
    }
}

/// The last memory node that a machine may have (kernel: `MAX_NUMNODES`, `CONFIG_NODES_SHIFT` of 10).
const LAST_NODE: u32 = 1023;
/// The number by which a definition chooses no node (kernel: `NUMA_NO_NODE`).
const NO_NODE: u32 = u32::MAX;
const USER_ACCESS: u32 = RDONLY | WRONLY;
const PROGRAM_ACCESS: u32 = RDONLY_PROG | WRONLY_PROG;

/// The most bytes of a value for each CPU (kernel: `PCPU_MIN_UNIT_SIZE`), where pages are largest.
const PER_CPU_BYTES: u32 = 1 << 16;

/// The most bytes of a value in cgroup storage, where pages are largest.
const CGROUP_STORAGE_BYTES: u32 = 1 << 16;

/// The most bytes of a value in local storage (kernel: `BPF_LOCAL_STORAGE_MAX_VALUE_SIZE`): the size of an
/// element has 16 bits.
const LOCAL_STORAGE_BYTES: u32 = 65407;

/// The most frames of a stack trace that a machine can allow with `kernel.perf_event_max_stack`.
const STACK_FRAMES: u32 = 640 * 1024;

/// The most entries of a hash: buckets of 8 bytes, the smallest, have less than 4 GiB in all.
const HASH_ENTRIES: u32 = 1 << 28;

/// The most entries whose number can be rounded up to a power of two.
const POWER_OF_TWO: u32 = 1 << 31;

/// The size of the smallest pages.
const PAGE_BYTES: u64 = 4096;

/// The most pages of an arena: 4 GiB, where pages are smallest.
const ARENA_PAGES: u32 = 1 << 20;

/// Returns the rules that a definition, or its inner maps' definition, breaks. Every kernel since 5.10 has
/// these rules.
pub fn find_map_errors(def: &MapDef) -> Vec<MapDefError> {
    let mut errors = Vec::new();
    for (is_inner, def) in [(false, Some(def)), (true, def.inner.as_deref())] {
        let Some((def, map_type)) = def.and_then(|def| Some((def, def.known_type()?))) else { continue };
        let flags = checked_flags(map_type, def);
        let rules = broken_flag_rules(map_type, flags)
            .chain(excluded_flags(map_type, flags))
            .chain(broken_size_rules(map_type, def))
            .chain(broken_extra_rule(map_type, def.map_extra))
            .chain(broken_node_rule(def))
            .chain((demands_types(map_type) && !has_types(def)).then_some(MapRule::TypesMissing))
            .chain((is_inner && !may_be_inner(map_type)).then_some(MapRule::NotInner))
            .chain((map_type == MapType::StructOps).then_some(MapRule::NotStructOps));
        errors.extend(rules.map(|rule| MapDefError { is_inner, map_type, rule }));
    }
    errors
}

/// Returns the flags that the kernel checks. Maps for each CPU and LRU hashes are checked for a node in place
/// of `BPF_F_NUMA_NODE`.
fn checked_flags(map_type: MapType, def: &MapDef) -> u32 {
    use MapType as M;
    let has_node_check = matches!(map_type, M::PercpuHash | M::PercpuArray | M::LruPercpuHash | M::LruHash);
    if has_node_check && def.numa_node == Some(NO_NODE) { def.map_flags & !NUMA_NODE } else { def.map_flags }
}

fn broken_flag_rules(map_type: MapType, flags: u32) -> impl Iterator<Item = MapRule> {
    let (demanded, accepted) = (demanded_flags(map_type), accepted_flags(map_type));
    let rule_of_bit = move |(bit, name): (u32, &'static str)| {
        let flag = 1u32.checked_shl(bit)?;
        if flags & flag == 0 {
            (demanded & flag != 0).then_some(MapRule::FlagMissing(name))
        } else {
            ((demanded | accepted? | TOKEN_FD) & flag == 0).then_some(MapRule::FlagRefused(name))
        }
    };
    let known = (0..).zip(NAMES);
    let unknown = (0..u32::BITS).skip(NAMES.len()).filter(move |bit| flags.wrapping_shr(*bit) & 1 != 0);
    known.filter_map(rule_of_bit).chain(unknown.map(MapRule::FlagUnknown))
}

/// Returns the pairs of flags that exclude each other.
fn excluded_flags(map_type: MapType, flags: u32) -> impl Iterator<Item = MapRule> {
    const LRU_LISTS: u32 = NO_COMMON_LRU | NUMA_NODE;
    let has = move |both: u32| flags & both == both;
    let pairs = [
        (has(USER_ACCESS), "BPF_F_RDONLY", "BPF_F_WRONLY"),
        (has(PROGRAM_ACCESS), "BPF_F_RDONLY_PROG", "BPF_F_WRONLY_PROG"),
        (map_type == MapType::LruHash && has(LRU_LISTS), "BPF_F_NO_COMMON_LRU", "BPF_F_NUMA_NODE"),
    ];
    let excluded = pairs.into_iter().filter(|(has_both, ..)| *has_both);
    excluded.map(|(_, one, other)| MapRule::FlagsExclude(one, other))
}

/// Returns the rule for `map_extra` that a definition breaks.
fn broken_extra_rule(map_type: MapType, found: u64) -> Option<MapRule> {
    let (expected, is_accepted) = match map_type {
        // The number of hash functions.
        MapType::BloomFilter => ("at most 15", found <= 15),
        // The address in user space.
        MapType::Arena => ("a multiple of the page size", found.is_multiple_of(PAGE_BYTES)),
        // The capacity at creation.
        MapType::Rhash | MapType::StructOps => return None,
        _ => ("0", found == 0),
    };
    (!is_accepted).then_some(MapRule::Extra { found, expected })
}

/// Returns the rule for the memory node that a definition breaks. Without the flag, the kernel ignores the
/// node.
fn broken_node_rule(def: &MapDef) -> Option<MapRule> {
    let found = chosen_node(def)?;
    (found > LAST_NODE).then_some(MapRule::NumaNode { found })
}

/// Returns the memory node that a definition chooses.
pub(crate) fn chosen_node(def: &MapDef) -> Option<u32> {
    def.numa_node.filter(|node| def.map_flags & NUMA_NODE != 0 && *node != NO_NODE)
}

/// Returns whether the kernel creates maps of a type only with the types of keys and values (kernel:
/// `bpf_local_storage_map_alloc_check`).
const fn demands_types(map_type: MapType) -> bool {
    use MapType as M;
    matches!(map_type, M::SkStorage | M::InodeStorage | M::TaskStorage | M::CgrpStorage)
}

/// Returns whether a definition has the types of keys and values. Sizes that user space must set stand for
/// both.
const fn has_types(def: &MapDef) -> bool {
    let is_set = def.key_size != 0 && def.value_size != 0;
    !is_set || (def.key_type.is_some() && def.value_type.is_some())
}

/// Returns whether maps of maps hold maps of a type (kernel: `bpf_map_meta_alloc`).
const fn may_be_inner(map_type: MapType) -> bool {
    use MapType as M;
    !matches!(
        map_type,
        M::ProgArray
            | M::CgroupStorage
            | M::PercpuCgroupStorage
            | M::ArrayOfMaps
            | M::HashOfMaps
            | M::InsnArray
    )
}

/// Returns the flags without which no kernel creates a map of the type.
const fn demanded_flags(map_type: MapType) -> u32 {
    use MapType as M;
    match map_type {
        M::LpmTrie | M::SkStorage | M::InodeStorage | M::TaskStorage | M::CgrpStorage => NO_PREALLOC,
        M::Arena => MMAPABLE,
        _ => 0,
    }
}

/// Returns the flags that some kernel accepts for the type, beside the demanded ones. Returns `None`
/// if no rule is known.
const fn accepted_flags(map_type: MapType) -> Option<u32> {
    use MapType as M;
    // The flags of most types of maps that hold other objects.
    const REFERENCES: u32 = NUMA_NODE | USER_ACCESS;
    const ACCESS: u32 = USER_ACCESS | PROGRAM_ACCESS;
    let flags = match map_type {
        M::Hash | M::HashOfMaps => NO_PREALLOC | NUMA_NODE | ACCESS | ZERO_SEED,
        M::PercpuHash => NO_PREALLOC | ACCESS | ZERO_SEED,
        M::LruHash => NO_COMMON_LRU | NUMA_NODE | ACCESS | ZERO_SEED,
        M::LruPercpuHash => NO_COMMON_LRU | ACCESS | ZERO_SEED,
        M::Array => NUMA_NODE | ACCESS | MMAPABLE | INNER_MAP,
        M::PercpuArray => ACCESS,
        M::ProgArray
        | M::CgroupArray
        | M::ArrayOfMaps
        | M::Devmap
        | M::DevmapHash
        | M::Sockmap
        | M::Sockhash
        | M::Xskmap => REFERENCES,
        M::PerfEventArray => REFERENCES | PRESERVE_ELEMS,
        M::StackTrace => REFERENCES | STACK_BUILD_ID,
        M::Ringbuf => NUMA_NODE | RB_OVERWRITE,
        M::Cpumap | M::UserRingbuf => NUMA_NODE,
        M::LpmTrie
        | M::CgroupStorage
        | M::PercpuCgroupStorage
        | M::ReuseportSockarray
        | M::Queue
        | M::Stack => NUMA_NODE | ACCESS,
        M::BloomFilter => NUMA_NODE | ACCESS | ZERO_SEED,
        M::SkStorage | M::InodeStorage | M::TaskStorage | M::CgrpStorage => CLONE,
        M::Arena => SEGV_ON_FAULT | NO_USER_CONV,
        _ => return None,
    };
    Some(flags)
}

/// Returns the rules for sizes that a definition breaks. A size of 0 that user space must set breaks none.
fn broken_size_rules(map_type: MapType, def: &MapDef) -> impl Iterator<Item = MapRule> {
    let sizes = [
        (MapInput::KeySize, def.key_size, key_rule(map_type)),
        (MapInput::ValueSize, def.value_size, value_rule(map_type, def.map_flags)),
        (MapInput::MaxEntries, def.max_entries, entries_rule(map_type)),
    ];
    sizes.into_iter().filter_map(|(attribute, found, rule)| {
        let (expected, is_accepted) = rule?;
        (found != 0 && !is_accepted(found)).then_some(MapRule::Size { attribute, found, expected })
    })
}

/// The accepted numbers as a noun phrase, and the test of a number other than 0.
type SizeRule = (&'static str, fn(u32) -> bool);

const ZERO: SizeRule = ("0", |_| false);
const FOUR: SizeRule = ("4", |size| size == 4);
const FOUR_OR_EIGHT: SizeRule = ("4 or 8", |size| matches!(size, 4 | 8));

const fn key_rule(map_type: MapType) -> Option<SizeRule> {
    use MapType as M;
    match map_type {
        M::Array
        | M::PercpuArray
        | M::ProgArray
        | M::PerfEventArray
        | M::CgroupArray
        | M::ArrayOfMaps
        | M::StackTrace
        | M::Devmap
        | M::DevmapHash
        | M::Sockmap
        | M::Cpumap
        | M::Xskmap
        | M::ReuseportSockarray
        | M::SkStorage
        | M::InodeStorage
        | M::TaskStorage
        | M::CgrpStorage => Some(FOUR),
        M::LpmTrie => Some(("5 to 260", |size| matches!(size, 5..=260))),
        M::Sockhash => Some(("at most 512", |size| size <= 512)),
        M::CgroupStorage | M::PercpuCgroupStorage => Some(("8 or 16", |size| matches!(size, 8 | 16))),
        M::Queue | M::Stack | M::BloomFilter | M::Ringbuf | M::UserRingbuf | M::Arena => Some(ZERO),
        _ => None,
    }
}

const fn value_rule(map_type: MapType, flags: u32) -> Option<SizeRule> {
    use MapType as M;
    const PER_CPU: SizeRule = ("at most 65536", |size| size <= PER_CPU_BYTES);
    match map_type {
        M::ProgArray | M::PerfEventArray | M::CgroupArray | M::ArrayOfMaps | M::HashOfMaps | M::Xskmap => {
            Some(FOUR)
        }
        M::Devmap | M::DevmapHash | M::Sockmap | M::Sockhash | M::Cpumap | M::ReuseportSockarray => {
            Some(FOUR_OR_EIGHT)
        }
        // `struct bpf_stack_build_id`, or an address.
        M::StackTrace if flags & STACK_BUILD_ID != 0 => {
            Some(("a multiple of 32", |size| size.is_multiple_of(32) && size / 32 <= STACK_FRAMES))
        }
        M::StackTrace => Some(("a multiple of 8", |size| size.is_multiple_of(8) && size / 8 <= STACK_FRAMES)),
        M::SkStorage | M::InodeStorage | M::TaskStorage | M::CgrpStorage => {
            Some(("at most 65407", |size| size <= LOCAL_STORAGE_BYTES))
        }
        M::CgroupStorage => Some(("at most 65536", |size| size <= CGROUP_STORAGE_BYTES)),
        // With BPF_F_NO_PREALLOC, Linux 5.10 creates the map, because the map allocates values later.
        M::PercpuHash if flags & NO_PREALLOC == 0 => Some(PER_CPU),
        M::PercpuArray | M::LruPercpuHash | M::PercpuCgroupStorage => Some(PER_CPU),
        M::Ringbuf | M::UserRingbuf | M::Arena => Some(ZERO),
        _ => None,
    }
}

const fn entries_rule(map_type: MapType) -> Option<SizeRule> {
    use MapType as M;
    match map_type {
        M::CgroupStorage
        | M::PercpuCgroupStorage
        | M::SkStorage
        | M::InodeStorage
        | M::TaskStorage
        | M::CgrpStorage => Some(ZERO),
        M::Hash | M::PercpuHash | M::LruHash | M::LruPercpuHash | M::HashOfMaps | M::Sockhash => {
            Some(("at most 268435456", |entries| entries <= HASH_ENTRIES))
        }
        M::DevmapHash | M::Ringbuf | M::UserRingbuf | M::StackTrace => {
            Some(("at most 2147483648", |entries| entries <= POWER_OF_TWO))
        }
        M::Arena => Some(("at most 1048576", |entries| entries <= ARENA_PAGES)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel ignores the node without the flag, and looks at it in every map type.
    #[test]
    fn a_memory_node_that_no_machine_has_is_refused() {
        let errors_of = |map_type: MapType, map_flags, node| {
            let def = MapDef {
                map_type: map_type.number(),
                key_size: 4,
                value_size: 4,
                max_entries: 1,
                map_flags,
                numa_node: Some(node),
                ..MapDef::default()
            };
            find_map_errors(&def).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let errors = |map_flags, node| errors_of(MapType::Array, map_flags, node);
        assert_eq!(errors(NUMA_NODE, 4096), ["numa_node is 4096, expected at most 1023"]);
        assert!(errors(NUMA_NODE, 1023).is_empty() && errors(0, 4096).is_empty());
        // The last number chooses no node.
        for (map_type, flags) in [
            (MapType::Array, NUMA_NODE),
            (MapType::PercpuArray, NUMA_NODE),
            (MapType::LruHash, NUMA_NODE | NO_COMMON_LRU),
        ] {
            assert!(errors_of(map_type, flags, u32::MAX).is_empty(), "{map_type}");
            assert_eq!(errors_of(map_type, flags, 0).is_empty(), map_type == MapType::Array, "{map_type}");
        }
    }
}
