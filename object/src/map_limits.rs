//! The limits of a map's definition that depend on the kernel or the machine. [`map_rules`](crate::map_rules)
//! has those of every kernel.

use crate::{
    errno::Errno,
    map_flags::{NO_PREALLOC, STACK_BUILD_ID},
    map_rules::{MapInput, MapRule, chosen_node, find_map_errors},
    object::{MapDef, MapType},
};
use core::fmt;

/// A limit that the definition of a map exceeds on some kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the judge has a message for each")]
pub enum MapLimit {
    /// The bytes of a hash's key (before 5.11).
    HashKey {
        /// The size of a key.
        bytes: u32,
    },
    /// The bytes of a value for each CPU, which depend on the size of pages.
    PerCpuValue {
        /// The size of a value.
        bytes: u32,
    },
    /// The same in a map that allocates values later.
    PerCpuAllocation {
        /// The size of a value.
        bytes: u32,
    },
    /// The bytes of a value in cgroup storage.
    CgroupStorage {
        /// The size of a value.
        bytes: u32,
    },
    /// The bytes of an array's value, which the kernel allocates in one piece before a release.
    ArrayValue {
        /// The size of a value.
        bytes: u32,
    },
    /// The bytes of an element that the kernel allocates in one piece.
    Element {
        /// The size of a value.
        bytes: u32,
        /// The largest size beside the key and the kernel's own part of an element.
        most: u32,
    },
    /// The frames of a stack trace (`kernel.perf_event_max_stack`).
    StackFrames {
        /// The size of a value.
        bytes: u32,
        /// The frames in a value.
        frames: u32,
    },
    /// The bytes of all entries, which kernels before 5.11 charge to a user when they create the map.
    ChargedEntries {
        /// The number of entries.
        entries: u32,
    },
    /// The CPUs that the kernel is compiled for (`CONFIG_NR_CPUS`).
    Cpus {
        /// The number of entries.
        entries: u32,
    },
    /// The memory nodes of the machine.
    MemoryNode {
        /// The number of the node.
        node: u32,
    },
}

impl MapLimit {
    /// Returns whether the kernel's configuration may tell the limit.
    pub const fn is_configured(self) -> bool {
        matches!(
            self,
            Self::PerCpuValue { .. }
                | Self::PerCpuAllocation { .. }
                | Self::CgroupStorage { .. }
                | Self::Cpus { .. }
        )
    }

    /// Returns the name of the attribute of the definition that exceeds the limit.
    pub const fn attribute(self) -> &'static str {
        match self {
            Self::HashKey { .. } => MapInput::KeySize.name(),
            Self::Cpus { .. } | Self::ChargedEntries { .. } => MapInput::MaxEntries.name(),
            Self::MemoryNode { .. } => "numa_node",
            Self::PerCpuValue { .. }
            | Self::PerCpuAllocation { .. }
            | Self::CgroupStorage { .. }
            | Self::ArrayValue { .. }
            | Self::Element { .. }
            | Self::StackFrames { .. } => MapInput::ValueSize.name(),
        }
    }
}

/// Formats the number in the definition and the limit: `600, expected at most 512`.
impl fmt::Display for MapLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::HashKey { bytes } => write!(f, "{bytes}, expected at most {KEY_BYTES}"),
            Self::PerCpuValue { bytes } | Self::PerCpuAllocation { bytes } => {
                write!(f, "{bytes}, expected at most {PER_CPU_BYTES}")
            }
            Self::CgroupStorage { bytes } => write!(f, "{bytes}, expected at most {CGROUP_STORAGE_BYTES}"),
            Self::ArrayValue { bytes } => write!(f, "{bytes}, expected at most {LARGEST_ALLOCATION}"),
            Self::Element { bytes, most } => write!(f, "{bytes}, expected at most {most}"),
            Self::StackFrames { bytes, .. } => {
                write!(f, "{bytes}, expected 8 bytes for each of at most kernel.perf_event_max_stack frames")
            }
            Self::ChargedEntries { entries } => write!(f, "{entries}, expected less than 4 GiB of entries"),
            Self::Cpus { entries } => write!(f, "{entries}, expected at most CONFIG_NR_CPUS"),
            Self::MemoryNode { node } => write!(f, "{node}, expected a memory node of the machine"),
        }
    }
}

/// A limit of some kernels that a map's definition exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a limit has a place and a map type")]
pub struct ExceededLimit {
    /// Whether the definition is that of the inner maps.
    pub is_inner: bool,
    /// The type of the map.
    pub map_type: MapType,
    /// The limit.
    pub limit: MapLimit,
}

