//! Every limit, and whose it is.

/// Parts of an access string, and depth of a target spec (libbpf: `BPF_CORE_SPEC_MAX_LEN`).
pub const SPEC_PARTS: usize = 64;

/// Modifiers and typedefs passed through before a chain counts as a cycle.
///
/// libbpf's `skip_mods_and_typedefs` has no limit and hangs on a cycle; no compiler comes near this.
pub const MODIFIER_HOPS: u32 = 256;

/// Types passed through to find a size (libbpf: `MAX_RESOLVE_DEPTH`).
pub const SIZE_HOPS: u32 = 32;

/// Types passed through on one level of a comparison (libbpf: `depth` in `__bpf_core_types_are_compat`).
pub const COMPARE_HOPS: u32 = 32;

/// Levels of nested comparisons (libbpf: the `level` that `bpf_core_types_are_compat` starts with).
pub const COMPARE_LEVELS: u32 = 32;

/// Candidates tried, members looked at and types compared for one record.
///
/// libbpf has no such bound: unions nested in each other through anonymous members, or functions that take functions, cost it
/// time exponential in the depth. Real records need thousands.
pub const RECORD_STEPS: u32 = 1_000_000;

/// The same for all records of a plan together; real objects need less than a fifth of it.
pub const PLAN_STEPS: u32 = 50_000_000;

/// A whole block of a string section this long must hold a NUL, so that no string is twice as long.
///
/// libbpf has no such bound: types that share one enormous name cost it time with the product of their number and its length.
/// No compiler's name or source line comes near.
pub const STRING_BLOCK: usize = 64 * 1024;

/// Steps of looking for what comes near the missing types, members and enumerators of a plan: names looked at in the target.
///
/// A missing name costs as many as the target has types of its kind, or its type has members. Records that ask the same share them,
/// so that real objects need a hundredth.
pub const NEAR_STEPS: u32 = 50_000_000;

/// Members of one composite that are looked through for what comes near, those of its members' types included.
pub const NEAR_MEMBERS: usize = 200_000;

/// Answers about what comes near that are remembered.
pub const NEAR_ANSWERS: usize = 4096;

/// Candidates that are listed for each record that is explained, where there are so many...
pub const LISTED_CANDIDATES: usize = 8;

/// ... and beyond these, candidates listed for all records of a plan. Real plans have hundreds.
pub const MORE_LISTED_CANDIDATES: usize = 1 << 16;

/// Bytes of a name that a message shows.
pub const NAME_BYTES: usize = 512;

/// Bytes of one text of an explanation.
pub const TEXT_BYTES: usize = 1024;

/// Bytes that tell an access from others for plans to share it: the names of its members, mostly.
pub const SHARED_ACCESS: usize = 128;

/// Arrays of arrays that are passed through to tell an access from others.
pub const SHARED_DIMENSIONS: u32 = 4;

/// Candidates of which plans that are made together remember what became of them. A hundred objects need some hundreds.
pub const SHARED_MATCHES: usize = 1 << 14;

/// Steps of deduplicating a BTF for each of its types: types compared, their words, hops from a type to what it became.
///
/// libbpf has no such bound. A hundred objects put together take less than a hundredth of it, two almost equal kernels half.
pub const DEDUP_STEPS_PER_TYPE: u32 = 10_000;

/// Steps of deduplicating a BTF at all. Two almost equal kernels take half of it, and ten seconds.
pub const DEDUP_STEPS: u64 = 2_000_000_000;

/// Levels of types compared for being written alike (libbpf: the depth `btf_dedup_identical_types` starts with).
pub const IDENTICAL_LEVELS: u32 = 16;

/// How many times longer than a BTF's strings the names copied out of it may be together.
///
/// Ours: offsets into the middle of strings make of one long string as many as it has bytes. Compilers write none.
pub const STRING_COPIES: usize = 4;

/// Bytes that a name may share with the one before it for a BTF to be recognised as sorted (the kernel's own names have less).
pub const SORTED_NAME: usize = 512;

/// Bytes of names that are looked at to tell, in a sorted BTF, which types are a name's flavours, before they are looked for among
/// all types.
pub const FLAVOUR_BYTES: usize = 4096;

/// Names that a [`ModuleFilter`](crate::btf::ModuleFilter) looks for before it lets everything pass: as many searches of the strings.
pub const MODULE_FILTER_NAMES: usize = 8;

/// Places of a name in a kernel's strings that a [`ModuleFilter`](crate::btf::ModuleFilter) looks for in types before it lets everything pass.
pub const MODULE_FILTER_OFFSETS: usize = 16;

/// Depth of base BTFs under a split BTF.
pub const SPLIT_LEVELS: u32 = 8;

/// Bytes of a BTF (libbpf and the kernel address it with 32 bits).
pub const BTF_BYTES: usize = 0x7fff_ffff;

/// Levels of structs and arrays within each other that a value is read to.
pub const VALUE_DEPTH: u32 = 32;

/// Parts of a value that are read, names and searches for enumerators counted in, besides [`VALUE_STEPS_PER_BYTE`].
///
/// Unions within each other, or arrays of what has no size, could say that much of a few bytes, and no more.
pub const VALUE_STEPS: u32 = 1 << 16;

/// Parts that are read for each byte of the value.
pub const VALUE_STEPS_PER_BYTE: u32 = 4;
