//! The limits on input, work and text, with the source or reason of each.

/// The longest chain of modifiers and typedefs. A longer chain is treated as a cycle.
///
/// libbpf's `skip_mods_and_typedefs` has no limit and hangs on a cycle. No compiler writes chains of this
/// length.
pub const MODIFIER_HOPS: u32 = 256;

/// The types in a chain whose size is resolved (libbpf: `MAX_RESOLVE_DEPTH`).
pub const SIZE_HOPS: u32 = 32;

/// The bytes of a string of BTF, with its NUL.
///
/// libbpf has no such limit. Types that share one long name cost libbpf time in proportion to the product of
/// their number and the length. No compiler writes names or source lines of this length.
pub const STRING_BYTES: usize = 64 * 1024;

/// The bytes of a name that a message shows.
pub const NAME_BYTES: usize = 512;

/// The steps of deduplication for each type: comparisons of types and of words, and mappings that are
/// followed.
///
/// libbpf has no such limit. A hundred objects need less than a hundredth. Comparisons that take more are
/// limited to types whose graphs may be equal, which are found in n log n steps.
pub const DEDUP_STEPS_PER_TYPE: u32 = 10_000;

/// The steps of deduplication of a BTF.
pub const DEDUP_STEPS: u64 = 2_000_000_000;

/// The levels of types that are compared for identity (libbpf: the initial depth of
/// `btf_dedup_identical_types`).
pub const IDENTICAL_LEVELS: u32 = 16;

/// The total length of the names that are copied from a BTF, as a multiple of the length of its string
/// section.
///
/// Names may overlap: each offset into a long string is a name. Compilers write no such names.
pub const STRING_COPIES: usize = 4;

/// The longest common prefix of adjacent names in sorted BTF. Names of the kernel have shorter common
/// prefixes.
pub const SORTED_NAME: usize = 512;

/// The bytes of names that a search for flavours in a sorted BTF reads, before it visits all types instead.
pub const FLAVOUR_BYTES: usize = 4096;

/// The names for which a [`ModuleFilter`](crate::ModuleFilter) searches. With more names it accepts every
/// module.
pub const MODULE_FILTER_NAMES: usize = 8;

/// The offsets of names in a kernel's strings for which a [`ModuleFilter`](crate::ModuleFilter) searches.
/// With more offsets it accepts every module.
pub const MODULE_FILTER_OFFSETS: usize = 16;

/// The number of BTFs in a chain of bases, the split BTF included.
pub const SPLIT_LEVELS: u32 = 8;

/// The bytes of a BTF. libbpf and the kernel use 32-bit offsets.
pub const BTF_BYTES: usize = 0x7fff_ffff;

/// The listed violations of the kernel's rules for a BTF. Further violations are counted.
pub const KERNEL_VIOLATIONS: usize = 1000;

/// The bytes of a BTF that the kernel accepts (`BTF_MAX_SIZE`).
pub const KERNEL_BTF_BYTES: usize = 16 << 20;

/// The highest type id that the kernel accepts (`BTF_MAX_TYPE`).
pub const KERNEL_TYPE_ID: u32 = 0x000f_ffff;

/// The highest offset of a name that the kernel accepts (`BTF_MAX_NAME_OFFSET`).
pub const KERNEL_NAME_OFFSET: u32 = 0x00ff_ffff;

/// The types in a chain that the kernel resolves (`MAX_RESOLVE_DEPTH`), and the modifiers in a chain.
pub const KERNEL_RESOLVE_DEPTH: usize = 32;

/// The levels of nested structs and arrays to which a value is read.
pub const VALUE_DEPTH: u32 = 32;

/// The parts of a value that are read, with names and searches for enumerators, in addition to
/// [`VALUE_STEPS_PER_BYTE`].
///
/// Nested unions, or arrays of types without a size, have many parts in a few bytes.
pub const VALUE_STEPS: u32 = 1 << 16;

/// The parts that are read for each byte of a value.
pub const VALUE_STEPS_PER_BYTE: u32 = 4;