impl ExceededLimit {
    /// Returns the error by which the kernel refuses the map.
    pub fn errno(self) -> Errno {
        match (self.limit, self.map_type) {
            (MapLimit::StackFrames { .. } | MapLimit::MemoryNode { .. }, _)
            | (MapLimit::Element { .. }, MapType::LpmTrie) => EINVAL,
            _ => E2BIG,
        }
    }
}

impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_inner, map_type, limit } = *self;
        f.write_str(if is_inner { "inner map: " } else { "" })?;
        write!(f, "{} does not fit {map_type}: {limit}", limit.attribute())
    }
}

/// The errors of the kernel, which have these numbers on every architecture.
const E2BIG: Errno = Errno(7);
const EINVAL: Errno = Errno(22);

/// The bytes of a map that kernels before 5.11 refuse to charge, where pages are smallest (kernel:
/// `bpf_map_charge_init`).
const CHARGED_BYTES: u64 = (1 << 32) - 4097;

/// The longest key of a hash before Linux 5.11 (kernel: `MAX_BPF_STACK`).
const KEY_BYTES: u32 = 512;

/// The most bytes of a value for each CPU (kernel: `PCPU_MIN_UNIT_SIZE`), unless pages have 64 KiB.
const PER_CPU_BYTES: u32 = 1 << 15;

/// The bytes of the largest allocation on most architectures with pages of 4 KiB (kernel:
/// `KMALLOC_MAX_SIZE`). No other allocation is smaller on architectures with larger pages.
const LARGEST_ALLOCATION: u32 = 1 << 22;

/// The most bytes of key and value in a hash, beside the kernel's own part of an element.
const HASH_ELEMENT_BYTES: u32 = LARGEST_ALLOCATION - 49;

/// The most bytes of a value in an LPM trie, beside a key and the kernel's own part of a node.
const LPM_VALUE_BYTES: u32 = LARGEST_ALLOCATION - 280;

/// The most bytes of a value in cgroup storage before a release, where pages are smallest.
const CGROUP_STORAGE_BYTES: u32 = 4096;

/// `PERF_MAX_STACK_DEPTH`: the frames of a stack trace that `kernel.perf_event_max_stack` allows by default.
const STACK_FRAMES: u32 = 127;

/// The bytes of a frame: an address, or `struct bpf_stack_build_id`.
const ADDRESS_BYTES: u32 = 8;
const BUILD_ID_BYTES: u32 = 32;

/// Returns the limits that a definition, or its inner maps' definition, exceeds on some kernels.
pub fn find_map_limits(def: &MapDef) -> Vec<ExceededLimit> {
    let mut exceeded = Vec::new();
    for (is_inner, def) in [(false, Some(def)), (true, def.inner.as_deref())] {
        let Some((def, map_type)) = def.and_then(|def| Some((def, def.known_type()?))) else { continue };
        let limits = [
            key_limit(map_type, def),
            value_limit(map_type, def),
            entries_limit(map_type, def),
            node_limit(def),
        ];
        let limits = limits.into_iter().flatten();
        exceeded.extend(limits.map(|limit| ExceededLimit { is_inner, map_type, limit }));
    }
    exceeded
}

fn key_limit(map_type: MapType, def: &MapDef) -> Option<MapLimit> {
    use MapType as M;
    let is_hash = matches!(map_type, M::Hash | M::PercpuHash | M::LruHash | M::LruPercpuHash | M::HashOfMaps);
    (is_hash && def.key_size > KEY_BYTES).then_some(MapLimit::HashKey { bytes: def.key_size })
}

/// Returns whether every kernel refuses the number in an attribute of a definition.
fn breaks_size_rule(def: &MapDef, number: MapInput) -> bool {
    let is_broken = |rule: &MapRule| matches!(rule, MapRule::Size { attribute, .. } if *attribute == number);
    find_map_errors(def).iter().any(|error| is_broken(&error.rule))
}

/// Returns the limit that a value exceeds, unless every kernel refuses the value.
fn value_limit(map_type: MapType, def: &MapDef) -> Option<MapLimit> {
    use MapType as M;
    let bytes = def.value_size;
    let breaks_rule = breaks_size_rule(def, MapInput::ValueSize);
    match map_type {
        _ if breaks_rule => None,
        M::PercpuHash if bytes > PER_CPU_BYTES && def.map_flags & NO_PREALLOC != 0 => {
            Some(MapLimit::PerCpuAllocation { bytes })
        }
        M::PercpuArray | M::PercpuHash | M::LruPercpuHash | M::PercpuCgroupStorage
            if bytes > PER_CPU_BYTES =>
        {
            Some(MapLimit::PerCpuValue { bytes })
        }
        M::Array => array_limit(bytes.into()),
        M::Queue | M::Stack | M::BloomFilter if bytes > LARGEST_ALLOCATION => {
            Some(MapLimit::Element { bytes, most: LARGEST_ALLOCATION })
        }
        M::LpmTrie if bytes > LPM_VALUE_BYTES => Some(MapLimit::Element { bytes, most: LPM_VALUE_BYTES }),
        M::Hash | M::LruHash => {
            // No value fits beside a key above the limit.
            let most = HASH_ELEMENT_BYTES.saturating_sub(def.key_size);
            (bytes > most).then_some(MapLimit::Element { bytes, most })
        }
        M::CgroupStorage | M::PercpuCgroupStorage if bytes > CGROUP_STORAGE_BYTES => {
            Some(MapLimit::CgroupStorage { bytes })
        }
        M::StackTrace => {
            let has_build_ids = def.map_flags & STACK_BUILD_ID != 0;
            let frame_bytes = if has_build_ids { BUILD_ID_BYTES } else { ADDRESS_BYTES };
            let frames = bytes.checked_div(frame_bytes)?;
            (frames > STACK_FRAMES).then_some(MapLimit::StackFrames { bytes, frames })
        }
        _ => None,
    }
}

/// Returns the limit that the value of an array exceeds, such as that of a section with data.
pub fn array_limit(bytes: u64) -> Option<MapLimit> {
    // A size above 32 bits is refused as such.
    let bytes = u32::try_from(bytes).ok()?;
    (bytes > LARGEST_ALLOCATION).then_some(MapLimit::ArrayValue { bytes })
}

fn entries_limit(map_type: MapType, def: &MapDef) -> Option<MapLimit> {
    let entries = def.max_entries;
    // One entry fits every kernel.
    if map_type == MapType::Cpumap && entries > 1 {
        return Some(MapLimit::Cpus { entries });
    }
    let bytes = charged_bytes(map_type, def)?;
    let charged = bytes.checked_mul(entries.into())?;
    let exceeds = charged >= CHARGED_BYTES && !breaks_size_rule(def, MapInput::MaxEntries);
    exceeds.then_some(MapLimit::ChargedEntries { entries })
}

/// Returns the bytes that an entry of a hash or trie has at least. The kernel's own part is smallest on
/// machines of 32 bits.
fn charged_bytes(map_type: MapType, def: &MapDef) -> Option<u64> {
    use MapType as M;
    const OWN_BYTES: u64 = 24;
    let (key, value) = (u64::from(def.key_size), u64::from(def.value_size));
    let bytes = match map_type {
        M::Hash | M::LruHash => key.checked_add(value)?,
        M::PercpuHash | M::LruPercpuHash => key,
        // The length of the prefix is in the kernel's own part.
        M::LpmTrie => key.checked_sub(4)?.checked_add(value)?,
        _ => return None,
    };
    bytes.checked_add(OWN_BYTES)
}

/// Returns the limit for the memory node, unless every kernel refuses the node.
fn node_limit(def: &MapDef) -> Option<MapLimit> {
    let node = chosen_node(def)?;
    let breaks_rule = find_map_errors(def).iter().any(|error| matches!(error.rule, MapRule::NumaNode { .. }));
    (!breaks_rule).then_some(MapLimit::MemoryNode { node })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_the_error_of_the_kernel() {
        let errno = |map_type: MapType, key_size, value_size| {
            // Maps of type LPM_TRIE need the flag.
            let map_flags = if map_type == MapType::LpmTrie { NO_PREALLOC } else { 0 };
            let map_type = map_type.number();
            let def =
                MapDef { map_type, key_size, value_size, max_entries: 1, map_flags, ..MapDef::default() };
            let limits = find_map_limits(&def);
            assert_eq!(limits.len(), 1, "{limits:?}");
            limits[0].errno()
        };
        assert_eq!(errno(MapType::Hash, 600, 4), E2BIG);
        assert_eq!(errno(MapType::Hash, 4, 1 << 23), E2BIG);
        assert_eq!(errno(MapType::PercpuHash, 4, 1 << 16), E2BIG);
        assert_eq!(errno(MapType::Queue, 0, 1 << 23), E2BIG);
        assert_eq!(errno(MapType::LpmTrie, 8, 1 << 23), EINVAL);
        assert_eq!(errno(MapType::StackTrace, 4, 1024), EINVAL);
    }
}
